"""
The best step size, without training
====================================

The predicted error against the step size has a minimum. Networks on the same data agree.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import one_step

steps = np.geomspace(0.1, 300, 9)


def problem(step_size):
    return one_step.Problem.scaled(
        dimension=150,
        width=200,
        samples=250,
        alpha=0.0,
        beta=0.5,
        label_direction="spikes",
        step_size=float(step_size),
    )


theory = np.array(
    [[problem(step).predict(rng=seed).test_error.item() for seed in range(3)] for step in steps]
).mean(1)
runs = np.array([[problem(step).simulate(rng=seed).test_error.item() for seed in range(3)] for step in steps])
best = steps[theory.argmin()]
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(steps, theory, label="theory")
axes.errorbar(steps, runs.mean(1), runs.std(1, ddof=1) / np.sqrt(3), fmt="o", label="3 networks")
axes.axvline(best, color="0.6", linestyle=":", label=f"best, about {best:.2g}")
axes.set(xscale="log", xlabel="step size", ylabel="test error", title="d = 150, k = 200, m = 250")
axes.legend()
