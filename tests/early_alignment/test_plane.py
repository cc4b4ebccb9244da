"""Data and neurons given one by one."""

import numpy as np
import pytest

from firstlight.early_alignment import Problem
from firstlight.early_alignment.plane import PlaneProblem


def test_what_is_given_is_what_is_drawn():
    drawn = Problem(data="toy", reduction="mean", horizon=60.0, width=7).draw(3)
    X, y, W, v = drawn
    given = PlaneProblem(
        points=np.column_stack([X, y]).tolist(), neurons=np.column_stack([W, v]).tolist(), horizon=60.0
    )
    for one, other in zip(given.draw(0), drawn, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)  # unit rows are divided by their length again
    theory = given.predict(0)
    reference = Problem(data="toy", reduction="mean", horizon=60.0, width=7).predict(3)
    np.testing.assert_allclose(theory.cosine_plus, reference.cosine_plus, atol=1e-9)


@pytest.mark.parametrize(
    ("field", "rows"),
    [
        ("points", [(1, 0)]),
        ("points", [(1, 0, 2)]),
        ("neurons", [(0, 0, 1)]),
        ("neurons", 3),
        ("points", ["abc"]),
    ],
)
def test_bad_rows_are_refused_by_name(field, rows):
    with pytest.raises(ValueError, match=field):
        PlaneProblem(**{field: rows})
