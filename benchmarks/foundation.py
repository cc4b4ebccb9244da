"""The shared mathematics: import time, duals and Hermite coefficients against what they cannot avoid."""

import subprocess
import sys

import numpy as np
from scipy.integrate import quad_vec

import firstlight
from benchmarks import best_of


def cpu_seconds(code: str) -> float:
    """CPU time of a fresh interpreter that runs `code`, the least of five."""
    probe = f"import time\n{code}\nprint(time.process_time())"
    return min(
        float(
            subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
        )
        for _ in range(5)
    )


def run() -> list[tuple[str, float, float, float, str]]:
    bare, loaded = cpu_seconds("pass"), cpu_seconds("import firstlight")
    rows = [("import firstlight, CPU s over the limit of 0.3", loaded, 0.3, loaded / 0.3, "<= 1")]
    rows.append(("import firstlight over a bare interpreter", loaded, bare, loaded / bare, "<= 3"))

    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 200)) / np.sqrt(200)
    gram = x @ x.T
    variance = np.diag(gram).copy()
    relu = firstlight.activation("relu")
    measured = best_of(lambda: relu.dual(variance[:, None], variance, gram))
    floor = best_of(lambda: (np.arccos(np.clip(gram, -1, 1)), np.sqrt(np.abs(gram))))
    rows.append(
        (
            "ReLU dual of a 2000 x 2000 Gram / one arccos + one sqrt of it",
            measured,
            floor,
            measured / floor,
            "<= 10",
        )
    )

    scales = np.linspace(0.5, 2, 200)
    tanh = firstlight.activation("tanh")

    def integrand(z: float) -> np.ndarray:
        polynomials = np.polynomial.hermite_e.hermevander(np.array([z]), 8)[0]
        return np.tanh(scales * z)[:, None] * polynomials * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    measured = best_of(lambda: tanh.hermite(8, scales), 3)
    floor = best_of(lambda: quad_vec(integrand, -12, 12, epsrel=1e-10, epsabs=1e-12), 3)
    rows.append(
        (
            "tanh Hermite to degree 8 at 200 scales / SciPy quad_vec at 1e-10",
            measured,
            floor,
            measured / floor,
            "<= 1",
        )
    )
    return rows
