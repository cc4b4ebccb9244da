"""Unseen classes whose means are given one by one."""

import numpy as np
import pytest

from firstlight.unseen_classes import Problem
from firstlight.unseen_classes.problem import PlaneProblem

SIZES = {"dimension": 40, "samples": 40, "unseen_samples": 10}


def test_means_at_given_cosines_are_those_of_the_problem_by_cosines():
    cosines, norm = (0.0, 0.6, -0.8), 3.0
    means = [(norm * c, norm * np.sqrt(1 - c**2)) for c in cosines]
    one = PlaneProblem(means=means, **SIZES).sample(np.random.default_rng(5))
    other = Problem(cosines=cosines, unseen_norm=norm, **SIZES).sample(np.random.default_rng(5))
    np.testing.assert_allclose(one.unseen, other.unseen, atol=1e-12)
    np.testing.assert_allclose(one.train, other.train, atol=1e-12)


@pytest.mark.parametrize("means", [(), [(1, 2)], [(1, 2), (3,)], [(1, 2), (np.nan, 1)], "abcd", [(1, 2), 3]])
def test_bad_means_are_refused_by_name(means):
    with pytest.raises(ValueError, match="means"):
        PlaneProblem(means=means, **SIZES)
