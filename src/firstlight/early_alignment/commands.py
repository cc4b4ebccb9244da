"""`firstlight animate`: a moving picture; `firstlight align`: neurons on a file of your own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from firstlight.early_alignment.theory.own_data import Course

app = typer.Typer()


@app.command()
def animate(
    file: Annotated[Path, typer.Argument(help="The GIF to write.")],
    width: Annotated[int, typer.Option(min=1, help="Number of neurons.")] = 50,
    scale: Annotated[float, typer.Option(help="Standard deviation of the weights at the start.")] = 1e-6,
    horizon: Annotated[float, typer.Option(help="Last time; the loss has fallen by about 40.")] = 60.0,
    frames: Annotated[int, typer.Option(min=2, max=10_000, help="Number of pictures.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the start.")] = 0,
) -> None:
    """Train a small network on two arcs in the plane and write how its neurons turn, then grow."""
    import math

    from firstlight.early_alignment import Problem
    from firstlight.early_alignment.figures import animate
    from firstlight.maths.checks import check_number

    if file.suffix.lower() != ".gif":
        raise ValueError(f"file = {file}: must end in .gif")
    check_number("scale", scale, above=0, below=1)
    problem = Problem(
        data="toy", start="gaussian", reduction="mean", width=width, log_scale=math.log(scale),
        step_size=5e-3, horizon=horizon, observations=frames,
    )  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    results = problem.simulate(seed, method="descent", neurons=True)
    typer.echo(f"wrote {animate(file, results, *problem.draw(seed)[:2], frames=frames)}")


@app.command()
def align(
    file: Annotated[Path, typer.Argument(help="csv, tsv, npz or parquet with features and labels.")],
    labels: Annotated[str, typer.Option(help="Column (or array) of the labels.")],
    without: Annotated[
        list[str] | None, typer.Option(help="Leave this column out: texts, dates, identifiers. Repeatable.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="One class; by default the second of two.")] = None,
    negative: Annotated[str | None, typer.Option(help="The other; by default the first of two.")] = None,
    most: Annotated[int, typer.Option(min=2, help="At most so many rows of a class.")] = 100,
    centre: Annotated[bool, typer.Option(help="Subtract the mean row.")] = True,
    width: Annotated[int, typer.Option(min=1, max=10_000, help="Number of neurons.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the start.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say where each neuron of a small start goes on two classes of a file, and when: exact to rounding."""
    import json

    import numpy as np

    from firstlight.data.files import load
    from firstlight.early_alignment.problem import Problem
    from firstlight.early_alignment.theory.own_data import course, pair_cosines

    table = load(file, labels, without=without or ())
    one, two = _two(table.classes, positive, negative)
    names = np.array([str(name) for name in table.labels.tolist()])
    chosen = [np.flatnonzero(names == name)[:most] for name in (two, one)]
    signs = np.repeat([-1.0, 1.0], [len(part) for part in chosen])
    problem = Problem.from_data(table.features[np.concatenate(chosen)], signs, centre=centre, width=width)
    X, y, W, v = problem.draw(seed)
    way = course(X, y, W, np.sign(v))
    rows, cosines = _neurons(way), pair_cosines(X, y)
    facts = {
        "positive": one, "negative": two, "rows": len(y), "mu": cosines.mu, "q10": cosines.q10,
        "violating_pairs": cosines.share, "time": way.time, "log_scale": way.log_scale, "neurons": rows,
    }  # fmt: skip
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(
        f"{one} (+) against {two} (-): {len(y)} rows; least cosine {cosines.mu:.3f}, nine pairs in ten above "
        f"{cosines.q10:.3f} ({cosines.word}), {cosines.share:.1%} of the pairs violate separability"
    )
    typer.echo(f"turned by t = {way.time:.4g} from a start of {np.exp(way.log_scale):.2e} or less\n")
    typer.echo(f"{'neuron':>6}{'sign':>6}{'fate':>14}{'arrives':>12}{'cos to +':>10}{'cos to -':>10}")
    for row in rows:
        last = "-" if row["time"] is None else f"{row['time']:.4g}"
        ends = "".join(f"{row[key]:>10.3f}" for key in ("cosine_plus", "cosine_minus"))
        typer.echo(f"{row['neuron']:>6}{row['sign']:>6}{row['fate']:>14}{last:>12}{ends}")


def _two(classes: "np.ndarray", positive: str | None, negative: str | None) -> tuple[str, str]:
    """Return the names of the two classes, as they are written in the file."""
    from firstlight.data.readers import listed
    from firstlight.maths.refusals import unknown

    names = [str(name) for name in classes.tolist()]
    if (positive is None or negative is None) and len(names) != 2:
        raise ValueError(f"positive, negative: name two of the {len(names)} classes: {listed(names)}")
    for field, name in (("positive", positive), ("negative", negative)):
        if name is not None and name not in names:
            raise unknown(field, name, names)
    if positive is not None and positive == negative:
        raise ValueError(f"negative = {negative!r}: must differ from positive")
    one = positive or next(name for name in reversed(names) if name != negative)
    return one, negative or next(name for name in names if name != one)


def _neurons(way: "Course") -> list[dict[str, Any]]:
    """One line for each neuron: its sign, where it ends, when, and how close to the classes' centres."""
    import numpy as np

    from firstlight.early_alignment.definitions.alignment import cosines

    path, ends = way.path, way.ends()
    near = [cosines(ends, path.X[path.y == sign].sum(axis=0)) for sign in (1, -1)]
    words = {1: "exactly +", -1: "exactly -", 0: "dead"}
    times = np.where(path.fate == 0, path.death_time, path.time_to_cosine(0.01))
    return [
        {
            "neuron": j, "sign": "+" if way.signs[j] > 0 else "-",
            "fate": words.get(int(fate), "nearest +" if near[0][j] >= near[1][j] else "nearest -"),
            "time": float(times[j]) if np.isfinite(times[j]) else None,
            "cosine_plus": float(near[0][j]), "cosine_minus": float(near[1][j]),
        }
        for j, fate in enumerate(path.fate)
    ]  # fmt: skip
