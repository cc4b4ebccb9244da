"""One table of all claims, published or ours: source, rule, numbers with intervals, sizes, verdict, command.

`rows` judges what a store holds; `save` and `read` keep the table as a compact file, which says of every row
by which version of its theory it was made.
"""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_type_hints

import xarray as xr

from firstlight.maths.files import replacing
from firstlight.maths.refusals import unknown
from firstlight.maths.shown import short
from firstlight.show.pictures import plain
from firstlight.study import registry
from firstlight.study.claims import Claim, Estimate, Statement, claims_of, judged
from firstlight.study.provenance import machine
from firstlight.study.run import dataset
from firstlight.study.store import Store
from firstlight.study.sweep import Study


@dataclass(frozen=True)
class Row:
    """One claim, judged by one study at one scale.

    Attributes
    ----------
    theory, study, scale : str
    claim : Claim
    sizes : str
        What is varied, and the whole numbers that are fixed.
    trials, planned : int
        How many trials there are with a number, at the part of the claim that has fewest; and were asked for.
    seed : int
    command : str
        What computes the numbers again.
    version : int
        Of the theory's problem: records of another version are other numbers.
    hours : float
        Of computing, over all processes: of all records of the study in the store.
    """

    theory: str
    study: str
    scale: str
    claim: Claim
    sizes: str
    trials: int
    planned: int
    seed: int
    command: str
    version: int
    hours: float

    @property
    def verdict(self) -> str:
        """The verdict in words; where it is undecided, what would decide."""
        outlook = self.claim.outlook(self.trials)
        return f"{self.claim.verdict}: {outlook}" if outlook else self.claim.verdict

    @property
    def published(self) -> bool:
        """Whether somebody published it; what names no source is a claim of the theory's package itself."""
        return bool(self.claim.statement.source)

    @property
    def counted(self) -> str:
        """The number of trials in words.

        Examples
        --------
        >>> Row("t", "t/s", "quick", judged("x", [Estimate("x", 1, 0, 2)]), "", 1, 3, 0, "", 1, 0.0).counted
        '1 of 3 trials'
        """
        if self.trials != self.planned:
            return f"{self.trials} of {self.planned} trials"
        return f"{self.trials} trial{'' if self.trials == 1 else 's'}"

    def plain(self) -> dict[str, Any]:
        """Return it as plain values for JSON; numbers that are not finite become null."""
        said = self.claim.statement
        shown = {name: value for name, value in vars(self).items() if name != "claim"}
        return {
            "claim": self.claim.text, "source": said.source, "place": said.place, "estimand": said.estimand,
            "rule": said.rule, "every": said.every, "verdict": self.verdict, "evidence": self.claim.evidence,
            "estimates": [plain(asdict(one), 17) for one in self.claim.estimates],
            **shown,
        }  # fmt: skip


def claimed(theory: str | None = None, scale: str = "quick") -> list[Study]:
    """Return the studies that judge published claims and have that scale, of all theories or of one.

    Examples
    --------
    >>> "unseen-classes/operator-norm" in [study.name for study in claimed("unseen_classes")]
    True
    """
    known = registry.theories()
    if theory is not None and theory not in known:
        raise unknown("theory", theory, known)
    scales = {"quick", *(name for study in registry.studies().values() for name in study.scales)}
    if scale not in scales:
        raise unknown("scale", scale, sorted(scales))
    prefix = f"{known[theory].slug}/" if theory is not None else ""
    judging = [study for study in registry.studies().values() if study.claims is not None]
    at_scale = [study for study in judging if scale == "quick" or scale in study.scales]
    return [study for study in at_scale if study.name.startswith(prefix)]


def rows(store: Store, studies: Iterable[Study] | None = None, scale: str = "quick") -> list[Row]:
    """Judge the claims of studies, by default of all that make some, by what a store holds; compute nothing.

    There is no row of a study of which the store holds nothing.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.study.run import run
    >>> study = registry.study("unseen-classes/operator-norm")
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     _ = run(study, store, workers=0)
    ...     [row.verdict for row in rows(store, [study])]
    ['does not hold']
    """
    seconds = {name: spent for name, (_, _, spent) in store.counts().items()}
    made: list[Row] = []
    for study in claimed(scale=scale) if studies is None else studies:
        chosen = study.at(scale)
        made += rows_of(chosen, dataset(chosen, store, scale=scale), seconds.get(study.name, 0) / 3600)
    return made


def rows_of(study: Study, results: xr.Dataset, hours: float = 0.0) -> list[Row]:
    """Judge the claims of one study, at its scale, by what was found."""
    theory = study.name.split("/")[0].replace("-", "_")
    scale, command = (str(results.attrs.get(name, "")) for name in ("scale", "command"))
    claims = claims_of(study, results)
    made = version(study) if claims else 0
    return [
        Row(
            theory, study.name, scale, claim, sizes(study), _found(claim, results), study.trials, study.seed,
            command, made, round(hours, 3),
        )
        for claim in claims
    ]  # fmt: skip


