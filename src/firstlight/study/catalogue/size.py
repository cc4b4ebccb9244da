"""Finite sizes: how fast an experiment nears a theory of infinitely many dimensions.

The gap of an extreme eigenvalue to the edge of its bulk falls as d^(-2/3) for large d.
"""

from firstlight.study.spec import Arm, FigureSpec, Scale
from firstlight.study.sweep import Study

STUDIES = (
    Study(
        name="phase/size",
        description="The Hessian's largest eigenvalue nears theory's edge as the dimension grows",
        problem="firstlight.phase_transition:Problem",
        axes={"d": [60, 120, 240]},
        fixed={"target": "sign(abs(z1) - 1.4820733)", "delta": 3.0, "steps": 1, "step_size": 0.15},
        arms={"descent": Arm("simulate"), "theory": Arm("predict", {"samples": 1 << 12})},
        trials=150,
        observables=("largest_eigenvalue",),
        size_axis="d",
        figure=FigureSpec(
            x="d",
            hue="time",
            log_x=True,
            labels={"d": "dimension d", "largest_eigenvalue": "largest eigenvalue", "time": "step"},
        ),
        scales={"paper": Scale(axes={"d": [125, 250, 500, 1000]})},
    ),
)
