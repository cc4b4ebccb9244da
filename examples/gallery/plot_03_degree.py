"""
Which polynomial stands in for the network?
===========================================

A Hermite model of too low a degree misses what the network learns. The rule of the source says which degree suffices.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from firstlight import one_step

problem = one_step.Problem.scaled(
    dimension=250,
    width=250,
    samples=250,
    alpha=0.0,
    beta=0.6,
    label_direction="spikes",
)
seeds = range(5)
network = np.mean([problem.simulate(rng=seed).test_error for seed in seeds])
degrees = [1, 2, 3]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", one_step.DegreeWarning)
    errors = [
        np.mean(
            [
                problem.simulate(
                    rng=seed, method="hermite", degree=degree
                ).test_error
                for seed in seeds
            ]
        )
        for degree in degrees
    ]
figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
axes.bar(
    [str(degree) for degree in degrees], errors, color="C0", label="Hermite model"
)
axes.axhline(network, color="C3", label="network")
axes.set(
    xlabel="degree",
    ylabel="test error",
    title=f"β = 0.6: the rule says degree {one_step.hermite_degree(0.6)}",
)
axes.legend()
