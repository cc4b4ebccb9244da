"""
Mean-field theory and gradient descent
======================================

Training loss against the step: theory has no dimension; descents have 200 and 800.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import phase_transition

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for dimension, marker in ((200, "o"), (800, "s")):
    problem = phase_transition.Problem(
        dimension=dimension,
        samples_per_dimension=3.0,
        step_size=0.25,
        steps=32,
        spectrum=False,
    )
    runs = [problem.simulate(rng=seed) for seed in range(3)]
    losses = np.array([one.train_loss.values for one in runs])
    axes.errorbar(
        runs[0].time,
        losses.mean(0),
        losses.std(0, ddof=1) / np.sqrt(3),
        fmt=marker,
        label=f"3 descents, d = {dimension}",
    )
theory = problem.predict()
axes.plot(theory.time, theory.train_loss, "k", label="theory")
axes.set(xlabel="step", ylabel="training loss", title="sign(|z| - 1.482), n/d = 3")
axes.legend()
