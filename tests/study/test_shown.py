"""What a shell and a notebook show: short, escaped, and the same for every kind of object."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import numpy as np
import pytest

import firstlight
from firstlight import early_alignment, one_step, phase_transition, unseen_classes
from firstlight.data.separable import separable
from firstlight.maths.shown import Shown


def path():
    X, y = separable(6, 4, mu=0.2, rng=0)
    rng = np.random.default_rng(1)
    return early_alignment.align(X, y, rng.normal(size=(5, 4)), np.array([1, -1, 1, -1, 1]))


MADE = {
    "one_step": lambda: one_step.Problem.scaled(300, 300, 300, alpha=0.0, beta=0.6),
    "mixture": lambda: one_step.Problem.scaled(300, 300, 300, alpha=0.0, beta=0.6).mixture,
    "early_alignment": early_alignment.Problem,
    "phase_transition": phase_transition.Problem,
    "unseen_classes": unseen_classes.Problem,
    "target": lambda: firstlight.MultiIndex("z1*z2"),
    "path": path,
    "threshold": lambda: phase_transition.delta_alg("z1**2"),
    "solved": lambda: firstlight.Solved(np.zeros(1000), 0.0, 3, True),
}


class Cells(HTMLParser):
    """Collect the text of a table, and every tag that was opened."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", MADE)
def test_a_few_short_lines(name):
    made = MADE[name]()
    lines = repr(made).splitlines()
    assert lines[0].startswith(f"{type(made).__name__}(")
    assert len(lines) <= 5
    assert max(map(len, lines)) <= 100
    assert made._repr_html_().startswith(f"<table><caption>{type(made).__name__}</caption>")
    assert len(made._repr_html_()) < 4000


@dataclass(frozen=True)
class Odd(Shown):
    text: str
    numbers: np.ndarray
    inner: object = None
    size: int = 3
    pair: tuple[float, ...] = (1.0, 2.0)
    several: list[float] = field(default_factory=list)
    _hidden: str = "secret"


@dataclass(frozen=True)
class Spoken(Odd):
    def __repr__(self):
        return "in its own words"


def test_what_is_left_out():
    assert repr(Odd("a", np.arange(3))) == "Odd(text='a', numbers=[0, 1, 2], several=[])"
    assert "size=4" in repr(Odd("a", np.ones(2), size=4))
    assert "size=True" in repr(Odd("a", np.ones(2), size=True))  # 1 and True are equal, and not the same
    assert "numbers=<20 × 3 numbers>" in repr(Odd("a", np.ones((20, 3))))
    assert "several=[0.333333, 0.333333, 0.333333, ... 50 in all]" in repr(
        Odd("a", np.ones(1), several=[1 / 3] * 50)
    )
    assert "inner=Odd(...)" in repr(Odd("a", np.ones(1), Odd("b" * 90, np.ones(1))))
    assert repr(Spoken("a", np.ones(1))) == "in its own words"


def test_html_is_escaped_and_private_fields_stay_private():
    hostile = "<script>alert('x')</script>&amp;"
    page = Odd(hostile, np.ones(1), {"<b>": "</td><img src=x>"})._repr_html_()
    seen = Cells(page)
    assert seen.tags == {"table", "caption", "tr", "th", "td"}
    assert repr(hostile) in seen.texts
    assert "secret" not in page
