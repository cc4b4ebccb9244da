"""Ask every theory about a user's data, the cheap parts first, within the time that there is."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from firstlight.diagnosis.clock import Clock, OutOfTime
from firstlight.diagnosis.data import Task, UserData, user_data
from firstlight.diagnosis.finding import Finding
from firstlight.diagnosis.result import Diagnosis, Section
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.study import registry
from firstlight.study.compare import seed_of

Say = Callable[[str, Clock], None]


def diagnose(
    X: ArrayLike,
    y: ArrayLike,
    *,
    task: Task = "auto",
    standardise: bool = False,
    seconds: float = 60.0,
    names: Sequence[str] | None = None,
    source: str = "arrays",
    rng: RNGLike | SeedLike = 0,
    say: Say = lambda text, clock: None,
) -> Diagnosis:
    """Say what the theories predict for these data, and measure it.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Features: finite numbers.
    y : array_like, shape (n,)
        Classes (numbers or texts), or numbers to predict.
    task : {"auto", "classification", "regression"}
        By itself: numbers are to be predicted if they have more than 20 values and more than one in ten rows,
        more than one in two rows, or more than 10 values, some with decimals or, like the tail of a count, in
        one row only; or some with decimals and some in one row only.
    standardise : bool, default False
        Divide every column by its standard deviation.
    seconds : float, default 60
        About how long; every theory begins with its cheap parts, and what is not reached is said.
    names : sequence of str, optional
        Of the columns; a data frame brings its own.
    source : str
        Where the data came from.
    rng : SPEC 7 rng, default 0
        Of all splits and networks.
    say : callable
        Told what is being done, and the clock.

    Returns
    -------
    Diagnosis
        Also after Ctrl-C, with what was done by then.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> diagnose(X, X[:, 0] > 0, seconds=0.01).data.summary
    '40 rows, 3 columns, 2 classes (19 to 21 rows each)'
    """
    clock = Clock(seconds)
    data = user_data(X, y, task=task, standardise=standardise, names=names, source=source, seed=seed_of(rng))
    sections: dict[str, Section] = {}
    stopped = ""
    try:
        for name in _turns(data, clock, sections):
            say(f"{sections[name].title}: {sections[name].state}", clock)
            clock.check()
    except OutOfTime:
        stopped = f"stopped after {clock.spent:.0f} s"
    except KeyboardInterrupt:
        stopped = f"interrupted after {clock.spent:.0f} s"
    if all(one.complete for one in sections.values()):
        stopped = ""
    return Diagnosis(data, tuple(sections.values()), seconds=clock.spent, stopped=stopped)


def _turns(data: UserData, clock: Clock, sections: dict[str, Section]) -> Iterator[str]:
    """Give each theory one turn after the other, until none has more to say; yield whose turn it was."""
    waiting: dict[str, Iterator[Finding]] = {}
    for name, theory in registry.theories().items():
        if theory.diagnose is None:
            continue
        sections[name] = Section(name, theory.title, theory.question)
        waiting[name] = _findings(theory.diagnose, data, clock)
    while waiting:
        for name in list(waiting):
            try:
                with warnings.catch_warnings():
                    # sizes far from theory's limit: findings say what matters
                    warnings.simplefilter("ignore")
                    finding = next(waiting[name], None)
                if finding is None:
                    sections[name] = replace(sections[name], complete=True)
                    del waiting[name]
                else:
                    done = finding.last or finding.speaks == "no"  # who does not speak has no more to say
                    sections[name] = replace(sections[name], finding=finding, complete=done)
            except OutOfTime:
                raise
            except Exception as error:  # one theory's failure, ours or a plug-in's, must not take the page
                sections[name] = replace(sections[name], error=f"{type(error).__name__}: {error}")
                del waiting[name]
            yield name


def _findings(reference: registry.Reference, data: UserData, clock: Clock) -> Iterator[Finding]:
    """Call a theory's function when its turn comes: it returns a Finding, or yields ever better ones."""
    findings: Any = registry.resolve(reference, "diagnose")(data, clock)
    for one in [findings] if isinstance(findings, Finding) else findings:
        if not isinstance(one, Finding):
            raise TypeError(f"diagnose must return or yield Findings, not {type(one).__name__}")
        yield one
