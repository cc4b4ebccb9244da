"""The theory's studies: every point can be built, arms give what is drawn, special pictures are drawn."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from firstlight import phase_transition
from firstlight.phase_transition.figures import _half
from firstlight.phase_transition.studies import STUDIES
from firstlight.show.figures import figure
from firstlight.study.run import run
from firstlight.study.spec import Arm

BY_NAME = {study.name: study for study in STUDIES}
WANTED = {
    "delta-alg", "hessian-spectrum", "outlier-vs-delta", "dmft-vs-gd", "delta-nn-vs-time", "delta-nn-vs-init",
    "delta-nn-vs-width", "delta-nn-vs-activation", "delta-nn-vs-loss", "learning-curve", "escape-time",
    "grokking", "size", "spectral-method", "two-phases", "above-algorithmic", "batch-and-success",
    "momentum-and-success", "width-and-success", "limit-and-onset",
}  # fmt: skip


def test_all_wanted_studies_are_there():
    assert {name.removeprefix("phase-transition/") for name in BY_NAME} == WANTED
    assert len(BY_NAME["phase-transition/delta-alg"].axes["target"]) >= 12


@pytest.mark.parametrize("name", BY_NAME)
def test_every_point_can_be_built(name):
    for scale in ("quick", *BY_NAME[name].scales):
        study = BY_NAME[name].at(scale)
        assert all(study.build(point) is not None for point in study.points())


@pytest.mark.parametrize(
    "name",
    sorted(set(BY_NAME) - {f"phase-transition/delta-nn-vs-{what}" for what in ("width", "loss")}),
)
def test_arms_give_what_is_drawn(name):
    study = BY_NAME[name].at("quick")
    fixed = {key: min(value, small) for key, small in (("steps", 8), ("theory_steps", 8), ("dimension", 60),
             ("draws", 5000)) if (value := study.fixed.get(key))}  # fmt: skip
    study = replace(study, fixed={**study.fixed, **fixed})
    problem = study.build(study.point(0))
    for arm in study.arms.values():
        options = {**arm.options, **({"draws": 1 << 9} if "draws" in arm.options else {})}
        result = getattr(problem, arm.kind)(rng=np.random.default_rng(0), **options)
        assert set(study.observables) <= set(result.data_vars)


def test_special_pictures(tmp_path, monkeypatch):
    # the limit that is drawn beside is another test's business: a short one is as good
    short = partial(phase_transition.delta_nn, draws=1 << 9)
    monkeypatch.setattr(phase_transition, "delta_nn", lambda *given, draws: short(*given[:3], 16))
    study = BY_NAME["phase-transition/learning-curve"].at("quick")
    small = replace(
        study, axes={"samples_per_dimension": [1.0, 6.0], "dimension": [40]}, trials=2,
        fixed={**study.fixed, "steps": 20, "theory_steps": 16},
    )  # fmt: skip
    results = run(small, tmp_path / "a.sqlite", workers=0)
    assert results.attrs["failed"] == 0
    labels = [text.get_text() for text in figure(small, results).axes[0].get_legend().get_texts()]
    assert {"$δ_{alg}$", "descent, d = 40", "V(t), d = 40"} <= set(labels)
    assert _half(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.3, 0.7])) == pytest.approx(3.0)
    assert _half(np.array([1.0, 2.0]), np.array([0.1, 0.3])) is None
    study = BY_NAME["phase-transition/delta-nn-vs-time"].at("quick")
    arms = {"theory": Arm("predict", {"draws": 1 << 10})}
    small = replace(study, fixed={**study.fixed, "steps": 16}, arms=arms)
    results = run(small, tmp_path / "b.sqlite", workers=0)
    assert len(figure(small, results).axes) == 2
