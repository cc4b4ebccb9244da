"""What the children do: pictures, records at hand, runs, claims. Heavy imports happen here alone.

Every job gets `emit` first. Nothing in here knows a theory.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.explore.pages import page
from firstlight.show.interactive import figure, trace
from firstlight.show.pictures import Drawn, Picture, plain

if TYPE_CHECKING:
    from firstlight.study.engines import Engine
    from firstlight.study.schedule import Outcome
    from firstlight.study.store import Store
    from firstlight.study.sweep import Study
    from firstlight.study.trial import Task

Emit = Callable[[Any], None]
_PERIOD = 0.3  # seconds between two pictures of a run's points
LONGEST = 30.0  # seconds that a run may take without asking
MOST = 4 * 3600.0  # seconds beyond which a run belongs on the command line


def view(emit: Emit, name: str, which: str, values: dict[str, Any]) -> None:
    """Emit the pictures of one view, rough ones first, as JSON; their colours are still open."""
    description = page(name)
    for drawn in description.views[which].draw(values):
        emit(json.dumps({"panels": {panel: _shown(one) for panel, one in drawn.items()}}))


def _shown(drawn: Drawn) -> dict[str, Any]:
    if isinstance(drawn, Picture):
        made = figure(drawn, "open")
        return {"kind": "picture", **made, "note": drawn.note, "follows": drawn.follows}
    groups = [vars(group) for group in drawn.groups]  # thousands of numbers: nothing is copied
    return {"kind": "plane", **plain({**vars(drawn), "groups": groups})}


def facts(emit: Emit, name: str, values: dict[str, Any], store: str) -> None:
    """Emit what the theory assumes here, and what the store holds for these values already."""
    description = page(name)
    assumed = [asdict(one) for one in description.problem(values).assumptions()]
    emit(json.dumps({"assumptions": assumed}))
    emit(json.dumps(_stored(name, values, store)))


def _stored(name: str, values: dict[str, Any], path: str) -> dict[str, Any]:
    from firstlight.study.store import Store

    study = page(name).study(values)
    held = {"records": study.records, "stored": 0, "points": {}}
    if not Path(path).exists():
        return held
    with Store(path) as store:
        return held | _points(name, values, study, store)


def _points(name: str, values: dict[str, Any], study: "Study", store: "Store") -> dict[str, Any]:
    """Return how many records there are, and the traces that they add to the panels."""
    from firstlight.study.run import dataset

    results = dataset(study, store)
    stored = int((results["status"] == "ok").sum())
    if not stored:
        return {"stored": 0, "points": {}}
    traces = page(name).points(values, study, results).items()
    points = {panel: [trace(one, "open") for one in some] for panel, some in traces}
    return {"stored": stored, "points": points}


def take(emit: Emit, name: str, values: dict[str, Any]) -> None:
    """Emit the study of these values as Python and as a command."""
    from firstlight.explore.take import as_command, as_python

    study = page(name).study(values)
    emit(json.dumps({"python": as_python(study), "command": as_command(study)}))


def run(emit: Emit, name: str, values: dict[str, Any], path: str, confirmed: bool) -> None:
    """Compute what the store lacks of a page's study; emit the progress, and the points as they come."""
    from firstlight.study.run import advance
    from firstlight.study.store import Store
    from firstlight.study.trial import check

    study = page(name).study(values)
    check(study)
    with Store(path, write=True) as store:
        held = _points(name, values, study, store)
        emit({"total": study.records, "done": held["stored"], "points": held["points"]})
        missing = study.records - held["stored"]
        if missing:
            machine = _machine(emit, study, store, missing, confirmed)
            if machine is None:
                return
            outcome = advance(study, store, machine, tell=_Teller(emit, name, values, study, store, missing))
            emit({"failed": outcome.failed, "message": "; ".join(outcome.messages[:1])})
        emit({"done": study.records, **_points(name, values, study, store)})


def _machine(emit: Emit, study: "Study", store: "Store", missing: int, confirmed: bool) -> "Engine | None":
    """Return where a run computes; None after asking whether it may take as long as it will."""
    from firstlight.study.dry_run import dry_run
    from firstlight.study.engines import cores, engine
    from firstlight.study.problem import duration

    if study.records == len(study.arms):  # a dry run would do each of these trials several times
        return engine(0)
    expected = dry_run(study, store, 0)
    if expected.seconds > MOST and not expected.failure:
        raise ValueError(f"{duration(expected.seconds)} is too long for a page; copy it as a command")
    if (expected.failure or expected.seconds > LONGEST) and not confirmed:
        lasting = "an unknown time" if expected.failure else f"about {duration(expected.seconds)}"
        why = expected.failure and f": trials fail ({expected.failure})"
        emit({"asks": f"{lasting} for {missing} records{why}"})
        return None
    emit({"left": expected.seconds})
    lone = expected.seconds < 20 or cores() <= 2  # starting processes takes longer than it saves
    return engine(0 if lone else cores() - 1)


class _Teller:
    """Tells how far a run is, and now and then shows its points: never for more than a fifth of the time."""

    def __init__(
        self, emit: Emit, name: str, values: dict[str, Any], study: "Study", store: "Store", missing: int
    ) -> None:
        self._emit, self._about, self._missing = emit, (name, values, study, store), missing
        self._total, self._start, self._next = study.records, time.monotonic(), 0.0

    def __call__(self, task: "Task", outcome: "Outcome") -> None:
        computed, now = outcome.computed + outcome.failed, time.monotonic()
        if not computed or now < self._next:
            return
        left = (now - self._start) / computed * max(self._missing - computed, 0)
        self._emit({"done": self._total - self._missing + computed, "left": left, **_points(*self._about)})
        self._next = time.monotonic() + max(_PERIOD, 4 * (time.monotonic() - now))


def claims(emit: Emit, path: str) -> None:
    """Emit the published claims that the records at hand judge, study by study, and what waits for some."""
    from firstlight.show.evidence import claimed, rows
    from firstlight.study.store import Store

    waiting = claimed()
    if Path(path).exists():
        with Store(path) as store:
            held = store.counts()
            for study in [one for one in waiting if one.name in held]:
                emit(json.dumps({"claims": [row.plain() for row in rows(store, [study])]}))
            waiting = [one for one in waiting if one.name not in held]
    missing = [{"study": one.name, "description": one.description} for one in waiting]
    emit(json.dumps({"claims": [], "waiting": missing}))
