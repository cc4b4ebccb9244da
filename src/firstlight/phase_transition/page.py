"""The page of phase_transition: the Hessian's spectrum, thresholds, training and how often it succeeds."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from firstlight.show.page import (
    Choice,
    Formula,
    Mark,
    Page,
    Panel,
    Picture,
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

    from firstlight.phase_transition.theory.hessian import HessianSpectrum

_HERE = "firstlight.phase_transition"
_STEP = "sign(abs(z1) - 1.4820733)"
_EASY = "tanh(0.5*z1 + 1.5*(z2**2 - 1))"
_STEP_SIZE = 0.15
_FOLLOWED = 32  # steps of V(t), which is continued beyond
_PILOT = 100  # dimensions at which the onset is measured, for all others
_DESCENT = 200  # steps within which an experiment must succeed
_DELTAS = (0.8, 1.2, 1.8, 2.5, 3.5, 5.0, 7.5, 11.0)
_MODEL = ("target", "activation", "width", "init_scale", "loss")
_RUNS = {
    "spectrum": "eigenvalues of Hessians",
    "training": "descent on its mean field",
    "success": "how often it succeeds",
}


def _check(target: str) -> None:
    from firstlight.data.multi_index import MultiIndex

    MultiIndex(target)


def _model(values: Values) -> dict[str, Any]:
    return {name: values[name] for name in _MODEL}


def _problem(values: Values) -> Any:
    from firstlight.phase_transition.spectrum import SpectrumProblem

    return SpectrumProblem(
        **_model(values), samples_per_dimension=values["delta"], dimension=values["dimension"]
    )


def spectrum(values: Values) -> Iterator[Mapping[str, Picture]]:
    """Yield the density of the Hessian's eigenvalues at the start, with its edge and outliers."""
    from firstlight.phase_transition.theory.hessian import hessian_spectrum

    problem = _problem(values)
    for draws, count, note in ((1 << 9, 40, "coarse: few nodes; refining …"), (1 << 12, 200, "")):
        spectrum = hessian_spectrum(problem.law, problem.student, values["delta"], draws=draws)
        yield {"spectrum": _density(spectrum, count, note)}


def _range(spectrum: "HessianSpectrum") -> tuple[float, float]:
    """Return where the eigenvalues are, with some room on both sides."""
    low, high = spectrum.ends
    room = 0.08 * (high - low)
    return low - room, high + room


def _density(spectrum: "HessianSpectrum", count: int, note: str) -> Picture:
    import numpy as np

    low, high = _range(spectrum)
    x = np.unique(np.r_[np.linspace(low, high, count), spectrum.left_edge, spectrum.right_edge])
    y = spectrum.density(x, width=2e-3)
    marks = [Mark(x=spectrum.left_edge, label=f"edge {spectrum.left_edge:.3g}")]
    marks += [
        Mark(x=one.value, label=f"outlier {one.value:.3g}, overlap {one.overlap:.2g}", role="positive")
        for one in spectrum.outliers
    ]
    if not spectrum.outliers and not note:
        note = "no eigenvalue has left the bulk: the start does not show the hidden direction"
    return Picture(
        x="eigenvalue", y="density", note=note, marks=marks, x_range=(low, high),
        traces=[Trace(name="theory, d → ∞", x=x.tolist(), y=y.tolist(), kind="area")],
    )  # fmt: skip


