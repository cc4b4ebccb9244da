"""What `firstlight diagnose` says about known data, how often its intervals hold, and what it sees in noise.

    python campaigns/diagnosis.py noise --seeds 200
    python campaigns/diagnosis.py sets --seconds 60 --folder out/diagnosis --save docs/measured/diagnosis.json
    python campaigns/diagnosis.py intervals --seeds 24 --seconds 20

noise: false alarms on labels that have nothing to do with the rows: Gaussian and heavy-tailed rows, two
classes and numbers in turn. sets: a page for every set, and a table of predicted and measured. intervals: how
often the first 90 % interval holds what was measured, and the error on fresh rows of the same law.
"""

import argparse
import json
import os
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from user_sets import SETS, generated, noise

from firstlight import diagnose
from firstlight.data.cache import ImagesNotFetched
from firstlight.diagnosis import Clock, Diagnosis, user_data
from firstlight.one_step.diagnosis import diagnose as one_step
from firstlight.one_step.experiment.held_out import trained_error
from firstlight.phase_transition.diagnosis import diagnose as phase_transition

_FRESH = 4000  # rows that stand for the law


def false_alarms(first: int, seeds: int) -> None:
    """Count what is claimed about noise: usable networks, a linear signal, a hidden direction."""
    alarms = {"one_step": 0, "linear": 0, "hidden": 0, "network": 0, "any": 0}
    for seed in range(first, first + seeds):
        data = user_data(*noise(seed), seed=seed)
        turns = one_step(data, Clock(1e9))
        network = [next(turns) for _ in range(3)][-1]
        *_, directions = phase_transition(data, Clock(1e9))
        said = directions.says
        found = {
            "one_step": not any(line.startswith("This network is no better") for line in network.advice),
            "linear": said.startswith("A linear signal"),
            "hidden": "hidden direction shows" in said or "hidden directions show" in said,
            "network": directions.advice[0].startswith("Use a network"),
        }
        for name, alarm in (*found.items(), ("any", any(found.values()))):
            alarms[name] += alarm
        if seed % 20 == 19:
            print(seed + 1, alarms, flush=True)


def intervals(first: int, seeds: int, seconds: float) -> None:
    """Ask random sets of scikit-learn's generators; a warning that reaches the user is an error."""
    warnings.simplefilter("error")
    held = {"measured": 0, "fresh rows": 0}
    for seed in range(first, first + seeds):
        (x, y), fresh = generated(seed, _FRESH)
        page = diagnose(x, y, seconds=seconds, source=f"generated {seed}")
        failed = [f"{one.name}: {one.error}" for one in page.sections if one.error]
        one = page["one_step"].predictions[0]
        error = _population(page, fresh, seed)
        inside = {
            "measured": one.low <= one.measured <= one.high,
            "fresh rows": one.low <= error <= one.high,
        }
        for name, value in inside.items():
            held[name] += value
        shown = f"{one.predicted:.3f} [{one.low:.3f}, {one.high:.3f}] measured {one.measured:.3f}"
        print(f"{seed}: {page.data.summary}; {shown}, fresh {error:.3f}; {failed or ''}", flush=True)
    print({name: f"{count} of {seeds}" for name, count in held.items()})


def _population(page: Diagnosis, fresh: tuple[np.ndarray, np.ndarray], seed: int) -> float:
    """Return the error on fresh rows of networks trained as the first question's were."""
    data = page.data
    network = json.loads(page["one_step"].predictions[0].what.split(", ")[-1].split()[0])
    labels = fresh[1] if not data.classes else np.unique(fresh[1], return_inverse=True)[1]
    unit = 1.0 if data.classes else data.y.var()
    return trained_error(
        (data.X, data.y), (fresh[0], labels), samples=network, width=100, step_size=float(data.shape[1]),
        ridge=1e-2, trainings=60, rng=np.random.default_rng(seed), regression=not data.classes,
    ) / unit  # fmt: skip


def sets(seconds: float, folder: Path, only: str | None, save: Path | None) -> None:
    """Write a page for every set, and a row of what was predicted and measured."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, load in SETS.items():
        if only is not None and name not in only.split(","):
            continue
        try:
            x, y = load()
        except ImagesNotFetched as error:
            print(f"{name}: {error}")
            continue
        start = time.process_time()
        found = diagnose(x, y, seconds=seconds, source=name)
        found.to_html(folder / f"{name}.html")
        (folder / f"{name}.json").write_text(found.to_json(), "utf-8")
        rows.append(_row(name, found, time.process_time() - start))
        print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
    if save is not None:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        ).stdout
        about = {"seconds": seconds, "cores": os.cpu_count(), "commit": commit.strip()}
        save.write_text(json.dumps(about | {"rows": rows}, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _row(name: str, found: Diagnosis, cpu: float) -> dict[str, Any]:
    """Return what the table of the documentation shows of a page."""
    plain = found.to_dict()
    theories = plain["theories"]
    asked = [one | {"theory": key} for key, part in theories.items() for one in part.get("predictions", ())]
    keys = ("theory", "what", "predicted", "low", "high", "measured", "error", "verdict")
    kept = [{key: _short(one[key]) for key in keys} for one in asked]
    first = next((one for one in kept if one["theory"] == "one_step"), None)
    return {
        "set": name, "data": found.data.summary,
        "speaks": {key: part.get("speaks", part["state"]) for key, part in theories.items()},
        "first": first, "predictions": len(kept), "agree": sum(one["verdict"] == "agrees" for one in kept),
        "off": [one for one in kept if one["verdict"].startswith("off")],
        "unchecked": [one for one in kept if one["verdict"].startswith("not checked")],
        "failed": {key: part["state"] for key, part in theories.items() if "failed" in part["state"]},
        "seconds": round(found.seconds, 1), "cpu seconds": round(cpu, 1),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("noise", "sets", "intervals"))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folder", type=Path, default=Path("out/diagnosis"))
    parser.add_argument("--save", type=Path)
    parser.add_argument("--only", help="names with commas")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.what == "noise":
        false_alarms(chosen.first, chosen.seeds)
    elif chosen.what == "intervals":
        intervals(chosen.first, chosen.seeds, chosen.seconds)
    else:
        sets(chosen.seconds, chosen.folder, chosen.only, chosen.save)
