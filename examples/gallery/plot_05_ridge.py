"""
Ridge and samples from one factorisation
========================================

One prediction gives the error for many penalties and many numbers of samples at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import one_step

penalties = np.logspace(-6, 0, 25)
problem = one_step.Problem.scaled(
    dimension=200,
    width=300,
    samples=300,
    alpha=0.5,
    beta=0.7,
    label_direction="spikes",
    ridge=tuple(penalties),
)
sizes = [100, 200, 300, 600, 1200]
errors = problem.predict(rng=0, sample_sizes=sizes).test_error
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for size in sizes:
    curve = errors.sel(samples=size).values
    axes.plot(penalties, curve, label=f"{size} samples")
    axes.plot(penalties[curve.argmin()], curve.min(), "k.")
axes.set(
    xscale="log",
    xlabel="ridge penalty",
    ylabel="test error",
    title="d = 200, k = 300; dots mark the best",
)
axes.legend()
