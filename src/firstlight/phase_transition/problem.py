"""Training side by side: dynamical mean-field theory beside gradient descent, with the Hessian's spectrum."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import gammainc, gammaincinv

from firstlight.data.multi_index import MultiIndexSample
from firstlight.maths.refusals import check_flag
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.scales import with_scales
from firstlight.maths.sobol import sobol_normal
from firstlight.maths.workers import on_one_thread
from firstlight.measure.hessian import extreme_eigenpairs
from firstlight.phase_transition.definitions import Training, default_times
from firstlight.phase_transition.experiment.descent import DescentPath, descend, hessian_of, orthogonal_start
from firstlight.phase_transition.model import TrainedModel
from firstlight.phase_transition.theory.dmft import SCRAMBLES, dmft, memory_bytes
from firstlight.phase_transition.theory.escape import freedom_of
from firstlight.phase_transition.theory.path import TOLERANCE, DmftPath
from firstlight.phase_transition.theory.resolvent import BranchLost
from firstlight.study.judge import standard_errors
from firstlight.study.problem import Assumption, Cost

_LINEAR = 0.03  # squared cosine up to which overlaps grow as in the linear regime
_FAINT = 1e-60  # curvature whose powers would not be numbers
_LOWEST = 6  # eigenpairs among which the informative one is looked for


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(TrainedModel):
    """Gradient descent of a two-layer network on multi-index data.

    Parameters
    ----------
    samples_per_dimension : float
        δ = n/d, samples per dimension.
    dimension : int
        d, of the experiment.
    steps : int
        T.
    hold_hard : bool
        Keep the overlap with the hard directions at zero, on both sides. Otherwise theory takes it from V(t)
        while it is small, then follows four typical starts, and averages.
    spectrum : bool
        Whether to compute the Hessian's spectrum at the recorded steps.

    The other fields are those of `TrainedModel`.

    Examples
    --------
    >>> problem = Problem(samples_per_dimension=3.0, dimension=300, steps=8)
    >>> theory, experiment = problem.predict(draws=1 << 10), problem.simulate(rng=0)
    >>> bool(abs(theory.train_loss[-1] / experiment.train_loss[-1] - 1) < 0.15)
    True
    """

    samples_per_dimension: float = 3.0
    dimension: int = 1000
    steps: int = 64
    hold_hard: bool = True
    spectrum: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("hold_hard", self.hold_hard)
        check_flag("spectrum", self.spectrum)
        self._check_sizes(self.samples_per_dimension, self.dimension, self.steps)
        if self.spectrum and self.hold_hard:
            self.student.require_smooth()

    @on_one_thread
    def predict(self, rng: RNGLike | SeedLike = 0, *, draws: int = 1 << 13) -> xr.Dataset:
        """Follow training in the limit of many dimensions.

        Parameters
        ----------
        rng : SPEC 7 rng, default 0
            Scrambles the theory's own samples.
        draws : int, default 8192
            How many.

        Returns
        -------
        Dataset
            Over ``time``: train_loss, test_loss, train_error, test_error, cosine (squared, with the hidden
            directions), norm (over ``neuron``), second_layer, biases and offset if they are trained, and with
            `spectrum` smallest_eigenvalue, largest_eigenvalue (the bulk's edges, or outliers beyond them),
            hidden_eigenvalue (lowest outlier in the hard directions; NaN if there is none) and hidden_overlap
            (0 if there is none). Each ``o`` has its standard error over eight independent scrambles as
            ``o_sem``; converged tells where those of losses and norms are below 5 %, and those of shares and
            cosines below 0.05.
        """
        rng = generator(rng)
        if not self.hold_hard and self.directions.hard.shape[1]:
            seeds = rng.integers(1 << 31, size=SCRAMBLES)
            parts = [self._set_free(int(seed), max(draws // SCRAMBLES, 64)) for seed in seeds]
            return _mean([table for table, _ in parts], all(complete for _, complete in parts))
        start = None if self.hold_hard else np.zeros((self.student.width, self.law.directions))
        path = self._path(rng, draws, SCRAMBLES, start)
        results = _mean([_predicted(run) for run in path.runs], path.complete)
        if not (self.spectrum and self.hold_hard):
            return results
        results = results.assign(self._predicted_spectra(path))
        known = np.isfinite(results["smallest_eigenvalue"] + results["smallest_eigenvalue_sem"])
        return results.assign(converged=results["converged"] & known)

    def _path(
        self, rng: RNGLike | SeedLike, draws: int, scrambles: int = 1, start: np.ndarray | None = None
    ) -> DmftPath:
        """Follow training with the hard overlaps held, or from those overlaps (m, k) at the start."""
        return dmft(
            self.law, self.student, self.samples_per_dimension, self.training, self.steps, draws, rng,
            start is None, start_overlap=0.0 if start is None else start, scrambles=scrambles,
        )  # fmt: skip

    def _set_free(self, seed: int, draws: int) -> tuple[xr.Dataset, bool]:
        """Join the linear regime of V(t) to paths of finite overlaps; and say if no force was left out.

        While overlaps are small the rest is as if there were none. Data push them about as much as the start
        does, and what grows from either lies along what grows most: where several grow alike, as two neurons
        of opposite signs on z1 z2, along some of each. So later it is as if the start had been along that,
        and so large that it reaches V(t).
        """
        held = self._path(seed, draws)
        at = np.array(held.times)
        hard = np.einsum("taa->t", held.hard_variance)[at] / self.dimension
        rest, easy = held.norm.sum(axis=1)[at], (held.overlap[at] ** 2).sum(axis=(1, 2))
        still = self._path(seed, draws, start=np.zeros((self.student.width, self.law.directions)))
        linear = _predicted(still).assign(cosine=("time", (easy + hard) / (rest + hard)))
        late = hard > _LINEAR * rest
        if not late.any():
            return linear, held.complete and still.complete
        join = int(np.argmax(late))
        response, free = held.start_response[at[join]], []
        drawn = sobol_normal(len(response), 4, np.random.default_rng(seed))
        for quarter, normals in zip(_quarters(freedom_of(held, int(at[join]))), drawn, strict=True):
            along = response.T @ normals
            along *= np.copysign(np.sqrt(hard[join] * quarter), along[0]) / np.linalg.norm(response @ along)
            along *= min(1.0, 0.7 * self.init_scale / np.linalg.norm(along))  # rows are longer
            start = along.reshape(self.student.width, -1) @ self.directions.hard.T
            free.append(self._path(seed, draws, start=start))
        results = xr.concat([_predicted(path) for path in free], "start").mean("start")
        complete = all(path.complete for path in (held, still, *free))
        return results.where(xr.DataArray(late, dims="time"), linear), complete

    def _predicted_spectra(self, path: DmftPath) -> dict[str, Any]:
        """Return spectra of all samples, with standard errors from those of each scramble alone."""
        spectra = _spectra(_spectrum_rows(path))
        parts = xr.concat([xr.Dataset(_spectra(_spectrum_rows(run))) for run in path.runs], "scramble")
        return {**spectra, **standard_errors(parts, "scramble")}

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Train one network of finite size.

        Parameters
        ----------
        rng : SPEC 7 rng, optional
            Draws data, initialisation and batches.

        Returns
        -------
        Dataset
            The observables of `predict`; hidden_eigenvalue belongs to the lowest eigenvector, of six, that
            points at the hard directions more than at the network's weights and the easy directions.
        """
        rng = generator(rng)
        n = round(self.samples_per_dimension * self.dimension)
        drawn = self.law.sample(n, self.dimension, rng)
        fresh = self.law.sample(max(n // 2, 1000), self.dimension, rng, drawn.directions)
        W = orthogonal_start(self.dimension, self.student.width, self.init_scale, rng)
        hard = drawn.directions @ self.directions.hard
        path = descend(
            self.student, (drawn.X, drawn.y), (fresh.X, fresh.y), W, drawn.directions, self.training,
            self.steps, times=default_times(self.steps), held=hard if self.hold_hard else None,
            supply=self._supply(drawn, rng), rng=rng,
        )  # fmt: skip
        norm = np.einsum("taa->ta", path.gram)
        cosine = (path.overlap**2).sum(axis=(1, 2)) / norm.sum(axis=1)
        results = _table(path.times, path, slice(None), norm, cosine, self.training)
        if self.spectrum and self.hold_hard:
            results = results.assign(self._measured_spectra(path, drawn))
        return results

    def _measured_spectra(self, path: DescentPath, drawn: MultiIndexSample) -> dict[str, Any]:
        rows, m = [], self.student.width
        hard, easy = drawn.directions @ self.directions.hard, drawn.directions @ self.directions.easy
        for network in path.networks:
            H = hessian_of(self.student, network, drawn.X, drawn.y)
            low = extreme_eigenpairs(H, m, min(_LOWEST, m * self.dimension - 1), tolerance=1e-4)
            high = extreme_eigenpairs(H, m, 1, "right", tolerance=1e-4)
            hidden = low.lowest_along(hard, np.column_stack([network.first_layer.T, easy]))
            rows.append((low.values[0], high.values[0], *hidden))
        return _spectra(rows)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes, each checked for this problem."""
        return (*super().assumptions(), self._first_steps(self.samples_per_dimension, self.steps))

    def cost(self, kind: str, **options: Any) -> Cost:
        """Tell what a trial costs."""
        m, T = self.student.width, self.steps
        if kind == "simulate":
            n = self.samples_per_dimension * self.dimension
            return Cost(4 * n * self.dimension * m * (T + 300), 8 * 1.5 * n * self.dimension)
        draws = int(options.get("draws", 1 << 13))
        paths = 1 if self.hold_hard else 6
        return Cost(paths * draws * T * (T * m + 100) * m, memory_bytes(self.student, T, draws))


def _quarters(freedom: float) -> np.ndarray:
    """Return the means of a chi-square of mean 1 over each of its four quarters."""
    return 4 * np.diff(gammainc(freedom / 2 + 1, gammaincinv(freedom / 2, np.arange(5) / 4)))


def _predicted(path: DmftPath) -> xr.Dataset:
    at = np.array(path.times)
    cosine = (path.overlap[at] ** 2).sum(axis=(1, 2)) / path.norm[at].sum(axis=1)
    return _table(at, path, at, path.norm[at], cosine, path.training)


def _mean(tables: list[xr.Dataset], complete: bool) -> xr.Dataset:
    """Average independent scrambles, with standard errors; it has converged where these are small.

    Small is `TOLERANCE`, relative for losses and norms and absolute for shares and cosines.
    """
    together = xr.concat(tables, "scramble")
    mean, sem = together.mean("scramble"), standard_errors(together, "scramble")
    good = xr.full_like(mean.train_loss, complete, bool)
    for name in mean.data_vars:
        level = mean[name] if name in ("train_loss", "test_loss", "norm") else 1.0
        small = sem[f"{name}_sem"] <= TOLERANCE * level
        good &= small.all("neuron") if "neuron" in small.dims else small
    return mean.assign(sem).assign(converged=good)


def _spectrum_rows(path: DmftPath) -> list[tuple[float, ...]]:
    rows: list[tuple[float, ...]] = []
    for index in range(len(path.times)):
        if np.abs(path.law(index).D).max() < _FAINT:  # no neuron answers any sample: the ridge is left
            rows.append((path.student.ridge, path.student.ridge, np.nan, 0.0))
            continue
        try:
            spectrum = path.spectrum(index)
        except BranchLost:
            rows.append((np.nan,) * 4)
            continue
        left = [o for o in spectrum.outliers if o.side == "left"]
        hidden = (left[0].value, left[0].overlap) if left else (np.nan, 0.0)
        rows.append((*spectrum.ends, *hidden))
    return rows


def _table(
    times: np.ndarray, path: DmftPath | DescentPath, at: Any, norm: np.ndarray, cosine: np.ndarray,
    training: Training,
) -> xr.Dataset:  # fmt: skip
    names = ["train_loss", "test_loss", "train_error", "test_error"]
    names += ["offset"] * bool(training.offset_step)
    curves = {name: ("time", getattr(path, name)[at]) for name in names}
    layers = ["second_layer"] * bool(training.second_layer_step) + ["biases"] * bool(training.bias_step)
    both = {name: (("time", "neuron"), getattr(path, name)[at]) for name in layers}
    results = xr.Dataset(
        {**curves, "norm": (("time", "neuron"), norm), "cosine": ("time", cosine), **both},
        {"time": times, "neuron": np.arange(norm.shape[1])},
    )
    return with_scales(results, dict.fromkeys(("cosine", "train_error", "test_error"), 1.0))


def _spectra(rows: list) -> dict[str, Any]:
    names = ("smallest_eigenvalue", "largest_eigenvalue", "hidden_eigenvalue", "hidden_overlap")
    return {
        name: ("time", np.array(column)) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
