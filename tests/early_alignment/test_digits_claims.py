"""The claims about two digits, on made-up curves."""

import numpy as np
import pytest
import xarray as xr

from firstlight.early_alignment import claims
from firstlight.early_alignment.claims import digits


def made(right=0.97, cosine=0.99, rank=1.2, fall_at=2, least=0.95):
    """Three trials of five times; the loss falls at one of them, the cosines are high from then on."""
    time, trial = np.arange(5), 0.001 * np.arange(3)
    late = time >= fall_at

    def over(values):
        return ("arm", "samples", "trial", "time"), (values + trial[:, None])[None, None]

    return xr.Dataset(
        {
            "loss": over(np.where(late, 0.8, 1.0) - 0.05 * late * (time - fall_at)),
            "cosine_plus": over(np.where(late, cosine, 0.1)),
            "cosine_minus": over(np.where(late, 0.99, 0.1)),
            "cosine_plus_min": over(np.where(late, least, 0.1)),
            "cosine_minus_min": over(np.where(late, 0.98, 0.1)),
            "dead": over(0.0 * time),
            "stable_rank": over(np.linspace(9, rank, 5)),
            "right_sign": (("arm", "samples", "trial"), (right + trial)[None, None]),
        },
        {"arm": ["descent"], "samples": [100], "time": time},
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["holds", "holds", "holds", "holds"]),
        ({"right": 0.7}, ["holds in part", "holds", "holds", "holds"]),
        ({"right": 0.4}, ["does not hold", "holds", "holds", "holds"]),
        ({"cosine": 0.5}, ["holds", "holds in part", "holds", "holds"]),
        ({"least": 0.5}, ["holds", "holds", "holds in part", "holds"]),
        ({"rank": 3.0}, ["holds", "holds", "holds", "does not hold"]),
        ({"fall_at": 9}, ["holds", "undecided", "undecided", "holds"]),  # no fall, no time to look at
    ],
)
def test_claims_follow_the_curves(changes, expected):
    assert [claim.verdict for claim in digits(made(**changes))] == expected


def test_the_cosine_is_that_of_the_fall():
    results = made()
    results["cosine_plus"] = xr.where(
        results.time > 2, 0.3, results["cosine_plus"]
    )  # what comes later is no matter
    assert "cosine to x₊: 0.991" in digits(results)[1].evidence


@pytest.mark.parametrize("seed", range(3))
def test_intervals_stay_within_what_is_possible(seed):
    """Two trials that differ: Student's interval alone would reach cosines of 1.04 and ranks below 1."""
    result, rng = made(), np.random.default_rng(seed)
    for name, near in {
        "cosine_plus": 0.99,
        "cosine_minus": 0.99,
        "cosine_plus_min": 0.99,
        "cosine_minus_min": 0.99,
        "right_sign": 0.99,
        "stable_rank": 1.02,
    }.items():
        result[name] = near + (result[name] * 0 + rng.uniform(-0.01, 0.01, size=result[name].shape))
    *shares, rank = digits(result)
    assert max(part.high for claim in shares for part in claim.estimates) <= 1
    assert min(part.low for part in rank.estimates) >= 1


def by_arm(times, axes, **arms):
    """Four trials of each arm, with a little noise, over the given axes."""
    noise = 1e-3 * np.random.default_rng(0).uniform(size=4)
    parts = [np.asarray(values, float)[..., None] * (1 + noise) for values in arms.values()]
    dims = ("arm", *axes, "trial")
    return xr.Dataset({times: (dims, np.stack(parts))}, {"arm": list(arms), **axes})


@pytest.mark.parametrize(
    ("worst", "paper", "sharp"), [(0.9, "holds", "holds"), (1.5, "holds", "does not hold")]
)
def test_one_point_beyond_a_bound_refutes_it(worst, paper, sharp):
    arms = by_arm("alignment_time", {"mu": [0.1, 0.2]}, flow=[0.1, worst], sharp=[1, 1], paper=[9, 9])
    assert [claim.verdict for claim in claims.times(arms)] == [paper, sharp]
    unknown = arms.where(arms["arm"] != "paper")
    assert claims.times(unknown)[0].verdict == "undecided"
    assert claims.needed_scale(arms)[0].verdict == paper


def test_a_start_that_changes_nothing_was_not_needed():
    scales = {"log_scale": [-2.0, -6.0]}
    same = by_arm("alignment_time", scales, flow=[2, 1.001], exact=[1, 1], sharp=[9, 9], paper=[9, 9])
    assert claims.scales(same)[-1].verdict == "does not hold"
    far = by_arm("alignment_time", scales, flow=[2, 1.5], exact=[1, 1], sharp=[9, 9], paper=[9, 9])
    assert claims.scales(far)[-1].verdict == "holds"


@pytest.mark.parametrize(("loss", "verdict"), [(0.5, "holds"), (1.2, "does not hold")])
def test_the_loss_is_compared_after_the_bound_falls(loss, verdict):
    bound = np.array([[1.0, 1.0, 0.1, 0.01]])
    flow = bound * np.array([1.0, 1.0, 0.3, loss])  # equal at the start, which decides nothing
    arms = by_arm("loss", {"mu": [0.3], "time": [0, 1, 2, 3]}, flow=flow, rate=bound)
    assert claims.rate(arms)[0].verdict == verdict


@pytest.mark.parametrize(("growth", "verdict"), [(3, "holds"), (1, "holds in part")])
def test_phases_are_separate_if_growth_waits_for_turning(growth, verdict):
    time = np.arange(60.0)
    curves = {
        "loss": np.where(time < 30, 1.0, 0.5),
        "direction_change": np.where(time < 10, 1.0, 0.0),
        "norm_change": np.where(time < 20 * growth - 29, 0.0, 1.0),
    }
    data = xr.merge(
        [by_arm(name, {"data": ["toy"], "time": time}, descent=[values]) for name, values in curves.items()]
    )
    assert claims.phases(data)[0].verdict == verdict