def _found(claim: Claim, results: xr.Dataset) -> int:
    """Count the trials behind a claim: what its known estimates say, else those that went well somewhere."""
    counts = [part.trials for part in claim.estimates if part.trials is not None]
    if counts:
        return min([count for count in counts if count], default=0)
    well = (results["status"] == "ok").transpose(..., "trial")
    return int(well.values.reshape(-1, well.sizes["trial"]).any(axis=0).sum())


def sizes(study: Study) -> str:
    """Say over what a study goes, and its fixed whole numbers.

    Examples
    --------
    >>> sizes(Study("demo/x", "a demo", "math:sqrt", axes={"x": [1, 2, 4]}, fixed={"d": 9, "name": "a"}))
    'x = 1 to 4 (3 values); d = 9'
    """
    axes = [f"{name} = {_span(values)}" for name, values in study.axes.items()]
    numbers = [
        f"{name} = {value}"
        for name, value in study.fixed.items()
        if isinstance(value, int) and not isinstance(value, bool)
    ]
    return "; ".join(part for part in (", ".join(axes), ", ".join(numbers)) if part)


def _span(values: Sequence[Any]) -> str:
    if isinstance(values[0], (str, bool)) or len(values) < 3:
        return ", ".join(map(short, values))
    return f"{short(min(values))} to {short(max(values))} ({len(values)} values)"


def version(study: Study) -> int:
    """Return the version of a study's problem, without building one (it may need images)."""
    made = registry.resolve(study.problem)
    maker = getattr(made, "__self__", made)  # a class method stands for its class
    if not hasattr(maker, "version"):
        maker = get_type_hints(made)["return"]
    return int(maker.version)


def save(rows: Sequence[Row], path: str | PathLike[str], command: str) -> Path:
    """Keep a table as a file: numbers, intervals, sizes, seeds, versions, command, hours.

    Its folder is made; `command` is what makes the file again.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read(save([], f"{folder}/none.json", "firstlight claims"))
    []
    """
    target = Path(path)
    spent = {row.study: row.hours for row in rows}
    made = {"command": command, "machine": machine(), "hours": round(sum(spent.values()), 3)}
    table = {**made, "rows": [row.plain() for row in rows]}
    # six digits: the file is for reading, and the last bits differ between processors
    text = json.dumps(plain(table, 6), indent=1, ensure_ascii=False, allow_nan=False)
    with replacing(target) as part:
        part.write_text(text + "\n", encoding="utf-8")
    return target


def read(path: str | PathLike[str]) -> list[Row]:
    """Read a table that `save` has kept."""
    table = json.loads(Path(path).read_text(encoding="utf-8"))
    return [_row(dict(one)) for one in table["rows"]]


def _row(one: dict[str, Any]) -> Row:
    numbers = ("value", "low", "high")
    parts: list[Estimate] = []
    for part in one.pop("estimates"):
        given: dict[str, Any] = {k: math.nan if v is None and k in numbers else v for k, v in part.items()}
        parts.append(Estimate(**given))
    text, verdict, evidence = one.pop("claim"), one.pop("verdict"), one.pop("evidence")
    said = Statement(text, *(one.pop(name) for name in ("source", "place", "estimand", "rule", "every")))
    return Row(claim=Claim(text, verdict.split(":")[0], evidence, said, tuple(parts)), **one)


def statements(study: Study) -> set[Statement]:
    """Return what the module of a study's claims states, in variables and in dictionaries of its own.

    Examples
    --------
    >>> said = statements(registry.study("unseen-classes/operator-norm"))
    >>> "operator norms are of order √n + √d, whatever the mean" in {one.text for one in said}
    True
    """
    if study.claims is None:
        return set()
    module = vars(sys.modules[registry.resolve(study.claims, "claims").__module__])
    groups = [list(one.values()) if isinstance(one, dict) else [one] for one in list(module.values())]
    return {one for group in groups for one in group if isinstance(one, Statement)}


def stale(rows: Iterable[Row]) -> list[str]:
    """Say which rows no longer speak of what is installed.

    Each must have the version, the sizes and the number of trials of its study, a statement that its theory
    makes, and the verdict that its own numbers give.

    Returns
    -------
    list of str
        One line for each study and reason; empty if the table speaks of what is installed.
    """
    known, lines = registry.studies(), dict[str, None]()
    for row in rows:
        if row.study not in known:
            lines[f"{row.study}: there is no such study"] = None
            continue
        study = known[row.study].at(row.scale)
        for what, kept, now in (
            ("version", row.version, version(study)),
            ("trials", row.planned, study.trials),
            ("sizes", row.sizes, sizes(study)),
            ("verdict", row.claim.verdict, judged(row.claim.statement, row.claim.estimates).verdict),
        ):
            if kept != now:
                lines[f"{row.study}: made with {what} {kept}, it is {now}"] = None
        if row.claim.statement not in statements(study):
            lines[f"{row.study}: nothing states {row.claim.text!r} by that rule any more"] = None
    return list(lines)
