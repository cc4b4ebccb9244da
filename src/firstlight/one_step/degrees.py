"""Which Hermite degree a problem's polynomial surrogate needs, and whether it can be trusted."""

import warnings

import numpy as np

from firstlight.maths.checks import check_count
from firstlight.maths.refusals import check_instance
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
        law, setting.sigma, setting.width, setting.step_samples, setting.step_size, generator(0),
        max(largest, 8),
    )  # fmt: skip


def surrogate_degree(setting: Setting, degree: int | None) -> int:
    """Return the degree for the Hermite model, with a warning if it is too high or too low for the size.

    Parameters
    ----------
    degree : int or None
        The user's wish; None takes the source's rule where β is known, and the measured one elsewhere.
    """
    if degree is not None:
        check_count("degree", degree)
    by_rule = None if setting.beta is None else hermite_degree(setting.beta)
    if not setting.spiked:  # no bulk to measure spikes against
        return degree or by_rule or hermite_degree(1.0)
    degrees = degrees_of(setting, degree or 1)
    top = degree or by_rule or degrees.needed
    if top > degrees.reliable:
        _warn(f"degree = {top}: too high for this size, tails grow from degree {degrees.reliable + 1} on")
    elif degree is None and by_rule is None and not degrees.faithful:
        _warn(_no_degree(degrees))
    elif degree is None and by_rule is not None and max(degrees.ratios[top:], default=0.0) > 1:
        left = top + int(np.argmax(degrees.ratios[top:]))
        _warn(
            f"degree = {top}, the rule's: degree {left + 1} stands out too (ratio {degrees.ratios[left]:.3g})"
        )
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
        When the degrees stand out more and more, or do not fade: then no polynomial is a faithful surrogate
        at this size.

    Examples
    --------
    >>> from firstlight.one_step import Problem
    >>> needed_degree(Problem.scaled(dimension=600, width=600, samples=600, alpha=0.5, beta=0.74))
    2
    """
    check_instance("problem", problem, Setting)
    degrees = degrees_of(problem)
    if not degrees.faithful:
        _warn(_no_degree(degrees), 3)
    return degrees.needed


def _no_degree(degrees: Degrees) -> str:
    """Say why no degree serves: the first that outgrows those below it, or the last that is rated."""
    bad = min(degrees.reliable, len(degrees.ratios) - 1)
    return (
        f"degree {bad + 1} still stands out (ratio {degrees.ratios[bad]:.3g}): no polynomial is faithful here"
    )


def _warn(text: str, level: int = 4) -> None:
    """Warn where the user called: through `simulate` by default."""
    warnings.warn(f"{text}; prefer conditional_gaussian", DegreeWarning, stacklevel=level)
