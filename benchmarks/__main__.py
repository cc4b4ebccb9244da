"""Run every benchmark module, or those named: `python -m benchmarks [NAME ...]`."""

import operator
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

COMPARE = {"<=": operator.le, ">=": operator.ge}


def met(ratio: float, target: str) -> bool:
    """Whether a ratio meets a target such as '<= 1.3'."""
    sign, bound = target.split()
    return COMPARE[sign](ratio, float(bound))


def main(names: list[str]) -> int:
    known = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_")]
    if unknown := set(names) - set(known):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    table = Table("benchmark", "measured", "floor", "ratio", "target", "")
    missed = 0
    for name in names or known:
        for label, measured, floor, ratio, target in import_module(f"benchmarks.{name}").run():
            good = met(ratio, target)
            missed += not good
            verdict = "[green]met[/]" if good else "[red]missed[/]"
            table.add_row(
                f"{name}: {label}", f"{measured:.4g}", f"{floor:.4g}", f"{ratio:.3g}", target, verdict
            )
    Console(width=max(100, Console().width)).print(table)
    print(f"{table.row_count - missed} of {table.row_count} targets met")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
