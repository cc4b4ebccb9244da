"""
The loss after a very long time
===============================

Gradient flow in logarithmic time, up to t = 1e12: the loss falls like 1/(t log t).
"""

import matplotlib.pyplot as plt
import numpy as np

from firstlight import early_alignment
from firstlight.data.separable import toy

X, y = toy()
rng = np.random.default_rng(0)
W, signs = rng.normal(size=(30, 2)), rng.choice([-1, 1], 30)
run = early_alignment.flow(
    X, y, W, signs, log_scale=-9.0, until=1e12, observations=200
)
end = early_alignment.limits(X, y)
late = run.time > 10
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.loglog(run.time[late], run.loss[late], label="gradient flow")
axes.loglog(
    run.time[late],
    end.loss_coefficient / (run.time[late] * np.log(run.time[late])),
    "--",
    label="limit: c / (t log t)",
)
axes.set(
    xlabel="time",
    ylabel="loss",
    title=f"stable rank {float(run.stable_rank[-1]):.4f}, its limit {end.stable_rank:.4f}",
)
axes.legend()
