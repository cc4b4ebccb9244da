"""Labels of a mixture's inputs: a function of one direction, or the class."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firstlight.data.mixture import GaussianMixture
from firstlight.maths.activations import Activation, activation
from firstlight.maths.checks import check_array, check_number, check_numbers
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import refusal

Link = str | Activation


@dataclass(frozen=True, eq=False)
class Regression(ByValue):
    """Labels y = g_c(ξᵀx) + δ · normal; the link may depend on the class c of the input.

    Parameters
    ----------
    direction : array_like, shape (n,)
        ξ.
    link : str or Activation, or a sequence of them, default "relu"
        g, the same for all classes; or one link for each class.
    noise : float, default 0.0
        δ, standard deviation of the label noise; at least 0.

    Examples
    --------
    >>> labels = Regression([1.0, 0.0])
    >>> labels(np.array([[2.0, 5.0], [-1.0, 5.0]]), np.array([0, 0]), rng=np.random.default_rng(0)).tolist()
    [2.0, 0.0]
    >>> labels = Regression([1.0, 0.0], link=("relu", "linear"))
    >>> labels(np.array([[-1.0, 5.0], [-1.0, 5.0]]), np.array([0, 1]), rng=np.random.default_rng(0)).tolist()
    [0.0, -1.0]
    """

    direction: np.ndarray
    link: Link | Sequence[Link] = "relu"
    noise: float = 0.0

    def __post_init__(self) -> None:
        direction = check_array("direction", self.direction, ("dimension",))
        if not direction.any():
            raise ValueError("direction: must not be zero")
        object.__setattr__(self, "direction", direction)
        check_number("noise", self.noise, 0)
        if not isinstance(self.link, (str, Activation)):
            if not isinstance(self.link, Sequence) or not self.link:
                raise refusal("link", self.link, "be an activation, or one for each class")
            object.__setattr__(self, "link", tuple(self.link))
        for link in self._links:  # a wrong name is refused here
            activation(link, field="link")

    def check(self, mixture: GaussianMixture) -> None:
        """Raise a ValueError unless these labels fit the mixture."""
        if self.direction.size != mixture.dimension:
            raise ValueError(
                f"labels: direction of length {self.direction.size}, the mixture's is {mixture.dimension}"
            )
        if len(self._links) not in (1, mixture.classes):
            raise ValueError(f"labels: {len(self._links)} links for a mixture of {mixture.classes} classes")

    @property
    def _links(self) -> tuple[Link, ...]:
        return self.link if isinstance(self.link, tuple) else (self.link,)

    def link_of(self, c: int) -> Activation:
        """Return the link of class c."""
        return activation(self._links[c if len(self._links) > 1 else 0])

    def __call__(self, x: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the labels of inputs x of these classes; `rng` draws the noise."""
        index = x @ self.direction
        y = self.link_of(0)(index)
        for c in range(1, len(self._links)):
            y = np.where(classes == c, self.link_of(c)(index), y)
        return y + self.noise * rng.standard_normal(len(y)) if self.noise else y

    def index(self, mixture: GaussianMixture) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of ξᵀx in each class."""
        row = self.direction[None, :]
        variance = [float(law.quadratic(row)[0, 0]) for law in mixture.covariances]
        return mixture.project(row)[:, 0], np.sqrt(variance)

    def resolved(self, mixture: GaussianMixture) -> bool:
        """Tell whether the links' moments are (see `Activation.resolved`): those of fast waves are noise."""
        means, stds = self.index(mixture)
        return all(  # two other rules: what is noise may agree by chance with one
            self.link_of(c).resolved(means[c], stds[c], order=order)
            for c in range(mixture.classes)
            for order in (30, 40)
        )

    def moments(self, mixture: GaussianMixture) -> tuple[np.ndarray, np.ndarray]:
        """Return E[y | c] and E[y² | c], noise included."""
        means, stds = self.index(mixture)
        parts = [
            _moments_of(link, float(mean), float(std))
            for link, mean, std in zip(map(self.link_of, range(mixture.classes)), means, stds, strict=True)
        ]
        first, second = np.array(parts).T
        return first, second + self.noise**2


@lru_cache(maxsize=1024)
def _moments_of(link: Activation, mean: float, std: float) -> tuple[float, float]:
    """Return E f and E f² of a link f at a normal index; a prediction asks more than once."""
    return float(link.moments(mean, std, 0)[..., 0]), float(link.mean_square(mean, std))


@dataclass(frozen=True, eq=False)
class Classification(ByValue):
    """Labels y = v_c that tell the class, fitted by the squared loss.

    Parameters
    ----------
    values : sequence of float, default (1, -1)
        v, one distinct value per class.

    Examples
    --------
    >>> Classification()(np.zeros((3, 2)), np.array([0, 1, 1]), rng=None).tolist()
    [1.0, -1.0, -1.0]
    """

    values: Sequence[float] = (1.0, -1.0)

    def __post_init__(self) -> None:
        values = check_numbers("values", self.values)
        if len(values) < 2 or len(set(values)) < len(values):
            raise refusal("values", self.values, "be two or more distinct numbers, one for each class")
        object.__setattr__(self, "values", values)

    def check(self, mixture: GaussianMixture) -> None:
        """Raise a ValueError unless these labels fit the mixture."""
        if len(self.values) != mixture.classes:
            raise ValueError(f"labels: {len(self.values)} values for a mixture of {mixture.classes} classes")

    def __call__(self, x: np.ndarray, classes: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        """Return the labels of inputs x of these classes."""
        return np.asarray(self.values)[classes]

    def resolved(self, mixture: GaussianMixture) -> bool:
        """Tell that the moments are exact."""
        return True

    def moments(self, mixture: GaussianMixture) -> tuple[np.ndarray, np.ndarray]:
        """Return E[y | c] and E[y² | c]."""
        values = np.asarray(self.values)
        return values, values**2


Labels = Regression | Classification


def label_variance(labels: Labels, mixture: GaussianMixture) -> float:
    """Return Var y over the whole mixture; 0 for labels that vary by their rounding only.

    NaN where no rule resolves the labels' moments.

    Examples
    --------
    >>> mixture = GaussianMixture([0.5, 0.5], None, [np.eye(2), np.eye(2)])
    >>> label_variance(Classification(), mixture)
    1.0
    """
    if not labels.resolved(mixture):
        return float("nan")
    mean, square = labels.moments(mixture)
    total = float(mixture.weights @ square)
    variance = total - float(mixture.weights @ mean) ** 2
    return variance if variance > 1e-13 * total else 0.0  # of a difference of moments good to 1e-15 each
