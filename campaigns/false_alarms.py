"""How often does `compare` say "differs" of a theory that is right? At most as often as it promises.

    python campaigns/false_alarms.py [--seeds 200] [--first 0] [--only one_step]

For every theory, small problems are compared once per seed. All seeds together tell the true gap of every
observable far better than one of them: where it lies within the tolerance, each "differs" is a false alarm.
Verdicts use 95 % intervals, so at the edge of the tolerance a false alarm in 40 is nominal, and fewer inside.
Exit code 1 if any case has more than its nominal share, three standard errors allowed.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

import firstlight
from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.unseen_classes.problem import ClassProblem

NOMINAL = 0.025  # one side of a 95 % interval

_SCALED = {"dimension": 60, "width": 60, "samples": 60, "alpha": 0.5, "beta": 0.5}
_CLASSES = {"dimension": 60, "samples": 60, "width": 80, "unseen_samples": 10}
_TRAINING = {"dimension": 150, "steps": 6, "spectrum": False}


@dataclass(frozen=True)
class Case:
    """A problem, and how it is compared."""

    problem: Callable[[], Any]
    predict: dict[str, Any] = field(default_factory=dict)
    trials: int = 8
    tolerance: float = 0.05  # of the verdicts; above the theory's true gap, or no alarm would be false


CASES = {
    "one_step": Case(lambda: one_step.Problem.scaled(**_SCALED)),
    "one_step, classes": Case(lambda: one_step.Problem.scaled(**_SCALED, task="classification")),
    "one_step, network-free": Case(
        lambda: one_step.Problem.scaled(**_SCALED, link="He_2"),
        {"method": "asymptotic", "draws": 4, "nodes": 64},
    ),
    "early_alignment": Case(
        lambda: early_alignment.Problem(samples=8, dimension=4, width=8, horizon=2.0, observations=5)
    ),
    "phase_transition, training": Case(
        lambda: phase_transition.Problem(samples_per_dimension=3.0, **_TRAINING), {"draws": 512}
    ),
    "phase_transition, free training": Case(
        lambda: phase_transition.Problem(
            samples_per_dimension=6.0, **_TRAINING, target="z1 + tanh(z1)", hold_hard=False
        ),
        {"draws": 512},
    ),
    "unseen_classes": Case(lambda: unseen_classes.Problem(**_CLASSES)),
    "unseen_classes, cosine": Case(lambda: ClassProblem(cosine=0.5, **_CLASSES)),
    "unseen_classes, norm": Case(lambda: unseen_classes.NormProblem(dimension=64, mean=4.0)),
}


@dataclass(frozen=True)
class Count:
    """Verdicts of one case: how many could be judged, how many said "differs", in which observables."""

    verdicts: int
    false: int
    seeds: int
    blamed: tuple[str, ...]

    @property
    def allowed(self) -> float:
        """The nominal share, and three standard errors: verdicts of one seed count as a single one."""
        return NOMINAL + 3 * np.sqrt(NOMINAL / self.seeds)

    @property
    def passed(self) -> bool:
        """Whether false alarms are as rare as promised."""
        return self.false <= self.allowed * max(self.verdicts, 1)


def alarms(case: Case, seeds: Iterable[int]) -> Count:
    """Compare a case once per seed, and count false alarms where all seeds together agree."""
    problem, seeds = case.problem(), list(seeds)
    compared = [
        firstlight.compare(problem, case.trials, seed, predict=case.predict, tolerance=case.tolerance)
        for seed in seeds
    ]
    names = [str(name).removesuffix("_verdict") for name in compared[0] if str(name).endswith("_verdict")]
    verdicts = false = 0
    blamed = []
    for name in names:
        measured = np.mean([one[f"{name}_mean"].values for one in compared], axis=0)
        theory = np.mean([_over_trials(one[f"{name}_predicted"]) for one in compared], axis=0)
        right = np.abs(measured - theory) <= case.tolerance * np.abs(theory)
        said = np.array([np.asarray(one[f"{name}_verdict"].values)[right] for one in compared])
        verdicts += int((said != "no prediction").sum())
        wrong = int((said == "differs").sum())
        false += wrong
        blamed += [f"{name} {wrong}"] if wrong else []
    return Count(verdicts, false, len(seeds), tuple(blamed))


def _over_trials(predicted: xr.DataArray) -> np.ndarray:
    """Average a prediction that was made once per trial."""
    return (predicted.mean("trial") if "trial" in predicted.dims else predicted).values


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failed = False
    for name, case in CASES.items():
        if not name.startswith(options.only):
            continue
        count = alarms(case, range(options.first, options.first + options.seeds))
        failed |= not count.passed
        rate = count.false / max(count.verdicts, 1)
        print(f"{name}: {count.false} of {count.verdicts} verdicts falsely differ ({rate:.2%}),", end=" ")
        print(f"{count.allowed:.2%} allowed; {', '.join(count.blamed) or 'none'}", flush=True)
    sys.exit(failed)
