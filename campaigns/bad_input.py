"""Give hostile values to every public Problem, data law and function: success, or an error naming the field.

    python campaigns/bad_input.py [--count 40000] [--seed 0]

Each construction starts from arguments that are right and replaces one to three of them by values of a wrong
type, shape or size (for functions, which do the work, not by large numbers). Anything but success or a
ValueError or TypeError whose text names a replaced field is a failure, and so is a warning, or more than ten
seconds of work. Exit code 1 if there is any.
"""

import argparse
import datetime
import decimal
import fractions
import inspect
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import firstlight
from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.data.covariance import Dense, Spiked
from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture
from firstlight.data.multi_index import MultiIndex
from firstlight.data.noisy_images import noisy_images
from firstlight.data.parser import Formula
from firstlight.data.separable import separable, toy, two_points
from firstlight.data.structured import structured_data
from firstlight.data.unseen import UnseenData, split_classes
from firstlight.demo import Exponential
from firstlight.maths import checks
from firstlight.maths.activations import activation
from firstlight.maths.losses import Loss
from firstlight.one_step.families import by_share, by_width, images
from firstlight.study.spec import Arm, FigureSpec, Range, Refine, Scale
from firstlight.study.sweep import Study
from firstlight.unseen_classes.images import ImageProblem
from firstlight.unseen_classes.problem import ClassProblem, RotationProblem, SideProblem
from firstlight.unseen_classes.theory.kernel import predicted_movement

SECONDS = 10.0

_MIXTURE, _LABELS = structured_data(6, 2.0)
_SPIKE = np.eye(4)[:, :1]
_SCALED = {"dimension": 8, "width": 4, "samples": 6, "alpha": 0.5, "beta": 0.5}
_FOUR, _TWO = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])

# what is built, and arguments that are right; those not named here have defaults and are replaced too
TARGETS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (one_step.Problem, {"mixture": _MIXTURE, "labels": _LABELS, "width": 4, "samples": 6}),
    (one_step.Problem.scaled, _SCALED),
    (by_width, {"ratio": 0.5, **{name: _SCALED[name] for name in ("dimension", "samples", "alpha", "beta")}}),
    (by_share, {"share": 0.5, **_SCALED}),
    (images, {"ratio": 0.5, "samples": 6, "classes": "0,1", "images": "digits"}),
    (early_alignment.Problem, {}),
    (phase_transition.Problem, {}),
    (phase_transition.LearningProblem, {}),
    (phase_transition.SpectrumProblem, {}),
    (phase_transition.AlgProblem, {}),
    (phase_transition.ThresholdProblem, {}),
    (phase_transition.Student, {"activation": "tanh"}),
    (unseen_classes.Problem, {}),
    (ClassProblem, {"cosine": 0.5}),
    (SideProblem, {"along": 1.0, "side": "same"}),
    (RotationProblem, {}),
    (ImageProblem, {}),
    (unseen_classes.SetsProblem, {}),
    (unseen_classes.GradientProblem, {}),
    (unseen_classes.NormProblem, {}),
    (unseen_classes.DeepProblem, {"images": "digits"}),
    (unseen_classes.Step, {}),
    (GaussianMixture, {"weights": [0.5, 0.5], "means": None, "covariances": [np.eye(4), np.eye(4)]}),
    (Spiked, {"strengths": [1.0], "directions": _SPIKE}),
    (Dense, {"matrix": np.eye(3)}),
    (Regression, {"direction": [1.0, 0.0]}),
    (Classification, {}),
    (structured_data, {"dimension": 8, "strength": 2.0}),
    (MultiIndex, {"target": "z1*z2"}),
    (MultiIndex("z1*z2").sample, {"samples": 4, "dimension": 3}),
    (Formula, {"text": "z1"}),
    (separable, {"samples": 4, "dimension": 3, "mu": 0.3}),
    (two_points, {"separation": 0.1}),
    (toy, {}),
    (noisy_images, {"name": "digits", "first": 0, "second": 1}),
    (UnseenData, {"train": _FOUR, "train_labels": _TWO, "unseen": _FOUR, "unseen_labels": _TWO + 2}),
    (split_classes, {"x": _FOUR, "labels": [0, 1, 2, 3], "train_classes": [0, 1]}),
    (activation, {"name_or_callable": np.tanh}),
    (Loss, {"name": "mine", "value": np.add, "first": np.add, "second": np.add}),
    (Arm, {"kind": "predict"}),
    (Range, {"start": 1.0, "stop": 2.0, "num": 3}),
    (Refine, {"axis": "a", "observable": "b", "arm": "c", "budget": 2}),
    (Scale, {}),
    (FigureSpec, {}),
    (Study, {"name": "mine/x", "description": "d", "problem": Arm, "axes": {"a": [1, 2]}}),
]  # fmt: skip

