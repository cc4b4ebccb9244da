"""Run the numerical tests as other processors would: `python tests/processors.py [names] [-- options]`.

The last bits of a number depend on what OpenBLAS, NumPy, the C library and Numba choose for the processor
they find. All four can be told to choose as on another one, so one machine can find the tests that would
fail elsewhere. Compiled functions are kept under out/, apart for every processor.
"""

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

ROOT = Path(__file__).parent.parent
# name: (what it needs, OpenBLAS's kernels, Numba's target, threads of BLAS); one and two threads take turns
PROCESSORS = {
    "nehalem": ("sse4.2", "Nehalem", "generic", 2),
    "haswell": ("avx2", "Haswell", "haswell", 1),
    "zen": ("avx2", "Zen", "znver2", 2),
    "skylakex": ("avx512f", "SkylakeX", "skylake-avx512", 1),
}
# files, downloads, texts: no numbers whose last bits matter; `slow` tests compare means of trials
IGNORED = [
    "agreement",
    *(f"data/test_{name}.py" for name in ("data_package", "files", "images", "parser")),
    *(f"study/test_{name}.py" for name in ("address", "cli", "cluster", "estimate", "kill", "store", "toml")),
    *(f"test_{name}.py" for name in ("package", "readme", "references")),
]
TESTS = ["-m", "not slow", "--quiet", "--numprocesses", "2", "--dist", "worksteal"]
CHECK = """
import numpy, scipy.linalg, threadpoolctl
blas = [one["architecture"] for one in threadpoolctl.threadpool_info() if one["internal_api"] == "openblas"]
simd = numpy.show_config(mode="dicts")["SIMD Extensions"]
print("OpenBLAS", *blas, "- NumPy", *simd.get("found", ["baseline"]))
"""


def environment(name: str) -> dict[str, str]:
    """Return the variables that make this machine choose as another processor would."""
    needs, kernels, target, threads = PROCESSORS[name]
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    hidden = {"sse4.2": found, "avx2": [one for one in found if "512" in one or "V4" in one], "avx512f": []}[
        needs
    ]
    return {
        "OPENBLAS_CORETYPE": kernels,
        "OPENBLAS_NUM_THREADS": str(threads),
        "NPY_DISABLE_CPU_FEATURES": " ".join(hidden),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4" if needs == "sse4.2" else "",
        "NUMBA_CPU_NAME": target,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(ROOT / "out" / "processors" / name),
    }


def run(name: str, options: list[str]) -> int:
    """Run the tests as one processor; 0 if they pass, or if this machine cannot act as that one."""
    if not llvm.get_host_cpu_features().get(PROCESSORS[name][0], False):
        print(f"{name}: skipped, this machine has no {PROCESSORS[name][0]}")
        return 0
    variables = {**os.environ, **environment(name)}
    seen = subprocess.run(
        [sys.executable, "-c", CHECK], env=variables, capture_output=True, text=True, check=True
    )
    print(f"{name}: {seen.stdout.strip()}", flush=True)
    # wheels of OpenBLAS serve Zen by Haswell's kernels
    kernels = {"Haswell", "Zen"} if name == "zen" else {PROCESSORS[name][1]}
    if not kernels & set(seen.stdout.split()):
        print(f"{name}: skipped, this BLAS does not choose its kernels by OPENBLAS_CORETYPE")
        return 0
    ignored = [f"--ignore={ROOT / 'tests' / path}" for path in IGNORED]
    return subprocess.call(
        [sys.executable, "-m", "pytest", *TESTS, *ignored, *options], cwd=ROOT, env=variables
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    cut = given.index("--") if "--" in given else len(given)
    names, options = given[:cut] or list(PROCESSORS), given[cut + 1 :]
    failed = [name for name in names if run(name, options)]
    sys.exit(f"failed as {', '.join(failed)}" if failed else 0)
