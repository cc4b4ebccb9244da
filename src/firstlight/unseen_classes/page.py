"""The page of unseen_classes: class means to be dragged, or digits to train on; what becomes of others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firstlight.show.page import (
    Choice,
    Drawn,
    Group,
    Handles,
    OwnTable,
    Page,
    Panel,
    Picture,
    Plane,
    Preset,
    Role,
    Several,
    Slider,
    Trace,
    Values,
    View,
)
from firstlight.study.registry import resolve
from firstlight.study.spec import Arm
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

_REACH = 6.0
_DRAWS = 4  # of the samples, over which predictions are averaged
_MEANS = ((4.0, 1.0), (2.5, 3.0), (0.5, 4.0), (-1.5, 3.5), (-3.5, 1.5))
_NAMES = "ABCDEFGH"
_DIGITS = {str(digit): str(digit) for digit in range(10)}
_OBSERVABLES = ("alignment", "alignment_before", "elasticity", "recall", "recall_before", "similarity")
_PANELS = {
    "alignment": ("alignment", "alignment_before", "mean cosine within a class"),
    "recall": ("recall", "recall_before", "Recall@1"),
    "elasticity": ("elasticity", "", "mean squared movement"),
}


def _fields(values: Values, each: int) -> tuple[str, dict[str, Any]]:
    """Return the problem's name and its fields, with so many samples of each unseen class."""
    step = {
        "activation": values["activation"], "strength": values["strength"], "width": values["width"],
        "loss": values["loss"],
    }  # fmt: skip
    if values["source"] == "digits":
        return "images:ImageProblem", {**step, "classes": ",".join(values["train"]), "per_class": each}
    if values["source"] == "file":
        return "table:TableProblem", {**step, **values["file"], "per_class": each}
    sizes = {"dimension": values["dimension"], "samples": values["samples"], "unseen_samples": each}
    means = [list(row) for row in values["means"]]
    return "problem:PlaneProblem", {**step, **sizes, "means": means, "train_norm": values["train_norm"]}


def _problem(values: Values, each: int | None = None) -> Any:
    kind, fields = _fields(values, each or values["each"])
    return resolve(f"firstlight.unseen_classes.{kind}")(**fields)


def classes(values: Values) -> Iterator[Mapping[str, Drawn]]:
    """Yield the predictions for few samples of each class at once, then averages over draws of as many."""
    import xarray as xr

    few = min(20, values["each"])
    yield _drawn(values, _problem(values, few).predict(0), f"coarse: {few} samples of each class; refining …")
    problem, drawn = _problem(values), []
    for draw in range(_DRAWS):
        drawn.append(problem.predict(draw))
        mean = xr.concat(drawn, "draw").mean("draw")
        more = "" if draw == _DRAWS - 1 else "; refining …"
        yield _drawn(values, mean, f"mean over {draw + 1} draws of the samples{more}")


def _drawn(values: Values, theory: "xr.Dataset", note: str) -> dict[str, Drawn]:
    theory = theory.dropna("class", how="all", subset=["alignment"])  # classes that were trained on
    names = _names(values, theory["class"].values)
    pictures: dict[str, Drawn] = {"plane": _plane(values, theory, names, note)}
    for panel, (after, before, caption) in _PANELS.items():
        traces = [Trace(name="after the step, theory", x=names, y=theory[after].values.tolist(), kind="bars")]
        if before:
            traces.append(
                Trace(name="before", x=names, y=theory[before].values.tolist(), kind="points", role="bound")
            )
        limits = (0.0, 1.05) if panel == "recall" else None
        pictures[panel] = Picture(x="unseen class", y=caption, traces=traces, note=note, y_range=limits)
    return pictures


def _names(values: Values, classes: "np.ndarray") -> list[str]:
    from firstlight.data.kept import kept

    if values["source"] == "digits":
        return [f"digit {int(one)}" for one in classes]
    if values["source"] == "file":
        return [kept(values["file"]["table"])[2][int(one)] for one in classes]
    return [_NAMES[int(one) - 10] for one in classes]


