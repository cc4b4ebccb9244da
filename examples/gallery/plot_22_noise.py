"""
Noise raises the threshold
==========================

delta_alg of three targets against the noise on the labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import phase_transition

noises = np.array([0.0, 0.3, 1.0, 2.0, 4.0])
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for target in ("z1**2", "abs(z1)", "sign(abs(z1) - 1)"):
    values = [
        phase_transition.delta_alg(phase_transition.MultiIndex(target, noise=noise))
        for noise in noises
    ]
    axes.errorbar(
        noises,
        [one.value for one in values],
        [one.residual for one in values],
        marker=".",
        label=target,
    )
axes.set(
    yscale="log",
    xlabel="standard deviation of the noise",
    ylabel="samples per dimension",
)
axes.legend()