_POINTS, _SIGNS = np.array([[1.0, 0.2], [0.3, 1.0], [-1.0, -0.1]]), np.array([1, 1, -1])
_START = {"X": _POINTS, "y": _SIGNS, "directions": np.eye(2), "signs": [1, -1]}
_UNSEEN = UnseenData(_FOUR, _TWO, _FOUR + 1.0, _TWO + 2)
_KERNEL = {"covariance": [1.0, 0.5], "tau": 0.5, "activation": "relu"}
_CLASS = {"similarity": 0.5, "spread": 0.5, "norm": 1.0, "tau": 0.5}

# what is called; functions of phase_transition take minutes for values that suit them, but for these
FUNCTIONS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (firstlight.compare, {"problem": Exponential(), "trials": 2}),
    (firstlight.cite, {}),
    (firstlight.optimise, {"problem": Exponential(), "over": {"rate": (1.0, 2.0)}, "objective": "mean"}),
    (firstlight.predicted_map, {
        "problem": Exponential(), "over": {"rate": (1.0, 2.0), "samples": (10, 20)}, "objective": "mean",
        "points": 25,
    }),
    (one_step.hermite_degree, {"beta": 0.5}),
    (one_step.needed_degree, {"problem": one_step.Problem.scaled(**_SCALED)}),
    (early_alignment.align, _START),
    (early_alignment.largest_scale, _START),
    (early_alignment.flow, {**_START, "log_scale": -3.0, "until": 1.0, "observations": 3}),
    (early_alignment.descent, {"X": _POINTS, "y": _SIGNS, "first_layer": np.eye(2),
                               "second_layer": [1.0, -1.0], "steps": 5, "observations": 3}),
    (early_alignment.gaussian_start, {"width": 3, "dimension": 2, "scale": 0.1}),
    (early_alignment.geometry, _START),
    (early_alignment.bounds, {"geometry": early_alignment.geometry(**_START), "width": 3, "log_scale": -9.0}),
    *[(function, {"X": _POINTS, "y": _SIGNS}) for function in (
        early_alignment.limits, early_alignment.rows_to_drop, early_alignment.separability,
    )],
    (phase_transition.loss, {"name": "square"}),
    (unseen_classes.choose_classes, {
        "X": np.random.default_rng(0).normal(size=(40, 3)), "y": np.arange(40) % 4, "unseen": [0],
        "step": unseen_classes.Step(width=16),
    }),
    (unseen_classes.analyse, {"data": _UNSEEN, "step": unseen_classes.Step()}),
    (unseen_classes.predict_classes, {"data": _UNSEEN, "step": unseen_classes.Step()}),
    (unseen_classes.simulate_classes, {"data": _UNSEEN, "step": unseen_classes.Step(width=8)}),
    (unseen_classes.standardised, {"data": _UNSEEN}),
    (unseen_classes.label_covariance, {"X": _FOUR, "y": _TWO}),
    (unseen_classes.spiked_kernel, {"Xa": _FOUR, "Xb": None, **_KERNEL}),
    (predicted_movement, {"X": _FOUR, **_KERNEL}),
    (unseen_classes.tangent_kernel, {"Xa": _FOUR, "Xb": None, **_KERNEL, "width": 4, "head_scale": 1.0}),
    (unseen_classes.predict_recall_at_k, {"X_unseen": _FOUR, "labels": _TWO, **_KERNEL}),
    (unseen_classes.train_unseen_similarity, {"covariance": [1.0, 0.5], "X_unseen": _FOUR, "labels": _TWO}),
    (unseen_classes.emergence, {**_CLASS, "overlap": 0.2}),
    (unseen_classes.class_elasticity, _CLASS),
    (unseen_classes.class_alignment, {
        **{name: (value, value) for name, value in _CLASS.items()},
        "overlap": 0.2, "tau": 0.5, "activation": "relu",
    }),
]  # fmt: skip

# what a refusal calls positional arguments
ALIASES = {"name_or_callable": "activation", "text": "target", "name": "loss", "thing": "name"}


