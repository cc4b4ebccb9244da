"""The `Activation`: σ, σ', σ'' and their Gaussian integrals."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.activations import duals
from firstlight.maths.equality import ByValue
from firstlight.maths.hermite import coefficients_and_square
from firstlight.maths.quadrature import rule

Function = Callable[[np.ndarray], np.ndarray]
Three = tuple[np.ndarray, np.ndarray, np.ndarray]

_AGREE = 1e-2  # of the root mean square; where two rules differ by more, both soon are noise


@dataclass(frozen=True, eq=False)
class Activation(ByValue):
    """An activation function σ with the Gaussian integrals that the theories need.

    Build one with `firstlight.activation`. Expectations are exact where a closed form exists, and otherwise
    split quadrature with errors near rounding.

    Attributes
    ----------
    name : str
        Its name.
    function, first, second : callable
        σ, σ' and σ'', vectorised.
    kinks : tuple of float
        Where σ or one of its derivatives jumps. There `derivative` takes the limit from the left.
    closed_dual, closed_dual_derivative : callable or None
        Closed forms of `dual` and `dual_derivative`.
    mixture_dual, mixture_dual_derivative : callable or None
        Sums of hundreds of closed forms, for those pairs that need a long series.
    together : callable or None
        All of σ, σ' and σ'' for less than one after the other.
    references : tuple of str
        What to cite for the closed forms.

    Examples
    --------
    >>> import firstlight
    >>> relu = firstlight.activation("relu")
    >>> relu(np.array([-1.0, 2.0])).tolist(), relu.derivative(np.array([-1.0, 0.0, 2.0])).tolist()
    ([0.0, 2.0], [0.0, 0.0, 1.0])
    >>> (relu.hermite(2) * np.sqrt(2 * np.pi)).tolist()
    [1.0000, 1.253314, 1.0000]
    """

    name: str
    function: Function = field(repr=False)
    first: Function = field(repr=False)
    second: Function = field(repr=False)
    kinks: tuple[float, ...] = ()
    closed_dual: duals.Dual | None = field(default=None, repr=False)
    closed_dual_derivative: duals.Dual | None = field(default=None, repr=False)
    references: tuple[str, ...] = field(default=(), repr=False)
    mixture_dual: duals.Dual | None = field(default=None, repr=False, metadata={"later": True})
    mixture_dual_derivative: duals.Dual | None = field(default=None, repr=False, metadata={"later": True})
    together: Callable[[np.ndarray], Three] | None = field(default=None, repr=False, metadata={"later": True})

    def __call__(self, z: ArrayLike) -> np.ndarray:
        """σ(z), element by element."""
        return self.function(np.asarray(z, float))

    def __reduce__(self) -> tuple:
        from firstlight.maths.activations.factory import activation, is_built_in  # they need this class first

        return (activation, (self.name,)) if is_built_in(self) else super().__reduce__()  # type: ignore

    def derivative(self, z: ArrayLike) -> np.ndarray:
        """σ'(z); at a kink the limit from the left, so that ReLU'(0) = 0."""
        return self.first(np.asarray(z, float))

    def second_derivative(self, z: ArrayLike) -> np.ndarray:
        """σ''(z) away from the kinks: the point masses of a kinked σ (ReLU: one at 0) are not in it."""
        return self.second(np.asarray(z, float))

    @cached_property
    def kinked(self) -> bool:
        """Whether σ or σ' jumps somewhere: at a named kink, or at one within ±40 that was not named.

        At a jump second differences over their step do not shrink with the step.
        """
        if self.kinks:
            return True
        z = np.arange(-40.0, 40.0, 1e-3)
        bend = [np.abs(self(z + e) - 2 * self(z) + self(z - e)).max() / e for e in (1e-3, 1e-2)]
        return bool(bend[0] > 0.3 * bend[1] and bend[0] > 1e-8 * np.ptp(self(z)))

    def moments(self, mean: ArrayLike, std: ArrayLike, degree: int) -> np.ndarray:
        """Compute E[σ(mean + std z) He_j(z)], j = 0..degree.

        Parameters
        ----------
        mean, std : float or array_like, broadcast to a common shape S
            Law of the pre-activation; ``std >= 0``.
        degree : int
            Highest j.

        Returns
        -------
        ndarray, shape S + (degree + 1,)

        Examples
        --------
        >>> import firstlight
        >>> square = firstlight.activation("quadratic")
        >>> square.moments(1.0, 2.0, 2).tolist()  # (1 + 2z)² = 5 + 4z + 4(z² - 1)
        [5.0000, 4.0000, 8.0000]
        """
        return self.moments_and_square(mean, std, degree)[..., :-1]

    def moments_and_square(self, mean: ArrayLike, std: ArrayLike, degree: int) -> np.ndarray:
        """Compute `moments` and, as the last one, `mean_square`: both for the price of one."""
        return coefficients_and_square(
            self.function, degree, mean=np.asarray(mean, float), std=np.asarray(std, float), kinks=self.kinks
        )

    def resolved(self, mean: ArrayLike, std: ArrayLike, *, closed: bool = False, order: int = 10) -> bool:
        """Tell whether E σ and E σ² are resolved: another rule finds them to 1 % of their size.

        Not so where σ turns many times within a standard deviation; integrals over pairs are noise there too.

        Parameters
        ----------
        mean, std : float or array_like, broadcast to a common shape S
            Laws of the pre-activations.
        closed : bool, default False
            Whether, if all means are 0 and there is a closed form of `dual`, that serves in place of E σ².
        order : int, default 10
            Nodes of each piece of the other rule: half as many, on the safe side where integrals over
            pairs are asked for, too.

        Examples
        --------
        >>> import firstlight
        >>> [firstlight.activation("cos").resolved(0.0, std) for std in (1.0, 1e3)]
        [True, False]
        """
        mean, std = np.broadcast_arrays(np.asarray(mean, float), np.asarray(std, float))
        z, w = rule(mean, std, self.kinks, order=order)
        values = self(mean[..., None] + std[..., None] * z)
        fine = self.moments_and_square(mean, std, 0)
        other = np.stack([np.vecdot(w, values), np.vecdot(w, values**2)], axis=-1)
        square = np.maximum(fine[..., -1], 1e-8 * fine[..., -1].max(initial=1e-292))  # some may be next to 0
        gap = np.abs(other - fine) - _AGREE * np.sqrt(square)[..., None] ** [1, 2]
        alone = closed and self.closed_dual is not None and not mean.any()
        return bool((gap[..., :1] if alone else gap).max(initial=-1.0) <= 0)

    def hermite(self, degree: int, scale: ArrayLike = 1.0) -> np.ndarray:
        """Compute the Hermite coefficients E[σ(scale·z) He_j(z)], j = 0..degree, not divided by j!.

        Parameters
        ----------
        degree : int
            Highest j.
        scale : float or array_like of shape S, default 1
            Standard deviation of the pre-activation.

        Returns
        -------
        ndarray, shape S + (degree + 1,)

        Examples
        --------
        >>> import firstlight
        >>> firstlight.activation("He_3").hermite(3).tolist()
        [0.0000, 0.0000, 0.0000, 6.0000]
        """
        return self.moments(0.0, scale, degree)

    def mean_square(self, mean: ArrayLike, std: ArrayLike) -> np.ndarray:
        """Compute E[σ(mean + std z)²], element by element."""
        return self.moments_and_square(mean, std, 0)[..., -1]

    def second_moment(self, scale: ArrayLike = 1.0) -> np.ndarray:
        """Compute E[σ(scale·z)²].

        Examples
        --------
        >>> import firstlight
        >>> float(firstlight.activation("relu").second_moment(2.0))
        2.0000
        """
        return self.mean_square(0.0, scale)

    def dual(self, q: ArrayLike, q_prime: ArrayLike, c: ArrayLike) -> np.ndarray:
        """Compute E[σ(u) σ(v)] for centred normals u, v.

        Parameters
        ----------
        q, q_prime, c : float or array_like, broadcast to a common shape S
            Var u, Var v and Cov(u, v); ``c**2 <= q * q_prime``.

        Returns
        -------
        ndarray, shape S

        Examples
        --------
        >>> import firstlight
        >>> float((firstlight.activation("relu").dual(1, 1, [0.0, 1.0]) * 2 * np.pi)[0])
        1.0000
        """
        forms = self.closed_dual, self.mixture_dual
        return duals.evaluate(self.function, self.kinks, forms, q, q_prime, c)

    def dual_derivative(self, q: ArrayLike, q_prime: ArrayLike, c: ArrayLike) -> np.ndarray:
        """Compute E[σ'(u) σ'(v)], with arguments as in `dual` and σ' as in `derivative`.

        Examples
        --------
        >>> import firstlight
        >>> float(firstlight.activation("relu").dual_derivative(1, 1, 0.0))
        0.2500
        """
        forms = self.closed_dual_derivative, self.mixture_dual_derivative
        return duals.evaluate(self.first, self.kinks, forms, q, q_prime, c)
