"""Put theory and experiment side by side, for a Problem of any theory, at one size or several."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from firstlight.maths.checks import check_count, check_number, check_positive
from firstlight.maths.drawing import Comparison
from firstlight.maths.refusals import check_flag, check_options, refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator, stream
from firstlight.study.judge import Rate, fit_rate, judge, trial_mean
from firstlight.study.problem import Problem, is_conditional
from firstlight.study.provenance import provenance


def compare(
    problem: Problem,
    trials: int = 8,
    rng: RNGLike | SeedLike = None,
    *,
    predict: Mapping[str, Any] | None = None,
    simulate: Mapping[str, Any] | None = None,
    paired: bool | None = None,
    tolerance: float = 0.05,
    absolute: float = 0.0,
    progress: bool = False,
) -> Comparison:
    """Predict, simulate a number of trials, and say whether they agree.

    Parameters
    ----------
    problem : Problem
        Of any theory.
    trials : int, default 8
        Experiments, each with its own random stream; eight give a standard error that is itself good to 27 %.
    rng : int, Generator, SeedSequence, BitGenerator or None
        The seed of all streams; from anything but an int one seed is drawn, and kept in ``attrs``.
    predict, simulate : mapping, optional
        Options of `predict` and `simulate`.
    paired : bool, optional
        Predict once per trial with that trial's own stream; the gap is then that of the paired differences.
        Default: where the theory speaks of what was drawn, and not of its average, as the Problem announces
        (see `firstlight.study.problem.is_conditional`). Such a theory, if it is not to be paired, is averaged
        over as many draws of its own, whose spread is counted.
    tolerance : float, default 0.05
        Relative gap up to which the verdict is "agrees".
    absolute : float, default 0.0
        Added to the allowed gap, for observables that are predicted to vanish.
    progress : bool, default False
        Show a bar over the trials, if the terminal can.

    Returns
    -------
    Comparison
        A Dataset that can draw itself (``.plot()``).
        For each observable ``o`` that both sides return: ``o`` (trials first), ``o_predicted``, ``o_mean``,
        ``o_sem``, ``o_z``, ``o_gap`` (relative, signed), ``o_gap_sem``, ``o_verdict`` and
        ``o_trials_needed`` (see `judge`), and ``o_predicted_sem`` if the prediction has an error of its own.
        ``attrs`` tell how to make it again.

    Examples
    --------
    >>> from firstlight.demo import Exponential
    >>> comparison = compare(Exponential(rate=2.0, samples=20_000), trials=8, rng=0)
    >>> float(comparison["mean_predicted"]), str(comparison["mean_verdict"].values), comparison["mean"].dims
    (0.5, 'agrees', ('trial',))
    """
    _check(problem, trials, paired, tolerance, absolute, progress)
    predict, simulate = check_options("predict", predict), check_options("simulate", simulate)
    seed = seed_of(rng)
    streams = [stream(seed, "trial", trial) for trial in range(trials)]
    shown = _bar(streams, trials) if progress else streams
    simulated = _stack([problem.simulate(each, **simulate) for each in shown])
    conditional = is_conditional(problem, predict)
    paired = conditional if paired is None else paired
    drawn = trials if paired or conditional else 0
    predicted = _predicted(problem, predict, seed, drawn, paired)
    comparison = _side_by_side(simulated, predicted, tolerance, absolute)
    options = {"predict": predict, "simulate": simulate, "paired": paired}
    settings = {"trials": trials, "tolerance": tolerance, "absolute": absolute, **options}
    call = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    command = f"firstlight.compare(problem, rng={seed}, {call})"
    attrs = provenance({"problem": problem, **settings}, seed, command)
    return Comparison(comparison.data_vars, comparison.coords, attrs)


def _check(
    problem: Any, trials: int, paired: bool | None, tolerance: float, absolute: float, progress: bool
) -> None:
    """Refuse, by name, what cannot be compared or is no option."""
    check_count("trials", trials, 1)
    check_positive("tolerance", tolerance)
    check_number("absolute", absolute, 0)
    check_flag("progress", progress)
    check_flag("paired", False if paired is None else paired)
    able = all(callable(getattr(problem, name, None)) for name in ("predict", "simulate"))
    if isinstance(problem, type) or not able:
        raise refusal("problem", problem, "be a Problem, with methods predict and simulate")


def _predicted(
    problem: Problem, options: Mapping[str, Any], seed: int, draws: int, paired: bool
) -> xr.Dataset:
    """Predict once where nothing is drawn; else for each trial's own draw, or in the mean over others."""
    if not draws:
        return converged_only(problem.predict(stream(seed, "predict"), **options))
    again = [stream(seed, "trial" if paired else "predict", trial) for trial in range(draws)]
    predicted = _stack([converged_only(problem.predict(each, **options)) for each in again])
    return predicted if paired else _averaged(predicted)


def seed_of(rng: RNGLike | SeedLike) -> int:
    """Return the one integer that stands for an `rng` argument; an int stands for itself."""
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    return int(generator(rng).integers(2**63))


