"""Multi-index data: Gaussian inputs whose label depends on a few hidden directions only."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.linear_forms import linear_forms
from firstlight.data.parser import Formula
from firstlight.maths.checks import check_count, check_memory, check_number, check_orthonormal
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import refusal, shown
from firstlight.maths.rng import RNGLike, SeedLike, generator

_PROBES = 4096


class MultiIndexSample(NamedTuple):
    """What `MultiIndex.sample` draws.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Inputs, independent standard normals.
    y : ndarray of shape (n,)
        Labels, noise included.
    z : ndarray of shape (n, k)
        The hidden coordinates, ``X @ directions``.
    directions : ndarray of shape (d, k)
        The hidden directions, orthonormal columns.
    """

    X: np.ndarray
    y: np.ndarray
    z: np.ndarray
    directions: np.ndarray


@dataclass(frozen=True, eq=False)
class MultiIndex(ByValue):
    """Labels ``target(z) + noise * normal`` of inputs x ~ N(0, I_d), with hidden coordinates z = Θᵀx in R^k.

    Parameters
    ----------
    target : str or callable
        A text of z1, ..., z9 (see `Formula`), or a function that maps an array of shape (..., k) to one of
        shape (...). It must be finite on normal samples; a single bad point, as in ``1/z1``, does no harm.
    directions : int, optional
        k, number of hidden directions, at least 1. For a text, the highest index that it uses unless a larger
        one is given; for a function it must be given.
    noise : float, default 0.0
        Standard deviation of the normal noise on the label, at least 0.

    Examples
    --------
    >>> data = MultiIndex("z1*z2 + sign(z3)", noise=0.1)
    >>> data.directions
    3
    >>> drawn = data.sample(5, 20, rng=0)
    >>> drawn.X.shape, drawn.y.shape, drawn.z.shape, drawn.directions.shape
    ((5, 20), (5,), (5, 3), (20, 3))
    >>> MultiIndex(lambda z: z[..., 0] * z[..., 1], directions=2).law(np.array([2.0, 3.0]))
    array(6.)
    """

    target: str | Callable[[np.ndarray], np.ndarray]
    directions: int = 0
    noise: float = 0.0

    def __post_init__(self) -> None:
        k, least = self.directions, 1
        unset = isinstance(k, (int, np.integer)) and k == 0 and k is not False
        if isinstance(self._law, Formula):
            least = self._law.arity
            object.__setattr__(self, "target", self._law.text)
            object.__setattr__(self, "directions", least if unset else k)
        elif not callable(self.target):
            raise refusal("target", self.target, "be a text of z1, ..., z9 or a function")
        elif unset:
            raise ValueError("directions = 0: must be given with a function as target")
        check_count("directions", self.directions, least)
        check_memory(f"directions = {self.directions}", 16.0 * _PROBES * self.directions, "directions")
        check_number("noise", self.noise, 0)
        object.__setattr__(self, "directions", int(self.directions))
        object.__setattr__(self, "noise", float(self.noise))
        bad = np.count_nonzero(
            ~np.isfinite(self.law(np.random.default_rng(0).standard_normal((_PROBES, self.directions))))
        )
        if bad:
            raise ValueError(
                f"target = {self.expression}: not finite at {bad} of {_PROBES} normal samples; "
                "a target must be finite everywhere but on a null set"
            )

    @cached_property
    def _law(self) -> Callable[[np.ndarray], np.ndarray]:
        return Formula(self.target) if isinstance(self.target, str) else self.target

    @property
    def expression(self) -> str:
        """The target's text, or its function's name."""
        text = self.target if isinstance(self.target, str) else getattr(self.target, "__name__", None)
        return text or repr(self.target)

    @property
    def linear_forms(self) -> np.ndarray | None:
        """Unit vectors (k, f) of which a target that is given as a text is a function; None for others.

        Examples
        --------
        >>> MultiIndex("sign(3*z1 + 4*z2)", directions=3).linear_forms.ravel().tolist()
        [0.6000, 0.8000, 0.0000]
        """
        if not isinstance(self._law, Formula):
            return None
        forms = np.array(linear_forms(self._law.tree, self.directions)).reshape(-1, self.directions)
        forms = forms / np.abs(forms).max(axis=1, keepdims=True, initial=0.0)
        return (forms / np.linalg.norm(forms, axis=1, keepdims=True)).T

    def __str__(self) -> str:
        return f"y = {self.expression}" + (f" + {self.noise:g} noise" if self.noise else "")

    def law(self, z: ArrayLike) -> np.ndarray:
        """Evaluate the target, without noise.

        Parameters
        ----------
        z : array_like of shape (..., k)
            Hidden coordinates.

        Returns
        -------
        ndarray of shape (...)

        Examples
        --------
        >>> MultiIndex("max(z1, z2)").law([[1.0, 2.0], [5.0, -1.0]])
        array([2., 5.])
        """
        z = np.asarray(z, dtype=float)
        if z.ndim == 0 or z.shape[-1] != self.directions:
            raise ValueError(f"z: shape {z.shape}, expected (..., {self.directions})")
        with np.errstate(all="ignore"):
            try:
                values = np.asarray(self._law(z))
            except Exception as error:
                raise ValueError(
                    f"target = {self.expression}: fails on an array of shape {z.shape} ({shown(error)})"
                ) from error
        if values.shape != z.shape[:-1] or values.dtype.kind not in "biuf":
            raise ValueError(
                f"target = {self.expression}: gave {values.dtype} values of shape {values.shape} "
                f"for z of shape {z.shape}; expected real values of shape {z.shape[:-1]}"
            )
        return values.astype(float)

    def sample(
        self,
        samples: int,
        dimension: int,
        rng: RNGLike | SeedLike = None,
        directions: ArrayLike | None = None,
    ) -> MultiIndexSample:
        """Draw inputs and labels.

        Parameters
        ----------
        samples : int
            n, at least 1.
        dimension : int
            d, at least `directions`.
        rng : SPEC 7 rng, optional
            Seed or generator.
        directions : array_like of shape (d, k), optional
            Orthonormal columns Θ; uniformly random if not given.

        Returns
        -------
        MultiIndexSample
            X, y, z and the directions.

        Examples
        --------
        >>> drawn = MultiIndex("z1").sample(3, 2, rng=0, directions=[[1.0], [0.0]])
        >>> bool((drawn.y == drawn.X[:, 0]).all())
        True
        """
        k = self.directions
        n, d = check_count("samples", samples), check_count("dimension", dimension, k)
        check_memory(f"samples = {n}, dimension = {d}", 8.0 * d * (n + 3 * k), "samples × dimension")
        rng = generator(rng)
        if directions is None:
            q, r = np.linalg.qr(rng.standard_normal((d, k)))
            theta = q * np.sign(np.diag(r))  # the signs make the law uniform (Haar)
        else:
            theta = check_orthonormal("directions", directions, (d, k))
        X = rng.standard_normal((n, d))
        z = X @ theta
        y = self.law(z)
        if not np.isfinite(y).all():
            raise ValueError(
                f"target = {self.expression}: not finite at a drawn sample; its tails are too heavy"
            )
        if self.noise:
            y = y + self.noise * rng.standard_normal(n)
        return MultiIndexSample(X, y, z, theta)
