"""Theory and experiment side by side, on a theory whose answers are known in closed form."""

import json

import numpy as np
import pytest
import xarray as xr
from tiny import Tiny

import firstlight
from firstlight.maths.rng import generator, stream
from firstlight.study.compare import scaling
from firstlight.study.judge import fit_rate, judge, overall, standard_errors, trial_mean


def test_every_part_follows_from_the_trials():
    comparison = firstlight.compare(Tiny(rate=2.0, samples=1000), trials=8, rng=3)
    values = comparison["mean"].values
    by_hand = [stream(3, "trial", i).exponential(0.5, 1000).mean() for i in range(8)]
    assert values.tolist() == by_hand
    assert comparison["mean_predicted"] == 0.5
    # Two ways to sum eight numbers differ by rounding only.
    np.testing.assert_allclose(comparison["mean_mean"], np.mean(values), rtol=1e-14)
    sem = np.std(values, ddof=1) / np.sqrt(8)
    np.testing.assert_allclose(comparison["mean_sem"], sem, rtol=1e-13)
    np.testing.assert_allclose(comparison["mean_z"], (np.mean(values) - 0.5) / sem, rtol=1e-10)
    np.testing.assert_allclose(comparison["mean_gap"], np.mean(values) / 0.5 - 1, rtol=1e-10)
    assert comparison["mean_verdict"] in ("agrees", "undecided")


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
    comparison = firstlight.compare(Tiny(1.0), rng=0, predict={"bad_at": 1.0})
    assert np.isnan(comparison["variance_predicted"])


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


class Announced(Conditioned):
    """The same, and it says so."""

    def conditional(self, **options):
        return True


def test_a_theory_that_says_it_is_conditional_is_paired_by_itself():
    problem = Announced(samples=10)
    by_itself = firstlight.compare(problem, rng=0)
    assert by_itself["mean_verdict"] == "agrees"
    assert by_itself["mean_predicted"].dims == ("trial",)
    averaged = firstlight.compare(problem, trials=30, rng=0, paired=False)
    # independent draws: both means spread by 1/sqrt(10 · 30) = 0.06, and the gap by both
    assert averaged["mean_predicted"].dims == ()
    both = np.hypot(averaged["mean_sem"], averaged["mean_predicted_sem"])
    np.testing.assert_allclose(averaged["mean_gap_sem"], both / averaged["mean_predicted"], rtol=1e-12)
    assert averaged["mean_verdict"] == "undecided"


class Estimated(Tiny):
    """A theory with an error of its own."""

    def predict(self, rng=None, **options):
        return xr.Dataset({"mean": 0.9, "mean_sem": options.get("error", 0.0)})


def test_the_error_of_a_prediction_counts():
    sharp, blurred = (
        firstlight.compare(Estimated(1.0, 100_000), rng=0, predict={"error": error}) for error in (0.0, 0.05)
    )
    assert sharp["mean_verdict"] == "differs"
    assert blurred["mean_verdict"] == "undecided"
    assert np.isinf(blurred["mean_trials_needed"])  # no number of trials can decide
    assert "mean_sem_predicted" not in blurred


def test_undecided_says_how_many_trials_would_decide():
    problem, few = Tiny(1.0, samples=100), 4
    comparison = firstlight.compare(problem, trials=few, rng=0)
    assert comparison["mean_verdict"] == "undecided"
    needed = int(comparison["mean_trials_needed"])
    # the guess takes the gap of four trials for the true one, so a few times more are sure to do
    assert firstlight.compare(problem, trials=4 * needed, rng=0)["mean_verdict"] == "agrees"
    assert np.isnan(firstlight.compare(problem, trials=1, rng=0)["mean_trials_needed"])
    assert np.isnan(firstlight.compare(Tiny(1.0, 100_000), rng=0)["mean_trials_needed"])


@pytest.mark.parametrize(
    ("words", "needed", "said"),
    [
        ("uuuuu", [20, 30, 40, 50, 60], "undecided at 5 of 5 points (about 20 to 60 trials would decide)"),
        ("uu", [np.nan, np.nan], "undecided at 2 of 2 points (one trial has no standard error)"),
        ("uu", [np.inf, 20], "undecided at 2 of 2 points (about 20 trials would decide)"),
        ("u", [np.inf], "undecided at 1 of 1 points (the prediction's own error is too large to decide)"),
        ("ddu", [np.nan, np.nan, 9], "differs at 2 of 3 points (1 undecided, about 9 trials would decide)"),
        ("au", [np.nan, 12345], "agrees at 1 of 2 points (1 undecided, about 12,000 trials would decide)"),
        ("nnd", [np.nan] * 3, "differs at 1 of 1 points (no prediction at 2)"),
        ("nn", [np.nan] * 2, "has nothing to compare with"),
    ],
)
def test_too_few_trials_never_read_as_no_agreement(words, needed, said):
    spelled = {"a": "agrees", "d": "differs", "u": "undecided", "n": "no prediction"}
    assert overall(np.array([spelled[word] for word in words]), np.array(needed, dtype=float)) == said


