"""What every theory promises, ours and the example of a plug-in, asked of each through the registry."""

import inspect
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import firstlight
from firstlight.study import registry
from firstlight.study.problem import Assumption, Problem

sys.path.append(str(Path(__file__).parents[2] / "examples" / "plugin_ridge"))
from firstlight_ridge import THEORY as RIDGE

THEORIES = {**registry.theories(), "ridge": RIDGE}

# theory -> fields of its default problem at two sizes, the second nearer to the limit; what is judged there
CASES = {
    "one_step": (
        [
            {"dimension": size, "width": size, "samples": size, "alpha": 0.0, "beta": 0.6, "ridge": 0.01}
            for size in (100, 200)
        ],
        ("test_error", "train_error", "weight_norm"),
    ),
    "early_alignment": (
        [
            {"samples": 8, "dimension": 4, "width": 6, "observations": 5, "horizon": 2.0, "log_scale": scale}
            for scale in (-6.0, -12.0)
        ],
        ("cosine_plus", "cosine_minus", "margin_plus", "margin_minus", "alignment_time"),
    ),
    "phase_transition": (
        [{"dimension": size, "steps": 4, "spectrum": False} for size in (100, 400)],
        ("train_loss", "test_loss", "train_error", "test_error", "norm"),
    ),
    "unseen_classes": (
        [{"width": width, "dimension": 64, "samples": 64, "unseen_samples": 20} for width in (256, 1024)],
        ("alignment", "elasticity", "snr"),
    ),
    "ridge": ([{"dimension": size, "samples": 2 * size} for size in (50, 200)], ("test_error",)),
}


def default(name, fields):
    return registry.resolve(next(iter(THEORIES[name].problems.values())))(**fields)


def test_every_theory_is_asked():
    assert set(CASES) == set(THEORIES)


@pytest.mark.parametrize("name", CASES)
def test_its_default_problem_keeps_the_promises(name):
    fields = CASES[name][0][0]
    problem, again = default(name, fields), default(name, fields)
    assert isinstance(problem, Problem)
    assert problem.theory == name
    assert problem == again == pickle.loads(pickle.dumps(problem))
    assert hash(problem) == hash(again)
    assert problem != default(name, CASES[name][0][1])
    assert set(problem.references) <= set(THEORIES[name].references)
    assumptions = problem.assumptions()
    assert assumptions
    assert all(isinstance(one, Assumption) and one.detail for one in assumptions)

    predicted, simulated = problem.predict(), problem.simulate(rng=0)
    xr.testing.assert_identical(predicted, again.predict())  # the same without a seed
    xr.testing.assert_identical(simulated, again.simulate(rng=0))
    own = {"converged", *(f"{observable}_sem" for observable in simulated)}  # what only a prediction says
    assert set(predicted) - own == set(simulated) - own
    for observable in simulated:
        assert predicted[observable].sizes == simulated[observable].sizes


@pytest.mark.parametrize("name", CASES)
def test_theory_and_experiment_agree_and_come_closer(name):
    (less, more), judged = CASES[name]
    gaps = []
    for fields in (less, more):
        comparison = firstlight.compare(default(name, fields), trials=8, rng=0, tolerance=0.1)
        verdicts = {
            str(one) for observable in judged for one in comparison[f"{observable}_verdict"].values.ravel()
        }
        assert "differs" not in verdicts
        assert "agrees" in verdicts
        parts = [
            (comparison[f"{observable}_{part}"].values.ravel() for part in ("gap", "gap_sem"))
            for observable in judged
        ]
        gap, sem = (np.concatenate(part) for part in zip(*parts, strict=True))
        known = np.isfinite(gap) & np.isfinite(sem)
        gaps.append((np.abs(gap[known]).mean(), sem[known].mean()))
    # Closer at the second size, or zero within twice the standard error: what eight trials can tell.
    assert gaps[1][0] <= max(gaps[0][0], 2 * gaps[1][1])


NAMES = [(theory, kind) for theory in THEORIES for kind in THEORIES[theory].problems]


@pytest.mark.parametrize(("theory", "kind"), NAMES)
def test_no_prediction_draws_afresh_by_default(theory, kind):
    factory = registry.resolve(THEORIES[theory].problems[kind])
    made = factory if isinstance(factory, type) else type(default(theory, CASES[theory][0][0]))
    assert inspect.signature(made.predict).parameters["rng"].default == 0
