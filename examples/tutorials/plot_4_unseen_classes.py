r"""
Unseen classes: what one step does to what was not shown
========================================================

**The idea.** Train on digits 0 and 1 only, and then ask about the others. One gradient step moves all neurons along one
direction, the mean of the inputs weighted by their labels. A class that lies far along it is moved together: its members become
similar to each other, although none of them was ever shown.

**The formula.** The direction is the data-label covariance, and a class's *similarity* is its place along it:

.. math:: \beta = \frac{1}{n} \sum_{i=1}^{n} y_i\, x_i, \qquad t = \beta^\top \mu .

Here :math:`x_i, y_i = \pm 1` are the training data and :math:`\mu` is the mean of the unseen class. After a step of strength
:math:`\tau` the features of two inputs have the inner product :math:`\kappa_\sigma` of the activation, evaluated for normals whose
covariance is :math:`x^\top (I/d + \tau^2 \beta\beta^\top) x'` plus what the rest of the gradient adds.
"""

# %%
# **The picture.** Digits of scikit-learn, trained on 0 and 1. Theory predicts how aligned each other digit becomes;
# a network of 1024 neurons measures it.

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
# **It agrees.** The largest gap between prediction and a single network:

print(
    "alignment:", round(float(abs(theory.alignment - network.alignment).max()), 3)
)
print("Recall@1: ", round(float(abs(theory.recall - network.recall).max()), 3))

# %%
# **And where it fails.** Similarity says which class *moves*, not which class can be told apart. Recall@1 (is the nearest other
# sample of the same class?) hardly follows it, and raw pixels are often as good as features after the step:

from scipy.stats import spearmanr

print(
    "similarity and alignment, rank correlation:",
    round(float(spearmanr(abs(theory.similarity), network.alignment)[0]), 2),
)
print(
    "similarity and Recall@1, rank correlation: ",
    round(float(spearmanr(abs(theory.similarity), network.recall)[0]), 2),
)

# %%
# **Exercise.** Does a stronger step align unseen classes more?
#
# **Solution.** Vary the strength in the prediction.

strengths = [0.25, 1.0, 4.0, 16.0]
alignments = [
    float(
        unseen_classes.predict_classes(
            data, unseen_classes.Step(strength=s)
        ).alignment.mean()
    )
    for s in strengths
]
print(dict(zip(strengths, np.round(alignments, 3), strict=True)))
