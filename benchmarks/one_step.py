"""One step: a trial against the bare BLAS/LAPACK calls it needs, a prediction against a trial, and memory."""

import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import linalg

from benchmarks import best_of
from firstlight.one_step import Problem

N = 1000
BLOCKS = 5  # test samples, in units of N


def _floor(rng: np.random.Generator):
    """The calls that a trial cannot avoid, on matrices that are already there.

    dgemm: pre-activations of the batch, the gradient, training features, and five blocks of test features;
    dsyrk: the Gram matrix (NumPy's `a.T @ a` on one array is the symmetric kernel); dpotrf, dpotrs: read-out.
    """
    first, x, pull = (rng.standard_normal((N, N)) for _ in range(3))
    phi = rng.standard_normal((N, N)) / np.sqrt(N)
    y = rng.standard_normal(N)

    def calls():
        _ = x @ first.T
        _ = pull.T @ x
        for _ in range(1 + BLOCKS):
            _ = x @ first.T
        gram = (phi.T @ phi).T  # its other triangle in the order of LAPACK, which then needs no copy
        gram[np.diag_indices_from(gram)] += 0.1
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        return linalg.cho_solve(factor, phi.T @ y, check_finite=False)

    return calls


def _peak(job) -> float:
    tracemalloc.start()
    job()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def _network_free(problem: Problem) -> list[tuple[str, float, float, float, str]]:
    """Curves of twenty points, fine and coarse, and settings where an iteration may not settle."""
    sizes = [N * step // 5 for step in range(1, 21)]
    curve = partial(problem.predict, 1, method="asymptotic", sample_sizes=sizes)
    fine, coarse = best_of(curve, 3), best_of(partial(curve, draws=2, nodes=64), 3)
    hard = [replace(problem, ridge=0.0), replace(problem, step_size=1e6)]
    slowest = max(best_of(partial(one.predict, 1, method="asymptotic"), 1) for one in hard)
    return [
        ("network-free curve of 20 sizes with its error, s over 1 s", fine, 1.0, fine, "<= 1"),
        (
            "coarse curve of 20 sizes, 2 draws of 64 nodes, s over 0.15 s",
            coarse, 0.15, coarse / 0.15, "<= 1",
        ),
        (
            "network-free at ridge 0 and k = m, and at step 1e6, slower of both, s over 2 s",
            slowest, 2.0, slowest / 2.0, "<= 1",
        ),
    ]  # fmt: skip


def _activations() -> tuple[str, float, float, float, str]:
    """Deterministic predictions with tanh against ReLU: the second moments of their features differ."""
    seconds = []
    for name in ("tanh", "relu"):
        problem = Problem.scaled(dimension=N, width=N, samples=N, alpha=0.5, beta=0.74, activation=name)
        problem.predict(0)
        seconds.append(best_of(partial(problem.predict, 0), 3))
    return ("deterministic prediction, tanh / ReLU (s)", *seconds, seconds[0] / seconds[1], "<= 1.5")


def run():
    problem = Problem.scaled(dimension=N, width=N, samples=N, alpha=0.5, beta=0.74)
    path = Problem.scaled(
        dimension=N, width=N, samples=N, alpha=0.5, beta=0.74, ridge=tuple(np.logspace(-6, 0, 10))
    )
    sizes = [N // 2, N, 2 * N, 4 * N]
    calls = _floor(np.random.default_rng(0))
    calls(), problem.simulate(0), path.predict(0), problem.predict(0, method="asymptotic")  # warm up
    # In turns, so that a busy moment of the machine meets all; the better of two, since the threads of BLAS
    # go on spinning for a while after a call, on the cores that the next one needs.
    jobs = (calls, lambda: problem.simulate(0), lambda: path.predict(0, sample_sizes=sizes))
    turns = np.array([[best_of(job, 2) for job in jobs] for _ in range(9)])
    floor, trial, prediction = np.median(turns, axis=0)
    ratios = np.median(turns[:, 1:] / turns[:, :2], axis=0)
    far = Problem.scaled(dimension=10**5, width=10**5, samples=10**5, alpha=0.5, beta=0.74)
    full = Problem.scaled(dimension=N, width=N, samples=N, alpha=1.0, beta=1.0, label_direction="spikes")
    free = max(best_of(partial(p.predict, 0, method="asymptotic"), 2) for p in (problem, far, full))
    # what must be alive at once while the step is taken: the batch, F, the pull on each neuron, the gradient
    held = 4 * 8 * N * N / 2**20
    peak = _peak(lambda: problem.simulate(0))
    return [
        *_network_free(problem),
        _activations(),
        ("trial, 5 m test points (s), median of nine turns", trial, floor, ratios[0], "<= 1.2"),
        (
            "deterministic, 10 ridges x 4 sizes (s) against a trial",
            prediction,
            trial,
            ratios[1],
            "<= 1.0",
        ),
        ("network-free, slowest of three, n up to 1e5 (s) against 2 s", free, 2.0, free / 2.0, "<= 1.0"),
        ("peak memory of a trial (MiB) against four matrices", peak, held, peak / held, "<= 1.5"),
    ]