def _plane(values: Values, predicted: "xr.Dataset", names: Sequence[str], note: str) -> Plane:
    """Draw the means that can be dragged; of digits and own rows, where they lie."""
    if values["source"] != "plane":
        return _rows_plane(values, predicted, names, note)
    rows = [list(row) for row in values["means"]]
    size = values["train_norm"]
    trained = Group(
        name="training class", marker="cross", points=[(size, 0.0), (-size, 0.0)],
        roles=["positive", "negative"], labels=["trained +", "trained −"],
    )  # fmt: skip
    roles: list[Role] = ["accent"] * len(rows)
    unseen = Group(name="unseen class", points=rows, handles="means", roles=roles, labels=list(names))
    return Plane(
        groups=[trained, unseen], x_range=(-_REACH, _REACH), y_range=(-1.0, _REACH), rows={"means": rows},
        x="along the training direction (similarity)", y="the rest", note=note,
    )  # fmt: skip


def _rows_plane(values: Values, predicted: "xr.Dataset", names: Sequence[str], note: str) -> Plane:
    import numpy as np

    data = _problem(values).sample(np.random.default_rng(0))
    similarity = predicted.similarity.values
    rest = []
    for one in predicted["class"].values:
        chosen = data.unseen[data.unseen_labels == one]
        rest.append(float(np.linalg.norm(chosen.mean(axis=0))) if len(chosen) else np.nan)
    kept = [i for i in range(len(rest)) if np.isfinite(rest[i]) and np.isfinite(similarity[i])]
    points = [(float(similarity[i]), rest[i]) for i in kept]
    reach = 1.15 * max(abs(x) for x, _ in points)
    labels = [names[i].removeprefix("digit ") for i in kept]
    unseen = Group(name="unseen class", points=points, role="accent", labels=labels)
    return Plane(
        groups=[unseen], x_range=(-reach, reach), y_range=(0.0, 1.25 * max(y for _, y in points)),
        x="similarity to what was learnt", y="length of the class mean", note=note,
    )  # fmt: skip


def study(values: Values) -> Study:
    """Return networks that take the step, beside theory on the same samples."""
    kind, fields = _fields(values, values["each"])
    strength = fields.pop("strength")
    return Study(
        name=f"unseen-classes/explore-{values['source']}",
        description="Unseen classes, placed or chosen by hand",
        problem=f"firstlight.unseen_classes.{kind}",
        axes={"strength": [strength]},
        fixed=fields,
        arms={"network": Arm("simulate"), "theory": Arm("predict", paired=True)},
        trials=values["trials"],
        observables=list(_OBSERVABLES),
    )


def points(values: Values, study: Study, results: "xr.Dataset") -> dict[str, list[Trace]]:
    """Return what was measured of each class."""
    from firstlight.show.measured import measured

    drawn: dict[str, list[Trace]] = {}
    for panel, (after, _, _) in _PANELS.items():
        for arm, name, role in (
            ("theory", "theory, the networks' own samples", "theory"),
            ("network", "networks", "experiment"),
        ):
            one = measured(results, arm, after, "class", name=name, role=role)  # type: ignore[arg-type]
            if one:
                names = _names(values, one.x)  # type: ignore[arg-type]
                drawn.setdefault(panel, []).append(Trace(**{**vars(one), "x": names}))
    return drawn


