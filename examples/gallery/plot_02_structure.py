"""
Structure in the data or in the step
====================================

The same strength of structure, moved from the data (α = 0) to the step (α = 1). Divided by the variance of the labels, spikes in
the data help more than a large step.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import one_step

betas = np.linspace(0, 0.9, 7)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for alpha in (0.0, 0.5, 1.0):
    errors = [
        np.mean(
            [
                one_step.Problem.scaled(
                    dimension=150,
                    width=150,
                    samples=150,
                    alpha=alpha,
                    beta=beta,
                    label_direction="spikes",
                )
                .predict(rng=seed)
                .relative_test_error.item()
                for seed in range(3)
            ]
        )
        for beta in betas
    ]
    axes.plot(betas, errors, marker=".", label=f"α = {alpha:g}")
axes.set(
    xlabel="strength β",
    ylabel="test error / Var(y)",
    title="d = k = m = 150, mean of 3 first layers",
)
axes.legend()
