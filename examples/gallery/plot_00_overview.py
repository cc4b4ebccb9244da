"""
Four theories, and networks that land on them
=============================================

Lines are theory: no network was trained for them. Points are networks, trained on the spot.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.data.separable import toy


def width_of_the_network(axes):
    """Error after one large step, against the width."""
    ratios = np.array([0.1, 0.3, 0.6, 1.0, 1.8, 4.0])
    for colour, activation in enumerate(["relu", "tanh"]):
        problems = [
            one_step.Problem.scaled(
                dimension=200,
                width=int(200 * ratio),
                samples=200,
                alpha=0.5,
                beta=0.74,
                activation=activation,
            )
            for ratio in ratios
        ]
        theory = [one.predict(method="asymptotic").test_error for one in problems]
        runs = np.array(
            [
                [one.simulate(rng=seed).test_error.item() for seed in range(6)]
                for one in problems
            ]
        )
        axes.plot(ratios, theory, f"C{colour}", label=f"{activation}: theory")
        axes.errorbar(
            ratios,
            runs.mean(1),
            runs.std(1, ddof=1) / np.sqrt(6),
            fmt=f"C{colour}o",
            label=f"{activation}: 6 networks",
        )
    axes.set(
        xscale="log", yscale="log", xlabel="width / samples", ylabel="test error"
    )
    axes.set_title("One large step: the error that it leaves")
    axes.legend()


def turning_neurons(axes):
    """Angles of neurons on their exact path, and by gradient descent from a small start."""
    X, y = toy()
    angles = np.radians([-160, -100, -40, 20, 75, 130])
    W, signs = (
        np.column_stack([np.cos(angles), np.sin(angles)]),
        np.array([1, -1, 1, -1, 1, -1]),
    )
    path = early_alignment.align(X, y, W, signs)
    times = np.linspace(0, 1.2 * path.last_event, 120)
    exact = np.unwrap(
        np.arctan2(*np.moveaxis(path.direction(times), -1, 0)[::-1]), axis=0
    )
    axes.plot(times, np.degrees(exact))
    axes.plot([], [], "0.3", label="exact path")
    axes.plot([], [], "o", color="0.3", label="gradient descent")
    axes.legend(loc="center", bbox_to_anchor=(0.78, 0.36))
    step, scale = 0.002, 1e-4
    first, second = scale * W, scale * signs.astype(float)
    for count in range(int(times[-1] / step)):
        if count % 25 == 0:
            near = (
                np.interp(count * step, times, np.arange(len(times)))
                .round()
                .astype(int)
            )
            turned = np.arctan2(first[:, 1], first[:, 0])
            turned += 2 * np.pi * np.round((exact[near] - turned) / (2 * np.pi))
            axes.scatter(
                [count * step] * len(turned),
                np.degrees(turned),
                c=[f"C{one}" for one in range(6)],
                s=14,
            )
        pull = y * np.exp(-y * (np.maximum(X @ first.T, 0) @ second))
        active = (X @ first.T > 0) * pull[:, None]
        first, second = (
            first + step * second[:, None] * (active.T @ X),
            second + step * np.einsum("ij,ij->j", active, X @ first.T),
        )
    axes.set(xlabel="time", ylabel="angle of a neuron in degrees")
    axes.set_title("Small starts: neurons turn before they grow")


def hidden_direction(axes):
    """Overlap of the Hessian's informative eigenvector with the hidden direction."""
    ratios = np.array([2.0, 4.0, 6.0, 8.0, 11.0, 15.0, 20.0])
    problems = [
        phase_transition.SpectrumProblem(
            dimension=300, samples_per_dimension=ratio, bins=8
        )
        for ratio in ratios
    ]
    axes.plot(
        ratios,
        [one.predict().hidden_overlap for one in problems],
        "C0",
        label="theory, no dimension",
    )
    runs = np.array(
        [
            [one.simulate(rng=seed).hidden_overlap.item() for seed in range(4)]
            for one in problems
        ]
    )
    axes.errorbar(
        ratios,
        runs.mean(1),
        runs.std(1, ddof=1) / 2,
        fmt="C0o",
        label="4 networks, d = 300",
    )
    axes.set(
        xlabel="samples per dimension",
        ylabel="squared overlap with the hidden direction",
    )
    axes.set_title("Hidden directions: from how many samples on they show")
    axes.legend()


def unseen_digits(axes):
    """Predicted and measured alignment of digits that were not trained on."""
    X, y = load_digits(return_X_y=True)
    for colour, pair in enumerate([[0, 1], [3, 8], [4, 9]]):
        data = unseen_classes.standardised(
            unseen_classes.split_classes(X[:700], y[:700], pair)
        )
        theory = unseen_classes.predict_classes(data, unseen_classes.Step())
        network = unseen_classes.simulate_classes(
            data, unseen_classes.Step(), np.random.default_rng(0)
        )
        axes.plot(
            theory.alignment,
            network.alignment,
            f"C{colour}o",
            label=f"trained on {pair[0]} and {pair[1]}",
        )
    axes.axline((0.4, 0.4), slope=1, color="0.5", zorder=0)
    axes.set(xlabel="predicted alignment", ylabel="measured alignment")
    axes.set_title("Unseen classes: digits that were never shown")
    axes.legend()


figure, panels = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
for axes, draw in zip(
    panels.flat,
    (width_of_the_network, turning_neurons, hidden_direction, unseen_digits),
    strict=True,
):
    draw(axes)
