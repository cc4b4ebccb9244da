"""How far the bulk is from Gaussian over neurons: it is so given the head, by whose size it is multiplied."""

import numpy as np

from firstlight.data.class_pairs import gram_alignment
from firstlight.data.unseen import UnseenData
from firstlight.maths.sobol import sobol_normal
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.theory.bulk import step_bulk
from firstlight.unseen_classes.theory.heads import Head, is_gaussian
from firstlight.unseen_classes.theory.kernel import spiked_kernel

_HEADS = 128
_EACH = 8  # samples of each class


def gaussian_bulk_gap(data: UnseenData, step: Step) -> float:
    """Compare cohesions under `spiked_kernel` for Gaussian heads with those averaged over heads one by one.

    The kernel takes what the bulk adds to a neuron as Gaussian with the variance of an average neuron. It is
    that times the neuron's own α². Saturating activations hardly notice; where σ turns back and forth within
    the step the kernel is too small.

    Returns
    -------
    float
        Largest difference over classes of the mean inner product of two samples, relative to the largest of
        these; 0 for heads that are not Gaussian, which are averaged one by one anyway.

    Examples
    --------
    >>> from firstlight.data.unseen import gaussian_classes
    >>> data = gaussian_classes(np.random.default_rng(0), 40, 40, 2.0, np.eye(3), 8)
    >>> gaps = [gaussian_bulk_gap(data, Step(activation=name, strength=16.0)) for name in ("erf", "sin")]
    >>> gaps[0] < 0.05 < gaps[1]
    True
    """
    if step.bulk == "none" or not is_gaussian(step.head):
        return 0.0
    classes, beta = np.unique(data.unseen_labels), step.covariance(data)
    chosen = np.concatenate([np.flatnonzero(data.unseen_labels == c)[:_EACH] for c in classes])
    heads = sobol_normal(1 if beta.ndim == 1 else beta.shape[1], _HEADS, 0) / np.sqrt(_HEADS)

    def cohesion(head: Head, bulk: np.ndarray | None) -> np.ndarray:
        tau, sigma = step.tau_of(data), step.sigma
        gram = spiked_kernel(data.unseen[chosen], None, beta, tau, sigma, bulk, head=head)
        return np.diag(gram_alignment(gram, data.unseen_labels[chosen]).values)

    # without a bulk both are the same, but for what the chosen heads are not the whole law
    law, one_by_one = (
        (cohesion(head, step_bulk(step, data, head)), cohesion(head, None)) for head in ("gaussian", heads)
    )
    gap = np.abs((one_by_one[0] - one_by_one[1]) - (law[0] - law[1]))
    size = np.nanmax(np.abs([law[0], one_by_one[0]]), initial=0.0)
    return float(np.nanmax(gap, initial=0.0) / size) if size else 0.0
