r"""
Small starts: neurons turn first, and grow later
================================================

**The idea.** Start a two-layer ReLU network with tiny weights. For a long time its output is practically zero, so the loss does
not move. But the neurons do: each one turns, alone, towards a direction that the data choose, long before it grows. When the
loss begins to fall, the directions are already settled: one group of neurons sees the positive class, one the negative, and
some see nothing any more and are dead.

**The formula.** While outputs are negligible, neuron :math:`j` with weights :math:`w_j` obeys

.. math:: \frac{d w_j}{dt} = s_j\,|w_j|\, \sum_{i:\, w_j^\top x_i > 0} y_i\, x_i .

Here :math:`x_i` are the data, :math:`y_i = \pm 1` their labels, and :math:`s_j = \pm 1` is the sign with which the neuron counts in the output. The sum runs over the data on which the neuron is active: they
pull it. Between two changes of that set the neuron's direction moves in a plane along a known curve, so the whole path can be
followed *exactly*, event by event. The data are *orthogonally separable* if every two label-signed points :math:`y_i x_i` have a
positive cosine; :math:`\mu` is the smallest of these cosines. Then every neuron ends in one class, or dies.
"""

# %%
# **The picture.** Fifteen positive and ten negative points on two arcs of the circle, and fifty neurons. ``align`` follows each along
# the exact path; angles that differ by 360 degrees are the same direction. Every neuron ends at one of three: the positive
# class, the negative class, or away from both.

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
# **It agrees.** Now train: plain gradient descent from weights of scale :math:`\varepsilon`, until the last neuron has settled. The smaller
# the start, the closer every neuron is to its exact path, and the less the loss has moved by then. (Descent takes the *mean* loss,
# so its times are as many times longer as there are points.)

for scale in (1e-2, 1e-3, 1e-4):
    start = scale * directions
    run = early_alignment.descent(
        X,
        y,
        start,
        signs * np.linalg.norm(start, axis=1),
        step_size=0.01,
        steps=round(path.last_event * len(y) / 0.01),
        observations=2,
        neurons=True,
    )
    exact = path.direction(run.time.values[-1:] / len(y))[0]
    cosines = (run.direction.values[-1] * exact).sum(axis=1)
    worst = np.degrees(np.arccos(cosines.clip(-1, 1).min()))
    print(
        f"scale {scale:.0e}: worst neuron {worst:5.2f} degrees off, "
        f"loss {run.loss.values[0]:.2f} -> {run.loss.values[-1]:.2f}"
    )

# %%
# **And where it fails.** Give every fifth point the wrong label. Then :math:`\mu < 0`, and a neuron can be held between two points that
# pull in opposite directions. The theorem says that it does not apply, and rightly: no neuron ends in one class.

flipped = y.copy()
flipped[::5] *= -1
data = early_alignment.geometry(X, flipped, directions, signs)
print(early_alignment.bounds(data, width=50, log_scale=-np.inf).reason)
mixed = early_alignment.align(X, flipped, directions, signs)
names = {1: "positive class", -1: "negative class", 0: "dead", 2: "neither"}
print({name: int((mixed.fate == fate).sum()) for fate, name in names.items()})

# %%
# **Exercise.** The theorem bounds the time until all neurons are aligned. How far is it from the truth?
#
# **Solution.** Very far: it must hold for the worst start and data. ``paper`` is the theorem as published, ``path`` counts
# how many points are on at each stage, and ``sharp`` uses the closed form of the path in between (``log_scale`` is the
# logarithm of the start's scale; here its limit).

data = early_alignment.geometry(X, y, directions, signs)
bound = early_alignment.bounds(data, width=50, log_scale=-np.inf)
print(f"exact: {path.last_event:.2f}")
for name, time in bound.alignment_time.items():
    print(f"bound {name}: {time:.0f}")
