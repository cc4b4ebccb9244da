"""
How long alignment takes, and what the bounds say
=================================================

The exact time until the last neuron has settled, beside the theorem's bound and a sharper one, against the separability μ.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import early_alignment
from firstlight.data.separable import separable

separations = np.array([0.1, 0.2, 0.3, 0.5, 0.7])
exact, bounds = [], []
for mu in separations:
    X, y = separable(20, 10, mu=mu, rng=1)
    rng = np.random.default_rng(2)
    W, signs = rng.normal(size=(40, 10)), rng.choice([-1, 1], 40)
    exact.append(early_alignment.align(X, y, W, signs).last_event)
    bounds.append(
        early_alignment.bounds(
            early_alignment.geometry(X, y, W, signs), 40, log_scale=-1e6
        ).alignment_time
    )
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.semilogy(separations, exact, "ko-", label="exact, 40 neurons")
for name in bounds[0]:
    axes.semilogy(
        separations, [one[name] for one in bounds], label=f"bound: {name}"
    )
axes.set(xlabel="separability μ", ylabel="time", title="20 points in 10 dimensions")
axes.legend()
