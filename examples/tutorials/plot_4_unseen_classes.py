r"""
Unseen classes: what one step does to what was not shown
========================================================

**The idea.** Train on digits 0 and 1 only, and then ask about the others. One gradient step moves all neurons along one
direction, the mean of the inputs weighted by their labels. A class that lies far along it is moved together: its members become
similar to each other, although none of them was ever shown.

**The formula.** The direction is the data-label covariance, and a class's *similarity* is its place along it:

.. math:: \beta = \frac{1}{n} \sum_{i=1}^{n} y_i\, x_i, \qquad t = \beta^\top \mu .

Here :math:`x_i` and :math:`y_i = \pm 1` are the :math:`n` training data and :math:`\mu` is the mean of the unseen class. A step of strength
:math:`\tau` turns the inputs :math:`x` and :math:`x'` of a neuron into two normal variables with covariance
:math:`x^\top (I/d + \tau^2 \beta\beta^\top) x'`, plus a little that the rest of the gradient adds; :math:`d` is the dimension. The mean product
of the activation at these two is the inner product of the features. Everything below is read off it.
"""

# %%
# **The picture.** Digits of scikit-learn, trained on 0 and 1. For every other digit we ask for its *alignment*, the mean cosine
# between the features of two of its images after the step, and for its *elasticity*, how far the step has moved its features (mean
# square, per neuron). Theory predicts both; a network of 1024 neurons measures them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from firstlight import unseen_classes

X, y = load_digits(return_X_y=True)
data = unseen_classes.standardised(
    unseen_classes.split_classes(X[:900], y[:900], [0, 1])
)
step = unseen_classes.Step(strength=4.0)
theory = unseen_classes.predict_classes(data, step)
network = unseen_classes.simulate_classes(data, step, np.random.default_rng(1))

figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axes, name in zip(panels, ("alignment", "elasticity"), strict=True):
    axes.scatter(theory[name], network[name])
    for label, x, value in zip(
        theory["class"].values,
        theory[name].values,
        network[name].values,
        strict=True,
    ):
        axes.annotate(
            str(label), (x, value), textcoords="offset points", xytext=(4, 4)
        )
    ends = [float(theory[name].min()), float(theory[name].max())]
    axes.plot(ends, ends, color="0.6")
    axes.set(xlabel=f"predicted {name}", ylabel=f"measured {name}")

# %%
# **It agrees.** *Recall@1* asks whether the nearest other image is of the same digit. The largest gaps between the prediction and
# this one network:

for name in ("alignment", "elasticity", "recall"):
    print(f"{name:10} {abs(theory[name] - network[name]).max():.3f}")

# %%
# **And where it fails.** One would hope that classes which were moved are told apart better. Similarity does say which class
# *moves*. But two classes on the same side of :math:`\beta` move together and stay as hard to tell apart. So it says less about
# what the step does to Recall@1, and on the whole nothing is gained, neither over the random features before the step nor over raw pixels:

from scipy.stats import spearmanr

gain = network.recall - network.recall_before
for name, values in (
    ("elasticity", network.elasticity),
    ("gain in Recall@1", gain),
):
    rank = spearmanr(abs(theory.similarity), values)[0]
    print(f"similarity and {name}: rank correlation {rank:.2f}")
print(f"mean Recall@1 after the step  {network.mean_recall:.3f}")
print(f"              before the step {network.mean_recall_before:.3f}")
print(f"              of raw pixels   {network.raw_recall.mean():.3f}")

# %%
# **Exercise.** Does a stronger step align unseen classes more?
#
# **Solution.** On average yes, though some classes lose. Vary the strength in the prediction:

strengths = [0.25, 1.0, 4.0, 16.0]
alignments = [
    float(
        unseen_classes.predict_classes(
            data, unseen_classes.Step(strength=s)
        ).alignment.mean()
    )
    for s in strengths
]
for strength, alignment in zip(strengths, alignments, strict=True):
    print(f"strength {strength:5}: mean alignment {alignment:.3f}")
