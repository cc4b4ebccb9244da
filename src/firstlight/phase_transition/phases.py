"""Both phases of training in one picture: gradients first, then negative curvature."""

from dataclasses import dataclass, fields, replace

import numpy as np
import xarray as xr

from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.workers import on_one_thread
from firstlight.measure.hessian import extreme_eigenpairs
from firstlight.phase_transition.definitions import default_times
from firstlight.phase_transition.experiment.descent import descend, hessian_of, orthogonal_start
from firstlight.phase_transition.problem import Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class PhasesProblem(Problem):
    """Gradient descent with its gradient, its lowest curvature and what it has learnt, in time.

    The fields are those of `Problem`; nothing is held, and the lowest curvature is told whatever `spectrum`
    says. Theory follows the first phase: overlaps with the easy directions and the Hessian's lowest end while
    the hard ones are not learnt.

    Examples
    --------
    >>> problem = PhasesProblem(samples_per_dimension=3.0, dimension=60, steps=8)
    >>> problem.simulate(rng=0).gradient_norm.sizes["time"] == problem.predict(draws=512).sizes["time"]
    True
    """

    hold_hard: bool = False

    @on_one_thread
    def predict(self, rng: RNGLike | SeedLike = 0, *, draws: int = 1 << 12) -> xr.Dataset:
        """Return easy_cosine and smallest_eigenvalue over ``time``, with the hard overlap held at zero."""
        held = Problem(**{item.name: getattr(self, item.name) for item in fields(self)})
        predicted = replace(held, hold_hard=True, spectrum=True).predict(rng, draws=draws)
        names = {"cosine": "easy_cosine", "smallest_eigenvalue": "smallest_eigenvalue"}
        kept = {new: predicted[old] for old, new in names.items()}
        kept |= {f"{new}_sem": predicted[f"{old}_sem"] for old, new in names.items()}
        unknown = xr.full_like(predicted["cosine"], np.nan)
        return xr.Dataset({**kept, "gradient_norm": unknown, "hard_cosine": unknown}).assign(
            converged=predicted["converged"]
        )

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Train one network.

        Returns
        -------
        Dataset
            Over ``time``: gradient_norm (of the mean loss, in the first layer), smallest_eigenvalue (of the
            Hessian), easy_cosine and hard_cosine (squared, with the easy and with the hard directions).
        """
        rng = generator(rng)
        n = round(self.samples_per_dimension * self.dimension)
        drawn = self.law.sample(n, self.dimension, rng)
        W = orthogonal_start(self.dimension, self.student.width, self.init_scale, rng)
        data = drawn.X, drawn.y
        path = descend(
            self.student, data, data, W, drawn.directions, self.training, self.steps,
            times=default_times(self.steps), supply=self._supply(drawn, rng), rng=rng,
        )  # fmt: skip
        size = np.einsum("tmm->t", path.gram)
        rows = []
        for network, overlap in zip(path.networks, path.overlap, strict=True):
            H = hessian_of(self.student, network, *data)
            low = extreme_eigenpairs(H, self.student.width, 1, tolerance=1e-4).values[0]
            gradient = np.linalg.norm(network.gradient(*data).first_layer)
            along = (((overlap @ basis) ** 2).sum() for basis in self.directions)
            rows.append((gradient, low, *along))
        gradients, lowest, easy, hard = np.array(rows).T
        columns = {
            "gradient_norm": gradients, "smallest_eigenvalue": lowest, "easy_cosine": easy / size,
            "hard_cosine": hard / size,
        }  # fmt: skip
        return xr.Dataset({name: ("time", values) for name, values in columns.items()}, {"time": path.times})
