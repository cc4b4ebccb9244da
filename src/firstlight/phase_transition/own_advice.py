"""What a user can do about the directions in the data, with what was not looked at or measured said."""

import numpy as np

from firstlight.diagnosis import UserData
from firstlight.diagnosis.words import listed, wrong
from firstlight.phase_transition.own_data import State, mean_of_halves
from firstlight.phase_transition.theory.hidden import FOUND, HINT, Found

HALVES = 3
T90 = 2.92  # Student's t with two degrees of freedom: of three halves
MOST_EASY = 3  # with more, too few rows are alike in all of them to permute labels among
MORE_TIME = "in the time given (a larger --seconds does it)"
_FEW = 3  # columns that a reader takes in; squares and products of more are nobody's first try


def strength(signal: Found) -> str:
    """Say in a word whether there is a signal.

    Examples
    --------
    >>> [strength(Found(np.zeros((2, 0)), (p,))) for p in (0.005, 0.02, 0.5)]
    ['found', 'a hint', 'none']
    """
    return "found" if signal.p[0] <= FOUND else "a hint" if signal.p[0] <= HINT else "none"


def hidden_can_be_sought(state: State) -> bool:
    """Whether so few linear directions and so many other columns are there that hidden ones are sought."""
    known = state.easy.directions.shape[1] if state.easy else 0
    return known <= MOST_EASY and state.z.shape[1] - known >= 2


def hidden_was_missed(state: State) -> bool:
    """Whether there was no time to look for hidden directions."""
    return state.hard is None and hidden_can_be_sought(state)


def network_wins(state: State) -> bool:
    """Whether a network beats a linear model and the constant answer; False until all halves were asked."""
    if len(state.halves) < HALVES:
        return False
    rival, lead = _to_beat(state)
    return mean_of_halves(state, "network")[0] + lead < rival


def _to_beat(state: State) -> tuple[float, float]:
    """Return the error that a network must beat, and the lead that chance gives once in twenty, at most."""
    linear, network = (mean_of_halves(state, name) for name in ("linear", "network"))
    constant = 1 - np.bincount(state.y).max() / len(state.y) if state.y.dtype.kind == "i" else 1.0
    least = min(linear[0], constant)
    chance = 0.1 if constant == 1 else 2.58 * np.sqrt(least * (1 - least) / len(state.y))  # of so many rows
    return least, float(max(T90 * np.hypot(network[1], linear[1]), chance))


def _unmeasured(state: State) -> str:
    """Say how much is known about a network before all halves were asked."""
    if not state.halves:
        return "was not measured"
    return f"was measured on {len(state.halves)} of {HALVES} halves, not enough to tell"


def advice(data: UserData, state: State) -> tuple[str, ...]:
    """Say what to do: a linear model, a network, more rows, or more time where a test was not made."""
    d = state.z.shape[1]
    few = f"A hidden direction with threshold 1 would need about {5 * d:,} rows; you have {len(state.y):,}."
    more = (few,) if state.ratio < 5 else ()
    if state.hard is not None and state.hard.count:
        return (_of_hidden(data, state, state.hard),)
    if network_wins(state):
        return ("Use a network: the labels do not follow a line, and it does better than a linear model.",)
    if state.easy is not None and state.easy.p[0] > FOUND:
        return (_of_no_signal(state, state.easy), *more)
    return (_of_linear(state), *more)


def _of_hidden(data: UserData, state: State, hard: Found) -> str:
    if len(state.halves) < HALVES:
        return f"A hidden direction shows; whether a network uses it {_unmeasured(state)}."
    if not network_wins(state):
        return "A hidden direction shows, but a network does not beat a linear model: begin with that."
    scores = (state.z @ hard.directions[:, : hard.count]).T
    each = [outstanding(state.x, score) for score in scores]
    names = list(dict.fromkeys(data.names[i] for columns in each for i in columns))
    many = ["a direction through many columns"] if not all(each) else []
    if mean_of_halves(state, "hard network")[0] < 0.5:
        return (
            "Use a network: a linear model misses what it sees. That is more than the direction that "
            f"shows ({listed(names + many)}), such as the length of the rows."
        )
    if not names:
        return f"A linear model misses what is hidden, {many[0]}: use a network."
    powers = "the square" if len(names + many) == 1 else "squares and products"
    return f"A linear model misses what is hidden: use a network, or {powers} of {listed(names + many)}."


def _of_no_signal(state: State, easy: Found) -> str:
    """Advise where no linear signal was found: what was not tried may still show one."""
    if strength(easy) == "a hint":
        found = "Only a hint of a signal"
    elif state.hard is not None and strength(state.hard) == "a hint":
        found = "Only a hint of a hidden direction"
    elif hidden_was_missed(state):
        return f"No linear signal was found, and hidden ones were not looked for {MORE_TIME}."
    else:
        found = "No signal was found"
    also = f"; hidden directions were not looked for {MORE_TIME}" if hidden_was_missed(state) else ""
    if len(state.halves) < HALVES:
        also += f"; whether a network sees more {_unmeasured(state)}"
    return f"{found}: collect more rows or other columns{also}."


def _of_linear(state: State) -> str:
    seen = ""
    if hidden_was_missed(state):
        seen = f"; hidden directions were not looked for {MORE_TIME}"
    elif state.hard is not None:
        all_that_shows = "it sees all that shows at this number of rows"
        hint = f"{all_that_shows}, but for a hint of a hidden direction, which more rows would tell"
        seen = f": {hint if strength(state.hard) == 'a hint' else all_that_shows}"
    if len(state.halves) < HALVES:
        beside = f"; whether a network does better {_unmeasured(state)}"
    else:
        (rival, sure), network = _to_beat(state), mean_of_halves(state, "network")[0]
        told = f"{len(state.y):,} rows tell from chance only leads above"
        told += f" {wrong(sure, np.nan, state.y.dtype.kind != 'i')}"
        beside = f"; a network leads, but {told}" if network < rival else ""
    return f"Begin with a linear model{seen}{beside}."


def correlations(x: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the correlation of every column with a score.

    Examples
    --------
    >>> correlations(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([0.0, -1.0, -2.0])).tolist()
    [-1.0, 0.0]
    """
    x, score = x - x.mean(axis=0), score - score.mean()
    return np.asarray(x.T @ score / (np.linalg.norm(x, axis=0) * np.linalg.norm(score) + 1e-300))


def outstanding(x: np.ndarray, score: np.ndarray) -> list[int]:
    """Return the columns that make up a score, the first most; none if they are many.

    A column counts if its correlation is at least half the largest: less is under a quarter of what the
    largest explains, and what an estimated direction holds of columns that do not matter. These must be few,
    and together explain at least half of the score: otherwise others matter more than those named.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(500, 20))
    >>> outstanding(x, x[:, 3] + 0.1 * x[:, 5]), outstanding(x, x.mean(axis=1))
    ([3], [])
    """
    along = np.abs(correlations(x, score))
    columns = [int(i) for i in np.argsort(-along) if along[i] >= 0.5 * along.max()]
    if len(columns) > _FEW:
        return []
    part, rest = x[:, columns] - x[:, columns].mean(axis=0), score - score.mean()
    left = rest - part @ np.linalg.lstsq(part, rest, rcond=None)[0]
    return columns if left @ left <= 0.5 * (rest @ rest) else []
