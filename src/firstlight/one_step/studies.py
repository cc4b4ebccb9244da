"""Studies of one gradient step: the source's figures, with the error over Var(y) beside the raw one.

The raw error alone misleads: where the label direction is random, its length shrinks with the spikes, and
with it Var(y). What then looks like an effect of α or of the alignment is a change of units.

Scales "medium" have the quick sizes and as many trials as decide a claim, for which the report has no time.
"""

from dataclasses import replace
from typing import Any

from firstlight.study.spec import Arm, FigureSpec, Range, Scale
from firstlight.study.sweep import Study

_SCALED = "firstlight.one_step:Problem.scaled"
_FAMILY = "firstlight.one_step.families:"
_CLAIMS = "firstlight.one_step.claims:"

_QUICK = {"dimension": 240, "samples": 240}
_PAPER = {"dimension": 1000, "samples": 1000}
_SQUARE = {**_QUICK, "width": 240}
_PAPER_SQUARE = {**_PAPER, "width": 1000}

_ARMS = {
    "network": Arm("simulate", label="network", against=["asymptotic"]),
    "hermite": Arm("simulate", {"method": "hermite"}, label="Hermite model", against=["network"]),
    "deterministic": Arm("predict", paired=True, label="deterministic equivalent"),
    "asymptotic": Arm("predict", {"method": "asymptotic", "draws": 4}, label="network-free"),
}
# where only mean squares are shown, the network's are exact: no noise from a test sample
_EXACT = {**_ARMS, "network": replace(_ARMS["network"], options={"risk": "population"})}
_IMAGE_ARMS = {name: arm for name, arm in _ARMS.items() if name != "asymptotic"}  # no few spikes in images
_IMAGE_ARMS["network"] = replace(_IMAGE_ARMS["network"], against=())
_ERRORS = ("test_error", "relative_test_error", "train_error")
_LABELS = {
    "test_error": "test error",
    "train_error": "training error",
    "relative_test_error": "test error / Var(y)",
    "misclassification": "0/1 error",
    "ratio": "width / samples, k/m",
    "alpha": "weighting α (0: data, 1: step)",
    "beta": "strength β",
    "share": "share of the first class",
    "spike_alignment": "alignment of the spikes",
    "rank": "spikes per class",
    "activation": "σ",
}
_TOLERANCE = 0.1  # single trials at the quick scale's n = 240 differ from their own prediction by 6 %
_RATIOS = (0.1, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0, 4.0, 5.0)
_ACTIVATIONS = ("relu", "tanh", "sigmoid")


def _figure(x: str, **options: Any) -> FigureSpec:
    return FigureSpec(x=x, hue="activation", labels=_LABELS, **options)


def _fashion(
    first: int, second: int, centring: str = "class", ridge: float = 1e-4, medium: int | None = None
) -> Study:
    """Two classes of images; with global centring the class means stay, as in the source's last figure."""
    means = centring == "global"
    return Study(
        name=f"one-step/fashion-mnist-{first}-{second}" + ("-means" if means else ""),
        description=f"Fashion-MNIST {first} against {second}, with noise: network, Hermite model and theory"
        + (", class means kept" if means else ""),
        problem=f"{_FAMILY}images",
        claims=f"{_CLAIMS}images",
        tolerance=_TOLERANCE,
        axes={"ratio": [0.1, 0.5, 1.0, 1.5, 2.5]},
        fixed={"samples": 200, "classes": f"{first},{second}", "alpha": 0.0, "beta": 1.0, "ridge": ridge,
               "centring": centring},
        arms=_IMAGE_ARMS,
        trials=8,
        observables=["test_error", "train_error", "misclassification"],
        # labels are ±1 in equal shares: the error over Var(y) is the error itself
        figure=FigureSpec(x="ratio", labels=_LABELS | {"test_error": "test error (Var(y) = 1)"}, log_x=True),
        scales={
            "paper": Scale(
                trials=20,
                fixed={"samples": 500},
                axes={"ratio": [0.01, *_RATIOS]},
            ),
            # the source's number of samples at the quick scale's widths
            "medium": Scale(trials=medium, fixed={"samples": 500}),
        },
    )  # fmt: skip


_DEGREE = Study(
    name="one-step/degree",
    description="How many Hermite degrees the network needs, spikes in the data and labels along them",
    problem=_SCALED,
    claims=f"{_CLAIMS}degree",
    tolerance=_TOLERANCE,
    axes={"beta": [0.3, 0.6, 0.74, 0.9]},
    fixed={"dimension": 300, "width": 300, "samples": 300, "alpha": 0.0, "label_direction": "spikes"},
    arms={
        "network": Arm("simulate"),
        **{f"degree_{d}": Arm("simulate", {"method": "hermite", "degree": d}) for d in range(1, 7)},
        "conditional_gaussian": Arm("simulate", {"method": "conditional_gaussian"}),
        "deterministic": Arm("predict", paired=True, label="deterministic equivalent"),
    },
    trials=12,
    observables=["test_error"],  # drawn as gaps in percent, which Var(y) does not change
    figure=FigureSpec(labels=_LABELS, draw="firstlight.one_step.figures:degrees"),
    scales={
        "medium": Scale(trials=160),
        "paper": Scale(
            trials=20,
            fixed={"dimension": 1000, "width": 1000, "samples": 1000},
            axes={"beta": [0.3, 0.45, 0.6, 0.74, 0.85, 0.95]},
        ),
    },
)

