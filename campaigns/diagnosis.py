"""How often `firstlight diagnose` sees a signal where there is none, and what it says about known data.

    python campaigns/diagnosis.py noise --seeds 200
    python campaigns/diagnosis.py sets --seconds 60 --folder out/diagnosis

The first counts false alarms on labels that have nothing to do with the rows: Gaussian and heavy-tailed rows,
two classes and numbers in turn. The second writes a page for every set and a table of predicted and measured.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets

from firstlight import GaussianMixture, MultiIndex, diagnose
from firstlight.data.cache import ImagesNotFetched
from firstlight.data.images import pair
from firstlight.diagnosis import Clock, user_data
from firstlight.one_step.diagnosis import diagnose as one_step
from firstlight.phase_transition.diagnosis import diagnose as phase_transition

Rows = tuple[np.ndarray, np.ndarray]


def noise(seed: int) -> Rows:
    """Rows and labels that do not know of each other; the law of the rows and the kind of labels vary."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(60, 200)), int(rng.integers(3, 30))
    x = rng.normal(size=(rows, columns)) if seed % 2 else rng.standard_t(3, size=(rows, columns))
    return x, rng.permutation(rows) % 2 if seed // 2 % 2 else rng.normal(size=rows)


def false_alarms(first: int, seeds: int) -> None:
    """Count what is claimed about noise: a usable network, a linear signal, a hidden direction."""
    alarms = {"one_step": 0, "linear": 0, "hidden": 0, "any": 0}
    for seed in range(first, first + seeds):
        data = user_data(*noise(seed), seed=seed)
        turns = one_step(data, Clock(1e9))
        first = [next(turns) for _ in range(3)][-1]
        said = list(_until_tested(phase_transition(data, Clock(1e9))))[-1].says
        found = {
            "one_step": not first.advice or "no signal" not in first.advice[0],
            "linear": said.startswith("A linear signal"),
            "hidden": "hidden direction shows" in said or "hidden directions show" in said,
        }
        for name, alarm in (*found.items(), ("any", any(found.values()))):
            alarms[name] += alarm
        if seed % 20 == 19:
            print(seed + 1, alarms, flush=True)


def _until_tested(findings: Iterator) -> Iterator:
    """Stop before networks are trained: they claim nothing."""
    for finding in findings:
        yield finding
        if "eyond it" in finding.says:
            return


def _images(name: str, a: int, b: int) -> Callable[[], Rows]:
    return lambda: pair(name, a, b, 1000, 0)


def _mixture() -> Rows:
    x, y = GaussianMixture(
        [0.5, 0.5], [[0.8] * 4 + [0] * 16, [-0.8] * 4 + [0] * 16], [np.eye(20)] * 2
    ).sample(600, 0)
    return x, y


def _multi_index() -> Rows:
    drawn = MultiIndex("sign(abs(z1) - 0.7)").sample(1500, 20, rng=0)
    return drawn.X, drawn.y


def _square() -> Rows:
    x = np.random.default_rng(0).normal(size=(2000, 50))
    return x, x[:, 0] ** 2


def _heavy() -> Rows:
    rng = np.random.default_rng(0)
    x, y = rng.standard_t(2.5, size=(600, 20)), np.arange(600) % 2
    x[:, 0] += 2 * y
    return x, y


def _unequal() -> Rows:
    rng = np.random.default_rng(0)
    y = (np.arange(1000) % 20 == 0).astype(int)
    return rng.normal(size=(1000, 10)) + 2 * y[:, None] * np.eye(10)[0], y


def _copies() -> Rows:
    x, y = datasets.load_wine(return_X_y=True)
    return np.vstack([x, x[:60]]), np.concatenate([y, y[:60]])


def _wide() -> Rows:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    return rng.normal(size=(80, 100)) + 0.5 * (2 * y[:, None] - 1) * (np.arange(100) < 10), y


def _plain(name: str) -> Callable[[], Rows]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


SETS: dict[str, Callable[[], Rows]] = {
    **{name: _plain(name) for name in ("iris", "wine", "breast_cancer", "digits", "diabetes")},
    "mnist-0-1": _images("mnist", 0, 1),
    "fashion-mnist-0-2": _images("fashion-mnist", 0, 2),
    "mixture": _mixture,
    "multi-index": _multi_index,
    "square": _square,
    "noise": lambda: noise(3),
    "heavy-tails": _heavy,
    "unequal": _unequal,
    "copies": _copies,
    "fewer-rows-than-columns": _wide,
    "two-columns": lambda: (datasets.load_iris().data[:, 2:], datasets.load_iris().target),
}


def sets(seconds: float, folder: Path, only: str | None) -> None:
    """Write a page for every set, and a line for every prediction."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, load in SETS.items():
        if only is not None and only != name:
            continue
        try:
            x, y = load()
        except ImagesNotFetched as error:
            print(f"{name}: {error}")
            continue
        start = time.perf_counter()
        found = diagnose(x, y, seconds=seconds, source=name)
        found.to_html(folder / f"{name}.html")
        print(f"{name}: {found.data.summary}; {time.perf_counter() - start:.0f} s {found.stopped}")
        for section in found.sections:
            if section.finding is None:
                print(f"  {section.name}: {section.state}")
                continue
            print(f"  {section.name}: {section.finding.speaks}. {section.finding.why} {section.finding.says}")
            for one in section.finding.predictions:
                interval = f"{one.predicted:.4g} [{one.low:.4g}, {one.high:.4g}]"
                measured = f"{one.measured:.4g} ± {one.error:.2g}; {one.verdict}"
                print(f"    {one.what}: {interval}; {measured}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("noise", "sets"))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", type=Path, default=Path("out/diagnosis"))
    parser.add_argument("--only")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.what == "noise":
        false_alarms(chosen.first, chosen.seeds)
    else:
        sets(chosen.seconds, chosen.folder, chosen.only)
