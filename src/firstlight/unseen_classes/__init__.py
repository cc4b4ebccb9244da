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
    from firstlight.maths.agreement import rank_agreement
    from firstlight.measure.elasticity import elasticity, local_elasticity
    from firstlight.measure.retrieval import Recall, recall_at_k
    from firstlight.measure.similarity import alignment, cohesion, separability_score
    from firstlight.unseen_classes.analysis import analyse
    from firstlight.unseen_classes.classes import predict_classes, simulate_classes
    from firstlight.unseen_classes.deep import DeepProblem
    from firstlight.unseen_classes.definitions.covariance import initial_residual, label_covariance
    from firstlight.unseen_classes.definitions.step import Step, step_size_from_tau, tau_from_strength
    from firstlight.unseen_classes.experiment.step import FeatureNetwork, draw_network
    from firstlight.unseen_classes.problem import (
        ClassProblem,
        ImageProblem,
        Problem,
        RotationProblem,
        SideProblem,
    )
    from firstlight.unseen_classes.sets import SetsProblem
    from firstlight.unseen_classes.structure import GradientProblem, NormProblem
    from firstlight.unseen_classes.theory.bulk import bulk_covariance, output_covariance
    from firstlight.unseen_classes.theory.classes import class_alignment, class_elasticity
    from firstlight.unseen_classes.theory.emergence import Emergence, emergence
    from firstlight.unseen_classes.theory.kernel import predicted_movement, spiked_kernel
    from firstlight.unseen_classes.theory.operator_norm import operator_norm_bound, spiked_operator_norm
    from firstlight.unseen_classes.theory.retrieval import predict_recall_at_k
    from firstlight.unseen_classes.theory.similarity import train_unseen_similarity
    from firstlight.unseen_classes.theory.tangent import tangent_kernel

_NAMES = {
    "data.unseen": ["UnseenData", "standardised", "split_classes"],
    "maths.agreement": ["rank_agreement"],
    "measure.elasticity": ["elasticity", "local_elasticity"],
    "measure.retrieval": ["Recall", "recall_at_k"],
    "measure.similarity": ["alignment", "cohesion", "separability_score"],
    "unseen_classes.analysis": ["analyse"],
    "unseen_classes.deep": ["DeepProblem"],
    "unseen_classes.definitions.covariance": ["initial_residual", "label_covariance"],
    "unseen_classes.definitions.step": ["Step", "tau_from_strength", "step_size_from_tau"],
    "unseen_classes.classes": ["predict_classes", "simulate_classes"],
    "unseen_classes.experiment.step": ["FeatureNetwork", "draw_network"],
    "unseen_classes.problem": ["ClassProblem", "ImageProblem", "Problem", "RotationProblem", "SideProblem"],
    "unseen_classes.sets": ["SetsProblem"],
    "unseen_classes.structure": ["GradientProblem", "NormProblem"],
    "unseen_classes.theory.bulk": ["bulk_covariance", "output_covariance"],
    "unseen_classes.theory.classes": ["class_alignment", "class_elasticity"],
    "unseen_classes.theory.emergence": ["Emergence", "emergence"],
    "unseen_classes.theory.kernel": ["predicted_movement", "spiked_kernel"],
    "unseen_classes.theory.operator_norm": ["operator_norm_bound", "spiked_operator_norm"],
    "unseen_classes.theory.retrieval": ["predict_recall_at_k"],
    "unseen_classes.theory.similarity": ["train_unseen_similarity"],
    "unseen_classes.theory.tangent": ["tangent_kernel"],
}

__all__ = [
    "THEORY",
    "ClassProblem",
    "DeepProblem",
    "Emergence",
    "FeatureNetwork",
    "GradientProblem",
    "ImageProblem",
    "NormProblem",
    "Problem",
    "Recall",
    "RotationProblem",
    "SetsProblem",
    "SideProblem",
    "Step",
    "UnseenData",
    "alignment",
    "analyse",
    "bulk_covariance",
    "class_alignment",
    "class_elasticity",
    "cohesion",
    "draw_network",
    "elasticity",
    "emergence",
    "initial_residual",
    "label_covariance",
    "local_elasticity",
    "operator_norm_bound",
    "output_covariance",
    "predict_classes",
    "predict_recall_at_k",
    "predicted_movement",
    "rank_agreement",
    "recall_at_k",
    "separability_score",
    "simulate_classes",
    "spiked_kernel",
    "spiked_operator_norm",
    "split_classes",
    "standardised",
    "step_size_from_tau",
    "tangent_kernel",
    "tau_from_strength",
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
        "plane": "firstlight.unseen_classes.plane:PlaneProblem",
        "images": "firstlight.unseen_classes.problem:ImageProblem",
        "sets": "firstlight.unseen_classes.sets:SetsProblem",
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
            "deep",
        )
    },
    figures={"relations": "firstlight.unseen_classes.figures:relations"},
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
