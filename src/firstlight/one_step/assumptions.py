"""What both ways to predict the error assume, checked for a setting."""

import numpy as np

from firstlight.one_step.definitions import Setting
from firstlight.one_step.degrees import degrees_of
from firstlight.study.problem import Assumption


def assumptions_of(setting: Setting) -> tuple[Assumption, ...]:
    """Return each assumption, whether it holds, and the number behind that."""
    n, k, m = setting.mixture.dimension, setting.width, setting.samples
    ratios = (k / n, m / n)
    traces = setting.mixture.traces
    spread = float(np.ptp(traces) / traces.mean())
    drawn = setting.source is None
    assumptions = [
        Assumption(
            "proportional sizes", "holds" if min(ratios) >= 0.02 and max(ratios) <= 50 else "fails",
            f"k/n = {ratios[0]:.3g}, m/n = {ratios[1]:.3g}",
        ),
        Assumption(
            "identity-plus-spikes covariances", "holds" if setting.spiked else "fails",
            "every class" if setting.spiked else "some class is dense",
        ),
        Assumption("equal traces", "holds" if spread < 0.01 else "fails", f"they differ by {spread:.2%}"),
        Assumption("Gaussian inputs", "holds" if drawn else "not checkable",
                   "drawn from the mixture" if drawn else "inputs are real data"),
    ]  # fmt: skip
    if setting.spiked:
        degrees = degrees_of(setting)
        assumptions.append(
            Assumption(
                "a polynomial surrogate exists at this size",
                "holds" if degrees.faithful else "fails",
                f"for the Hermite model alone: of {len(degrees.ratios)} degrees those up to {degrees.needed} "
                f"stand out, those up to {degrees.reliable} can be trusted",
            )
        )
    return tuple(assumptions)
