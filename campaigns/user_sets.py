"""Sets that `firstlight diagnose` is shown on: real ones, ours, scikit-learn's generators, odd ones."""

from collections.abc import Callable

import numpy as np
from sklearn import datasets

from firstlight import GaussianMixture, MultiIndex
from firstlight.data.images import load_images, pair

Rows = tuple[np.ndarray, np.ndarray]


def noise(seed: int) -> Rows:
    """Rows and labels that do not know of each other; the law of the rows and the kind of labels vary."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(60, 200)), int(rng.integers(3, 30))
    x = rng.normal(size=(rows, columns)) if seed % 2 else rng.standard_t(3, size=(rows, columns))
    return x, rng.permutation(rows) % 2 if seed // 2 % 2 else rng.normal(size=rows)


def generated(seed: int, extra: int) -> tuple[Rows, Rows]:
    """Rows of a random one of scikit-learn's generators, and `extra` fresh rows of the same law."""
    rng = np.random.default_rng([7, seed])
    kind, rows, columns = seed % 6, int(rng.integers(120, 500)), int(rng.integers(5, 40))
    total, wide = rows + extra, {"n_samples": rows + extra, "random_state": seed}
    informative = int(rng.integers(2, min(columns, 8)))
    x, y = [
        lambda: datasets.make_classification(
            **wide, n_features=columns, n_informative=informative, n_redundant=min(2, columns - informative),
            n_clusters_per_class=1, class_sep=float(rng.uniform(0.3, 1.5)),
            weights=[float(rng.uniform(0.3, 0.7))], flip_y=float(rng.uniform(0, 0.2)),
        ),
        lambda: datasets.make_blobs(
            **wide, centers=rng.normal(size=(2, columns)) * rng.uniform(0.2, 0.8), n_features=columns
        ),
        lambda: datasets.make_regression(
            **wide, n_features=columns, n_informative=informative, noise=float(rng.uniform(10, 200))
        ),
        lambda: datasets.make_friedman1(**wide, n_features=columns, noise=float(rng.uniform(0.1, 3))),
        lambda: datasets.make_moons(**wide, noise=float(rng.uniform(0.1, 0.6))),
        lambda: datasets.make_hastie_10_2(total, random_state=seed),
    ][kind]()  # fmt: skip
    return (x[:rows], y[:rows]), (x[rows:], y[rows:])


def _fashion() -> Rows:
    images = load_images("fashion-mnist")
    rows = np.random.default_rng(0).choice(len(images.train), 3000, replace=False)
    return images.train[rows].reshape(3000, -1) / images.levels, images.train_labels[rows]


def _mixture() -> Rows:
    mean = np.array([0.8] * 4 + [0] * 16)
    x, y = GaussianMixture([0.5, 0.5], [mean, -mean], [np.eye(20)] * 2).sample(600, 0)
    return x, y


def _multi_index() -> Rows:
    drawn = MultiIndex("sign(abs(z1) - 0.7)").sample(1500, 20, rng=0)
    return drawn.X, drawn.y


def _square() -> Rows:
    x = np.random.default_rng(0).normal(size=(2000, 50))
    return x, x[:, 0] ** 2


def _heavy() -> Rows:
    rng = np.random.default_rng(0)
    x, y = rng.standard_t(2.5, size=(600, 20)), np.arange(600) % 2
    x[:, 0] += 2 * y
    return x, y


def _cauchy() -> Rows:
    x = np.random.default_rng(0).standard_cauchy(size=(300, 5))
    return x, (x[:, 0] > 0).astype(int)


def _unequal() -> Rows:
    rng = np.random.default_rng(0)
    y = (np.arange(1000) % 20 == 0).astype(int)
    return rng.normal(size=(1000, 10)) + 2 * y[:, None] * np.eye(10)[0], y


def _copies() -> Rows:
    x, y = datasets.load_wine(return_X_y=True)
    return np.vstack([x, x[:60]]), np.concatenate([y, y[:60]])


def _wide() -> Rows:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    return rng.normal(size=(80, 100)) + 0.5 * (2 * y[:, None] - 1) * (np.arange(100) < 10), y


def _hundred() -> Rows:
    return datasets.make_classification(1200, 100, n_informative=10, random_state=0)


def _counts() -> Rows:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 8))
    return x, rng.poisson(np.exp(2 + 0.6 * x[:, 0] - 0.4 * x[:, 1]))


def _identifier() -> Rows:
    x, y = datasets.load_breast_cancer(return_X_y=True)
    salary = np.random.default_rng(0).normal(3e5, 1e5, size=len(y))
    return np.column_stack([np.arange(len(y)) + 1000, salary, x]), np.array(["benign one", "sick one"])[1 - y]


def _linnerud() -> Rows:
    x, y = datasets.load_linnerud(return_X_y=True)
    return x, y[:, 0]


def _plain(name: str) -> Callable[[], Rows]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


SETS: dict[str, Callable[[], Rows]] = {
    **{name: _plain(name) for name in ("iris", "wine", "breast_cancer", "digits", "diabetes")},
    "mnist-0-1": lambda: pair("mnist", 0, 1, 1000, 0),
    "fashion-mnist-0-2": lambda: pair("fashion-mnist", 0, 2, 1000, 0),
    "fashion-mnist": _fashion,
    "mixture": _mixture,
    "multi-index": _multi_index,
    "square": _square,
    "noise": lambda: noise(3),
    "heavy-tails": _heavy,
    "cauchy": _cauchy,
    "unequal": _unequal,
    "copies": _copies,
    "fewer-rows-than-columns": _wide,
    "two-columns": lambda: (datasets.load_iris().data[:, 2:], datasets.load_iris().target),
    "hundred-columns": _hundred,
    "linnerud": _linnerud,
    "friedman": lambda: datasets.make_friedman1(600, random_state=0, noise=1.0),
    "moons": lambda: datasets.make_moons(400, noise=0.2, random_state=0),
    "circles": lambda: datasets.make_circles(400, noise=0.1, factor=0.5, random_state=0),
    "blobs": lambda: datasets.make_blobs(500, 6, centers=4, cluster_std=3.0, random_state=0),
    "counts": _counts,
    "identifier": _identifier,
}
