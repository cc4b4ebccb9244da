"""Which samples each step uses, in the theory's own set of samples."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np

from firstlight.phase_transition.definitions import Training
from firstlight.phase_transition.theory.labels import LabelSample


class Batches:
    """Draws s_t/b for each sample: s_t is 1 for those in the batch of step t, and 0 for the others.

    Parameters
    ----------
    training : Training
        Its `batch` and `batches`.
    sample : LabelSample
        Cyclic batches are strata of it: neighbours in the order of their labels go to different ones.
    rng : Generator

    Attributes
    ----------
    sample : LabelSample
        The same samples, in an order in which cyclic batches are runs within equal labels.
    averaged : bool
        Whether a batch is independent of all that came before, so that sums over it may be replaced by sums
        over all samples. Batches that are never seen again leave no trace: s_t is then 0.
    """

    def __init__(self, training: Training, sample: LabelSample, rng: np.random.Generator) -> None:
        self.training, self.rng = training, rng
        self.averaged = not training.full_batch and training.batches != "cyclic"
        labels = equal_runs(sample.y)
        self.group = np.zeros(len(sample.y), int)
        if not training.full_batch and training.batches == "cyclic":
            if training.cycle > len(sample.y) // 2:
                raise ValueError(
                    f"batch = {training.batch:g}: less than two of the {len(sample.y)} samples that stand "
                    "for the data; take larger cyclic batches or more draws"
                )
            self.group = _divided(sample, training.cycle, rng)
            place = np.concatenate([np.full(run.stop - run.start, i) for i, run in enumerate(labels)])
            order = np.lexsort((self.group, place))
            sample = replace(sample, **{f.name: getattr(sample, f.name)[order] for f in fields(sample)})
            self.group = self.group[order]
        self.sample, self.labels = sample, labels

    def runs(self, conditions: int) -> list[slice]:
        """Return runs of samples that are alike, each with at least so many of them."""
        ends = [0, *(np.flatnonzero(np.diff(self.group)) + 1).tolist(), *(run.stop for run in self.labels)]
        parts = [slice(a, b) for a, b in pairwise(sorted(set(ends)))]
        return parts if min(part.stop - part.start for part in parts) >= conditions else self.labels

    def drawn(self, t: int) -> np.ndarray | None:
        """Return s_t/b for each sample; None if all are in the batch."""
        training, weight = self.training, self.sample.weight
        if training.full_batch:
            return None
        if training.one_pass:
            return np.zeros(len(weight))
        if training.batches == "cyclic":
            chosen = self.group == t % training.cycle
        else:
            order = self.rng.permutation(int(self.sample.twin.max()) + 1)
            chosen = order[self.sample.twin] < training.batch * len(order)
        return chosen / float(weight @ chosen)


def equal_runs(y: np.ndarray, most: int = 4) -> list[slice]:
    """Return the runs of equal labels if they are few, otherwise everything in one."""
    ends = [0, *(np.flatnonzero(np.diff(y)) + 1).tolist(), len(y)]
    return [slice(a, b) for a, b in pairwise(ends)] if len(ends) <= most + 1 else [slice(0, len(y))]


def _divided(sample: LabelSample, groups: int, rng: np.random.Generator) -> np.ndarray:
    """Divide samples into groups, twins together: of neighbours in the order of labels one for each."""
    _, first = np.unique(sample.twin, return_index=True)
    order = np.argsort(sample.y[first], kind="stable")
    shuffled = rng.permuted(np.tile(np.arange(groups), (-(-len(order) // groups), 1)), axis=1).ravel()
    number = np.empty(len(order), int)
    number[order] = shuffled[: len(order)]
    return number[sample.twin]
