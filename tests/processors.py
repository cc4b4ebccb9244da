"""Run tests and small studies as other processors would: `python tests/processors.py [names] [-- options]`.

The last bits of a number depend on what OpenBLAS, NumPy, the C library and Numba choose for the processor
they find. All four can be told to choose as on another one, so one machine can find the tests that would
fail elsewhere. Compiled functions are kept under out/, apart for every processor.

With SHARE=4 in the environment each processor runs a quarter of the tests, chosen by their names, another one
for each processor: what continuous integration has the time for.
"""

import os
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path
from zlib import crc32

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
    "explore",
    *(f"data/test_{name}.py" for name in ("data_package", "files", "images", "parser")),
    *(f"study/test_{name}.py" for name in ("address", "cli", "cluster", "dry_run", "kill", "store", "toml")),
    *(f"test_{name}.py" for name in ("bad_input", "campaigns", "package", "readme", "references", "types")),
]
TESTS = ["-p", "processors", "-m", "not slow", "--quiet", "--numprocesses", "2", "--dist", "worksteal"]
# of every theory, the ends of each axis with four trials: no verdict may depend on the processor
STUDIES = [
    "early-alignment/time-vs-scale",
    "early-alignment/low-rank",
    "one-step/spike-alignment",
    "phase-transition/outlier-vs-delta",
    "phase-transition/dmft-vs-gd",
    "unseen-classes/recall-vs-similarity",
    "unseen-classes/lengths",
]
VERDICTS = """
import sys, tempfile
from dataclasses import replace
from firstlight.study.registry import study as find
from firstlight.study.claims import claims_of
from firstlight.study.run import run
from firstlight.show.summary import summarise

with tempfile.TemporaryDirectory() as folder:
    for name in sys.argv[1:]:
        study = find(name).at("quick")
        ends = {axis: [values[0], values[-1]] for axis, values in study.axes.items()}
        study = replace(study, axes=ends, trials=4)
        results = run(study, f"{folder}/study.sqlite", workers=2)
        for key, values in summarise(study, results).items():
            if key.endswith("_verdict"):
                print(name, key, *values.values.ravel(), sep=", ")
        try:
            claims = claims_of(study, results)
        except ValueError:  # a claim about points between the ends
            continue
        for claim in claims:
            print(name, claim.text, claim.verdict, sep=", ")
"""
CHECK = """
import numpy, scipy.linalg, threadpoolctl
blas = [one["architecture"] for one in threadpoolctl.threadpool_info() if one["internal_api"] == "openblas"]
simd = numpy.show_config(mode="dicts")["SIMD Extensions"]
print("OpenBLAS", *blas, "- NumPy", *simd.get("found", ["baseline"]))
"""


def environment(name: str) -> dict[str, str]:
    """Return the variables that make this machine choose as another processor would."""
    needs, kernels, target, threads = PROCESSORS[name]
    answer = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    hidden = {
        "sse4.2": answer,
        "avx2": [one for one in answer if "512" in one or "V4" in one],
        "avx512f": [],
    }[needs]
    return {
        "OPENBLAS_CORETYPE": kernels,
        "OPENBLAS_NUM_THREADS": str(threads),
        "NPY_DISABLE_CPU_FEATURES": " ".join(hidden),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4" if needs == "sse4.2" else "",
        "NUMBA_CPU_NAME": target,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(ROOT / "out" / "processors" / name),
        "PYTHONDONTWRITEBYTECODE": "",  # the second processor's run finds what the first has compiled
        "PART": str([*PROCESSORS].index(name)),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")])),
    }


def pytest_collection_modifyitems(items: list) -> None:
    """Keep this processor's share of the tests; called by pytest, to which `TESTS` names this file."""
    part, of = (int(os.environ.get(name, default)) for name, default in (("PART", "0"), ("SHARE", "1")))
    items[:] = [item for item in items if crc32(item.nodeid.encode()) % of == part % of]


def verdicts(variables: dict[str, str]) -> list[str]:
    """Run the small studies in an environment with these variables; return their verdicts, line by line."""
    command = [sys.executable, "-c", VERDICTS, *STUDIES]
    done = subprocess.run(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()


def able(name: str) -> bool:
    """Say whether this machine and its BLAS can act as a processor."""
    needs, kernels, *_ = PROCESSORS[name]
    if not llvm.get_host_cpu_features().get(needs, False):
        print(f"{name}: skipped, this machine has no {needs}")
        return False
    variables = {**os.environ, **environment(name)}
    seen = subprocess.run(
        [sys.executable, "-c", CHECK], env=variables, capture_output=True, text=True, check=True
    )
    print(f"{name}: {seen.stdout.strip()}", flush=True)
    # wheels of OpenBLAS serve Zen by Haswell's kernels
    if not {kernels, "Haswell" if name == "zen" else kernels} & set(seen.stdout.split()):
        print(f"{name}: skipped, this BLAS does not choose its kernels by OPENBLAS_CORETYPE")
        return False
    return True


def run(name: str, options: list[str], expected: list[str]) -> bool:
    """Run tests and studies as one processor; True if the tests pass and no verdict differs."""
    variables = environment(name)
    ignored = [f"--ignore={ROOT / 'tests' / path}" for path in IGNORED]
    command = [sys.executable, "-m", "pytest", *TESTS, *ignored, *options]
    passed = subprocess.call(command, cwd=ROOT, env={**os.environ, **variables}) == 0
    changed = [*unified_diff(expected, verdicts(variables), "here", name, lineterm="", n=0)]
    print("\n".join(changed) or f"{name}: {len(expected)} lines of verdicts as here", flush=True)
    return passed and not changed


def main(given: list[str]) -> None:
    """Run all that can be run; exit with the names of those that failed."""
    cut = given.index("--") if "--" in given else len(given)
    names = [name for name in given[:cut] or PROCESSORS if able(name)]
    expected = verdicts({}) if names else []
    failed = [name for name in names if not run(name, given[cut + 1 :], expected)]
    sys.exit(f"failed as {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
