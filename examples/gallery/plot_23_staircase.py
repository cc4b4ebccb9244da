"""
A staircase of hidden directions
================================

Some directions can only be learnt once others are known. The staircase lists the stages.
"""

import matplotlib.pyplot as plt

from firstlight import phase_transition

stages = phase_transition.staircase("z1**2 + sign(z1*z2*z3)")
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
names = [
    f"stage {place + 1}: {stage.directions.shape[1]} direction(s)"
    for place, stage in enumerate(stages)
]
axes.barh(
    names,
    [stage.threshold for stage in stages],
    xerr=[stage.error for stage in stages],
    color="C0",
)
axes.invert_yaxis()
axes.set(
    xlabel="samples per dimension, once the earlier stages are learnt",
    title="y = z₁² + sign(z₁ z₂ z₃)",
)
