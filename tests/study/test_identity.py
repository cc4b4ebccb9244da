"""Addresses and seeds outlive moves of code: what a Problem is called in them is frozen."""

import numpy as np
import pytest

from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.maths.rng import stream
from firstlight.study import address as addresses
from firstlight.study.address import address


def one_step_problem(labels):
    spikes = one_step.Spiked([2.0], np.eye(4)[:, :1])
    mixture = one_step.GaussianMixture([0.5, 0.5], None, [spikes, spikes])
    return one_step.Problem(mixture, labels, k=3, m=5, activation="tanh", beta=0.5)


# first eight bytes of the addresses of commit dd53a8d; a study's records and seeds hang on them
KNOWN = {
    "regression": "e0da29ae11402bd8",
    "classification": "4f6f1b022d62cd7f",
    "alignment": "f29c15ad914beae9",
    "training": "423a788398eb9230",
    "learning": "c8aa449c69e6f89f",
    "spectrum": "16ff96139834edee",
    "algorithmic": "729f2a87bed56273",
    "threshold": "731578e7caaf7dcb",
    "cosines": "4fb34f19a2c3f2b6",
    "cosine": "6aca7aefe32b2b65",
    "sides": "c40ca6593889f2ab",
    "rotations": "f39dac52bb4dd94d",
    "images": "9559cabb293246d9",
    "sets": "7f6865e60554afd0",
    "gradient": "d59d0bbe70a0bf02",
    "norm": "f37f054a9dc3e50e",
    "deep": "0ff3c4d5ba6a7ad7",
}


def build(name):
    return {
        "regression": lambda: one_step_problem(one_step.Regression(np.eye(4)[0], link="relu")),
        "classification": lambda: one_step_problem(one_step.Classification([1.0, -1.0])),
        "alignment": lambda: early_alignment.Problem(samples=10),
        "training": lambda: phase_transition.Problem(d=50),
        "learning": lambda: phase_transition.LearningProblem(d=50),
        "spectrum": lambda: phase_transition.SpectrumProblem(d=50),
        "algorithmic": lambda: phase_transition.AlgProblem("z1*z2"),
        "threshold": lambda: phase_transition.ThresholdProblem(d=50),
        "cosines": lambda: unseen_classes.Problem(dimension=64),
        "cosine": lambda: unseen_classes.ClassProblem(cosine=0.5),
        "sides": lambda: unseen_classes.SideProblem(side="same", along=1.0),
        "rotations": lambda: unseen_classes.RotationProblem(length=0.1),
        "images": lambda: unseen_classes.ImageProblem(images="digits", train="3,8"),
        "sets": lambda: unseen_classes.SetsProblem(sets="0,1;3,8"),
        "gradient": lambda: unseen_classes.GradientProblem(size=32),
        "norm": lambda: unseen_classes.NormProblem(size=32),
        "deep": lambda: unseen_classes.DeepProblem(images="digits", train="0,1"),
    }[name]()


@pytest.mark.parametrize("name", KNOWN)
def test_addresses_are_as_they_were(name):
    assert address(build(name)).hex()[:16] == KNOWN[name]


def test_a_listed_move_changes_neither_address_nor_numbers(monkeypatch):
    def seen():
        problem = build("norm")
        rng = stream(0, "point", address(problem).hex(), "trial", 0)
        return address(problem), float(problem.simulate(rng).operator_norm)

    before = seen()
    monkeypatch.setattr(unseen_classes.NormProblem, "__module__", "firstlight.elsewhere")
    assert seen()[0] != before[0]
    old = "firstlight.unseen_classes.structure:NormProblem"
    monkeypatch.setitem(addresses.CLASS, "firstlight.elsewhere:NormProblem", old)
    assert seen() == before
