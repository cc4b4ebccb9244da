"""The claims about two digits, on made-up curves."""

import json

import numpy as np
import pytest
import xarray as xr

from firstlight.early_alignment import Problem, claims
from firstlight.early_alignment.claims import digits
from firstlight.early_alignment.theory.bounds import bounds
from firstlight.early_alignment.theory.geometry import geometry


def fixed(**values):
    return {"configuration": json.dumps({"fixed": values})}


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
        fixed(width=50),
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["holds", "holds", "holds", "holds"]),
        ({"right": 0.7}, ["holds in part", "holds", "holds", "holds"]),
        ({"right": 0.4}, ["does not hold", "holds", "holds", "holds"]),
        ({"cosine": 0.5}, ["holds", "does not hold", "holds", "holds"]),
        ({"least": 0.5}, ["holds", "holds", "does not hold", "holds"]),
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
    """Four trials of each arm, with a little noise of their own, over the given axes."""
    parts = np.stack([np.asarray(values, float) for values in arms.values()])
    parts = parts[..., None] * (1 + 1e-3 * np.random.default_rng(0).uniform(size=(*parts.shape, 4)))
    dims = ("arm", *axes, "trial")
    told = fixed(samples=16, width=30, log_scale=-4e4)
    return xr.Dataset({times: (dims, parts)}, {"arm": list(arms), **axes}, told)


@pytest.mark.parametrize(
    ("worst", "paper", "sharp"), [(0.9, "holds", "holds"), (1.5, "holds", "does not hold")]
)
def test_one_point_beyond_a_bound_refutes_it(worst, paper, sharp):
    arms = by_arm("alignment_time", {"mu": [0.1, 0.2]}, flow=[0.1, worst], sharp=[1, 1], paper=[9, 9])
    assert [claim.verdict for claim in claims.times(arms)] == [paper, sharp]
    unknown = arms.where(arms["arm"] != "paper")
    assert claims.times(unknown)[0].verdict == "undecided"
    assert [(claim.statement, claim.verdict) for claim in claims.needed_scale(arms)] == [
        (claims.SCALE, paper), (claims.TIME, paper), (claims.SHARP, sharp),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "switches", "verdict"),
    [
        ([0.0, 0.0], [300, 200], "holds"),  # no spread, and still known: 0 of 800 lie below 0.4 %
        ([0.0, 0.0], [300, 20], "undecided"),  # 0 of 80 may be 3.7 %
        ([0.0, 0.05], [300, 300], "does not hold"),
        ([0.0, 0.0], [300, 0], "undecided"),
        ([0.5, 0.0], [300, 0], "does not hold"),  # what is not known does not hide what refutes
    ],
)
def test_no_wrong_switch_among_many_is_evidence(wrong, switches, verdict):
    axes = {"mu": [0.1, 0.2]}
    arms = by_arm("alignment_time", axes, flow=[0.1, 0.1], sharp=[1, 1], paper=[9, 9])
    dims, none = ("arm", "mu", "trial"), np.full((2, 2, 4), np.nan)
    for name, values in (("wrong_switches", wrong), ("switches", switches)):
        flow = np.repeat(np.asarray(values, float)[:, None], 4, axis=1)
        arms[name] = dims, np.concatenate([flow[None], none])
    claim = claims.times(arms)[-1]
    assert (claim.statement, claim.verdict) == (claims.MONOTONE, verdict)


def test_wrong_switches_of_one_trial_count_as_one_trial():
    flow = xr.Dataset({
        "switches": (("mu", "n", "trial"), np.full((1, 2, 4), 2000.0)),
        "wrong_switches": (("mu", "n", "trial"), [[[0.0] * 4, [0.03, 0.0, 0.0, 0.0]]]),
    })  # fmt: skip
    part = claims._wrong(flow)  # by switches alone: 0.0075, at most 0.0093
    assert part.value == pytest.approx(0.0075)
    assert part.high > 0.01 > part.value


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
    [claim] = claims.rate(arms)
    assert (claim.statement, claim.verdict) == (claims.BEYOND[claims.LOSS], verdict)


