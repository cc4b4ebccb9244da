r"""
Hidden directions: how many samples before anything is learnt
=============================================================

**The idea.** Let the label depend on one hidden direction, but evenly: :math:`y = \mathrm{sign}(|z| - 1.482)` with
:math:`z = \theta^\top x`, where :math:`x` is a standard normal in :math:`d` dimensions and :math:`\theta` has length one. No average of the
data points to :math:`\theta`: the classes have the same mean. Such a direction is called *hard*. It shows only in the *curvature* of the loss. With few samples per dimension the curvature's noise hides it. There is a sharp threshold.

**The formula.** For one hard direction the threshold of every known fast method is

.. math:: \frac{1}{\delta_{\mathrm{alg}}} = \mathbb{E}\left[\, \left( \mathbb{E}[z^2 - 1 \mid y] \right)^2 \right].

Inside is what one label :math:`y` tells about the size of :math:`z`; :math:`\delta = n/d` counts samples per dimension. The more
a label tells, the fewer samples are needed. Gradient descent on a given network needs at least as many: its threshold
:math:`\delta_{\mathrm{NN}}` is where the Hessian of the training loss gets a negative eigenvalue whose eigenvector points to
:math:`\theta`.
"""

# %%
# **The picture.** The network has one neuron, :math:`f(x) = \tanh^2(w^\top x)` with :math:`|w| = 0.8` at the random start. This is the spectrum
# of the Hessian of its loss there. With few samples it is a featureless bulk. With many, one eigenvalue stands left of the bulk
# (dashed); its eigenvector has the squared *overlap* with :math:`\theta` that the title says.

import matplotlib.pyplot as plt
import numpy as np

from firstlight import phase_transition

target = phase_transition.MultiIndex("sign(abs(z1) - 1.482)")
student = phase_transition.Student("tanh_squared", second_layer=1.0, init_scale=0.8)
threshold = phase_transition.delta_alg(target)
print(f"delta_alg = {threshold.value:.4f}, converged: {threshold.converged}")

figure, panels = plt.subplots(
    1, 2, figsize=(8, 3.4), sharey=True, layout="constrained"
)
for axes, delta in zip(panels, (2.0, 16.0), strict=True):
    spectrum = phase_transition.hessian_spectrum(
        target, student, samples_per_dimension=delta
    )
    eigenvalues = np.linspace(
        spectrum.left_edge - 0.1, spectrum.right_edge + 0.05, 300
    )
    axes.plot(eigenvalues, spectrum.density(eigenvalues))
    for outlier in spectrum.outliers:
        axes.axvline(outlier.value, color="C3", linestyle="--")
    overlap = "".join(f", overlap {one.overlap:.2f}" for one in spectrum.outliers)
    axes.set(
        title=f"{delta:g} samples per dimension{overlap}",
        xlabel="eigenvalue of the Hessian",
    )
panels[0].set_ylabel("density")

# %%
# **It agrees.** Mean-field theory follows the training loss without a network and without a dimension. Gradient descent in 400
# dimensions has the same. Both keep the weights orthogonal to the hard direction here: this is the phase before it is found.

problem = phase_transition.Problem(
    "sign(abs(z1) - 1.482)",
    dimension=400,
    samples_per_dimension=3.0,
    step_size=0.25,
    steps=16,
    spectrum=False,
)
theory, run = problem.predict(), problem.simulate(rng=0)
for step, predicted, measured in zip(
    theory.time.values, theory.train_loss.values, run.train_loss.values, strict=True
):
    print(f"step {step:2d}: theory {predicted:.3f}, experiment {measured:.3f}")

# %%
# **And where it fails.** :math:`\delta_{\mathrm{NN}}` is a limit of large dimension *and* long training. Take fewer samples than it asks for,
# and descend in 100 dimensions: by the limit no descent should find the direction.

small = phase_transition.LearningProblem(
    "sign(abs(z1) - 1.482)",
    dimension=100,
    samples_per_dimension=2.25,
    steps=200,
    theory_steps=96,
)
limit = phase_transition.delta_nn(target, student, steps=32)
share = np.mean([small.simulate(rng=seed).success.item() for seed in range(16)])
print(f"delta_NN = {limit.value:.2f}")
print(f"at 2.25, {share:.0%} of 16 descents succeed")
print(f"theory for this dimension: {small.predict().success.item():.0%}")

# %%
# The reason: a random start already leans towards the direction by about :math:`1/\sqrt{d}`, and in few dimensions a little
# growth is enough. The theory of that growth knows the dimension, and is right. Ask ``firstlight.phase_transition.onset`` for the
# number of samples at *your* size, and keep the limit for large networks.

# %%
# **Exercise.** For which :math:`c` is the direction of :math:`\mathrm{sign}(|z| - c)` easiest to find? Compute the threshold for several.
#
# **Solution.** In the middle. For small :math:`c` nearly all labels are equal and say little about :math:`|z|`; for large :math:`c` the
# label that tells much is rare.

levels = np.linspace(0.2, 2.6, 9)
values = [
    phase_transition.delta_alg(f"sign(abs(z1) - {level:.3f})").value
    for level in levels
]
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(levels, values, marker=".")
axes.set(xlabel="c", ylabel="samples per dimension", ylim=(0, None))
print(f"smallest {min(values):.3f} at c = {levels[int(np.argmin(values))]:.2f}")
