"""Images: train on some of their classes, the others are unseen; and on one set of classes after another.

All sets share the same few classes: the intervals are for other classes (`over_classes`), not for other sets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import xarray as xr

from firstlight.data.cache import canonical_name, check_classes
from firstlight.data.unseen import UnseenData, image_classes, standardised
from firstlight.maths.agreement import rank_agreement
from firstlight.maths.checks import check_count
from firstlight.maths.intervals import over_classes
from firstlight.maths.refusals import check_instance
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.measure.retrieval import recall_at_k
from firstlight.study.problem import Cost
from firstlight.unseen_classes.base import UnseenProblem
from firstlight.unseen_classes.classes import predict_classes, simulate_classes
from firstlight.unseen_classes.definitions.observables import RELATIONS
from firstlight.unseen_classes.theory.retrieval import recall_from_gram

_SCORES = ("alignment", "elasticity", "recall_before", "recall")
_BASELINES = ("similarity_raw_recall", "alignment_raw_recall")


def image_sizes(images: str, per_class: int, trained: int) -> tuple[int, int, int]:
    """Sizes of a problem on images of ten classes.

    Examples
    --------
    >>> image_sizes("digits", 50, 2)
    (100, 64, 400)
    """
    return per_class * trained, 64 if images == "digits" else 784, per_class * (10 - trained)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Images(UnseenProblem):
    """Samples of a set of images; fields as below."""

    images: str = "digits"
    per_class: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("per_class", self.per_class, 2)
        canonical_name(self.images, "images")

    @property
    def _classes(self) -> list[str]:
        """The classes to train on."""
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return image_sizes(self.images, self.per_class, len(self._classes))

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples, centred and scaled."""
        return self._draw(rng, self._classes)

    def _draw(self, rng: np.random.Generator, classes: list[str]) -> UnseenData:
        return standardised(image_classes(rng, self.images, classes, self.per_class))


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageProblem(_Images):
    """Train on some classes of a set of images; the others are unseen.

    Parameters
    ----------
    images : str, default "digits"
        "digits", "mnist" or "fashion-mnist"; see `firstlight.data.load_images`.
    classes : str, default "0,1"
        The classes to train on, separated by commas.
    per_class : int, default 100
        Samples of each class.
    **step
        The fields of `Step`.

    Examples
    --------
    >>> predicted = ImageProblem(classes="3,8", per_class=20).predict(0)
    >>> predicted.sizes["class"], int(predicted.alignment.notnull().sum())
    (10, 8)
    """

    classes: str = "0,1"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_classes("classes", self.classes)

    @property
    def _classes(self) -> list[str]:
        return [str(one) for one in check_classes("classes", self.classes)]

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return all classes, the trained ones without values: so training sets can be laid side by side."""
        trained = np.array([int(name) for name in self._classes])
        every = np.union1d(results["class"].values, trained)
        return results.reindex({"class": every, "other": every})


@dataclass(frozen=True, eq=False, kw_only=True)
class SetsProblem(_Images):
    """Train on one set of classes after another; all other classes are unseen each time.

    Parameters
    ----------
    images : str, default "digits"
        "digits", "mnist" or "fashion-mnist".
    sets : str, default "pairs"
        "pairs": all 45 pairs of ten classes; or sets separated by semicolons, "0,1,2;3,4,5".
    per_class : int, default 100
        Samples of each class.
    **step
        The fields of `Step`.

    Examples
    --------
    >>> predicted = SetsProblem(sets="0,1;3,8;2,7", per_class=15).predict(0)
    >>> predicted.spearman.dims, predicted.alignment.dims, predicted.sizes["train"]
    (('relation',), ('train', 'class'), 3)
    """

    version: ClassVar[int] = 5

    sets: str = "pairs"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_instance("sets", self.sets, str)
        if any(not 2 <= len(set(one)) <= 7 for one in self._sets):
            raise ValueError(f"sets = {self.sets!r}: 'pairs', or sets of two to seven classes, as '0,1;2,3'")

    @property
    def _sets(self) -> list[list[str]]:
        if self.sets == "pairs":
            return [[str(a), str(b)] for a, b in combinations(range(10), 2)]
        return [[name.strip() for name in one.split(",") if name.strip()] for one in self.sets.split(";")]

    @property
    def _classes(self) -> list[str]:
        """Those of the first set."""
        return self._sets[0]

    def predict(self, rng: RNGLike | SeedLike = 0) -> xr.Dataset:
        """Theory for every set.

        Returns
        -------
        Dataset
            ``spearman_by_set`` by ``train`` and ``relation``: those of `RELATIONS`, and two with Recall@1 of
            the inputs themselves (``similarity_raw_recall``, ``alignment_raw_recall``), NaN where one of both
            is constant; ``spearman``, its mean over the sets, with the ends ``spearman_low`` and
            ``spearman_high`` of its 95 % interval;
            ``alignment``, ``elasticity``, ``recall_before`` and ``recall`` by ``train`` and ``class``;
            ``raw_recall``, ``mean_recall_before`` and ``mean_recall``, means over the sets.
        """

        def one(data: UnseenData, stream: np.random.Generator) -> xr.Dataset:
            raw = recall_from_gram(
                data.unseen @ data.unseen.T, data.unseen_labels, self.neighbours, self.metric
            )
            return _with_baselines(predict_classes(data, self), raw.recall_by_class)

        return self._over_sets(rng, one)

    def simulate(self, rng: RNGLike | SeedLike = None, *, steps: int = 1) -> xr.Dataset:
        """Train one network for every set; the observables of `predict`."""
        check_count("steps", steps, 1)

        def one(data: UnseenData, stream: np.random.Generator) -> xr.Dataset:
            raw = recall_at_k(data.unseen, data.unseen_labels, self.neighbours, self.metric)
            return _with_baselines(simulate_classes(data, self, stream, steps), raw.by_class)

        return self._over_sets(rng, one)

    def _over_sets(
        self, rng: RNGLike | SeedLike, kind: Callable[[UnseenData, np.random.Generator], xr.Dataset]
    ) -> xr.Dataset:
        tables, names = [], [*RELATIONS, *_BASELINES]
        for stream, classes in zip(generator(rng).spawn(len(self._sets)), self._sets, strict=True):
            one = kind(self._draw(stream, classes), stream).drop_dims("other")
            one = one.assign({name: np.nan for name in names if name not in one})  # too few classes
            every = np.union1d(one["class"].values, np.array([int(name) for name in classes]))
            tables.append(one.reindex({"class": every}))
        together = xr.concat(tables, xr.Variable("train", [",".join(one) for one in self._sets]))
        ranks = together[names].to_dataarray("relation").transpose("train", "relation")
        unseen = together["alignment"].notnull()
        ends = np.array([over_classes(ranks.sel(relation=name), unseen, -1, 1) for name in names])
        parts = zip(("spearman", "spearman_low", "spearman_high"), ends.T, strict=True)
        means = {name: together[name].mean() for name in ("raw_recall", "mean_recall_before", "mean_recall")}
        result = together[list(_SCORES)].assign(means).assign(spearman_by_set=ranks)
        return result.assign({name: ("relation", values) for name, values in parts}).assign_coords(
            relation=names
        )

    def cost(self, kind: str, **options: object) -> Cost:
        """Work of one set times their number; the memory of one."""
        one = super().cost(kind, **options)
        return Cost(one.flops * len(self._sets), one.bytes)


def _with_baselines(results: xr.Dataset, raw: np.ndarray) -> xr.Dataset:
    """Add how similarity and alignment rank with Recall@1 of the inputs, which no network has touched."""
    scores = {
        "similarity_raw_recall": abs(results["similarity"]),
        "alignment_raw_recall": results["alignment"],
    }
    return results.assign(
        {
            name: float(rank_agreement(score.values, raw, resamples=0)["spearman"])
            for name, score in scores.items()
        }
    )
