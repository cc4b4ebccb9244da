"""Gradient descent of a two-layer network's first layer on multi-index data, with what it learns recorded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from firstlight.maths.activations import Activation
from firstlight.maths.checks import check_count, check_matrix, check_number, check_orthonormal
from firstlight.maths.losses import Loss
from firstlight.maths.rng import RNGLike, SeedLike, generator


@dataclass(frozen=True)
class Network:
    """f(x) = offset + Σ_j a_j σ(w_j·x), of which only the rows w_j are trained.

    Attributes
    ----------
    activation : Activation
        σ.
    second_layer : ndarray of shape (m,)
        a.
    loss : Loss
        l(y, f).
    ridge : float
        λ of the penalty λ/2 Σ_j |w_j|².
    offset : float
        Added to the output.
    """

    activation: Activation
    second_layer: np.ndarray
    loss: Loss
    ridge: float = 0.0
    offset: float = 0.0

    def output(self, X: np.ndarray, W: np.ndarray) -> np.ndarray:
        """f(x) of each row of X; W has shape (d, m)."""
        h = np.concatenate([X[part] @ W for part in _blocks(X)])
        return self.offset + self.activation(h) @ self.second_layer

    def gradient(self, X: np.ndarray, y: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Return the gradient of the mean loss plus penalty in W, shape (d, m)."""
        total = np.zeros(W.shape[::-1])
        for part in _blocks(X):  # each block of rows is used twice while in the cache: one pass over X
            h = X[part] @ W
            f = self.offset + self.activation(h) @ self.second_layer
            force = self.loss.first(y[part], f)[:, None] * (self.second_layer * self.activation.derivative(h))
            total += force.T @ X[part]
        return total.T / len(y) + self.ridge * W


