"""`firstlight animate`: the early alignment of a small network in the plane, as a moving picture."""

from pathlib import Path
from typing import Annotated

import typer

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

    if file.suffix.lower() != ".gif":
        raise ValueError(f"file = {file}: must end in .gif")
    if not 0 < scale < 1:
        raise ValueError(f"scale = {scale}: must lie in (0, 1)")
    problem = Problem(
        data="toy", start="gaussian", reduction="mean", width=width, log_scale=math.log(scale),
        step_size=5e-3, horizon=horizon, observations=frames,
    )  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    found = problem.simulate(seed, method="descent", neurons=True)
    typer.echo(f"wrote {animate(file, found, *problem.draw(seed)[:2], frames=frames)}")
