"""Random formulas, sizes, mixtures, rows, points and tables: what campaigns try problems with."""

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.data.kept import keep
from firstlight.data.mixture import Dense, GaussianMixture, Spiked

Rng = np.random.Generator

FOLDER = Path(tempfile.gettempdir()) / "firstlight-campaign"
FILE = str(FOLDER / "rows.csv")
FUNCTIONS = ["sign", "abs", "tanh", "sin", "relu", "He2", "He3", "step", "exp", "log"]


def target(rng: Rng, depth: int = 3) -> str:
    """Return a random formula of up to three hidden coordinates."""
    if depth == 0 or rng.random() < 0.2:
        return f"z{rng.integers(1, 4)}" if rng.random() < 0.8 else f"{rng.choice([0.5, 1, 1.5, 2, 3])}"
    kind, inner = rng.integers(4), functools.partial(target, rng, depth - 1)
    if kind == 0:
        return f"{rng.choice(FUNCTIONS)}({inner()})"
    if kind == 1:
        return f"({inner()})**{rng.choice([2, 3, 4])}"
    return f"({inner()} {rng.choice(['+', '-', '*', '/', '>'])} {inner()})"


def targets(rng: Rng) -> str:
    """Return a known target, or now and then a random formula."""
    known = ["z1**2", "sign(abs(z1) - 1.4820733)", "sign(abs(z1) - 1)", "z1*z2", "sign(z1*z2*z3)", "z1",
             "tanh(z1)*z2", "sign(z1*z2)", "He3(z1)", "He4(z1)", "z1 + z2**2", "tanh(z1**2 - 1)"]  # fmt: skip
    if rng.random() < 0.3:
        return target(rng, sizes(1, 3)(rng))  # deep ones in three coordinates take a second to analyse
    return known[rng.integers(len(known))]


def sizes(least: int, most: int) -> Callable[[Rng], int]:
    """Return a law of sizes, log-uniform and then towards the least: 1 to 64 has its median at 3."""
    return lambda rng: int(least * ((most + 1) / least) ** rng.random() ** 2)


def mostly(usual: Any, *others: Any) -> list[Any]:
    """Return values of which the first comes nine times in ten."""
    return [usual] * (9 * len(others)) + list(others)


def mixture(rng: Rng) -> GaussianMixture:
    """Return a mixture of one's own: means, spikes, dense and nearly singular covariances."""
    n, classes = int(rng.integers(2, 20)), int(rng.integers(1, 4))
    laws: list[Any] = []
    for _ in range(classes):
        if rng.random() < 0.5:
            spike = np.linalg.qr(rng.normal(size=(n, int(rng.integers(1, n)))))[0]
            laws.append(Spiked(rng.choice([-0.9, 0.5, 3.0, 1e3], spike.shape[1]), spike))
        else:
            root = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-3, 1, n)
            laws.append(Dense(root @ root.T + 10.0 ** rng.uniform(-6, 0) * np.eye(n)))
    means = None if rng.random() < 0.4 else 10.0 ** rng.uniform(-2, 2) * rng.normal(size=(classes, n))
    return GaussianMixture(rng.dirichlet(np.ones(classes)), means, laws)


def rows(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes, and their labels: few or many, equal or far apart, repeated, constant."""
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 8))
    y = np.arange(n) % 2
    x = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=(n, d)) + rng.choice([0.0, 1.0, 30.0]) * y[:, None]
    if rng.random() < 0.3:
        x[:, 0] = 1.0
    if rng.random() < 0.2:
        x = np.repeat(x[: n // 2], 2, axis=0)
        y = y[: len(x)]
    return x, y


def points(least: int, rng: Rng) -> list[tuple[float, float, int]]:
    """Return points of the plane with signs, at least so many, some of them at right angles or repeated."""
    count = int(rng.integers(least, 6))
    at = rng.choice([-1.0, 0.0, 1.0, 0.5, 1e-3, 40.0], (count, 2)) + (rng.random() < 0.5) * rng.normal(size=2)
    return [(float(x), float(y), int(rng.choice([-1, 1]))) for x, y in at]


def table(rng: Rng) -> str:
    """Return the name of a kept table of four classes."""
    sizes = rng.choice([2, 3, 10, 30], 4)
    labels = np.repeat(["ash", "elm", "fir", "oak"], sizes)
    x = rng.normal(size=(len(labels), int(rng.integers(1, 9)))) * rng.choice([0.0, 1e-3, 1.0, 1e5])
    return keep(x + rng.choice([0.0, 3.0]) * (labels == "elm")[:, None], labels)


def prepare() -> None:
    """Keep tables in a folder of the campaign's own; write the file that problems are read from."""
    FOLDER.mkdir(exist_ok=True)
    Path(FILE).parent.mkdir(exist_ok=True)
    os.environ["FIRSTLIGHT_CACHE"] = str(FOLDER)
    if not Path(FILE).exists():
        rng = np.random.default_rng(0)
        lines = [
            f"{rng.normal():.3f},{rng.normal():.3f},{rng.normal():.3f},{'abc'[i % 3]}" for i in range(30)
        ]
        Path(FILE).write_text("\n".join(["x,y,w,kind", *lines]) + "\n")
