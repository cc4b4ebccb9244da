"""
The spectral method finds it, above the threshold
=================================================

The leading eigenvector of (1/n) Σ T(y) x xᵀ with the optimal T: its squared overlap with the hidden direction.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import phase_transition

target = phase_transition.MultiIndex("sign(abs(z1) - 1.482)")
threshold = phase_transition.delta_alg(target).value
preprocessing = phase_transition.optimal_preprocessing(target)
ratios = np.linspace(0.3, 4, 8)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for dimension in (150, 500):
    overlaps = []
    for ratio in ratios:
        trials = []
        for seed in range(4):
            data = target.sample(int(ratio * dimension), dimension, rng=seed)
            _, vectors = phase_transition.spectral_estimator(
                data.X, data.y, preprocessing
            )
            trials.append(float((vectors[:, 0] @ data.directions[:, 0]) ** 2))
        overlaps.append(trials)
    axes.errorbar(
        ratios,
        np.mean(overlaps, 1),
        np.std(overlaps, 1, ddof=1) / 2,
        fmt="o",
        label=f"d = {dimension}, 4 trials",
    )
axes.axvline(
    threshold, color="k", linestyle="--", label=f"delta_alg = {threshold:.3f}"
)
axes.set(xlabel="samples per dimension", ylabel="squared overlap")
axes.legend()
