"""Problems and laws of data of every kind; worker processes import them."""

import inspect
from functools import partial

import numpy as np

import firstlight
from firstlight.data.cache import ImagesNotFetched
from firstlight.data.covariance import Dense, Spiked
from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture
from firstlight.data.multi_index import MultiIndex
from firstlight.data.parser import Formula
from firstlight.maths.losses import LOSSES, MARGIN_LOSSES, Loss
from firstlight.one_step import Problem as OneStep
from firstlight.one_step.families import images
from firstlight.phase_transition import Problem as Phase
from firstlight.study.record import address
from firstlight.study.registry import resolve, studies, theories
from firstlight.unseen_classes import Problem as Unseen


def bent(z, slope=0.1):
    return np.where(z > 0, z, slope * z)


def cubic(y, f):
    return (f - y) ** 3


def summed(z):
    return z.sum(axis=-1)


def scaled(factor, y, f):
    return factor * (f - y)


def mixture(seed=0):
    """Return a mixture of every kind of covariance, with means."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    spike = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    laws = [Spiked(rng.random(2), spike, 2.0), Dense(root @ root.T + np.eye(6)), np.eye(6)]
    return GaussianMixture([0.2, 0.3, 0.5], rng.standard_normal((3, 6)), laws)


def special():
    """Yield problems and laws whose fields hold arrays, activations, losses and functions."""
    own = Loss("cubic", cubic, partial(scaled, 2.0), cubic)
    yield from (*LOSSES.values(), *MARGIN_LOSSES.values(), own)
    yield from map(firstlight.activation, ("relu", "gelu", "He_3"))
    yield firstlight.activation(bent, kinks=[0.0])
    yield firstlight.activation(partial(bent, slope=0.2), kinks=[0.0], name="bent")
    yield mixture()
    yield from mixture().covariances
    yield Regression(np.arange(1.0, 4.0), firstlight.activation(bent, kinks=[0]), 0.5)
    yield Classification((0.0, 1.0))
    yield from (Formula("z1*z2"), MultiIndex("z1*z2 + sign(z3)", noise=0.1), MultiIndex(summed, directions=2))
    yield OneStep(mixture(), Classification((1, 2, 3)), width=5, samples=7, ridge=np.array([0.1, 1.0]))
    yield images(0.5, 40, "0,1", images="digits")
    yield Phase(second_layer=np.array([1.0, -1.0]), activation="gelu", loss=LOSSES["square"], dimension=50)
    yield Phase(loss=own, dimension=50)
    yield Unseen(
        activation=firstlight.activation(bent, kinks=[0.0]), dimension=16, width=4, head=(1, 2, 3, 4)
    )


def factories():
    """Return what our own theories register as their problems."""
    named = [reference for theory in theories().values() for reference in theory.problems.values()]
    return [resolve(reference) for reference in named if str(reference).startswith("firstlight.")]


def needed(factory):
    """Return the arguments that a factory cannot do without."""
    given = inspect.signature(factory).parameters.values()
    return [one.name for one in given if one.default is one.empty and one.kind is not one.VAR_KEYWORD]


# 80 MB of images a problem; those of the classes 0 and 1 stand for them
LARGE = {f"one-step/fashion-mnist-{name}" for name in ("5-9", "5-9-means", "rate")}


def registered():
    """Return all registered Problems that need no argument, and two of every study whose images are there."""
    values = [make() for make in factories() if not needed(make)]
    for study in (one for name, one in studies().items() if name not in LARGE):
        try:
            values += [study.build(study.point(index)) for index in (0, study.size - 1)]
        except ImagesNotFetched:
            continue
    return values


def everything():
    return [*registered(), *special()]


def sent_back(values):
    """Return what arrived in a worker, whether it equals what is built there, and its addresses."""
    here = everything()
    return values, [a == b for a, b in zip(values, here, strict=True)], [addressed(value) for value in values]


def addressed(value):
    try:
        return address(value)
    except ValueError as error:  # a built-in margin loss holds a partial of a private function, and so on
        return str(error)
