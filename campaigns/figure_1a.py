"""Is the offset of a published curve the luck of its one data set? (Demir & Dogan, Figure 1a)

The source draws one data set (gradient batch, training and test samples) and keeps it for every width k; only
the networks are drawn anew. We do the same with many data sets and ask how far their curves lie apart, and
whether a curve that is high at one k is high at all. Written apart from the library: nothing but NumPy.

    python campaigns/figure_1a.py [data sets] [networks] [1: orthogonal spikes]
"""

import json
import sys

import numpy as np
from scipy.linalg import cho_factor, cho_solve

N = M = 1000
ALPHA, BETA, RIDGE = 0.5, 0.74, 1e-4
WIDTHS = (100, 300, 1000)
ACTIVATIONS = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float)),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
}


def data_set(rng, orthogonal):
    """Spikes, label direction, and the three samples of one data set."""
    theta = N ** (BETA * (1 - ALPHA))
    spikes = rng.standard_normal((2, N))
    spikes /= np.linalg.norm(spikes, axis=1, keepdims=True)
    if orthogonal:
        spikes = np.linalg.qr(spikes.T)[0].T
    direction = rng.standard_normal(N)
    top = 1 + theta / 2 * (1 + abs(spikes[0] @ spikes[1]))  # norm of the mean covariance, of equal shares
    direction /= np.linalg.norm(direction) * np.sqrt(top)

    def sample(count):
        x = rng.standard_normal((count, N))
        for c in (0, 1):
            half = x[: count // 2] if c == 0 else x[count // 2 :]
            half += (np.sqrt(1 + theta) - 1) * np.outer(half @ spikes[c], spikes[c])
        return x, np.maximum(x @ direction, 0)

    return sample(M), sample(M), sample(5 * M), N + theta


def half_error(data, k, name, rng):
    """Half the mean square on the test sample after one step and a ridge read-out."""
    (xg, yg), (x, y), (xt, yt), trace = data
    sigma, slope = ACTIVATIONS[name]
    F, w = rng.standard_normal((k, N)) / np.sqrt(trace), rng.standard_normal(k) / np.sqrt(k)
    z = xg @ F.T
    residual = yg - sigma(z) @ w / np.sqrt(k)
    F = F + N ** (BETA * ALPHA) * (residual[:, None] * slope(z) * (w / np.sqrt(k))).T @ xg / M
    phi, test = sigma(x @ F.T) / np.sqrt(k), sigma(xt @ F.T) / np.sqrt(k)
    if k <= M:
        readout = cho_solve(cho_factor(phi.T @ phi + RIDGE * M * np.eye(k)), phi.T @ y)
    else:
        readout = phi.T @ cho_solve(cho_factor(phi @ phi.T + RIDGE * M * np.eye(M)), y)
    return 0.5 * np.mean((yt - test @ readout) ** 2)


def main(sets=12, networks=2, orthogonal=0):
    """Print means, spreads over data sets and correlations over k as JSON."""
    errors = {name: np.empty((sets, len(WIDTHS))) for name in ACTIVATIONS}
    for s in range(sets):
        data = data_set(np.random.default_rng([s, 0]), orthogonal)
        for name, table in errors.items():
            for j, k in enumerate(WIDTHS):
                streams = [np.random.default_rng([s, 1 + net]) for net in range(networks)]
                table[s, j] = np.mean([half_error(data, k, name, rng) for rng in streams])
        print(s, {name: table[s].tolist() for name, table in errors.items()}, file=sys.stderr)
    result = {}
    for name, table in errors.items():
        relative = table / table.mean(axis=0) - 1
        result[name] = {
            "k/m": [k / M for k in WIDTHS],
            "mean": table.mean(axis=0).tolist(),
            "spread of data sets": relative.std(axis=0, ddof=1).tolist(),
            "correlation over k": np.corrcoef(relative.T)[np.triu_indices(len(WIDTHS), 1)].tolist(),
        }
    about = {"data sets": sets, "networks": networks, "orthogonal spikes": bool(orthogonal)}
    print(json.dumps({**about, "half mean squares": result}, indent=1))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