STUDIES = (
    Study(
        name="one-step/width",
        description="Errors against the width: a peak where it reaches the samples, and theory on the points",
        problem=f"{_FAMILY}by_width",
        claims=f"{_CLAIMS}width",
        tolerance=_TOLERANCE,
        axes={"ratio": [0.1, 0.3, 0.5, 0.9, 1.1, 2.0, 4.0], "activation": ["relu", "tanh"]},
        fixed={**_QUICK, "alpha": 0.5, "beta": 0.74},
        # exact errors share second moments with theory, errors of a fresh sample nothing
        arms={**_EXACT, "sample": replace(_ARMS["network"], label="network, fresh sample")},
        trials=12,
        observables=["test_error", "train_error", "relative_test_error"],
        judged=["test_error", "train_error"],
        figure=_figure("ratio", log_x=True, log_y=True),
        scales={
            "medium": Scale(trials=24),
            "paper": Scale(trials=20, fixed=_PAPER, axes={"ratio": _RATIOS, "activation": _ACTIVATIONS}),
        },
    ),
    Study(
        name="one-step/alpha",
        description="Structure moved from the data (α = 0) to the step (α = 1): over Var(y), little changes",
        problem=_SCALED,
        claims=f"{_CLAIMS}alpha",
        tolerance=_TOLERANCE,
        axes={"alpha": Range(0.0, 1.0, 6), "activation": ["relu", "tanh"]},
        fixed={**_SQUARE, "beta": 0.74},
        arms=_EXACT,
        trials=8,
        observables=_ERRORS,
        judged=["test_error"],
        figure=_figure("alpha", log_y=True),
        scales={
            "medium": Scale(trials=32),
            # the ends decide the claim: 6 of the source's 20 points, two of its three activations
            "paper": Scale(trials=20, fixed=_PAPER_SQUARE),
        },
    ),
    Study(
        name="one-step/beta",
        description="Errors against the strength of the structure, in the data, in both, and in the step",
        problem=_SCALED,
        claims=f"{_CLAIMS}beta",
        tolerance=_TOLERANCE,
        axes={"beta": Range(0.0, 1.0, 5), "alpha": [0.0, 0.5, 1.0]},
        fixed={**_SQUARE, "activation": "relu"},
        arms=_EXACT,
        trials=8,
        observables=_ERRORS,
        judged=["test_error"],
        figure=FigureSpec(x="beta", hue="alpha", labels=_LABELS | {"alpha": "α"}, log_y=True),
        scales={
            "medium": Scale(trials=24),
            "paper": Scale(trials=20, fixed=_PAPER_SQUARE, axes={"beta": Range(0.0, 1.0, 10)}),
        },
    ),
    Study(
        name="one-step/mixture-ratio",
        description="Telling the classes apart by their spikes alone, against their shares",
        problem=f"{_FAMILY}by_share",
        claims=f"{_CLAIMS}share",
        tolerance=_TOLERANCE,
        axes={"share": Range(0.05, 0.95, 7), "activation": ["relu", "tanh"]},
        fixed={**_SQUARE, "alpha": 0.5, "beta": 0.74, "task": "classification"},
        arms=_ARMS,
        trials=8,
        observables=[*_ERRORS, "misclassification"],
        judged=["test_error", "misclassification"],
        figure=_figure("share"),
        scales={
            "medium": Scale(trials=24),
            "paper": Scale(
                trials=20,
                fixed=_PAPER_SQUARE,
                axes={"share": Range(0.05, 0.95, 10), "activation": _ACTIVATIONS},
            ),
        },
    ),
    Study(
        name="one-step/spike-alignment",
        description="Aligned spikes make the labels smaller, not the task easier",
        problem=_SCALED,
        claims=f"{_CLAIMS}spike_alignment",
        tolerance=_TOLERANCE,
        axes={"spike_alignment": Range(-1.0, 1.0, 7), "activation": ["relu", "tanh"]},
        fixed={**_SQUARE, "alpha": 0.5, "beta": 0.74},
        arms=_EXACT,
        trials=40,  # decides whether the error over Var(y) changes
        observables=_ERRORS,
        judged=["test_error"],
        figure=_figure("spike_alignment"),
        scales={
            # the points that decide, at twice the quick size
            "medium": Scale(
                trials=20,
                fixed={"dimension": 480, "width": 480, "samples": 480},
                axes={"spike_alignment": Range(-1.0, 1.0, 3)},
            ),
            # alignments 0 and 1 decide: 7 of the source's 20 points, two of its three activations
            "paper": Scale(trials=20, fixed=_PAPER_SQUARE),
        },
    ),
    Study(
        name="one-step/rank",
        description="Errors against the number of spikes in each class",
        problem=_SCALED,
        claims=f"{_CLAIMS}rank",
        tolerance=_TOLERANCE,
        axes={"rank": [1, 2, 4, 7, 10], "activation": ["relu", "tanh"]},
        fixed={**_SQUARE, "alpha": 0.5, "beta": 0.74},
        arms={
            **_EXACT,
            "asymptotic": Arm("predict", {"method": "asymptotic", "draws": 2}, label="network-free"),
        },
        trials=10,
        observables=_ERRORS,
        judged=["test_error"],
        figure=_figure("rank"),
        scales={
            "medium": Scale(trials=150),
            # a change of 10 % between rank 1 and 10 is told by 20 trials (5 % each): not the source's 100
            "paper": Scale(trials=20, fixed=_PAPER_SQUARE),
        },
    ),
    Study(
        name="one-step/alpha-beta-map",
        description="Errors over weighting α and strength β, and where a linear model no longer serves",
        problem=_SCALED,
        claims=f"{_CLAIMS}square",
        tolerance=_TOLERANCE,
        axes={"alpha": Range(0.0, 1.0, 6), "beta": Range(0.0, 1.0, 6)},
        fixed={"dimension": 160, "width": 200, "samples": 200, "label_direction": "spikes"},
        arms={
            "network": Arm("simulate", {"risk": "population"}),
            "linear": Arm("simulate", {"method": "hermite", "degree": 1}, label="degree-1 model"),
            "deterministic": Arm("predict", paired=True, label="deterministic equivalent"),
        },
        trials=8,
        observables=["test_error"],
        figure=FigureSpec(labels=_LABELS, draw="firstlight.one_step.figures:square"),
        scales={
            # the source's sizes at 36 of its 900 points
            "medium": Scale(trials=4, fixed={"dimension": 400, "width": 500, "samples": 500}),
            # 4 trials decided at the 36 points, by ten times their spread: as many for the whole map
            "paper": Scale(
                trials=4,
                fixed={"dimension": 400, "width": 500, "samples": 500},
                axes={"alpha": Range(0.0, 1.0, 30), "beta": Range(0.0, 1.0, 30)},
            ),
        },
    ),
    _DEGREE,
    replace(
        _DEGREE,
        name="one-step/degree-odd",
        description="The degrees that an odd network and odd labels need: where the third counts",
        axes={"beta": [0.7, 0.74]},
        fixed={**_DEGREE.fixed, "activation": "sin", "link": "sin"},
        scales={
            "medium": Scale(trials=60),  # twice what the quick row asked for
            "paper": Scale(trials=20, fixed={"dimension": 1000, "width": 1000, "samples": 1000}),
        },
    ),
    Study(
        name="one-step/feature-spectrum",
        description="Eigenvalues of the feature matrix: what a step lifts out of the bulk",
        problem="firstlight.one_step.spectrum:SpectrumProblem.scaled",
        tolerance=_TOLERANCE,
        axes={"step_size": [0.0, 20.0, 200.0]},
        fixed={"dimension": 200, "width": 150, "samples": 300, "alpha": 0.5, "beta": 0.5},
        arms={
            "network": Arm("simulate", label="network"),
            "predicted": Arm("predict", paired=True, label="deterministic equivalent"),
        },
        trials=8,
        observables=["eigenvalue"],
        figure=FigureSpec(
            x="rank",
            hue="step_size",
            log_x=True,
            log_y=True,
            labels={"eigenvalue": "eigenvalue of ΦᵀΦ/m", "step_size": "η"},
        ),
        scales={"paper": Scale(trials=20, fixed={"dimension": 1000, "width": 750, "samples": 1500})},
    ),
    _fashion(0, 1),
    _fashion(5, 9),
    # 8 trials left gaps at their borders: three times as many were fixed before the next look
    _fashion(0, 1, "global", 1e-5, medium=24),
    _fashion(5, 9, "global", 1e-5, medium=24),
    Study(
        name="one-step/fashion-mnist-rate",
        description="Fashion-MNIST 0 against 1: errors against the step size n^α, network and theory",
        problem=f"{_FAMILY}images",
        tolerance=_TOLERANCE,
        axes={"alpha": Range(0.0, 1.0, 5)},
        fixed={"ratio": 1.0, "samples": 200, "classes": "0,1", "beta": 1.0, "ridge": 1e-4},
        arms={name: arm for name, arm in _IMAGE_ARMS.items() if name != "hermite"},
        trials=8,
        observables=["test_error", "train_error", "misclassification"],
        figure=FigureSpec(x="alpha", labels=_LABELS | {"alpha": "step size n^α"}),
        scales={"paper": Scale(trials=20, fixed={"samples": 500}, axes={"alpha": Range(0.0, 1.0, 10)})},
    ),
)
