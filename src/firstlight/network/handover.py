"""From an exact early path to the integrated flow: as long as outputs are negligible the path is the flow.

The path is handed in; this module knows only what it must be able to tell.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from firstlight.network.flow import class_moments, integrate, integrate_classes

States = list[tuple[np.ndarray, np.ndarray]]


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
    hand_overs: Mapping[int | None, float],
    setting: Mapping[str, Any],
) -> tuple[States, bool, int]:
    """Return (directions, log norms) at every time: the exact path, overwritten from each hand-over on."""
    u, growth, _ = path.state(times)
    rho, done, evaluations = start + growth, True, 0
    for label, t0 in hand_overs.items():
        late = np.flatnonzero(times > t0)
        rows = np.arange(len(start)) if label is None else np.flatnonzero(path.fate == label)
        if len(late) and len(rows):
            data = slice(None) if label is None else path.y == label
            first, grown, _ = path.state(t0)
            neurons = first[rows], (start + grown)[rows], path.second[rows]
            run = integrate(path.X[data], path.y[data], *neurons, times[late], start=t0, **setting)
            u[np.ix_(late, rows)], rho[np.ix_(late, rows)] = run.directions, run.log_norms
            done, evaluations = done and run.converged, evaluations + run.evaluations
    return list(zip(u, rho, strict=True)), done, evaluations


def follow_classes(
    path: EarlyPath,
    start: np.ndarray,
    times: np.ndarray,
    hand_overs: Mapping[int | None, float],
    setting: Mapping[str, Any],
) -> tuple[States, bool, int]:
    """Return (second moments, log scales) of the classes at every time, as `follow_neurons` does."""

    def moments(u: np.ndarray, growth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return class_moments(u, start + growth, path.second, path.fate)

    early = zip(*path.state(times)[:2], strict=True)
    S, scales = (np.stack(part) for part in zip(*(moments(*one) for one in early), strict=True))
    done, evaluations = True, 0
    for label, t0 in hand_overs.items():
        late, data = np.flatnonzero(times > t0), path.y == label
        if len(late) and (path.fate == label).any():
            run = integrate_classes(
                path.X[data], path.y[data], *moments(*path.state(t0)[:2]), times[late], start=t0, **setting
            )  # fmt: skip
            c = 0 if label == 1 else 1
            S[late, c], scales[late, c] = run.moments[:, c], run.log_scales[:, c]
            done, evaluations = done and run.converged, evaluations + run.evaluations
    return list(zip(S, scales, strict=True)), done, evaluations
