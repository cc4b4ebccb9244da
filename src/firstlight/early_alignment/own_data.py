"""Pairs of a user's classes: their rows, where theory has neurons turn on them, and where descent does."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firstlight.data.separable import own_points
from firstlight.diagnosis import UserData
from firstlight.early_alignment.definitions.alignment import cosines
from firstlight.early_alignment.experiment.own_data import descend
from firstlight.early_alignment.theory.own_data import (
    Course,
    PairCosines,
    course,
    pair_cosines,
    right_active,
    right_by_chance,
)

ROWS, WIDTH, PAIRS, LEAST = 50, 60, 3, 4
RESTS = 12  # classes that are asked against all others
SMALLEST = -230.0  # log of a start whose square a computer still holds: 1e-100


@dataclass(eq=False)
class Pair:
    """Two classes, or one and the rest: rows to train on and to look at, with and without their mean.

    Attributes
    ----------
    name : str
    rows : ndarray of int
        Which of the user's rows are trained on.
    X, y, unseen, unseen_y : ndarray
        Scaled to root mean square length one, centred if that helps.
    raw, centred : PairCosines
    starts : list of dict
        What the exact path predicts and, under names with "measured", what descent did, for each start.
    fates : ndarray, shape (5,)
        Neurons that end active on exactly the first class or the second, dead, or else nearest to the centre
        of the first or the second.
    curves : dict
    """

    name: str
    classes: tuple[str, str]
    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    unseen: np.ndarray
    unseen_y: np.ndarray
    raw: PairCosines
    centred: PairCosines
    starts: list[dict[str, float]] = field(default_factory=list)
    fates: np.ndarray = field(default_factory=lambda: np.zeros(5, int))
    curves: dict[str, Any] = field(default_factory=dict)

    @property
    def centring(self) -> bool:
        """Whether taking the mean away helps."""
        return self.centred.q10 > self.raw.q10

    @property
    def best(self) -> PairCosines:
        """The better of the two."""
        return self.centred if self.centring else self.raw

    @property
    def asked(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows that neurons are asked about, the same for all starts, and their labels."""
        return (self.unseen, self.unseen_y) if len(self.unseen) else (self.X, self.y)

    def rows_error(self, share: float) -> float:
        """Return the standard error of a share of right answers that comes from so few rows.

        Neurons that turned alike answer a row alike, so that rows count, not neurons: at most √(p (1 - p)/n),
        with half a row more for shares of all or none.
        """
        n = len(self.asked[1])
        return float(np.sqrt(max(share * (1 - share), 0.0) / n + 0.25 / n**2))


def hardest_pairs(data: UserData) -> list[Pair]:
    """Return the hardest pairs of classes; of three classes or more then large ones against the rest."""
    names = data.classes
    asked = [((names[a], names[b]), a, data.y == b) for a, b in data.pairs(PAIRS, LEAST)]
    if len(names) > 2:
        by_size = np.argsort(-np.asarray(data.counts), kind="stable")[:RESTS]
        large = [int(c) for c in np.sort(by_size) if data.counts[c] >= LEAST]
        asked += [((names[c], "the rest"), c, data.y != c) for c in large]
    pairs = (_pair(data, title, plus, minus) for title, plus, minus in asked)
    return [pair for pair in pairs if pair is not None]


def _pair(data: UserData, classes: tuple[str, str], plus: int, minus: np.ndarray) -> Pair | None:
    rng = data.rng("alignment", "rows")
    train, rest = [], []
    for members in (minus, data.y == plus):
        order = rng.permutation(np.flatnonzero(members))
        count = min(ROWS, len(order) - len(order) // 4)
        train.append(order[:count])
        rest.append(order[count : count + ROWS])
    rows, other = np.concatenate(train), np.concatenate(rest)
    y, unseen_y = (np.where(data.y[part] == plus, 1.0, -1.0) for part in (rows, other))
    mean = data.X[rows].mean(axis=0)
    try:
        versions = [own_points(data.X[rows], y, centre) for centre in (False, True)]
    except ValueError:  # rows without a direction
        return None
    raw, centred = (pair_cosines(*version) for version in versions)
    better = int(centred.q10 > raw.q10)
    X, y = versions[better]
    unseen = data.X[other] - (mean if better else 0)
    return Pair(" against ".join(classes), classes, rows, X, y, unseen, unseen_y, raw, centred)


def follow(data: UserData, pair: Pair, start: int) -> None:
    """Draw a start, follow it exactly, and train from ε*."""
    rng = data.rng("alignment", "start", start)
    W = rng.standard_normal((WIDTH, pair.X.shape[1]))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    signs = np.where(np.arange(WIDTH) % 2, 1, -1)
    way = course(pair.X, pair.y, W, signs)
    times = np.linspace(0, way.time, 13)
    expected, ends = way.directions(), way.ends()
    live = way.path.death_time > way.time
    rows, labels = pair.asked
    values = {
        "time": way.time, "log_scale": way.log_scale, "right": right_active(expected, signs, rows, labels),
        "chance": right_by_chance(expected, signs, rows, labels), "dead": way.dead(), "rank": _rank(way),
    }  # fmt: skip
    pair.fates += _fates(way, pair)
    turned = {"theory": way.path.direction(times)}
    if way.log_scale > SMALLEST:
        descent = descend(pair.X, pair.y, W, signs, float(np.exp(way.log_scale)), times)
        last = descent.directions[-1]
        agreement = np.einsum("jd,jd->j", expected, last)[live]
        values |= {
            "output": descent.output, "rank measured": descent.stable_rank,
            "cosine": float(np.quantile(agreement, 0.05)) if live.any() else float("nan"),
            "right measured": right_active(last, signs, rows, labels),
            "dead measured": float((last @ pair.X.T <= 0).all(axis=1).mean()),
        }  # fmt: skip
        turned["measured"] = descent.directions
    pair.starts.append(values)
    if start == 0 and live.any():
        pair.curves = {"times": times.tolist()} | {
            name: np.quantile(
                [np.einsum("jd,jd->j", u, ends)[live] for u in way], (0.1, 0.5), axis=1
            ).tolist()
            for name, way in turned.items()
        }


def _fates(way: Course, pair: Pair) -> np.ndarray:
    """Count where neurons end; those that end elsewhere, by the nearest centre."""
    fate, ends = way.path.fate, way.ends()
    plus, minus = (cosines(ends, pair.X[pair.y == sign].sum(axis=0)) for sign in (1, -1))
    near = (fate == 2) & (np.nan_to_num(plus) >= np.nan_to_num(minus))
    exact = [int((fate == code).sum()) for code in (1, -1, 0)]
    return np.array([*exact, int(near.sum()), int(((fate == 2) & ~near).sum())])


def _rank(way: Course) -> float:
    """Stable rank ‖W‖²_F/‖W‖²₂ of the first layer at t95, by the exact path."""
    u, growth, _ = way.path.state(way.time)
    W = u * np.exp(growth - growth.max())[:, None]
    values = np.linalg.svd(W, compute_uv=False) ** 2
    return float(values.sum() / values[0])
