"""One table of all published claims: source, rule, numbers with intervals, sizes, verdict, command.

`rows` judges what a store holds; `save` and `read` keep the table as a compact file, which says of every row
by which version of its theory it was made.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_type_hints

import xarray as xr

from firstlight.maths.refusals import unknown
from firstlight.study import registry
from firstlight.study.claims import UNDECIDED, Claim, Estimate, Statement, claims_of
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
    trials, seed : int
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
    seed: int
    command: str
    version: int
    hours: float

    @property
    def verdict(self) -> str:
        """The verdict in words; where it is undecided, about how many more trials would decide."""
        factor = self.claim.trials_factor
        if self.claim.verdict != UNDECIDED or not math.isfinite(factor):
            return self.claim.verdict
        more = max(math.ceil(self.trials * (factor - 1)), 1)
        return f"{self.claim.verdict}: about {float(f'{more:.2g}'):,.0f} more trials"

    def plain(self) -> dict[str, Any]:
        """Return it as plain values for JSON; numbers that are not finite become null."""
        said = self.claim.statement
        shown = {name: value for name, value in vars(self).items() if name != "claim"}
        return {
            "claim": self.claim.text, "source": said.source, "place": said.place, "estimand": said.estimand,
            "rule": said.rule, "verdict": self.verdict, "evidence": self.claim.evidence,
            "estimates": [{k: _finite(v) for k, v in asdict(one).items()} for one in self.claim.estimates],
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
    chosen = [theory] if theory is not None else list(known)
    prefixes = tuple(f"{known[name].slug}/" for name in chosen)
    return [
        study
        for study in registry.studies().values()
        if study.claims is not None
        and study.name.startswith(prefixes)
        and (scale == "quick" or scale in study.scales)
    ]


def rows(store: Store, studies: Iterable[Study] | None = None, scale: str = "quick") -> list[Row]:
    """Judge the claims of studies by what a store holds of them; nothing is computed.

    Parameters
    ----------
    studies : iterable of Study, optional
        Default: those of all theories that make claims.
    scale : str, default "quick"

    Returns
    -------
    list of Row
        None of a study of which the store holds nothing.

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
    judged = []
    for study in claimed(scale=scale) if studies is None else studies:
        chosen = study.at(scale)
        judged += rows_of(chosen, dataset(chosen, store, scale=scale), seconds.get(study.name, 0) / 3600)
    return judged


def rows_of(study: Study, results: xr.Dataset, hours: float = 0.0) -> list[Row]:
    """Judge the claims of one study, at its scale, by what was found."""
    theory = study.name.split("/")[0].replace("-", "_")
    scale, command = (str(results.attrs.get(name, "")) for name in ("scale", "command"))
    claims = claims_of(study, results)
    made = version(study) if claims else 0
    return [
        Row(
            theory, study.name, scale, claim, sizes(study), study.trials, study.seed, command, made,
            round(hours, 3),
        )
        for claim in claims
    ]  # fmt: skip


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
        return ", ".join(map(_short, values))
    return f"{_short(min(values))} to {_short(max(values))} ({len(values)} values)"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def version(study: Study) -> int:
    """Return the version of a study's problem, without building one (it may need images)."""
    made = registry.resolve(study.problem)
    maker = getattr(made, "__self__", made)  # a class method stands for its class
    if not hasattr(maker, "version"):
        maker = get_type_hints(made)["return"]
    return int(maker.version)


def save(rows: Sequence[Row], path: str | PathLike[str], command: str) -> Path:
    """Keep a table as a file: numbers, intervals, sizes, seeds, versions, command, hours.

    Parameters
    ----------
    path : path_like
        Its folder is made.
    command : str
        What makes the file again.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read(save([], f"{folder}/none.json", "firstlight claims"))
    []
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    spent = {row.study: row.hours for row in rows}
    made = {"command": command, "machine": machine(), "hours": round(sum(spent.values()), 3)}
    table = {**made, "rows": [row.plain() for row in rows]}
    text = json.dumps(_rounded(table), indent=1, ensure_ascii=False, allow_nan=False)
    target.write_text(text + "\n", encoding="utf-8")
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
    said = Statement(text, *(one.pop(name) for name in ("source", "place", "estimand", "rule")))
    return Row(claim=Claim(text, verdict.split(":")[0], evidence, said, tuple(parts)), **one)


def stale(rows: Iterable[Row]) -> list[str]:
    """Say which rows were made by another version of their theory, or by a study that is no more.

    Returns
    -------
    list of str
        One line for each study; empty if the table speaks of what is installed.
    """
    known, lines = registry.studies(), dict[str, None]()
    for row in rows:
        if row.study not in known:
            lines[f"{row.study}: there is no such study"] = None
        elif row.version != (now := version(known[row.study])):
            lines[f"{row.study}: made by version {row.version}, it is {now}"] = None
    return list(lines)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _rounded(value: Any) -> Any:
    """Keep six digits: the file is for reading, and the last bits differ between processors."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
