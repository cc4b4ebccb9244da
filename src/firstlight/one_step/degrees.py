"""Which Hermite degree a problem's polynomial surrogate needs, and whether it can be trusted."""

import warnings

from firstlight.maths.checks import check_count
from firstlight.maths.rng import generator
from firstlight.one_step.definitions import Setting
from firstlight.one_step.theory.degree import Degrees, hermite_degree, measured_degrees
from firstlight.one_step.theory.reduced import reduced_law


class DegreeWarning(UserWarning):
    """A polynomial surrogate of the network cannot be trusted at this size."""


def degrees_of(setting: Setting, largest: int = 8) -> Degrees:
    """Rate the Hermite degrees of a problem with identity-plus-spikes covariances, to 8 at least."""
    law = reduced_law(setting.mixture, setting.labels)
    return measured_degrees(
        law, setting.sigma, setting.k, setting.gradient_samples, setting.step_size, generator(0),
        max(largest, 8),
    )  # fmt: skip


def surrogate_degree(setting: Setting, degree: int | None) -> int:
    """Return the degree for the Hermite model, with a warning if it is too high for the size.

    Parameters
    ----------
    setting : Setting
        What is studied.
    degree : int or None
        The user's wish; None takes the source's rule where β is known, and the measured one elsewhere.

    Returns
    -------
    int
    """
    if degree is not None:
        check_count("degree", degree)
    by_rule = None if setting.beta is None else hermite_degree(setting.beta)
    if not setting.spiked:  # no bulk to measure spikes against
        return degree or by_rule or hermite_degree(1.0)
    degrees = degrees_of(setting, degree or 1)
    top = degree or by_rule or degrees.needed
    if top > degrees.reliable:
        ratio = degrees.ratios[degrees.reliable]
        warnings.warn(
            f"degree = {top}: too high for this size, tails grow from degree {degrees.reliable + 1} on "
            f"(ratio {ratio:.3g}); prefer conditional_gaussian",
            DegreeWarning, stacklevel=3,
        )  # fmt: skip
    return top


def needed_degree(problem: Setting) -> int:
    """Return the Hermite degree that the measured amplitude of the spikes asks for.

    Parameters
    ----------
    problem : Problem
        With identity-plus-spikes covariances.

    Returns
    -------
    int
        Highest degree whose spike stands out of the bulk.

    Warns
    -----
    DegreeWarning
        When the degrees stand out more and more: then no polynomial is a faithful surrogate at this size.

    Examples
    --------
    >>> from firstlight.one_step import Problem
    >>> needed_degree(Problem.scaled(n=600, k=600, m=600, alpha=0.5, beta=0.74))
    2
    """
    degrees = degrees_of(problem)
    if degrees.reliable < len(degrees.ratios):
        ratio = degrees.ratios[degrees.reliable]
        warnings.warn(
            f"degree {degrees.reliable + 1} outgrows those below it (ratio {ratio:.3g}): no polynomial is "
            "faithful here; prefer conditional_gaussian",
            DegreeWarning, stacklevel=2,
        )  # fmt: skip
    return degrees.needed
