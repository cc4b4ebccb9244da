"""
Activations and their Hermite spectra
=====================================

How much of an activation sits in each Hermite degree decides what a random network can see.
"""

from math import factorial

import matplotlib.pyplot as plt
import numpy as np

import firstlight

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
degrees = np.arange(9)
for place, name in enumerate(["relu", "tanh", "gelu", "erf"]):
    coefficients = firstlight.activation(name).hermite(8)
    energy = coefficients**2 / np.array(
        [factorial(int(degree)) for degree in degrees]
    )
    axes.bar(degrees + 0.2 * place, energy, width=0.2, label=name)
axes.set(yscale="log", ylim=(1e-6, 1), xlabel="Hermite degree", ylabel="h² / j!")
axes.legend()
