r"""
Small starts: neurons turn first, and grow later
================================================

**The idea.** Start a two-layer ReLU network with tiny weights. For a long time its output is practically zero, so the loss does
not move. But the neurons do: each one turns, alone, towards a direction that the data choose, long before it grows. When the
loss begins to fall, the directions are already settled: one group of neurons sees the positive class, one the negative, and
some see nothing any more and are dead.

**The formula.** While outputs are negligible, neuron :math:`j` with weights :math:`w_j` and output sign :math:`s_j` obeys

.. math:: \frac{d w_j}{dt} = s_j\,|w_j|\, \sum_{i:\, w_j^\top x_i > 0} y_i\, x_i .

Here :math:`x_i` are the data and :math:`y_i = \pm 1` their labels. The sum runs over the data on which the neuron is active: they
pull it. Between two changes of that set the neuron's direction moves in a plane along a known curve, so the whole path can be
followed *exactly*, event by event. The data are *orthogonally separable* if every two label-signed points :math:`y_i x_i` have a
positive cosine; :math:`\mu` is the smallest of these cosines. Then every neuron ends in one class, or dies.
"""

# %%
# **The picture.** Fifty neurons, fifteen plus ten points on two arcs of the circle. We follow the angle of each neuron along the
# exact path: fates are decided early.

import matplotlib.pyplot as plt
import numpy as np

from firstlight import early_alignment
from firstlight.data.separable import toy

X, y = toy()
rng = np.random.default_rng(0)
directions, signs = rng.normal(size=(50, 2)), rng.choice([-1, 1], 50)
path = early_alignment.align(X, y, directions, signs)
times = np.linspace(0, 1.1 * path.last_event, 200)
turned = path.direction(times)
angles = np.degrees(np.unwrap(np.arctan2(turned[..., 1], turned[..., 0]), axis=0))

colours = {1: "C0", -1: "C3", 0: "0.6", 2: "C2"}
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for angle, fate in zip(angles.T, path.fate, strict=True):
    axes.plot(times, angle, color=colours[int(fate)], linewidth=0.8)
axes.set(
    xlabel="time",
    ylabel="angle of the neuron in degrees",
    title="blue: sees the positive class; red: the negative; grey: dead",
)

# %%
# **It agrees.** The real network, integrated from a small scale :math:`\varepsilon`, follows that path up to an error that falls
# with :math:`\varepsilon`.

for scale in (1e-3, 1e-4, 1e-5):
    run = early_alignment.flow(
        X,
        y,
        directions,
        signs,
        log_scale=np.log(scale),
        until=2 * path.last_event,
        observations=20,
    )
    print(
        f"scale {scale:.0e}: last neuron settled at {run.t1:.4f}, exact path {path.last_event:.4f}"
    )

# %%
# **And where it fails.** Take data that are not separable: give some points the wrong label. Then :math:`\mu < 0`, and neurons can be
# held between two points that pull in opposite directions. ``assumptions`` says so before anything is computed, and some fates
# are neither class (2).

flipped = y.copy()
flipped[::5] *= -1
print("mu =", round(float(early_alignment.separability(X, flipped)), 3))
mixed = early_alignment.align(X, flipped, directions, signs)
names = {1: "positive class", -1: "negative class", 0: "dead", 2: "neither"}
print({name: int((mixed.fate == fate).sum()) for fate, name in names.items()})

# %%
# **Exercise.** The theorem bounds the time until all neurons are aligned. How far is it from the truth?
#
# **Solution.** The bound holds
# for the worst start, and the sharper one gains most of the difference.

data = early_alignment.geometry(X, y, directions, signs)
bound = early_alignment.bounds(data, 50, log_scale=-1e6)
print(
    f"exact {path.last_event:.3f}",
    {name: round(float(time), 3) for name, time in bound.alignment_time.items()},
)
