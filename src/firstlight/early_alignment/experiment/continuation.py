"""From an exact early path to the integrated flow: as long as outputs are negligible the path is the flow.

The path is handed in; this module knows only what it must be able to tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from firstlight.early_alignment.experiment.class_flow import Moments, class_moments, integrate_classes
from firstlight.early_alignment.experiment.flow import Neurons, integrate


@dataclass(eq=False)
class Continuation:
    """A trajectory at the output times, and what happened after the switches.

    Attributes
    ----------
    states : list of (ndarray, ndarray)
        Directions and log norms, or second moments and log scales, at each time.
    evaluations : int
        Of right-hand sides, in all.
    last_flip : float
        When a datum switched on or off for the last time after the switch; -inf if none did.
    risen : ndarray of shape (2,)
        When max |f| of each class first exceeded 1/4; inf if it did not.
    sliding : bool
        Whether a neuron slides along a wall at the end.
    note : str
        Why an integration did not reach its end; empty if all did.
    """

    states: list[tuple[np.ndarray, np.ndarray]]
    evaluations: int = 0
    last_flip: float = -np.inf
    risen: np.ndarray = field(default_factory=lambda: np.full(2, np.inf))
    sliding: bool = False
    note: str = ""

    def take(self, run: Neurons | Moments) -> None:
        """Add the marks of one integration."""
        self.evaluations += run.evaluations
        self.risen = np.minimum(self.risen, run.risen)
        self.note = self.note or run.note
        if isinstance(run, Neurons):
            self.last_flip, self.sliding = max(self.last_flip, run.last_flip), self.sliding or run.sliding


class EarlyPath(Protocol):
    """What an exact early path tells: its data, its neurons at any time, and where they end."""

    @property
    def X(self) -> np.ndarray:
        """Data, one row each."""
        ...

    @property
    def y(self) -> np.ndarray:
        """Labels ±1."""
        ...

    @property
    def second(self) -> np.ndarray:
        """Signs of the second layer."""
        ...

    @property
    def fate(self) -> np.ndarray:
        """+1 and -1 for neurons that end on their class alone."""
        ...

    def state(self, t: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Directions, growth of log norms and v/‖w‖ at a time, or at a list of times."""
        ...


def follow_neurons(
    path: EarlyPath,
    start: np.ndarray,
    times: np.ndarray,
    switches: Mapping[int | None, float],
    setting: Mapping[str, Any],
) -> Continuation:
    """Follow (directions, log norms) to every time: the exact path, overwritten from each switch on."""
    u, growth, _ = path.state(times)
    rho = start + growth
    continuation = Continuation(
        list(zip(u, rho, strict=True))
    )  # rows of these two arrays: what is written below shows
    for label, t0 in switches.items():
        late = np.flatnonzero(times > t0)
        rows = np.arange(len(start)) if label is None else np.flatnonzero(path.fate == label)
        if len(late) and len(rows):
            data = slice(None) if label is None else path.y == label
            first, grown, _ = path.state(t0)
            neurons = first[rows], (start + grown)[rows], path.second[rows]
            run = integrate(path.X[data], path.y[data], *neurons, times[late], start=t0, **setting)
            u[np.ix_(late, rows)], rho[np.ix_(late, rows)] = run.directions, run.log_norms
            continuation.take(run)
    return continuation


def follow_classes(
    path: EarlyPath,
    start: np.ndarray,
    times: np.ndarray,
    switches: Mapping[int | None, float],
    setting: Mapping[str, Any],
) -> Continuation:
    """Follow (second moments, log scales) of the classes, and third of the dead, who stay as they are."""
    groups = np.where(path.fate == 0, 1, 2)

    def moments(u: np.ndarray, growth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        living = class_moments(u, start + growth, path.second, path.fate)
        dead = class_moments(u, start + growth, path.second, groups)
        return np.concatenate([living[0], dead[0][:1]]), np.concatenate([living[1], dead[1][:1]])

    early = zip(*path.state(times)[:2], strict=True)
    S, scales = (np.stack(part) for part in zip(*(moments(*one) for one in early), strict=True))
    continuation = Continuation(list(zip(S, scales, strict=True)))
    for label, t0 in switches.items():
        late, data = np.flatnonzero(times > t0), path.y == label
        if len(late) and (path.fate == label).any():
            first, scale = moments(*path.state(t0)[:2])
            living = first[:2], scale[:2]
            run = integrate_classes(path.X[data], path.y[data], *living, times[late], start=t0, **setting)
            c = 0 if label == 1 else 1
            S[late, c], scales[late, c] = run.moments[:, c], run.log_scales[:, c]
            continuation.take(run)
    return continuation
