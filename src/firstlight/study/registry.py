"""The theories that are installed, and what stands behind the names that each announces.

A theory is a package with a `Theory` in the entry-point group ``firstlight.theories``; ours are found like
anybody's, and nothing else in the shared parts names them. A study in a file may name a theory, or one of
its problems, claims or figures (``"one_step"``, ``"one_step.by_width"``), and can neither import nor call
anything else. Looking a name up loads no theory.
"""

import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from firstlight.maths.refusals import check_instance, check_names, refusal, unknown
from firstlight.references import Entry

if TYPE_CHECKING:
    from firstlight.study.sweep import Study

GROUP = "firstlight.theories"
_NAME = re.compile(r"[a-z_]+(\.[a-z_]+)?")

Reference = str | Callable[..., Any]
"""A callable, or where it stands: ``"module:qualname"``, written in code and never read from a file."""


@dataclass(frozen=True, kw_only=True)
class Theory:
    """What a theory announces; everything that lists, runs, judges, draws or cites theories goes through it.

    Attributes
    ----------
    name : str
        Lower-case words joined by ``_``; its studies are called ``"the-name/what"``.
    title, question : str
        A heading, and the question that it answers.
    problems : mapping of str to Reference
        Factories of Problems; the first is the default.
    studies : str
        Where its sequence of `Study` stands.
    references : mapping of str to Entry
        What to cite, by BibTeX key; the first is the source.
    claims : mapping of str to Reference
        Functions of a study's Dataset that judge published claims.
    figures : mapping of str to Reference
        Functions of a study and its Dataset that draw a special picture.
    featured : tuple of str
        Its studies in the short report.
    diagnose : Reference, optional
        What says of somebody's own data what the theory expects of them.
    page : Reference, optional
        Its page for exploring it by hand.
    commands : str, optional
        Where a `typer.Typer` with its commands stands.

    Examples
    --------
    >>> theory = Theory(name="my_means", title="Means", question="Which mean?",
    ...                 problems={"mean": "my_means:Mean"}, studies="my_means.studies:STUDIES")
    >>> theory.slug
    'my-means'
    >>> theory
    Theory(name='my_means', question='Which mean?', problems=['mean'])
    """

    name: str
    title: str
    question: str
    problems: Mapping[str, Reference]
    studies: str
    references: Mapping[str, Entry] = field(default_factory=dict)
    claims: Mapping[str, Reference] = field(default_factory=dict)
    figures: Mapping[str, Reference] = field(default_factory=dict)
    featured: tuple[str, ...] = ()
    diagnose: Reference | None = None
    page: Reference | None = None
    commands: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z_]*", self.name):
            raise refusal("name", self.name, "be lower-case letters and _")
        if not self.problems:
            raise refusal("problems", self.problems, "name at least one problem")
        for kind, names in (
            (str, ("title", "question", "studies")),
            (Mapping, ("problems", "references", "claims", "figures")),
        ):
            for name in names:
                check_instance(name, getattr(self, name), kind)
        check_names("featured", self.featured)
        check_instance("commands", self.commands, str, type(None))
        for name in ("diagnose", "page"):
            given = getattr(self, name)
            if not (given is None or isinstance(given, str) or callable(given)):
                raise refusal(name, given, "be a callable, or where it stands, module:name")
        for key, entry in self.references.items():
            check_instance(f"references.{key}", entry, Entry)

    def __repr__(self) -> str:
        return f"Theory(name={self.name!r}, question={self.question!r}, problems={list(self.problems)})"

    @property
    def slug(self) -> str:
        """The first part of its studies' names."""
        return self.name.replace("_", "-")


@dataclass(frozen=True)
class Broken:
    """A theory that is installed and cannot be used, or a part of one.

    Attributes
    ----------
    name, package, error : str
        The entry point's name, the package that brings it, and what went wrong.
    part : str
        What cannot be used, such as its commands; empty where it is all of the theory.
    """

    name: str
    package: str
    error: str
    part: str = ""

    @property
    def consequence(self) -> str:
        """What it means for a user.

        Examples
        --------
        >>> Broken("mine", "mine 1.0", "KeyError: 'x'", "commands").consequence
        "its commands cannot be used: KeyError: 'x'"
        """
        return f"{f'its {self.part} cannot be used' if self.part else 'left out'}: {self.error}"


@cache
def _installed() -> tuple[dict[str, Theory], dict[str, str], list[Broken]]:
    """Load every entry point once: theories and packages by name, ours first, and what failed."""
    theories: dict[str, Theory] = {}
    packages: dict[str, str] = {}
    failed: list[Broken] = []
    for point in sorted(entry_points(group=GROUP), key=_ours_first):
        package = " ".join(_package(point))
        if packages.get(point.name) == package:  # one package, seen twice on the path
            continue
        try:
            theory = point.load()
            if not isinstance(theory, Theory):
                raise TypeError(f"{point.value} is no Theory")
            if theory.name in theories:
                raise ValueError(f"the name {theory.name!r} is taken by {packages[theory.name]}")
            theories[theory.name], packages[theory.name] = theory, package
        except (Exception, SystemExit) as error:  # whatever a plug-in does must not break the others
            failed.append(Broken(point.name, package, f"{type(error).__name__}: {error}"))
    return theories, packages, failed


