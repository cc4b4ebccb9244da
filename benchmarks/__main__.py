"""Run every benchmark module, or those named: `python -m benchmarks [NAME ...] [--save FILE]`."""

import argparse
import operator
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks._table import rounded, write

APART = {"__main__", "_cluster", "_costs", "_table", "peers", "scale", "workers"}  # not rows of `make bench`
COMPARE = {"<=": operator.le, ">=": operator.ge}


def met(ratio: float, target: str) -> bool:
    """Whether a ratio meets a target such as '<= 1.3'."""
    sign, bound = target.split()
    return bool(COMPARE[sign](ratio, float(bound)))


def main(names: list[str], save: str | None = None) -> int:
    known = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name not in APART]
    if unknown := set(names) - set(known):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    rows: list[dict[str, Any]] = []
    table = Table("benchmark", "measured", "floor", "ratio", "target", "")
    missed = 0
    for name in names or known:
        for label, measured, floor, ratio, target in import_module(f"benchmarks.{name}").run():
            good = met(ratio, target)
            values = {"measured": measured, "floor": floor, "ratio": ratio}
            rows.append({"part": name, "what": label, **rounded(values), "target": target, "met": good})
            missed += not good
            verdict = "[green]met[/]" if good else "[red]missed[/]"
            table.add_row(
                f"{name}: {label}", f"{measured:.4g}", f"{floor:.4g}", f"{ratio:.3g}", target, verdict
            )
    Console(width=max(100, Console().width)).print(table)
    print(f"{table.row_count - missed} of {table.row_count} targets met")
    if save:
        write(save, rows)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument(
        "--save", metavar="FILE", help="write the table as JSON, beside what is there of others"
    )
    given = parser.parse_args()
    sys.exit(main(given.names, given.save))
