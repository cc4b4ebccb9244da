"""Random arguments of every registered factory: mostly tiny sizes, right values and a few too many."""

import functools
from typing import Any

import numpy as np
from random_data import FILE, mixture, mostly, points, rows, sizes, table, targets

from firstlight.maths.losses import Loss

Fields = dict[str, Any]

ACTIVATIONS = [
    "linear", "relu", "leaky_relu", "shifted_relu", "tanh", "erf", "sigmoid", "softplus", "gelu", "silu",
    "sin", "cos", "step", "quadratic", "tanh_squared", "He_2", "He_3", "He_4",
]  # fmt: skip
HUBER = Loss(
    "soft absolute",
    lambda y, f: np.sqrt(1 + (f - y) ** 2) - 1,
    lambda y, f: (f - y) / np.sqrt(1 + (f - y) ** 2),
    lambda y, f: (1 + (f - y) ** 2) ** -1.5,
)


IMAGES = {
    "images": mostly("digits", "mnist"),
    "classes": ["0,1", "3,8", "9,2", *mostly("5,6", "4,4", "0,1,2")],
}

MODEL: Fields = {
    "target": targets,
    "noise": [0.0, 0.1, 1.0, 20.0],
    "activation": ACTIVATIONS,
    "second_layer": [1.0, -0.5, 3.0, (1.0, -1.0), (0.5, 0.3, 0.8), 1e-3, 50.0],
    "width": mostly(1, 2, 3),
    "init_scale": [0.8, 0.05, 1e-6, 5.0, 100.0],
    "loss": ["square", "logistic", HUBER],
    "ridge": [0.0, 0.01, 1.0, 100.0],
    "offset": [0.0, -0.5, 10.0],
}
TRAINED: Fields = {
    **MODEL,
    "step_size": [0.25, 1e-3, 2.0, 50.0, 1e5],
    "momentum": [0.0, 0.5, 0.95],
    "nesterov": mostly(False, True),
    "batch": [1.0, 0.5, 0.25, *mostly(1.0, 0.1, 0.01)],
    "batches": ["fresh", "cyclic", "one_pass"],
    "second_layer_step": [0.0, 0.1, 5.0],
    "bias_step": [0.0, 0.1, 5.0],
    "offset_step": [0.0, 0.1],
    "schedule": ["constant", "linear", "cosine", "inverse_sqrt", (1.0,) * 40],
}
DELTA = [3.0, 0.6, 1.0, 10.0, *mostly(2.0, 0.3, 0.02)]
STEP: Fields = {
    "activation": ACTIVATIONS,
    "width": sizes(1, 64),
    "strength": [4.0, 0.0, 0.1, 100.0, 1e8],
    "tau": [None, 0.0, 0.01, 1.0, 1e4],
    "loss": ["square", "logistic", "softmax"],
    "head": ["gaussian", "rademacher"],
    "head_scale": [None, 1e-6, 0.1, 1.0, 30.0],
    "start": ["sphere", "normal"],
    "bulk": ["full", "diagonal", "none"],
    "metric": ["cosine", "euclidean", "inner"],
    "neighbours": [1, 2, 5, 100],
}
UNSEEN: Fields = {
    **STEP,
    "dimension": sizes(2, 64),
    "samples": sizes(2, 64),
    "unseen_samples": sizes(2, 16),
}
SCALED: Fields = {
    "dimension": mostly(sizes(4, 100), 1, 2, 3),
    "width": sizes(1, 100),
    "samples": sizes(1, 100),
    "alpha": [0.5, 0.0, 1.0],
    "beta": [0.5, 0.0, 1.0],
    "activation": ACTIVATIONS,
    "task": ["regression", "classification"],
    "label_direction": ["random", "spikes"],
    "weights": [(0.5, 0.5), (1.0,), (0.2, 0.8), (0.3, 0.3, 0.4), (0.999, 0.001)],
    "rank": mostly(1, 2, 3),
    "spike_alignment": [0.0, 0.5, 1.0, -1.0],
    "noise": [0.0, 0.1, 10.0],
    "ridge": [1e-4, 0.0, 1.0, 1e4, 1e-12, (1e-3, 0.1)],
    "gradient_samples": [None, 1, 5, 60],
    "link": ["relu", "linear", "He_2", "tanh", "step", "sin"],
    "step_size": [None, 0.0, 1e-3, 1.0, 30.0, 1e6],
    "second_layer": ["gaussian", "signs", "ones"],
}
ALIGNMENT: Fields = {
    "data": ["separable", "toy", "two-points", "digits", "mnist"],
    "samples": sizes(2, 16),
    "dimension": sizes(2, 16),
    "mu": [0.2, 0.01, 0.9, 0.999],
    "separation": [0.1, 0.0, 1e-6, 1.0, np.pi / 2],
    "classes": ["0,1", "3,8"],
    "start": ["balanced", "gaussian", "angle"],
    "width": sizes(1, 16),
    "log_scale": [-14.0, -1.0, 0.5, -40.0, -1000.0, -1e6],
    "angle": [1.0, 1e-6, 0.1, 1.57, 3.0],
    "loss": ["exp", "logistic", "logistic2"],
    "reduction": ["sum", "mean"],
    "step_size": [2e-3, 0.05, 1.0, 100.0],
    "horizon": [0.5, 1e-3, 2.0, 1e-6, *mostly(0.1, 5.0, 30.0, 1e4)],
    "observations": sizes(2, 40),
    "log_times": [True, False],
}
PREDICT_DRAWS: Fields = {"draws": mostly(sizes(64, 512), 8)}
ALWAYS = {"draws", "nodes"}  # options that are never left to their defaults, which are large

