"""
Digits that were never shown
============================

Train on two digits, look at the other eight: similarity, alignment and what a network measures.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from firstlight import unseen_classes

X, y = load_digits(return_X_y=True)
figure, panels = plt.subplots(
    1, 3, figsize=(7.5, 3.4), sharey=True, layout="constrained"
)
for axes, pair in zip(panels, ([0, 1], [3, 8], [4, 9]), strict=True):
    data = unseen_classes.standardised(
        unseen_classes.split_classes(X[:700], y[:700], pair)
    )
    theory = unseen_classes.predict_classes(data, unseen_classes.Step())
    network = unseen_classes.simulate_classes(
        data, unseen_classes.Step(), np.random.default_rng(0)
    )
    axes.plot(
        abs(theory.similarity), theory.alignment, "_", markersize=12, label="theory"
    )
    axes.plot(abs(theory.similarity), network.alignment, "o", label="network")
    for x, value, name in zip(
        abs(theory.similarity.values),
        network.alignment.values,
        theory["class"].values,
        strict=True,
    ):
        axes.annotate(
            str(name), (x, value), textcoords="offset points", xytext=(5, 2)
        )
    axes.set(title=f"trained on {pair[0]} and {pair[1]}", xlabel="|similarity|")
panels[0].set_ylabel("alignment after the step")
panels[0].legend(loc="upper left", fontsize="small")
