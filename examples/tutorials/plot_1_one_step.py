r"""
One large step: the error that it leaves
========================================

**The idea.** Take a random two-layer network. Make *one* gradient step of its first layer, but a large one, and then fit the
second layer by ridge regression. That is the smallest experiment in which a network learns features: the step writes one
new direction into the first layer, made of the data and their labels. How good is the network afterwards? In high dimension
the answer is not random any more, and it can be computed without training.

**The formula.** Let :math:`\varphi(x) = \sigma(\hat F x)/\sqrt{k}` be the features after the step. Ridge regression minimises the mean
squared error on :math:`m` samples plus :math:`\lambda |w|^2`. On new inputs it leaves the error

.. math:: R = \frac{\mathbb{E}\,(y - \varphi^\top \bar w)^2}{1 - \gamma}, \qquad \bar w = (\Omega + \kappa I)^{-1} b .

Here :math:`y` is the label of a new input :math:`x`, :math:`\sigma` the activation, :math:`k` the width and :math:`\hat F` the first layer after the
step. :math:`\Omega = \mathbb{E}\,\varphi\varphi^\top` and :math:`b = \mathbb{E}\,y\varphi` are averages over all inputs. A finite sample acts
like a larger penalty :math:`\kappa`, the solution of :math:`\lambda = \kappa\,(1 - \frac{1}{m}\mathrm{tr}\,\Omega(\Omega + \kappa I)^{-1})`;
:math:`\bar w` is the read-out with that penalty. :math:`\gamma = \frac{1}{m}\,\mathrm{tr}\,\Omega^2 (\Omega + \kappa I)^{-2}` is between 0 and 1
and says how much of the error comes from fitting noise: where it approaches one, the error peaks.
"""

# %%
# **The picture.** Inputs are two Gaussian classes, each with one strong direction (a *spike*). The label is a ReLU of the input along
# one direction. In dimension :math:`d` the spike has strength :math:`d^{\beta(1-\alpha)}` and the step has size :math:`d^{\beta\alpha}`: so
# ``beta`` says how strong structure is, and ``alpha`` where it sits, 0 in the data, 1 in the step. We look at the error against the width.

import matplotlib.pyplot as plt
import numpy as np

from firstlight import one_step

SAMPLES = 200
WIDTHS = np.array([20, 60, 100, 160, 200, 240, 400, 800])


def problem(width, **changes):
    setting = {"alpha": 0.5, "beta": 0.74, "ridge": 1e-4, **changes}
    return one_step.Problem.scaled(
        dimension=200, width=int(width), samples=SAMPLES, **setting
    )


theory = [
    problem(width).predict(method="asymptotic").test_error.item()
    for width in WIDTHS
]
networks = np.array(
    [
        [
            problem(width).simulate(rng=[seed, width]).test_error.item()
            for seed in range(8)
        ]
        for width in WIDTHS
    ]
)

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(WIDTHS / SAMPLES, theory, label="theory, no network")
axes.errorbar(
    WIDTHS / SAMPLES,
    networks.mean(1),
    networks.std(1, ddof=1) / np.sqrt(8),
    fmt="o",
    label="8 networks, ± 1 s.e.m.",
)
axes.set(
    xscale="log",
    xlabel="width / samples",
    ylabel="test error",
    title="d = 200, m = 200, ReLU, seeds 0 to 7",
)
axes.legend()

# %%
# **It agrees.** ``compare`` does the same at one point, counts all errors and says a verdict. We allow a gap of 10 %, because
# theory is exact for large sizes only.

import firstlight

both = firstlight.compare(
    problem(400), trials=16, rng=0, predict={"method": "asymptotic"}, tolerance=0.1
)
print(f"gap {both.test_error_gap.item():+.1%}: {both.test_error_verdict.item()}")

# %%
# **And where it fails.** The paper behind this theory (``firstlight cite one_step``) replaces the network by a polynomial model: the
# activation, cut after a few terms of its Hermite series. That assumes that spikes are not too strong. At ``beta = 0.9``, all of it in
# the data, a spike drives the neurons far out, where a polynomial has nothing to do with a ReLU. firstlight warns, and is right. A model
# that is Gaussian only *given* the input along the spikes (``conditional_gaussian``) has no such trouble:

import warnings

strong = problem(200, alpha=0.0, beta=0.9, label_direction="spikes")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    polynomial = np.mean(
        [
            strong.simulate(rng=seed, method="hermite", degree=4).test_error
            for seed in range(4)
        ]
    )
network = np.mean([strong.simulate(rng=seed).test_error for seed in range(4)])
conditional = np.mean(
    [
        strong.simulate(rng=seed, method="conditional_gaussian").test_error
        for seed in range(4)
    ]
)
print(f"network                    {network:.3f}")
print(f"polynomial of degree 4     {polynomial:.3f}")
print(f"conditional Gaussian model {conditional:.3f}")
print("warned:", str(caught[0].message)[:110] if caught else "no")

# %%
# **Exercise.** The peak near as many neurons as samples comes from a penalty that is too small. Which one is best at width 200?
#
# **Solution.** A vector of penalties is one prediction. (``predict(rng=0)`` uses the features of the network that seed 0 draws;
# ``method="asymptotic"``, above, draws none.)

penalties = np.logspace(-6, 0, 13)
curve = problem(200, ridge=tuple(penalties)).predict(rng=0).test_error.values
print(f"best penalty {penalties[curve.argmin()]:.1e}: error {curve.min():.3f}")
print(f"at 1e-4: error {np.interp(-4, np.log10(penalties), curve):.3f}")
