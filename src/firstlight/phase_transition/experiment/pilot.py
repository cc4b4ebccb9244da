"""When many small networks find the hidden directions: the runs from which success at other sizes is told."""

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.experiment.descent import follow, orthogonal_start


def escape_steps(
    student: Student,
    law: MultiIndex,
    hard: np.ndarray,
    training: Training,
    size: tuple[int, int],
    steps: int,
    level: float,
    *,
    starts: int = 1,
    overlap: float = 0.0,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Train several networks on one set of data until each has found the hard directions.

    Parameters
    ----------
    student, law : Student and MultiIndex
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
    overlap : float, default 0
        Share of the rows' length at the start along the hard directions; with 0 what chance gives.

    Returns
    -------
    times, cosines : ndarray of shape (starts,)
        Steps at which the level was reached, NaN where it was not; squared cosines at the last step.

    Examples
    --------
    >>> student, law = Student("tanh_squared"), MultiIndex("sign(abs(z1) - 1.48)")
    >>> rng = np.random.default_rng(0)
    >>> sizes = (600, 60), 80  # samples and dimensions, steps
    >>> times, _ = escape_steps(student, law, np.eye(1), Training(0.25), *sizes, 0.2, starts=4, rng=rng)
    >>> bool(np.isfinite(times).sum() >= 3)
    True
    """
    n, d = size
    drawn = law.sample(n, d, rng)
    along = drawn.directions @ hard
    W = np.stack([orthogonal_start(d, student.width, student.init_scale, rng) for _ in range(starts)])
    if overlap:
        W = _turned(W, along, overlap, student.init_scale)

    def supply(count: int) -> tuple[np.ndarray, np.ndarray]:
        new = law.sample(count, d, rng, drawn.directions)
        return new.X, new.y

    times = np.full(starts, np.nan)
    for t, network, _ in follow(student, (drawn.X, drawn.y), W, training, steps, supply=supply, rng=rng):
        rows = network.first_layer
        cosine = ((rows @ along) ** 2).sum(axis=(1, 2)) / (rows**2).sum(axis=(1, 2))
        times[np.isnan(times) & (cosine >= level)] = t
        if np.isfinite(times).all():
            break
    return times, cosine


def _turned(W: np.ndarray, along: np.ndarray, overlap: float, scale: float) -> np.ndarray:
    """Give rows a share of their length along the hard directions, and the rest across them."""
    across = W - (W @ along) @ along.T
    return across * (1 - overlap**2) ** 0.5 + overlap * scale * np.resize(along.T, W.shape[1:])
