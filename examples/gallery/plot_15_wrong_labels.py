"""
Wrong labels break the picture
==============================

One wrong label is enough: data are no longer orthogonally separable, and neurons are held between points that pull in
opposite directions. The theorem does not apply any more; the exact path still does.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import early_alignment
from firstlight.data.separable import separable

X, y = separable(30, 8, mu=0.2, rng=0)
rng = np.random.default_rng(1)
W, signs = rng.normal(size=(60, 8)), rng.choice([-1, 1], 60)
order = rng.permutation(len(y))
counts = [0, 1, 2, 4]
fates = []
for count in counts:
    labels = y.copy()
    labels[order[:count]] *= -1
    fate = early_alignment.align(X, labels, W, signs).fate
    fates.append(
        [np.mean(np.abs(fate) == 1), np.mean(fate == 0), np.mean(fate == 2)]
    )
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
bottom = np.zeros(len(counts))
for share, name, colour in zip(
    np.transpose(fates),
    ["one class only", "dead", "neither"],
    ["C0", "0.7", "C1"],
    strict=True,
):
    axes.bar(
        [str(count) for count in counts],
        share,
        bottom=bottom,
        color=colour,
        label=name,
    )
    bottom += share
axes.set(xlabel="wrong labels among 30", ylabel="share of 60 neurons")
figure.legend(loc="outside upper center", ncols=3)
