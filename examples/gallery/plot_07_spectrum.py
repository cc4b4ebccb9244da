"""
The eigenvalue that a step lifts out of the bulk
================================================

Eigenvalues of the feature matrix of 300 samples, largest first.
Lines are computed from the population's second moment, points are networks.
A longer step lifts one more direction out of the bulk, and the bulk itself moves.
"""

import matplotlib.pyplot as plt

from firstlight.one_step import SpectrumProblem

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
ranks = [1, 2, 3, 4, 6, 9, 14, 20, 30, 50, 80, 120, 150]
for colour, step_size in enumerate([0.0, 100.0, 300.0]):
    problem = SpectrumProblem.scaled(
        dimension=200,
        width=150,
        samples=300,
        alpha=0.5,
        beta=0.5,
        step_size=step_size,
    )
    predicted = problem.predict(rng=0, ranks=ranks).eigenvalue
    measured = problem.simulate(rng=0, ranks=ranks).eigenvalue
    axes.loglog(ranks, predicted, f"C{colour}", label=f"step size {step_size:g}")
    axes.loglog(ranks, measured, f"C{colour}o", markersize=4)
axes.set(xlabel="rank", ylabel="eigenvalue of ΦᵀΦ/m", title="One network a line")
axes.legend()