# name: arguments that must be given, others with their values, options of predict, options of simulate
FACTORIES: dict[str, tuple[Fields, Fields, Fields, Fields]] = {}
# those that take long have their turn with every so many seeds only
SELDOM = {
    "one_step.by_width": 3, "one_step.Problem": 3, "one_step.spectrum": 2,
    "phase_transition.training": 6, "phase_transition.phases": 6, "phase_transition.learning": 2,
    "phase_transition.algorithmic": 10, "phase_transition.threshold": 20, "phase_transition.early": 40,
    "phase_transition.spectral_method": 6, "phase_transition.equal_time": 6,
    "early_alignment.plane": 4, "early_alignment.file": 4,
    "unseen_classes.sets": 10, "unseen_classes.deep": 10, "unseen_classes.images": 3,
}  # fmt: skip


def _one_step() -> None:
    predict: Fields = {
        "method": mostly("deterministic", "asymptotic"),
        "equivalent": ["auto", "one covariance", "class-wise"],
        "sample_sizes": mostly(None, [1, 5, 30], [1000], [2, 2]),
        "draws": mostly(1, 2, 8),
        "nodes": mostly(64, 100, 256),
        "convention": ["full", "half"],
    }
    simulate: Fields = {
        "method": ["network", "hermite", "conditional_gaussian"],
        "degree": [None, 0, 1, 2, 4],
        "risk": ["sample", "population"],
        "test_samples": [None, 1, 2, 50],
        "convention": ["full", "half"],
    }
    base = {name: SCALED[name] for name in ("dimension", "width", "samples", "alpha", "beta")}
    rest = {name: values for name, values in SCALED.items() if name not in base}
    ratio = {"ratio": [0.02, 0.5, 1.0, 3.0]}
    small = {**ratio, "samples": sizes(2, 60)}
    narrow = {name: values for name, values in base.items() if name != "width"}
    share = {name: values for name, values in rest.items() if name != "weights"}
    FACTORIES["one_step.scaled"] = base, rest, predict, simulate
    FACTORIES["one_step.by_width"] = {**narrow, **ratio}, rest, predict, simulate
    FACTORIES["one_step.by_share"] = {**base, "share": [0.5, 0.01, 0.9]}, share, predict, simulate
    ranks = {"ranks": [None, [1], [1, 1], [40]]}
    FACTORIES["one_step.spectrum"] = base, rest, ranks, ranks
    FACTORIES["one_step.images"] = (
        {**small, **IMAGES},
        {**{n: SCALED[n] for n in ("alpha", "beta", "activation")}, "ridge": [1e-4, 0.0, 1.0],
         "centring": ["class", "global"]},
        predict, simulate,
    )  # fmt: skip
    own: Fields = {"mixture": mixture, "width": sizes(1, 60), "samples": sizes(1, 60)}
    FACTORIES["one_step.Problem"] = (
        own,
        {**{n: rest[n] for n in ("activation", "ridge", "gradient_samples")}, "step_size": [0.0, 1.0, 1e5]},
        predict, simulate,
    )  # fmt: skip
    FACTORIES["one_step.from_data"] = (
        {"X": rows, "width": own["width"], "samples": own["samples"]},
        {"spikes": [None, "auto", 0, 1, 2], "activation": ACTIVATIONS, "ridge": rest["ridge"],
         "step_size": [None, 0.0, 1.0, 1e5]},
        predict, simulate,
    )  # fmt: skip


