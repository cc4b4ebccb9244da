"""
A stronger step
===============

Predicted alignment and elasticity of unseen digits against the strength of the step.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from firstlight import unseen_classes

X, y = load_digits(return_X_y=True)
data = unseen_classes.standardised(
    unseen_classes.split_classes(X[:500], y[:500], [0, 1])
)
strengths = np.geomspace(0.1, 30, 6)
results = [
    unseen_classes.predict_classes(data, unseen_classes.Step(strength=float(one)))
    for one in strengths
]
figure, panels = plt.subplots(1, 2, figsize=(7.5, 3.6), layout="constrained")
for axes, name in zip(panels, ("alignment", "elasticity"), strict=True):
    axes.plot(strengths, [one[name].values for one in results])
    axes.set(xscale="log", xlabel="strength of the step", ylabel=name)
panels[1].set_yscale("log")
figure.legend(
    panels[0].lines,
    [str(one) for one in results[0]["class"].values],
    title="class",
    loc="outside right center",
)
