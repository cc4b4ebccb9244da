"""The Problem: labelled data, a small start, and its two sides."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.files import load
from firstlight.data.separable import own_points
from firstlight.early_alignment.definitions.alignment import right_sign_fraction
from firstlight.early_alignment.definitions.setting import Setting
from firstlight.early_alignment.predictions import bound, exact, law, limit
from firstlight.early_alignment.runs import by_descent, by_flow
from firstlight.early_alignment.theory.bounds import bounds
from firstlight.early_alignment.theory.geometry import geometry
from firstlight.maths.checks import check_count
from firstlight.maths.refusals import check_choice, check_flag, check_instance, unknown
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.study.problem import Assumption, Cost

METHODS = ("exact", "limit", "rate", "law", "paper", "path", "sharp")


@dataclass(frozen=True, eq=False)
class Problem(Setting):
    """Early alignment on one law of data and one law of starts.

    The fields are those of `Setting`: data, samples, dimension, mu, separation, classes, start, width,
    log_scale, angle, loss, reduction, step_size, horizon, observations, log_times.

    Examples
    --------
    >>> problem = Problem(samples=10, dimension=4, width=20, horizon=3.0)
    >>> theory, experiment = problem.predict(rng=1), problem.simulate(rng=1)
    >>> float(theory.alignment_time), float(experiment.alignment_time)
    (0.588, 0.588)
    """

    theory: ClassVar[str] = "early_alignment"
    version: ClassVar[int] = 6
    references: ClassVar[tuple[str, ...]] = ("min2024early",)

    @classmethod
    def from_data(cls, X: ArrayLike, y: ArrayLike, *, centre: bool = True, **fields: Any) -> "Problem":
        """Build the problem of two classes of one's own rows.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Rows; brought to root mean square length one.
        y : array_like of shape (n,)
            Two classes; the second in order is labelled +1.
        centre : bool, default True
            Whether the mean row is subtracted, without which most real data are far from separable.
        **fields
            Other fields of `Setting`.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> problem = Problem.from_data(rng.normal(size=(30, 4)), np.arange(30) % 2, width=20)
        >>> problem.shape, problem.predict(rng=0).fate_plus.item() >= 0
        ((30, 4), True)
        """
        check_flag("centre", centre)
        return cls(data="own", own=own_points(X, y, centre), **fields)

    @classmethod
    def from_file(
        cls,
        file: str,
        labels: str,
        positive: str,
        negative: str,
        most: int = 100,
        centre: bool = True,
        **fields: Any,
    ) -> "Problem":
        """Build the problem of two classes of a file, so that studies in TOML may name it.

        Parameters
        ----------
        file, labels : str
            As in `firstlight.data.files.load`.
        positive, negative : str
            The two classes, as they are written in the file.
        most : int, default 100
            At most so many rows of each class, the first ones.
        centre, **fields
            As in `from_data`.
        """
        check_instance("file", file, str)
        table = load(file, labels)
        names = np.array([str(name) for name in np.asarray(table.labels).tolist()])
        if positive == negative:
            raise ValueError(f"negative = {negative!r}: must differ from positive")
        parts = [
            np.flatnonzero(names == name)[: check_count("most", most, 1)] for name in (negative, positive)
        ]
        for field, name, part in zip(("negative", "positive"), (negative, positive), parts, strict=True):
            if not len(part):
                raise unknown(field, name, np.unique(names).tolist())
        rows = np.concatenate(parts)
        y = np.repeat([-1.0, 1.0], [len(part) for part in parts])
        return cls.from_data(table.features[rows], y, centre=centre, **fields)

    def conditional(self, **options: Any) -> bool:
        """Say that `predict` speaks of the data and the start that `rng` draws."""
        return True

    def predict(
        self, rng: RNGLike | SeedLike = 0, *, method: str = "exact", neurons: bool = False
    ) -> xr.Dataset:
        """Theory's value of the observables.

        Parameters
        ----------
        rng : SPEC 7 rng, default 0
            Draws the data and the start.
        method : {"exact", "limit", "rate", "law", "paper", "path", "sharp"}
            The exact path in the limit ε → 0 (curves are NaN once outputs may have moved a neuron by 1%); the
            limits t → ∞ of the curves; the theorem's bound on the loss; the closed form for two points; or
            one of the three bounds on the alignment time. Bounds need orthogonally separable data and a
            balanced start so small that all neurons have provably settled before outputs matter; the
            theorem's own condition asks for more.
        neurons : bool, default False
            Whether the exact path keeps every neuron too, as `descent` does.

        Returns
        -------
        Dataset
            `converged` is False, and the values NaN, where the theory does not apply; of bounds the
            attribute ``note`` says why. A cosine is NaN while no live neuron has that sign.
        """
        check_choice("method", method, METHODS)
        X, y, W, v = self.draw(rng)
        about = _about(X, y)
        # on orthogonally separable data activations change monotonically
        about |= {"wrong_switches": 0.0 if about["right_sign"] == 1 else np.nan, "switches": np.nan}
        if method == "exact":
            return exact(self, X, y, W, v, neurons).assign(about)
        if method == "limit":
            return limit(self, X, y).assign(about)
        if method == "law":
            return law(self).assign(about)
        return bound(self, X, y, W, v, method).assign(about)

    def simulate(
        self,
        rng: RNGLike | SeedLike = None,
        *,
        method: str = "flow",
        tolerance: float = 1e-6,
        batch_size: int | None = None,
        train_second: bool = True,
        neurons: bool = False,
    ) -> xr.Dataset:
        """Train one network and observe it.

        Parameters
        ----------
        rng : SPEC 7 rng, optional
            Draws the data and the start (and mini-batches).
        method : {"flow", "descent"}
            Gradient flow, integrated from t = 0 without any theory (needs a balanced start), or gradient
            descent on the mean loss (needs ``reduction="mean"``), at time η × iteration.
        tolerance : float, default 1e-6
            Of the integrator.
        batch_size, train_second
            Of gradient descent, see `descent`. With ``train_second=False`` the second layer is fixed at ±1.
        neurons : bool, default False
            Whether to keep every neuron too, as `descent` does.

        Returns
        -------
        Dataset
            Curves over ``time``; alignment_time (last change of any activation; NaN unless every neuron is in
            the S± of its sign or dead at the end), for gradient flow switches (changes of activations from
            one time to the next) and wrong_switches (the share against the neuron's own class), and
            fate_plus, fate_minus, fate_dead, the fractions of neurons in S₊, S₋ and dead at the end.
        """
        rng = generator(rng)
        X, y, W, v = self.draw(rng)
        if method == "descent":
            options = {"batch_size": batch_size, "train_second": train_second, "neurons": neurons, "rng": rng}
            results = by_descent(self, X, y, W, v, **options)
            results = results.assign(switches=np.nan, wrong_switches=np.nan)
        elif method == "flow":
            results = by_flow(self, X, y, W, v, tolerance, neurons)
        else:
            raise ValueError(f"method = {method!r}: must be 'flow' or 'descent'")
        for name in ("plus", "minus", "dead"):
            results[f"fate_{name}"] = results[name].isel(time=-1, drop=True)
        return results.assign(_about(X, y))

    def cost(self, kind: str, **options: Any) -> Cost:
        """Return what a trial costs: passes over data and neurons, by steps, evaluations or events."""
        n, d, h = *self.shape, 1 if self.start == "angle" else self.width
        seen = 4.0 * n * d * h * self.observations
        if kind == "simulate" and options.get("method") == "descent":
            work = 4.0 * min(options.get("batch_size") or n, n) * d * h * self.horizon / self.step_size
        elif kind == "simulate":
            work = 4.0 * n * d * h * 300  # evaluations; their number hardly depends on the sizes
        else:
            exact = options.get("method", "exact") == "exact"
            work, seen = h * n * (n + d), seen if exact else 4.0 * n * n * d
        return Cost(flops=work + seen, bytes=8.0 * (n * d + n * n + h * (n + d * self.observations)))

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return the theorem's assumptions, checked on the data and start that seed 0 draws."""
        X, y, W, v = self.draw(0)
        data = geometry(X, y, W, np.where(v < 0, -1, 1))
        promised = bounds(data, len(v), self.log_scale, loss=self.loss, reduction=self.reduction)
        scale = Assumption("small start", "not checkable", "needs orthogonally separable data")
        if not data.obstacle:
            need = promised.required_log_scale["path"]
            at = f"log ε = {self.log_scale:.3g}"
            detail = f"{at}; the bounds are proved up to {need:.2g}, the exact path needs none"
            scale = Assumption("small start", "holds" if self.log_scale <= need else "fails", detail)
        return (
            Assumption(
                "orthogonal separability",
                "holds" if data.separable else "fails",
                f"the least of cos(yᵢxᵢ, yₖxₖ) is μ = {data.mu:.4g}",
            ),
            Assumption(
                "no start on the other class's ray",
                "holds" if data.zeta2 > 0 else "fails",
                f"the least sin² of the angle to it is ζ₂ = {data.zeta2:.2g}",
            ),
            Assumption(
                "balanced start",
                "fails" if self.start == "gaussian" else "holds",
                "v = ±‖w‖ is needed by the bounds, not by the exact path",
            ),
            scale,
        )


def _about(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return what the data alone decide: the fraction of right-signed cosines."""
    return {"right_sign": right_sign_fraction(X, y)}
