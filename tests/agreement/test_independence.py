"""Theory and experiment share no code: which source files `predict` and `simulate` execute, traced.

Definitions, data laws, activations, quadrature and other mathematics are for both. Compiled kernels leave no
Python frames; the modules that call them do.
"""

import importlib
import pkgutil
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import firstlight
from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.unseen_classes.images import ImageProblem
from firstlight.unseen_classes.problem import ClassProblem, RotationProblem, SideProblem

SOURCE = Path(firstlight.__file__).parent
SHARED = {"network": "experiment", "measure": "experiment"}  # the sides of what all theories share

# (problem, options) -> files of the other side that may run, and why
DEGREE = {f"one_step/theory/{name}.py" for name in ("degree", "neurons", "reduced")}
EXCEPTIONS = {
    # which degree the Hermite model has is part of the question, like its width; theory answers it
    ("one_step", "simulate", "hermite"): DEGREE,
}

SCALED = {"dimension": 40, "width": 30, "samples": 50, "alpha": 0.5, "beta": 0.5}
SMALL = {"samples": 8, "dimension": 4, "width": 8, "horizon": 2.0, "observations": 5}
CLASSES = {"dimension": 24, "samples": 24, "width": 32, "unseen_samples": 6}

PROBLEMS = {
    "one_step": lambda: one_step.Problem.scaled(**SCALED),
    "one_step, classes": lambda: one_step.Problem.scaled(**SCALED, task="classification"),
    "features": lambda: one_step.SpectrumProblem.scaled(**SCALED),
    "alignment": lambda: early_alignment.Problem(**SMALL),
    "alignment, descent": lambda: early_alignment.Problem(
        **SMALL, start="gaussian", reduction="mean", step_size=0.05
    ),
    "two points": lambda: early_alignment.Problem(
        data="two-points", start="angle", log_scale=-30.0, horizon=5.0, observations=5
    ),
    "training": lambda: phase_transition.Problem(
        samples_per_dimension=4.0, dimension=40, steps=2, step_size=0.1
    ),
    "training, free": lambda: phase_transition.Problem(
        samples_per_dimension=4.0, dimension=40, steps=2, step_size=0.1, hold_hard=False, spectrum=False
    ),
    "learning": lambda: phase_transition.LearningProblem(
        samples_per_dimension=6.0, dimension=40, steps=8, theory_steps=8
    ),
    "spectrum": lambda: phase_transition.SpectrumProblem(samples_per_dimension=4.0, dimension=40, bins=4),
    "algorithmic": lambda: phase_transition.AlgProblem(draws=4000),
    "threshold": lambda: phase_transition.ThresholdProblem(
        theory_steps=8, dimension=40, steps=8, samples_per_dimension=(1.0, 8.0)
    ),
    "cosines": lambda: unseen_classes.Problem(**CLASSES),
    "cosine": lambda: ClassProblem(cosine=0.5, **CLASSES),
    "sides": lambda: SideProblem(side="opposite", along=1.0, **CLASSES),
    "rotations": lambda: RotationProblem(tau=0.1, **CLASSES),
    "images": lambda: ImageProblem(images="digits", classes="3,8", width=32, per_class=6),
    "softmax": lambda: ImageProblem(images="digits", classes="3,5,8", width=32, per_class=6, loss="softmax"),
    "sets": lambda: unseen_classes.SetsProblem(sets="0,1;3,8", per_class=6, width=32),
    "gradient": lambda: unseen_classes.GradientProblem(dimension=16),
    "norm": lambda: unseen_classes.NormProblem(dimension=16),
    "deep": lambda: unseen_classes.DeepProblem(
        images="digits", classes="0,1", per_class=6, epochs=1, width=4
    ),
}

FEW = {"draws": 128}
UNSEEN = (
    "cosines", "cosine", "sides", "rotations", "images", "softmax", "sets", "gradient", "norm", "deep",
)  # fmt: skip
CALLS = [
    *(("one_step", "predict", {"equivalent": e}) for e in ("auto", "class-wise")),
    ("one_step", "predict", {"method": "asymptotic", "draws": 1}),
    *(("one_step", "simulate", {"method": m}) for m in ("network", "hermite", "conditional_gaussian")),
    ("one_step", "simulate", {"risk": "population"}),
    *((name, kind, {}) for name in ("one_step, classes", "features") for kind in ("predict", "simulate")),
    *(("alignment", "predict", {"method": f}) for f in ("exact", "limit", "rate", "paper", "path", "sharp")),
    ("alignment", "simulate", {}),
    ("alignment, descent", "predict", {}),
    *(("alignment, descent", "simulate", {"method": "descent", "batch_size": b}) for b in (None, 4)),
    ("two points", "predict", {"method": "law"}),
    ("two points", "simulate", {}),
    *((name, "predict", FEW) for name in ("training", "training, free", "learning", "spectrum", "threshold")),
    ("threshold", "predict", {**FEW, "method": "finite"}),
    *((name, "simulate", {}) for name in ("training", "training, free", "learning", "spectrum", "threshold")),
    *(("algorithmic", kind, {}) for kind in ("predict", "simulate")),
    *((name, kind, {}) for name in UNSEEN for kind in ("predict", "simulate")),
]  # fmt: skip


@pytest.fixture(scope="module")
def everything_imported():
    """What a first use would import must not count as executed; compiling would take twice as long traced."""
    for module in pkgutil.walk_packages(firstlight.__path__, "firstlight."):
        importlib.import_module(module.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PROBLEMS["alignment"]().predict(method="exact")
        PROBLEMS["training"]().simulate(np.random.default_rng(0))


def executed(call) -> set[str]:
    """Run something and return the files of firstlight of which functions ran, in any thread."""
    files = set()

    def look(frame, event, argument):
        if event == "call":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return {str(Path(name).relative_to(SOURCE)) for name in files if Path(name).is_relative_to(SOURCE)}


def side_of(file: str) -> str:
    first, second = Path(file).parts[:2]
    return second if second in ("theory", "experiment") else SHARED.get(first, "both")


@pytest.mark.parametrize(("name", "kind", "options"), CALLS, ids=str)
def test_no_code_of_the_other_side_runs(everything_imported, name, kind, options):
    if name == "deep" and kind == "simulate":
        pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes are far too small for the theories
        problem = PROBLEMS[name]()
        getattr(problem, "directions", None)  # of the question: both sides are told which are hard
        files = executed(lambda: getattr(problem, kind)(np.random.default_rng(0), **options))
    other = "experiment" if kind == "predict" else "theory"
    allowed = EXCEPTIONS.get((name, kind, options.get("method")), set())
    assert {file for file in files if side_of(file) == other} == allowed


def test_every_problem_is_traced():
    """Of the four theories, whatever has both sides."""
    traced = {type(build()) for build in PROBLEMS.values()}
    for theory in (one_step, early_alignment, phase_transition, unseen_classes):
        for name in theory.__all__:
            answer = getattr(theory, name)
            if isinstance(answer, type) and hasattr(answer, "predict") and hasattr(answer, "simulate"):
                assert answer in traced, name


def test_the_trace_sees_what_runs():
    from firstlight.one_step.theory.degree import hermite_degree

    assert executed(lambda: hermite_degree(0.5)) == {"one_step/theory/degree.py", "maths/checks.py"}
