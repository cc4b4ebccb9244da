"""The theory's two ways to predict what a setting leaves of the error, and what they assume."""

from contextlib import nullcontext

import numpy as np

from firstlight.maths.workers import Workers
from firstlight.one_step.definitions import Setting, Streams
from firstlight.one_step.degrees import degrees_of
from firstlight.one_step.theory.asymptotic import asymptotic
from firstlight.one_step.theory.first_layer import sampled_first_layer, stepped_first_layer
from firstlight.one_step.theory.predictions import Choice, deterministic
from firstlight.study.problem import Assumption

_SMALL = 2000  # neurons


def given_a_first_layer(
    setting: Setting, sizes: list[int], stream: Streams, equivalent: Choice
) -> dict[str, np.ndarray]:
    """Draw a first layer, take its step, and predict the read-out by deterministic equivalents."""
    # Up to this size our threads gain more than those of BLAS, which would spin beside them.
    with Workers() if setting.width <= _SMALL else nullcontext():
        first, second, x, y = sampled_first_layer(setting, stream)
        trained = stepped_first_layer(first, second, setting.sigma, x, y, setting.step_size)
        update = (trained - first).T @ second
        del first, x, y
        return deterministic(
            trained, update, setting.sigma, setting.mixture, setting.labels, sizes=sizes,
            ridges=setting.ridges, equivalent=equivalent, rng=stream("test"),
        )  # fmt: skip


def without_a_network(
    setting: Setting, sizes: list[int], rng: np.random.Generator, draws: int, nodes: int
) -> list[dict[str, np.ndarray]]:
    """Predict from the laws of neurons and inputs alone, once for each draw of the quadrature."""
    with Workers():  # threads of BLAS cost more than they bring on matrices this small
        return asymptotic(
            setting.mixture, setting.labels, setting.sigma, width=setting.width, sizes=sizes,
            gradient_samples=setting.step_samples, step_size=setting.step_size, ridges=setting.ridges,
            rng=rng, draws=draws, nodes=nodes, second_layer=setting.second_layer,
        )  # fmt: skip


def assumptions_of(setting: Setting) -> tuple[Assumption, ...]:
    """Check what both assume."""
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
