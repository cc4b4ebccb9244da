"""The page of one_step: errors against width, samples, α, β or step size, and networks that land on them."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firstlight.show.page import (
    Choice,
    Mark,
    Page,
    Panel,
    Picture,
    Preset,
    Several,
    Slider,
    Trace,
    Values,
    View,
)
from firstlight.study.spec import Arm
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    import xarray as xr

    from firstlight.one_step.problem import Problem

_FAMILY = "firstlight.one_step.families:"
_POINTS = 20  # of a curve
_DRAWS = 6  # of the first layer, of which theory is the mean
_LONGEST = 8.0  # seconds after which no further draw is begun
_COARSE = 36  # dimensions of the first, coarse curve
_SWEEPS = {
    "ratio": "width k/m",
    "samples": "samples m/n",
    "alpha": "weighting α",
    "beta": "strength β",
    "step_size": "step size η",
}
_OTHERS = {name: tuple(other for other in _SWEEPS if other != name) for name in _SWEEPS}  # swept: no slider
_ERRORS = {"test_error": "test error", "train_error": "training error"}
_RANGES = {"ratio": (0.1, 4.0), "samples": (0.2, 4.0), "alpha": (0.0, 1.0), "beta": (0.0, 1.0)}


# the others say what a run does
_NEEDS = (
    "sweep", "dimension", "samples", "width", "alpha", "beta", "ridge", "activation", "task",
    "label_direction",
)  # fmt: skip


def _fields(values: Values, dimension: int) -> dict[str, Any]:
    """Return the fields of the problem at the sliders' own values."""
    return {
        "dimension": dimension, "width": max(1, round(values["width"] * dimension)),
        "samples": max(1, round(values["samples"] * dimension)),
        "alpha": values["alpha"], "beta": values["beta"],
        "activation": values["activation"], "task": values["task"],
        "label_direction": values["label_direction"], "ridge": values["ridge"],
    }  # fmt: skip


def _axis(values: Values, count: int) -> list[float]:
    """Return values of the swept quantity: evenly, or in equal ratios where the range spans decades."""
    sweep = values["sweep"]
    low, high = _RANGES.get(sweep, (0.1, float(values["dimension"])))
    if sweep in ("ratio", "samples", "step_size"):
        return [float(f"{low * (high / low) ** (i / (count - 1)):.3g}") for i in range(count)]
    return [round(low + (high - low) * i / (count - 1), 4) for i in range(count)]


def _swept(values: Values, at: float) -> Values:
    """Return the sliders' values with the swept one replaced."""
    sweep = values["sweep"]
    if sweep == "ratio":
        return {**values, "width": at * values["samples"]}
    return {**values, sweep: at} if sweep != "step_size" else values


def _problem(values: Values, at: float | None = None, dimension: int | None = None) -> "Problem":
    """Build the problem at one point; in fewer dimensions strengths and step size stay as they are."""
    from firstlight.one_step.families import at_strength

    here = values if at is None else _swept(values, at)
    fields = _fields(here, dimension or values["dimension"])
    n, alpha, beta = values["dimension"], fields.pop("alpha"), fields["beta"]
    step = at if at is not None and values["sweep"] == "step_size" else n ** (beta * alpha)
    return at_strength(strength=n ** (beta * (1 - alpha)), step_size=step, **fields)


def errors(values: Values) -> Iterator[Mapping[str, Picture]]:
    """Yield both pictures: of few dimensions at once, then of all, then means over draws of the network."""
    axis, began = _axis(values, _POINTS), time.process_time()
    few = _COARSE if values["activation"] == "relu" else _COARSE // 2  # others have no closed forms
    rough = [_problem(values, at, few).predict(0) for at in axis]
    numbers = [_numbers(one) for one in rough]
    coarse = f"coarse: computed in {few} dimensions at the same ratios and strengths; refining …"
    yield _drawn(values, axis, numbers, coarse)
    order = sorted(range(_POINTS), key=lambda i: (i % 4 != 0, i % 2 != 0, i))
    for place, i in enumerate(order):
        numbers[i] = _numbers(_problem(values, axis[i]).predict(0))
        if place % 5 == 4 and place < _POINTS - 1:
            yield _drawn(values, axis, numbers, coarse)
    totals = [dict(one) for one in numbers]
    yield _drawn(values, axis, numbers, "one draw of the first layer")
    for draw in range(1, _DRAWS):
        if time.process_time() - began > _LONGEST:
            return
        for i, total in enumerate(totals):
            more = _numbers(_problem(values, axis[i]).predict(draw))
            totals[i] = {name: value + more[name] for name, value in total.items()}
        mean = [{name: value / (draw + 1) for name, value in one.items()} for one in totals]
        yield _drawn(values, axis, mean, f"mean over {draw + 1} draws of the first layer")