def _early_alignment() -> None:
    predict: Fields = {
        "method": ["exact", "limit", "rate", "law", "paper", "path", "sharp"], "neurons": [True, False],
    }  # fmt: skip
    simulate: Fields = {
        "method": ["flow", "descent"], "tolerance": [1e-4, 1e-3], "batch_size": [None, 1, 3, 1000],
        "train_second": [True, False], "neurons": [True, False],
    }  # fmt: skip
    rest = {name: values for name, values in ALIGNMENT.items() if name not in ("data", "classes")}
    tiny = {name: ALIGNMENT[name] for name in ("samples", "dimension", "width", "horizon", "observations")}
    flat = {name: values for name, values in tiny.items() if name != "dimension"}
    FACTORIES["early_alignment.alignment"] = tiny, ALIGNMENT, predict, simulate
    spatial = ("start", "angle", "separation", "mu", "dimension")
    plane = {name: values for name, values in rest.items() if name not in spatial}
    FACTORIES["early_alignment.plane"] = (
        flat, {**plane, "points": functools.partial(points, 1), "neurons": functools.partial(points, 0)},
        predict, simulate,
    )  # fmt: skip
    file = {"labels": ["kind"], "positive": mostly("a", "b", "elm"), "negative": ["b", "c"], "file": [FILE]}
    more = {"most": [1, 2, 10], "centre": [True, False]}
    FACTORIES["early_alignment.file"] = {**file, **flat}, {**rest, **more}, predict, simulate
    FACTORIES["early_alignment.from_data"] = (
        {"X": rows, **flat},
        {**rest, "centre": [True, False]},
        predict,
        simulate,
    )


def _phase_transition() -> None:
    tiny: Fields = {
        "dimension": mostly(sizes(4, 60), 2, 3),
        "samples_per_dimension": DELTA,
        "steps": sizes(1, 10),
    }
    training = {**TRAINED, "hold_hard": [True, False], "spectrum": [True, False]}
    learning = {**tiny, "steps": sizes(2, 20)}
    followed = {"theory_steps": sizes(2, 8)}
    many = {**tiny, "samples_per_dimension": [(0.5, 8.0), (1.0, 2.0, 4.0), (3.0,)]}
    threshold = {**many, "theory_steps": sizes(8, 16)}
    finite = {"draws": mostly(sizes(128, 512), 8), "method": ["limit", "limit", "finite"]}
    name = "phase_transition."
    FACTORIES[f"{name}training"] = tiny, training, PREDICT_DRAWS, {}
    FACTORIES[f"{name}phases"] = tiny, training, PREDICT_DRAWS, {}
    FACTORIES[f"{name}learning"] = {**learning, **followed}, TRAINED, PREDICT_DRAWS, {}
    FACTORIES[f"{name}equal_time"] = {**learning, **followed}, TRAINED, PREDICT_DRAWS, {}
    spectrum: Fields = {**MODEL, "low": [-1.5, -1e3], "high": [4.0, -1.0, 1e3], "bins": sizes(2, 20)}
    FACTORIES[f"{name}spectrum"] = (
        {n: tiny[n] for n in ("dimension", "samples_per_dimension")}, spectrum, PREDICT_DRAWS, {},
    )  # fmt: skip
    FACTORIES[f"{name}algorithmic"] = (
        {"target": targets, "draws": sizes(1000, 8000)}, {"noise": MODEL["noise"]}, {}, {},
    )  # fmt: skip
    FACTORIES[f"{name}threshold"] = threshold, {**TRAINED, "step_size": [0.0, 0.15, 2.0]}, finite, {}
    early = ["2tanh² - 1, square", "1.5tanh² - 0.5, logistic"]
    FACTORIES[f"{name}early"] = {**threshold, "network": early}, {}, finite, {}
    FACTORIES[f"{name}spectral_method"] = (
        {"target": targets, **{n: tiny[n] for n in ("dimension", "samples_per_dimension")}}, {}, {}, {},
    )  # fmt: skip