_GAUSSIAN = {"source": ("plane",)}
_CONTROLS = (
    Choice(name="source", label="classes", default="plane",
           options={"plane": "placed in the plane", "digits": "handwritten digits",
                    "file": "a file of yours"}),
    Handles(name="means", label="class means", reach=_REACH, default=_MEANS, least=2, most=8, when=_GAUSSIAN,
            meaning="Drag a class, or focus it and use the arrow keys."),
    Several(name="train", label="train on", default=("0", "1"), options=_DIGITS, least=2, most=8,
            when={"source": ("digits",)}, meaning="The network sees these digits only."),
    OwnTable(name="file", label="your file", when={"source": ("file",)},
             meaning="csv, npz, npy or parquet with at least four classes; choose which to train on. It is "
             "kept in the cache folder of this machine, so that links and records stay true."),
    Slider(name="strength", label="strength of the step κ", default=4.0, low=0.01, high=100.0, log=True,
           meaning="At 1 the step moves pre-activations by as much as they were."),
    Choice(name="activation", label="activation σ", default="shifted_relu",
           options={"shifted_relu": "shifted ReLU", "relu": "ReLU", "tanh": "tanh", "gelu": "GELU"}),
    Choice(name="loss", label="loss", default="square", options={"square": "square", "logistic": "logistic"}),
    Slider(name="train_norm", label="distance of the trained classes", default=2.0, low=0.2, high=5.0,
           step=0.1, when=_GAUSSIAN),
    Slider(name="dimension", label="dimension d", default=96, low=16, high=300, step=4, whole=True,
           when=_GAUSSIAN),
    Slider(name="samples", label="training samples", default=128, low=16, high=600, step=8, whole=True,
           when=_GAUSSIAN, meaning="Few: the step also follows their noise."),
    Slider(name="each", label="samples of each unseen class", default=40, low=5, high=120, step=5,
           whole=True),
    Slider(name="width", label="width of trained networks", default=512, low=64, high=2048, step=64,
           whole=True,
           meaning="Theory needs none: it is the limit of many neurons."),
    Slider(name="trials", label="trials", default=4, low=1, high=40, step=1, whole=True),
)  # fmt: skip

_PRESETS = (
    Preset(name="From similar to strange", about="Classes along the training direction align, others do not.",
           values={}),
    Preset(name="Two sides of the boundary", about="Opposite sides are told apart, though never seen.",
           values={"means": [[2.5, 2.5], [-2.5, 2.5]]}),
    Preset(name="The same side", about="Equally far along the direction: aligned, and confused.",
           values={"means": [[2.5, 2.5], [2.7, 2.3]], "strength": 20.0}),
    Preset(name="A tiny step", about="Nothing moves: the kernel at the start decides.",
           values={"strength": 0.05}),
    Preset(name="Digits: train on 0 and 1", about="What becomes of 2 to 9?", values={"source": "digits"}),
    Preset(name="Digits: train on 3 and 8", about="A harder pair, another direction.",
           values={"source": "digits", "train": ["3", "8"]}),
)  # fmt: skip

_EXPLANATION = (
    "After one gradient step every neuron has moved along the data-label covariance "
    "$\\beta = E[y\\,x]$ of the training classes: $w_j \\to w_j + \\tau a_j \\beta$, plus a smaller bulk. "
    "A class that was never seen is moved by $t = \\beta \\cdot \\mu$, its similarity to what was learnt.",
    "Its samples then share $\\tau a_j t$ in every pre-activation. That makes their features alike "
    "(alignment), moves them far (elasticity), and tells classes apart whose $t$ differ (Recall@1). Classes "
    "of equal $t$ become more alike and are confused.",
    "The prediction needs no network: the features' kernel follows from the data alone, as the number of "
    "neurons grows. It is averaged over the same samples that networks are shown.",
)


def page() -> Page:
    """Return the page."""
    needs = [control.name for control in _CONTROLS if control.name not in ("width", "trials")]
    return Page(
        answer="How far a new class lies along the direction learnt from others decides whether it becomes "
        "aligned, and which of its neighbours it is taken for.",
        controls=_CONTROLS,
        panels=(
            Panel(name="plane", title="Where the classes are",
                  about="Crosses are trained on. Classes that were placed by hand can be dragged."),
            Panel(name="alignment", title="Alignment", about="How alike the features of one class become."),
            Panel(name="recall", title="Retrieval",
                  about="How often a sample's nearest neighbour is of its class."),
            Panel(name="elasticity", title="Elasticity", about="How far the step moves a class's features."),
        ),
        presets=_PRESETS,
        views={"classes": View(draw=classes, needs=needs)},
        problem=_problem,
        study=study,
        points=points,
        run="Train networks",
        thumbnail="plane",
        explanation=_EXPLANATION,
    )  # fmt: skip
