"""DMFT by response functions: an independent route for smooth activations, in O(n T³ m³).

One sample's pre-activations obey h^t = ω^t - (η/δ) Σ_{s<t} R(t, s+1) ψ^s with Gaussian fields ω^t = A^t · Z;
J(t, s) = ∂h^t/∂ω^s follows from the curvature D = ∂ψ/∂h. Shares nothing with the frame but its samples.
"""

import numpy as np


def follow(student, sample, delta, step_size, steps, start):
    """Return train loss (T + 1,), squared norms (T + 1, m), overlaps (T + 1, m, k), V (T + 1, m h, m h)."""
    y, w, g, C = sample.y, sample.weight, sample.easy, sample.second
    m, h, T, kappa = student.width, C.shape[1], steps, 1 - step_size * student.ridge
    A, AH = np.zeros((T + 1, m, (T + 1) * m)), np.zeros((T + 1, m * h, (T + 1) * m * h))
    A[0, :, :m] = np.linalg.cholesky(student.init_scale**2 * np.eye(m) - start @ start.T)
    AH[0, :, : m * h] = student.init_scale * np.eye(m * h)
    R, M = np.zeros((T + 1, T + 1, m, m)), np.zeros((T + 1, *start.shape))
    R[0, 0], M[0] = np.eye(m), start
    past, DJ, loss = [], [], np.zeros(T + 1)
    for t in range(T + 1):
        field = sample.normals[:, : (t + 1) * m] @ A[t, :, : (t + 1) * m].T + g @ M[t].T
        field -= step_size / delta * sum((psi @ R[t, s + 1].T for s, psi in enumerate(past)), 0.0)
        loss[t] = w @ student.risk(y, field)
        if t == T:
            break
        psi, D = student.force(y, field), student.curvature(y, field)
        past.append(psi)
        J = []
        for s in range(t + 1):
            inner = sum(np.einsum("ab,nbc->nac", R[t, r + 1], DJ[r][s]) for r in range(s, t))
            J.append(D @ ((s == t) * np.eye(m) - step_size / delta * inner))
        DJ.append(J)
        plain = np.array([np.einsum("n,nab->ab", w, one) for one in J])
        curved = np.array([np.einsum("n,nab,ncd->acbd", w, one, C).reshape(m * h, m * h) for one in J])
        noise = _root(past, w, np.ones((len(y), 1, 1)), delta)[t * m :]
        R[t + 1] = kappa * R[t] - step_size * np.einsum("rab,rsbc->sac", plain, R[: t + 1])
        R[t + 1, t + 1] = np.eye(m)
        A[t + 1] = kappa * A[t] - step_size * np.einsum("rab,rbx->ax", plain, A[: t + 1])
        A[t + 1, :, m : (t + 2) * m] -= step_size * noise
        M[t + 1] = kappa * M[t] - step_size * (w[:, None] * psi).T @ g
        AH[t + 1] = kappa * AH[t] - step_size * np.einsum("rab,rbx->ax", curved, AH[: t + 1])
        if h:
            AH[t + 1, :, m * h : (t + 2) * m * h] -= step_size * _root(past, w, C, delta)[t * m * h :]
    norm = (A**2).sum(axis=2) + (M**2).sum(axis=2)
    return loss, norm, M, AH @ AH.transpose(0, 2, 1)


def _root(past, w, C, delta):
    """Return the Cholesky factor of E[C ψ^s ψ^t]/δ over (step, neuron, hard direction)."""
    psi = np.hstack(past)
    square = np.einsum("n,ni,nj,nab->iajb", w, psi, psi, C, optimize=True) / delta
    square = square.reshape(psi.shape[1] * C.shape[1], -1)
    return np.linalg.cholesky(square + 1e-10 * np.trace(square) * np.eye(len(square)))
