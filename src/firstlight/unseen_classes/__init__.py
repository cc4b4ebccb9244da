"""Which classes that a network never saw become well separated: alignment, local elasticity and Recall@k.

After one gradient step every neuron has moved along the data-label covariance β. How far a new class lies
along β decides how its features move and align; how far two new classes lie apart along β decides whether
they are told apart. Measures work on any features; predictions need no network.
"""

from typing import TYPE_CHECKING

import lazy_loader

from firstlight.study.registry import Theory
from firstlight.unseen_classes.references import REFERENCES

if TYPE_CHECKING:
    from firstlight.data.unseen import UnseenData, split_classes, standardised
    from firstlight.unseen_classes.analysis import analyse
    from firstlight.unseen_classes.choice import Choice, choose_classes
    from firstlight.unseen_classes.classes import predict_classes, simulate_classes
    from firstlight.unseen_classes.deep import DeepProblem
    from firstlight.unseen_classes.definitions.covariance import label_covariance
    from firstlight.unseen_classes.definitions.step import Step
    from firstlight.unseen_classes.images import SetsProblem
    from firstlight.unseen_classes.problem import Problem
    from firstlight.unseen_classes.structure import GradientProblem, NormProblem
    from firstlight.unseen_classes.theory.classes import class_alignment, class_elasticity
    from firstlight.unseen_classes.theory.emergence import emergence
    from firstlight.unseen_classes.theory.kernel import spiked_kernel
    from firstlight.unseen_classes.theory.retrieval import predict_recall_at_k
    from firstlight.unseen_classes.theory.similarity import train_unseen_similarity
    from firstlight.unseen_classes.theory.tangent import tangent_kernel

_NAMES = {
    "data.unseen": ["UnseenData", "split_classes", "standardised"],
    "unseen_classes.analysis": ["analyse"],
    "unseen_classes.choice": ["Choice", "choose_classes"],
    "unseen_classes.deep": ["DeepProblem"],
    "unseen_classes.definitions.covariance": ["label_covariance"],
    "unseen_classes.definitions.step": ["Step"],
    "unseen_classes.classes": ["predict_classes", "simulate_classes"],
    "unseen_classes.problem": ["Problem"],
    "unseen_classes.images": ["SetsProblem"],
    "unseen_classes.structure": ["GradientProblem", "NormProblem"],
    "unseen_classes.theory.classes": ["class_alignment", "class_elasticity"],
    "unseen_classes.theory.emergence": ["emergence"],
    "unseen_classes.theory.kernel": ["spiked_kernel"],
    "unseen_classes.theory.retrieval": ["predict_recall_at_k"],
    "unseen_classes.theory.similarity": ["train_unseen_similarity"],
    "unseen_classes.theory.tangent": ["tangent_kernel"],
}

__all__ = [
    "THEORY",
    "Choice",
    "DeepProblem",
    "GradientProblem",
    "NormProblem",
    "Problem",
    "SetsProblem",
    "Step",
    "UnseenData",
    "analyse",
    "choose_classes",
    "class_alignment",
    "class_elasticity",
    "emergence",
    "label_covariance",
    "predict_classes",
    "predict_recall_at_k",
    "simulate_classes",
    "spiked_kernel",
    "split_classes",
    "standardised",
    "tangent_kernel",
    "train_unseen_similarity",
]

THEORY = Theory(
    name="unseen_classes",
    title="Unseen classes",
    question="Which classes that a network never saw become aligned, elastic and retrievable?",
    problems={
        "cosines": "firstlight.unseen_classes.problem:Problem",
        "cosine": "firstlight.unseen_classes.problem:ClassProblem",
        "sides": "firstlight.unseen_classes.problem:SideProblem",
        "rotations": "firstlight.unseen_classes.problem:RotationProblem",
        "plane": "firstlight.unseen_classes.problem:PlaneProblem",
        "spikes": "firstlight.unseen_classes.spikes:SpikesProblem",
        "images": "firstlight.unseen_classes.images:ImageProblem",
        "sets": "firstlight.unseen_classes.images:SetsProblem",
        "table": "firstlight.unseen_classes.table:TableProblem",
        "gradient": "firstlight.unseen_classes.structure:GradientProblem",
        "norm": "firstlight.unseen_classes.structure:NormProblem",
        "deep": "firstlight.unseen_classes.deep:DeepProblem",
    },
    studies="firstlight.unseen_classes.studies:STUDIES",
    references=REFERENCES,
    claims={
        name: f"firstlight.unseen_classes.claims:{name}"
        for name in (
            "alignment",
            "elasticity",
            "sides",
            "lengths",
            "rotations",
            "gradient",
            "norms",
            "sets",
            "spikes",
            "deep",
        )
    },
    figures={"relations": "firstlight.unseen_classes.figures:relations"},
    diagnose="firstlight.unseen_classes.diagnosis:diagnose",
    featured=(
        "unseen-classes/alignment-vs-similarity",
        "unseen-classes/recall-vs-similarity",
        "unseen-classes/digits-pairs",
    ),
    page="firstlight.unseen_classes.page:page",
    commands="firstlight.unseen_classes.commands:app",
)

__getattr__, _, _ = lazy_loader.attach("firstlight", None, _NAMES)


def __dir__() -> list[str]:
    return __all__