def thresholds(values: Values) -> Iterator[Mapping[str, Picture]]:
    """Yield the number line of thresholds: of fast methods at once, then of this network, and of its size."""
    from firstlight.phase_transition.finite_size import onset
    from firstlight.phase_transition.theory.alg import delta_alg
    from firstlight.phase_transition.theory.delta_nn import delta_nn

    problem, d = _problem(values), values["dimension"]
    known = {"δ_alg": delta_alg(problem.law).value}
    yield {"thresholds": _line(known, "δ_NN is being computed …")}
    try:
        network = delta_nn(problem.law, problem.student, steps=_FOLLOWED, draws=1 << 11)
        known["δ_NN"] = network.value
        limit = f"δ_NN ± {network.residual:.2g}{'' if network.converged else ', not converged'}"
        limit = limit if network.value < float("inf") else "δ_NN is infinite"
    except ValueError as error:
        limit = f"δ_NN: {error}"
    yield {"thresholds": _line(known, f"{limit}; the onset at d = {d} is being measured …")}
    try:
        measured = onset(problem.law, problem.student, _STEP_SIZE, d, _DESCENT,
                      pilot_dimension=min(d, _PILOT), trials=40)  # fmt: skip
        said = f"onset ± {measured.error:.2g}, from descents of {_DESCENT} steps at d = {min(d, _PILOT)}"
        known[f"onset at d={d}"] = measured.value
        if measured.refused:
            said = f"no onset: {measured.refused.partition(';')[0]}"  # then follows advice to a program
    except ValueError as error:
        said = str(error)
    yield {"thresholds": _line(known, f"{limit}; {said}")}


_MARKS = {"δ_alg": "second", "δ_NN": "accent"}  # the onset is measured


def _line(known: Mapping[str, float], note: str) -> Picture:
    marks = [
        Mark(x=at, label=f"{name} ≈ {at:.3g}", role=_MARKS.get(name, "experiment"))  # type: ignore[arg-type]
        for name, at in known.items()
        if 0 < at < 1e3
    ]
    low, high = min((mark.x for mark in marks), default=1), max((mark.x for mark in marks), default=1)
    ends = (min(0.2, low / 2), max(20.0, 3 * high))
    alg, network = (min(known.get(name, ends[1]), ends[1]) for name in _MARKS)
    parts: tuple[tuple[str, float, float, Role], ...] = (
        ("no fast method", ends[0], alg, "dead"),
        ("some fast method", alg, network, "second"),
        ("this network", network, ends[1], "accent"),
    )
    if "δ_NN" not in known:  # nothing is said beyond δ_alg while nothing is known
        parts = parts[:1]
    areas = [
        Trace(name=name, x=[left, right], y=[1.0, 1.0], kind="area", role=role)
        for name, left, right, role in parts
        if left < right
    ]
    return Picture(
        x="samples per dimension δ", y="", traces=areas, marks=marks, log_x=True, y_range=(0, 1),
        note=note, follows="delta", x_range=ends,
    )  # fmt: skip


def training(values: Values) -> Iterator[Mapping[str, Picture]]:
    """Yield the losses in training by dynamical mean-field theory."""
    from firstlight.phase_transition.problem import Problem

    problem = Problem(**_training(values), samples_per_dimension=values["delta"])
    for draws, note in ((1 << 9, "coarse: few draws; refining …"), (1 << 11, "")):
        theory = problem.predict(draws=draws)
        traces = [
            Trace(name=f"{label}, theory", x=theory.time.values.tolist(), y=theory[name].values.tolist(),
                  dashed=name == "train_loss")
            for name, label in _LOSSES.items()
        ]  # fmt: skip
        yield {"training": Picture(x="step", y="loss", traces=traces, note=note)}


_LOSSES = {"test_loss": "test loss", "train_loss": "training loss"}


def _training(values: Values) -> dict[str, Any]:
    sizes = {name: values[name] for name in ("dimension", "steps")}
    return {**_model(values), **sizes, "step_size": _STEP_SIZE, "spectrum": False}


def _learning(values: Values) -> dict[str, Any]:
    sizes = {"dimension": values["dimension"], "steps": _DESCENT, "theory_steps": _FOLLOWED}
    return {**_model(values), **sizes, "step_size": _STEP_SIZE}


