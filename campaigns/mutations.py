"""Break the experiments in named ways: each must turn a verdict to "differs", or agreement is no evidence.

    python campaigns/mutations.py [--only one_step]

Only what experiments execute is broken (`network`, a theory's `experiment`), never theory, nor the data laws
that both share. Every mutation is run on a small problem, beside the same comparison with nothing broken:
only what differs in the one and not in the other counts. Exit code 1 if a mutation survives.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np

import firstlight
from firstlight import early_alignment, one_step, phase_transition
from firstlight.maths.activations import activation
from firstlight.unseen_classes.problem import ClassProblem

_SIZES = {"dimension": 100, "width": 80, "samples": 120}
_SCALED = {**_SIZES, "alpha": 0.5, "beta": 0.9, "ridge": 1e-2, "label_direction": "spikes"}
_FREE = {"method": "asymptotic", "draws": 8, "nodes": 128}

# a problem of each theory, and the predictions that judge its experiment
PROBLEMS: dict[str, tuple[Callable[[], Any], Sequence[dict[str, Any]]]] = {
    "one_step": (lambda: one_step.Problem.scaled(**_SCALED), ({}, _FREE)),
    "early_alignment": (
        lambda: early_alignment.Problem(samples=12, dimension=4, width=12, horizon=2.0, observations=5),
        ({},),
    ),
    "phase_transition": (
        lambda: phase_transition.Problem(
            samples_per_dimension=4.0, dimension=300, steps=6, ridge=0.3, width=2, spectrum=False
        ),
        ({"draws": 1024},),
    ),
    "unseen_classes": (
        lambda: ClassProblem(cosine=0.5, dimension=128, samples=256, width=256, unseen_samples=20),
        ({},),
    ),
}
TRIALS, SEED, TOLERANCE = 8, 0, 0.1


@dataclass(frozen=True)
class Mutation:
    """A name in words, the function that is replaced, and what replaces it, made from the original."""

    name: str
    target: str
    broken: Callable[[Any], Any]

    @property
    def theory(self) -> str:
        """The theory whose experiment is broken."""
        return self.name.partition(":")[0]


def _twice(position: int | str, factor: float = 2.0) -> Callable[[Any], Any]:
    """Multiply one argument of a function."""
    return _changed(position, lambda value: factor * value)


def _changed(position: int | str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def broken(original: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            if isinstance(position, str):
                return original(*args, **{**named, position: change(named[position])})
            return original(*args[:position], change(args[position]), *args[position + 1 :], **named)

        return call

    return broken


def _result(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Change what a function returns."""
    return lambda original: lambda *args, **named: change(original(*args, **named))


def _longer(training: Any) -> Any:
    """Double the step of an algorithm."""
    return replace(training, step_size=2 * training.step_size)


def _first_flipped(y: np.ndarray) -> np.ndarray:
    """Negate one label of each eight."""
    return np.where(np.arange(len(y)) % 8 == 0, -y, y)


def _permuted(y: np.ndarray) -> np.ndarray:
    return np.random.default_rng(0).permutation(y)