def _blocks(X: np.ndarray) -> list[slice]:
    """Cut the rows of X into blocks of about 1 MB."""
    rows = max(8, (1 << 17) // X.shape[1])
    return [slice(first, first + rows) for first in range(0, len(X), rows)]


@dataclass(frozen=True)
class DescentPath:
    """What a descent recorded, at the steps `times`.

    Attributes
    ----------
    times : ndarray of shape (r,)
    train_loss, test_loss : ndarray of shape (r,)
        Mean losses, without the penalty.
    train_error, test_error : ndarray of shape (r,)
        Shares of samples with sign f ≠ sign y.
    gram : ndarray of shape (r, m, m)
        WᵀW.
    overlap : ndarray of shape (r, m, k)
        w_j·θ_a.
    weights : ndarray of shape (r, d, m)
        W.
    """

    times: np.ndarray
    train_loss: np.ndarray
    test_loss: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray
    gram: np.ndarray
    overlap: np.ndarray
    weights: np.ndarray


def orthogonal_rows(d: int, m: int, scale: float, rng: RNGLike | SeedLike = None) -> np.ndarray:
    """Draw W of shape (d, m) with orthogonal columns of length `scale`, uniformly.

    Examples
    --------
    >>> W = orthogonal_rows(5, 2, 0.5, rng=0)
    >>> bool(np.allclose(W.T @ W, 0.25 * np.eye(2)))
    True
    """
    check_count("d", d)
    check_count("m", m)
    check_number("scale", scale, 0)
    if m > d:
        raise ValueError(f"m = {m}: at most d = {d} rows can be orthogonal")
    q, r = np.linalg.qr(generator(rng).standard_normal((d, m)))
    return scale * q * np.sign(np.diag(r))


def descend(
    network: Network,
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    start: np.ndarray,
    directions: np.ndarray,
    step_size: float,
    steps: int,
    *,
    times: Sequence[int] | None = None,
    held: np.ndarray | None = None,
    batch: int | None = None,
    until: Callable[[np.ndarray], bool] | None = None,
    rng: RNGLike | SeedLike = None,
) -> DescentPath:
    """Run gradient descent on the first layer.

    Parameters
    ----------
    network : Network
        What is trained.
    train, test : (X, y)
        Samples to train on, and to test on.
    start : ndarray of shape (d, m)
        Initial first layer.
    directions : ndarray of shape (d, k)
        Hidden directions Θ, for the record only.
    step_size : float
        η, positive.
    steps : int
        Number of steps.
    times : sequence of int, optional
        Steps to record; by default all. Empty only with `until`.
    held : ndarray of shape (d, ·), optional
        Orthonormal directions along which W is kept at zero.
    batch : int, optional
        Samples per step, drawn afresh without replacement; by default all of them.
    until : callable, optional
        Asked of W at each step; the descent ends where it holds. Its last step is then always recorded.
    rng : SPEC 7 rng, optional
        Draws the batches.

    Returns
    -------
    DescentPath

    Examples
    --------
    >>> from firstlight import MultiIndex, activation
    >>> from firstlight.maths.losses import loss
    >>> drawn = MultiIndex("sign(abs(z1) - 1.48)").sample(60, 20, rng=0)
    >>> network = Network(activation("tanh_squared"), np.ones(1), loss("square"))
    >>> W = orthogonal_rows(20, 1, 0.8, rng=1)
    >>> path = descend(network, (drawn.X, drawn.y), (drawn.X, drawn.y), W, drawn.directions, 0.25, 20)
    >>> bool(path.train_loss[-1] < path.train_loss[0])
    True
    """
    check_number("step_size", step_size, 0)
    if step_size == 0:
        raise ValueError(f"step_size = {step_size!r}: must be a positive number")
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
        raise ValueError(f"steps = {steps!r}: must be an integer of at least 0")
    kept = set(range(steps + 1)) if times is None else _kept(times, steps, until is None)
    W, directions = check_matrix("start", start).copy(), check_matrix("directions", directions)
    shape = len(W), np.size(network.second_layer)
    if W.shape != shape or len(directions) != len(W):
        raise ValueError(f"start: shape {W.shape}, directions: {directions.shape}; expected {shape}, (d, k)")
    X, y = train = _samples("train", train, len(W))
    test = _samples("test", test, len(W))
    if batch is not None:
        check_count("batch", batch, 1, len(y))
    rng, record = generator(rng), []
    if held is not None:
        held = check_orthonormal("held", held, (len(W), np.size(held) // len(W)))
        W -= held @ (held.T @ W)
    for t in range(steps + 1):
        last = t == steps or (until is not None and until(W))
        if t in kept or (last and until is not None):
            record.append((t, *_observe(network, train, test, W, directions)))
        if last:
            break
        rows = slice(None) if batch is None else rng.choice(len(y), batch, replace=False)
        W = W - step_size * network.gradient(X[rows], y[rows], W)
        if held is not None:
            W -= held @ (held.T @ W)
        if not np.abs(W).max() < 1e6:
            raise ValueError(f"step_size = {step_size}: gradient descent diverges at step {t + 1}")
    return DescentPath(*(np.array(column) for column in zip(*record, strict=True)))


def _kept(times: Sequence[int], steps: int, some: bool) -> set[int]:
    at = np.asarray(times)
    whole = at.ndim == 1 and (at.dtype.kind in "iu" if at.size else not some)
    if not whole or not ((at >= 0) & (at <= steps)).all():
        raise ValueError(f"times = {times!r}: must be integers in 0 .. {steps}; none only with until")
    return set(at.tolist())


def _samples(name: str, data: tuple[np.ndarray, np.ndarray], d: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = check_matrix(f"{name} inputs", data[0]), np.asarray(data[1])
    if X.shape[1] != d or y.shape != X.shape[:1]:
        raise ValueError(f"{name}: shapes {X.shape}, {y.shape}; expected (n, {d}), (n,)")
    return X, check_matrix(f"{name} labels", y[:, None])[:, 0]


def _observe(network: Network, train: tuple, test: tuple, W: np.ndarray, directions: np.ndarray) -> tuple:
    outputs = [(y, network.output(X, W)) for X, y in (train, test)]
    losses = [float(network.loss.value(y, f).mean()) for y, f in outputs]
    errors = [float((np.sign(f) != np.sign(y)).mean()) for y, f in outputs]
    return *losses, *errors, W.T @ W, W.T @ directions, W.copy()
