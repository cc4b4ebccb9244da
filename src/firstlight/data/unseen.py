"""Training classes and classes that are never trained on: synthetic laws, the papers' set-ups, and images."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from firstlight.data.images import load_images
from firstlight.data.labelled import labelled
from firstlight.maths.checks import check_matrix
from firstlight.maths.refusals import check_instance, refusal
from firstlight.maths.shown import Shown


@dataclass(frozen=True, eq=False)
class UnseenData(Shown):
    """Samples to train on, and samples of other classes.

    Attributes
    ----------
    train, unseen : ndarray, shapes (n, d) and (m, d)
    train_labels, unseen_labels : ndarray, shapes (n,) and (m,)
        No class is in both; at least two classes in each.

    Examples
    --------
    >>> UnseenData(np.eye(2), np.array([0, 1]), np.ones((2, 2)), np.array([1, 2]))
    Traceback (most recent call last):
    ...
    ValueError: unseen_labels: class 1 is among the training classes, so it is not unseen
    """

    train: np.ndarray
    train_labels: np.ndarray
    unseen: np.ndarray
    unseen_labels: np.ndarray

    def __post_init__(self) -> None:
        train = labelled(self.train, self.train_labels, least=2, names=("train", "train_labels"))
        unseen = labelled(self.unseen, self.unseen_labels, least=2, names=("unseen", "unseen_labels"))
        if train.features.shape[1] != unseen.features.shape[1]:
            raise ValueError(
                f"unseen: {unseen.features.shape[1]} features, but train has {train.features.shape[1]}"
            )
        both = [name for name in unseen.classes.tolist() if name in set(train.classes.tolist())]
        if both:
            raise ValueError(
                f"unseen_labels: class {both[0]!r} is among the training classes, so it is not unseen"
            )


def standardised(data: UnseenData) -> UnseenData:
    """Centre with the training mean and scale such that training samples have mean |x|² = d.

    Examples
    --------
    >>> x, other = np.array([[3.0], [5.0]]), np.array([[4.0], [6.0]])
    >>> data = UnseenData(x, np.array([0, 1]), other, np.array([2, 3]))
    >>> standardised(data).train.tolist(), standardised(data).unseen.tolist()
    ([[-1.0], [1.0]], [[0.0], [2.0]])
    """
    check_instance("data", data, UnseenData)
    centre = data.train.mean(axis=0)
    train = data.train - centre
    top = np.abs(train).max()
    if top <= 1e-13 * np.abs(data.train).max():
        raise ValueError("train: all samples are equal, so there is nothing to learn")
    size = top * np.sqrt(((train / top) ** 2).mean())
    return replace(data, train=train / size, unseen=(data.unseen - centre) / size)


def split_classes(x: ArrayLike, labels: ArrayLike, train_classes: ArrayLike) -> UnseenData:
    """Divide labelled samples into the training classes and the rest, which is never trained on.

    Parameters
    ----------
    x : array_like, shape (n, d)
    labels : array_like, shape (n,)
    train_classes : sequence
        At least two of the labels, as they are or as text; at least two others must remain.

    Examples
    --------
    >>> data = split_classes(np.eye(4), ["a", "b", "c", "d"], ["a", "c"])
    >>> data.train_labels.tolist(), data.unseen_labels.tolist()
    (['a', 'c'], ['b', 'd'])
    """
    table = labelled(x, labels, names=("x", "labels"))
    names = [str(name) for name in table.classes.tolist()]
    try:
        wanted = [str(name) for name in np.asarray(train_classes, dtype=object).ravel().tolist()]
    except Exception:  # what has no text
        raise refusal("train_classes", train_classes, "be numbers or texts") from None
    places = {_place(name, names) for name in wanted}
    if len(places) < 2:
        raise ValueError(f"train_classes = {wanted}: at least two different classes are needed")
    if len(names) - len(places) < 2:
        raise ValueError(
            f"train_classes = {wanted}: at least two classes must stay unseen; there are {len(names)}"
        )
    trained = np.isin(table.index, list(places))
    y = np.asarray(labels)
    return UnseenData(table.features[trained], y[trained], table.features[~trained], y[~trained])


def _place(name: str, names: list[str]) -> int:
    """Return where a class stands: the one of that very name, or the only one that means the same."""
    alike = [i for i, other in enumerate(names) if other == name]
    alike = alike or [i for i, other in enumerate(names) if _meaning(other) == _meaning(name)]
    if not alike:
        raise ValueError(f"train_classes: no class {name!r}; labels are {', '.join(map(repr, names[:30]))}")
    if len(alike) > 1:
        meant = ", ".join(repr(names[i]) for i in alike)
        raise ValueError(f"train_classes: {name!r} may be any of {meant}; write it as it stands")
    return alike[0]


def _meaning(label: str) -> str | float:
    """Return a label without spaces around it, or the number that it writes: 3 and 3.0 are the same class."""
    text = label.strip()
    try:
        return text if "_" in text else float(text)
    except ValueError:
        return text


def gaussian_classes(
    rng: np.random.Generator,
    dimension: int,
    samples: int,
    train_norm: float,
    means: np.ndarray,
    unseen_samples: int,
) -> UnseenData:
    """Two training classes N(±μ, I), and unseen classes N(m, I) with means in the frame (μ/|μ|, e_2, e_3,
    ...).

    Parameters
    ----------
    dimension, samples, unseen_samples : int
        d; training samples in all; samples per unseen class.
    train_norm : float
        |μ|.
    means : ndarray, shape (classes, at most d)
        Coordinates of the unseen means; the first is the one along μ.

    Returns
    -------
    UnseenData
        Labels -1 and 1; unseen classes 10, 11, ... in the order of the means.

    Examples
    --------
    >>> data = gaussian_classes(np.random.default_rng(0), 5, 4, 2.0, np.array([[1.0], [-1.0]]), 3)
    >>> data.train.shape, data.unseen_labels.tolist()
    ((4, 5), [10, 10, 10, 11, 11, 11])
    """
    frame = np.linalg.qr(rng.standard_normal((dimension, means.shape[1])))[0]
    y = np.where(np.arange(samples) % 2, 1, -1)
    train = y[:, None] * (train_norm * frame[:, 0]) + rng.standard_normal((samples, dimension))
    labels = 10 + np.repeat(np.arange(len(means)), unseen_samples)
    unseen = (means @ frame.T)[labels - 10] + rng.standard_normal((len(labels), dimension))
    return UnseenData(train, y, unseen, labels)


Family = Literal["balls", "truncated", "spheres"]


def paper_training(
    rng: np.random.Generator, dimension: int, samples: int, family: Family
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw the papers' synthetic training data.

    Parameters
    ----------
    family : {"balls", "truncated", "spheres"}
        Uniform in balls, or on spheres, of radius √d around ±v, |v| = 2√d; or normals truncated entry by
        entry to [1, ∞) and (-∞, -1], whose mean is v.

    Returns
    -------
    x, y, v : ndarray
        Samples, labels ±1, and half the difference of the class means.

    Examples
    --------
    >>> x, y, v = paper_training(np.random.default_rng(0), 4, 6, "truncated")
    >>> bool((x * y[:, None] >= 1).all()), v.tolist()
    (True, [1.525, 1.525, 1.525, 1.525])
    """
    y = np.where(np.arange(samples) % 2, 1, -1)
    if family == "truncated":
        tail = ndtr(-1.0)
        x = -ndtri(tail * (1 - rng.random((samples, dimension))))  # by inversion of the tail beyond 1
        return x * y[:, None], y, np.full(dimension, np.exp(-0.5) / np.sqrt(2 * np.pi) / tail)
    if family not in ("balls", "spheres"):
        raise ValueError(f"family = {family!r}: must be 'balls', 'truncated' or 'spheres'")
    v = rng.standard_normal(dimension)
    v *= 2 * np.sqrt(dimension) / np.linalg.norm(v)
    x = rng.standard_normal((samples, dimension))
    x *= np.sqrt(dimension) / np.linalg.norm(x, axis=1, keepdims=True)
    if family == "balls":
        x *= rng.random((samples, 1)) ** (1 / dimension)
    return x + y[:, None] * v, y, v