def _noisy(result: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    phi, y = result
    return phi, y + 0.5 * y.std() * np.random.default_rng(len(y)).standard_normal(len(y))


def _without_slope(original: Any) -> Any:
    """Leave the activation's derivative out of a gradient: that of a linear network."""

    def call(self: Any, *args: Any, **named: Any) -> Any:
        return original(replace(self, activation=activation("linear")), *args, **named)

    return call


def _every_datum_pulls(self: Any, tau: float, state: np.ndarray) -> np.ndarray:
    """Move neurons as if the ReLU's derivative were one everywhere."""
    u, _, _, f = self._forward(state)
    return self._motion(u, np.ones((len(u), 1)) * self._weights(tau, f))[0]


def _on_training_inputs(original: Any) -> Any:
    """Test on the samples of the fit."""

    def call(setting: Any, features: Any, readout: Any, count: int, stream: Any, workers: Any) -> Any:
        def leak(purpose: str, block: int = 0) -> Any:
            return stream(purpose.replace("test", "training"), block)

        return original(setting, features, readout, setting.samples, leak, workers)

    return call


_ONE = "firstlight.one_step.experiment.trial"
_LAYER = "firstlight.network.two_layer.TwoLayer"
_EARLY = "firstlight.early_alignment.runs.integrate"
_EQUATIONS = "firstlight.early_alignment.experiment.equations.Equations"
_DESCENT = f"{_LAYER}.gradient"
_PHASE = "firstlight.phase_transition.problem"

MUTATIONS = [
    Mutation(
        "one_step: start twice as large", f"{_ONE}.first_stage",
        _result(lambda got: (replace(got[0], first_layer=2 * got[0].first_layer), *got[1:])),
    ),
    Mutation("one_step: step twice as long", f"{_LAYER}.step", _twice(3)),
    Mutation("one_step: step on permuted labels", f"{_LAYER}.step", _changed(2, _permuted)),
    Mutation("one_step: no derivative of the activation", f"{_LAYER}.descent_direction", _without_slope),
    Mutation("one_step: ridge ten times", f"{_ONE}.ridge_readout", _twice(2, 10.0)),
    Mutation("one_step: read-out without penalty", f"{_ONE}.ridge_readout", _twice(2, 0.0)),
    Mutation("one_step: noise on the labels", f"{_ONE}._training_features", _result(_noisy)),
    Mutation(
        "one_step: one label in eight negated", f"{_ONE}._training_features",
        _result(lambda got: (got[0], _first_flipped(got[1]))),
    ),
    Mutation("one_step: tested on the training inputs", f"{_ONE}._fresh", _on_training_inputs),
    Mutation("early_alignment: one label in eight negated", _EARLY, _changed(1, _first_flipped)),
    Mutation("early_alignment: time twice as fast", _EARLY, _twice(5)),
    Mutation("early_alignment: start e² as large", _EARLY, _changed(3, lambda size: size + 2)),
    Mutation(
        "early_alignment: no derivative of the ReLU", f"{_EQUATIONS}.hard", lambda _: _every_datum_pulls,
    ),
    Mutation("phase_transition: step twice as long", f"{_PHASE}.descend", _changed(5, _longer)),
    Mutation("phase_transition: start doubled", f"{_PHASE}.orthogonal_start", _result(lambda W: 2 * W)),
    Mutation("phase_transition: one label in eight negated", _DESCENT, _changed(2, _first_flipped)),
    Mutation("phase_transition: no derivative of the activation", _DESCENT, _without_slope),
    Mutation(
        "phase_transition: no penalty", _DESCENT,
        lambda original: lambda self, *args: original(replace(self, ridge=0.0), *args),
    ),
    Mutation("unseen_classes: step twice as long", f"{_LAYER}.step", _twice(3)),
    Mutation("unseen_classes: one label in eight negated", f"{_LAYER}.step", _changed(2, _first_flipped)),
    Mutation(
        "unseen_classes: no derivative of the activation", f"{_LAYER}.descent_direction", _without_slope,
    ),
    Mutation(
        "unseen_classes: start twice as large", "firstlight.unseen_classes.classes.draw_network",
        _result(lambda network: replace(network, first_layer=2 * network.first_layer)),
    ),
]  # fmt: skip


def differing(theory: str) -> set[tuple[int, str, int]]:
    """Return where the experiment of a theory, as it now is, differs: prediction, observable, entry."""
    make, predictions = PROBLEMS[theory]
    result = set()
    for number, options in enumerate(predictions):
        told = firstlight.compare(make(), TRIALS, SEED, predict=options, tolerance=TOLERANCE)
        for name in told:
            if str(name).endswith("_verdict"):
                words = np.ravel(told[name].values)
                result |= {(number, str(name), int(at)) for at in np.flatnonzero(words == "differs")}
    return result


@cache
def sound(theory: str) -> frozenset[tuple[int, str, int]]:
    """Return where it differs with nothing broken."""
    return frozenset(differing(theory))


def killed(mutation: Mutation) -> list[str]:
    """Return the observables that a mutation turns to "differs"; none if it survives."""
    before = sound(mutation.theory)
    with patch(mutation.target, mutation.broken(resolve_name(mutation.target))):
        after = differing(mutation.theory)
    return sorted({name.removesuffix("_verdict") for _, name, _ in after - before})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if mutation.name.startswith(options.only)]
    survivors = 0
    for mutation in chosen:
        seen = killed(mutation)
        survivors += not seen
        print(f"{mutation.name} -> {'differs in ' + ', '.join(seen) if seen else 'SURVIVES'}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutations killed")
    sys.exit(survivors > 0)
