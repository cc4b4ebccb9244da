"""Studies of phase transitions of feature learning: thresholds, spectra, training, and when it succeeds."""

from firstlight.study.spec import Arm, FigureSpec, Scale
from firstlight.study.sweep import Study

_THEORY = "firstlight.phase_transition"
_CLAIMS = "firstlight.phase_transition.claims:"
_STEP = "sign(abs(z1) - 1.4820733)"
_EASY = "tanh(0.5*z1 + 1.5*(z2**2 - 1))"  # z1 is learnt at once, z2 is hard
_LABELS = {
    "samples_per_dimension": "samples per dimension δ",
    "delta_nn": "$δ_{NN}$",
    "delta_alg": "$δ_{alg}$",
    "threshold": "$δ_{NN}(T)$",
    "time": "step",
    "init_scale": "length of the first-layer rows at the start",
    "hidden_eigenvalue": "informative eigenvalue",
    "hidden_overlap": "its squared overlap",
    "cosine": "squared cosine",
    "escape_time": "escape time (steps)",
    "gradient_norm": "norm of the gradient",
    "smallest_eigenvalue": "lowest curvature",
    "easy_cosine": "squared cosine, easy",
    "hard_cosine": "squared cosine, hard",
}
_TARGETS = [
    "z1**2", "abs(z1)", _STEP, "He3(z1)**2", "cos(2*z1)", "tanh(z1**2 - 1)", "z1*z2", "sign(z1*z2)",
    "z1**2 + z2**2", "z1*z2 + 0.3*z1**2", "max(abs(z1), abs(z2))", "z1**2 + z2**2 + z3**2", "z1*z2*z3",
    "sign(z1*z2*z3)",
]  # fmt: skip
# of eigenvalues and overlaps at quick sizes: class fractions move the whole bulk, and below the threshold the
# eigenvector at the bulk's end still has an overlap that falls slowly with d (0.05 to 0.09 at d = 350)
_SCATTER = {"smallest_eigenvalue": 0.07, "hidden_eigenvalue": 0.07, "hidden_overlap": 0.1}


_LIMIT_ARMS = {
    "descent": Arm("simulate", label="descent, finite d"),
    "finite": Arm("predict", {"draws": 1 << 11, "method": "finite"}, label="V(t), finite d"),
    "limit": Arm("predict", {"draws": 1 << 11}, label="limit d → ∞"),
}


def _thresholds(name: str, what: str, axis: dict, paper: dict, fixed: dict, followed: int = 128) -> Study:
    """Make a study of delta_NN against one property of the network; theory follows so many steps on paper."""
    return Study(
        name=f"phase-transition/delta-nn-vs-{name}",
        description=f"delta_NN against {what}, and where descents of finite size succeed",
        problem=f"{_THEORY}:ThresholdProblem",
        axes=axis,
        fixed={
            "target": _STEP,
            "step_size": 0.0,
            "theory_steps": 64,
            "dimension": 100,
            "steps": 400,
            **fixed,
        },
        arms=_LIMIT_ARMS,
        trials=72,  # the least that decides whether the onset depends on the width or on the start
        observables=("delta_nn",),
        claims=f"{_CLAIMS}onset",
        figure=FigureSpec(labels=_LABELS),
        scales={
            "paper": Scale(
                trials=8, axes=paper, fixed={"theory_steps": followed, "dimension": 1000, "steps": 1400}
            )
        },
        tolerance=0.2,
    )


def _variants(name: str, question: str, axis: dict, paper: dict) -> Study:
    """Make a study of whether a change of the algorithm or of the width makes descents succeed earlier."""
    return Study(
        name=f"phase-transition/{name}-and-success",
        description=f"Does {question} lower the samples at which descents succeed, at equal learning time?",
        problem=f"{_THEORY}.variants:at_equal_time",
        axes={**axis, "samples_per_dimension": [1.2, 1.5, 1.9, 2.4, 3.0, 3.8]},
        fixed={"target": _STEP, "step_size": 0.2, "dimension": 100, "steps": 100, "theory_steps": 64},
        arms={"descent": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 11}, label="V(t)")},
        trials=56,
        observables=("success",),
        figure=FigureSpec(x="samples_per_dimension", hue=name, labels=_LABELS),
        scales={
            "medium": Scale(trials=560),  # decides for batches and momentum, not for the width
            "paper": Scale(trials=80, axes=paper, fixed={"dimension": 800, "steps": 200}),
        },
        claims=f"{_CLAIMS}lowers_{name}",
        tolerance=0.1,
        absolute=0.25,
    )


