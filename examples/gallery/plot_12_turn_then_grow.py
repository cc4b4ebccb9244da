"""
Turn first, grow later
======================

Directions have settled long before the norms or the loss move.
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import early_alignment
from firstlight.data.separable import toy

X, y = toy()
rng = np.random.default_rng(0)
W, signs = rng.normal(size=(40, 2)), rng.choice([-1, 1], 40)
run = early_alignment.flow(
    X, y, W, signs, log_scale=np.log(1e-4), until=5.0, observations=400
)
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.5, 5), sharex=True, layout="constrained"
)
top.plot(run.time, run.cosine_plus, label="cosine to x₊, positive neurons")
top.plot(run.time, run.cosine_minus, label="cosine to x₋, negative neurons")
top.set(ylabel="cosine")
top.legend()
bottom.plot(run.time, run.loss / run.loss[0], label="loss / its start")
bottom.plot(
    run.time,
    run.log_norm - run.log_norm.max(),
    label="log of the weights' norm, from its end",
)
bottom.set(xlabel="time")
bottom.legend()
