"""`firstlight delta-alg`, `staircase`, `delta-nn`, `onset`: thresholds of a target typed as a text."""

import json
from typing import Annotated, Any

import typer

app = typer.Typer()
_ANY_TARGET = {"ignore_unknown_options": True}  # a target such as '-z1**2' is no option

Target = Annotated[
    str,
    typer.Argument(help="A function of z1, z2, ..., such as 'z1*z2 + sign(z3)'."),
]
Noise = Annotated[float, typer.Option(help="Standard deviation of the label's noise.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int, typer.Option(help="Seed of the quasi-Monte-Carlo points.")]


def _law(target: str, noise: float) -> Any:
    from firstlight.data.multi_index import MultiIndex

    return MultiIndex(target, noise=noise)


def _show(as_json: bool, facts: dict[str, Any], lines: list[str]) -> None:
    if as_json:
        typer.echo(json.dumps(_plain(facts), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(lines))


def _plain(value: Any) -> Any:
    """Turn arrays into lists, and what JSON has no word for into text or null."""
    import numpy as np

    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else str(value) if np.isinf(value) else float(value)
    return value


def _doubt(threshold: Any) -> str:
    return "" if threshold.converged else "; NOT converged"


def _refuse(error: Exception) -> typer.Exit:
    typer.echo(f"error: {error}", err=True)
    return typer.Exit(2)


@app.command("delta-alg", context_settings=_ANY_TARGET)
def delta_alg(target: Target, noise: Noise = 0.0, seed: Seed = 0, as_json: Json = False) -> None:
    """Print the samples per dimension that any known fast method needs to find a hidden direction."""
    from firstlight.phase_transition.theory.alg import delta_alg

    try:
        threshold = delta_alg(_law(target, noise), seed)
    except ValueError as error:
        raise _refuse(error) from None
    facts = {
        "target": target, "noise": noise, "delta_alg": threshold.value, "error": threshold.residual,
        "converged": threshold.converged, "route": threshold.route, "directions": threshold.directions,
        "easy": threshold.known,
    }  # fmt: skip
    lines = [
        f"delta_alg = {threshold.value:.6g} ± {threshold.residual:.2g}   "
        f"({threshold.route}{_doubt(threshold)})",
        f"directions learnt there: {threshold.directions.shape[1]}, easy before: {threshold.known.shape[1]}",
    ]
    _show(as_json, facts, lines)


@app.command("staircase", context_settings=_ANY_TARGET)
def staircase(
    target: Target,
    noise: Noise = 0.0,
    seed: Seed = 0,
    finite: Annotated[
        bool, typer.Option("--finite", help="Account for what is not yet known of one easy direction.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the order in which hidden directions can be learnt, with a threshold for each stage."""
    from firstlight.phase_transition.theory.staircase import staircase

    try:
        stages = staircase(_law(target, noise), seed, finite=finite)
    except ValueError as error:
        raise _refuse(error) from None
    facts = {
        "target": target, "noise": noise,
        "stages": [
            {name: getattr(stage, name) for name in ("directions", "threshold", "error", "reached_at")}
            for stage in stages
        ],
    }  # fmt: skip
    lines = [
        f"stage {i}: {s.directions.shape[1]} direction(s), threshold {s.threshold:.5g}, "
        f"reached at {s.reached_at:.5g}"
        for i, s in enumerate(stages, 1)
    ]
    _show(as_json, facts, lines)


Sigma = Annotated[str, typer.Option(help="Activation.")]
Head = Annotated[str, typer.Option(help="Second layer, numbers separated by commas.")]
Length = Annotated[float, typer.Option(help="Length of the first-layer rows at the start.")]
Penalty = Annotated[str, typer.Option(help="square or logistic.")]
Ridge = Annotated[float, typer.Option(help="Ridge penalty.")]
Offset = Annotated[float, typer.Option(help="Constant in the output.")]


def _student(
    activation: str, second_layer: str, init_scale: float, loss: str, ridge: float, offset: float
) -> Any:
    from firstlight.phase_transition.definitions import Student

    try:
        a = tuple(float(part) for part in second_layer.split(","))
    except ValueError:
        raise ValueError(f"second_layer = {second_layer!r}: expected numbers separated by commas") from None
    return Student(activation, a, init_scale, loss, ridge, offset)


Momentum = Annotated[float, typer.Option(help="Momentum, from 0 to below 1.")]
Nesterov = Annotated[bool, typer.Option("--nesterov", help="Take gradients where the momentum leads to.")]
Batch = Annotated[float, typer.Option(help="Share of the samples in each step.")]
Batches = Annotated[str, typer.Option(help="fresh, cyclic or one_pass.")]
Schedule = Annotated[
    str,
    typer.Option(help="constant, linear, cosine, inverse_sqrt, or a factor for each step, with commas."),
]


def _training(
    step_size: float | None, momentum: float, nesterov: bool, batch: float, batches: str, schedule: str
) -> Any:
    """Return the algorithm; None for plain gradient descent of a step that theory chooses."""
    from firstlight.phase_transition.definitions import Training

    if step_size is None:
        if (momentum, nesterov, batch, batches, schedule) == (0.0, False, 1.0, "fresh", "constant"):
            return None
        raise ValueError("step_size: give one beside momentum, batches or a schedule")
    try:
        factors = tuple(float(part) for part in schedule.split(","))
    except ValueError:
        factors = ()  # a name
    return Training(step_size, momentum, nesterov, batch, batches, schedule=factors or schedule)


@app.command("delta-nn", context_settings=_ANY_TARGET)
def delta_nn(
    target: Target,
    activation: Sigma = "tanh_squared",
    second_layer: Head = "1",
    init_scale: Length = 1.0,
    loss: Penalty = "square",
    ridge: Ridge = 0.0,
    offset: Offset = 0.0,
    step_size: Annotated[float | None, typer.Option(help="Step size; default: a stable one.")] = None,
    momentum: Momentum = 0.0,
    nesterov: Nesterov = False,
    batch: Batch = 1.0,
    batches: Batches = "fresh",
    schedule: Schedule = "constant",
    steps: Annotated[int, typer.Option(help="Steps of training to follow.")] = 128,
    criterion: Annotated[str, typer.Option(help="bbp+sign, bbp or block+sign.")] = "bbp+sign",
    draws: Annotated[int, typer.Option(help="Monte-Carlo draws of the theory.")] = 1 << 14,
    dimension: Annotated[
        int, typer.Option(help="Also tell where half of the descents in so many dimensions succeed.")
    ] = 0,
    noise: Noise = 0.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Print the samples per dimension above which gradient descent finds a hard direction."""
    from firstlight.phase_transition.finite_size import onset
    from firstlight.phase_transition.theory.delta_nn import delta_nn

    try:
        student = _student(activation, second_layer, init_scale, loss, ridge, offset)
        training = _training(step_size, momentum, nesterov, batch, batches, schedule)
        threshold = delta_nn(
            _law(target, noise), student, training, steps, criterion=criterion, draws=draws, rng=seed
        )
        sized = None
        if dimension:
            if training is None and not threshold.step_size > 0:
                raise ValueError("step_size: give one beside the dimension; the limit was found without any")
            sized = onset(
                _law(target, noise), student, training or threshold.step_size, dimension, steps,
                pilot_dimension=min(dimension, 200), rng=seed,
            )  # fmt: skip
    except ValueError as error:
        raise _refuse(error) from None
    facts = {
        "target": target, "delta_nn": threshold.value, "error": threshold.residual, "route": threshold.route,
        "converged": threshold.converged, "criterion": criterion, "delta_alg": threshold.delta_alg,
        "step_size": threshold.step_size, "times": threshold.times, "delta_nn_at_time": threshold.curve,
        "edge_at_time": threshold.edges,
        **({} if sized is None else {"finite_size": _onset_facts(sized, dimension, steps)}),
    }  # fmt: skip
    lines = [
        f"delta_NN = {threshold.value:.5g} ± {threshold.residual:.2g}   "
        f"({threshold.route}; a reconstruction{_doubt(threshold)})",
        f"delta_alg = {threshold.delta_alg:.5g}",
        *([] if sized is None else [_onset_line(sized, dimension, steps)]),
        *(
            f"  T = {t:4d}: {x:.4g}, bulk edge {z:.3g}"
            for t, x, z in zip(threshold.times, threshold.curve, threshold.edges, strict=True)
        ),
    ]
    _show(as_json, facts, lines)


@app.command("onset", context_settings=_ANY_TARGET)
def onset(
    target: Target,
    dimension: Annotated[int, typer.Option(help="Dimensions of the inputs.")] = 1000,
    steps: Annotated[int, typer.Option(help="Steps of training.")] = 100,
    activation: Sigma = "tanh_squared",
    second_layer: Head = "1",
    init_scale: Length = 1.0,
    loss: Penalty = "square",
    ridge: Ridge = 0.0,
    offset: Offset = 0.0,
    step_size: Annotated[float, typer.Option(help="Step size.")] = 0.25,
    momentum: Momentum = 0.0,
    nesterov: Nesterov = False,
    batch: Batch = 1.0,
    batches: Batches = "fresh",
    schedule: Schedule = "constant",
    level: Annotated[float, typer.Option(help="Squared cosine that counts as success.")] = 0.2,
    method: Annotated[str, typer.Option(help="pilot or theory.")] = "pilot",
    noise: Noise = 0.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Print the samples per dimension at which half of the descents of a size succeed."""
    from firstlight.phase_transition.finite_size import onset

    try:
        student = _student(activation, second_layer, init_scale, loss, ridge, offset)
        training = _training(step_size, momentum, nesterov, batch, batches, schedule)
        result = onset(
            _law(target, noise), student, training, dimension, steps, level=level, method=method, rng=seed
        )
    except ValueError as error:
        raise _refuse(error) from None
    facts = {"target": target, **_onset_facts(result, dimension, steps)}
    _show(as_json, facts, [_onset_line(result, dimension, steps)])


def _onset_facts(result: Any, dimension: int, steps: int) -> dict[str, Any]:
    return {
        "dimension": dimension, "steps": steps, "onset": result.value, "error": result.error,
        "route": result.route, "refused": result.refused, "freedom": result.freedom, **result.details,
    }  # fmt: skip


def _onset_line(result: Any, dimension: int, steps: int) -> str:
    if result.refused:
        return f"no onset is given: {result.refused}"
    size = f"{dimension} dimensions, {steps} steps"
    return f"onset = {result.value:.4g} ± {result.error:.2g} samples per dimension   ({result.route}; {size})"
