"""Time the catalogue by dry runs, for `firstlight study list`: `make costs` writes the table anew."""

import json
import sys
from pathlib import Path

from firstlight.study.dry_run import costs, costs_file, dry_run
from firstlight.study.registry import studies, theories


def main(names: list[str]) -> None:
    """Time the studies named, or all; what is no longer in the catalogue goes."""
    known = costs()
    result: dict[str, dict[str, float]] = {}
    for study in studies().values():
        result[study.name] = known.get(study.name, {})
        if names and study.name not in names:
            continue
        for scale in dict.fromkeys(("quick", *study.scales)):
            found = dry_run(study.at(scale), workers=0, probe=study.at("quick"))
            print(f"{study.name} {scale}: {found.failure or f'{found.seconds:.3g} s'}", flush=True)
            if not found.failure:
                result[study.name][scale] = float(f"{found.seconds:.2g}")
    for theory in theories().values():
        own = {name: seconds for name, seconds in result.items() if name.startswith(f"{theory.slug}/")}
        Path(str(costs_file(theory))).write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