STUDIES = (
    Study(
        name="phase-transition/spectral-method",
        description="The best spectral method below and above delta_alg = 0.767, at growing sizes",
        problem=f"{_THEORY}.spectral_method:SpectralProblem",
        axes={"samples_per_dimension": [0.46, 1.15, 1.92], "dimension": [100, 200, 400, 800]},
        fixed={"target": _STEP},
        arms={"estimator": Arm("simulate", label="top eigenvector"), "theory": Arm("predict")},
        trials=144,  # below the threshold the overlap's exponent scatters by 2.4 from trial to trial
        observables=("overlap", "delta_over_alg"),
        judged=("overlap",),
        claims=f"{_CLAIMS}spectral",
        figure=FigureSpec(
            x="dimension", hue="samples_per_dimension", log_x=True,
            labels={**_LABELS, "samples_per_dimension": "δ", "overlap": "squared overlap"},
        ),
        scales={"paper": Scale(trials=32, axes={"dimension": [200, 400, 800, 1600, 3200]})},
        absolute=0.05,
    ),
    Study(
        name="phase-transition/two-phases",
        description="First along large gradients, then along negative curvature: both phases in time",
        problem=f"{_THEORY}.phases:PhasesProblem",
        axes={"samples_per_dimension": [4.0, 20.0]},
        fixed={"target": _EASY, "activation": "gelu", "init_scale": 1.0, "dimension": 150, "steps": 160},
        arms={
            "descent": Arm("simulate"),
            "theory": Arm("predict", {"draws": 1 << 10}, label="first phase"),
        },
        trials=8,
        observables=("gradient_norm", "smallest_eigenvalue", "easy_cosine", "hard_cosine"),
        judged=("smallest_eigenvalue", "easy_cosine"),
        claims=f"{_CLAIMS}phases",
        figure=FigureSpec(x="time", hue="samples_per_dimension", labels=_LABELS),
        scales={"paper": Scale(trials=16, fixed={"dimension": 600, "steps": 320})},
        absolute=0.1,
    ),
    Study(
        name="phase-transition/above-algorithmic",
        description="delta_NN beside delta_alg for several networks",
        problem=f"{_THEORY}:ThresholdProblem",
        axes={"init_scale": [0.4, 0.8], "loss": ["square", "logistic"]},
        fixed={"target": _STEP, "step_size": 0.0, "theory_steps": 48},
        arms={"theory": Arm("predict", {"draws": 1 << 11})},
        trials=1,
        observables=("delta_nn", "delta_alg"),
        claims=f"{_CLAIMS}above_algorithmic",
        figure=FigureSpec(labels=_LABELS),
        scales={"paper": Scale(axes={"init_scale": [0.2, 0.4, 0.8, 1.2, 1.6]}, fixed={"theory_steps": 128})},
    ),
    Study(
        name="phase-transition/delta-alg",
        description="Algorithmic thresholds of fourteen targets: quadrature beside Monte-Carlo",
        problem=f"{_THEORY}:AlgProblem",
        axes={"target": _TARGETS},
        fixed={"draws": 300_000},
        arms={"monte_carlo": Arm("simulate", label="Monte-Carlo"), "theory": Arm("predict")},
        trials=4,
        observables=("signal",),
        figure=FigureSpec(
            x="target", labels={**_LABELS, "signal": "$1/δ_{alg}$"}
        ),
        scales={"paper": Scale(trials=8, fixed={"draws": 4_000_000})},
        absolute=0.01,  # the largest eigenvalue of brute force's noise, where nothing is told
    ),
    Study(
        name="phase-transition/hessian-spectrum",
        description="The Hessian's density at initialisation, below and above the threshold, for m = 1, 2, 4",
        problem=f"{_THEORY}:SpectrumProblem",
        axes={"samples_per_dimension": [2.0, 8.0], "width": [1, 2, 4]},
        fixed={"target": _STEP, "init_scale": 0.5, "dimension": 250, "low": -2.0, "high": 7.0, "bins": 45},
        arms={"eigenvalues": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 10})},
        trials=4,
        observables=("share_below", "smallest_eigenvalue"),
        figure=FigureSpec(
            x="boundary", hue="samples_per_dimension", panels="width", labels=_LABELS,
            draw=f"{_THEORY}.figures:spectra",
        ),
        scales={"paper": Scale(trials=8, fixed={"dimension": 600, "bins": 90})},
        absolute=0.03,
        judged=("share_below",),
    ),
    Study(
        name="phase-transition/outlier-vs-delta",
        description="The informative eigenvalue and its overlap leave the bulk at the threshold",
        problem=f"{_THEORY}:SpectrumProblem",
        axes={"samples_per_dimension": [2.0, 4.0, 7.0, 10.0, 14.0, 20.0]},
        fixed={"target": _STEP, "dimension": 400, "bins": 2},
        arms={"eigenvalues": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 11})},
        trials=8,
        observables=("hidden_eigenvalue", "hidden_overlap", "smallest_eigenvalue"),
        figure=FigureSpec(x="samples_per_dimension", labels=_LABELS, log_x=True),
        scales={"paper": Scale(trials=10, fixed={"dimension": 1000})},
        absolute=_SCATTER,
    ),
    Study(
        name="phase-transition/dmft-vs-gd",
        description="Gradient descent with the hard overlap held at zero, beside its mean-field theory",
        problem=f"{_THEORY}:Problem",
        axes={"samples_per_dimension": [2.0, 3.0, 5.0]},
        fixed={"target": _STEP, "dimension": 350, "steps": 16, "step_size": 0.15},
        arms={"descent": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 13})},
        trials=10,
        observables=(
            "train_loss", "test_loss", "largest_eigenvalue", "smallest_eigenvalue", "hidden_eigenvalue",
            "hidden_overlap",
        ),
        figure=FigureSpec(x="time", hue="samples_per_dimension", labels=_LABELS),
        scales={"paper": Scale(trials=10, fixed={"dimension": 2000, "steps": 64})},
        absolute={**_SCATTER, "largest_eigenvalue": 0.07},
    ),
    Study(
        name="phase-transition/delta-nn-vs-time",
        description="delta_NN(T), nearly linear in the bulk's edge, which is how its limit is found",
        problem=f"{_THEORY}:ThresholdProblem",
        axes={"init_scale": [0.8]},
        fixed={"target": _STEP, "theory_steps": 48},
        arms={"theory": Arm("predict", {"draws": 1 << 12}, label="theory")},
        trials=1,
        observables=("threshold", "edge", "delta_nn"),
        figure=FigureSpec(x="time", labels=_LABELS, draw="firstlight.phase_transition.figures:limit"),
        scales={"paper": Scale(axes={"init_scale": [0.4, 0.8, 1.2]}, fixed={"theory_steps": 192})},
    ),
    _thresholds(
        "init", "the initial length of the weights", {"init_scale": [0.4, 0.8]},
        {"init_scale": [0.2, 0.4, 0.8, 1.2, 1.6]}, {},
    ),
    # time and memory of the theory grow as (steps × width)³ and (steps × width)²
    _thresholds("width", "the width", {"width": [1, 2]}, {"width": [1, 2, 4]}, {}, followed=64),
    _thresholds(
        "activation", "the activation, with an easy direction", {"activation": ["tanh_squared", "gelu"]},
        {"activation": ["tanh_squared", "gelu", "silu", "softplus", "tanh"]},
        {"target": _EASY, "init_scale": 1.0,
         "samples_per_dimension": (1.5, 2.1, 3.0, 4.5, 6.5, 9.0, 13.0, 19.0)},
    ),
    _thresholds("loss", "the loss", {"loss": ["square", "logistic"]}, {"loss": ["square", "logistic"]}, {}),
    Study(
        name="phase-transition/limit-and-onset",
        description="Descents of finite size succeed far below delta_NN: two networks where the gap is large",
        problem=f"{_THEORY}.variants:early",
        axes={"network": ["2tanh² - 1, square", "1.5tanh² - 0.5, logistic"]},
        fixed={"theory_steps": 64, "dimension": 200, "steps": 200},
        arms=_LIMIT_ARMS,
        trials=24,
        observables=("delta_nn",),
        claims=f"{_CLAIMS}onset",
        figure=FigureSpec(labels=_LABELS),
        scales={
            "medium": Scale(trials=8, fixed={"dimension": 800}),  # d = 2000 takes 2 hours
            "paper": Scale(trials=40, fixed={"dimension": 2000, "theory_steps": 128}),
        },
        tolerance=0.2,
    ),
    _variants("batch", "SGD", {"batch": [1.0, 0.25]}, {"batch": [1.0, 0.5, 0.25]}),
    _variants("momentum", "momentum", {"momentum": [0.0, 0.6]}, {"momentum": [0.0, 0.6, 0.9]}),
    _variants("width", "width", {"width": [1, 2]}, {"width": [1, 2, 4]}),
    Study(
        name="phase-transition/learning-curve",
        description="How often gradient descent succeeds, beside V(t), a theory without fit",
        problem=f"{_THEORY}:LearningProblem",
        axes={"samples_per_dimension": [1.0, 1.5, 2.0, 2.25, 2.5, 3.0, 4.0], "dimension": [60, 120]},
        fixed={"target": _STEP, "steps": 200, "theory_steps": 96},
        arms={"descent": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 12}, label="V(t)")},
        trials=32,
        observables=("success",),
        figure=FigureSpec(
            x="samples_per_dimension", hue="dimension", labels=_LABELS, draw=f"{_THEORY}.figures:learning"
        ),
        scales={
            "paper": Scale(
                trials=40, axes={"dimension": [500, 1000, 2000]}, fixed={"steps": 2000, "theory_steps": 128}
            )
        },
        tolerance=0.1,
        absolute=0.2,
    ),
    Study(
        name="phase-transition/escape-time",
        description="The time to leave the plateau grows as the logarithm of the dimension",
        problem=f"{_THEORY}:LearningProblem",
        axes={"dimension": [80, 160, 320]},
        fixed={
            "target": _STEP, "second_layer": 1.5, "offset": -0.5, "samples_per_dimension": 6.0,
            "step_size": 0.12, "steps": 120, "theory_steps": 64,
        },
        arms={"descent": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 11}, label="V(t)")},
        trials=64,
        observables=("escape_time",),
        claims=f"{_CLAIMS}delay",
        figure=FigureSpec(x="dimension", labels=_LABELS, log_x=True),
        scales={
            "paper": Scale(
                trials=60, axes={"dimension": [250, 500, 1000, 2000, 4000]},
                fixed={"steps": 200, "theory_steps": 96}
            )
        },
        tolerance=0.25,
    ),
    Study(
        name="phase-transition/grokking",
        description="Training error falls at once, test error waits for the hidden direction",
        problem=f"{_THEORY}:Problem",
        axes={"dimension": [200, 400, 800]},
        fixed={
            "target": _STEP, "second_layer": 1.5, "offset": -0.5, "samples_per_dimension": 6.0,
            "step_size": 0.12, "steps": 64, "hold_hard": False, "spectrum": False,
        },
        # 128 steps put 256 conditions on the samples of the rarer label, in each of four scrambles
        arms={"descent": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 14})},
        trials=16,
        observables=("train_error", "test_error", "cosine"),
        claims=f"{_CLAIMS}grokking",
        figure=FigureSpec(x="time", hue="dimension", labels=_LABELS),
        scales={"paper": Scale(trials=20, axes={"dimension": [500, 1000, 2000, 4000]}, fixed={"steps": 128})},
        tolerance=0.1,
        absolute=0.05,
    ),
    # the gap of an extreme eigenvalue to the edge of its bulk falls as d^(-2/3) for large d
    Study(
        name="phase-transition/size",
        description="The Hessian's largest eigenvalue nears theory's edge as the dimension grows",
        problem=f"{_THEORY}:Problem",
        axes={"dimension": [60, 120, 240]},
        fixed={"target": _STEP, "samples_per_dimension": 3.0, "steps": 1, "step_size": 0.15},
        arms={"descent": Arm("simulate"), "theory": Arm("predict", {"draws": 1 << 12})},
        trials=150,
        observables=("largest_eigenvalue",),
        size_axis="dimension",
        figure=FigureSpec(
            x="dimension",
            hue="time",
            log_x=True,
            labels={"dimension": "dimension d", "largest_eigenvalue": "largest eigenvalue", "time": "step"},
        ),
        scales={"paper": Scale(axes={"dimension": [125, 250, 500, 1000]})},
    ),
)  # fmt: skip
