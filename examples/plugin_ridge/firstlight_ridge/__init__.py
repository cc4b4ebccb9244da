"""The risk of ridge regression in high dimension: a theory that firstlight finds as it finds its own."""

from firstlight.references import entry
from firstlight.study.registry import Theory

THEORY = Theory(
    name="ridge",
    title="Ridge regression in high dimension",
    question="Which error does ridge regression leave when samples and dimension grow together?",
    problems={"regression": "firstlight_ridge.problem:Problem"},
    studies="firstlight_ridge.studies:STUDIES",
    claims={"descent": "firstlight_ridge.studies:descent"},
    featured=("ridge/double-descent",),
    references={
        "dobriban2018ridge": entry(
            "article",
            author="Dobriban, Edgar and Wager, Stefan",
            title="High-Dimensional Asymptotics of Prediction: Ridge Regression and Classification",
            journal="The Annals of Statistics",
            year="2018",
        )
    },
)
