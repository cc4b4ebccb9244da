"""The shared mathematics: import time, duals and Hermite coefficients against what they cannot avoid."""

import os
import subprocess
import sys
import tempfile

import numpy as np
from scipy.integrate import quad_vec

import firstlight
from benchmarks import best_of


def cpu_seconds(code: str, repeats: int = 5, variables: dict[str, str] | None = None) -> float:
    """CPU time of a fresh interpreter that runs `code`, the least of several."""
    probe = f"import time\n{code}\nprint(time.process_time())"
    return min(
        float(
            subprocess.run(
                [sys.executable, "-c", probe],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | (variables or {}),
            ).stdout
        )
        for _ in range(repeats)
    )


COLD = """
import numpy as np, firstlight.early_alignment as ea
ea.align(np.eye(2), [1, -1], np.ones((1, 2)), [1])
"""
COLD_DMFT = """
import firstlight.phase_transition as pt
pt.dmft("sign(abs(z1) - 1.48)", pt.Student("tanh_squared", 1.0, 0.8), 3.0, 0.25, 4, 1 << 10)
"""


def command(line: list[str]) -> str:
    """Code that runs a command as the shell would."""
    return (
        f"import sys, contextlib\nsys.argv = {['firstlight', *line]!r}\nfrom firstlight.cli import app\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):\n    app()"
    )


def cold(code: str) -> float:
    """CPU time of a fresh interpreter with no compiled code on disk."""
    with tempfile.TemporaryDirectory() as folder:
        return cpu_seconds(code, 1, {"NUMBA_CACHE_DIR": folder})


def starts() -> list[tuple[str, float, float, float, str]]:
    """What a user waits for before the first answer."""
    result = [
        ("`firstlight --help`", cpu_seconds(command(["--help"])), 0.3),
        ("`firstlight delta-alg z1**2`", cpu_seconds(command(["delta-alg", "z1**2"])), 1.0),
        ("first alignment, nothing compiled", cold(COLD), 30.0),
        ("first DMFT, nothing compiled", cold(COLD_DMFT), 30.0),
    ]
    return [
        (f"{what}, CPU s over the limit of {limit:g}", s, limit, s / limit, "<= 1")
        for what, s, limit in result
    ]


def run() -> list[tuple[str, float, float, float, str]]:
    bare, loaded = cpu_seconds("pass"), cpu_seconds("import firstlight")
    rows = [("import firstlight, CPU s over the limit of 0.3", loaded, 0.3, loaded / 0.3, "<= 1")]
    rows.append(("import firstlight over a bare interpreter", loaded, bare, loaded / bare, "<= 3"))
    rows += starts()

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
