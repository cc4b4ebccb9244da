"""
Neurons in the plane, before and after
======================================

Two arcs of data (crosses), fifty neurons (arrows): where they start, and where the exact path takes them. Blue ones end at the positive
class, red ones at the negative, grey ones at neither: they are dead.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import early_alignment
from firstlight.data.separable import toy

X, y = toy()
rng = np.random.default_rng(3)
W, signs = rng.normal(size=(50, 2)), rng.choice([-1, 1], 50)
path = early_alignment.align(X, y, W, signs)
colours = np.where(path.fate == 1, "C0", np.where(path.fate == -1, "C3", "0.7"))
figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axes, time, title in zip(
    panels,
    (0.0, path.last_event),
    ("start", f"time {path.last_event:.2f}"),
    strict=True,
):
    axes.scatter(*X.T, c=np.where(y > 0, "C0", "C3"), marker="x")
    for (x0, x1), colour in zip(path.direction(time), colours, strict=True):
        axes.annotate(
            "",
            (0.8 * x0, 0.8 * x1),
            (0, 0),
            arrowprops={"arrowstyle": "->", "color": colour},
        )
    axes.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), title=title)
