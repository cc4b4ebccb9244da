"""Rank agreement against SciPy, against the textbook formula of W, and its intervals against coverage."""

import numpy as np
import pytest
from scipy import stats

from firstlight.maths.agreement import rank_agreement


def test_equals_scipy_with_ties():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, 30), rng.normal(size=30)
    agreement = rank_agreement(a, b, resamples=50)
    assert float(agreement.spearman) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-13)
    assert float(agreement.pearson) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-13)
    # for two rankings W = (1 + r_s) / 2 when there are no ties
    b2 = rng.normal(size=30)
    two = rank_agreement(b, b2, resamples=0)
    assert float(two.kendall_w) == pytest.approx((1 + float(two.spearman)) / 2, abs=1e-13)
    assert np.isnan(two.spearman_interval).all()


def test_kendall_w_is_the_textbook_formula():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 5, size=(4, 9))
    ranks = stats.rankdata(scores, axis=1)
    m, k = ranks.shape
    total = ranks.sum(axis=0)
    ties = sum((t**3 - t) for row in scores for t in np.unique(row, return_counts=True)[1])
    expected = 12 * ((total - total.mean()) ** 2).sum() / (m**2 * (k**3 - k) - m * ties)
    assert float(rank_agreement(*scores, resamples=0).kendall_w) == pytest.approx(expected, abs=1e-13)


def test_groups_are_judged_one_by_one_and_constant_ones_left_out():
    rng = np.random.default_rng(2)
    a = rng.normal(size=(12, 8))
    b = a + rng.normal(size=(12, 8))
    b[4] = 1.0
    agreement = rank_agreement(a, b, rng=1)
    each = [stats.spearmanr(a[g], b[g]).statistic for g in range(12) if g != 4]
    assert float(agreement.spearman) == pytest.approx(np.mean(each), abs=1e-13)
    assert int(agreement.undefined) == 1
    low, high = agreement.spearman_interval.values
    assert low < float(agreement.spearman) < high
    # the interval of a mean of 11 values is about ± 2 standard errors wide
    assert 0.5 < (high - low) / (4 * np.std(each, ddof=1) / np.sqrt(11)) < 1.5
    same = rank_agreement(a, b, rng=1)
    np.testing.assert_array_equal(agreement.spearman_interval, same.spearman_interval)


def test_all_constant_is_nan_and_said():
    agreement = rank_agreement([1, 1, 1], [1, 2, 3], resamples=10)
    assert np.isnan(agreement.spearman)
    assert np.isnan(agreement.kendall_w)
    assert int(agreement.undefined) == 1


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (([1, 2, 3],), {}, "at least two"),
        (([1, 2, 3], [1, 2]), {}, "shapes"),
        (([1, 2], [1, 2]), {}, "at least 3"),
        (([1, 2, np.nan], [1, 2, 3]), {}, "NaN"),
        (([1, 2, 3], [1, 2, 3]), {"level": 1.0}, "level = 1.0"),
        (([1, 2, 3], [1, 2, 3]), {"resamples": -1}, "resamples = -1"),
    ],
)
def test_bad_input(scores, options, message):
    with pytest.raises(ValueError, match=message):
        rank_agreement(*scores, **options)
