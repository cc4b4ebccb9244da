"""Small samples of the campaigns: verdicts that must turn, and verdicts that must not."""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

CAMPAIGNS = Path(__file__).parent.parent / "campaigns"


@pytest.fixture(scope="module")
def campaign():
    def load(name):
        spec = importlib.util.spec_from_file_location(name, CAMPAIGNS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


NAMES = ["one_step: ridge ten times", "phase_transition: start doubled", "unseen_classes: step twice"]


def test_a_broken_experiment_turns_a_verdict(campaign):
    mutations = campaign("mutations")
    assert len(mutations.MUTATIONS) >= 20
    assert {one.theory for one in mutations.MUTATIONS} == set(mutations.PROBLEMS)
    for name in NAMES:
        [mutation] = [one for one in mutations.MUTATIONS if one.name.startswith(name)]
        assert mutations.killed(mutation), mutation.name


def test_an_experiment_that_is_not_broken_turns_none(campaign):
    mutations = campaign("mutations")
    harmless = mutations.Mutation("unseen_classes: none", f"{mutations._LAYER}.step", lambda same: same)
    assert mutations.killed(harmless) == []


@dataclass(frozen=True)
class Sampled:
    """A theory that is right, by an estimate that spreads by 15 %; it tells its error, or not."""

    honest: bool

    def predict(self, rng=0):
        value = 1 + 0.15 * np.random.default_rng(rng).standard_normal()
        return xr.Dataset({"x": value} | ({"x_sem": 0.15} if self.honest else {}))

    def simulate(self, rng=None):
        return xr.Dataset({"x": 1 + 0.1 * np.random.default_rng(rng).standard_normal()})

    def assumptions(self):
        return ()


@pytest.mark.parametrize("honest", [True, False])
def test_an_error_that_is_not_told_is_found_by_its_false_alarms(campaign, honest):
    campaign = campaign("false_alarms")
    # at 60 seeds 2.5 % and three standard errors are 8.6 %; an untold error of 15 % alarms in four of ten
    assert campaign.alarms(campaign.Case(lambda: Sampled(honest)), range(60)).passed == honest


@pytest.mark.parametrize("name", ["one_step, network-free", "unseen_classes, norm"])
def test_theories_give_no_false_alarms(campaign, name):
    campaign = campaign("false_alarms")
    count = campaign.alarms(campaign.CASES[name], range(4))
    assert count.verdicts > 0
    assert count.false == 0
