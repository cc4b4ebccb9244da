"""What theory and experiment both mean by one step: its setting, and what they draw in common.

Both may import this module, and nothing else of each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal, Protocol

import numpy as np

from firstlight.data.labels import Classification, Labels, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.maths.activations import Activation, activation
from firstlight.maths.checks import check_count, check_number, check_numbers
from firstlight.maths.equality import ByValue
from firstlight.maths.normals import Normals
from firstlight.maths.refusals import check_choice, refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.workers import BLOCK, Workers

Sample = tuple[np.ndarray, np.ndarray, np.ndarray]
SecondLayer = Literal["gaussian", "signs", "ones"]


class Source(Protocol):
    """Where a trial's inputs come from: the mixture itself, or real data."""

    def draw(
        self, sizes: np.ndarray, rng: np.random.Generator, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw `sizes[c]` inputs of each class c: inputs (count, n), in `out` if given, and classes."""
        ...


@dataclass(frozen=True, eq=False)
class Setting(ByValue):
    """One gradient step of the first layer, then ridge regression on fresh samples.

    Parameters
    ----------
    mixture : GaussianMixture
        Law of the inputs x; n is its dimension. With unequal traces the first layer's variance is one over
        their weighted mean.
    labels : Regression or Classification
        Law of the labels y.
    width : int
        k.
    samples : int
        m, training samples of the read-out.
    gradient_samples : int, optional
        m_g, samples of the gradient step, drawn afresh; default m.
    activation : str or Activation, default "relu"
        σ.
    step_size : float, default 1.0
        η.
    ridge : float or sequence of float, default 1e-4
        λ, at least 0; several values share one factorisation and become a dimension of the results.
    source : object with ``draw(sizes, rng)``, optional
        Where experiments take their inputs from, if not from the mixture: real data, of which the mixture is
        the model.
    beta : float, optional
        β, strength of the structure, if known: it decides the Hermite model's default degree.
    second_layer : {"gaussian", "signs", "ones"}, default "gaussian"
        Law of the second layer during the step, each entry of mean square 1/k: normal, a fair sign, or all
        equal (as in Cui et al., 2024).

    Examples
    --------
    >>> from firstlight.data.structured import structured_data
    >>> Setting(*structured_data(20, 2.0), width=10, samples=30).step_samples
    30
    """

    mixture: GaussianMixture
    labels: Labels
    _: KW_ONLY
    width: int
    samples: int
    gradient_samples: int | None = None
    activation: str | Activation = "relu"
    step_size: float = 1.0
    ridge: float | Sequence[float] = 1e-4
    source: Source | None = None
    beta: float | None = None
    second_layer: SecondLayer = field(default="gaussian", metadata={"later": True})

    def __post_init__(self) -> None:
        if not isinstance(self.mixture, GaussianMixture):
            raise refusal("mixture", self.mixture, "be a GaussianMixture")
        if not isinstance(self.labels, (Regression, Classification)):
            raise refusal("labels", self.labels, "be Regression or Classification")
        for name in ("width", "samples", "gradient_samples"):
            if name != "gradient_samples" or self.gradient_samples is not None:
                check_count(name, getattr(self, name))
                object.__setattr__(self, name, int(getattr(self, name)))  # NumPy's small integers overflow
        check_number("step_size", self.step_size, 0, 1e30)  # beyond, moments of polynomials may overflow
        ridges = check_numbers("ridge", self.ridge, 0)
        object.__setattr__(self, "ridge", ridges[0] if np.ndim(self.ridge) == 0 else ridges)
        if self.source is not None and not callable(getattr(self.source, "draw", None)):
            raise refusal("source", self.source, "have a method draw(sizes, rng)")
        if self.beta is not None:
            check_number("beta", self.beta, 0, 1)
        check_choice("second_layer", self.second_layer, ("gaussian", "signs", "ones"))
        activation(self.activation)
        self.labels.check(self.mixture)

    @property
    def sigma(self) -> Activation:
        """The activation itself."""
        return activation(self.activation)

    @property
    def ridges(self) -> np.ndarray:
        """Every λ, as an array."""
        return np.atleast_1d(np.asarray(self.ridge, dtype=float))

    @property
    def step_samples(self) -> int:
        """How many samples the gradient step takes: as given, or as many as the read-out."""
        return self.gradient_samples or self.samples

    @property
    def inputs(self) -> Source:
        """Where experiments take their inputs from."""
        return self.source or self.mixture

    @property
    def spiked(self) -> bool:
        """Whether every covariance is the identity plus spikes."""
        return all(isinstance(law, Spiked) for law in self.mixture.covariances)


class Streams:
    """Random streams by purpose, so that every model of a trial sees the same data and weights.

    Parameters
    ----------
    rng : Generator or seed, optional
        Advanced once; decides all streams.
    data : Generator or seed, optional
        Advanced once; decides those of the data in its place, so that many networks may see the same.

    Examples
    --------
    >>> one, other = Streams(0), Streams(np.random.default_rng(0))
    >>> bool(one("test", 3).normal() == other("test", 3).normal())
    True
    """

    _PURPOSES = (
        "first layer", "second layer", "gradient", "training", "training noise", "test", "test noise",
    )  # fmt: skip

    _DATA = ("gradient", "training", "test")

    def __init__(self, rng: RNGLike | SeedLike, data: RNGLike | SeedLike = None) -> None:
        self._seed = generator(rng).integers(0, 2**32, size=4).tolist()
        self._data = self._seed if data is None else generator(data).integers(0, 2**32, size=4).tolist()

    def __call__(self, purpose: str, block: int = 0) -> np.random.Generator:
        """Return the stream of a purpose and a block of samples."""
        seed = self._data if purpose in self._DATA else self._seed
        return Normals(np.random.SFC64([*seed, self._PURPOSES.index(purpose), block]))


class Draws:
    """Inputs with their classes and labels, block by block.

    Parameters
    ----------
    setting : Setting
        What is studied.
    counts : ndarray of int, shape (C,)
        How many samples of each class.
    stream : callable
        From a block's number to its random stream.
    """

    def __init__(
        self, setting: Setting, counts: np.ndarray, stream: Callable[[int], np.random.Generator]
    ) -> None:
        self.setting, self.stream = setting, stream
        classes = np.repeat(np.arange(setting.mixture.classes), counts)
        parts = -(-len(classes) // BLOCK)
        # dealt out in turn: a rare class has its exact number of samples, whatever the size of the blocks
        self.sizes = [np.bincount(classes[b::parts], minlength=setting.mixture.classes) for b in range(parts)]
        stops = np.cumsum([sizes.sum() for sizes in self.sizes])
        self.rows = [slice(stop - sizes.sum(), stop) for sizes, stop in zip(self.sizes, stops, strict=True)]

    def __len__(self) -> int:
        return len(self.sizes)

    def scratch(self, workers: Workers, block: int) -> np.ndarray:
        """Return the calling thread's room for the inputs of a block."""
        return workers.scratch("inputs", int(self.sizes[block].sum()), self.setting.mixture.dimension)

    def __call__(self, block: int, out: np.ndarray) -> Sample:
        """Return inputs (in `out`), classes and labels of a block."""
        rng = self.stream(block)
        x, classes = self.setting.inputs.draw(self.sizes[block], rng, out)
        return x, classes, self.setting.labels(x, classes, rng)
