"""Studies of early alignment: the paper's figures, and its bounds against what happens."""

import math
from typing import Any

from firstlight.study.spec import Arm, FigureSpec, Range, Scale
from firstlight.study.sweep import Study

_PROBLEM = "firstlight.early_alignment:Problem"
_CLAIMS = "firstlight.early_alignment.claims:"
_SMALL = math.log(1e-6)

_TIME_ARMS = {
    "flow": Arm("simulate", {"tolerance": 1e-4}, label="gradient flow"),
    "exact": Arm("predict", paired=True, label="exact path (ε → 0)"),
    "sharp": Arm("predict", {"method": "sharp"}, paired=True, label="sharp bound"),
    "path": Arm("predict", {"method": "path"}, paired=True, label="bound along the path"),
    "paper": Arm("predict", {"method": "paper"}, paired=True, label="the paper's bound"),
}
_LONG_FLOW = Arm("simulate", {"tolerance": 1e-5}, label="gradient flow")
_RATE = Arm("predict", {"method": "rate"}, paired=True, label="the theorem's bound")
_LONG = {"width": 30, "observations": 37, "log_times": True}
_TIME_LABELS = {"alignment_time": "alignment time", "samples": "n", "mu": "μ", "log_scale": "log ε"}
_SEPARABLE = {"dimension": 10, "width": 30, "horizon": 10.0, "observations": 120, "log_times": True}

_CURVES = ("cosine_plus", "cosine_minus", "loss", "log_norm", "stable_rank", "right_sign")
_CURVE_LABELS = {
    "cosine_plus": "cosine to x₊",
    "cosine_minus": "cosine to x₋",
    "log_norm": "log ‖W‖²",
    "stable_rank": "stable rank",
    "direction_change": "change of directions",
    "norm_change": "change of norms",
}


def _images(positive: int, negative: int) -> dict[str, Any]:
    return {
        "data": "mnist", "classes": f"{positive},{negative}", "start": "gaussian", "reduction": "mean",
        "width": 50, "log_scale": _SMALL, "step_size": 5e-3, "horizon": 8.0, "observations": 41,
    }  # fmt: skip


def _mnist(positive: int, negative: int, horizon: float) -> Study:
    return Study(
        name=f"early-alignment/mnist-{positive}-{negative}",
        description=f"MNIST {positive} against {negative}: neurons turn to the centres, then the loss falls",
        problem=_PROBLEM,
        axes={"samples": [120]},
        fixed={**_images(positive, negative), "horizon": horizon},
        arms={
            "descent": Arm("simulate", {"method": "descent"}, label="gradient descent"),
            "exact": Arm("predict", paired=True, label="exact path"),
        },
        trials=3,
        observables=(*_CURVES, "cosine_plus_min", "cosine_minus_min", "dead"),
        judged=_CURVES[:-1],  # the data alone decide the last
        claims=f"{_CLAIMS}digits",
        figure=FigureSpec(x="time", labels=_CURVE_LABELS),
        scales={
            "medium": Scale(trials=24),  # what decides, without the paper's sizes
            "paper": Scale(
                fixed={"step_size": 2e-3, "horizon": 30.0, "observations": 151},
                axes={"samples": [1000, 10_000]},
            ),
        },
    )


