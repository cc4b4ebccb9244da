"""What is studied: a law of labelled data, and a small start."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from firstlight.data.cache import check_classes
from firstlight.data.images import pair
from firstlight.data.separable import separable, toy, two_classes, two_points
from firstlight.early_alignment.definitions.start import gaussian_start
from firstlight.maths.checks import check_count, check_number
from firstlight.maths.equality import ByValue
from firstlight.maths.losses import MARGIN_LOSSES
from firstlight.maths.refusals import check_choice, check_flag, refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator

IMAGES = ("digits", "mnist", "fashion-mnist")
SOURCES = ("separable", "toy", "two-points", "own", *IMAGES)


@dataclass(frozen=True, eq=False)
class Setting(ByValue):
    """Labelled data and a start, checked when built.

    Attributes
    ----------
    data : {"separable", "toy", "two-points", "own", "digits", "mnist", "fashion-mnist"}
        Random orthogonally separable points; 25 points on two arcs; the points e₁ and (sin δ, cos δ), both
        positive; the rows in `own`; or two classes of images, minus their mean image.
    samples : int
        n, for separable data and images (half of each class).
    dimension, mu : int and float
        D and μ of separable data.
    separation : float
        δ of the two points; at 0 they are orthogonal, and neurons may stop at either or between them.
    classes : str
        The two classes of images, the positive one first.
    start : {"balanced", "gaussian", "angle"}
        Rows of length ε with vⱼ = ±‖wⱼ‖; both layers N(0, ε²); or a single positive neuron at angle -`angle`.
    width, log_scale, angle : int, float, float
        h, log ε, and that angle.
    loss : {"exp", "logistic", "logistic2"}
    reduction : {"sum", "mean"}
        The loss, and whether it is added or averaged over the data.
    step_size : float
        η, for gradient descent.
    horizon, observations, log_times : float, int, bool
        Last time, how many observations, and whether evenly in log time from horizon × 10⁻⁶ on.
    own : (ndarray, ndarray), optional
        Rows (n, d) and labels ±1 of one's own, with ``data="own"``; see `Problem.from_data`.

    Examples
    --------
    >>> X, y, W, v = Setting(samples=6, dimension=3, width=5).draw(rng=0)
    >>> X.shape, W.shape, v.tolist()
    ((6, 3), (5, 3), [-1.0, 1.0, 1.0, -1.0, 1.0])
    """

    data: str = "separable"
    _: KW_ONLY
    dimension: int = 10
    width: int = 50
    samples: int = 20
    mu: float = 0.2
    separation: float = 0.1
    classes: str = "0,1"
    start: str = "balanced"
    log_scale: float = float(np.log(1e-6))
    angle: float = 1.0
    loss: str = "exp"
    reduction: str = "sum"
    step_size: float = 2e-3
    horizon: float = 5.0
    observations: int = 101
    log_times: bool = False
    own: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("data", SOURCES),
            ("start", ("balanced", "gaussian", "angle")),
            ("loss", tuple(MARGIN_LOSSES)),
            ("reduction", ("sum", "mean")),
        ):
            check_choice(name, getattr(self, name), allowed)
        check_flag("log_times", self.log_times)
        for name, least, most in (
            ("samples", 2, np.inf),
            ("dimension", 2, np.inf),
            ("width", 1, np.inf),
            ("observations", 2, np.inf),
        ):
            check_count(name, getattr(self, name), least, most)
        for name, above, highest in (
            ("mu", 0.0, 1.0),
            ("angle", 0.0, np.pi),
            ("step_size", 0.0, 1e3),
            ("horizon", 0.0, 1e300),
            ("log_scale", -np.inf, np.inf),
        ):
            check_number(name, getattr(self, name), above=above, high=highest)
        check_number("separation", self.separation, 0, np.pi / 2)
        if self.mu == 1:
            raise ValueError("mu = 1: must be less than 1, where all points would be one")
        check_classes("classes", self.classes, most=2)
        if (self.data == "own") != (self.own is not None):
            raise ValueError(f"own: must be given with data = 'own', and only then (data = {self.data!r})")
        if self.own is not None:
            object.__setattr__(self, "own", _own(self.own))
        if self.start == "angle" and self.data != "two-points":
            raise ValueError(f"start = 'angle': needs data = 'two-points', not {self.data!r}")

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and dimension of the data, without drawing them."""
        if self.own is not None:
            return self.own[0].shape[0], self.own[0].shape[1]
        sizes = {"separable": self.dimension, "digits": 64, "toy": 2, "two-points": 2}
        rows = {"toy": 25, "two-points": 2}
        return rows.get(self.data, self.samples), sizes.get(self.data, 784)

    @property
    def times(self) -> np.ndarray:
        """The times of the observations."""
        if self.log_times:
            return np.geomspace(1e-6 * self.horizon, self.horizon, self.observations)
        return np.linspace(0, self.horizon, self.observations)

    def draw(self, rng: RNGLike | SeedLike = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Draw data X, y and a start, rows and second layer in units of ε; both sides see the same."""
        rng = generator(rng)
        if self.data == "separable":
            X, y = separable(self.samples, self.dimension, self.mu, rng)
        elif self.own is not None:
            X, y = self.own
        elif self.data in IMAGES:
            plus, minus = check_classes("classes", self.classes)
            X, y = pair(self.data, plus, minus, self.samples // 2, rng)
            X = X - X.mean(axis=0)
        else:
            X, y = toy() if self.data == "toy" else two_points(self.separation)
        if self.start == "angle":
            return X, y, np.array([[np.cos(self.angle), -np.sin(self.angle)]]), np.ones(1)
        W, v = gaussian_start(self.width, X.shape[1], 1.0, rng)
        if self.start == "balanced":
            W, v = W / np.linalg.norm(W, axis=1, keepdims=True), np.sign(v)
        return X, y, W, v


def _own(given: object) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of one's own, checked."""
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise refusal("own", given, "be a pair: rows (n, d) and labels ±1 (n,)")
    try:
        return two_classes(*given)
    except ValueError as error:
        raise ValueError(f"own: {error}") from None
