"""The page of early_alignment: data and neurons in the plane, to be dragged, and what becomes of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firstlight.show.page import (
    Choice,
    Drawn,
    Group,
    Handles,
    Page,
    Panel,
    Picture,
    Plane,
    Preset,
    Role,
    Slider,
    Trace,
    Values,
    View,
)
from firstlight.study.spec import Arm
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    import xarray as xr

    from firstlight.early_alignment.plane import PlaneProblem

_FRAMES = 61
_REACH = 1.25
_ROLES: dict[float, Role] = {1.0: "positive", -1.0: "negative"}
_CURVES = {
    "change": (("direction_change", "directions", False), ("norm_change", "lengths", True)),
    "loss": (("loss", "loss", False),),
    "cosines": (("cosine_plus", "positive", False), ("cosine_minus", "negative", True)),
}
_CAPTIONS = {"change": "rate of change", "loss": "loss", "cosines": "mean cosine"}


def _rows(values: Values) -> dict[str, list[list[float]]]:
    """Return data and neurons one by one: as dragged, or as drawn."""
    from firstlight.data.separable import toy
    from firstlight.early_alignment.definitions.start import gaussian_start

    data, neurons = values["data"], values["neurons"]
    if not data:
        X, y = toy()
        data = [
            [round(float(x[0]), 3), round(float(x[1]), 3), float(label)]
            for x, label in zip(X, y, strict=True)
        ]
    if not neurons:
        W, v = gaussian_start(values["width"], 2, 1.0, values["seed"])
        angles = [math.atan2(w[1], w[0]) for w in W]
        signs = [1.0 if one > 0 else -1.0 for one in v]
        neurons = [
            [round(math.cos(angle), 3), round(math.sin(angle), 3), sign]
            for angle, sign in zip(angles, signs, strict=True)
        ]
    return {"data": data, "neurons": neurons}


def _fields(values: Values) -> dict[str, Any]:
    rows = _rows(values)
    return {
        "points": rows["data"], "neurons": rows["neurons"], "log_scale": round(math.log(values["scale"]), 4),
        "loss": values["loss"], "horizon": values["horizon"], "observations": _FRAMES,
    }  # fmt: skip


def _problem(values: Values) -> "PlaneProblem":
    from firstlight.early_alignment.plane import PlaneProblem

    return PlaneProblem(**_fields(values))


def motion(values: Values) -> Iterator[Mapping[str, Drawn]]:
    """Yield the exact path of small starts at once, then the flow of a network with this very start."""
    problem = _problem(values)
    exact = problem.predict(0, neurons=True)
    directions = _limit(problem)
    note = "directions of an infinitely small start; the lengths follow …"
    yield {"plane": _plane(values, problem, directions, 0 * directions[..., 0], note), **_curves(exact, None)}
    flow = problem.simulate(0, tolerance=1e-4, neurons=True)
    lengths = _lengths(flow)
    fates = _fates(problem, flow)
    yield {"plane": _plane(values, problem, flow.direction.values, lengths, fates), **_curves(exact, flow)}


def _limit(problem: "PlaneProblem") -> Any:
    """Return every neuron's direction at all times in the limit of small starts."""
    from firstlight.early_alignment.theory.align import align

    X, y, W, v = problem.draw(0)
    return align(X, y, W, second_layer=v, loss=problem.loss, reduction=problem.reduction).direction(
        problem.times
    )


def _lengths(flow: "xr.Dataset") -> Any:
    """Return lengths on one scale for all times: the longest that any neuron reaches is 1."""
    import numpy as np

    rho = flow.log_length.values
    return np.exp(np.clip(rho - np.nanmax(rho), -700, 0))


def _fates(problem: "PlaneProblem", flow: "xr.Dataset") -> str:
    last = flow.isel(time=-1)
    plus, minus, dead = (round(float(last[name]) * problem.width) for name in ("plus", "minus", "dead"))
    rest = problem.width - plus - minus - dead
    between = f", {rest} in between" if rest else ""
    return f"at the end: {plus} see exactly the positive data, {minus} the negative, {dead} are dead{between}"


