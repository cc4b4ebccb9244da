"""
What the step does to the kernel
================================

The Gram matrix of features of unseen digits, sorted by class, before and after the step, as predicted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from firstlight import unseen_classes

X, y = load_digits(return_X_y=True)
data = unseen_classes.standardised(
    unseen_classes.split_classes(X[:600], y[:600], [0, 1])
)
order = np.argsort(data.unseen_labels, kind="stable")
rows = data.unseen[order][::2]
direction = unseen_classes.label_covariance(
    data.train, np.where(data.train_labels == data.train_labels[0], 1.0, -1.0)
)
figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axes, tau, title in zip(
    panels, (0.0, 0.6), ("before", "after the step"), strict=True
):
    kernel = unseen_classes.spiked_kernel(
        rows, rows, direction, tau=tau, activation="shifted_relu"
    )
    scale = np.sqrt(np.diag(kernel))
    axes.imshow(kernel / np.outer(scale, scale), cmap="viridis")
    axes.set(title=title, xticks=[], yticks=[])