def _ours_first(point: EntryPoint) -> tuple[bool, str]:
    return _package(point)[0] != "firstlight", point.name


def _package(point: EntryPoint) -> tuple[str, str]:
    return (point.dist.name, point.dist.version) if point.dist is not None else ("unknown", "")


def theories() -> dict[str, Theory]:
    """Return the theories at hand, by name: ours first, then those of other packages.

    Examples
    --------
    >>> list(theories())[:4]
    ['early_alignment', 'one_step', 'phase_transition', 'unseen_classes']
    """
    return _installed()[0]


def broken() -> tuple[Broken, ...]:
    """Return the theories that are installed and could not be used, each with the reason."""
    return tuple(_installed()[2])


def package(name: str) -> str:
    """Return which package brings a theory, with its version."""
    return _installed()[1].get(name, "this session")


def register(theory: Theory) -> None:
    """Add a theory for this session, without a package: for notebooks and tests."""
    theories()[theory.name] = theory


def mark_broken(name: str, error: BaseException, part: str) -> None:
    """Note that a part of a theory, such as its studies or commands, cannot be used."""
    failure = Broken(name, package(name), f"{type(error).__name__}: {error}", part)
    if failure not in _installed()[2]:
        _installed()[2].append(failure)


def resolve(reference: Reference, what: str = "problem") -> Callable[..., Any]:
    """Return the callable behind ``"module:qualname"``; a callable is passed through.

    Parameters
    ----------
    what : str, default "problem"
        The field that it stands in, for the refusal.

    Examples
    --------
    >>> resolve("math:sqrt")(4)
    2.0
    """
    resolved = _located(reference, what) if isinstance(reference, str) else reference
    if not callable(resolved):
        raise ValueError(f"{what} = {reference!r}: is not callable")
    return resolved


def _located(reference: str, what: str) -> Any:
    try:
        return pkgutil.resolve_name(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{what} = {reference!r}: {error}") from error


def problem(name: object) -> tuple[Theory, Reference]:
    """Return the theory and the factory that a name means: "theory.problem", or "theory" for its first.

    Examples
    --------
    >>> problem("one_step") == problem("one_step.scaled")
    True
    >>> problem("one_step.by_width")[1]
    'firstlight.one_step.families:by_width'
    >>> problem("os:system")
    Traceback (most recent call last):
    ValueError: problem = 'os:system': must be a theory or theory.problem
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refusal("problem", name, "be a theory or theory.problem")
    first, _, second = name.partition(".")
    if first not in theories():
        raise unknown("problem", name, theories())
    theory = theories()[first]
    if second and second not in theory.problems:
        raise unknown("problem", name, (f"{first}.{one}" for one in theory.problems))
    return theory, theory.problems[second or next(iter(theory.problems))]


def studies() -> "dict[str, Study]":
    """Collect the studies of all theories, by name, in the theories' own order.

    Examples
    --------
    >>> all(name == study.name for name, study in studies().items())
    True
    """
    catalogue: dict[str, Study] = {}
    for theory in theories().values():
        try:
            own: Sequence[Study] = _located(theory.studies, "studies")
            if wrong := [study.name for study in own if not study.name.startswith(f"{theory.slug}/")]:
                raise ValueError(f"name = {wrong[0]!r}: must begin with {theory.slug}/")
            catalogue |= {study.name: study for study in own}
        except (Exception, SystemExit) as error:
            if package(theory.name).startswith("firstlight "):
                raise
            mark_broken(theory.name, error, "studies")
    return catalogue


def study(name: str) -> "Study":
    """Return one study by name, such as ``"one-step/width"``; an unknown name gets a hint.

    Examples
    --------
    >>> study("no/such-study")
    Traceback (most recent call last):
    ...
    ValueError: study 'no/such-study': unknown ...
    """
    known = studies()
    if name not in known:
        raise unknown("study", name, known)
    return known[name]


def featured() -> "Sequence[Study]":
    """Return the studies of the short report: together a few minutes at the quick scale."""
    known, chosen = studies(), []
    for theory in theories().values():
        own = [name for name in known if name.startswith(f"{theory.slug}/")]
        chosen += [known[name] for name in theory.featured if name in own]
        missing = [name for name in theory.featured if name not in own]
        if own and missing:
            mark_broken(theory.name, unknown("featured", missing[0], own), "featured studies")
    return chosen
