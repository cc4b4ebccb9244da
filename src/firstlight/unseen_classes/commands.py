"""`firstlight unseen`: which classes a network would tell apart without having seen them."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from firstlight.unseen_classes.choice import Choice

app = typer.Typer()
_ROWS = 10_000  # all of them meet all others
_PAIRS = 8  # lines of the table of pairs
CAVEATS = (
    "Predictions are for one gradient step of a wide two-layer network, not for a deep one trained for long.",
    "Alignment and elasticity follow the similarity |t|; Recall@1 does only for classes on opposite sides: "
    "rank it by its own prediction.",
    "Intervals tell what other samples of the same classes could give, not how far the theory may be off.",
)


@app.command()
def unseen(
    file: Annotated[Path, typer.Argument(help="npz, npy, csv or parquet with features and labels.")],
    labels: Annotated[str, typer.Option(help="Column (or array) of the labels; in npy files its number.")],
    without: Annotated[
        list[str] | None, typer.Option(help="Leave this column out: texts, dates, identifiers. Repeatable.")
    ] = None,
    classes: Annotated[
        str, typer.Option(help='Classes to train on, such as 3,8 or cat,"dog, small"; the rest is unseen.')
    ] = "",
    choose_for: Annotated[
        str, typer.Option(help="Instead of --classes: choose them such that these, unseen, are found again.")
    ] = "",
    strength: Annotated[float, typer.Option(help="Strength of the step: 0.25 weak, 4 strong.")] = 4.0,
    activation: Annotated[str, typer.Option(help="Activation of the hidden layer.")] = "shifted_relu",
    metric: Annotated[str, typer.Option(help="cosine, euclidean or inner.")] = "cosine",
    most: Annotated[
        int | None,
        typer.Option(help="At most so many samples of each class, at random: 500, or 10 000 in all."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Also train one network and compare.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Write a picture: png, svg or pdf.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is drawn.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict alignment, elasticity and Recall@1 of classes that would not be trained on."""
    import numpy as np

    from firstlight.data.unseen import split_classes, standardised
    from firstlight.unseen_classes import Step, choose_classes, simulate_classes
    from firstlight.unseen_classes.analysis import analyse

    choice = None
    try:
        if bool(classes) == bool(choose_for):
            raise ValueError("one of --classes and --choose-for must be given")
        rows = _read(file, labels, without or (), most, seed)
        step = Step(strength=strength, activation=activation, metric=metric, width=2048)  # type: ignore[arg-type]
        trained: list[Any] = _parts(classes)
        if choose_for:
            choice = choose_classes(*rows, _parts(choose_for), step=step, check=check, rng=seed)
            trained = list(choice.classes)
        data = standardised(split_classes(*rows, trained))
        results = analyse(data, step)
        measured = simulate_classes(data, step, np.random.default_rng(seed)) if check else None
        if figure is not None:
            _draw(results, figure)
    except (ValueError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    facts = _facts(results, measured, ",".join(map(str, trained)), len(data.train))
    if choice is not None:
        facts = {"choice": _choice(choice), **facts}
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    typer.echo("\n".join([*([f"{choice}\n"] if choice is not None else []), *_lines(facts)]))


def _choice(choice: "Choice") -> dict[str, Any]:
    sets = [
        {"classes": [str(c) for c in one], "predicted": predicted, "measured": measured}
        for one, predicted, measured in choice.random
    ]
    named = {name: [str(c) for c in getattr(choice, name)] for name in ("unseen", "classes")}
    numbers = {name: getattr(choice, name) for name in ("predicted", "measured", "raw", "queries")}
    return {**named, **numbers, "random": sets}


def _parts(text: str) -> list[str]:
    """Return names that stand between commas; a name with a comma has quotes."""
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), []) if part.strip()]