def success(values: Values) -> Iterator[Mapping[str, Picture]]:
    """Yield how likely descent is to find the hidden direction, δ by δ."""
    from firstlight.phase_transition.learning import LearningProblem

    chance: dict[float, float] = {}
    order = (*_DELTAS[1::2], *_DELTAS[::2])
    for place, delta in enumerate(order):
        predicted = LearningProblem(**_learning(values), samples_per_dimension=delta).predict(draws=1 << 10)
        chance[delta] = float(predicted.success)
        last = place == len(order) - 1
        done = "" if last else f"{place + 1} of {len(order)} points …"
        x = sorted(chance)
        curve = Trace(name=f"V(t), d = {values['dimension']}", x=x, y=[chance[at] for at in x])
        yield {
            "success": Picture(
                x="samples per dimension δ", y="probability of success", traces=[curve],
                follows="delta", log_x=True, y_range=(-0.03, 1.08), x_range=(0.5, 16.0), note=done,
            )
        }  # fmt: skip


def study(values: Values) -> Study:
    """Return the experiment that was chosen."""
    kind, deltas = values["experiment"], [values["delta"]]
    if kind == "spectrum":
        from firstlight.phase_transition.theory.hessian import hessian_spectrum

        problem = _problem(values)
        low, high = _range(hessian_spectrum(problem.law, problem.student, values["delta"], draws=1 << 9))
        limits = {"low": round(low, 1), "high": round(high, 1), "bins": 40}
        of, fixed = "spectrum:SpectrumProblem", {**_model(values), "dimension": values["dimension"], **limits}
        observables = ["density", "smallest_eigenvalue", "hidden_eigenvalue", "hidden_overlap"]
    elif kind == "training":
        of, fixed, observables = "problem:Problem", _training(values), list(_LOSSES)
    else:
        of, fixed, observables = "learning:LearningProblem", _learning(values), ["success"]
        deltas = list(_DELTAS)
    return Study(
        name=f"phase-transition/explore-{kind}",
        description=f"Explored by hand: {_RUNS[kind]}",
        problem=f"{_HERE}.{of}",
        axes={"samples_per_dimension": deltas},
        fixed=fixed,
        arms={"experiment": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 10})},
        trials=values["trials"],
        observables=observables,
    )


def points(values: Values, study: Study, results: "xr.Dataset") -> dict[str, list[Trace]]:
    """Return what was measured, for the picture that it belongs to."""
    from firstlight.show.measured import measured

    kind, size = values["experiment"], values["dimension"]
    shown: list[Trace | None]
    if kind == "spectrum":
        bars = measured(results, "experiment", "density", "eigenvalue", name=f"eigenvalues, d = {size}")
        shown = [Trace(**{**vars(bars), "kind": "bars", "error": None})] if bars else []
    elif kind == "training":
        shown = [
            measured(results, "experiment", name, "time", name=f"{label}, d = {size}", role=role)  # type: ignore[arg-type]
            for (name, label), role in zip(_LOSSES.items(), ("experiment", "accent"), strict=True)
        ]
    else:
        shown = [
            measured(results, "experiment", "success", "samples_per_dimension", name=f"descents, d = {size}")
        ]
    return {kind: [one for one in shown if one is not None]}


_CONTROLS = (
    Formula(name="target", label="target y = φ(z)", default=_STEP, check=_check,
            meaning="A function of hidden coordinates z1, z2, … of the input, such as sign(z1*z2).",
            examples={_STEP: "a step in |z1|: hard", "cos(2*z1)": "cos 2z1",
                      "tanh(z1**2 - 1)": "tanh(z1² − 1)", "sign(z1*z2)": "sign(z1 z2)",
                      _EASY: "one easy, one hard",
                      "sign(z1*z2*z3)": "sign(z1 z2 z3): never by fast methods"}),
    Slider(name="delta", label="samples per dimension δ", default=7.6, low=0.3, high=30.0, log=True,
           meaning="n/d. Below the threshold nothing is learnt, however long one trains."),
    Choice(name="activation", label="activation σ", default="tanh_squared",
           options={"tanh_squared": "tanh²", "gelu": "GELU", "silu": "SiLU", "softplus": "softplus",
                    "tanh": "tanh"}),
    Slider(name="width", label="neurons", default=1, low=1, high=3, step=1, whole=True),
    Slider(name="init_scale", label="length at the start", default=0.4, low=0.2, high=1.6, step=0.05,
           meaning="Of the first-layer rows."),
    Choice(name="loss", label="loss", default="square", options={"square": "square", "logistic": "logistic"}),
    Slider(name="steps", label="steps of training", default=16, low=4, high=40, step=1, whole=True),
    Choice(name="experiment", label="a run computes", default="spectrum", options=_RUNS),
    Slider(name="dimension", label="dimension d of a run", default=150, low=40, high=400, step=10, whole=True,
           meaning="Theory speaks of d → ∞; gaps shrink as d grows."),
    Slider(name="trials", label="trials", default=8, low=1, high=64, step=1, whole=True),
)  # fmt: skip

