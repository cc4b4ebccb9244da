"""Theory and experiment side by side, on a room whose answers are known in closed form."""

import json

import numpy as np
import pytest
import xarray as xr
from tiny import Tiny

import firstlight
from firstlight.rng import generator, stream
from firstlight.study.judge import judge, overall
from firstlight.study.scaling import fit_rate, scaling


def test_every_part_follows_from_the_trials():
    found = firstlight.compare(Tiny(rate=2.0, samples=1000), trials=8, rng=3)
    values = found["mean"].values
    by_hand = [stream(3, "trial", i).exponential(0.5, 1000).mean() for i in range(8)]
    assert values.tolist() == by_hand
    assert found["mean_predicted"] == 0.5
    # Two ways to sum eight numbers differ by rounding only.
    np.testing.assert_allclose(found["mean_mean"], np.mean(values), rtol=1e-14)
    sem = np.std(values, ddof=1) / np.sqrt(8)
    np.testing.assert_allclose(found["mean_sem"], sem, rtol=1e-13)
    np.testing.assert_allclose(found["mean_z"], (np.mean(values) - 0.5) / sem, rtol=1e-10)
    np.testing.assert_allclose(found["mean_gap"], np.mean(values) / 0.5 - 1, rtol=1e-10)
    assert found["mean_verdict"] in ("agrees", "undecided")


def test_verdicts():
    large = {"samples": 100_000}
    assert firstlight.compare(Tiny(1.0, **large), rng=0)["mean_verdict"] == "agrees"
    assert (
        firstlight.compare(Tiny(1.0, **large), rng=0, simulate={"shift": 0.08})["mean_verdict"] == "differs"
    )
    assert firstlight.compare(Tiny(1.0, samples=3), rng=0)["mean_verdict"] == "undecided"
    assert firstlight.compare(Tiny(1.0), rng=0, predict={"bad_at": 1.0})["mean_verdict"] == "no prediction"
    assert firstlight.compare(Tiny(1.0, **large), trials=1, rng=0)["mean_verdict"] == "undecided"


def test_an_unconverged_value_is_blank_even_if_the_solver_left_a_number():
    found = firstlight.compare(Tiny(1.0), rng=0, predict={"bad_at": 1.0})
    assert np.isnan(found["variance_predicted"])


def test_seeds():
    one = firstlight.compare(Tiny(), rng=5)
    xr.testing.assert_identical(one.drop_attrs(), firstlight.compare(Tiny(), rng=5).drop_attrs())
    drawn = firstlight.compare(Tiny(), rng=np.random.default_rng(1))
    again = firstlight.compare(Tiny(), rng=drawn.attrs["seed"])
    xr.testing.assert_identical(drawn.drop_attrs(), again.drop_attrs())
    assert (firstlight.compare(Tiny())["mean"] != one["mean"]).all()


def test_attributes_tell_how_to_make_it_again():
    attrs = firstlight.compare(Tiny(rate=2.0), trials=2, rng=5).attrs
    assert json.loads(attrs["configuration"])["problem"]["rate"] == 2.0
    assert attrs["seed"] == 5
    for key in ("firstlight", "numpy", "scipy", "blas", "cpu", "date", "command"):
        assert attrs[key]


class Conditioned(Tiny):
    """A theory that sees the trial's own draw, up to a small known error."""

    def predict(self, rng=None, **options):
        exact = generator(rng).exponential(1 / self.rate, self.samples).mean()
        return xr.Dataset({"mean": exact * 1.01})


def test_pairing_cancels_the_shared_noise():
    problem = Conditioned(samples=10)
    assert firstlight.compare(problem, rng=0)["mean_verdict"] == "undecided"
    paired = firstlight.compare(problem, rng=0, paired=True)
    assert paired["mean_verdict"] == "agrees"
    np.testing.assert_allclose(paired["mean_gap"], 1 / 1.01 - 1, rtol=1e-12)
    assert paired["mean_predicted"].dims == ("trial",)


class Misshapen(Tiny):
    def predict(self, rng=None, **options):
        return xr.Dataset({"mean": ("x", [1.0, 2.0])})


class Mute(Tiny):
    def predict(self, rng=None, **options):
        return xr.Dataset({"other": 1.0})


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: firstlight.compare(Misshapen()), "observable mean"),
        (lambda: firstlight.compare(Mute()), "no observable in common"),
        (lambda: firstlight.compare(Tiny(), trials=0), "trials = 0"),
        (lambda: firstlight.compare(Tiny(), tolerance=-1.0), "tolerance = -1.0"),
        (lambda: firstlight.compare(Tiny(), rng=-1), "rng = -1"),
        (lambda: scaling(Tiny, [10]), "sizes"),
        (lambda: scaling(Tiny, -4), "sizes = -4"),
    ],
)
def test_refusals(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_judging_arrays_point_by_point():
    values = xr.DataArray([[1.0, 5.0, 0.0, 1.0], [1.01, 5.01, 0.0, np.nan]], dims=("trial", "x"))
    found = judge(values, xr.DataArray([1.0, 1.0, 0.0, np.nan], dims="x"))
    assert found["verdict"].values.tolist() == ["agrees", "differs", "agrees", "no prediction"]
    assert overall(found["verdict"]) == "agrees at 2 of 3 points (1 differ, no prediction at 1)"
    small = judge(values, xr.DataArray([1.0, 1.0, 0.0, np.nan], dims="x"), absolute=10.0)
    assert small["verdict"].values.tolist()[:3] == ["agrees"] * 3


def test_scaling_finds_the_known_rate():
    # The variance with divisor n falls short by exactly 1/n: slope -1, here with an error near 0.2.
    found = scaling(lambda n: Tiny(2.0, n), 3, trials=1500, rng=1)
    assert found["size"].values.tolist() == [3, 6, 12]
    slope, sem = float(found["variance_rate"]), float(found["variance_rate_sem"])
    assert sem < 0.3
    assert abs(slope + 1) < 3 * sem
    assert "no rate" in str(found["mean_rate_note"].values)  # the mean is unbiased: there is nothing to fit
    assert np.isnan(found["mean_rate"])


def test_rates():
    exact = fit_rate([1, 10, 100], [1.0, 0.1, 0.01], [0.0, 0.0, 0.0])
    assert (round(exact.slope, 12), exact.sem) == (-1.0, 0.0)
    assert np.isnan(fit_rate([1, 2], [1.0, np.nan], [0.1, 0.1]).slope)
    assert fit_rate([1, 10], [1.0, 0.01], [1e-3, 1e-5], power=2).slope == pytest.approx(-1.0)