def rotation(rng: np.random.Generator, dimension: int, spread: float) -> np.ndarray:
    """Draw a rotation near the identity: the orthogonal factor of I + εM, M of independent normals, ε =
    spread/√d.

    Examples
    --------
    >>> R = rotation(np.random.default_rng(0), 3, 0.5)
    >>> bool(np.allclose(R @ R.T, np.eye(3))), float(np.linalg.det(R))
    (True, 1.0000)
    """
    matrix = np.eye(dimension) + spread / np.sqrt(dimension) * rng.standard_normal((dimension, dimension))
    q, r = np.linalg.qr(matrix)
    q *= np.sign(np.diag(r))
    if np.linalg.slogdet(q)[0] < 0:
        q[:, -1] *= -1
    return q


def around(rng: np.random.Generator, centre: np.ndarray, variance: float, count: int) -> np.ndarray:
    """Draw the papers' evaluation samples: normal across the centre's direction, and exactly `centre` along
    it.

    Examples
    --------
    >>> around(np.random.default_rng(0), np.array([2.0, 0.0]), 1.0, 3)[:, 0].tolist()
    [2.0, 2.0, 2.0]
    """
    z = np.sqrt(variance) * rng.standard_normal((count, len(centre)))
    unit = centre / np.linalg.norm(centre)
    return z - np.outer(z @ unit, unit) + centre


def image_classes(
    rng: np.random.Generator, name: str, train_classes: ArrayLike, per_class: int | None
) -> UnseenData:
    """Split a set of images by class; samples of each class drawn at random without replacement.

    Parameters
    ----------
    name : str
        As in `load_images`.
    train_classes : sequence of int
        The classes to train on; all others are unseen.
    per_class : int or None
        Samples of each class; None: all.

    Returns
    -------
    UnseenData
        Brightness in [0, 1]; see `standardised`.

    Examples
    --------
    >>> data = image_classes(np.random.default_rng(0), "digits", [0, 1], 20)
    >>> data.train.shape, data.unseen.shape
    ((40, 64), (160, 64))
    """
    images = load_images(name)
    rows = []
    for label in np.unique(images.train_labels):
        row = np.flatnonzero(images.train_labels == label)
        if per_class is not None:
            row = rng.choice(row, min(per_class, len(row)), replace=False)
        rows.append(np.sort(row))
    chosen = np.concatenate(rows)
    x = images.train[chosen].reshape(len(chosen), -1) / images.levels
    return split_classes(check_matrix("images", x), images.train_labels[chosen], train_classes)
