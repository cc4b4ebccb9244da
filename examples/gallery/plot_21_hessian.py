"""
The Hessian's spectrum against the number of samples
====================================================

At the random start: bulk, edge and the outlier that points to the hidden direction.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import phase_transition

target = phase_transition.MultiIndex("sign(abs(z1) - 1.482)")
student = phase_transition.Student("tanh_squared", second_layer=1.0, init_scale=0.8)
figure, axes = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
for shift, ratio in enumerate([3.0, 7.6, 15.0, 30.0]):
    spectrum = phase_transition.hessian_spectrum(
        target, student, samples_per_dimension=ratio
    )
    x = np.linspace(-0.7, 1.6, 300)
    density = spectrum.density(x)
    axes.fill_between(
        x,
        1.2 * shift,
        1.2 * shift + density / density.max(),
        color=f"C{shift}",
        alpha=0.5,
    )
    axes.text(1.65, 1.2 * shift + 0.1, f"n/d = {ratio:g}")
    for outlier in spectrum.outliers:
        axes.plot(
            [outlier.value] * 2, [1.2 * shift, 1.2 * shift + 0.6], "k", linewidth=2
        )
axes.set(
    xlabel="eigenvalue",
    yticks=[],
    xlim=(-0.7, 2.1),
    title="black: eigenvalue along the hidden direction",
)
