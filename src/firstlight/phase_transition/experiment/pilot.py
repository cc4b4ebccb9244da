"""When many small networks find the hidden directions: the runs from which success at other sizes is told."""

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.phase_transition.definitions import Training
from firstlight.phase_transition.experiment.descent import follow, orthogonal_start
from firstlight.phase_transition.experiment.network import Network


def escape_steps(
    network: Network,
    law: MultiIndex,
    hard: np.ndarray,
    training: Training,
    size: tuple[int, int],
    steps: int,
    level: float,
    *,
    starts: int = 1,
    scale: float = 1.0,
    overlap: float = 0.0,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Train several networks on one set of data until each has found the hard directions.

    Parameters
    ----------
    network, law : Network and MultiIndex
        What is trained, and the target.
    hard : ndarray of shape (k, h)
        Hard directions, among the hidden ones.
    training : Training
        The algorithm.
    size : (int, int)
        Samples n and dimensions d.
    steps : int
        When to give up.
    level : float
        Squared cosine with the hard directions that counts as having found them; above 1 all steps are done.
    starts : int, default 1
        Networks, from independent starts on the same data.
    scale, overlap : float, default 1 and 0
        Length of the rows at the start, and its share along the hard directions; with 0 what chance gives.

    Returns
    -------
    times, cosines : ndarray of shape (starts,)
        Steps at which the level was reached, NaN where it was not; squared cosines at the last step.

    Examples
    --------
    >>> from firstlight import activation
    >>> from firstlight.maths.losses import loss
    >>> network = Network(activation("tanh_squared"), np.ones(1), loss("square"))
    >>> law, rng = MultiIndex("sign(abs(z1) - 1.48)"), np.random.default_rng(0)
    >>> sizes = (600, 60), 80  # samples and dimensions, steps
    >>> times, _ = escape_steps(network, law, np.eye(1), Training(0.25), *sizes, 0.2, starts=4, rng=rng)
    >>> bool(np.isfinite(times).sum() >= 3)
    True
    """
    n, d = size
    drawn, m = law.sample(n, d, rng), np.size(network.second_layer)
    along = drawn.directions @ hard
    W = np.stack([orthogonal_start(d, m, scale, rng) for _ in range(starts)], axis=1)
    if overlap:
        W = _turned(W, along, overlap, scale)

    def supply(count: int) -> tuple[np.ndarray, np.ndarray]:
        new = law.sample(count, d, rng, drawn.directions)
        return new.X, new.y

    times = np.full(starts, np.nan)
    for t, at, _ in follow(network, (drawn.X, drawn.y), W, training, steps, supply=supply, rng=rng):
        components = np.tensordot(along, at.rows, (0, 0))
        cosine = (components**2).sum(axis=(0, 2)) / (at.rows**2).sum(axis=(0, 2))
        times[np.isnan(times) & (cosine >= level)] = t
        if np.isfinite(times).all():
            break
    return times, cosine


def _turned(W: np.ndarray, along: np.ndarray, overlap: float, scale: float) -> np.ndarray:
    """Give rows a share of their length along the hard directions, and the rest across them."""
    d, _, m = W.shape
    across = W - np.tensordot(along, np.tensordot(along, W, (0, 0)), 1)
    return across * (1 - overlap**2) ** 0.5 + overlap * scale * np.resize(along.T, (m, d)).T[:, None, :]
