"""Studies: theories at hand, comparisons, sweeps that survive, and their store.

Ten lines make a study and run it; run it again and nothing is computed twice::

    from firstlight.study import Arm, FigureSpec, Study, run

    study = Study(
        name="mine/ridge",
        description="error against the ridge penalty",
        problem="my_package:ridge_problem",
        axes={"ridge": [0.01, 0.1, 1.0]},
        arms={"network": Arm("simulate"), "theory": Arm("predict")},
        trials=8,
    )
    result = run(study, "out/study.sqlite")
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.study.compare import compare, scaling
    from firstlight.study.problem import Assumption, Cost, Problem
    from firstlight.study.registry import Theory, studies, theories
    from firstlight.study.run import run
    from firstlight.study.spec import Arm, FigureSpec, Range, Refine, Scale
    from firstlight.study.store import Store, StoreError
    from firstlight.study.sweep import Study

_NAMES = {
    "compare": ["compare", "scaling"],
    "problem": ["Assumption", "Cost", "Problem"],
    "registry": ["Theory", "studies", "theories"],
    "run": ["run"],
    "spec": ["Arm", "FigureSpec", "Range", "Refine", "Scale"],
    "store": ["Store", "StoreError"],
    "sweep": ["Study"],
}

__all__ = [
    "Arm",
    "Assumption",
    "Cost",
    "FigureSpec",
    "Problem",
    "Range",
    "Refine",
    "Scale",
    "Store",
    "StoreError",
    "Study",
    "Theory",
    "compare",
    "run",
    "scaling",
    "studies",
    "theories",
]

__getattr__, __dir__, _ = lazy_loader.attach(__name__, None, _NAMES)
