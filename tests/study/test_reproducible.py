"""A prediction without a seed is always the same, whatever the theory."""

import inspect

import numpy as np
import pytest
import xarray as xr

from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.study.build import resolve
from firstlight.study.registry import THEORIES

NAMES = [(theory.name, name) for theory in THEORIES.values() for name in theory.problems]


def predictor(theory, name):
    made = resolve(THEORIES[theory].problems[name], "problem")
    return made.predict if isinstance(made, type) else one_step.Problem.predict


@pytest.mark.parametrize(("theory", "name"), NAMES)
def test_no_prediction_draws_afresh_by_default(theory, name):
    parameters = inspect.signature(predictor(theory, name)).parameters
    assert parameters["rng"].default == 0


SMALL = {
    "early_alignment": early_alignment.Problem(samples=6, dimension=3, width=5, outputs=5),
    "one_step": one_step.Problem.scaled(n=30, k=20, m=20, alpha=0.5, beta=0.7),
    "phase_transition": phase_transition.AlgProblem("z1*z2"),
    "unseen_classes": unseen_classes.ClassProblem(cosine=0.5, samples=40, dimension=10, width=30),
    "gradient": unseen_classes.GradientProblem(size=16),
}


@pytest.mark.parametrize("name", SMALL)
def test_two_predictions_are_one(name):
    with np.errstate(all="ignore"):
        xr.testing.assert_identical(SMALL[name].predict(), SMALL[name].predict())
