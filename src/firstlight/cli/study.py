"""`firstlight study`: list, run, status, show, figure, export."""

import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import xarray as xr

    from firstlight.study.schedule import Outcome
    from firstlight.study.store import Store
    from firstlight.study.sweep import Study

app = typer.Typer(
    name="study",
    help="Sweeps that survive: run, resume, look at and export studies of the catalogue or of your own.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="A study of the catalogue, or the path of a TOML file.")]
StorePath = Annotated[Path, typer.Option("--store", help="The SQLite file that holds the records.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
ScaleName = Annotated[str, typer.Option("--scale", help="quick or paper, or another scale of the study.")]
Trials = Annotated[int | None, typer.Option("--trials", min=1, help="Trials per point, instead of its own.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="The seed, instead of its own.")]
STORE = Path("out/study.sqlite")


def legible(command: Callable[..., None]) -> Callable[..., None]:
    """Turn what a user can cause into one line on standard error and exit code 2."""

    @wraps(command)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda text, *_, **__: typer.echo(f"warning: {text}", err=True)
                command(*arguments, **options)
        except BrokenPipeError:  # whoever reads our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (typer.Exit, typer.Abort):
            raise
        except (ValueError, OSError, RuntimeError) as error:
            if isinstance(error, (RecursionError, NotImplementedError)):  # our fault: show where
                raise
            typer.echo(f"error: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
            raise typer.Exit(130) from None

    return guarded


@contextmanager
def resumable() -> Iterator[None]:
    """After Ctrl-C, say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("stopped; every finished trial is kept. To resume, give the same command again:", err=True)
        typer.echo(f"  {shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])}", err=True)
        raise typer.Exit(130) from None


def _study(name: str, scale: str, trials: int | None, seed: int | None) -> "Study":
    from firstlight.study import registry
    from firstlight.study.toml import read_study

    study = read_study(name) if name.endswith(".toml") else registry.study(name)
    given: dict[str, Any] = {"trials": trials, "seed": seed}
    return replace(study.at(scale), **{name: value for name, value in given.items() if value is not None})


@contextmanager
def _stored(study: "Study", scale: str, path: Path) -> "Iterator[tuple[Store, xr.Dataset]]":
    from firstlight.study.run import dataset
    from firstlight.study.store import Store

    with Store(path) as store:
        yield store, dataset(study, store, scale=scale)


def _tell_missing(results: "xr.Dataset", err: bool) -> None:
    if missing := int((results["status"] == "missing").sum()):
        typer.echo(f"{missing} records are missing; run: {results.attrs['command']}", err=err)


@app.command("list")
@legible
def list_(as_json: AsJson = False) -> None:
    """Print the names of the catalogue, one line each, with the cost at each scale (seconds on one core)."""
    from firstlight.study.dry_run import costs
    from firstlight.study.problem import duration
    from firstlight.study.registry import studies

    rows: list[dict[str, Any]] = []
    timed = costs()
    for study in studies().values():
        row: dict[str, Any] = {"name": study.name, "description": study.description, "scales": {}}
        try:
            for scale in dict.fromkeys(("quick", *study.scales)):
                at, seconds = study.at(scale), timed.get(study.name, {}).get(scale)
                row["scales"][scale] = {"points": at.size, "records": at.records, "seconds": seconds}
        except Exception as error:  # of a plug-in; its other studies, and everybody else's, are listed
            row["error"] = f"{type(error).__name__}: {error}"
        rows.append(row)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        said = [
            f"{scale}: {size['records']} records"
            + (f", {duration(size['seconds'])}" if size["seconds"] is not None else "")
            for scale, size in row["scales"].items()
        ]
        said = [f"cannot be built: {row['error']}"] if "error" in row else said
        typer.echo(f"{row['name']:{width}}  {row['description']} ({'; '.join(said)})")


@app.command()
@legible
def run(
    name: Name,
    scale: ScaleName = "quick",
    trials: Trials = None,
    seed: Seed = None,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Local processes; default: one per core.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask scheduler.")] = None,
    store: StorePath = STORE,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for another writer.")] = 5.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how long, how much memory.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Run even more than a million records.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute what is missing of a study; run it again to resume, with more trials to extend."""
    from firstlight.study.dry_run import guard
    from firstlight.study.engines import engine
    from firstlight.study.run import advance
    from firstlight.study.schedule import Bar
    from firstlight.study.store import Store
    from firstlight.study.trial import check

    study = _study(name, scale, trials, seed)
    check(study)
    if dry_run:
        _dry_run(study, _study(name, "quick", trials, seed), store, workers, as_json)
        return
    guard(study, force, workers)
    with resumable(), Store(store, write=True, wait=wait) as opened:
        machine = engine(workers, cluster)
        with Bar(study) as bar:
            outcome = advance(study, opened, machine, scale=scale, tell=bar)
        _report(study, scale, opened, outcome, as_json)
    if not outcome.ok:
        raise typer.Exit(1)


def _dry_run(study: "Study", small: "Study", path: Path, workers: int | None, as_json: bool) -> None:
    from firstlight.study.dry_run import dry_run
    from firstlight.study.store import Store

    with Store(path) if path.exists() else nullcontext() as store:
        forecast = dry_run(study, store, workers, small)
    typer.echo(json.dumps(asdict(forecast), indent=2) if as_json else f"{study.name}: {forecast}")


def _report(study: "Study", scale: str, store: "Store", outcome: "Outcome", as_json: bool) -> None:
    from firstlight.show.summary import conclusions
    from firstlight.study.run import dataset

    results = dataset(study, store, scale=scale)
    if as_json:
        said = {"study": study.name, "scale": scale, **asdict(outcome), **conclusions(study, results)}
        typer.echo(json.dumps({**said, "fingerprint": results.attrs["fingerprint"]}, indent=2))
        return
    done = f"{outcome.computed} computed, {outcome.kept} kept, {outcome.failed} failed"
    typer.echo(f"{study.name} ({scale}): {done} in {outcome.seconds:.1f} s, in {store.path}")
    if outcome.deaths:
        typer.echo(f"{outcome.deaths} workers died; their trials were done again", err=True)
    for message in outcome.messages:
        typer.echo(f"failed: {message}", err=True)
    _conclude(study, results)


def _conclude(study: "Study", results: "xr.Dataset") -> None:
    """Print the verdict, and each published claim with what decided it."""
    from firstlight.show.summary import conclusions

    said = conclusions(study, results)
    typer.echo(said["verdict"])
    for claim in said["claims"]:
        typer.echo(f"claim {claim['verdict']}: {claim['text']}\n    {claim['evidence']}")


@app.command()
@legible
def status(store: StorePath = STORE, as_json: AsJson = False) -> None:
    """Say what the store holds, and what is going on in it."""
    from firstlight.study.store import Store

    with Store(store) as opened:
        counts, runs, health = opened.counts(), {run["study"]: run for run in opened.runs()}, opened.check()
    rows = []
    for study, (ok, failed, seconds) in sorted({**dict.fromkeys(runs, (0, 0, 0.0)), **counts}.items()):
        last = runs.get(study, {})
        state = last.get("outcome") or ("running" if _alive(last) else "killed; run again to resume")
        rows.append({"study": study, "results": ok, "failures": failed, "seconds": seconds, "state": state,
                     "scale": last.get("scale"), "started": last.get("started")})  # fmt: skip
    if as_json:
        typer.echo(json.dumps({"store": str(store), "integrity": health, "studies": rows}, indent=2))
    else:
        for row in rows:
            counted = f"{row['results']} results, {row['failures']} failures, {row['seconds']:.1f} s of work"
            latest = f"last run {row['started']} ({row['scale']}): {row['state']}"
            typer.echo(f"{row['study']}: {counted}; {latest}")
        typer.echo(f"{store}: integrity {health}")
    if health != "ok":
        raise typer.Exit(1)


def _alive(last: dict[str, Any]) -> bool:
    import socket

    import psutil

    return last.get("host") != socket.gethostname() or psutil.pid_exists(int(last["process"]))


@app.command()
@legible
def show(
    name: Name,
    scale: ScaleName = "quick",
    trials: Trials = None,
    seed: Seed = None,
    store: StorePath = STORE,
    as_json: AsJson = False,
) -> None:
    """Print a study's numbers: means, standard errors, gaps, verdicts, failures, published claims."""
    from firstlight.show.pictures import plain
    from firstlight.show.summary import conclusions, table
    from firstlight.study.collect import failures

    study = _study(name, scale, trials, seed)
    with _stored(study, scale, store) as (opened, results):
        failed = failures(study, opened)
    frame = table(study, results)
    if as_json:
        rows = plain(frame.to_dict("records"), 17)
        said = {"attrs": results.attrs, "rows": rows, "failures": failed, **conclusions(study, results)}
        typer.echo(json.dumps(said, indent=2))
        return
    typer.echo(f"{study.name} ({scale}): {study.description}")
    numbers = frame.to_string(index=False, float_format="{:.4g}".format, na_rep="-")
    typer.echo(numbers if len(frame) else "nothing")
    for failure in failed[:20]:
        where = ", ".join(f"{axis} = {value!r}" for axis, value in failure["point"].items())
        typer.echo(f"failed: {failure['arm']}, trial {failure['trial']} at {where}: {failure['message']}")
    _tell_missing(results, err=False)
    _conclude(study, results)


@app.command()
@legible
def figure(
    name: Name,
    scale: ScaleName = "quick",
    trials: Trials = None,
    seed: Seed = None,
    store: StorePath = STORE,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path(
        "out/figures"
    ),
) -> None:
    """Draw a study: PNG, SVG and PDF, with the numbers as CSV beside them."""
    from firstlight.show.save import save

    study = _study(name, scale, trials, seed)
    with _stored(study, scale, store) as (_, results):
        for path in save(study, results, output):
            typer.echo(path)
        _tell_missing(results, err=True)


@app.command()
@legible
def export(
    name: Name,
    to: Annotated[str, typer.Option("--to", help="nc, parquet or csv.")] = "nc",
    scale: ScaleName = "quick",
    trials: Trials = None,
    seed: Seed = None,
    store: StorePath = STORE,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")] = None,
) -> None:
    """Write every trial of a study to a file: NetCDF (a Dataset), Parquet or CSV (one row per value)."""
    from firstlight.maths.files import check_apart
    from firstlight.show.summary import export as write

    study = _study(name, scale, trials, seed)
    if output is not None:
        check_apart("output", output, store, Path(name))
    with _stored(study, scale, store) as (_, results):
        typer.echo(write(study, results, to, output))
        _tell_missing(results, err=True)
