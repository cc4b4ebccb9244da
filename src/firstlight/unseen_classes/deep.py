"""Deep networks on images: similarity, alignment and Recall@1 of unseen classes along training."""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import xarray as xr

from firstlight.data.cache import canonical_name, check_classes
from firstlight.data.images import load_images
from firstlight.data.unseen import UnseenData, image_classes, standardised
from firstlight.maths.agreement import rank_agreement
from firstlight.maths.checks import check_count
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.measure.retrieval import recall_at_k
from firstlight.measure.similarity import alignment
from firstlight.measure.step import class_means
from firstlight.study.problem import Assumption, Cost
from firstlight.unseen_classes.classes import predict_classes
from firstlight.unseen_classes.definitions.covariance import label_covariance
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.experiment.deep import Training, embeddings_along_training
from firstlight.unseen_classes.images import image_sizes

_RELATIONS = ("similarity_alignment", "similarity_recall", "alignment_recall")


@dataclass(frozen=True, eq=False, kw_only=True)
class DeepProblem(Training):
    """Train a deep network on some classes of a set of images and follow its embeddings of the others.

    Parameters
    ----------
    images : str, default "fashion-mnist"
        "fashion-mnist", "mnist" or "digits".
    classes : str, default "0,1,2,3,4"
        Classes to train on, two to seven of the ten; or "random": five, drawn for each trial.
    per_class : int, default 100
        Samples of each class.
    **training
        The fields of `firstlight.unseen_classes.experiment.deep.Training`.

    Examples
    --------
    >>> DeepProblem(images="digits", per_class=20).predict(0).sizes["epoch"]
    5
    """

    images: str = "fashion-mnist"
    classes: str = "0,1,2,3,4"
    per_class: int = 100

    theory: ClassVar[str] = "unseen_classes"
    version: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("unseen2025emergence",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("per_class", self.per_class, 2)
        canonical_name(self.images, "images")
        if not isinstance(self.classes, str) or self.classes != "random":
            check_classes("classes", self.classes, most=7)

    @property
    def _classes(self) -> list[str]:
        return [str(one) for one in check_classes("classes", self.classes, most=7)]

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw images of all classes, as rows of pixels."""
        drawn = self.classes == "random"
        classes = [str(c) for c in rng.choice(10, 5, replace=False)] if drawn else self._classes
        return image_classes(rng, self.images, classes, self.per_class)

    def conditional(self, **options: object) -> bool:
        """Say that `predict` speaks of the samples that `rng` draws."""
        return True

    def predict(self, rng: RNGLike | SeedLike = 0) -> xr.Dataset:
        """Return what one step of a two-layer network on the pixels would give, the same at every epoch."""
        data = self.sample(generator(rng))
        results = predict_classes(standardised(data), Step(loss="softmax"))
        size = np.abs(results["similarity"].values)
        numbers = {name: float(results[name]) for name in _RELATIONS}
        numbers |= _agreement(size, results["alignment"].values, results["recall"].values)
        numbers |= {
            "mean_alignment": float(results["alignment"].mean()),
            "mean_recall": float(results["mean_recall"]),
        }
        epochs = np.arange(self.epochs + 1)
        columns = {name: ("epoch", np.full(len(epochs), value)) for name, value in numbers.items()}
        return xr.Dataset(columns, {"epoch": epochs}).assign(_about(data, float(results["raw_recall"])))

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Train, and measure embeddings before training and after every epoch.

        The similarity of an unseen class is |Bᵀμ| of the embeddings, centred with the mean of the training
        ones. Beside the curves stand raw_recall, of the pixels, and unseen, which of the ten classes it was.
        """
        stream = generator(rng)
        data = self.sample(stream)
        shape = load_images(self.images).train.shape[1:]
        labels = np.unique(data.train_labels, return_inverse=True)[1]
        training = Training(**{item.name: getattr(self, item.name) for item in fields(Training)})
        pairs = embeddings_along_training(
            data.train.reshape(-1, *shape), labels, data.unseen.reshape(-1, *shape), training, stream
        )
        rows = [_measured(UnseenData(a, data.train_labels, b, data.unseen_labels)) for a, b in pairs]
        columns = {name: ("epoch", np.array([row[name] for row in rows])) for name in rows[0]}
        raw = recall_at_k(standardised(data).unseen, data.unseen_labels).overall
        return xr.Dataset(columns, {"epoch": np.arange(self.epochs + 1)}).assign(_about(data, raw))

    def cost(self, kind: str, **options: object) -> Cost:
        """Multiplications of the convolutions, or of one step on the pixels; and the images in memory."""
        trained = 5 if self.classes == "random" else len(set(self._classes))
        n, pixels, m = image_sizes(self.images, self.per_class, trained)
        if kind == "predict":
            return Cost(2.0 * m * m * pixels + n * n * pixels, 8.0 * (3 * m * m + n * n + pixels**2))
        layers = 16 if self.model == "resnet18" else 0.5  # of 9 width² per pixel: stages halve and double
        once = pixels * 9.0 * self.width * (1 + layers * self.width)
        passes = 3.0 * self.epochs * n + (self.epochs + 1) * (n + m)
        return Cost(once * passes, 4.0 * pixels * (n + m + 40 * self.width * self.batch_size))

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes and a deep network does not give."""
        return (
            Assumption("two layers, one step", "fails", f"{self.model}, {self.epochs} epochs"),
            Assumption("Gaussian pre-activations", "not checkable", "weights move in all layers"),
        )


def _about(data: UnseenData, raw: float) -> dict[str, object]:
    """Return Recall@1 of the pixels, centred as embeddings are, and which classes are unseen."""
    return {"raw_recall": raw, "unseen": ("class", np.isin(np.arange(10), data.unseen_labels).astype(float))}


def _measured(raw: UnseenData) -> dict[str, float]:
    data = standardised(raw)
    cosine = np.diag(alignment(data.unseen, data.unseen_labels, "cosine")).copy()
    recall = recall_at_k(data.unseen, data.unseen_labels)
    beta = label_covariance(data.train, data.train_labels, "softmax")
    size = np.linalg.norm(class_means(data.unseen @ beta.reshape(len(beta), -1), data.unseen_labels), axis=1)
    columns = {"similarity": size, "alignment": cosine, "recall": recall.by_class}
    results = {}
    for name in _RELATIONS:
        a, b = name.split("_")
        results[name] = float(rank_agreement(columns[a], columns[b], resamples=0)["spearman"])
    results |= _agreement(size, cosine, recall.by_class)
    return results | {"mean_alignment": float(cosine.mean()), "mean_recall": recall.overall}


def _agreement(*scores: np.ndarray) -> dict[str, float]:
    return {"kendall_w": float(rank_agreement(*scores, resamples=0)["kendall_w"])}