def _read(
    file: Path, labels: str, without: Sequence[str], most: int | None, seed: int
) -> tuple["np.ndarray", "np.ndarray"]:
    """Read rows and labels of a file; keep at most so many samples of each class."""
    import numpy as np

    from firstlight.data.files import load
    from firstlight.maths.checks import check_count

    if most is not None:
        check_count("most", most, 2)
    table = load(file, labels, without=without)
    rng = np.random.default_rng(seed)
    kept = [np.flatnonzero(table.labels == name) for name in np.unique(table.labels)]
    most = most or max(2, min(500, _ROWS // len(kept)))
    kept = [rows if len(rows) <= most else rng.choice(rows, most, replace=False) for rows in kept]
    chosen = np.sort(np.concatenate(kept))
    return table.features[chosen], table.labels[chosen]


def _draw(results: "xr.Dataset", path: Path) -> None:
    from firstlight.maths.files import replacing
    from firstlight.unseen_classes.figures import classes

    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"figure = {path}: must end in .png, .svg or .pdf")
    with replacing(path) as part:
        classes(results).savefig(part, format=path.suffix[1:].lower())


def _facts(
    results: "xr.Dataset", measured: "xr.Dataset | None", classes: str, samples: int
) -> dict[str, Any]:
    names = ("samples", "similarity", "cosine", "snr", "side", "alignment", "alignment_before", "elasticity",
             "recall", "recall_before")  # fmt: skip
    rows = []
    for place, name in enumerate(results["class"].values.tolist()):
        row = {"class": name} | {key: _plain(results[key].values[place]) for key in names}
        for key in ("similarity", "alignment", "elasticity", "recall"):
            row[f"{key}_interval"] = [_plain(v) for v in results[f"{key}_interval"].values[place]]
            row[f"{key}_rank"] = _plain(results[f"{key}_rank"].values[place])
        if measured is not None:
            row |= {f"{key}_measured": _plain(measured[key].values[place])
                    for key in ("alignment", "elasticity", "recall")}  # fmt: skip
        rows.append(row)
    pairs = [_pair(results, place) for place in range(results.sizes["pair"])]
    overall = {
        key: _plain(results[key].values) for key in ("tau", "mean_recall", "mean_recall_before", "excluded")
    }
    return {"trained": classes, "train_samples": samples, "level": results.attrs["level"], **overall,
            "classes": rows, "pairs": pairs, "summary": _summary(results, measured),
            "caveats": list(CAVEATS)}  # fmt: skip


def _pair(results: "xr.Dataset", place: int) -> dict[str, Any]:
    keys = ("same_side", "product", "distance", "pair_alignment", "pair_alignment_rank", "pair_recall",
            "pair_recall_rank", "pair_recall_before")  # fmt: skip
    row = {"pair": results["pair"].values[place].item()}
    row |= {key: _plain(results[key].values[place]) for key in keys}
    for key in ("pair_alignment", "pair_recall"):
        row[f"{key}_interval"] = [_plain(v) for v in results[f"{key}_interval"].values[place]]
    return row


def _plain(value: Any) -> Any:
    """Turn a NumPy scalar into what JSON knows; NaN and infinity become null and text."""
    import numpy as np

    plain = np.asarray(value).item()
    if isinstance(plain, float) and not np.isfinite(plain):
        return None if np.isnan(plain) else str(plain)
    return plain


def _summary(results: "xr.Dataset", measured: "xr.Dataset | None") -> list[str]:
    """Say in plain words what was found."""
    import numpy as np

    name = results["class"].values
    moved = np.abs(results["similarity"].values)
    change = results["alignment"].values - results["alignment_before"].values
    recall = results["recall"].values
    lines = [
        f"Class {name[moved.argmax()]} lies furthest along what the training classes teach, "
        f"{name[moved.argmin()]} least.",
        f"The step raises the alignment of {int((change > 0).sum())} of {len(name)} unseen classes.",
        f"Recall@1 over all unseen samples goes from {float(results['mean_recall_before']):.3f} to "
        f"{float(results['mean_recall']):.3f}.",
    ]
    if np.isfinite(recall).any():
        best, worst = np.nanargmax(recall), np.nanargmin(recall)
        lines.append(f"Easiest to retrieve: class {name[best]} ({recall[best]:.3f}); hardest: "
                     f"{name[worst]} ({recall[worst]:.3f}).")  # fmt: skip
    hardest = int(np.nanargmin(results["pair_recall"].values))
    where = "the same side" if bool(results["same_side"].values[hardest]) else "opposite sides"
    lines.append(f"The pair most easily confused is {results['pair'].values[hardest]}, on {where}.")
    if int(results["excluded"]):
        lines.append(
            f"Alone in their class, with nobody to find, and left out: {int(results['excluded'])} samples."
        )
    if measured is not None:
        gap = np.abs(results["alignment"].values - measured["alignment"].values)
        lines.append(f"One network of width 2048 was trained: alignment differs by {np.nanmean(gap):.3f} on "
                     f"average, its Recall@1 is {float(measured['mean_recall']):.3f}.")  # fmt: skip
    return lines


def _lines(facts: dict[str, Any]) -> list[str]:
    wide = max([len(str(row["class"])) + 2 for row in facts["classes"]] + [14])
    columns = (("class", -wide), ("n", 6), ("t", 9), ("rank", 6), ("SNR", 7), ("alignment", 22), ("rank", 5),
               ("elasticity", 12), ("rank", 5), ("Recall@1", 20), ("rank", 5))  # fmt: skip
    head = "".join(word.ljust(-width) if width < 0 else word.rjust(width) for word, width in columns)
    trained = f"trained on {facts['trained']} ({facts['train_samples']} samples)"
    lines = [f"{trained}; strength τ = {facts['tau']:.4g}", "", head]
    for row in facts["classes"]:
        lines.append(
            f"{row['class']!s:<{wide}}{row['samples']:>6}{_number(row['similarity']):>9}"
            f"{_number(row['similarity_rank'], 0):>6}{_number(row['snr'], 2):>7}"
            f"{_with_interval(row, 'alignment'):>22}{_number(row['alignment_rank'], 0):>5}"
            f"{_number(row['elasticity']):>12}{_number(row['elasticity_rank'], 0):>5}"
            f"{_with_interval(row, 'recall'):>20}{_number(row['recall_rank'], 0):>5}"
        )
    notes = [f"Note: {text}" for text in facts["caveats"]]
    return [*lines, "", *_pair_lines(facts["pairs"]), "", *facts["summary"], "", *notes]


def _pair_lines(pairs: list[dict[str, Any]]) -> list[str]:
    """Lay out the pairs that are most easily confused."""
    known = [row for row in pairs if row["pair_recall"] is not None]
    first = sorted(known, key=lambda row: row["pair_recall"])[:_PAIRS]
    wide = max([len(str(row["pair"])) for row in first] + [20])
    rest = f"; all {len(pairs)} with --json" if len(pairs) > len(first) else ""
    head = f"{'pair':<{wide}}{'side':>10}{'distance':>10}{'alignment':>22}{'Recall@1':>22}{'before':>8}"
    lines = [f"pairs, the most easily confused first{rest}", head]
    for row in first:
        side = "same" if row["same_side"] else "opposite"
        lines.append(
            f"{row['pair']:<{wide}}{side:>10}{_number(row['distance'], 2):>10}"
            f"{_with_interval(row, 'pair_alignment'):>22}{_with_interval(row, 'pair_recall'):>22}"
            f"{_number(row['pair_recall_before']):>8}"
        )
    return lines


def _number(value: float | str | None, digits: int = 3) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.{digits}f}"


def _with_interval(row: dict[str, Any], key: str) -> str:
    low, high = row[f"{key}_interval"]
    return f"{_number(row[key])} [{_number(low, 2)}, {_number(high, 2)}]"