def _numbers(results: "xr.Dataset") -> dict[str, float]:
    return {name: float(results[name]) for name in (*_ERRORS, "relative_test_error", "relative_train_error")}


def _drawn(
    values: Values, axis: Sequence[float], numbers: Sequence[Mapping[str, float]], note: str
) -> dict[str, Picture]:
    pictures = {}
    for panel, prefix, y in (
        ("errors", "", "mean squared error"),
        ("relative", "relative_", "error / Var(y)"),
    ):
        curves = {name: [one[prefix + name] for one in numbers] for name in _ERRORS}
        known = [i for i, error in enumerate(curves["test_error"]) if math.isfinite(error)]
        gaps = "" if len(known) == len(axis) else "; gaps: theory has not converged there"
        marks = []
        if values["sweep"] == "step_size" and known:
            least = min(known, key=curves["test_error"].__getitem__)
            sign = {known[0]: "≤", known[-1]: "≥"}.get(least, "≈")  # at an end the best may lie beyond it
            marks = [Mark(x=axis[least], label=f"best η {sign} {axis[least]:.2g}", role="accent")]
        pictures[panel] = Picture(
            x=_SWEEPS[values["sweep"]], y=y, log_x=values["sweep"] in ("ratio", "samples", "step_size"),
            log_y=panel == "errors", note=note if note.endswith("…") else note + gaps, marks=marks,
            traces=[
                Trace(name=f"{_ERRORS[name]}, theory", x=axis, y=y, dashed=name == "train_error")
                for name, y in curves.items()
            ],
        )  # fmt: skip
    return pictures


def study(values: Values) -> Study:
    """Return the sweep that "run" means: eight points, networks beside theory on their own draws."""
    sweep, n = values["sweep"], values["dimension"]
    fields, axis = _fields(values, n), _axis(values, 8)
    reference, name = "firstlight.one_step.problem:Problem.scaled", sweep
    if sweep == "ratio":
        reference = f"{_FAMILY}by_width"
        fields.pop("width")
    elif sweep == "samples":
        name = "samples"
        axis = sorted({max(1, round(at * n)) for at in axis})
    fields.pop(name, None)
    arms = {kind: Arm("simulate", {} if kind == "network" else {"method": kind}) for kind in values["arms"]}
    return Study(
        name=f"one-step/explore-{sweep.replace('_', '-')}",
        description=f"Errors against {_SWEEPS[sweep]}, explored by hand",
        problem=reference,
        axes={name: axis},
        fixed=fields,
        arms={**arms, "theory": Arm("predict", paired=True)},
        trials=values["trials"],
        observables=[*_ERRORS, "relative_test_error", "relative_train_error"],
    )


_ARMS = {"network": "network", "hermite": "Hermite model", "conditional_gaussian": "conditional Gaussian"}
_ROLES = {"network": "experiment", "hermite": "second", "conditional_gaussian": "accent"}


def points(values: Values, study: Study, results: "xr.Dataset") -> dict[str, list[Trace]]:
    """Return what was measured, for both pictures."""
    from firstlight.show.measured import measured

    over = next(iter(study.axes))
    drawn: dict[str, list[Trace]] = {"errors": [], "relative": []}
    for panel, observable in (("errors", "test_error"), ("relative", "relative_test_error")):
        for arm in values["arms"]:
            role: Any = _ROLES[arm]
            one = measured(results, arm, observable, over, name=f"test error, {_ARMS[arm]}", role=role)
            drawn[panel] += [one] if one else []
    if over == "samples":  # the picture's axis is m/n
        n = values["dimension"]
        drawn = {
            panel: [Trace(**{**vars(one), "x": [at / n for at in one.x]}) for one in some]
            for panel, some in drawn.items()
        }
    return drawn


