"""Theory beside trained networks in many settings, for the page "Independent checks".

    python campaigns/checks.py docs/measured/checks.json

Every case is kept as soon as it is known, and computed again only where the theory's version has changed.
Each is `firstlight.compare` on one problem, so that prediction and experiment share no code.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import firstlight
from firstlight import early_alignment, one_step, phase_transition, unseen_classes

FREE = {"method": "asymptotic"}


@dataclass(frozen=True)
class Case:
    """A problem in words, how it is compared, and which observables are told."""

    what: str
    problem: Callable[[], Any]
    observables: tuple[str, ...]
    predict: dict[str, Any] = field(default_factory=dict)
    trials: int = 200
    tolerance: float = 0.05


def _one_step(what: str, alpha: float, beta: float, **changes: Any) -> list[Case]:
    def problem() -> one_step.Problem:
        return one_step.Problem.scaled(300, 300, 300, alpha=alpha, beta=beta, **changes)

    told = f"{what}, α = {alpha:g}, β = {beta:g}"
    return [
        Case(f"{told}: given the first layer", problem, ("test_error", "train_error")),
        Case(f"{told}: no network", problem, ("test_error", "train_error"), FREE),
    ]


def _training(what: str, delta: float, predict: dict[str, Any], **changes: Any) -> Case:
    fields = {"dimension": 800, "steps": 24, "spectrum": False, **changes}
    return Case(
        f"{what}, δ = {delta:g}, d = {fields['dimension']}, {fields['steps']} steps",
        lambda: phase_transition.Problem(samples_per_dimension=delta, **fields),
        ("train_loss", "test_loss"), {"draws": 4096, **predict}, trials=8,
    )  # fmt: skip


def _alignment(what: str, observables: tuple[str, ...], **fields: Any) -> Case:
    return Case(what, lambda: early_alignment.Problem(observations=24, **fields), observables, trials=4)


def _classes(activation: str) -> Case:
    return Case(
        f"classes at five angles, {activation}, n = d = 256, {4096} neurons",
        lambda: unseen_classes.Problem(activation=activation, width=4096),
        ("cohesion", "elasticity", "recall"), trials=24,
    )  # fmt: skip


CASES: dict[str, list[Case]] = {
    "one_step": [
        *_one_step("spikes in the data, labels along them", 0.0, 0.6, label_direction="spikes"),
        *_one_step("the same, stronger", 0.0, 1.0, label_direction="spikes"),
        *_one_step("structure in both", 0.5, 0.74),
        *_one_step("the same, tanh", 0.5, 0.74, activation="tanh"),
        *_one_step("a large step", 1.0, 0.85, label_direction="spikes"),
        *_one_step("two classes, 30 and 70 %", 0.5, 0.74, task="classification", weights=(0.3, 0.7)),
    ],
    "early_alignment": [
        _alignment("separable points", ("loss", "cosine_plus")),
        _alignment("25 points on two arcs", ("loss", "cosine_plus"), data="toy"),
        _alignment(
            "two points, one neuron", ("loss", "cosine_plus"), data="two-points", start="angle", width=1
        ),
    ],
    "phase_transition": [
        _training("hard direction held", 3.0, {}),
        _training("free training", 6.0, {}, hold_hard=False),
        _training("batches of a quarter", 3.0, {}, batch=0.25),
        _training("heavy ball", 3.0, {}, momentum=0.8),
        _training("Hessian after training", 4.0, {}, dimension=400, steps=8, spectrum=True),
        Case(
            "Hessian at the start, d = 400",
            phase_transition.SpectrumProblem,
            ("smallest_eigenvalue", "largest_eigenvalue"),
            trials=16,
        ),
    ],
    "unseen_classes": [
        *map(_classes, ("relu", "shifted_relu", "tanh", "erf")),
    ],
}


def rows(theory: str, case: Case) -> list[dict[str, Any]]:
    """Compare, and tell of each observable how many points agree, and how far theory is off."""
    start = time.process_time()
    problem = case.problem()
    both = firstlight.compare(problem, case.trials, rng=0, predict=case.predict, tolerance=case.tolerance)
    told = []
    for name in case.observables:
        gaps = np.abs(both[f"{name}_gap"].values)
        words = both[f"{name}_verdict"].values.ravel().tolist()
        told.append({
            "theory": theory, "version": problem.version, "what": case.what, "observable": name,
            "trials": case.trials, "tolerance": case.tolerance,
            "verdicts": {word: words.count(word) for word in sorted(set(words))},
            "mean_gap": float(np.nanmean(gaps)), "largest_gap": float(np.nanmax(gaps)),
        })  # fmt: skip
    told[0]["cpu_seconds"] = round(time.process_time() - start, 1)
    return told


def main(path: Path) -> None:
    """Compute what is missing or old, and keep it."""
    known = json.loads(path.read_text("utf-8"))["rows"] if path.exists() else []
    done: list[dict[str, Any]] = []
    for theory, cases in CASES.items():
        for case in cases:
            key = (case.what, case.problem().version, case.trials)
            kept = [row for row in known if (row["what"], row["version"], row["trials"]) == key]
            done += kept or rows(theory, case)
            print(done[-1], flush=True)
            made = {"command": "python campaigns/checks.py docs/measured/checks.json", "rows": done}
            path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
