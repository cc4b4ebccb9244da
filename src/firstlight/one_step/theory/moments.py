"""Population moments of the features φ = σ(F x)/√k of a given first layer, class by class."""

from dataclasses import dataclass, replace

import numpy as np

from firstlight.data.labels import Labels, Regression
from firstlight.data.mixture import GaussianMixture
from firstlight.maths.activations import Activation
from firstlight.maths.feature_moments import cross_moments, second_moments


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """What the read-out sees of the population.

    Attributes
    ----------
    weights : ndarray, shape (C,)
        ρ, class probabilities.
    second : list of C ndarrays, shape (k, k)
        Ω_c = E[φ φᵀ | c], not centred.
    cross : ndarray, shape (C, k)
        b_c = E[φ y | c].
    label_square : ndarray, shape (C,)
        E[y² | c], noise included.
    resolved : bool, default True
        Whether the integrals are: a wave over many radians has none that a rule finds.
    mean : ndarray, shape (C, k), optional
        μ_c = E[φ | c], of classes with one label each.
    label_mean : ndarray, shape (C,), optional
        These labels.
    """

    weights: np.ndarray
    second: list[np.ndarray]
    cross: np.ndarray
    label_square: np.ndarray
    resolved: bool = True
    mean: np.ndarray | None = None
    label_mean: np.ndarray | None = None

    def pooled(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return Ω, b and E y² over all classes."""
        omega = self.weights[0] * self.second[0]
        for weight, second in zip(self.weights[1:], self.second[1:], strict=True):
            omega += weight * second
        return omega, self.weights @ self.cross, float(self.weights @ self.label_square)

    def risk(self, readout: np.ndarray) -> np.ndarray:
        """Return E[(y - φᵀw)² | c] for the read-outs w in the rows of `readout`: shape (L, C)."""
        quadratic = [np.einsum("lk,lk->l", readout @ omega, readout) for omega in self.second]
        risk = self.label_square - 2 * readout @ self.cross.T + np.stack(quadratic, axis=-1)
        return np.maximum(risk, 0.0)  # of a perfect fit: rounding

    def pulls(self, readouts: np.ndarray) -> np.ndarray:
        """Return p_c = E[φ (y - φᵀw) | c] for the read-outs w in the rows of `readouts`: shape (L, C, k).

        And after them the μ_c, where they are known: shape (L, 2 C, k).
        """
        pulls = self.cross - np.stack([readouts @ omega for omega in self.second], axis=1)
        if self.mean is None:
            return pulls
        return np.concatenate([pulls, np.broadcast_to(self.mean, pulls.shape)], axis=1)

    def of_samples(self, mixture: GaussianMixture, m: int) -> "FeatureMoments":
        """Return them with the shares that classes have among m samples, whose counts are whole numbers."""
        return replace(self, weights=mixture.counts(m) / m)


def feature_moments(
    first_layer: np.ndarray, sigma: Activation, mixture: GaussianMixture, labels: Labels
) -> FeatureMoments:
    """Integrate the features of a first layer over the mixture.

    Parameters
    ----------
    first_layer : ndarray, shape (k, n)
        F after the step.
    sigma : Activation
        σ.
    mixture : GaussianMixture
        Law of the inputs.
    labels : Regression or Classification
        Law of the labels.

    Returns
    -------
    FeatureMoments

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> mixture = GaussianMixture([1.0], None, [np.eye(2)])
    >>> moments = feature_moments(np.eye(2), activation("linear"), mixture, Regression([1.0, 0.0], "linear"))
    >>> moments.second[0].tolist(), moments.cross.tolist()
    ([[0.5000, 0.0000], [0.0000, 0.5000]], [[0.707107, 0.0000]])
    """
    k = len(first_layer)
    means = mixture.project(first_layer)
    label_mean, label_square = labels.moments(mixture)
    gram = first_layer @ first_layer.T  # shared by all classes
    second, cross, centres, resolved = [], [], list[np.ndarray](), True
    for c, law in enumerate(mixture.covariances):
        covariance = law.quadratic(first_layer, gram=gram)
        variance = np.diag(covariance).copy()
        if isinstance(labels, Regression):
            index_mean, index_std = labels.index(mixture)
            along = law.quadratic(first_layer, labels.direction[None, :])[:, 0]
            link = labels.link_of(c)
            mixed = cross_moments(sigma, means[c], variance, link, index_mean[c], index_std[c] ** 2, along)
        else:
            mean = sigma.moments(means[c], np.sqrt(variance), 0)[:, 0]
            centres.append(mean / np.sqrt(k))
            mixed = label_mean[c] * mean
        cross.append(mixed / np.sqrt(k))
        omega = second_moments(sigma, means[c], covariance)
        omega /= k
        second.append(omega)
        if not np.isfinite([omega.min(), omega.max(), mixed.min(), mixed.max()]).all():
            raise ValueError(
                f"activation: moments of {sigma.name} are not finite over pre-activations with a standard "
                f"deviation up to {np.sqrt(variance.max()):.3g}; take another, or a smaller step_size"
            )
        closed = not isinstance(labels, Regression)  # a link asks for the Hermite coefficients too
        resolved &= sigma.resolved(means[c], np.sqrt(variance), closed=closed)
    known = (np.array(centres), np.asarray(label_mean)) if centres else (None, None)
    return FeatureMoments(mixture.weights, second, np.array(cross), label_square, resolved, *known)