STUDIES = (
    Study(
        name="early-alignment/toy",
        description="Two arcs in the plane: neurons turn first, then grow and fit",
        problem=_PROBLEM,
        axes={"data": ["toy"]},
        fixed={
            "start": "gaussian",
            "reduction": "mean",
            "width": 50,
            "log_scale": _SMALL,
            "step_size": 5e-3,
            "horizon": 60.0,
            "observations": 121,
        },
        arms={
            "descent": Arm("simulate", {"method": "descent"}, label="gradient descent"),
            "exact": Arm("predict", paired=True, label="exact path"),
        },
        trials=4,
        observables=["cosine_plus", "cosine_minus", "direction_change", "norm_change", "loss"],
        claims=f"{_CLAIMS}phases",
        figure=FigureSpec(x="time", draw="firstlight.early_alignment.figures:toy"),
        scales={"paper": Scale(fixed={"step_size": 2e-3, "horizon": 80.0, "observations": 401})},
    ),
    Study(
        name="early-alignment/two-points",
        description="Two almost orthogonal points: the time to align is log(tan(a/2) / tan(δ/2))",
        problem=_PROBLEM,
        axes={"angle": Range(0.2, 1.5, 8), "separation": [0.1, 0.01, 0.001]},
        fixed={
            "data": "two-points",
            "start": "angle",
            "log_scale": -30.0,
            "horizon": 10.0,
            "observations": 201,
        },
        arms={
            "flow": Arm("simulate", {"tolerance": 1e-7}, label="gradient flow"),
            "law": Arm("predict", {"method": "law"}, label="closed form"),
            "exact": Arm("predict", label="exact path"),
        },
        trials=2,
        observables=["alignment_time"],
        figure=FigureSpec(
            x="angle", hue="separation", labels={"angle": "start angle a", "separation": "δ", **_TIME_LABELS}
        ),
        scales={"paper": Scale(axes={"angle": Range(0.1, 1.55, 30)})},
    ),
    Study(
        name="early-alignment/time-vs-n",
        description="Alignment time against the number of data: measured, exact, bounded",
        problem=_PROBLEM,
        axes={"samples": [4, 8, 16, 32, 64, 128]},
        fixed={**_SEPARABLE, "mu": 0.1, "log_scale": -20.0},
        arms=_TIME_ARMS,
        trials=4,
        observables=["alignment_time"],
        judged=["alignment_time"],
        claims=f"{_CLAIMS}times",
        figure=FigureSpec(x="samples", log_x=True, log_y=True, labels=_TIME_LABELS),
        scales={"paper": Scale(trials=8, axes={"samples": [4, 8, 16, 32, 64, 128, 256]})},
    ),
    Study(
        name="early-alignment/time-vs-mu",
        description="Alignment time against the separability μ: measured, exact, bounded",
        problem=_PROBLEM,
        axes={"mu": [0.02, 0.05, 0.1, 0.2, 0.4, 0.8]},
        fixed={**_SEPARABLE, "samples": 16, "log_scale": -20.0},
        arms=_TIME_ARMS,
        trials=4,
        observables=["alignment_time", "wrong_switches", "switches"],
        judged=["alignment_time"],
        claims=f"{_CLAIMS}times",
        figure=FigureSpec(x="mu", log_x=True, log_y=True, labels=_TIME_LABELS),
        scales={"paper": Scale(trials=8, axes={"mu": Range(0.01, 0.9, 13, log=True)})},
    ),
    Study(
        name="early-alignment/time-vs-scale",
        description="Alignment time against the scale of the start: it tends to that of the exact path",
        problem=_PROBLEM,
        axes={"log_scale": [-1.0, -2.0, -3.0, -4.0, -6.0, -10.0, -20.0]},
        # At log ε = -1 neurons come late, when fitting has slowed down: up to t = 6e4 in 12 trials.
        fixed={**_SEPARABLE, "samples": 16, "mu": 0.2, "horizon": 1e6, "observations": 24},
        arms=_TIME_ARMS,
        trials=4,
        observables=["alignment_time"],
        judged=["alignment_time"],
        claims=f"{_CLAIMS}scales",
        figure=FigureSpec(x="log_scale", log_y=True, labels=_TIME_LABELS),
        scales={"paper": Scale(trials=8)},
    ),
    Study(
        name="early-alignment/needed-scale",
        description="A start as small as the theorem asks for: alignment time beside the bounds",
        problem=_PROBLEM,
        axes={"samples": [4, 8, 16]},
        fixed={**_SEPARABLE, "mu": 0.4, "log_scale": -4e4},
        arms=_TIME_ARMS,
        trials=4,
        observables=["alignment_time"],
        claims=f"{_CLAIMS}needed_scale",
        figure=FigureSpec(x="samples", log_x=True, log_y=True, labels=_TIME_LABELS),
        scales={"paper": Scale(trials=8)},
    ),
    Study(
        name="early-alignment/loss-rate",
        description="Decay of the loss: gradient flow, the theorem's bound, and the limit κ / (t log t)",
        problem=_PROBLEM,
        axes={"mu": [0.3]},
        fixed={"samples": 16, "dimension": 6, "log_scale": -20.0, "horizon": 1e6, **_LONG},
        arms={
            "flow": _LONG_FLOW,
            "limit": Arm("predict", {"method": "limit"}, paired=True, label="limit"),
            "rate": _RATE,
        },
        trials=3,
        observables=["loss"],
        claims=f"{_CLAIMS}rate",
        tolerance=0.5,  # the limit is approached like 1/log t
        figure=FigureSpec(x="time", log_x=True, log_y=True),
        scales={"paper": Scale(fixed={"horizon": 1e12}, axes={"mu": [0.1, 0.3, 0.6]})},
    ),
    Study(
        name="early-alignment/loss-bound",
        description="A start as small as the theorem asks for: the loss beside the theorem's bound",
        problem=_PROBLEM,
        axes={"mu": [0.4]},
        # few samples: what the theorem asks for of log ε falls with their number and with 1/μ
        fixed={"samples": 4, "dimension": 10, "log_scale": -4e4, "horizon": 1e8, **_LONG},
        arms={
            "flow": _LONG_FLOW,
            "exact": _TIME_ARMS["exact"],
            "rate": _RATE,
        },
        trials=4,
        observables=["loss", "alignment_time"],
        judged=["alignment_time"],
        claims=f"{_CLAIMS}rate",
        figure=FigureSpec(x="time", log_x=True, log_y=True),
        scales={"paper": Scale(trials=8, axes={"mu": [0.2, 0.4, 0.8]})},
    ),
    Study(
        name="early-alignment/low-rank",
        description="Stable rank in time: from full to at most 2, on to its limit",
        problem=_PROBLEM,
        axes={"mu": [0.02, 0.3]},
        fixed={
            "samples": 16,
            "dimension": 10,
            "width": 30,
            "log_scale": -20.0,
            "horizon": 1e4,
            "observations": 61,
            "log_times": True,
        },
        arms={
            "flow": _LONG_FLOW,
            "exact": Arm("predict", paired=True, label="exact path (alignment)"),
            "limit": Arm("predict", {"method": "limit"}, paired=True, label="limit t → ∞"),
        },
        trials=3,
        observables=["stable_rank"],
        claims=f"{_CLAIMS}rank",
        figure=FigureSpec(x="time", hue="mu", log_x=True, labels={**_CURVE_LABELS, **_TIME_LABELS}),
        scales={"paper": Scale(trials=8, fixed={"horizon": 1e6, "width": 100})},
    ),
    _mnist(0, 1, horizon=8.0),
    _mnist(1, 7, horizon=10.0),
    _mnist(3, 8, horizon=20.0),
    Study(
        name="early-alignment/sgd",
        description="MNIST 0 against 1 in mini-batches: the same alignment as with all data",
        problem=_PROBLEM,
        axes={"samples": [240]},
        fixed=_images(0, 1),
        arms={
            "full": Arm("simulate", {"method": "descent"}, label="all data"),
            "batch": Arm("simulate", {"method": "descent", "batch_size": 60}, label="batches of 60"),
            "exact": Arm("predict", paired=True, label="exact path"),
        },
        trials=2,
        observables=_CURVES[:-1],
        figure=FigureSpec(x="time", labels=_CURVE_LABELS),
        scales={
            "paper": Scale(
                fixed={"step_size": 2e-3, "horizon": 30.0, "observations": 151}, axes={"samples": [10_000]}
            )
        },
    ),
    Study(
        name="early-alignment/first-layer-only",
        description="MNIST 0 against 1 with the second layer fixed at ±1: no two phases",
        problem=_PROBLEM,
        axes={"samples": [120]},
        fixed=_images(0, 1),
        arms={
            "both": Arm("simulate", {"method": "descent"}, label="both layers"),
            "first": Arm("simulate", {"method": "descent", "train_second": False}, label="first layer only"),
        },
        trials=2,
        observables=["norm_change", "loss", "cosine_plus"],
        figure=FigureSpec(x="time", labels=_CURVE_LABELS),
        scales={
            "paper": Scale(
                fixed={"step_size": 2e-3, "horizon": 30.0, "observations": 151}, axes={"samples": [1000]}
            )
        },
    ),
)
