"""Fixed points, roots with their residual and whether they converged, and extreme eigenpairs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from firstlight.maths.checks import check_memory, check_positive
from firstlight.maths.shown import Shown

Value = TypeVar("Value")


@dataclass(frozen=True)
class Solved(Shown, Generic[Value]):
    """What an iterative solver found, and how far to trust it.

    Attributes
    ----------
    value : float or ndarray
        The solution, or the last iterate where `converged` is False.
    residual : float
        How far `value` is from solving the problem, in the solver's own measure; at least 0.
    iterations : int
        Steps, or evaluations of the user's function, that were spent.
    converged : bool
        Whether the residual met the tolerance.

    Examples
    --------
    >>> Solved(2.0, 0.0, 3, True).require()
    2.0
    """

    value: Value
    residual: float
    iterations: int
    converged: bool

    def require(self) -> Value:
        """Return the value, or raise `RuntimeError` if the solver did not converge."""
        if not self.converged:
            raise RuntimeError(f"not converged: residual {self.residual:.3g} after {self.iterations} steps")
        return self.value


class Mixing:
    """Anderson's acceleration of x → x + gap(x): the next x from the last seven steps.

    Where a gap is twice the one before, the steps are forgotten: what follows is plain iteration again.

    Examples
    --------
    >>> x, mixing = np.array([1.0, 1.0]), Mixing()
    >>> for _ in range(8):
    ...     x = mixing(x, np.cos(x) - x)
    >>> x.tolist()
    [0.739085, 0.739085]
    """

    def __init__(self) -> None:
        self._steps: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, x: np.ndarray, gap: np.ndarray) -> np.ndarray:
        """Return the next point, from a point (N,) and its gap (N,)."""
        if self._steps and np.abs(gap).max() > 2 * np.abs(self._steps[-1][1]).max():
            self._steps = []
        self._steps = [*self._steps[-6:], (x, gap)]
        points, gaps = (np.diff(np.array(part), axis=0) for part in zip(*self._steps, strict=True))
        share = np.linalg.lstsq(gaps.T, gap, rcond=1e-10)[0] if len(gaps) else np.zeros(0)
        return x + gap - share @ (points + gaps)


def bracketing_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    tolerance: float = 1e-12,
) -> Solved[float]:
    """Find the root of a continuous function between two points where its sign differs (Brent's method).

    Parameters
    ----------
    function : callable
        Maps a float to a float.
    low, high : float
        The bracket, ``low < high``; ``function`` must change sign on it.
    tolerance : float, default 1e-12
        Relative width of the final bracket; after 200 steps without it ``converged`` is False.

    Returns
    -------
    Solved
        `residual` is ``|function(value)|``.

    Examples
    --------
    >>> root = bracketing_root(lambda x: x * x - 2, 0, 2)
    >>> root.value, root.converged
    (1.414214, True)
    """
    from scipy.optimize import brentq  # here: what only asks for `Solved` starts 0.2 s sooner

    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"low = {low}, high = {high}: need finite numbers with low < high")
    check_positive("tolerance", tolerance)
    at_low, at_high = float(function(low)), float(function(high))
    if np.isnan(at_low) or np.isnan(at_high) or at_low * at_high > 0:
        raise ValueError(
            f"low = {low}, high = {high}: the function is {at_low:.6g} and {at_high:.6g} there, "
            "and needs opposite signs"
        )
    value, report = brentq(
        function, low, high, xtol=1e-300, rtol=max(tolerance, 4 * np.finfo(float).eps),
        maxiter=200, full_output=True, disp=False,
    )  # fmt: skip
    residual = abs(float(function(value)))
    return Solved(float(value), residual, report.function_calls + 3, bool(report.converged))


def extreme_eigh(
    operator: Any, count: int, which: Literal["SA", "LA"], start: np.ndarray, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest ("SA") or highest ("LA") eigenpairs of a symmetric operator, ascending.

    By Lanczos's method; where ARPACK gives up, as on a zero operator, from the dense matrix. ARPACK takes
    eigenvalues below 4e-11 for zero when it asks whether they have converged, so it is given an operator
    whose eigenvalues are of order one: divided by a power of two, which changes no digit.

    Parameters
    ----------
    operator : LinearOperator, shape (n, n)
    count : int
        How many, less than n.
    which : {"SA", "LA"}
    start : ndarray, shape (n,)
        Starting vector.
    **options
        Of `scipy.sparse.linalg.eigsh`.

    Returns
    -------
    values : ndarray, shape (count,)
    vectors : ndarray, shape (n, count)

    Examples
    --------
    >>> from scipy.sparse.linalg import LinearOperator
    >>> zero = LinearOperator((4, 4), matvec=lambda v: 0 * v, dtype=float)
    >>> extreme_eigh(zero, 1, "LA", np.ones(4))[0].tolist()
    [0.0]
    """
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackError, aslinearoperator, eigsh

    size = float(np.abs(operator @ start).max() / np.abs(start).max())
    unit = 2.0 ** np.clip(np.round(np.log2(size)), -1000, 1000) if 0 < size < np.inf else 1.0
    try:
        values, vectors = eigsh(
            aslinearoperator(operator) * (1 / unit), k=count, which=which, v0=start, **options
        )
    except ArpackError:
        n = operator.shape[0]
        check_memory(f"operator: ARPACK fails, and the matrix of size {n}", 24.0 * n**2, "size²")
        first = 0 if which == "SA" else n - count
        return eigh(operator @ np.eye(n), subset_by_index=(first, first + count - 1))
    order = np.argsort(values)
    return unit * values[order], vectors[:, order]