class Mute:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def hostile() -> list[Any]:
    """Return values of wrong types, shapes and sizes; some suit some fields."""
    itself: list[Any] = [1.0]
    itself.append(itself)
    return [
        "", "a", "1", "nan", "0,1", "0,x", ";;", "relu", "digits", "z1", "(" * 300, "ä\x00\n", "x" * 10_000,
        None, True, False, b"bytes", object(), Mute(), int, len, lambda z: z, lambda z: None,
        lambda *a: 1 / 0, np.nan, np.inf, -np.inf, 0, -0.0, -1, -1.5, 1, 2, 0.5, 1.5, 3, 1e-320, 1e300,
        -1e300, 2**31, 2**63, 10**6, 10**9, 10**15, 10**400, -(10**400), 10**5000, 1 + 2j, 1j,
        decimal.Decimal("0.5"), decimal.Decimal("nan"), fractions.Fraction(1, 3), datetime.date(2024, 1, 1),
        np.float64(0.5), np.float32(0.5), np.float16(np.inf), np.int64(3), np.int8(5), np.uint8(200),
        np.bool_(True), np.str_("relu"), np.bytes_(b"a"), np.datetime64("2024"), np.complex128(1j),
        np.longdouble("1e4000"), np.array(0.5), np.array(2), np.array([]), np.zeros((0, 3)), np.ones(2),
        np.ones(3), np.ones(10), np.zeros(2), np.ones((2, 2)), np.eye(3), np.ones((2, 2, 2)),
        np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.array(["a", "b"]), np.array([1j, 2]),
        np.array([None, 1], dtype=object), np.array([True, False]), np.array("relu"),
        np.array(["2024"], dtype="M8[Y]"), np.zeros(2, dtype=[("a", float)]), np.full((4, 1), 0.5),
        np.ma.masked_array([1.0, 2.0], [1, 0]), np.full(2, 1e300), np.array([10**400, 1], dtype=object),
        [0.5, 0.5], [1e300, -1e300], [], (), {}, set(), [1], (1.0,), [1, 2], (0.5, 0.5), (2, 1),
        [[1], [2, 3]], [[1.0, 2.0]], [None], ["a", 1], [np.nan], [np.inf, 1], [True, 2], ["relu", "tanh"],
        [10**400], [np.eye(2)], [np.eye(4), "a"], {"a": 1}, {1, 2}, range(3), slice(2), iter([1, 2]),
        (x for x in [1]), itself, Exception("e"), Ellipsis,
    ]  # fmt: skip


def names(build: Callable[..., Any]) -> list[str]:
    """Return the arguments that may be replaced; `rng` and what a refusal calls a field are not."""
    parameters = inspect.signature(build).parameters.values()
    return [
        p.name
        for p in parameters
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name not in ("rng", "field")
    ]


def _small(value: Any) -> bool:
    """Tell whether a value cannot ask for much work."""
    if isinstance(value, int):
        return abs(value) <= 100
    numbers = checks.as_numbers(value)
    return numbers is None or not ((np.abs(numbers) > 100) | (np.abs(numbers) == 1e-320)).any()


def constructions(
    count: int, seed: int, targets: list[tuple[Callable[..., Any], dict[str, Any]]]
) -> Iterator[tuple[Callable[..., Any], dict[str, Any], list[str]]]:
    """Draw what to build, its arguments, and which of them are hostile."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        build, right = targets[i % len(targets)]
        fields = sorted({*names(build), *right})
        wrong = rng.choice(fields, min(len(fields), int(rng.integers(1, 4))), replace=False).tolist()
        values = [value for value in hostile() if targets is TARGETS or _small(value)]
        yield build, {**right, **{name: values[int(rng.integers(len(values)))] for name in wrong}}, wrong


def outcome(build: Callable[..., Any], arguments: dict[str, Any], wrong: list[str]) -> str:
    """Return "built", "refused", or what went wrong."""
    start = time.process_time()  # others may use the machine too
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            build(**arguments)
        result = "built"
    except OSError as error:  # a path where nothing is
        result = "refused" if "path" in wrong else repr(error)
    except (ValueError, TypeError) as error:
        known = [*wrong, *(ALIASES[name] for name in wrong if name in ALIASES)]
        named = any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in known)
        result = "refused" if named else f"{type(error).__name__}, not named: {str(error)[:150]}"
    except Exception as error:
        result = f"{type(error).__name__}: {str(error)[:150]}"
    seconds = time.process_time() - start
    return result if seconds < SECONDS else f"slow, {seconds:.0f} s, {result}"


def shown(value: Any) -> str:
    """Return a short text of a hostile value."""
    try:
        return repr(value)[:40]
    except Exception:
        return f"<{type(value).__name__}>"


def campaign(count: int, seed: int, targets: Any = TARGETS) -> tuple[Counter[str], list[str]]:
    """Run it; return how many were built, refused and failed, and the failures as texts."""
    tally: Counter[str] = Counter()
    failures = []
    for build, arguments, wrong in constructions(count, seed, targets):
        # functions may refuse two arguments that do not go together by the name of the other one
        result = outcome(build, arguments, wrong if targets is TARGETS else names(build))
        tally[result if result in ("built", "refused") else "failed"] += 1
        if result not in ("built", "refused"):
            values = ", ".join(f"{name}={shown(arguments[name])}" for name in wrong)
            failures.append(f"{build.__qualname__}({values}) -> {result}")
    return tally, failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tally, failures = campaign(options.count, options.seed)
    called, broken = campaign(options.count // 4, options.seed, FUNCTIONS)
    tally, failures = tally + called, failures + broken
    print(*failures, sep="\n")
    print(", ".join(f"{tally[name]} {name}" for name in ("built", "refused", "failed")))
    sys.exit(bool(failures))