def test_intervals_hold_their_level_with_few_trials():
    # without tolerance "differs" must come in 5 % of cases, whatever the number of trials; with 2000 cases
    # its rate is good to 0.5 %
    rng = np.random.default_rng(0)
    for trials in (2, 3, 8):
        values = xr.DataArray(rng.normal(size=(trials, 2000)), dims=("trial", "case"))
        judged = judge(values, xr.zeros_like(values.isel(trial=0)))
        assert abs(float((judged["verdict"] == "differs").mean()) - 0.05) < 0.015


def test_yes_or_no_in_every_trial_is_no_certainty():
    all_yes = xr.DataArray(np.ones(8), dims="trial", attrs={"binary": True})
    # eight of eight come in 43 % of cases where the chance is 0.9
    assert judge(all_yes, xr.DataArray(0.9))["verdict"] == "undecided"
    assert judge(all_yes, xr.DataArray(0.2))["verdict"] == "differs"
    certain = xr.DataArray(np.ones(1000), dims="trial", attrs={"binary": True})
    assert judge(certain, xr.DataArray(1.0))["verdict"] == "agrees"


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
    # of two trials Student's interval reaches 12.7 standard errors, here 0.0005
    values = xr.DataArray([[1.0, 5.0, 0.0, 1.0], [1.001, 5.001, 0.0, np.nan]], dims=("trial", "x"))
    judged = judge(values, xr.DataArray([1.0, 1.0, 0.0, np.nan], dims="x"))
    assert judged["verdict"].values.tolist() == ["agrees", "differs", "agrees", "no prediction"]
    assert overall(judged["verdict"]) == "agrees at 2 of 3 points (1 differ, no prediction at 1)"
    small = judge(values, xr.DataArray([1.0, 1.0, 0.0, np.nan], dims="x"), absolute=10.0)
    assert small["verdict"].values.tolist()[:3] == ["agrees"] * 3


def test_scaling_finds_the_known_rate():
    # The variance with divisor n falls short by exactly 1/n: slope -1, here with an error near 0.2.
    rate = scaling(lambda n: Tiny(2.0, n), 3, trials=1500, rng=1)
    assert rate["size"].values.tolist() == [3, 6, 12]
    slope, sem = float(rate["variance_rate"]), float(rate["variance_rate_sem"])
    assert sem < 0.3
    assert abs(slope + 1) < 3 * sem
    assert "no rate" in str(rate["mean_rate_note"].values)  # the mean is unbiased: there is nothing to fit
    assert np.isnan(rate["mean_rate"])


def test_rates():
    exact = fit_rate([1, 10, 100], [1.0, 0.1, 0.01], [0.0, 0.0, 0.0])
    assert (exact.slope, exact.sem) == (pytest.approx(-1.0, rel=1e-12), 0.0)
    assert np.isnan(fit_rate([1, 2], [1.0, np.nan], [0.1, 0.1]).slope)
    assert fit_rate([1, 10], [1.0, 0.01], [1e-3, 1e-5], power=2).slope == pytest.approx(-1.0)


def test_standard_errors_are_students_and_never_zero_by_default():
    parts = xr.Dataset({
        "known": ("draw", [1.0, 2.0, 3.0]), "once": ("draw", [1.0, np.nan, np.nan]),
        "never": ("draw", [np.inf, np.inf, np.inf]),
    })  # fmt: skip
    spread = standard_errors(parts, "draw")  # a warning about too few values would be an error here
    # Student's interval of three values: 4.3027 / √3 on both sides, told as 1.95996 standard errors
    assert float(spread["known_sem"]) == pytest.approx(4.302653 / 3**0.5 / 1.959964, rel=1e-6)
    assert np.isnan(spread["once_sem"])
    assert np.isnan(spread["never_sem"])
    mean, error = trial_mean(xr.DataArray([np.inf, np.inf], dims="trial"))
    assert np.isinf(mean)
    assert np.isnan(error)
