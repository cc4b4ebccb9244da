"""The family of mixtures with spikes whose strength grows with the dimension."""

from collections.abc import Sequence

import numpy as np

from firstlight.data.labels import Classification, Labels, Link, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.maths.checks import check_count, check_memory, check_number, check_numbers
from firstlight.maths.refusals import check_choice, refusal


def structured_data(
    dimension: int,
    strength: float,
    *,
    task: str = "regression",
    label_direction: str = "random",
    weights: Sequence[float] = (0.5, 0.5),
    rank: int = 1,
    spike_alignment: float = 0.0,
    noise: float = 0.0,
    link: Link | Sequence[Link] = "relu",
) -> tuple[GaussianMixture, Labels]:
    """Build a mixture of identity-plus-spikes classes with equal traces, and its labels.

    Laws are invariant under rotations, so the spikes are coordinate axes and nothing is left to chance.

    Parameters
    ----------
    dimension : int
        Input dimension.
    strength : float
        θ of the strongest spike; with rank > 1 strengths are spread evenly, θ i/rank for i = 1..rank.
    task : {"regression", "classification"}
        y = link(ξᵀx), or the class as a number from +1 down to -1.
    label_direction : {"random", "spikes"}
        ξ, of length ‖Σ_c ρ_c Σ_c‖^(-1/2): a direction whose overlap with every axis is n^(-1/2), as a random
        one's is in the mean square; or the sum of the classes' strongest spikes.
    weights, rank : sequence of float, and int
        ρ, one entry per class; spikes per class.
    spike_alignment : float
        Inner product of each class's spikes with those of the first class, in [-1, 1].
    noise : float
        Standard deviation of the label noise of a regression.
    link : str or Activation, or a sequence of them
        Label function of a regression; or one for each class.

    Returns
    -------
    mixture : GaussianMixture
    labels : Regression or Classification

    Examples
    --------
    >>> mixture, labels = structured_data(10, 3.0, label_direction="spikes")
    >>> mixture.traces.tolist(), labels.direction[:3].tolist()
    ([13.0000, 13.0000], [0.447214, 0.447214, 0.0000])
    """
    weights = check_numbers("weights", weights, above=0, high=1)
    strength = check_number("strength", strength, above=-1, below=1e150)  # its square is a number
    noise = check_number("noise", noise, 0)
    spike_alignment = check_number("spike_alignment", spike_alignment, -1, 1)
    check_choice("task", task, ("regression", "classification"))
    check_choice("label_direction", label_direction, ("random", "spikes"))
    spikes = _directions(dimension, len(weights), rank, spike_alignment)
    strengths = strength * np.arange(1, rank + 1) / rank
    classes = [Spiked(strengths, directions) for directions in spikes]
    mixture = GaussianMixture(np.asarray(weights), None, classes)
    if task == "classification":
        if len(weights) < 2:
            raise refusal("weights", weights, "be two or more, one for each of the classes")
        if noise:
            raise ValueError(f"noise = {noise}: only labels of a regression have noise")
        return mixture, Classification(tuple(np.linspace(1, -1, len(weights))))
    together = np.sum([directions[:, -1] for directions in spikes], axis=0)
    direction = together if label_direction == "spikes" else np.ones(mixture.dimension)
    length = np.linalg.norm(direction)
    if length < 1e-8:
        raise ValueError(f"spike_alignment = {spike_alignment}: the spikes cancel: no label_direction")
    average = Spiked(np.concatenate([w * strengths for w in mixture.weights]), np.hstack(spikes))
    return mixture, Regression(direction / (length * np.sqrt(average.norm)), link, noise)


def _directions(dimension: int, classes: int, rank: int, alignment: float) -> list[np.ndarray]:
    """Return the spikes of each class: axes, those of later classes turned towards those of the first."""
    n, rank = check_count("dimension", dimension), check_count("rank", rank)
    if n < classes * rank + 1:
        least = classes * rank + 1
        raise ValueError(f"dimension = {n}: must be at least {least}, that is classes (weights) × rank + 1")
    check_memory(f"dimension = {n}, rank = {rank}", 32.0 * n * classes * rank, "dimension × rank × classes")
    axes = np.eye(n, classes * rank)
    first, bend = axes[:, :rank], np.sqrt(1 - alignment**2)
    return [first] + [
        alignment * first + bend * axes[:, c * rank : (c + 1) * rank] for c in range(1, classes)
    ]
