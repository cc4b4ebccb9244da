"""Deep networks for `unseen_classes`: a small CNN and a ResNet-18, trained from scratch (extra
`deep`).

Everything that needs torch is inside the functions, so that importing this module costs nothing and works
without.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from math import gcd
from typing import Any, Literal

import numpy as np

from firstlight.maths.checks import check_count, check_positive
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice

Model = Literal["cnn", "resnet18"]
Loss = Literal["softmax", "normalised-softmax", "contrastive"]


def require_torch() -> Any:
    """Return torch, or say how to get it."""
    if find_spec("torch") is None:
        raise ValueError("torch is not installed; install the extra: pip install 'firstlight[deep]'")
    import torch

    return torch


@dataclass(frozen=True, eq=False, kw_only=True)
class Training(ByValue):
    """How a deep network is trained.

    Parameters
    ----------
    model : {"cnn", "resnet18"}, default "cnn"
        Two convolutions, or the eighteen layers of a ResNet-18 with `width` channels in its first stage;
        both with group normalisation.
    width : int, default 16
        Channels of the first layer (64 is the ResNet-18 of the papers).
    embedding : int, default 64
        Size of the penultimate layer, whose features are looked at.
    loss : {"normalised-softmax", "softmax", "contrastive"}, default "normalised-softmax"
        Cosines of embedding and class vector over a temperature (Zhai and Wu, 2019); plain logits; or the
        supervised contrastive loss, which has no class vectors.
    epochs, batch_size : int, default 4 and 64
    step_size : float, default 0.05
        Learning rate of SGD with momentum 0.9.
    temperature : float, default 0.1

    Examples
    --------
    >>> Training(loss="hinge")
    Traceback (most recent call last):
    ...
    ValueError: loss = 'hinge': must be one of normalised-softmax, softmax, contrastive
    """

    model: Model = "cnn"
    width: int = 16
    embedding: int = 64
    loss: Loss = "normalised-softmax"
    epochs: int = 4
    batch_size: int = 64
    step_size: float = 0.05
    temperature: float = 0.1

    def __post_init__(self) -> None:
        for name, allowed in (
            ("model", ("cnn", "resnet18")), ("loss", ("normalised-softmax", "softmax", "contrastive")),
        ):  # fmt: skip
            check_choice(name, getattr(self, name), allowed)
        for name, least in (("width", 1), ("embedding", 2), ("epochs", 1), ("batch_size", 2)):
            check_count(name, getattr(self, name), least)
        for name in ("step_size", "temperature"):
            check_positive(name, getattr(self, name))


def embeddings_along_training(
    images: np.ndarray, labels: np.ndarray, others: np.ndarray, training: Training, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Train on labelled images and return penultimate embeddings before training and after each epoch.

    Parameters
    ----------
    images, others : ndarray, shapes (n, height, width) and (m, height, width)
        To train on, and images of classes that are never trained on; brightness in [0, 1].
    labels : ndarray of int, shape (n,)
        Classes 0, 1, ... of the training images.
    rng : numpy.random.Generator
        Seeds the weights and the order of the batches; on one thread the result is reproducible.

    Returns
    -------
    list of (ndarray, ndarray)
        ``epochs + 1`` pairs: embeddings of `images` and of `others`.
    """
    torch = require_torch()
    torch.manual_seed(int(rng.integers(2**31)))
    body = _body(torch, training)
    classes = int(labels.max()) + 1
    vectors = torch.nn.Linear(training.embedding, classes, bias=training.loss == "softmax")
    parameters = [*body.parameters(), *vectors.parameters()]
    optimiser = torch.optim.SGD(parameters, lr=training.step_size, momentum=0.9, weight_decay=1e-4)
    x, y = _tensor(torch, images), torch.as_tensor(np.asarray(labels), dtype=torch.long)
    unseen = _tensor(torch, others)
    embeddings = [(_embed(torch, body, x), _embed(torch, body, unseen))]
    for _ in range(training.epochs):
        body.train()
        order = torch.as_tensor(rng.permutation(len(x)))
        for pick in order.split(training.batch_size):
            if len(pick) < 2:
                continue
            optimiser.zero_grad()
            _loss(torch, training, body(x[pick]), y[pick], vectors).backward()
            optimiser.step()
        embeddings.append((_embed(torch, body, x), _embed(torch, body, unseen)))
    return embeddings


def _tensor(torch: Any, images: np.ndarray) -> Any:
    return torch.as_tensor(np.asarray(images, np.float32))[:, None] * 2 - 1


def _embed(torch: Any, body: Any, x: Any) -> np.ndarray:
    body.eval()
    with torch.no_grad():
        return np.concatenate([body(part).numpy() for part in x.split(256)]).astype(float)


def _loss(torch: Any, training: Training, embedding: Any, y: Any, vectors: Any) -> Any:
    functional = torch.nn.functional
    if training.loss == "softmax":
        return functional.cross_entropy(vectors(embedding), y)
    unit = functional.normalize(embedding)
    if training.loss == "normalised-softmax":
        cosine = functional.linear(unit, functional.normalize(vectors.weight))
        return functional.cross_entropy(cosine / training.temperature, y)
    logits = unit @ unit.T / training.temperature
    itself = torch.eye(len(y), dtype=torch.bool)
    logits = logits.masked_fill(itself, -1e9)
    friends = (y[:, None] == y) & ~itself
    chances = logits - logits.logsumexp(dim=1, keepdim=True)
    count = friends.sum(dim=1)
    known = count > 0
    return -((chances * friends).sum(dim=1)[known] / count[known]).mean()


def _body(torch: Any, training: Training) -> Any:
    """Everything up to the embedding."""
    nn, width = torch.nn, training.width
    if training.model == "cnn":
        return nn.Sequential(
            *_convolution(nn, 1, width), nn.ReLU(), nn.MaxPool2d(2),
            *_convolution(nn, width, 2 * width), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
            nn.Linear(32 * width, training.embedding),
        )  # fmt: skip
    block = _residual_block(torch)
    stages = [block(width * 2 ** max(i - 1, 0), width * 2**i, 1 if i == 0 else 2) for i in range(4)]
    seconds = [block(width * 2**i, width * 2**i, 1) for i in range(4)]
    layers = [layer for pair in zip(stages, seconds, strict=True) for layer in pair]
    return nn.Sequential(
        *_convolution(nn, 1, width), nn.ReLU(), *layers,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, training.embedding),
    )  # fmt: skip


def _convolution(nn: Any, inside: int, outside: int, stride: int = 1) -> list[Any]:
    return [nn.Conv2d(inside, outside, 3, stride, 1, bias=False), _normalisation(nn, outside)]


def _normalisation(nn: Any, channels: int) -> Any:
    """Normalise groups of channels: the running means of batches would lag behind in so short a training."""
    return nn.GroupNorm(gcd(8, channels), channels)


def _residual_block(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined]
        """Two convolutions and a way around them."""

        def __init__(self, inside: int, outside: int, stride: int) -> None:
            super().__init__()
            first, second = _convolution(nn, inside, outside, stride), _convolution(nn, outside, outside)
            self.inner = nn.Sequential(*first, nn.ReLU(), *second)
            around = [nn.Conv2d(inside, outside, 1, stride, bias=False), _normalisation(nn, outside)]
            self.around = nn.Identity() if stride == 1 and inside == outside else nn.Sequential(*around)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.inner(x) + self.around(x))

    return Block