_CONTROLS = (
    Choice(name="sweep", label="against", default="ratio", options=_SWEEPS,
           meaning="What the horizontal axis is."),
    Slider(name="dimension", label="dimension n", default=120, low=40, high=300, step=10, whole=True,
           meaning="Inputs of the network. Theory becomes exact as it grows."),
    Slider(name="samples", label="samples m/n", default=1.0, low=0.2, high=4.0, step=0.05,
           when={"sweep": _OTHERS["samples"]},
           meaning="Training samples for each input dimension, as many for the step as for the read-out."),
    Slider(name="width", label="width k/n", default=1.0, low=0.1, high=4.0, step=0.05,
           when={"sweep": _OTHERS["ratio"]},
           meaning="Hidden neurons for each input dimension."),
    Slider(name="alpha", label="weighting α", default=0.5, low=0.0, high=1.0, step=0.02,
           when={"sweep": _OTHERS["alpha"]},
           meaning="0 puts the structure into the data (strong spikes), 1 into the step (a large one)."),
    Slider(name="beta", label="strength β", default=0.74, low=0.0, high=1.0, step=0.02,
           when={"sweep": _OTHERS["beta"]},
           meaning="Spike strength is n^(β(1−α)), step size is n^(βα)."),
    Slider(name="ridge", label="ridge λ", default=1e-4, low=1e-6, high=10.0, log=True,
           meaning="Penalty of the read-out. A larger one flattens the peak at k = m."),
    Choice(name="activation", label="activation σ", default="relu",
           options={"relu": "ReLU", "tanh": "tanh", "sigmoid": "sigmoid", "gelu": "GELU"}),
    Choice(name="task", label="labels", default="regression",
           options={"regression": "a direction of the input", "classification": "the class, ±1"}),
    Choice(name="label_direction", label="label direction", default="random", when={"task": ("regression",)},
           options={"random": "anywhere", "spikes": "along the spikes"}),
    Several(name="arms", label="train", default=("network",), options=_ARMS,
            meaning="What a run fits: the network, or one of the models that theory says are equivalent."),
    Slider(name="trials", label="trials", default=4, low=1, high=40, step=1, whole=True,
           meaning="Networks for each point of a run; their scatter makes the error bars."),
)  # fmt: skip

_PRESETS = (
    Preset(name="Errors against width", about="A peak where the width reaches the samples.", values={}),
    Preset(name="A ridge flattens the peak", about="The same with λ = 0.3.", values={"ridge": 0.3}),
    Preset(name="Structure in data or step", about="α raises the error tenfold; over Var(y) hardly.",
           values={"sweep": "alpha"}),
    Preset(name="The best step size", about="Too small learns nothing, too large drowns it.",
           values={"sweep": "step_size", "label_direction": "spikes", "alpha": 0.2, "activation": "tanh",
                   "ridge": 0.1}),
    Preset(name="Two classes", about="Labels are the classes; strong spikes tell them apart.",
           values={"task": "classification", "sweep": "beta", "alpha": 0.0, "samples": 2.0, "ridge": 0.01,
                   "dimension": 80}),
    Preset(name="Equivalent models", about="Hermite and conditional Gaussian beside the network.",
           values={"arms": ["network", "hermite", "conditional_gaussian"], "alpha": 0.2, "beta": 0.6}),
)  # fmt: skip

_EXPLANATION = (
    "The first layer of a two-layer network takes one gradient step of size $\\eta$, then the second is "
    "fitted by ridge regression on fresh samples. Inputs are Gaussian classes with covariance "
    "$\\Sigma_c = I + \\theta \\, u_c u_c^\\top$; the source couples both strengths, "
    "$\\theta = n^{\\beta(1-\\alpha)}$ and $\\eta = n^{\\beta\\alpha}$.",
    "When $n$, $k$ and $m$ grow together, the errors no longer depend on chance. The line is that limit's "
    "deterministic equivalent for a sampled first layer: no read-out is trained for it. With feature "
    "covariance $\\Phi$ the effective penalty $\\kappa$ solves "
    "$m = \\mathrm{tr}\\,\\Phi(\\Phi + \\kappa)^{-1} + m\\lambda/\\kappa$.",
    "The raw error alone misleads: where the label's direction is anywhere, the variance of the labels falls "
    "as the spikes grow. The second picture divides by it.",
)


def page() -> Page:
    """Return the page."""
    return Page(
        answer="One large step lets a network use structure that random features miss; the error left is "
        "known in advance, peak included.",
        controls=_CONTROLS,
        panels=(
            Panel(name="errors", title="Error left after one step", wide=True,
                  about="Lines are theory. Networks' test errors land as points, ± one standard error."),
            Panel(name="relative", title="The same over the variance of the labels",
                  about="The fair form: 1 means that nothing was learnt, more that harm was done."),
        ),
        presets=_PRESETS,
        views={"errors": View(draw=errors, needs=_NEEDS)},
        problem=_problem,
        study=study,
        points=points,
        run="Train networks",
        thumbnail="errors",
        explanation=_EXPLANATION,
    )  # fmt: skip
