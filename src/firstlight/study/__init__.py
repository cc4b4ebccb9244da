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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
