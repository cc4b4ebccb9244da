"""The same jobs by what one would take instead, in one run: `make bench-peers`.

Each row: CPU seconds of ours and of the other, on one thread, and how close both answers are.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from benchmarks import best_of, early_alignment, unseen_classes
from benchmarks._table import rounded, write
from benchmarks.study import Work, study
from firstlight.measure.hessian import extreme_eigenpairs, hessian_operator
from firstlight.one_step import Problem
from firstlight.study.engines import Serial
from firstlight.study.run import advance
from firstlight.study.store import Store

N, TRIALS = 1000, 10_000
Row = dict[str, Any]


def row(job: str, peer: str, ours: float, theirs: float, accuracy: str) -> Row:
    numbers = rounded({"ours": ours, "theirs": theirs, "times faster": theirs / ours})
    return {"part": job, "peer": peer, **numbers, "accuracy": accuracy}


def integrators() -> Iterator[Row]:
    """SciPy's integrators on the limiting dynamics, each at the loosest tolerance that reaches the error."""
    ladder = {"RK23": [10.0**-k for k in range(3, 9)], "RK45": [1e-4, 1e-5, 1e-6, 1e-7, 1e-8]}
    for n, d, h, error in ((50, 20, 200, 5e-5), (500, 100, 1000, 1e-3), (5000, 20, 200, 1e-3)):
        _, ours, theirs, _, _ = early_alignment.against_integrators(n, d, h, error, ">= 1", ladder)
        yield row(
            f"alignment, n = {n}, D = {d}, {h} neurons", "SciPy RK23, RK45", ours, theirs,
            f"ours exact to rounding, theirs within {error:g}",
        )  # fmt: skip


def neighbours() -> Iterator[Row]:
    """Recall@1 by scikit-learn's brute force."""
    _, ours, theirs, _, _ = unseen_classes._recall()[0]
    yield row("Recall@1 of 12 000 x 784", "scikit-learn NearestNeighbors", ours, theirs, "equal results")


def one_step_loop() -> Iterator[Row]:
    """One gradient step and a ridge read-out, as one would write them down in NumPy."""
    problem = Problem.scaled(dimension=N, width=N, samples=N, alpha=0.5, beta=0.74)
    sigma, ridge, rng = problem.sigma, float(problem.ridges[0]), np.random.default_rng(0)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        x, classes = problem.mixture.sample(count, rng)
        return x, problem.labels(x, classes, rng)

    def trial() -> float:
        first = rng.standard_normal((N, N)) / np.sqrt(problem.mixture.trace)
        outer = rng.standard_normal(N) / N
        x, y = draw(problem.step_samples)
        field = x @ first.T
        residual = y - sigma(field) @ outer
        first += problem.step_size / len(y) * (residual[:, None] * sigma.derivative(field) * outer).T @ x
        x, y = draw(N)
        phi = sigma(x @ first.T) / np.sqrt(N)
        readout = np.linalg.solve(phi.T @ phi / N + ridge * np.eye(N), phi.T @ y / N)
        x, y = draw(5 * N)
        return float(((y - sigma(x @ first.T) / np.sqrt(N) @ readout) ** 2).mean())

    errors = [[float(problem.simulate(seed).test_error) for seed in range(4)], [trial() for _ in range(4)]]
    ours, theirs = best_of(lambda: problem.simulate(0), 3), best_of(trial, 3)
    said = " and ".join(f"{np.mean(part):.4f} ± {np.std(part, ddof=1) / 2:.4f}" for part in errors)
    yield row(f"one-step trial, n = k = m = {N}", "plain NumPy", ours, theirs, f"test errors {said}")


def lowest_eigenpairs() -> Iterator[Row]:
    """Five lowest eigenpairs of a network's Hessian, by ARPACK on products in plain NumPy."""
    rng = np.random.default_rng(0)
    d, n, a = 1000, 2000, np.array([1.0, 0.5])
    X = rng.standard_normal((n, d))
    y = np.sign(np.abs(X[:, 0]) - 1.4820733)
    W = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    operator = hessian_operator(X, y, W, a, "tanh_squared")
    t = np.tanh(X @ W)
    slope, bend = 2 * a * t * (1 - t**2), 2 * a * (1 - t**2) * (1 - 3 * t**2)
    miss = t**2 @ a - y

    def product(v: np.ndarray) -> np.ndarray:
        along = X @ v.reshape(2, d).T
        pull = slope * (slope * along).sum(axis=1, keepdims=True) + miss[:, None] * bend * along
        return (X.T @ pull).T.ravel() / n

    other = LinearOperator((2 * d, 2 * d), product, dtype=float)
    values = np.sort(extreme_eigenpairs(operator, 2, 5).values)[:5], np.sort(eigsh(other, 5, which="SA")[0])
    gap = float(np.abs(values[0] - values[1]).max())
    theirs = best_of(lambda: eigsh(other, 5, which="SA"), 2)
    ours = best_of(lambda: extreme_eigenpairs(operator, 2, 5), 3)
    yield row("five lowest eigenpairs of a Hessian, d = 1000, two neurons", "SciPy eigsh, NumPy products",
              ours, theirs, f"eigenvalues differ by {gap:.0e}")  # fmt: skip


def sweeps() -> Iterator[Row]:
    """Many tiny trials: ours with every result on disk and resumable; joblib keeps them in memory."""
    from joblib import Parallel, delayed

    chosen = study(TRIALS // 100, 100)
    with TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite", write=True) as store:
        ours = _spent(lambda: advance(chosen, store, Serial()))
    theirs = _spent(
        lambda: Parallel(n_jobs=1)(
            delayed(Work(value).simulate)(trial) for value in range(TRIALS // 100) for trial in range(100)
        )
    )
    yield row(f"sweep of {TRIALS} tiny trials", "joblib, one process, nothing stored", ours, theirs,
              "the same trials")  # fmt: skip
    if find_spec("optuna") is None:
        print("Optuna is not installed: left out")
        return
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    some = TRIALS // 20

    def objective(trial: Any) -> float:
        return float(Work(trial.suggest_int("value", 0, some)).simulate(trial.number).trace)

    with TemporaryDirectory() as folder:
        kept = optuna.create_study(
            storage=f"sqlite:///{folder}/o.sqlite", sampler=optuna.samplers.RandomSampler()
        )
        theirs = _spent(lambda: kept.optimize(objective, n_trials=some)) * TRIALS / some
    yield row(f"sweep of {TRIALS} tiny trials, stored", "Optuna, SQLite", ours, theirs,
              f"Optuna's from {some} trials")  # fmt: skip


def _spent(job: Callable[[], object]) -> float:
    start = time.process_time()
    job()
    return time.process_time() - start


JOBS = {"integrators": integrators, "neighbours": neighbours, "sweeps": sweeps,
        "one_step": one_step_loop, "eigenpairs": lowest_eigenpairs}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(JOBS))
    parser.add_argument("--save", metavar="FILE")
    given = parser.parse_args()
    for name in given.names or JOBS:
        rows = list(JOBS[name]())
        for one in rows:
            print(one, flush=True)
        if given.save:
            write(given.save, rows)
