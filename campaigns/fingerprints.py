"""Numbers before and after a change that should change none: `make fingerprints`.

    python campaigns/fingerprints.py FILE            write FILE if it is not there, else compare with it
    python campaigns/fingerprints.py FILE --all      every grid point instead of the first and the last

What is written down: for every study of the catalogue at its quick scale, every arm at the first and the last
point with a generator of its own (so that neither addresses nor other studies enter); what the README's
examples print; what the commands answer with ``--json``. Comparison is bit for bit on the machine that wrote
the file; ``--tolerance`` allows for other processors.
"""

import argparse
import contextlib
import io
import json
import math
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
STEP = "sign(abs(z1) - 1.4820733)"
COMMANDS = (
    ["delta-alg", "z1**2", "--json"],
    ["delta-alg", "z1+sign(abs(z2)-1.3)", "--noise", "0.2", "--json"],
    ["staircase", "z1+z1*z2", "--json"],
    ["delta-nn", STEP, "--init-scale", "0.8", "--steps", "16", "--draws", "1024", "--json"],
    ["onset", STEP, "--init-scale", "0.8", "--steps", "20", "--dimension", "100", "--json"],
    ["align", "{file}", "--labels", "y", "--positive", "a", "--negative", "b", "--json"],
    ["unseen", "{file}", "--labels", "y", "--classes", "a,b", "--check", "--json"],
    ["theories", "--json"],
    ["study", "list", "--json"],
    ["cite", "--json"],
    ["data", "list", "--json"],
)
TIMES = re.compile(r"(.*_)?seconds|hours|created|path|folder|cached", re.IGNORECASE)


def plain(value: Any) -> Any:
    """Turn arrays into lists, keep what JSON knows; NaN and infinities become text."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items() if not TIMES.fullmatch(str(key))}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


Named = Iterator[tuple[str, Callable[[], Any]]]  # numbers are computed only if they are asked for


def of_studies(everything: bool) -> Named:
    """Yield every arm's numbers at the chosen points of every study."""
    from firstlight.study.registry import studies

    for name, study in studies().items():
        quick = study.at("quick")
        chosen = range(quick.size) if everything else sorted({0, quick.size - 1})
        for index in chosen:
            seed = [crc32(name.encode()), index]
            for arm, spec in quick.arms.items():
                yield f"{name} [{index}] {arm}", partial(of_trial, quick, index, spec, seed)


def of_trial(study: Any, index: int, arm: Any, seed: list[int]) -> Any:
    """Return one trial's numbers, or what it raised."""
    try:
        problem = study.build(study.point(index))
        results = getattr(problem, arm.kind)(np.random.default_rng(seed), **arm.options)
    except (
        ImportError,
        FileNotFoundError,
        ValueError,
    ) as error:  # images not fetched, an extra not installed
        return f"not computed: {error}"
    return {str(key): plain(variable.values) for key, variable in results.data_vars.items()}


def of_readme() -> Named:
    """Yield what each example of the README prints."""
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for number, code in enumerate(snippets):
        yield f"README {number}", partial(_printed, code)


def _printed(code: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "README", "exec"), {})
    return said.getvalue()


def of_commands() -> Named:
    """Yield what the commands answer."""
    for words in COMMANDS:
        yield " ".join(words), partial(_answer, words)


def _answer(words: list[str]) -> Any:
    from firstlight.cli import app

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        rows = [f"{','.join(map(repr, rng.normal(size=3).tolist()))},{'abcde'[i % 5]}" for i in range(60)]
        file.write_text("\n".join(["p,q,r,y", *rows]) + "\n")
        answer = CliRunner().invoke(app, [word.format(file=file) for word in words])
        said = answer.output.replace(folder, "")
        return plain(json.loads(said)) if answer.exit_code == 0 else said


def equal(one: Any, two: Any, tolerance: float) -> bool:
    """Compare numbers within a relative tolerance (0: bit for bit), everything else exactly.

    The second may have names that the first had not: a new observable changes no number.
    """
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() <= two.keys() and all(equal(one[key], two[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(equal(a, b, tolerance) for a, b in zip(one, two, strict=True))
    if isinstance(one, float) and isinstance(two, float):
        return one == two or abs(one - two) <= tolerance * max(abs(one), abs(two))
    return bool(one == two)


def main() -> int:
    """Write the fingerprints, or compare them with those of a file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--all", action="store_true", help="every grid point")
    parser.add_argument("--tolerance", type=float, default=0.0, help="relative; 0 is bit for bit")
    parser.add_argument("--only", default="", help="only what has this text in its name")
    asked = parser.parse_args()
    known = json.loads(asked.file.read_text()) if asked.file.exists() else None
    computed: dict[str, Any] = {}
    differ = 0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in (of_studies(asked.all), of_commands(), of_readme()):
            for name, compute in source:
                if asked.only not in name:
                    continue
                computed[name] = json.loads(json.dumps(compute()))
                if known and name in known and not equal(known[name], computed[name], asked.tolerance):
                    differ += 1
                    print(f"differs: {name}", flush=True)
    if known is None:
        asked.file.parent.mkdir(parents=True, exist_ok=True)
        asked.file.write_text(json.dumps(computed, indent=1))
        print(f"{len(computed)} fingerprints written")
        return 0
    missing = [name for name in known if asked.only in name and name not in computed]
    print(f"{len(computed)} fingerprints compared, {differ} differ, {len(missing)} are gone: {missing[:5]}")
    return 1 if differ or missing else 0


if __name__ == "__main__":
    sys.exit(main())
