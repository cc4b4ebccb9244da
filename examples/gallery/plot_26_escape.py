"""
Waiting for a hidden direction
==============================

The time until gradient descent sees the direction grows like the logarithm of the dimension.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import phase_transition

target = phase_transition.MultiIndex("sign(abs(z1) - 1.482)")
student = phase_transition.Student("tanh_squared", second_layer=1.0, init_scale=0.8)
dimensions = np.array([250, 500, 1000, 2000, 4000, 8000])
times = [
    phase_transition.escape_time(
        target,
        student,
        samples_per_dimension=5.0,
        training=0.25,
        dimension=int(d),
        steps=64,
        draws=4096,
    ).time
    for d in dimensions
]
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.semilogx(dimensions, times, "o-")
axes.set_xticks(dimensions, labels=[f"{d}" for d in dimensions], minor=False)
axes.minorticks_off()
axes.set(
    xlabel="dimension",
    ylabel="steps",
    title="n/d = 5: predicted escape of the root mean square overlap",
)
