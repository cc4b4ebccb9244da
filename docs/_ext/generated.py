"""Pages that are written when the site is built: all commands, and all studies with what they cost."""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from firstlight.cli import app
from firstlight.study.dry_run import costs
from firstlight.study.registry import studies, theories


def leaves(command: Any, path: tuple[str, ...] = ("firstlight",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Walk through a group of commands, in its own order."""
    if hasattr(command, "commands"):
        for name, one in command.commands.items():
            yield from leaves(one, (*path, name))
    elif not command.hidden:
        yield path, command


def row(parameter: Any) -> list[str]:
    """Return an argument or option as a row of a table."""
    argument = parameter.param_type_name == "argument"
    name = parameter.name.upper() if argument else ", ".join(parameter.opts)
    default = "required" if parameter.required else parameter.default
    shown = "" if default in (None, False, "") or callable(default) else f"`{default}`"
    return [f"`{name}`", getattr(parameter, "help", None) or "", shown]


def commands() -> str:
    """Return the page of commands as Markdown."""
    lines = [
        "# Commands",
        "",
        "Every command has `--help`. This page is made from the commands themselves.",
        "",
    ]
    for path, command in leaves(typer.main.get_command(app)):
        lines += [f"## {' '.join(path)}", "", (command.help or "").strip(), ""]
        shown = [one for one in command.params if one.name != "help"]
        if shown:
            lines.append(table(["", "", "default"], [row(one) for one in shown]))
    return "\n".join(lines)


def seconds(value: float | None) -> str:
    """Return a time to read.

    Examples
    --------
    >>> seconds(30.0), seconds(5400.0), seconds(None)
    ('30 s', '1.5 h', '')
    """
    if value is None:
        return ""
    return (
        f"{value:g} s"
        if value < 120
        else f"{value / 60:.2g} min"
        if value < 3600
        else f"{value / 3600:.2g} h"
    )


def catalogue() -> str:
    """Return the page of studies as Markdown."""
    lines = [
        "# Studies", "",
        "Every study of the catalogue: `firstlight study run NAME`. Times are of one core, at the scales",
        "quick and paper, as `make costs` measured them; `--dry-run` measures them on your machine.", "",
    ]  # fmt: skip
    known = costs()
    titles = {theory.slug: theory.title for theory in theories().values()}
    for slug, members in groupby(studies().values(), key=lambda study: study.name.split("/")[0]):
        rows = []
        for study in members:
            times = [seconds(known.get(study.name, {}).get(scale)) for scale in ("quick", "paper")]
            rows.append([f"`{study.name}`", study.description, *times])
        lines += [
            f"## {titles.get(slug, slug)}",
            "",
            table(["study", "what it asks", "quick", "paper"], rows),
        ]
    return "\n".join(lines)


def table(head: list[str], rows: list[list[Any]]) -> str:
    """Return a table as Markdown; a bar within a cell ends none."""
    lines = [[str(cell).replace("|", r"\|") for cell in line] for line in [head, ["---"] * len(head), *rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


CLUSTER = {
    "efficiency": "efficiency", "kB": "kB a record", "driver ms": "driver, CPU ms",
    "scheduler ms": "scheduler, CPU ms", "worker ms": "worker, CPU ms",
}  # fmt: skip


def measured(folder: Path) -> dict[str, str]:
    """Return the tables of speed, of growth with size, of peers and of the laboratory, as measured."""
    rows = {
        name: json.loads((folder / f"{name}.json").read_text("utf-8"))["rows"]
        for name in ("performance", "two_threads", "scale", "workers", "peers", "laboratory")
    }
    growth = [
        [one["part"], f"{one['unit']}: " + ", ".join(map(str, one["sizes"])),
         ", ".join(map(str, one["seconds"])), ", ".join(map(str, one["megabytes"])),
         one["time exponent"], one["memory exponent"], one["load"]]
        for one in rows["scale"]
    ]  # fmt: skip
    cluster = [
        [one["workers"], f"{1e3 * one['delay']:g} ms", f"{one['trial']:g} s",
         *(f"{one[name]:g}" for name in CLUSTER), one["load"]]
        for one in rows["workers"]
    ]  # fmt: skip
    peers = [
        [
            one["part"],
            one["peer"],
            one["ours"],
            one["theirs"],
            one["times faster"],
            one["accuracy"],
            one["load"],
        ]
        for one in rows["peers"]
    ]
    felt = [
        [f"{one['part']}: {one['what']}", f"{one['measured']:g} {one['unit']}", one["target"],
         "met" if one["met"] else "**missed**", one["load"]]
        for one in rows["laboratory"]
    ]  # fmt: skip
    return {
        "laboratory": table(["what a reader waits for", "measured", "target", "", "load"], felt),
        **{name: _speed(rows[name]) for name in ("performance", "two_threads")},
        "scale": table(
            ["job", "sizes", "CPU s", "peak MB", "time ~ size^", "memory ~ size^", "load"], growth
        ),
        "workers": table(["workers", "delay each way", "a trial", *CLUSTER.values(), "load"], cluster),
        "peers": table(
            ["job", "instead", "ours, CPU s", "theirs", "times faster", "accuracy", "load"], peers
        ),
    }


def _speed(rows: list[dict[str, Any]]) -> str:
    lines = [
        [f"{one['part']}: {one['what']}", one["measured"], one["floor"], one["ratio"],
         one["target"], "met" if one["met"] else "**missed**", one["load"]]
        for one in rows
    ]  # fmt: skip
    return table(["benchmark", "measured", "floor", "ratio", "target", "", "load"], lines)


def own_data(result: dict[str, Any]) -> str:
    """Return the table of what `firstlight diagnose` predicted and measured for known data."""

    def first(one: dict[str, Any] | None) -> list[str]:
        if one is None:
            return ["–"] * 3
        inside = one["low"] <= one["measured"] <= one["high"]
        interval = f"{one['predicted']} [{one['low']}, {one['high']}]"
        return [interval, f"{one['measured']} ± {one['error']}", "yes" if inside else "**no**"]

    rows = [
        [
            f"{one['set']}: {one['data']}",
            ", ".join(f"{name} {word}" for name, word in one["speaks"].items() if word != "no") or "none",
            *first(one["first"]),
            f"{one['agree']} of {one['predictions'] - len(one['unchecked'])}",
            one["load"],
        ]
        for one in result["rows"]
    ]
    heads = ["data", "theories that speak", "error predicted", "measured", "held?", "all that agree", "load"]
    about = f"{result['seconds']:g} s a set, {result['cores']} cores, commit {result['commit']}"
    return f"{table(heads, rows)}\n{about}; load: processes that waited for a core.\n"


def onsets(found: dict[str, Any]) -> str:
    """Return the table of where half of the descents succeed, beside what `onset` says."""

    def cell(one: dict[str, Any] | None) -> str:
        if one is None:
            return ""
        return f"refused: {one['refused']}" if one["refused"] else f"{one['value']:.3g} ± {one['error']:.1g}"

    parts = list(dict.fromkeys(part for row in found.values() for part in row))
    return table(
        ["model", *parts], [[name, *(cell(row.get(part)) for part in parts)] for name, row in found.items()]
    )


def checked(made: dict[str, Any]) -> str:
    """Return the tables of theory beside networks, one for each theory."""
    parts = [f"Made by `{made['command']}`.\n"]
    heads = ["problem", "observable", "trials", "points", "mean gap", "largest gap"]
    for name, members in groupby(made["rows"], key=lambda row: row["theory"]):
        rows = [
            [one["what"], f"`{one['observable']}`", one["trials"],
             ", ".join(f"{count} {word}" for word, count in one["verdicts"].items()),
             f"{one['mean_gap']:.1%}", f"{one['largest_gap']:.1%}"]
            for one in members
        ]  # fmt: skip
        parts.append(f"## {theories()[name].title}\n\n{table(heads, rows)}")
    return "\n".join(parts)


PROMISES = {
    "one_step": "a random problem ends in numbers with a flag, or in a refusal that names a field",
    "early_alignment": "the same", "phase_transition": "the same", "unseen_classes": "the same",
    "expressions": "a mangled formula is read or refused", "files": "a mangled file is read or refused",
    "studies": "a mangled study in TOML is read or refused",
    "bits": "a flipped bit in a store never gives another value",
    "kills": "a run that is killed resumes to the same bits",
    "phases": "a run that is killed at any statement to its store, or just after, does so too",
    "disk": "a run whose disk is full says so and resumes to the same bits",
    "writes": "any other file whose disk is full is told by name; the old one stays, and no part is left",
    "drivers": "of drivers on one store one writes, and the bits are the same",
    "clocks": "a clock that jumps by days changes no bit",
    "clusters": "a run whose Dask scheduler, workers or driver are killed resumes to the same bits",
    "visitors": "the laboratory answers every one of sixteen readers at once, and its memory stays",
    "fetches": "fetches at once, cut off, corrupted or killed leave a whole set or none",
}  # fmt: skip


def campaigns(result: dict[str, Any]) -> str:
    """Return the page of campaigns as Markdown."""
    about = (
        "# Campaigns\n\nLong runs that look for faults; `make campaign` goes on with them. The table counts "
        "tries and failures as they were logged; what they found was mended afterwards, but for two descents "
        "of millions of steps, which are not drawn any more. What a seed stands for has changed with what "
        "is drawn.\n\n"
    )
    rows = [
        [
            f"`{name}`",
            promise,
            one["tries"],
            one["failures"],
            ", ".join(f"{low} to {high}" for low, high in one["seeds"]),
            one["version"],
        ]
        for name, promise in PROMISES.items()
        for one in [result.get(name, {"tries": 0, "failures": 0, "seeds": [], "version": "not run"})]
    ]
    return about + table(["", "promise", "tries", "failures", "seeds", "version"], rows)


def write(sphinx: Sphinx) -> None:
    """Write each page, unless it is there already as it would be."""
    pages = {"reference/commands.md": commands(), "reference/studies.md": catalogue()}
    answer = json.loads(Path(sphinx.srcdir, "measured", "campaigns.json").read_text("utf-8"))
    pages["reference/campaigns.md"] = campaigns(answer)
    kept = Path(sphinx.srcdir, "measured")
    pages |= {f"measured/{name}.md": text for name, text in measured(kept).items()}
    pages["measured/diagnosis.md"] = own_data(json.loads((kept / "diagnosis.json").read_text("utf-8")))
    pages["measured/checks.md"] = checked(json.loads((kept / "checks.json").read_text("utf-8")))
    pages["measured/onset.md"] = onsets(json.loads((kept / "onset.json").read_text("utf-8")))
    for name, text in pages.items():
        file = Path(sphinx.srcdir, name)
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
