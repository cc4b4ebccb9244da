"""The Problem: labelled data, a small start, and its two sides."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.files import load
from firstlight.data.separable import own_points
from firstlight.early_alignment.definitions.alignment import right_sign_fraction
from firstlight.early_alignment.definitions.trajectory import Observer
from firstlight.early_alignment.experiment.descent import descent
from firstlight.early_alignment.experiment.flow import headroom, integrate
from firstlight.early_alignment.setting import Setting
from firstlight.early_alignment.tables import one_by_one, stack, table
from firstlight.early_alignment.theory.align import align
from firstlight.early_alignment.theory.bounds import bounds
from firstlight.early_alignment.theory.fitting import fitting_bound, settles_quietly, settling_time
from firstlight.early_alignment.theory.geometry import geometry
from firstlight.early_alignment.theory.limits import limits
from firstlight.early_alignment.theory.path import AlignmentPath
from firstlight.early_alignment.trajectory import arrived, check_scale
from firstlight.maths.checks import check_count
from firstlight.maths.losses import gain, margin_loss
from firstlight.maths.refusals import check_choice, check_flag, unknown
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.study.problem import Assumption, Cost

METHODS = ("exact", "limit", "rate", "law", "paper", "path", "sharp")
_MOST_STEPS = 10**8  # of gradient descent: an hour or so


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
    version: ClassVar[int] = 5
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
            attribute ``note`` says why.
        """
        check_choice("method", method, METHODS)
        X, y, W, v = self.draw(rng)
        about = _about(X, y)
        # on orthogonally separable data activations change monotonically
        about["wrong_switches"] = 0.0 if about["right_sign"] == 1 else np.nan
        if method == "exact":
            return self._exact(X, y, W, v, neurons).assign(about)
        if method == "limit":
            return self._limit(X, y).assign(about)
        if method == "law":
            if self.start != "angle":
                raise ValueError(f"method = 'law': needs start = 'angle', not {self.start!r}")
            inside = 0 < self.separation <= self.angle < np.pi / 2
            speed = gain(self.loss, self.reduction, 2)
            time = np.log(np.tan(self.angle / 2) / np.tan(self.separation / 2)) / speed if inside else np.nan
            return xr.Dataset({"alignment_time": time, "converged": inside}).assign(about)
        return self._bound(X, y, W, v, method).assign(about)

    def _path(
        self, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray
    ) -> tuple[AlignmentPath, np.ndarray]:
        """Return the exact path, and log ‖w‖ at the start."""
        path = align(X, y, W, second_layer=v, loss=self.loss, reduction=self.reduction)
        return path, self.log_scale + np.log(np.linalg.norm(W, axis=1))

    def _exact(self, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray, neurons: bool) -> xr.Dataset:
        path, start = self._path(X, y, W, v)
        quiet = self.times[self.times <= path.quiet_until(start, 1e-2, self.horizon)]
        states = [(u, start + growth, v) for u, growth, v in zip(*path.state(quiet), strict=True)]
        results = self._table(X, y, quiet, states, neurons).reindex(time=self.times)
        settled = settling_time(path)
        results["alignment_time"] = settled if np.isfinite(settled) else np.nan
        for name, fate in (("plus", 1), ("minus", -1), ("dead", 0)):
            results[f"fate_{name}"] = float((path.fate == fate).mean())
        results["converged"] = bool(path.complete.all())
        return results

    def _limit(self, X: np.ndarray, y: np.ndarray) -> xr.Dataset:
        end = limits(X, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            decay = np.where(
                self.times > math.e, end.loss_coefficient / (self.times * np.log(self.times)), np.nan
            )
        results = xr.Dataset({"loss": ("time", decay)}, {"time": self.times})
        results["log_loss"] = np.log(results.loss)
        for name, sign, direction in (("plus", 1, end.direction_plus), ("minus", -1, end.direction_minus)):
            center = X[y == sign].sum(axis=0)
            cosine = direction @ center / np.linalg.norm(center) if center.any() else np.nan
            results[f"cosine_{name}"] = ("time", np.full(len(self.times), cosine))
        results["stable_rank"] = ("time", np.full(len(self.times), end.stable_rank))
        return results.assign(converged=bool(np.isfinite(end.stable_rank)))

    def _bound(self, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray, method: str) -> xr.Dataset:
        """Return a bound on the alignment time, or on the loss, where it holds for this start."""
        data = geometry(X, y, W, np.where(v < 0, -1, 1))
        promised = bounds(data, len(v), self.log_scale, loss=self.loss, reduction=self.reduction)
        path, start = self._path(X, y, W, v)
        note = data.obstacle
        if not note and self.start == "gaussian":
            note = "start = 'gaussian': the bounds need a balanced one"
        elif not note and not settles_quietly(path, start):
            note = f"outputs matter before all neurons have settled; {promised.reason}"
        if method == "rate":
            t2 = np.nan if note else fitting_bound(path, start, self.loss, self.horizon)
            value = self._rate(X, y, path, start, t2, promised.fitting_rate)
        else:
            value = xr.Dataset({"alignment_time": np.nan if note else promised.alignment_time[method]})
        return value.assign(converged=not note).assign_attrs(note=note)

    def _rate(
        self, X: np.ndarray, y: np.ndarray, path: AlignmentPath, start: np.ndarray, t2: float, alpha: float
    ) -> xr.Dataset:
        """L(t) ≤ L₀/(1 + α L₀ (t - t₂)), since the bound grows with t₂ and with L(t₂), at most L₀ = L(0)."""
        u, _, ratio = path.state(0.0)
        hidden = (ratio * np.exp(2 * start)) @ np.maximum(u @ X.T, 0)
        values = margin_loss(self.loss).value(y, hidden)
        first = float(values.sum() if self.reduction == "sum" else values.mean())
        loss = first / (1 + alpha * first * np.maximum(self.times - t2, 0))
        results = xr.Dataset({"loss": ("time", loss)}, {"time": self.times})
        return results.assign(log_loss=np.log(results.loss))

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
            the S± of its sign or dead at the end), for gradient flow wrong_switches (the share of activations
            that changed against the neuron's own class), and fate_plus, fate_minus, fate_dead, the fractions
            of neurons in S₊, S₋ and dead at the end.
        """
        rng = generator(rng)
        X, y, W, v = self.draw(rng)
        if method == "descent":
            options = {"batch_size": batch_size, "train_second": train_second, "neurons": neurons, "rng": rng}
            results = self._descend(X, y, W, v, **options).assign(wrong_switches=np.nan)
        elif method == "flow":
            results = self._flow(X, y, W, v, tolerance, neurons)
        else:
            raise ValueError(f"method = {method!r}: must be 'flow' or 'descent'")
        for name in ("plus", "minus", "dead"):
            results[f"fate_{name}"] = results[name].isel(time=-1, drop=True)
        return results.assign(_about(X, y))

    def _flow(
        self, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray, tolerance: float, neurons: bool
    ) -> xr.Dataset:
        if self.start == "gaussian":
            raise ValueError(
                "method = 'flow': needs a balanced start; use method = 'descent' with start = 'gaussian'"
            )
        first = np.full(len(v), self.log_scale)
        check_scale(self.log_scale, headroom(X, y, W, first, v, self.loss))
        run = integrate(
            X, y, W, first, v, self.times, loss=self.loss, reduction=self.reduction, tolerance=tolerance
        )
        states = [(*one, v) for one in zip(run.directions, run.log_norms, strict=True)]
        results = self._table(X, y, self.times, states, neurons)
        # Known only if every neuron has arrived within the horizon, and the integrator at its end.
        known = run.converged and arrived(run.directions[-1], v, X, y, run.soft)
        results["alignment_time"] = max(run.last_flip, 0.0) if known else np.nan
        results["wrong_switches"] = _wrong_switches(run.directions, v, X, y)
        return results.assign(converged=run.converged)

    def _descend(
        self, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray, **options: Any
    ) -> xr.Dataset:
        if self.reduction != "mean":
            raise ValueError("method = 'descent': it minimises the mean loss; set reduction = 'mean'")
        if self.horizon / self.step_size > _MOST_STEPS:
            raise ValueError(
                f"step_size = {self.step_size!r}: {self.horizon / self.step_size:.3g} steps to the horizon = "
                f"{self.horizon!r}; at most {_MOST_STEPS:.0e} are taken"
            )
        steps = (self.times / self.step_size).round().astype(int)
        if (np.diff(steps) < 1).any():
            raise ValueError(
                f"step_size = {self.step_size!r}: too large for outputs at {self.times[:3]} and so on"
            )
        if not -300 <= self.log_scale <= 100:
            raise ValueError(
                f"log_scale = {self.log_scale!r}: gradient descent forms the weights themselves, must lie in "
                "[-300, 100]; method = 'flow' has no lower limit"
            )
        scale = float(np.exp(self.log_scale))
        second = scale * v if options["train_second"] else np.sign(v)
        results = descent(
            X, y, scale * W, second, step_size=self.step_size, loss=self.loss, observations=steps, **options
        )
        results = results.assign_coords(time=self.times)  # which is η × iteration, to half a step
        settled = (results.plus + results.minus + results.dead).values
        late = np.flatnonzero(settled < 1 - 1e-9)
        when = 0 if not len(late) else late[-1] + 1
        results["alignment_time"] = float(results.time[when]) if when < len(settled) else np.nan
        return results

    def _table(
        self,
        X: np.ndarray,
        y: np.ndarray,
        times: np.ndarray,
        states: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
        neurons: bool,
    ) -> xr.Dataset:
        """Observe networks at their times; a state that the integrator did not reach gives NaN."""
        chosen = margin_loss(self.loss)
        see = Observer(X, y, chosen.log_value, chosen.log_slope, self.reduction == "mean")
        seen: list[dict[str, Any]] = [see(*one) if np.isfinite(one[0]).all() else {} for one in states]
        if neurons:
            seen = [{**one, **one_by_one(*state[:2])} for one, state in zip(seen, states, strict=True)]
        return table(times, stack(seen))

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
            detail = f"log epsilon = {self.log_scale:.6g}, the theorem needs at most {need:.6g}"
            scale = Assumption("small start", "holds" if self.log_scale <= need else "fails", detail)
        return (
            Assumption(
                "orthogonal separability", "holds" if data.separable else "fails", f"mu = {data.mu:.4g}"
            ),
            Assumption(
                "no start on the other class's ray",
                "holds" if data.zeta2 > 0 else "fails",
                f"zeta2 = {data.zeta2:.4g}",
            ),
            Assumption(
                "balanced start",
                "fails" if self.start == "gaussian" else "holds",
                "v = ±‖w‖ is needed by the bounds, not by the exact path",
            ),
            scale,
        )


def _wrong_switches(directions: np.ndarray, v: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of switches between outputs that leave a datum of the own class, or take another's."""
    active = np.einsum("tjd,nd->tjn", directions, X) > 0
    known = np.isfinite(directions).all(axis=(1, 2))
    switched = np.diff(active[known].astype(int), axis=0)
    wrong = switched * np.outer(np.sign(v), y) < 0
    return float(wrong.sum() / max(np.abs(switched).sum(), 1))


def _about(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return what the data alone decide: the fraction of right-signed cosines."""
    return {"right_sign": right_sign_fraction(X, y)}
