"""
Width: the peak where the read-out just fits
============================================

The test error against the width for three activations, as in figure 1a of Demir and Dogan (ICLR 2025), at a fifth of its size.
Lines need no network.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import one_step

ratios = np.array([0.1, 0.3, 0.5, 0.9, 1.5, 3.0])
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for colour, activation in enumerate(["relu", "tanh", "sigmoid"]):
    problems = [
        one_step.Problem.scaled(
            dimension=200,
            width=int(200 * ratio),
            samples=200,
            alpha=0.5,
            beta=0.74,
            activation=activation,
        )
        for ratio in ratios
    ]
    axes.plot(
        ratios,
        [one.predict(method="asymptotic", draws=4).test_error for one in problems],
        f"C{colour}",
        label=activation,
    )
    runs = np.array(
        [
            [one.simulate(rng=seed).test_error.item() for seed in range(6)]
            for one in problems
        ]
    )
    axes.errorbar(
        ratios, runs.mean(1), runs.std(1, ddof=1) / np.sqrt(6), fmt=f"C{colour}o"
    )
axes.set(
    xscale="log",
    yscale="log",
    xlabel="width / samples",
    ylabel="test error",
    title="d = m = 200, 6 networks a point",
)
axes.legend()
