"""Studies of unseen classes: the published claims, one by one, with predictions beside networks.

A network of 2048 neurons fluctuates by some 3 % (sums of α² and α⁴ over its heads), so agreement means 10 %
here.
"""

from itertools import combinations

import numpy as np

from firstlight.study.spec import Arm, FigureSpec, Range, Scale
from firstlight.study.sweep import Study

_ROOM = "firstlight.unseen_classes:"
_ARMS = {
    "network": Arm("simulate", label="network"),
    "theory": Arm("predict", paired=True, label="predicted kernel"),
}
_DEEP = {
    "network": Arm("simulate", label="deep network"),
    "theory": Arm("predict", paired=True, label="one step on pixels"),
}
_LABELS = {
    "similarity_alignment": "Spearman, similarity → alignment",
    "similarity_recall": "Spearman, similarity → Recall@1",
    "alignment_recall": "Spearman, alignment → Recall@1",
    "kendall_w": "Kendall's W of the three",
    "mean_alignment": "alignment (cosine)",
    "cosine": "cosine to the training direction",
    "along": "unseen means along the training direction",
    "mean_recall": "Recall@1 after the step",
    "mean_recall_before": "Recall@1 before the step",
    "spread": "rotation $\\epsilon\\sqrt{d}$",
    "kappa": "strength κ",
    "operator_error": "|G - A| / |G|, operator norm",
    "frobenius_error": "|G - A| / |G|, Frobenius norm",
    "over_published": "norm / (√n + √d)",
    "cohesion": "cohesion per neuron",
    "elasticity": "elasticity per neuron",
    "similarity": "similarity |t|",
}
_DEEP_LABELS = {**_LABELS, "mean_recall": "Recall@1 of unseen classes"}
_COSINES = (-1.0, -0.6, -0.3, 0.0, 0.3, 0.6, 1.0)
_RELATIONS = (
    "similarity_alignment", "similarity_alignment_change", "snr_alignment", "similarity_elasticity",
    "similarity_recall", "similarity_recall_change", "alignment_recall",
)  # fmt: skip
_IMAGES = (*_RELATIONS, "mean_recall_before", "mean_recall", "alignment", "elasticity", "recall")
_PAIRS = [f"{a},{b}" for a, b in combinations(range(10), 2)]


def _against_similarity(name: str, description: str, observables: tuple[str, ...]) -> Study:
    return Study(
        name=f"unseen/{name}",
        description=description,
        problem=f"{_ROOM}ClassProblem",
        axes={"kappa": [0.25, 4.0], "cosine": _COSINES},
        fixed={"dimension": 128, "samples": 128, "width": 2048, "unseen_samples": 60, "bulk": "diagonal"},
        arms=_ARMS,
        trials=3,
        observables=observables,
        tolerance=0.1,
        figure=FigureSpec(x="cosine", hue="kappa", labels=_LABELS),
        scales={
            "paper": Scale(
                trials=10, fixed={"dimension": 2048, "samples": 2048, "width": 2048, "unseen_samples": 300}
            )
        },
    )


def _image_pairs(name: str, images: str) -> Study:
    return Study(
        name=f"unseen/{name}",
        description=f"{images}: 45 training pairs, 8 unseen classes each; rank relations with intervals",
        problem=f"{_ROOM}ImageProblem",
        axes={"train": _PAIRS},
        fixed={"images": images, "per_class": 80, "width": 1024, "kappa": 4.0},
        arms=_ARMS,
        trials=1,
        observables=_IMAGES,
        tolerance=0.1,
        figure=FigureSpec(x="train", draw="firstlight.show.unseen:relations", labels=_LABELS),
        scales={"paper": Scale(trials=3, fixed={"per_class": 500})},
    )


def _splits(count: int, train: int) -> list[str]:
    """Different sets of training classes, drawn once and for all."""
    rng, found = np.random.default_rng(0), dict[str, None]()
    while len(found) < count:
        found[",".join(map(str, sorted(rng.choice(10, train, replace=False))))] = None
    return list(found)


