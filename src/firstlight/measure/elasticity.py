"""How much training moves the features of a class, and how far one update at a point reaches (He and Su)."""

from typing import Literal, Protocol

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.labelled import MEMORY, labelled, row_chunks
from firstlight.maths.checks import check_array, check_matrix, check_positive
from firstlight.maths.refusals import check_choice


def elasticity(
    features_before: ArrayLike, features_after: ArrayLike, labels: ArrayLike, *, memory: int = MEMORY
) -> xr.DataArray:
    """Mean squared movement of the features, E|F(x) - F0(x)|², for every class.

    Parameters
    ----------
    features_before, features_after : array_like, shape (n, d)
        F0 and F at the same samples.
    labels : array_like, shape (n,)
        The class of each sample.
    memory : int, default 256 MB
        Bytes that may be held beside the input.

    Returns
    -------
    DataArray, dims ("class",)
        Summed over the d features; divide by d for the movement per neuron.

    Examples
    --------
    >>> elasticity([[0, 0], [1, 1]], [[1, 2], [1, 1]], ["moved", "still"]).values.tolist()
    [5.0, 0.0]
    """
    data = labelled(features_after, labels)
    before = check_matrix("features_before", features_before)
    if before.shape != data.features.shape:
        raise ValueError(
            f"features_before: shape {before.shape}, but features_after has {data.features.shape}"
        )
    moved = np.empty(len(before))
    with np.errstate(over="ignore"):  # refused below
        for part in row_chunks(len(before), 16 * before.shape[1], memory):
            difference = data.features[part].astype(float) - before[part]
            moved[part] = np.einsum("ij,ij->i", difference, difference)
        mean = np.bincount(data.index, moved) / data.counts
    if not np.isfinite(mean).all():
        raise ValueError("features: the squares of their movements are beyond floating point; rescale them")
    return xr.DataArray(mean, {"class": data.classes}, name="elasticity")


class Trainable(Protocol):
    """What `local_elasticity` asks of a model with one output."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs f at the rows of x, shape (n,)."""
        ...

    def residual(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Minus the derivative of the loss in the output, at each row: shape (n,)."""
        ...

    def sgd(self, x: np.ndarray, y: np.ndarray, step_size: float) -> "Trainable":
        """Return the model after one gradient step on these samples, the loss averaged over them."""
        ...


def local_elasticity(
    model_or_kernel: Trainable | ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    kind: Literal["relative", "kernel"] = "kernel",
    step_size: float = 1e-4,
    symmetric: bool = False,
    normalised: bool = False,
) -> np.ndarray:
    """How strongly one update at a sample changes the output at another (He and Su, 2020).

    Parameters
    ----------
    model_or_kernel : model or array_like of shape (n, n)
        A model (see `Trainable`), which is updated once at each sample by a step of `step_size`; or its
        tangent kernel, which is what the updates tend to as the step vanishes.
    x, y : array_like, shapes (n, d) and (n,)
        Samples and targets; for a model only. A sample whose residual is zero does not move the model: its
        row is NaN.
    kind : {"kernel", "relative"}, default "kernel"
        S_ker(x, x') = -Δf(x') / (step · ∂loss/∂f(x)), or S_rel(x, x') = |Δf(x')| / |Δf(x)|.
    step_size : float, default 1e-4
        For a model only: small, so that the change is linear, yet far from rounding.
    symmetric : bool, default False
        Return (S + Sᵀ)/2.
    normalised : bool, default False
        Divide by sqrt(S(x, x) S(x', x')), after symmetrising.

    Returns
    -------
    ndarray, shape (n, n)
        Row: where the update was made; column: where it is felt.

    Examples
    --------
    >>> local_elasticity([[4.0, -1.0], [-1.0, 1.0]], kind="relative").tolist()
    [[1.0, 0.25], [1.0, 1.0]]
    >>> local_elasticity([[4.0, -1.0], [-1.0, 1.0]], normalised=True).tolist()
    [[1.0, -0.5], [-0.5, 1.0]]
    """
    check_choice("kind", kind, ("kernel", "relative"))
    if callable(model_or_kernel):
        if missing := [part for part in ("residual", "sgd") if not hasattr(model_or_kernel, part)]:
            raise ValueError(
                f"model_or_kernel: has no {missing[0]!r}; a model needs 'residual' and 'sgd' (see Trainable)"
            )
        score = _updates(model_or_kernel, x, y, step_size)
    else:
        if x is not None or y is not None:
            raise ValueError("x, y: only for a model; a kernel holds its samples already")
        score = check_matrix("model_or_kernel", model_or_kernel).astype(float)
        if score.shape[0] != score.shape[1]:
            raise ValueError(f"model_or_kernel: a kernel of shape {score.shape}; must be square")
    if kind == "relative":
        own = np.abs(np.diag(score))[:, None]
        score = np.divide(np.abs(score), own, out=np.full_like(score, np.nan), where=own > 0)
    if symmetric:
        score = (score + score.T) / 2
    if normalised:
        own = np.sqrt(np.abs(np.diag(score)))
        size = np.outer(own, own)
        score = np.divide(score, size, out=np.full_like(score, np.nan), where=size > 0)
    return score


def _updates(model: Trainable, x: ArrayLike | None, y: ArrayLike | None, step_size: float) -> np.ndarray:
    """S_ker by finite differences: one update per sample."""
    if x is None or y is None:
        raise ValueError("x, y: a model needs samples and targets")
    check_positive("step_size", step_size)
    samples = check_matrix("x", x)
    targets = check_array("y", y, (len(samples),))
    start = np.asarray(model(samples), float)
    if start.shape != targets.shape:
        raise ValueError(f"model: outputs of shape {start.shape}; one output per sample is needed")
    residual = np.asarray(model.residual(samples, targets), float)
    score = np.full((len(samples), len(samples)), np.nan)
    for i in np.flatnonzero(residual):
        moved = model.sgd(samples[i : i + 1], targets[i : i + 1], step_size)
        score[i] = (np.asarray(moved(samples), float) - start) / (step_size * residual[i])
    return score
