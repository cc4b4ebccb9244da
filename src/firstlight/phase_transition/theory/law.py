"""The law of curvatures that a spectrum belongs to, and the part of it that makes a visible bulk."""

from dataclasses import dataclass, fields, replace

import numpy as np

from firstlight.maths.shown import Shown
from firstlight.phase_transition.theory.resolvent import Branch, Bulk, Edge

_SHARE = 1e-4  # of the law, first left out where it pins the bulk's edge
_MOST = 1e-3  # of the law that may be left out


@dataclass(frozen=True)
class CurvatureLaw(Shown):
    """The joint law of the curvature D and of what is latent in the inputs.

    Attributes
    ----------
    D : ndarray of shape (n, m, m)
        Curvature ∇²_h l at each node.
    weight : ndarray of shape (n,)
        Probabilities.
    second : ndarray of shape (n, h, h)
        E[g_H g_Hᵀ | node] of the hard coordinates.
    latent : ndarray of shape (n, ·) or None
        The inputs' components along other directions that D knows of, orthonormal ones: the easy directions,
        the first-layer rows at the start, and what training has added to them.
    force : ndarray of shape (n, ·) or None
        Forces ψ of earlier steps, combined; Xᵀψ lies along the latent directions, so that the inputs' other
        components are orthogonal to ψ across the samples.
    """

    D: np.ndarray
    weight: np.ndarray
    second: np.ndarray
    latent: np.ndarray | None = None
    force: np.ndarray | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) is not None:
                object.__setattr__(self, field.name, np.asarray(getattr(self, field.name), float))
        n, shapes = self.weight.size, [part.shape for part in (self.D, self.weight, self.second)]
        extra = [part.shape for part in (self.latent, self.force) if part is not None]
        stacks = all(len(s) == 3 and s[0] == n and s[1] == s[2] for s in (shapes[0], shapes[2]))
        if not (n and stacks and shapes[0][1] and shapes[1] == (n,)) or any(
            len(s) != 2 or s[0] != n for s in extra
        ):
            raise ValueError(
                f"D, weight, second, latent, force: shapes {[*shapes, *extra]}, "
                "expected (n, m, m), (n,), (n, h, h), (n, ·), (n, ·)"
            )
        if not (np.isfinite(self.D).all() and np.isfinite(self.second).all()):
            raise ValueError("D, second: must be finite")
        total = float(np.sum(self.weight))
        if not (np.min(self.weight) >= 0 and abs(total - 1) <= 1e-6):
            raise ValueError(f"weight: sum {total:g}, must be at least 0 each and sum to 1")

    @property
    def mirrored(self) -> "CurvatureLaw":
        """The law that belongs to minus the Hessian."""
        return replace(self, D=-self.D)

    def subset(self, kept: np.ndarray) -> "CurvatureLaw":
        """Return the law of some nodes only."""
        weight = self.weight[kept]
        return CurvatureLaw(
            self.D[kept], weight / weight.sum(), self.second[kept],
            None if self.latent is None else self.latent[kept],
            None if self.force is None else self.force[kept],
        )  # fmt: skip


def visible(law: CurvatureLaw, delta: float, near: Branch | None = None) -> tuple[CurvatureLaw, Bulk, Edge]:
    """Find the left edge of the bulk, without the rare extremes of D that would put a thin tail before it.

    A rare sample of very negative D makes an eigenvector of its own, far from all others and from the hidden
    directions. As many as a thousandth of the law is left out where it alone decides on the edge; `pinned`
    stays True if that is not enough. `near` is the edge of a similar law, if one is known.

    Examples
    --------
    >>> D = np.append(np.ones(99_999), -50.0).reshape(-1, 1, 1)  # one in 100,000
    >>> law = CurvatureLaw(D, np.full(100_000, 1e-5), np.ones((100_000, 1, 1)))
    >>> kept, _, edge = visible(law, 4.0)
    >>> len(kept.D), edge.value, edge.pinned
    (99990, 0.2500, False)
    """
    share, kept = _SHARE, law
    bulk = Bulk(law.D, law.weight, delta)
    edge = bulk.left_edge(near)
    while edge.pinned and share <= _MOST and bulk.rare(edge.point.P):
        order = np.argsort(np.linalg.eigvalsh(law.D)[:, 0], kind="stable")
        kept = law.subset(np.sort(order[np.cumsum(law.weight[order]) > share]))
        bulk = Bulk(kept.D, kept.weight, delta)
        edge, share = bulk.left_edge(), 2 * share
    return kept, bulk, edge