def _unseen_classes() -> None:
    steps = {"steps": mostly(1, 2, 5)}
    norms: Fields = {"train_norm": [2.0, 0.0, 0.1, 1e3], "unseen_norm": [4.0, 0.0, 0.1, 1e3]}
    images = {**IMAGES, "per_class": sizes(2, 20)}
    some: Fields = {
        "cosines": {**norms, "cosines": [(0.0, 0.5, 1.0), (1.0, 1.0), (-1.0, 0.3), (0.1,) * 5]},
        "cosine": norms,
        "sides": {**norms, "half_separation": [2.0, 0.0, 4.0]},
        "rotations": {"spread": [1.0, 0.0, 30.0], "length": [0.008, -1.0, 1e3], "variance": [0.1, 0.0, 1e4],
                      "family": ["balls", "truncated", "spheres"]},
        "plane": {"means": [((3.0, 1.0), (0.0, 3.0)), ((0.0, 0.0), (0.0, 0.0)), ((1.0, 0.0), (1.0, 0.0))],
                  "train_norm": norms["train_norm"]},
        "spikes": {"directions":
                   ["orthogonal", "midpoint", "interpolation, extrapolation", "midpoint,orthogonal"],
                   "angle": [1.0, 1e-6, 1.5], "variance": [0.1, 1e-9, 1e4]},
    }  # fmt: skip
    needed: Fields = {"cosine": {"cosine": [0.5, -1.0, 0.0, 1.0]},
                      "sides": {"along": [0.0, 1.0, 2.0, 3.0], "side": ["opposite", "same"]}}  # fmt: skip
    tiny = {name: UNSEEN[name] for name in ("dimension", "samples", "unseen_samples", "width")}
    for name, others in some.items():
        FACTORIES[f"unseen_classes.{name}"] = {**tiny, **needed.get(name, {})}, {**STEP, **others}, {}, steps
    FACTORIES["unseen_classes.images"] = {**images, "width": UNSEEN["width"]}, STEP, {}, steps
    sets = {"sets": ["0,1;2,3", "0,1,2", "pairs", "0,0", "4,5;4,5;6,7,8"]}
    FACTORIES["unseen_classes.sets"] = (
        {**sets, "images": ["digits"], "per_class": sizes(2, 8), "width": STEP["width"]}, STEP, {}, steps,
    )  # fmt: skip
    FACTORIES["unseen_classes.table"] = (
        {"table": table, "classes": [("ash", "elm"), ("oak", "fir", "elm"), ("ash", "ash")],
         "width": UNSEEN["width"], "per_class": sizes(2, 100)},
        STEP, {}, steps,
    )  # fmt: skip
    FACTORIES["unseen_classes.gradient"] = (
        {"dimension": sizes(8, 60)},
        {"activation": ACTIVATIONS, "train_norm": norms["train_norm"], "inputs": ["normal", "rademacher"],
         "head_scale": STEP["head_scale"], "residual": [True, False]},
        {}, {},
    )  # fmt: skip
    FACTORIES["unseen_classes.norm"] = (
        {"dimension": sizes(8, 100)},
        {"mean": [1.0, 0.0, 0.5, 1e3, 1e200], "law": ["normal", "rademacher", "truncated"]}, {}, {},
    )  # fmt: skip
    FACTORIES["unseen_classes.deep"] = (
        {"images": ["digits"], "classes": ["random", "0,1,2"], "per_class": [2, 5]},
        {"loss": ["normalised-softmax", "softmax", "contrastive"], "model": ["cnn", "resnet18"],
         "epochs": [1, 2], "width": [4, 8], "step_size": [0.05, 10.0]},
        {}, {},
    )  # fmt: skip


for _fill in (_one_step, _early_alignment, _phase_transition, _unseen_classes):
    _fill()
