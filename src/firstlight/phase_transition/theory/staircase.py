"""The grand staircase: hidden directions in the order in which they can be learnt."""

from dataclasses import dataclass

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.shown import Shown
from firstlight.phase_transition.theory.alg import conditional_threshold
from firstlight.phase_transition.theory.conditional import as_informative
from firstlight.phase_transition.theory.finite_stage import finite_threshold
from firstlight.phase_transition.theory.relevant import relevant_directions
from firstlight.phase_transition.theory.subspaces import closure, complement, subspaces


@dataclass(frozen=True)
class Stage(Shown):
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
        Where the stage is reached from nothing: the largest threshold up to here, which takes the earlier
        stages for known exactly; or, if asked for, where they are known as well as so many samples tell.
    """

    directions: np.ndarray
    threshold: float
    error: float
    reached_at: float


def staircase(
    target: MultiIndex | str, rng: RNGLike | SeedLike = 0, *, finite: bool = False
) -> tuple[Stage, ...]:
    """List the stages in which hidden directions can be learnt, each given the ones before.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    rng : SPEC 7 rng, default 0
        For the sampled route.
    finite : bool, default False
        Whether `reached_at` of the first hard stage accounts for what is not yet known of the easy direction;
        for targets with one easy direction, and some seconds of work.

    Returns
    -------
    tuple of Stage
        Together their directions span all hidden coordinates; a last stage with an infinite threshold holds
        those that stay hidden. Each `threshold` counts earlier stages as learnt exactly, which a finite
        number of samples only approaches: it is a lower bound.

    Examples
    --------
    >>> for stage in staircase("sign(z1) + sign(z1*z2*z3)"):
    ...     print(stage.directions.shape[1], stage.threshold)
    1 0.00
    2 2.47
    """
    target, rng = as_informative(target), generator(rng)
    stages: list[Stage] = []
    known = easy = subspaces(target, rng).easy
    if known.shape[1]:
        stages.append(Stage(known, 0.0, 0.0, 0.0))
    while known.shape[1] < target.directions:
        threshold = conditional_threshold(target, known, rng)
        reached = float(np.max([threshold.value, *(stage.reached_at for stage in stages)]))  # NaN stays
        if np.isinf(threshold.value):
            stages.append(Stage(complement(known), np.inf, np.inf, np.inf))
            break
        if finite and known is easy and easy.shape[1] == 1:
            hard = complement(easy, relevant_directions(target))
            reached = finite_threshold(target, easy, hard, threshold.value, rng)[0]
        stages.append(Stage(threshold.directions, threshold.value, threshold.residual, reached))
        known = np.hstack([threshold.known, threshold.directions])
        shown = closure(target, known, rng)[0]
        if shown.shape[1] > known.shape[1]:
            stages.append(Stage(shown[:, known.shape[1] :], 0.0, 0.0, reached))
            known = shown
    return tuple(stages)
