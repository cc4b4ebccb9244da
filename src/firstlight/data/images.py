"""Sets of small images: MNIST, Fashion-MNIST and the 8 by 8 digits.

The digits come with scikit-learn. The other two are looked up in a cache folder, and are put there only by
the command ``firstlight data fetch NAME``; a user's own folder of idx files works as well.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from firstlight.data import idx
from firstlight.data.cache import KNOWN, canonical_name, folder_of, read_cached
from firstlight.maths.checks import check_count
from firstlight.maths.rng import RNGLike, SeedLike, generator


@dataclass(frozen=True, eq=False)
class Images:
    """Grey images with labels, read-only.

    Attributes
    ----------
    name : str
        Of the set.
    train, test : ndarray of shape (n, height, width), uint8
        The images; `test` is empty for the digits, which have no standard split.
    train_labels, test_labels : ndarray of shape (n,), int64
        Their classes.
    levels : int
        The value of full brightness: 255, or 16 for the digits.
    references : tuple of str
        What to cite; empty for a user's own images.
    """

    name: str
    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray
    levels: int
    references: tuple[str, ...]

    def __repr__(self) -> str:
        n, h, w = self.train.shape
        return f"Images({self.name!r}, {n} + {len(self.test)} images of {h} by {w})"


def load_images(name: str, path: str | Path | None = None) -> Images:
    """Return a set of images.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "digits"}
        Which; any name when `path` is given.
    path : str or Path, optional
        A folder of the user's own with the four idx files ``train-images-idx3-ubyte``,
        ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte``, ``t10k-labels-idx1-ubyte``, plain or ``.gz``.

    Raises
    ------
    ImagesNotFetched
        The set is not in the cache; nothing is ever downloaded from here.

    Examples
    --------
    >>> load_images("digits")
    Images('digits', 1797 + 0 images of 8 by 8)
    """
    if path is not None:
        return _images(str(name), idx.read_folder(Path(path)))
    name = canonical_name(name)
    return _digits() if name == "digits" else _known(name, folder_of(name))


def pair(
    name: str,
    a: int,
    b: int,
    count: int | None = None,
    rng: RNGLike | SeedLike = None,
    *,
    path: str | Path | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the training images of two classes as labelled points.

    Parameters
    ----------
    name : str
        Of the set, see `load_images`.
    a, b : int
        The positive and the negative class.
    count : int, optional
        How many of each class, drawn at random without replacement; all of them if not given.
    rng : SPEC 7 rng, optional
        Seed or generator; used with `count` only.
    path : str or Path, optional
        The user's own folder, see `load_images`.

    Returns
    -------
    X : ndarray of shape (n, height * width)
        Brightness in [0, 1], in the order of the set.
    y : ndarray of shape (n,)
        1.0 for class `a`, -1.0 for class `b`.

    Examples
    --------
    >>> X, y = pair("digits", 0, 1, count=50, rng=0)
    >>> X.shape, float(X.max()), int(y.sum())
    ((100, 64), 1.0, 0)
    """
    images = load_images(name, path)
    present = np.unique(images.train_labels)
    for field, label in (("a", a), ("b", b)):
        if check_count(field, label, 0) not in present:
            raise ValueError(f"{field} = {label!r}: the classes are {', '.join(map(str, present))}")
    if a == b:
        raise ValueError(f"b = {b!r}: must differ from a")
    rows = [np.flatnonzero(images.train_labels == label) for label in (a, b)]
    if count is not None:
        most = min(map(len, rows))
        check_count("count", count, 1, most)
        rng = generator(rng)
        rows = [rng.choice(row, count, replace=False) for row in rows]
    chosen = np.sort(np.concatenate(rows))
    X = images.train[chosen].reshape(len(chosen), -1) / images.levels
    return X, np.where(images.train_labels[chosen] == a, 1.0, -1.0)


@lru_cache(maxsize=2)
def _known(name: str, folder: Path) -> Images:
    """Keep what was read and verified in memory: a sweep asks for the same set in every trial."""
    return _images(name, read_cached(name), references=KNOWN[name].references)


def _images(
    name: str, arrays: list[np.ndarray], levels: int = 255, references: tuple[str, ...] = ()
) -> Images:
    train, train_labels, test, test_labels = arrays
    train_labels, test_labels = train_labels.astype(np.int64), test_labels.astype(np.int64)
    for array in (train, train_labels, test, test_labels):
        array.flags.writeable = False
    return Images(name, train, train_labels, test, test_labels, levels, references)


@lru_cache(maxsize=1)
def _digits() -> Images:
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels, labels = digits.images.astype(np.uint8), digits.target
    return _images("digits", [pixels, labels, pixels[:0], labels[:0]], 16, ("alpaydin1998digits",))
