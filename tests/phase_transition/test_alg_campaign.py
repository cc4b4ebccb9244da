"""delta_alg off the axes: a fixed sample of `campaigns/delta_alg.py`, and targets that once were wrong."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from firstlight import MultiIndex
from firstlight.phase_transition.theory.alg import delta_alg
from firstlight.phase_transition.theory.subspaces import subspaces

_PATH = Path(__file__).parents[2] / "campaigns" / "delta_alg.py"
_SPEC = importlib.util.spec_from_file_location("campaign", _PATH)
campaign = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(campaign)


def two_sided_step(edge):
    """1/E[G²] of sign(|z| - edge), from normal tables alone."""
    inside, moved = 2 * norm.cdf(edge) - 1, 2 * edge * norm.pdf(edge)
    return 1 / (moved**2 / inside + moved**2 / (1 - inside))


@pytest.mark.parametrize("seed", [1, 2, 3, 7, 9, 13, 81, 301, 317])  # the last three were wrong once
def test_a_sample_of_the_campaign(seed):
    wrong = campaign.judged(seed)
    assert not wrong["wrong"]
    assert wrong["converged"]


@pytest.mark.parametrize(
    ("text", "noise", "value"),
    [("z1 + z2 + sign(abs(z1 - z2) - 1.9)", 0.0, two_sided_step(1.9 / np.sqrt(2))),
     ("relu(z1 + z2) + tanh((z1 - z2)**2)", 0.0, 0.5),
     ("0.6*z1 + 0.8*z2 + sign(abs(0.8*z1 - 0.6*z2) - 1.3)", 0.0, two_sided_step(1.3)),
     ("sign(0.6*z1 + 0.8*z2 - 0.0729) + 0.1*(0.8*z1 - 0.6*z2)**2", 0.0, 0.5),
     ("where(0.6*z1 + 0.8*z2 > 0.3, (0.8*z1 - 0.6*z2)**2, -floor(0.6*z1 + 0.8*z2))", 0.0,
      0.5 / norm.sf(0.3))],
)  # fmt: skip
def test_an_easy_direction_off_the_axes(text, noise, value):
    threshold = delta_alg(MultiIndex(text, noise=noise))
    assert threshold.known.shape == (2, 1)
    # slices of labels; those of tanh agree in all digits far out, which the error tells
    assert abs(threshold.value - value) <= threshold.residual + 1e-4 * value
    assert threshold.converged


@pytest.mark.parametrize(
    ("text", "noise", "plain"),
    [("0.6*z1 + 0.8*z2 + cos(0.8*z1 - 0.6*z2)", 0.0, np.cos),
     ("0.6*z1 + 0.8*z2 + sign(abs(0.8*z1 - 0.6*z2) - 1.3)", 0.3, lambda b: np.sign(np.abs(b) - 1.3))],
)  # fmt: skip
def test_off_the_axes_against_cells(text, noise, plain):
    truth = 1 / campaign.told(plain, noise)
    assert delta_alg(MultiIndex(text, noise=noise)).value == pytest.approx(truth, rel=1e-3)  # of the cells


def test_nothing_and_infinity_need_evidence():
    narrow = delta_alg("abs(z1) < 0.001")
    assert narrow.value == pytest.approx(two_sided_step(0.001), rel=1e-6)
    # z1 shows a little: too much to call it hard, too little to call it easy
    assert not delta_alg("z1**2 + 0.003*z1").converged
    # hidden in pairs of signs, of which a function in another frame gives no proof
    frame = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    law = MultiIndex("z1 + sign(z2*z3*z4)").law
    assert not subspaces(MultiIndex(lambda z: law(z @ frame), 4)).sure


@pytest.mark.parametrize("text", ["sin(1e300*z1)", "cos(1000*z1)"])
def test_labels_that_turn_too_often_are_sampled(text):
    threshold = delta_alg(text)  # once 5.6 GB, and half a minute
    assert (threshold.value, threshold.route) == (np.inf, "quasi-Monte-Carlo")
    assert not threshold.converged  # too large to be told from infinity
