"""Which network has the smallest threshold, and what of the order is settled."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.refusals import refusal
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.maths.shown import Shown
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.theory.delta_nn import NetworkThreshold, delta_nn


@dataclass(frozen=True)
class Ranking(Shown):
    """Networks by delta_NN, the smallest first; those without a converged value come last.

    Attributes
    ----------
    names : tuple of str
        In order.
    thresholds : dict of str to NetworkThreshold or str
        Each network's threshold, or why there is none.
    settled : tuple of bool
        Whether each one's threshold, with twice its error, ends below where the next one's begins.
    """

    names: tuple[str, ...]
    thresholds: dict[str, NetworkThreshold | str]
    settled: tuple[bool, ...]

    def __str__(self) -> str:
        lines = []
        for place, name in enumerate(self.names):
            threshold = self.thresholds[name]
            what = (
                threshold
                if isinstance(threshold, str)
                else f"{threshold.value:.4g} ± {threshold.residual:.2g} ({threshold.route})"
            )
            known = isinstance(threshold, str) or threshold.converged
            order = ", below the next" if place < len(self.settled) and self.settled[place] else ""
            lines.append(f"{name}: {what}{'' if known else ', not converged'}{order}")
        return "\n".join(lines)


def rank(
    target: MultiIndex | str,
    students: Mapping[str, Student],
    training: Training | float | None = None,
    steps: int = 64,
    *,
    draws: int = 1 << 13,
    rng: RNGLike | SeedLike = 0,
) -> Ranking:
    """Compute delta_NN of several networks on one target and put them in order.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    students : mapping of str to Student
        Networks by name; two at least.
    training, steps, draws, rng
        As for `delta_nn`.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> thresholds = rank("z1**2", {"relu": Student("relu"), "leaky": Student("leaky_relu")})
    >>> thresholds.settled, thresholds.thresholds["relu"][:33]
    ((False,), 'activation = relu: has kinks at (')
    """
    if not isinstance(students, Mapping) or len(students) < 2:
        raise refusal("students", students, "name at least two networks")
    thresholds: dict[str, NetworkThreshold | str] = {}
    for name, student in students.items():
        try:
            thresholds[name] = delta_nn(target, student, training, steps, draws=draws, rng=rng)
        except ValueError as error:
            thresholds[name] = str(error)
    ends = {name: _ends(one) for name, one in thresholds.items()}
    names = tuple(sorted(thresholds, key=lambda name: ends[name][1]))
    settled = tuple(bool(ends[a][2] < ends[b][0]) for a, b in pairwise(names))
    return Ranking(names, thresholds, settled)


def _ends(threshold: NetworkThreshold | str) -> tuple[float, float, float]:
    """Return a threshold, and it less and plus twice its error; what is not known comes last."""
    if isinstance(threshold, str) or not threshold.converged:
        return -np.inf, np.nextafter(np.inf, 0), np.inf
    if np.isinf(threshold.value):
        return np.inf, np.inf, np.inf
    return threshold.value - 2 * threshold.residual, threshold.value, threshold.value + 2 * threshold.residual