def _plane(values: Values, problem: "PlaneProblem", directions: Any, lengths: Any, note: str) -> Plane:
    import numpy as np

    X, y, _, v = problem.draw(0)
    rows = _rows(values)
    active = (np.nan_to_num(directions) @ X.T > 1e-9).any(axis=-1)
    along, across = np.moveaxis(np.nan_to_num(directions), -1, 0)
    lengths = np.nan_to_num(lengths)
    frames = (
        np.stack((lengths * along, lengths * across, np.arctan2(across, along)), axis=-1).round(5).tolist()
    )
    signs = [_ROLES[float(sign)] for sign in v]
    roles: list[list[Role]] = [
        [sign if live else "dead" for sign, live in zip(signs, now, strict=True)] for now in active.tolist()
    ]
    groups = [
        Group(
            name="neuron", points=[row[:2] for row in rows["neurons"]], marker="ray", handles="neurons",
            frames=frames, frame_roles=roles,
        )
    ]  # fmt: skip
    groups.append(
        Group(
            name="datum", points=[row[:2] for row in rows["data"]], marker="cross", handles="data",
            roles=[_ROLES[float(label)] for label in y],
        )
    )  # fmt: skip
    return Plane(
        groups=groups, x_range=(-_REACH, _REACH), y_range=(-_REACH, _REACH), circle=True,
        times=problem.times.tolist(), rows=rows, note=note,
    )  # fmt: skip


def _curves(exact: "xr.Dataset", flow: "xr.Dataset | None") -> dict[str, Picture]:
    pictures = {}
    for panel, curves in _CURVES.items():
        traces = [
            Trace(name=f"{label}, exact" if len(curves) > 1 else "exact path, ε → 0", dashed=dashed,
                  x=exact.time.values.tolist(), y=exact[name].values.tolist())
            for name, label, dashed in curves
        ]  # fmt: skip
        if flow is not None:
            traces += [
                Trace(name=f"{label}, flow" if len(curves) > 1 else "gradient flow", dashed=dashed,
                      role="second", x=flow.time.values.tolist(), y=flow[name].values.tolist())
                for name, label, dashed in curves
            ]  # fmt: skip
        note = "the exact path ends where outputs begin to matter" if flow is not None else ""
        limits = (-1.05, 1.05) if panel == "cosines" else None
        pictures[panel] = Picture(
            x="time", y=_CAPTIONS[panel], traces=traces, follows="time", note=note, y_range=limits
        )
    return pictures


def study(values: Values) -> Study:
    """Return one gradient descent from this very start, beside the exact path."""
    fields = _fields(values)
    scale = fields.pop("log_scale")
    return Study(
        name="early-alignment/explore-plane",
        description="Data and neurons in the plane, placed by hand",
        problem="firstlight.early_alignment.plane:PlaneProblem",
        axes={"log_scale": [scale]},
        fixed={**fields, "step_size": 5e-3},
        arms={"descent": Arm("simulate", {"method": "descent"}), "exact": Arm("predict", paired=True)},
        trials=1,
        observables=[name for curves in _CURVES.values() for name, _, _ in curves],
    )


def points(values: Values, study: Study, results: "xr.Dataset") -> dict[str, list[Trace]]:
    """Return the descent's curves as points."""
    from firstlight.show.measured import measured

    drawn: dict[str, list[Trace]] = {}
    roles: Sequence[Role] = ("experiment", "accent")
    for panel, curves in _CURVES.items():
        for (name, label, _), role in zip(curves, roles, strict=False):
            title = f"{label}, descent" if len(curves) > 1 else "gradient descent"
            one = measured(results, "descent", name, "time", name=title, role=role)
            drawn.setdefault(panel, []).extend([one] if one else [])
    return drawn


def _arc(first: float, last: float, count: int, label: float) -> list[list[float]]:
    angles = [math.radians(first + (last - first) * i / max(count - 1, 1)) for i in range(count)]
    return [[round(math.cos(a), 3), round(math.sin(a), 3), label] for a in angles]


