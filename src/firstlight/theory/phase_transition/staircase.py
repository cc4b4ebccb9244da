"""The grand staircase: hidden directions in the order in which they can be learnt."""

from dataclasses import dataclass

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.rng import RNGLike, SeedLike, generator
from firstlight.theory.phase_transition.alg import conditional_threshold
from firstlight.theory.phase_transition.conditional import as_target
from firstlight.theory.phase_transition.subspaces import closure, complement, subspaces


@dataclass(frozen=True)
class Stage:
    """One step of the staircase.

    Attributes
    ----------
    directions : ndarray of shape (k, ·)
        Orthonormal basis of what this stage adds.
    threshold : float
        Samples per dimension that this stage needs once the earlier ones are learnt perfectly; 0 if the
        conditional mean shows the directions, infinity if nothing does.
    error : float
        Estimated error of `threshold`.
    reached_at : float
        The largest threshold up to here: where the stage is reached from nothing.
    """

    directions: np.ndarray
    threshold: float
    error: float
    reached_at: float


def staircase(target: MultiIndex | str, rng: RNGLike | SeedLike = 0) -> tuple[Stage, ...]:
    """List the stages in which hidden directions can be learnt, each given the ones before.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    rng : SPEC 7 rng, default 0
        For the sampled route.

    Returns
    -------
    tuple of Stage
        Together their directions span all hidden coordinates; a last stage with an infinite threshold holds
        those that stay hidden. Earlier stages count as learnt exactly, which a finite number of samples only
        approaches: thresholds of later stages are lower bounds.

    Examples
    --------
    >>> for stage in staircase("sign(z1) + sign(z1*z2*z3)"):
    ...     print(stage.directions.shape[1], round(stage.threshold, 2))
    1 0.0
    2 2.47
    """
    target, rng = as_target(target), generator(rng)
    stages: list[Stage] = []
    known = subspaces(target, rng).easy
    if known.shape[1]:
        stages.append(Stage(known, 0.0, 0.0, 0.0))
    while known.shape[1] < target.k:
        found = conditional_threshold(target, known, rng)
        reached = max([found.value, *(stage.reached_at for stage in stages)])
        if np.isinf(found.value):
            stages.append(Stage(complement(known), np.inf, np.inf, np.inf))
            break
        stages.append(Stage(found.directions, found.value, found.residual, reached))
        known = np.hstack([known, found.directions])
        shown = closure(target, known, rng)
        if shown.shape[1] > known.shape[1]:
            stages.append(Stage(shown[:, known.shape[1] :], 0.0, 0.0, reached))
            known = shown
    return tuple(stages)
