"""The same jobs by what one would take instead, in one run: `make bench-peers`.

Each row: CPU seconds of ours and of the other, on one thread, and how close both answers are.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh
from tests.phase_transition import responses

from benchmarks import best_of, early_alignment, unseen_classes
from benchmarks._table import rounded, write
from benchmarks.study import Work, study
from firstlight import MultiIndex
from firstlight.measure.hessian import extreme_eigenpairs, hessian_operator
from firstlight.one_step import Problem
from firstlight.phase_transition import Student, dmft
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


def one_step_loops() -> Iterator[Row]:
    """One gradient step and a ridge read-out, as one would write them down in NumPy, and in PyTorch."""
    problem = Problem.scaled(dimension=N, width=N, samples=N, alpha=0.5, beta=0.74)
    sigma, ridge, rng = problem.sigma, float(problem.ridges[0]), np.random.default_rng(0)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        x, classes = problem.mixture.sample(count, rng)
        return x, problem.labels(x, classes, rng)

    def in_numpy() -> float:
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

    def in_torch() -> float:
        def float32(count: int) -> Any:
            return (torch.from_numpy(part).float() for part in draw(count))

        first = torch.randn(N, N) / problem.mixture.trace**0.5
        first.requires_grad_()
        x, y = float32(problem.step_samples)
        (((y - torch.relu(x @ first.T) @ (torch.randn(N) / N)) ** 2).mean() / 2).backward()
        with torch.no_grad():
            first = first - problem.step_size * first.grad
            x, y = float32(N)
            phi = torch.relu(x @ first.T) / N**0.5
            readout = torch.linalg.solve(phi.T @ phi / N + ridge * torch.eye(N), phi.T @ y / N)
            x, y = float32(5 * N)
            return float(((y - torch.relu(x @ first.T) / N**0.5 @ readout) ** 2).mean())

    peers = {"plain NumPy": in_numpy}
    if find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)
        peers[f"PyTorch {torch.__version__} with autograd, single precision"] = in_torch
    errors = [float(problem.simulate(seed).test_error) for seed in range(4)]
    ours = best_of(lambda: problem.simulate(0), 3)
    for peer, trial in peers.items():
        said = f"{_mean(errors)} and {_mean([trial() for _ in range(4)])}"
        theirs = best_of(trial, 3)
        yield row(f"one-step trial, n = k = m = {N}", peer, ours, theirs, f"test errors {said}")


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.5f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.5f}"


def lowest_eigenpairs() -> Iterator[Row]:
    """Five lowest eigenpairs of a network's Hessian, by ARPACK on products in NumPy, and by curvlinops."""
    rng = np.random.default_rng(0)
    d, n, a = 1000, 2000, np.array([1.0, 0.5])
    X = rng.standard_normal((n, d))
    y = np.sign(np.abs(X[:, 0]) - 1.4820733)
    W = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    operator = hessian_operator(X, y, W.T, a, "tanh_squared")
    t = np.tanh(X @ W)
    slope, bend = 2 * a * t * (1 - t**2), 2 * a * (1 - t**2) * (1 - 3 * t**2)
    miss = t**2 @ a - y

    def product(v: np.ndarray) -> np.ndarray:
        along = X @ v.reshape(2, d).T
        pull = slope * (slope * along).sum(axis=1, keepdims=True) + miss[:, None] * bend * along
        return (X.T @ pull).T.ravel() / n

    peers = {"SciPy eigsh, NumPy products": LinearOperator((2 * d, 2 * d), product, dtype=float)}
    if find_spec("curvlinops") is not None:
        peers["SciPy eigsh, curvlinops"] = _by_curvlinops(X, y, W, a)
    lowest = np.sort(extreme_eigenpairs(operator, 2, 5).values)[:5]
    ours = best_of(lambda: extreme_eigenpairs(operator, 2, 5), 3)
    for peer, other in peers.items():
        gap = float(np.abs(lowest - np.sort(eigsh(other, 5, which="SA")[0])).max())
        theirs = best_of(lambda other=other: eigsh(other, 5, which="SA"), 2)
        yield row("five lowest eigenpairs of a Hessian, d = 1000, two neurons", peer, ours, theirs,
                  f"eigenvalues differ by {gap:.0e}")  # fmt: skip


def _by_curvlinops(X: np.ndarray, y: np.ndarray, W: np.ndarray, a: np.ndarray) -> LinearOperator:
    import torch
    from curvlinops import HessianLinearOperator

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(np.ascontiguousarray(W.T)))

        def forward(self, x: Any) -> Any:
            return torch.tanh(x @ self.weight.T) ** 2 @ torch.from_numpy(a[:, None])

    torch.set_num_threads(1)
    network, data = Network(), [(torch.from_numpy(X), torch.from_numpy(y[:, None]))]
    return 0.5 * HessianLinearOperator(network, torch.nn.MSELoss(), [network.weight], data).to_scipy()


def mean_field() -> Iterator[Row]:
    """Mean-field dynamics by response functions in plain NumPy, with 10⁵ samples."""
    law, student = MultiIndex("sign(abs(z1) - 1.4820733)"), Student("tanh_squared", 1.0, 0.8)
    steps, count = 48, 100_000

    def follow(seed: int) -> float:
        rng = np.random.default_rng(seed)
        z, normals = rng.normal(size=(count, 1)), rng.normal(size=(count, steps + 1))
        sample = SimpleNamespace(
            y=law.law(z), weight=np.full(count, 1 / count), easy=z[:, :0], second=z[:, :, None] ** 2,
            normals=normals,
        )  # fmt: skip
        return float(responses.follow(student, sample, 3.0, 0.25, steps, np.zeros((1, 0)))[1][-1, 0])

    def frame(seed: int) -> float:
        return float(dmft(law, student, 3.0, 0.25, steps, 1 << 12, seed, times=(steps,)).norm[-1, 0])

    frame(0)  # compiles
    norms = [[route(seed) for seed in range(8)] for route in (frame, follow)]
    ours, theirs = best_of(lambda: frame(0), 3), best_of(lambda: follow(0), 1)
    yield row(f"mean-field dynamics, {steps} steps", "response functions in NumPy, 10⁵ samples", ours, theirs,
              f"|w|² at the end {_mean(norms[0])} and {_mean(norms[1])} over eight runs")  # fmt: skip


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
        "one_step": one_step_loops, "eigenpairs": lowest_eigenpairs, "mean_field": mean_field}  # fmt: skip

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
