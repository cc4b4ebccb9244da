"""Compile every kernel once, in two processes: `python tests/kernels.py`, a second if all are there.

The tests run in three processes, which would each compile what they meet first, at the same time.
"""

from concurrent.futures import ProcessPoolExecutor

import numpy as np

from firstlight.early_alignment import align
from firstlight.maths.activations import activation
from firstlight.maths.feature_moments import Tabulated
from firstlight.maths.normals import Normals
from firstlight.measure.hessian import hessian_operator

ANGLES = np.array([0.0, 0.2, 2.0])


def neurons_that_may_slide() -> None:
    _aligned(np.array([1.0, -1.0, 1.0]))


def other_kernels() -> None:
    _aligned(np.array([1.0, 1.0, -1.0])).direction(0.1)  # orthogonally separable: no neuron slides
    Normals(np.random.SFC64(0)).standard_normal((500, 200))  # few are drawn by NumPy
    Tabulated(activation("relu"), (-1.0, 1.0), (0.9, 1.1))
    for precision in (np.float64, np.float32):
        X = np.eye(3, dtype=precision)
        hessian_operator(X, np.ones(3), np.zeros((1, 3)), [1.0], "quadratic") @ np.ones(3)


def _aligned(y):
    return align(np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]), y, [[0.6, 0.8]], [1.0])


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        for job in [pool.submit(neurons_that_may_slide), pool.submit(other_kernels)]:
            job.result()
