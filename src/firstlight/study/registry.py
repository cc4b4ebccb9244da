"""The registry of theories: what a study in a file may name, and what stands behind each name.

A name is a theory's, or a theory's and one of its problems, claims or figures: ``"one_step"``,
``"one_step.by_width"``. What stands behind it is held here, in code; a file can neither import nor call
anything else. Looking a name up imports nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from firstlight.maths.checks import refusal, unknown

_NAME = re.compile(r"[a-z_]+(\.[a-z_]+)?")


@dataclass(frozen=True, kw_only=True)
class Theory:
    """What a theory offers to studies, by names of its own.

    Attributes
    ----------
    name : str
    problems : mapping of str to str
        Factories of Problems, as ``"module:qualname"``; the first is the default.
    claims : mapping of str to str
        Functions of a study's Dataset that judge published claims.
    figures : mapping of str to str
        Functions of a study and its Dataset that draw a special picture.

    Examples
    --------
    >>> Theory(name="mine", problems={"mean": "my_package:Mean"}).problems["mean"]
    'my_package:Mean'
    """

    name: str
    problems: Mapping[str, str]
    claims: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)


def _within(module: str, **names: str) -> dict[str, str]:
    return {name: f"firstlight.{module}:{qualname}" for name, qualname in names.items()}


def _same(module: str, *names: str) -> dict[str, str]:
    return _within(module, **dict(zip(names, names, strict=True)))


THEORIES = {
    theory.name: theory
    for theory in (
        Theory(
            name="early_alignment",
            problems=_within("early_alignment", alignment="Problem"),
            claims=_same("early_alignment.claims", "digits"),
            figures=_same("early_alignment.figures", "toy"),
        ),
        Theory(
            name="one_step",
            problems={
                **_within("one_step", scaled="Problem.scaled"),
                **_within("one_step.families", by_width="by_width", by_share="by_share", images="of_images"),
            },
            figures=_same("one_step.figures", "square", "degrees"),
        ),
        Theory(
            name="phase_transition",
            problems=_within(
                "phase_transition", training="Problem", learning="LearningProblem",
                spectrum="SpectrumProblem", algorithmic="AlgProblem", threshold="ThresholdProblem",
            ),
            figures=_same("phase_transition.figures", "limit", "spectra", "learning"),
        ),
        Theory(
            name="unseen_classes",
            problems=_within(
                "unseen_classes", cosines="Problem", cosine="ClassProblem", sides="SideProblem",
                rotations="RotationProblem", images="ImageProblem", sets="SetsProblem",
                gradient="GradientProblem", norm="NormProblem", deep="DeepProblem",
            ),
            claims=_same(
                "unseen_classes.claims", "alignment", "elasticity", "sides", "lengths", "rotations",
                "gradient", "norms", "sets", "deep",
            ),
            figures=_same("unseen_classes.figures", "relations"),
        ),
    )
}  # fmt: skip
"""Our four theories, by name."""


def problem(name: object) -> tuple[Theory, str]:
    """Return the theory and the factory, as ``"module:qualname"``, behind the name of a problem.

    Parameters
    ----------
    name : str
        ``"theory"``, whose first problem is meant, or ``"theory.problem"``.

    Returns
    -------
    Theory, str

    Examples
    --------
    >>> problem("one_step") == problem("one_step.scaled")
    True
    >>> problem("one_step.by_width")[1]
    'firstlight.one_step.families:by_width'
    >>> problem("os:system")
    Traceback (most recent call last):
    ValueError: problem = 'os:system': must be a theory or theory.problem, such as one_step.by_width
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refusal("problem", name, "be a theory or theory.problem, such as one_step.by_width")
    first, _, second = name.partition(".")
    if first not in THEORIES:
        raise unknown("problem", name, THEORIES)
    theory = THEORIES[first]
    return theory, _found("problem", name, theory.problems, second or next(iter(theory.problems)), first)


def claims(theory: Theory, name: object) -> str:
    """Return what judges the published claims of that name in a theory, as ``"module:qualname"``.

    Examples
    --------
    >>> claims(THEORIES["unseen_classes"], "norms")
    'firstlight.unseen_classes.claims:norms'
    """
    return _found("claims", name, theory.claims, name)


def figure(theory: Theory, name: object) -> str:
    """Return what draws the special picture of that name in a theory, as ``"module:qualname"``.

    Examples
    --------
    >>> figure(THEORIES["one_step"], "square")
    'firstlight.one_step.figures:square'
    """
    return _found("figure.draw", name, theory.figures, name)


def _found(field: str, given: object, known: Mapping[str, str], name: object, theory: str = "") -> str:
    if not isinstance(name, str) or name not in known:
        raise unknown(field, given, (f"{theory}.{one}" if theory else one for one in known))
    return known[name]
