"""Images of two classes, centred, brought to one scale and blurred with noise: real data and its mixture."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from firstlight.data.cache import ImagesNotFetched
from firstlight.data.images import pair
from firstlight.data.mixture import Dense, GaussianMixture
from firstlight.maths.checks import check_count
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice, check_instance
from firstlight.maths.rng import RNGLike, SeedLike, generator

Centring = Literal["class", "global"]


@dataclass(frozen=True, eq=False)
class NoisyImages(ByValue):
    """Inputs x = (n/tr S_c)^(1/2) (image - mean) + N(0, I), with S_c the covariance of the images of class c.

    Each class is drawn from its images with replacement, so the law is the images' own, blurred by the noise;
    `mixture` holds exactly its class means and covariances. Both classes have trace 2n.

    Attributes
    ----------
    name : str
        Of the set of images.
    first, second : int
        The two classes.
    centring : {"class", "global"}
        Whether the mean of the image's own class is taken away, or that of both (which keeps class means).
    mixture : GaussianMixture
        The Gaussian model of the inputs, with equal class weights.

    Examples
    --------
    >>> source = noisy_images("digits", 0, 1)
    >>> x, classes = source.sample(6, rng=0)
    >>> x.shape, classes.tolist(), source.mixture.traces.tolist()
    ((6, 64), [0, 0, 0, 1, 1, 1], [128.0000, 128.0000])
    """

    name: str
    first: int
    second: int
    centring: Centring
    mixture: GaussianMixture = field(repr=False)
    # the name and the classes say which images these are, so they need not count again
    _images: tuple[np.ndarray, ...] = field(repr=False, compare=False)

    def sample(self, count: int, rng: RNGLike | SeedLike = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw inputs (count, n) and their classes (count,), half of each class."""
        check_count("count", count)
        return self.draw(self.mixture.counts(count), generator(rng))

    def draw(
        self, sizes: np.ndarray, rng: np.random.Generator, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw `sizes[c]` inputs of each class c, into `out` if given; returns what `sample` does."""
        x = rng.standard_normal((int(np.sum(sizes)), self.mixture.dimension), out=out)
        stops = np.cumsum(sizes)
        for images, start, stop in zip(self._images, stops - sizes, stops, strict=True):
            x[start:stop] += images[rng.integers(0, len(images), stop - start)]
        return x, np.repeat(np.arange(len(sizes)), sizes)


def noisy_images(name: str, first: int, second: int, centring: Centring = "class") -> NoisyImages:
    """Prepare two classes of a set of images.

    Parameters
    ----------
    name, first, second : str, int and int
        The set, see `firstlight.data.images.load_images`, which must have been fetched; its two classes.
    centring : {"class", "global"}
        Which mean is taken away.

    Raises
    ------
    ImagesNotFetched
        The set is not on this machine; the message says how to get it.

    Examples
    --------
    >>> noisy_images("digits", 3, 5, "global").mixture.means.shape
    (2, 64)
    """
    check_instance("name", name, str)
    check_choice("centring", centring, ("class", "global"))
    classes = check_count("first", first, 0), check_count("second", second, 0)
    return _noisy_images(name, *classes, centring)


@lru_cache(maxsize=4)
def _noisy_images(name: str, first: int, second: int, centring: Centring) -> NoisyImages:
    try:
        pixels, sign = pair(name, first, second)
    except ImagesNotFetched:
        raise
    except ValueError as error:
        raise ValueError(f"name = {name!r}, first = {first}, second = {second}: {error}") from error
    images, means, covariances = [], [], []
    common = pixels.mean(axis=0)
    for value in (1.0, -1.0):
        mine = pixels[sign == value]
        centre = mine.mean(axis=0)
        away = mine - centre
        covariance = away.T @ away / len(mine)
        scale = np.sqrt(pixels.shape[1] / np.trace(covariance))
        shift = np.zeros_like(centre) if centring == "class" else scale * (centre - common)
        images.append(scale * away + shift)
        means.append(shift)
        covariances.append(Dense(scale**2 * covariance + np.eye(len(centre))))
    mixture = GaussianMixture(np.array([0.5, 0.5]), np.array(means), covariances)
    return NoisyImages(name, first, second, centring, mixture, tuple(images))
