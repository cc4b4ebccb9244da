"""What a theory says about its page: controls, panels, presets, explanation. A description, no web code.

A page is made of plain values. Its *controls* name what a reader may change; its *views* are generators of
pictures, by panel, for the values of the controls: a rough answer first, better ones after it. Its *study*
is what "run" means: an ordinary `Study`, whose records any other command sees too. All that a theory needs
for its page is imported from here.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firstlight.maths.refusals import refusal, unknown
from firstlight.show.controls import Choice, Control, Formula, Handles, OwnTable, Several, Slider
from firstlight.show.pictures import Drawn, Group, Mark, Picture, Plane, Role, Trace

if TYPE_CHECKING:
    import xarray as xr

    from firstlight.study.sweep import Study

__all__ = [
    "Choice", "Control", "Drawn", "Formula", "Group", "Handles", "Mark", "OwnTable", "Page", "Panel",
    "Picture", "Plane", "Preset", "Role", "Several", "Slider", "Trace", "Values", "View", "key",
]  # fmt: skip

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A place for a picture: its heading, one sentence about it, and whether it is the large one."""

    name: str
    title: str
    about: str = ""
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class View:
    """Some panels that are computed together.

    Parameters
    ----------
    draw : callable
        A generator: values of the controls in, pictures by panel out, rough ones first.
    needs : sequence of str, optional
        The controls that it depends on; a change of another one leaves it as it is. Default: all.
    """

    draw: Callable[[Values], Iterator[Mapping[str, Drawn]]]
    needs: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Values worth seeing, named after a figure or an effect; the other controls go to their defaults."""

    name: str
    about: str
    values: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page of a theory.

    Parameters
    ----------
    answer : str
        One line.
    controls, panels, presets : sequence
    views : mapping of str to View
    problem : callable
        Values to the Problem whose assumptions are shown.
    study : callable
        Values to the Study that "run" means.
    points : callable
        (values, study, Dataset) to the traces that its records add, by panel.
    run : str
        What the button says.
    thumbnail : str
        The panel that stands for the theory on the first page.
    explanation : sequence of str
        Paragraphs; formulas between dollars, in LaTeX.

    Examples
    --------
    >>> slider = Slider(name="a", label="a", default=1.0, low=0.0, high=2.0)
    >>> page = Page(answer="", controls=(slider,), panels=(), presets=(), views={}, problem=dict, study=dict,
    ...             points=dict, run="Run", thumbnail="", explanation=())
    >>> page.clean({}), page.clean({"a": 2})
    ({'a': 1.0}, {'a': 2.0})
    >>> page.clean({"b": 2})
    Traceback (most recent call last):
    ValueError: control 'b': unknown (known: a)
    """

    answer: str
    controls: Sequence[Control]
    panels: Sequence[Panel]
    presets: Sequence[Preset]
    views: Mapping[str, View]
    problem: Callable[[Values], Any]
    study: "Callable[[Values], Study]"
    points: "Callable[[Values, Study, xr.Dataset], Mapping[str, Sequence[Trace]]]"
    run: str
    thumbnail: str
    explanation: Sequence[str]

    def clean(self, given: Mapping[str, Any]) -> Values:
        """Return a value for every control: those given, checked, and defaults."""
        if not isinstance(given, Mapping):
            raise refusal("values", given, "be a table")
        known = {control.name: control for control in self.controls}
        for name in given:
            if name not in known:
                raise unknown("control", name, known)
        return {
            name: control.clean(given.get(name, control.default))  # type: ignore[attr-defined]
            for name, control in known.items()
        }

    def needed(self, view: str, values: Values) -> Values:
        """Return the values that a view depends on; the others at their defaults."""
        needs = self.views[view].needs
        return self.clean({name: value for name, value in values.items() if not needs or name in needs})


def key(name: str, values: Values) -> str:
    """Return a text that is the same for the same page and values."""
    return json.dumps([name, values], sort_keys=True)
