"""Problems by the quantities that the source's figures sweep."""

from typing import Any

from firstlight.data.cache import ImagesNotFetched, check_classes
from firstlight.data.labels import Classification
from firstlight.data.noisy_images import Centring, noisy_images
from firstlight.data.structured import structured_data
from firstlight.maths.activations import Activation
from firstlight.maths.checks import check_count, check_number
from firstlight.maths.refusals import shown
from firstlight.one_step.problem import Problem


def by_width(ratio: float, dimension: int, samples: int, **fields: Any) -> Problem:
    """Return `Problem.scaled` with a width of `ratio` times the number of samples.

    Parameters
    ----------
    ratio : float
        k/m, positive.
    dimension, samples : int
        Input dimension and training samples.
    **fields
        The other fields of `Problem.scaled`.

    Examples
    --------
    >>> by_width(1.5, dimension=40, samples=20, alpha=0.5, beta=0.5).width
    30
    """
    return Problem.scaled(dimension=dimension, width=_width(ratio, samples), samples=samples, **fields)


def by_share(share: float, **fields: Any) -> Problem:
    """Return `Problem.scaled` with two classes, the first of probability `share`.

    Examples
    --------
    >>> by_share(0.2, dimension=40, width=20, samples=20, alpha=0.5, beta=0.5).mixture.weights.tolist()
    [0.2, 0.8]
    """
    check_number("share", share, above=0, below=1)
    return Problem.scaled(weights=(share, 1 - share), **fields)


def at_strength(
    strength: float,
    step_size: float,
    dimension: int,
    width: int,
    samples: int,
    ridge: float,
    activation: str,
    **data: Any,
) -> Problem:
    """Return the problem with spike strength and step size given, whatever the dimension.

    So the same question can be asked in fewer dimensions, where it is answered faster.

    Parameters
    ----------
    strength : float
        θ.
    step_size, dimension, width, samples, ridge, activation
        As in `Problem.scaled`.
    **data
        β, and fields of `firstlight.data.structured.structured_data`.

    Examples
    --------
    >>> at_strength(3.0, 2.0, 30, 20, 20, ridge=0.1, activation="relu", beta=0.5).mixture.traces.tolist()
    [33.0000, 33.0000]
    """
    beta = data.pop("beta")
    return Problem(
        *structured_data(dimension, strength, **data), width=width, samples=samples,
        activation=activation, step_size=step_size, ridge=ridge, beta=beta,
    )  # fmt: skip


def images(
    ratio: float,
    samples: int,
    classes: str,
    images: str = "fashion-mnist",
    alpha: float = 0.0,
    beta: float = 1.0,
    centring: Centring = "class",
    activation: str | Activation = "relu",
    ridge: float = 1e-4,
) -> Problem:
    """Return the classification of two classes of real images, blurred with noise.

    Experiments draw the images; predictions see only the class means and covariances.

    Parameters
    ----------
    ratio : float
        k/m, positive.
    samples : int
        Training samples.
    classes : str
        The two classes, as "0,1", labelled +1 and -1.
    images : str, default "fashion-mnist"
        The set; it must have been fetched.
    alpha, beta : float
        The step size is n^(αβ) with n the number of pixels.
    centring : {"class", "global"}
        Which mean is taken from the images.
    activation, ridge
        See `Problem`.

    Examples
    --------
    >>> images(0.5, 40, "0,1", images="digits").source
    NoisyImages(name='digits', first=0, second=1, centring='class')
    """
    check_number("alpha", alpha, 0, 1)
    check_number("beta", beta, 0, 1)
    first, second = check_classes("classes", classes, most=2)
    try:
        source = noisy_images(images, first, second, centring)
    except (ImagesNotFetched, ValueError) as error:
        raise type(error)(f"images = {shown(images)}, classes = {classes!r}: {error}") from error
    step_size = float(source.mixture.dimension ** (alpha * beta))
    return Problem(
        source.mixture, Classification(), width=_width(ratio, samples), samples=samples,
        activation=activation, step_size=step_size, ridge=ridge, source=source, beta=beta,
    )  # fmt: skip


def _width(ratio: float, samples: int) -> int:
    ratio = check_number("ratio", ratio, above=0, high=1e6)
    return max(1, round(ratio * check_count("samples", samples)))
