"""Addresses and seeds outlive moves of code: theories and names count in them, modules do not."""

import numpy as np
import pytest

from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.maths.rng import stream
from firstlight.study.record import address
from firstlight.unseen_classes.images import ImageProblem
from firstlight.unseen_classes.problem import ClassProblem, RotationProblem, SideProblem


def one_step_problem(labels):
    spikes = one_step.Spiked([2.0], np.eye(4)[:, :1])
    mixture = one_step.GaussianMixture([0.5, 0.5], None, [spikes, spikes])
    return one_step.Problem(mixture, labels, width=3, samples=5, activation="tanh", beta=0.5)


# first eight bytes of addresses; a study's records and seeds hang on them
KNOWN = {
    "regression": "87847752f09a1b5f",
    "classification": "b9d4341476535679",
    "alignment": "ebdd564b4d3107f4",
    "training": "59a5669bab225b19",
    "learning": "712b41e602b06c4d",
    "spectrum": "755352e4f084a948",
    "algorithmic": "90e007e9f0babaea",
    "threshold": "e6ecbb9cd1f1fea2",
    "cosines": "ea147fcc27382aa2",
    "cosine": "c89b5b18434e5c35",
    "sides": "6ed834f2c531c78d",
    "rotations": "d848d1774c5b7638",
    "images": "a54b0f7a0f883fa2",
    "sets": "fbd034eb9569893f",
    "gradient": "5dca9e6d2ec8df49",
    "norm": "7a369e1957f79ce9",
    "deep": "f2c9c33e46cc2e2c",
}


def build(name):
    return {
        "regression": lambda: one_step_problem(one_step.Regression(np.eye(4)[0], link="relu")),
        "classification": lambda: one_step_problem(one_step.Classification([1.0, -1.0])),
        "alignment": lambda: early_alignment.Problem(samples=10),
        "training": lambda: phase_transition.Problem(dimension=50),
        "learning": lambda: phase_transition.LearningProblem(dimension=50),
        "spectrum": lambda: phase_transition.SpectrumProblem(dimension=50),
        "algorithmic": lambda: phase_transition.AlgProblem("z1*z2"),
        "threshold": lambda: phase_transition.ThresholdProblem(dimension=50),
        "cosines": lambda: unseen_classes.Problem(dimension=64),
        "cosine": lambda: ClassProblem(cosine=0.5),
        "sides": lambda: SideProblem(side="same", along=1.0),
        "rotations": lambda: RotationProblem(length=0.1),
        "images": lambda: ImageProblem(images="digits", classes="3,8"),
        "sets": lambda: unseen_classes.SetsProblem(sets="0,1;3,8"),
        "gradient": lambda: unseen_classes.GradientProblem(dimension=32),
        "norm": lambda: unseen_classes.NormProblem(dimension=32),
        "deep": lambda: unseen_classes.DeepProblem(images="digits", classes="0,1"),
    }[name]()


@pytest.mark.parametrize("name", KNOWN)
def test_addresses_are_as_they_were(name):
    assert address(build(name)).hex()[:16] == KNOWN[name]


def test_a_move_changes_neither_address_nor_numbers(monkeypatch):
    def seen(name):
        problem = build(name)
        rng = stream(0, "point", address(problem).hex(), "trial", 0)
        return address(problem), float(problem.simulate(rng).operator_norm)

    before = seen("norm")
    monkeypatch.setattr(unseen_classes.NormProblem, "__module__", "firstlight.elsewhere")
    assert seen("norm") == before
    monkeypatch.setattr(unseen_classes.NormProblem, "theory", "another")
    assert seen("norm")[0] != before[0]


def test_moves_within_a_package_do_not_count(monkeypatch):
    spikes = one_step.Spiked([2.0], np.eye(4)[:, :1])
    before = address(spikes)
    monkeypatch.setattr(one_step.Spiked, "__module__", "firstlight.elsewhere")
    assert address(spikes) == before
    monkeypatch.setattr(one_step.Spiked, "__module__", "another.covariance")
    assert address(spikes) != before