_DRAWN: dict[str, Any] = {"neurons": ([],)}  # none is placed by hand
_CONTROLS = (
    Slider(name="width", label="neurons", default=24, low=1, high=60, step=1, whole=True,
           when=_DRAWN, meaning="How many are drawn at random."),
    Slider(name="scale", label="size of the start ε", default=1e-6, low=1e-9, high=0.5, log=True,
           meaning="Length of every neuron at the start. Small: first they turn, only then they grow."),
    Slider(name="horizon", label="last time", default=60.0, low=5.0, high=400.0, step=5.0,
           meaning="Time is step size × iterations."),
    Slider(name="seed", label="draw", default=1, low=0, high=50, step=1, whole=True,
           when=_DRAWN, meaning="Another one draws other neurons."),
    Choice(name="loss", label="loss", default="exp",
           options={"exp": "exponential", "logistic": "logistic", "logistic2": "logistic, slope 1 at 0"}),
    Handles(name="data", label="data", reach=_REACH, signed=True, least=2,
            meaning="Drag a cross, or focus it and use the arrow keys."),
    Handles(name="neurons", label="neurons", reach=_REACH, signed=True, least=1,
            meaning="At time 0 drag a neuron's ray; its direction is where it starts. All then stay as "
            "they are, until they are put back."),
)  # fmt: skip

_PRESETS = (
    Preset(name="The paper's toy", about="Two arcs: neurons turn to their class, then grow.", values={}),
    Preset(name="A large start", about="With ε = 0.3 turning and growing go together.",
           values={"scale": 0.3, "horizon": 30.0}),
    Preset(name="Dead neurons", about="Data on one side: many neurons see nothing and never move.",
           values={"data": _arc(-8, 0, 5, 1.0) + _arc(95, 105, 5, -1.0), "seed": 3}),
    Preset(name="Two points", about="One neuron turns past the first, sees the second, and ends between.",
           values={"data": [[1, 0, 1], [0.1, 0.995, 1]], "neurons": [[0.54, -0.841, 1]], "horizon": 40.0}),
    Preset(name="Not separable", about="Classes that interleave: neurons slide along walls, fates change.",
           values={"data": _arc(-20, 40, 6, 1.0) + _arc(20, 90, 6, -1.0), "horizon": 120.0}),
)  # fmt: skip

_EXPLANATION = (
    "A two-layer ReLU network $f(x) = \\sum_j v_j \\max(0, \\langle w_j, x\\rangle)$ starts with very small "
    "weights. Its outputs are then nearly zero, so neurons do not see each other, and each turns towards the "
    "data that it is active on: $\\dot w_j = v_j \\sum_{i : \\langle w_j, x_i\\rangle > 0} y_i x_i$.",
    "If data of one class have positive products and those of different classes negative ones, every neuron "
    "ends in one of three places: active on exactly the positive data, on exactly the negative, or dead. How "
    "long that takes hardly depends on $\\varepsilon$; growing takes about $\\log(1/\\varepsilon)$.",
    "The exact path is walked from event to event, each in closed form. It ends where outputs are no longer "
    "small; from there gradient flow, integrated for this very start, goes on.",
)


def page() -> Page:
    """Return the page."""
    return Page(
        answer="Neurons of a small start first turn, all at nearly zero length, until they point at one "
        "class or die; only then they grow and fit.",
        controls=_CONTROLS,
        panels=(
            Panel(name="plane", title="Data and neurons in the plane",
                  about="Crosses are data, rays are directions, dots lengths on a fixed scale. Red is "
                  "positive, blue negative, grey is dead. Drag, then press Play."),
            Panel(name="change", title="First directions, then lengths",
                  about="How fast directions turn and lengths grow."),
            Panel(name="loss", title="The loss waits",
                  about="It stays while neurons turn, and falls once they grow."),
            Panel(name="cosines", title="Alignment",
                  about="Mean cosine of live neurons to the sum of their class."),
        ),
        presets=_PRESETS,
        views={"motion": View(draw=motion)},
        problem=_problem,
        study=study,
        points=points,
        run="Train by gradient descent",
        thumbnail="plane",
        explanation=_EXPLANATION,
    )  # fmt: skip
