"""Hostile values: every public Problem and data law is built, or refuses and names the field."""

import importlib.util
import warnings
from decimal import Decimal
from inspect import isfunction
from pathlib import Path

import numpy as np
import pytest

import firstlight
from firstlight import early_alignment, one_step, unseen_classes
from firstlight.data.files import load
from firstlight.data.labels import Regression
from firstlight.data.structured import structured_data
from firstlight.demo import Exponential
from firstlight.maths import checks
from firstlight.unseen_classes import Step, standardised
from firstlight.unseen_classes.problem import RotationProblem

SCRIPT = Path(__file__).parents[1] / "campaigns" / "bad_input.py"


@pytest.fixture(scope="module")
def bad_input():
    spec = importlib.util.spec_from_file_location("bad_input", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_sample_of_the_campaign(bad_input):
    tally, failures = bad_input.campaign(2000, seed=11)
    assert not failures
    assert min(tally["built"], tally["refused"]) > 20


def test_public_functions_name_what_they_refuse(bad_input):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", one_step.DegreeWarning)
        for function, right in bad_input.FUNCTIONS:
            function(**right)
    tally, failures = bad_input.campaign(2500, seed=5, targets=bad_input.FUNCTIONS)
    assert not failures
    assert min(tally["built"], tally["refused"]) > 5


def test_every_public_function_that_is_quick_is_in_the_campaign(bad_input):
    """Functions of phase_transition work for minutes on values that suit them; the diagnosis has its own."""
    modules = (firstlight, one_step, early_alignment, unseen_classes)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    given = {function.__name__ for function, _ in [*bad_input.FUNCTIONS, *bad_input.TARGETS]}
    left = {function.__name__ for function in public if isfunction(function)} - given
    assert left == {"diagnose"}


def test_the_campaign_can_fail(bad_input):
    def refuses_nothing(width):
        return np.ones(3)[:width]

    assert bad_input.outcome(refuses_nothing, {"width": "a"}, ["width"]).startswith("TypeError")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: structured_data(8, 2.0, weights=0.5), "weights = .*sum"),
        (lambda: structured_data(8, 2.0, noise="a"), "noise = 'a': must be a number of at least 0"),
        (lambda: Regression([1.0, 0.0], link=3), "link = 3"),
        (lambda: Step(strength="a"), "strength = 'a'"),
        (lambda: Step(tau=[1.0]), r"tau = \[1.0\]"),
        (lambda: Step(loss=np.array(["square", "softmax"])), "loss = array"),
        (lambda: RotationProblem(variance=10**400), "variance = 1000"),
        (lambda: early_alignment.Problem.from_file(1.5, "y", "a", "b"), r"file = 1\.5"),
        (lambda: load(1.5), r"path = 1\.5"),
        (lambda: one_step.hermite_degree("x"), "beta = 'x'"),
        (lambda: one_step.hermite_degree(Decimal("nan")), "beta = Decimal"),
        (lambda: one_step.needed_degree(3), "problem = 3"),
        (lambda: standardised(3), "data = 3"),
        (lambda: firstlight.compare([1, 2]), r"problem = \[1, 2\]"),
        (lambda: firstlight.compare(Exponential), "problem = <class"),
        (lambda: firstlight.compare(Exponential(), predict=1.5), r"predict = 1\.5"),
        (lambda: firstlight.compare(Exponential(), absolute=[1, 2]), r"absolute = \[1, 2\]"),
        (lambda: firstlight.compare(Exponential(), tolerance=Decimal("nan")), "tolerance = Decimal"),
    ],
)
def test_what_used_to_end_in_another_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_of_numpy_are_numbers():
    assert checks.check_number("x", np.float32(0.5), 0, 1) == 0.5
    assert checks.check_count("x", np.uint8(200)) == 200
    assert checks.check_numbers("x", np.arange(2)) == (0.0, 1.0)


@pytest.mark.parametrize(
    "value", [True, np.bool_(True), "1", None, np.nan, np.inf, 10**400, 1j, [1], np.array(1)]
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match=r"^x = "):
        checks.check_number("x", value)
    with pytest.raises(ValueError, match=r"^x = "):
        checks.check_count("x", value)


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        ({}, "a finite number"),
        ({"low": 0}, "a number of at least 0"),
        ({"above": 0}, "a number above 0"),
        ({"high": 2}, "a number of at most 2"),
        ({"below": 2}, "a number below 2"),
        ({"low": 0, "below": 2}, r"a number in \[0, 2\)"),
        ({"above": 0, "high": 2}, r"a number in \(0, 2\]"),
    ],
)
def test_a_refusal_says_what_is_allowed(limits, allowed):
    with pytest.raises(ValueError, match=f"^x = nan: must be {allowed}$"):
        checks.check_number("x", np.nan, **limits)
