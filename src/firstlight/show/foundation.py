"""The report's first chapters: activations with their Hermite spectra, and the accuracy of the quadrature."""

from collections.abc import Callable
from math import factorial

import numpy as np

from firstlight.maths.activations import BUILT_IN
from firstlight.maths.hermite import hermite_coefficients
from firstlight.maths.quadrature import gauss_hermite, pair_expectation
from firstlight.show import style
from firstlight.show.chapter import Chapter

_SHOWN = ("relu", "tanh", "erf", "gelu", "sin", "tanh_squared")
_DEGREE = 12


def spectra() -> Chapter:
    """Draw some activations and the share of E σ² in each Hermite degree; tabulate all of them.

    The table has one row per built-in activation: mean, second moment, shares h_j² / (j! E σ²) of degrees 0
    to 4, the share beyond degree 12, and the information exponent (lowest degree above 0 that is present).

    Examples
    --------
    >>> table = spectra().table.set_index("activation")
    >>> float(table.loc["relu", "share 1"])
    0.5000
    """
    import pandas as pd

    rows, shares = {}, {}
    weights = np.array([factorial(j) for j in range(_DEGREE + 1)], float)
    for name, activation in BUILT_IN.items():
        h = activation.hermite(_DEGREE)
        total = float(activation.second_moment())
        share = shares[name] = np.round(h**2 / weights / total, 14)
        rows[name] = {
            "mean": round(h[0], 14) + 0.0,
            "second moment": total,
            **{f"share {j}": share[j] for j in range(5)},
            f"beyond {_DEGREE}": max(1 - share.sum(), 0.0),
            "information exponent": int(np.flatnonzero(share[1:] > 1e-12)[0]) + 1,
        }
    with style.use():
        figure = style.new(1, 2, height=3.6)
        left, right = figure.axes
        z = np.linspace(-3, 3, 400)
        for colour, name in zip(style.COLOURS, _SHOWN, strict=False):
            left.plot(z, BUILT_IN[name](z), color=colour, label=name)
            present = np.where(shares[name] > 1e-12, shares[name], np.nan)
            right.plot(range(_DEGREE + 1), present, "o", color=colour, label=name)
        left.set(xlabel="z", ylabel="σ(z)", title="activations")
        right.set(
            xlabel="Hermite degree j", ylabel="h_j² / (j! E σ²)", yscale="log", ylim=(1e-8, 2),
            title="share of the second moment in each degree",
        )  # fmt: skip
        left.legend()
    table = pd.DataFrame(rows).T.astype({"information exponent": int})
    return Chapter(
        title="foundation/activations",
        description="The built-in activations and their Hermite spectra: the share of E σ² in each degree. "
        "What a network can learn first is decided by the lowest degrees that are present.",
        figure=figure,
        table=table.reset_index(names="activation"),
        verdict=f"{len(table)} activations; the shares up to degree 12 leave at most "
        f"{table['beyond 12'].max():.1%} of the second moment ({table['beyond 12'].idxmax()})",
    )


def accuracy() -> Chapter:
    """Compare plain Gauss-Hermite with the split rule, and every closed dual with quadrature.

    The figure shows the relative error of E ReLU(z) against the number of nodes; the table the largest gap
    between closed form and quadrature over a grid of variances and correlations, relative to the root of the
    second moments.

    Examples
    --------
    >>> bool((accuracy().table["largest relative gap"] < 1e-8).all())
    True
    """
    import pandas as pd

    counts = np.unique(np.geomspace(4, 220, 24).astype(int))
    relu, exact = BUILT_IN["relu"], 1 / np.sqrt(2 * np.pi)
    plain = []
    for count in counts:
        z, w = gauss_hermite(int(count))
        plain.append(abs((w * relu(z)).sum() / exact - 1))
    split = max(abs(hermite_coefficients(relu, 0, kinks=[0.0])[0] / exact - 1), 1e-17)
    with style.use():
        figure = style.new()
        axis = figure.axes[0]
        axis.plot(counts, plain, "o", color=style.COLOURS[1], label="plain Gauss-Hermite")
        axis.axhline(split, color=style.COLOURS[0], label="split at the kink (ours)")
        axis.set(
            xscale="log", yscale="log", xlabel="number of nodes", ylabel="relative error of E ReLU(z)",
            ylim=(1e-17, 1), title="why the range is split at kinks",
        )  # fmt: skip
        axis.legend()
    variance, other = (a.ravel() for a in np.meshgrid([0.3, 1.0, 4.0], [0.5, 2.0]))
    rows = {}
    for name, activation in BUILT_IN.items():
        if activation.closed_dual is None:
            continue
        gaps = []
        for rho in (-0.99, -0.5, 0.0, 0.3, 0.9, 0.999):
            c = rho * np.sqrt(variance * other)
            by_rule = pair_expectation(
                activation, activation, variance, other, c,
                kinks=activation.kinks, other_kinks=activation.kinks,
            )  # fmt: skip
            closed = activation.dual(variance, other, c)
            size = np.sqrt(
                activation.second_moment(np.sqrt(variance)) * activation.second_moment(np.sqrt(other))
            )
            gaps.append(np.max(np.abs(by_rule - closed) / size))
        rows[name] = {"largest relative gap": max(gaps)}
    table = pd.DataFrame(rows).T
    worst = table["largest relative gap"].max()
    return Chapter(
        title="foundation/quadrature",
        description="Plain Gauss-Hermite misses a kink by percents; the rule that is split there reaches "
        "rounding. The table holds every closed dual activation against two-dimensional quadrature.",
        figure=figure,
        table=table.reset_index(names="activation"),
        verdict=f"closed forms and quadrature agree to {worst:.1g} of the root of the second moments",
    )


CHAPTERS: dict[str, Callable[[], Chapter]] = {
    "foundation/activations": spectra,
    "foundation/quadrature": accuracy,
}