@pytest.mark.parametrize(("time", "verdict"), [(9.0, "holds"), (1e3, "undecided")])
def test_the_loss_is_judged_by_the_theorem_only_where_its_condition_is_met(time, verdict):
    bound = np.array([[1.0, 1.0, 0.1, 0.01], [1.0, 1.0, 0.1, 0.01]])
    flow = bound * np.array(
        [[0.1], [3.0]]
    )  # beyond the bound at the second separability, where ε is too large
    axes = {"mu": [0.3, 0.1]}
    arms = by_arm("loss", {**axes, "time": [0, 1, 2, 3]}, flow=flow, rate=bound)
    asked = by_arm("alignment_time", axes, flow=[1.0, 1.0], rate=[time, 1e3])  # 4 n t₁: 576 or 64 000
    [claim] = claims.rate(arms.merge(asked, combine_attrs="override"))
    assert (claim.statement, claim.verdict) == (claims.LOSS, verdict)


@pytest.mark.parametrize(("growth", "verdict"), [(3, "holds"), (1, "does not hold")])
def test_phases_are_separate_if_growth_waits_for_turning(growth, verdict):
    time = np.arange(60.0)
    curves = {
        "loss": np.where(time < 30, 1.0, 0.5),
        "direction_change": np.where(time < 10, 1.0, 1e-4),
        "norm_change": np.where(time < 20 * growth - 29, 1e-3, 1.0),
    }
    data = xr.merge(
        [by_arm(name, {"data": ["toy"], "time": time}, descent=[values]) for name, values in curves.items()]
    )
    assert claims.phases(data)[0].verdict == verdict


@pytest.mark.parametrize("seed", range(6))
def test_the_condition_is_that_of_the_theorem(seed):
    """Random data, widths, scales: the claims' mask, by the bound alone, is `bounds(...).applies`."""
    rng = np.random.default_rng(seed)
    n, width, mu = int(rng.integers(4, 20)), int(rng.integers(4, 40)), float(rng.uniform(0.2, 0.9))
    for power in (1, 3, 4, 5, 6):
        log_scale = -(10.0**power)
        problem = Problem(samples=n, width=width, mu=mu, log_scale=log_scale, dimension=10)
        X, y, W, v = problem.draw(seed)
        promised = bounds(geometry(X, y, W, np.where(v < 0, -1, 1)), width, log_scale)
        time = xr.Dataset(
            {"alignment_time": (("arm", "trial"), [[promised.alignment_time["paper"]]])}, {"arm": ["paper"]},
            fixed(samples=n, width=width, log_scale=log_scale),
        )  # fmt: skip
        assert bool(claims._met(time).all()) is promised.applies


def test_beyond_the_condition_the_claim_says_so():
    arms = by_arm("alignment_time", {"mu": [0.1, 0.2]}, flow=[0.1, 0.5], sharp=[1, 1], paper=[9, 9])
    inside = claims.times(arms)
    beyond = claims.times(arms.assign_attrs(fixed(samples=16, width=30, log_scale=-20.0)))
    assert [claim.statement for claim in inside] == [claims.TIME, claims.SHARP]
    assert [claim.statement for claim in beyond] == [claims.BEYOND[claims.TIME], claims.BEYOND[claims.SHARP]]
    assert all("beyond its condition" in claim.text for claim in beyond)
    # what lies outside the condition decides nothing where there is something inside it
    wild = by_arm("alignment_time", {"samples": [2, 9000]}, flow=[0.1, 50], sharp=[1, 1], paper=[9, 9])
    assert [claim.verdict for claim in claims.times(wild)] == ["holds", "holds"]


def test_a_dead_neuron_in_ten_is_not_two_percent():
    results = made()
    assert digits(results)[2].verdict == "holds"
    assert digits(results.assign(dead=results["dead"] + 0.1))[2].verdict == "does not hold"
    fewer = results.assign_attrs(fixed(width=10))  # none of 30 neurons: up to 9.5 % may be dead
    assert digits(fewer)[2].verdict == "undecided"
