"""Phase transitions: thresholds, spectra, DMFT and Lanczos against their budgets and dense solvers."""

import itertools
import subprocess
import sys

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

import firstlight.phase_transition as pt
from benchmarks import best_of, clock
from firstlight.measure.hessian import extreme_eigenpairs, hessian_operator
from firstlight.phase_transition.experiment.descent import orthogonal_start

TARGET = pt.MultiIndex("sign(abs(z1) - 1.4820733)")
BASE = pt.Student("tanh_squared", 1.0, 0.8)
TWO = pt.Student("tanh_squared", (1.0, 0.5), 0.3)
THREE = pt.Student("tanh_squared", (1.0, 0.5, 0.25), 0.3)

LARGE = """
import numpy as np
from firstlight.measure.hessian import extreme_eigenpairs, hessian_operator
rng = np.random.default_rng(0)
X = rng.standard_normal((16000, 4000))
y = np.sign(np.abs(X[:, 0]) - 1.48)
W = np.linalg.qr(rng.standard_normal((4000, 4)))[0]
H = hessian_operator(X, y, W.T, np.ones(4), "tanh_squared")
extreme_eigenpairs(H, 4, 5, tolerance=1e-4)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) * 1024 / X.nbytes)
"""


def budget(label: str, seconds: float, limit: float) -> tuple[str, float, float, float, str]:
    return (f"{label}, s over its budget", seconds, limit, seconds / limit, "<= 1")


def run() -> list[tuple[str, float, float, float, str]]:
    rows = []
    fresh = (f"sign(abs(z1) - {1.4 + 0.01 * i})" for i in itertools.count())  # label laws are kept: new ones
    rows.append(budget("delta_alg, one coordinate", best_of(lambda: pt.delta_alg(next(fresh)), 3), 0.5))
    result = []
    seconds = best_of(lambda: result.append(pt.delta_alg("z1**2 + z2**2 + z3**2")), 1)
    rows.append(budget("delta_alg, three coordinates", seconds, 10.0))
    gap = abs(result[0].value / 1.5 - 1)
    rows.append(("delta_alg, three coordinates: error / 0.5 %", gap, 0.005, gap / 0.005, "<= 1"))
    mixed = (f"z1 + z1 * (z2**2 - {1 + 0.01 * i})" for i in itertools.count())
    rows.append(
        budget("delta_alg, an easy and a hard coordinate", best_of(lambda: pt.delta_alg(next(mixed)), 3), 0.5)
    )
    for name, student, limit in (("two", TWO, 5.0), ("three", THREE, 3.0)):
        seconds = best_of(lambda student=student: pt.hessian_spectrum(TARGET, student, 1.963), 2)
        rows.append(budget(f"Hessian's edges and outliers, {name} neurons", seconds, limit))

    pt.dmft(TARGET, BASE, 3.0, 0.25, 4, 1 << 10)  # compiles
    with threadpool_limits(1):  # the budget is that of one core
        seconds = best_of(lambda: pt.dmft(TARGET, BASE, 3.0, 0.25, 128, 1 << 15, times=(128,)), 2)
    rows.append(budget("DMFT, T = 128, 32768 samples", seconds, 1.5))
    for what, training in (
        ("momentum", pt.Training(0.1, momentum=0.6)),
        ("fresh batches", pt.Training(0.25, batch=0.25)),
        ("cyclic batches", pt.Training(0.25, batch=0.25, batches="cyclic")),
    ):
        with threadpool_limits(1):
            varied = best_of(lambda t=training: pt.dmft(TARGET, BASE, 3.0, t, 128, 1 << 15, times=(128,)), 2)
        rows.append((f"DMFT with {what} / plain, T = 128", varied, seconds, varied / seconds, "<= 2"))
    for name, student, steps, limit in (("one neuron", BASE, 256, 10.0), ("two neurons", TWO, 128, 20.0)):
        start = clock()
        threshold = pt.delta_nn(TARGET, student, 0.25, steps)
        rows.append(budget(f"delta_NN, {name}, {steps} steps", clock() - start, limit))
        share = threshold.residual / threshold.value
        rows.append((f"delta_NN, {name}: stated error / 1 %", share, 0.01, share / 0.01, "<= 1"))

    rng = np.random.default_rng(0)
    drawn = TARGET.sample(2000, 1000, rng)
    W = orthogonal_start(1000, 2, 0.5, rng)
    H = hessian_operator(drawn.X, drawn.y, W, [1.0, 0.5], "tanh_squared")
    single = hessian_operator(drawn.X.astype(np.float32), drawn.y, W, [1.0, 0.5], "tanh_squared")
    with threadpool_limits(1):  # one core each: the product is a loop of its own, outside BLAS
        lanczos, quick = (best_of(lambda op=op: extreme_eigenpairs(op, 2, 5), 5) for op in (H, single))
        dense = best_of(lambda: eigh(form(drawn, W.T)), 2)
    rows.append(("dense eigh / Lanczos on double-precision data", dense, lanczos, dense / lanczos, ">= 20"))
    rows.append(("dense eigh / Lanczos on single-precision data", dense, quick, dense / quick, ">= 20"))
    memory = float(
        subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True).stdout
    )
    rows.append(("Lanczos, d = 4000, m = 4, n = 16000: peak memory / data", memory, 1.0, memory, "<= 2"))
    return rows


def form(drawn: object, W: np.ndarray) -> np.ndarray:
    """The Hessian itself, block by block."""
    X, y, a = drawn.X, drawn.y, np.array([1.0, 0.5])  # type: ignore[attr-defined]
    sigma = pt.Student("tanh_squared").sigma
    h = X @ W
    f, slope = sigma(h) @ a, a * sigma.derivative(h)
    bend = (f - y)[:, None] * a * sigma.second_derivative(h)
    blocks = [
        [X.T @ ((slope[:, i] * slope[:, j] + (i == j) * bend[:, i])[:, None] * X) for j in range(2)]
        for i in range(2)
    ]
    return np.block(blocks) / len(y)
