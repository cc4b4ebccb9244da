"""One step: a trial against the bare BLAS/LAPACK calls it needs, a prediction against a trial, and memory."""

import tracemalloc
from functools import partial

import numpy as np
from scipy.linalg import blas, lapack

from benchmarks import best_of
from firstlight.one_step import Problem

N = 1000
BLOCKS = 5  # test samples, in units of N


def _floor(rng: np.random.Generator):
    """The calls that a trial cannot avoid, on matrices that are already there, writing over old results.

    dgemm: pre-activations of the batch, the gradient, training features, and the features of five test blocks;
    dsyrk: one triangle of the Gram matrix; dpotrf, dpotrs: read-out. No copy, no draw, no activation.
    """
    first, x, pull, out = (rng.standard_normal((N, N)) for _ in range(4))
    phi = rng.standard_normal((N, N)) / np.sqrt(N)
    gram = np.empty((N, N), order="F")
    y = rng.standard_normal(N)

    def calls():
        np.matmul(x, first.T, out=out)
        np.matmul(pull.T, x, out=out)
        for _ in range(1 + BLOCKS):
            np.matmul(x, first.T, out=out)
        blas.dsyrk(1.0, phi.T, c=gram, lower=True, overwrite_c=True)
        gram[np.diag_indices_from(gram)] += 0.1
        factor, _ = lapack.dpotrf(gram, lower=True, clean=False, overwrite_a=True)
        return lapack.dpotrs(factor, phi.T @ y, lower=True)

    return calls


def _peak(job) -> float:
    tracemalloc.start()
    job()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def run():
    problem = Problem.scaled(n=N, k=N, m=N, alpha=0.5, beta=0.74)
    path = Problem.scaled(n=N, k=N, m=N, alpha=0.5, beta=0.74, ridge=tuple(np.logspace(-6, 0, 10)))
    sizes = [N // 2, N, 2 * N, 4 * N]
    calls = _floor(np.random.default_rng(0))
    calls(), problem.simulate(0), path.predict(0), problem.predict(0, method="asymptotic")  # warm up
    floor, trial = np.inf, np.inf
    for _ in range(5):  # in turns, so that a busy moment of the machine meets both
        floor = min(floor, best_of(calls, 1))
        trial = min(trial, best_of(lambda: problem.simulate(0), 1))
    prediction = best_of(lambda: path.predict(0, sample_sizes=sizes), 3)
    far = Problem.scaled(n=10**5, k=10**5, m=10**5, alpha=0.5, beta=0.74)
    full = Problem.scaled(n=N, k=N, m=N, alpha=1.0, beta=1.0, label_direction="spikes")
    free = max(best_of(partial(p.predict, 0, method="asymptotic"), 2) for p in (problem, far, full))
    # what must be alive at once while the step is taken: the batch, F, the pull on each neuron, the gradient
    held = 4 * 8 * N * N / 2**20
    peak = _peak(lambda: problem.simulate(0))
    return [
        ("trial, 5 m test points (s)", trial, floor, trial / floor, "<= 1.3"),
        (
            "deterministic, 10 ridges x 4 sizes (s) against a trial",
            prediction,
            trial,
            prediction / trial,
            "<= 1.0",
        ),
        ("network-free, slowest of three, n up to 1e5 (s) against 2 s", free, 2.0, free / 2.0, "<= 1.0"),
        ("peak memory of a trial (MiB) against four matrices", peak, held, peak / held, "<= 1.5"),
    ]
