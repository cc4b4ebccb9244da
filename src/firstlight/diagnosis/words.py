"""Numbers in words: short, with their errors."""

from collections.abc import Sequence
from math import floor, isfinite, isnan, log10
from typing import Any


def number(value: Any, digits: int = 3) -> str:
    """Write a number with a few digits; texts stay as they are.

    Examples
    --------
    >>> number(0.123456), number(1234.5), number(float("nan")), number("a"), number(12)
    ('0.123', '1230', '–', 'a', '12')
    """
    if not isinstance(value, float):
        return "–" if value is None else str(value)
    if not isfinite(value):
        return "–" if value != value else ("∞" if value > 0 else "−∞")
    if value == 0:
        return "0"
    size = floor(log10(abs(value)))
    if -4 <= size < 6:
        return f"{round(value, digits - 1 - size):.{max(0, digits - 1 - size)}f}"
    return f"{value:.{digits - 1}e}"


def with_error(value: float, error: float) -> str:
    """Write a number to the digits that its error leaves, four at most.

    Examples
    --------
    >>> with_error(0.12345, 0.0123), with_error(0.5, float("nan")), with_error(1.0, 1e-9)
    ('0.123 ± 0.012', '0.500', '1.00')
    >>> with_error(2e-5, 4e-7)
    '2.00e-05 ± 4.0e-07'
    """
    if not isfinite(error) or error <= 1e-4 * abs(value):
        return number(float(value))
    if max(abs(value), error) < 1e-4:
        return f"{value:.2e} ± {error:.1e}"
    places = 1 - floor(log10(error))
    most = 3 - floor(log10(abs(value))) if value else places
    places = max(0, min(places, most))
    spread = f"{error:.{places}f}"
    return f"{value:.{places}f} ± {spread}" if float(spread) else number(float(value), 4)


def wrong(value: float, error: float, numbers: bool) -> str:
    """Write an error on unseen rows: a share of wrong answers, or for numbers a share of their variance.

    Examples
    --------
    >>> wrong(0.123, 0.01, False), wrong(0.5, float("nan"), True)
    ('12.3 ± 1.0 %', '0.500 of the variance')
    """
    scale, unit = (1, " of the variance") if numbers else (100, " %")
    return with_error(scale * value, scale * error) + unit


def counted(count: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> counted(1, "column"), counted(20, "column")
    ('1 column', '20 columns')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Write names in a row.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def interval(low: float, high: float) -> str:
    """Write a 90 % interval, or nothing where there is none.

    Examples
    --------
    >>> interval(0.1, 0.25), interval(float("nan"), 1.0), interval(2.0, float("inf"))
    (' [0.100, 0.250]', '', ' [2.00, ∞]')
    """
    return "" if isnan(low) or isnan(high) else f" [{number(float(low))}, {number(float(high))}]"
