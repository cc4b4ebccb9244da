"""When the time is up: what is done is called done, what is not says how far it came, nothing is lost."""

import re

import numpy as np
import pytest

from firstlight.diagnosis import Clock, Finding, user_data
from firstlight.diagnosis.run import diagnose
from firstlight.diagnosis.text import text
from firstlight.one_step.diagnosis import diagnose as one_step
from firstlight.one_step.own_data import Fold, Question
from firstlight.study import registry

THREE = np.random.default_rng(0).normal(size=(45, 2)) + 2 * np.eye(3)[np.arange(45) % 3, :2]


class OverAfter(Clock):
    """A clock whose time is up after it was looked at so often."""

    def __init__(self, looks):
        super().__init__(1e9)
        self.looks = looks

    @property
    def over(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (Finding("yes", "why", progress="3 of 3 parts"), "(not finished; so far: 3 of 3 parts)"),
        (Finding("yes", "why", progress="3 of 3 parts", last=True), "everything done"),
        (Finding("no", "too few rows"), "everything done"),
        (Finding("yes", "why"), "(not finished)"),
    ],
)
def test_what_came_to_its_end_in_time_is_not_called_unfinished(monkeypatch, last, words):
    """The time is up after the last finding, before anybody asked whether there is more."""

    def says(data, clock):
        yield last
        pytest.fail("was asked again")

    one = registry.Theory(
        name="one", title="One", question="?", problems={"a": "b:c"}, studies="b:c", diagnose=says
    )
    monkeypatch.setattr(registry, "theories", lambda: {"one": one})
    monkeypatch.setattr("firstlight.diagnosis.run.Clock", lambda seconds: OverAfter(0))
    found = diagnose(THREE, THREE[:, 0] > 0)
    assert found.sections[0].complete == (words == "everything done")
    assert bool(found.stopped) != found.sections[0].complete
    assert words in text(found)


@pytest.fixture
def splits(monkeypatch):
    """Let one_step's splits take no time; they are counted."""
    done = []

    def fold(question, network, *rest):
        done.append(network)
        return Fold(*np.full((4, len(network.ridges)), 0.3))

    monkeypatch.setattr(Question, "_fold", fold)
    return done


@pytest.mark.parametrize("theory", ["one_step", "early_alignment", "phase_transition"])
def test_the_last_finding_of_a_theory_says_so(theory, splits):
    ask = registry.resolve(registry.theories()[theory].diagnose, "diagnose")
    y = np.arange(45) % 3 if theory == "one_step" else (THREE[:, 0] > 0.5).astype(int)
    *before, end = ask(user_data(THREE, y), Clock(1e9))
    assert end.last
    assert not any(one.last for one in before)
    done, planned = re.findall(r"(\d+) of (\d+)", end.progress)[0]
    assert done == planned
    assert f"{planned} of {planned}" not in before[-1].progress


@pytest.mark.parametrize("looks", [3, 40, 70])
def test_no_split_of_one_step_is_lost_when_the_time_is_up(looks, splits):
    """In the second question too, whose splits were counted as done before a finding told of them."""
    *_, end = one_step(user_data(THREE, np.arange(45) % 3), OverAfter(looks))
    assert end.progress.startswith(f"{len(splits)} of ")
    assert not end.last
