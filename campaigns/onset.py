"""Where half of the descents of a size succeed, beside what `onset` says by theory and by a small pilot.

    python campaigns/onset.py out/onset.json --models base,early --seconds 150

Every number is kept as soon as it is known: run it again to go on. The table is printed at the end.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

from firstlight.phase_transition import Student, onset

STEPS = 100
RUNS = {200: 100, 800: 24, 2000: 24}  # descents at each of five n/d
_STEP = "sign(abs(z1) - 1.4820733)"
_EASY = "tanh(0.5*z1 + 1.5*(z2**2 - 1))"


@dataclass(frozen=True)
class Model:
    """A target, a network, and its step size."""

    target: str
    student: Student
    step_size: float = 0.25


MODELS = {
    "base": Model(_STEP, Student("tanh_squared", 1.0, 0.8)),
    "early": Model("sign(abs(z1) - 1)", Student("tanh_squared", 2.0, 0.8, offset=-1.0), 0.17),
    "logistic": Model(
        "sign(abs(z1) - 1.2)", Student("tanh_squared", 1.5, 0.8, "logistic", offset=-0.5), 0.38
    ),
    "smooth target": Model("tanh(z1**2 - 1)", Student("tanh_squared", 1.5, 0.6, offset=-0.5), 0.15),
    "ridge": Model(_STEP, Student("tanh_squared", 1.0, 0.8, ridge=0.1)),
    "short start": Model(_STEP, Student("tanh_squared", 1.0, 0.3)),
    "two neurons": Model(_STEP, Student("tanh_squared", (1.0, 0.5), 0.5)),
    "low offset": Model("sign(abs(z1) - 1.2)", Student("tanh_squared", 1.2, 0.7, offset=-0.2), 0.2),
    "logistic base": Model(_STEP, Student("tanh_squared", 2.0, 0.5, "logistic", offset=-1.0), 0.3),
    "middle offset": Model("sign(abs(z1) - 1)", Student("tanh_squared", 1.5, 0.7, offset=-0.5), 0.15),
    "two directions": Model("sign(z1*z2)", Student("tanh_squared", (1.0, -1.0), 0.7), 0.2),
    "easy direction": Model(_EASY, Student("gelu", 1.0, 0.8)),
    "plateau": Model(_EASY, Student("silu", 1.0, 0.8)),
}
PARTS = {  # what is asked: the size, and how
    "descents, d = 200": (200, {"pilot_dimension": 200, "trials": RUNS[200]}),
    "theory, d = 200": (200, {"method": "theory"}),
    "pilot, d = 800": (800, {"pilot_dimension": 200, "trials": RUNS[200], "rng": 1}),
    "theory, d = 800": (800, {"method": "theory"}),
    "descents, d = 800": (800, {"pilot_dimension": 800, "trials": RUNS[800], "rng": 2}),
}
LARGE = {
    "pilot, d = 2000": (2000, {"pilot_dimension": 200, "trials": RUNS[200], "rng": 1}),
    "theory, d = 2000": (2000, {"method": "theory"}),
    "descents, d = 2000": (2000, {"pilot_dimension": 2000, "trials": RUNS[2000], "rng": 2}),
}


def measure(model: Model, part: str) -> dict:
    """Ask `onset` one question; a pilot at the size itself is a measurement, without any law of sizes."""
    start = time.process_time()
    dimension, options = {**PARTS, **LARGE}[part]
    result = onset(model.target, model.student, model.step_size, dimension, STEPS, **options)
    seconds = round(time.process_time() - start, 1)
    number = None if result.refused else result.value, None if result.refused else result.error
    return {"value": number[0], "error": number[1], "refused": result.refused, "seconds": seconds}


def table(kept: dict) -> str:
    """Return what is known as a table in Markdown."""
    parts = [part for part in (*PARTS, *LARGE) if any(part in row for row in kept.values())]
    lines = ["| model | " + " | ".join(parts) + " |", "|---" * (len(parts) + 1) + "|"]
    for name, row in kept.items():
        lines.append(f"| {name} | " + " | ".join(_cell(row.get(part)) for part in parts) + " |")
    return "\n".join(lines)


def _cell(result: dict | None) -> str:
    if result is None:
        return ""
    return (
        f"refused: {result['refused']}"
        if result["refused"]
        else f"{result['value']:.3g} ± {result['error']:.1g}"
    )


def main() -> None:
    """Go on until all is known or the time is over."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("file", type=Path)
    words.add_argument("--models", default=",".join(MODELS))
    words.add_argument("--parts", default=";".join(PARTS))
    words.add_argument("--seconds", type=float, default=1e9, help="of processor time, before a new number")
    asked = words.parse_args()
    kept = json.loads(asked.file.read_text("utf-8")) if asked.file.exists() else {}
    for name in asked.models.split(","):
        for part in asked.parts.split(";"):
            if part in kept.setdefault(name, {}) or time.process_time() > asked.seconds:
                continue
            kept[name][part] = measure(MODELS[name], part)
            asked.file.parent.mkdir(parents=True, exist_ok=True)
            asked.file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            print(name, part, kept[name][part], flush=True)
    print(table(kept))


if __name__ == "__main__":
    main()