STUDIES = (
    _against_similarity(
        "alignment-vs-similarity",
        "alignment and cohesion of an unseen class rise with its similarity to what is trained",
        ("alignment", "cohesion"),
    ),
    _against_similarity(
        "elasticity-vs-similarity",
        "the movement of an unseen class rises with its similarity to what is trained",
        ("elasticity",),
    ),
    Study(
        name="unseen/recall-vs-similarity",
        description="Recall@1 of two unseen classes: similarity helps on opposite sides, not on one",
        problem=f"{_ROOM}SideProblem",
        axes={"side": ["opposite", "same"], "along": [0.0, 0.4, 0.8, 1.2, 1.6, 1.95]},
        fixed={"dimension": 128, "samples": 128, "width": 2048, "unseen_samples": 80, "bulk": "diagonal"},
        arms=_ARMS,
        trials=3,
        observables=("mean_recall", "mean_recall_before", "alignment", "elasticity"),
        tolerance=0.1,
        figure=FigureSpec(x="along", hue="side", labels=_LABELS),
        scales={
            "paper": Scale(
                trials=20, fixed={"dimension": 1024, "samples": 1024, "width": 2048, "unseen_samples": 300}
            )
        },
    ),
    Study(
        name="unseen/lengths",
        description="set-up 1: unseen classes along ±v; Recall@1 rises before the step as well",
        problem=f"{_ROOM}RotationProblem",
        axes={"length": [0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.9]},
        fixed={"spread": 0.0, "variance": 1.0, "dimension": 128, "samples": 128, "width": 2048, "tau": 0.02,
               "bulk": "diagonal"},
        arms=_ARMS,
        trials=3,
        observables=("cohesion", "elasticity", "mean_recall", "mean_recall_before"),
        tolerance=0.1,
        figure=FigureSpec(x="length", log_x=True, labels=_LABELS),
        scales={
            "paper": Scale(trials=3, fixed={"dimension": 2048, "samples": 2048, "width": 2048, "tau": 0.011})
        },
    ),
    Study(
        name="unseen/rotations",
        description="set-up 2: unseen classes along ±Rv; the transition is at a rotation of ε√d ≈ 1",
        problem=f"{_ROOM}RotationProblem",
        axes={"spread": Range(0.1, 10.0, 9, log=True)},
        # 0.008 at d = 2048: t²/s² = 40 d length² is kept, else the samples' spread along β outweighs t
        fixed={"length": 0.026, "variance": 0.1, "dimension": 192, "samples": 192, "width": 2048,
               "tau": 0.022, "bulk": "diagonal"},
        arms=_ARMS,
        trials=4,
        observables=("similarity", "cohesion", "elasticity", "mean_recall", "mean_recall_before"),
        tolerance=0.1,
        figure=FigureSpec(x="spread", log_x=True, labels=_LABELS),
        scales={
            "paper": Scale(
                trials=10,
                fixed={"dimension": 2048, "samples": 2048, "width": 2048, "tau": 0.011, "length": 0.008},
                axes={"spread": Range(0.1, 20.0, 30, log=True)},
            )
        },
    ),
    Study(
        name="unseen/rank-one",
        description="the gradient is of rank one in operator norm (error n^(-1/2)), not in Frobenius norm",
        problem=f"{_ROOM}GradientProblem",
        axes={"activation": ["shifted_relu", "erf"], "size": [48, 96, 192, 384]},
        arms={"network": Arm("simulate"), "theory": Arm("predict", paired=True)},
        trials=3,
        observables=("operator_error", "frobenius_error"),
        figure=FigureSpec(x="size", hue="activation", log_x=True, log_y=True, labels=_LABELS),
        scales={"paper": Scale(trials=5, axes={"size": [128, 256, 512, 1024, 2048]})},
    ),
    Study(
        name="unseen/operator-norm",
        description="norms of matrices with a mean: the spiked value holds, √n + √d does not bound them",
        problem=f"{_ROOM}NormProblem",
        axes={"law": ["normal", "rademacher", "truncated"], "size": [48, 96, 192, 384]},
        fixed={"mean": 2.0},
        arms={"matrix": Arm("simulate", label="drawn"), "theory": Arm("predict", label="spiked value")},
        trials=3,
        observables=("operator_norm", "over_published"),
        figure=FigureSpec(x="size", hue="law", log_x=True, log_y=True, labels=_LABELS),
        scales={"paper": Scale(trials=5, axes={"size": [256, 512, 1024, 2048]})},
    ),
    _image_pairs("digits-pairs", "digits"),
    _image_pairs("fashion-pairs", "fashion-mnist"),
    Study(
        name="unseen/multi-class",
        description="digits: train on four classes with softmax, six unseen; rank relations with intervals",
        problem=f"{_ROOM}ImageProblem",
        axes={"train": _splits(12, 4)},
        fixed={"images": "digits", "per_class": 80, "width": 1024, "kappa": 4.0, "loss": "softmax"},
        arms=_ARMS,
        trials=2,
        observables=_IMAGES,
        tolerance=0.1,
        figure=FigureSpec(x="train", draw="firstlight.show.unseen:relations", labels=_LABELS),
        scales={"paper": Scale(trials=2, axes={"train": _splits(30, 4)}, fixed={"per_class": 170})},
    ),
    Study(
        name="unseen/cnn",
        description="a small CNN on five classes, five unseen: rank agreement along training (needs torch)",
        problem=f"{_ROOM}DeepProblem",
        axes={"images": ["fashion-mnist", "mnist"]},
        fixed={"train": "random", "per_class": 40, "epochs": 4, "model": "cnn"},
        arms=_DEEP,
        trials=5,
        observables=(
            "similarity_alignment", "similarity_recall", "alignment_recall", "kendall_w", "mean_recall",
        ),
        figure=FigureSpec(x="epoch", hue="images", labels=_DEEP_LABELS),
        scales={"paper": Scale(trials=20, fixed={"per_class": 600, "epochs": 20})},
    ),
    Study(
        name="unseen/metric-learning",
        description="two metric-learning losses: alignment and Recall@1 of unseen classes (needs torch)",
        problem=f"{_ROOM}DeepProblem",
        axes={"loss": ["normalised-softmax", "contrastive"]},
        fixed={"images": "fashion-mnist", "train": "random", "per_class": 40, "epochs": 4, "model": "cnn"},
        arms=_DEEP,
        trials=5,
        observables=("alignment_recall", "similarity_recall", "mean_alignment", "mean_recall"),
        figure=FigureSpec(x="epoch", hue="loss", labels=_DEEP_LABELS),
        scales={
            "paper": Scale(
                trials=10,
                fixed={"per_class": 600, "epochs": 20, "model": "resnet18", "width": 64, "embedding": 128},
            )
        },
    ),
)  # fmt: skip
