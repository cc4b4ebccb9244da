"""The claims about two digits, on made-up curves."""

import re

import numpy as np
import pytest
import xarray as xr

from firstlight.early_alignment.claims import digits


def made(right=0.97, cosine=0.99, rank=1.2, fall_at=2):
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
            "stable_rank": over(np.linspace(9, rank, 5)),
            "right_sign": (("arm", "samples", "trial"), (right + trial)[None, None]),
        },
        {"arm": ["descent"], "samples": [100], "time": time},
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["holds", "holds", "holds"]),
        ({"right": 0.7}, ["holds in part", "holds", "holds"]),
        ({"right": 0.4}, ["does not hold", "holds", "holds"]),
        ({"cosine": 0.5}, ["holds", "holds in part", "holds"]),
        ({"rank": 3.0}, ["holds", "holds", "does not hold"]),
        ({"fall_at": 9}, ["holds", "undecided", "holds"]),  # no fall, no time to look at
    ],
)
def test_claims_follow_the_curves(changes, expected):
    assert [claim.verdict for claim in digits(made(**changes))] == expected


def test_the_cosine_is_that_of_the_fall():
    found = made()
    found["cosine_plus"] = xr.where(
        found.time > 2, 0.3, found["cosine_plus"]
    )  # what comes later is no matter
    assert "cosine to x₊: 0.991" in digits(found)[1].evidence


@pytest.mark.parametrize("seed", range(3))
def test_intervals_stay_within_what_is_possible(seed):
    """Two trials that differ: Student's interval alone would reach cosines of 1.04 and ranks below 1."""
    found, rng = made(), np.random.default_rng(seed)
    for name, near in {
        "cosine_plus": 0.99,
        "cosine_minus": 0.99,
        "right_sign": 0.99,
        "stable_rank": 1.02,
    }.items():
        found[name] = near + (found[name] * 0 + rng.uniform(-0.01, 0.01, size=found[name].shape))
    numbers = [float(n) for claim in digits(found) for n in re.findall(r"-?\d+\.\d+", claim.evidence)]
    share, cosines, rank = numbers[:3], numbers[3:9], numbers[9:]
    assert max(share + cosines) <= 1
    assert min(rank) >= 1