def converged_only(predicted: xr.Dataset) -> xr.Dataset:
    """Blank what did not converge: observables are NaN where a prediction's variable ``converged`` is False.

    Examples
    --------
    >>> solved = xr.Dataset({"x": ("ridge", [1.0, 2.0]), "converged": ("ridge", [True, False])})
    >>> converged_only(solved)["x"].values.tolist()
    [1.0, nan]
    """
    if "converged" not in predicted:
        return predicted
    flag = predicted["converged"].astype(bool)
    blanked = {
        name: values.where(flag)
        for name, values in predicted.data_vars.items()
        if name != "converged" and set(flag.dims) <= set(values.dims) and values.dtype.kind in "iuf"
    }
    return predicted.assign(blanked)


def _stack(trials: list[xr.Dataset]) -> xr.Dataset:
    return xr.concat(trials, dim="trial", data_vars="all", coords="minimal", compat="override", join="exact")


def _averaged(draws: xr.Dataset) -> xr.Dataset:
    """Average a prediction over its draws, with standard errors."""
    numbers = {name: trial_mean(values) for name, values in draws.items() if values.dtype.kind in "iuf"}
    errors = {f"{name}_sem": sem for name, (_, sem) in numbers.items()}
    return xr.Dataset({name: mean for name, (mean, _) in numbers.items()} | errors)


def _side_by_side(
    simulated: xr.Dataset, predicted: xr.Dataset, tolerance: float, absolute: float
) -> xr.Dataset:
    """Judge what both have; shapes must be alike, or broadcasting would invent numbers."""
    names = [str(name) for name in simulated.data_vars if name in predicted.data_vars and name != "converged"]
    names = [name for name in names if simulated[name].dtype.kind in "biuf"]
    if not names:
        theirs, ours = list(predicted.data_vars), list(simulated.data_vars)
        raise ValueError(f"simulate returned {ours}, predict {theirs}: no observable in common")
    table = xr.Dataset()
    for name in names:
        values, theory = simulated[name], predicted[name]
        own = {dim: size for dim, size in theory.sizes.items() if dim != "trial"}
        if own != {dim: size for dim, size in values.sizes.items() if dim != "trial"}:
            both = f"simulate has {dict(values.sizes)}, predict {dict(theory.sizes)}"
            raise ValueError(f"observable {name}: {both}")
        table[name], table[f"{name}_predicted"] = values, theory
        error = None if "trial" in theory.dims else predicted.get(f"{name}_sem")
        if error is not None:
            table[f"{name}_predicted_sem"] = error
        for part, column in judge(values, theory, error, tolerance=tolerance, absolute=absolute).items():
            table[f"{name}_{part}"] = column
    return table


def _bar(items: Iterable[Any], total: int) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, "trials", total=total, console=console) if console.is_terminal else items


def scaling(
    make_problem: Callable[[int], Problem],
    sizes: int | Sequence[int],
    trials: int = 8,
    rng: RNGLike | SeedLike = None,
    **options: Any,
) -> xr.Dataset:
    """Run one comparison at several sizes and fit how its gap shrinks.

    Parameters
    ----------
    make_problem : callable
        Makes the Problem of a given size; what grows with the size is its own affair.
    sizes : int or sequence of int
        A single n stands for (n, 2n, 4n).
    trials : int, default 8
        Trials at each size.
    rng : int, Generator, SeedSequence, BitGenerator or None
        As in `compare`.
    **options
        Handed to `compare`.

    Returns
    -------
    xarray.Dataset
        What `compare` returns, along a dimension ``size``; and for each observable ``o`` the exponent
        ``o_rate``, its standard error ``o_rate_sem``, and ``o_rate_note`` in words.

    Examples
    --------
    >>> from firstlight.demo import Exponential
    >>> rates = scaling(lambda n: Exponential(samples=n), 3, trials=800, rng=1)
    >>> rates["size"].values.tolist(), str(rates["variance_rate_note"].values)
    ([3, 6, 12], 'gap ~ size^(-1.06 ± 0.18)')
    """
    chosen = [sizes, 2 * sizes, 4 * sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
    for size in chosen:
        check_count("sizes", size, 1)
    if len(set(chosen)) < 2:
        raise ValueError(f"sizes = {chosen}: must hold at least two different sizes")
    seed = seed_of(rng)
    runs = [compare(make_problem(size), trials, seed, **options) for size in chosen]
    joined = xr.concat(
        runs, xr.Variable("size", chosen), data_vars="all", coords="minimal", compat="override",
        join="exact", combine_attrs="drop",
    )  # fmt: skip
    for name in [str(name)[: -len("_gap")] for name in joined.data_vars if str(name).endswith("_gap")]:
        gap, noise = (joined[f"{name}_{part}"].transpose("size", ...) for part in ("gap", "gap_sem"))
        shape = gap.shape[1:]
        columns = zip(
            gap.values.reshape(len(chosen), -1).T, noise.values.reshape(len(chosen), -1).T, strict=True
        )
        rates = [fit_rate(chosen, *column) for column in columns]
        for part, values in _columns(rates).items():
            joined[f"{name}_{part}"] = (gap.dims[1:], np.reshape(values, shape))
    shown = {"sizes": chosen, "trials": trials, **options}
    command = f"firstlight.study.scaling(make_problem, {chosen}, trials={trials}, rng={seed})"
    return joined.assign_attrs(provenance(shown, seed, command))


def _columns(rates: Sequence[Rate]) -> dict[str, list[Any]]:
    return {
        "rate": [rate.slope for rate in rates],
        "rate_sem": [rate.sem for rate in rates],
        "rate_note": [rate.note for rate in rates],
    }
