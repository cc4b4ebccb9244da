"""
The best step size, without training
====================================

Too small a step learns no feature, too large a one spoils the rest: the predicted error has a minimum, and no network was
trained to find it. Networks land on the curve. `firstlight.optimise` looks for the minimum by itself.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import one_step

steps = np.geomspace(1, 1e4, 9)


def problem(step_size):
    return one_step.Problem.scaled(
        dimension=300,
        width=300,
        samples=400,
        alpha=0.0,
        beta=0.6,
        label_direction="spikes",
        step_size=float(step_size),
    )


theory = np.array(
    [
        [problem(step).predict(rng=seed).test_error.item() for seed in range(4)]
        for step in steps
    ]
).mean(1)
runs = np.array(
    [
        [problem(step).simulate(rng=seed).test_error.item() for seed in range(4)]
        for step in steps
    ]
)
best = steps[theory.argmin()]
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(steps, theory, label="theory")
axes.errorbar(
    steps,
    runs.mean(1),
    runs.std(1, ddof=1) / 2,
    fmt="o",
    label="4 networks, ± 1 s.e.m.",
)
axes.axvline(best, color="0.6", linestyle=":", label=f"best, about {best:.2g}")
axes.set(
    xscale="log",
    xlabel="step size",
    ylabel="test error",
    title="d = 300, width 300, 400 samples, seeds 0 to 3",
)
axes.legend()
