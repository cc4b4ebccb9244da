"""What a refusal says, and checks of words and kinds, which load no NumPy: commands start quickly."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def shown(value: object, most: int = 80) -> str:
    """Return a value's text, cut short, whatever the value.

    Examples
    --------
    >>> shown("a" * 200, most=10)
    "'aaaaaa..."
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of more digits than Python prints, or an object that cannot be shown
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else text[: most - 3] + "..."


def refusal(name: str, value: object, allowed: str) -> ValueError:
    """Return the error for a field whose value is not allowed.

    Examples
    --------
    >>> refusal("mu", None, "be a number")
    ValueError('mu = None: must be a number')
    """
    return ValueError(f"{name} = {shown(value)}: must {allowed}")


def unknown(kind: str, name: object, allowed: Iterable[str]) -> ValueError:
    """Return the error for a name that does not exist, with the nearest one that does.

    Examples
    --------
    >>> print(unknown("axis", "rigde", ["ridge", "width"]))
    axis 'rigde': unknown, did you mean 'ridge'? (known: ridge, width)
    """
    names = sorted(allowed)
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    return ValueError(f"{kind} {shown(name)}: unknown{hint} (known: {', '.join(names) or 'none'})")


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Refuse what is not one of the allowed words."""
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        raise refusal(name, value, f"be one of {', '.join(allowed)}")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, bool):
        raise refusal(name, value, "be True or False")


def check_instance(name: str, value: Any, *kinds: type) -> None:
    """Refuse what is not an instance of one of these classes."""
    if not isinstance(value, kinds):
        raise refusal(name, value, f"be of type {' or '.join(kind.__name__ for kind in kinds)}")


def check_table(name: str, value: Any) -> Mapping[str, Any]:
    """Return what is a mapping; refuse anything else."""
    if not isinstance(value, Mapping):
        raise refusal(name, value, "be a table")
    return value


def check_options(name: str, value: Any) -> dict[str, Any]:
    """Return options by name as a dict of their own; none for None.

    Examples
    --------
    >>> check_options("predict", None), check_options("predict", {"draws": 8})
    ({}, {'draws': 8})
    """
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise refusal(name, value, "be a mapping of options by name")
    return dict(value or {})


def check_names(name: str, values: Any) -> tuple[str, ...]:
    """Return a list of texts as a tuple.

    Examples
    --------
    >>> check_names("observables", ["error"])
    ('error',)
    """
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise refusal(name, values, "be a list of names")
    if wrong := [value for value in values if not isinstance(value, str)]:
        raise ValueError(f"{name}: {shown(wrong[0])} is not a string")
    return tuple(values)