_PRESETS = (
    Preset(name="Above the threshold", about="An eigenvalue has left the bulk and points at z1.", values={}),
    Preset(name="Below the threshold", about="No outlier: the Hessian does not see the direction.",
           values={"delta": 1.2}),
    Preset(name="Descent on its mean field", about="Gradient descent at finite d, beside theory's curve.",
           values={"experiment": "training", "delta": 3.0, "dimension": 300}),
    Preset(name="The onset", about="How often descent finds the direction, against δ.",
           values={"experiment": "success", "dimension": 60, "trials": 16}),
    Preset(name="An easy direction helps", about="z1 is learnt at once, z2 is hard.",
           values={"target": _EASY, "activation": "gelu", "init_scale": 1.0, "delta": 6.0}),
    Preset(name="Never", about="For this target no fast method works at any δ.",
           values={"target": "sign(z1*z2*z3)"}),
)  # fmt: skip

_EXPLANATION = (
    "Labels are $y = \\varphi(z)$ for a few hidden coordinates $z = U^\\top x$ of a $d$-dimensional Gaussian "
    "input, and there are $n = \\delta d$ samples. A direction is hard if the labels' first moments do not "
    "show it; then gradient descent starts on a plateau.",
    "It can leave only where the Hessian of the risk has a negative eigenvalue outside its bulk whose vector "
    "points at the hidden direction. Bulk edge and outlier follow from a fixed-point equation for the "
    "resolvent. $\\delta_{\\mathrm{alg}}$ is where any known fast method can start: "
    "$1/\\delta_{\\mathrm{alg}}$ is the largest eigenvalue of $M \\mapsto E[G M G]$, "
    "$G = E[zz^\\top - I \\mid y]$.",
    "$\\delta_{\\mathrm{NN}}$, where descent on this network can, is our reconstruction from the published "
    "abstract. At the sizes of experiments descent succeeds somewhat earlier: $V(t)$ counts how far a random "
    "overlap of size $d^{-1/2}$ grows within the given steps.",
)


def page() -> Page:
    """Return the page."""
    return Page(
        answer="Below a number of samples per dimension a network learns nothing of a hard direction; above "
        "it, one eigenvalue of the Hessian leaves the bulk and shows the way.",
        controls=_CONTROLS,
        panels=(
            Panel(name="spectrum", title="The Hessian at the start", wide=True,
                  about="Its density, the bulk's edge, and the outlier that shows the way down."),
            Panel(name="thresholds", title="Thresholds",
                  about="Samples per dimension, from nothing to easy. The thin line is your δ."),
            Panel(name="success", title="How often descent succeeds",
                  about=f"Within {_DESCENT} steps, in the chosen dimension."),
            Panel(name="training", title="Training, with the hard overlap held at zero",
                  about="Dynamical mean-field theory; gradient descent arrives on it."),
        ),
        presets=_PRESETS,
        views={
            "spectrum": View(draw=spectrum, needs=(*_MODEL, "delta")),
            "thresholds": View(draw=thresholds, needs=(*_MODEL, "dimension")),
            "training": View(draw=training, needs=(*_MODEL, "delta", "steps")),
            "success": View(draw=success, needs=(*_MODEL, "dimension")),
        },
        problem=_problem,
        study=study,
        points=points,
        run="Run the experiment",
        thumbnail="spectrum",
        explanation=_EXPLANATION,
    )  # fmt: skip
