"""What vanishes is measured as rounding, which is no difference; what is tiny and real still is one."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import firstlight
from firstlight import one_step, phase_transition
from firstlight.maths.scales import with_scales
from firstlight.show.summary import summarise
from firstlight.study.judge import judge
from firstlight.study.run import run
from firstlight.study.spec import Arm
from firstlight.study.store import Store
from firstlight.study.sweep import Study


def _scaled(ridge: float = 0.0, **fields: object) -> one_step.Problem:
    sizes = {"dimension": 30, "width": 120, "samples": 30, "alpha": 0.5, "beta": 0.5, "ridge": ridge}
    return one_step.Problem.scaled(**{**sizes, **fields})  # type: ignore[arg-type]


PROBLEMS = {
    # labels without an easy direction: the held network's cosine is 0
    "cosine": (phase_transition.Problem(dimension=60, steps=3, spectrum=False), {"draws": 512}),
    # more neurons than samples and no ridge: the data are fitted
    "interpolated": (_scaled(), {}),
    "interpolated classes": (_scaled(task="classification"), {}),
    "without a network": (_scaled(), {"method": "asymptotic", "draws": 2, "nodes": 64}),
    # linear labels of linear features: both errors vanish, with more neurons than directions or with fewer
    "linear": (_scaled(samples=90, activation="linear", link="linear"), {}),
    "linear, as many": (_scaled(samples=90, width=30, activation="linear", link="linear"), {}),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_rounding_is_no_difference(name: str) -> None:
    problem, options = PROBLEMS[name]
    comparison = firstlight.compare(problem, trials=8, rng=1, predict=options)
    zeros = 0
    for observable in (str(part)[:-8] for part in comparison if str(part).endswith("_verdict")):
        measured = np.abs(comparison[f"{observable}_mean"].values)
        tiny = (measured < 1e-20) & (comparison[f"{observable}_verdict"].values != "no prediction")
        assert not (comparison[f"{observable}_verdict"].values[tiny] != "agrees").any(), observable
        zeros += int(tiny.sum())
    assert zeros > 0


def test_rounding_is_no_difference_in_a_study(tmp_path) -> None:
    study = Study(
        "mine/vanishing", "training error without a ridge", one_step.Problem.scaled,
        fixed={"dimension": 30, "samples": 30, "alpha": 0.5, "beta": 0.5, "ridge": 0.0},
        axes={"width": [90, 120]}, observables=["train_error"], trials=4,
        arms={"theory": Arm("predict"), "network": Arm("simulate")},
    )  # fmt: skip
    with Store(tmp_path / "s.sqlite", write=True) as store:
        verdicts = summarise(study, run(study, store, workers=0))["train_error_verdict"]
    assert (verdicts == "agrees").all()


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e6])
def test_only_what_is_far_below_the_declared_scale_is_rounding(scale: float) -> None:
    """The allowance is 1e-12 of the scale, rounded up to a power of ten: at most 1e-11 of it."""
    rng = np.random.default_rng(0)

    def verdict(size: float, scales: Mapping[str, float]) -> str:
        values = xr.DataArray(size * scale * rng.uniform(0.9, 1.1, 8), dims="trial")
        table = with_scales(xr.Dataset({"error": values}), scales)
        return str(judge(table["error"], xr.DataArray(0.0))["verdict"].values)

    for size in 10 ** rng.uniform(-40, -13, 10):
        assert verdict(size, {"error": scale}) == "agrees"
    for size in 10 ** rng.uniform(-10.5, 0, 10):
        assert verdict(size, {"error": scale}) == "differs"
        assert verdict(size, {}) == "differs"


def test_a_tiny_start_that_is_doubled_still_differs() -> None:
    """Norms of a tiny start are real: nothing declares a scale for them."""
    problem = firstlight.early_alignment.Problem(
        samples=6, dimension=3, width=3, horizon=1.0, observations=3, log_scale=-46.0
    )
    predicted = problem.predict()
    for name in ("log_norm", "norm_change", "loss", "output_plus"):
        assert "scale" not in predicted[name].attrs
    doubled = replace(problem, log_scale=-46.0 + np.log(2.0)).simulate(0)
    values = np.exp(doubled["log_norm"]).expand_dims(trial=3)
    assert (judge(values, np.exp(predicted["log_norm"]))["verdict"] == "differs").all()


@pytest.mark.parametrize("width", [20, 45, 130, 300])
def test_the_training_error_follows_ridges_below_the_smallest_that_is_solved_for(width: int) -> None:
    """It is λ² times a constant where data are fitted, to the 1 % asked of limits, and else a constant."""
    ridges = (0.0, 1e-13, 1e-11, 1e-9, 1e-8)
    predicted = _scaled(ridge=ridges, dimension=60, width=width, samples=60).predict(
        method="asymptotic", draws=2, nodes=64
    )
    errors = predicted["train_error"].values
    assert predicted["converged"].all()
    power = 2 if width > 60 else 0
    np.testing.assert_allclose(errors, errors[-1] * (np.array(ridges) / 1e-8) ** power, rtol=0.02)
