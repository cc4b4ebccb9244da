"""The claims about one step on made-up errors: verdicts follow the numbers, raw and over Var(y) apart."""

import numpy as np
import pytest
import xarray as xr

from firstlight.one_step import claims
from firstlight.study.registry import studies, theories


def errors(axes, **arms):
    """Eight trials of each arm, with a noise of 1 % that they share, and 0.1 % of each arm's own."""
    grid, rng = xr.Dataset(coords=axes), np.random.default_rng(0)
    noise = xr.DataArray(1 + 0.01 * rng.normal(size=8), dims="trial")
    columns = {}
    for name, factor in (("test_error", 1.0), ("train_error", 1.0), ("relative_test_error", 0.0)):
        parts = [
            (make(grid) if factor or arm != "network" else 1 + 0 * make(grid)) for arm, make in arms.items()
        ]
        parts = [part.broadcast_like(xr.Dataset(coords=axes)) * noise for part in parts]
        parts = [part * (1 + 0.001 * rng.normal(size=part.shape)) for part in parts]
        columns[name] = xr.concat(parts, xr.Variable("arm", list(arms)))
    return xr.Dataset(columns)


def verdicts(made):
    return [claim.verdict for claim in made]


ACTIVATIONS = {"activation": ["relu", "tanh"]}


def flat(grid):
    return sum(
        (0 * xr.DataArray(np.zeros(grid.sizes[dim]), dims=dim) for dim in grid.dims), xr.DataArray(1.0)
    )


@pytest.mark.parametrize(("gap", "verdict"), [(0.01, "holds"), (0.3, "does not hold")])
def test_a_model_is_the_network_up_to_a_gap(gap, verdict):
    axes = {"ratio": [0.5, 1.0, 2.0], **ACTIVATIONS}
    answer = errors(axes, network=flat, hermite=lambda g: flat(g) * (1 + gap))
    assert verdicts(claims.width(answer)) == [verdict, verdict]
    good = answer.assign(train_error=answer["train_error"].where(answer["arm"] == "network", 1.0))
    assert verdicts(claims.width(good)) == [verdict, "holds"]
    one = answer.copy(deep=True)
    one["test_error"].loc[{"arm": "hermite", "ratio": 1.0, "activation": "relu"}] *= 1.15  # at a single point
    assert "largest gap, relu, at k/m = 1" in claims.width(one)[0].evidence
    images = errors(
        {"ratio": [0.5, 1.0]}, network=flat, hermite=flat, deterministic=lambda g: flat(g) * (1 + gap)
    )
    assert verdicts(claims.images(images)) == ["holds", verdict]


def test_raw_and_fair_forms_are_judged_apart():
    """The raw error rises twentyfold, the error over Var(y) not at all: a change of units."""
    axes = {"alpha": [0.0, 0.5, 1.0], **ACTIVATIONS}
    answer = errors(axes, network=lambda g: flat(g) * np.exp(3 * g.alpha), hermite=lambda g: flat(g))
    model, trained, raw, fair = claims.alpha(answer)
    assert (model.verdict, raw.verdict, fair.verdict) == ("does not hold", "holds", "undecided")
    assert "training error" in trained.text
    assert "raw error" in raw.text
    assert "Var(y)" in fair.text


@pytest.mark.parametrize(
    ("judge", "axis"),
    [(claims.share, "share"), (claims.spike_alignment, "spike_alignment"), (claims.rank, "rank")],
)
def test_what_matters_changes_the_error(judge, axis):
    axes = {axis: [1, 2, 4] if axis == "rank" else [0.0, 0.5, 1.0], **ACTIVATIONS}
    slope = xr.DataArray([0.0, 1.0, 1.0], dims=axis)
    answer = errors(axes, network=lambda g: flat(g) * np.exp(slope), hermite=flat)
    assert verdicts(judge(answer))[2:] == ["holds", "does not hold"]


def test_strength_and_square():
    answer = errors(
        {"beta": [0.0, 0.5, 1.0], "alpha": [0.0, 1.0]},
        network=lambda g: flat(g) * np.exp(-g.beta),
        hermite=flat,
    )
    assert verdicts(claims.beta(answer))[2] == "holds"
    answer = errors(
        {"beta": [0.2, 0.6, 1.0], "alpha": [0.0, 1.0]}, network=lambda g: flat(g) * np.exp(g.alpha)
    )
    assert verdicts(claims.square(answer)) == ["holds"]
    assert verdicts(claims.square(answer.assign(test_error=1 / answer["test_error"]))) == ["does not hold"]


@pytest.mark.parametrize(
    ("first", "expected"),
    [(1.5, ["does not hold", "holds", "holds"]), (1.0, ["holds", "does not hold", "holds"])],
)
def test_degrees(first, expected):
    """The theorem gives degrees 1, 2, 3; below 3 a ReLU network has the model of degree 1."""
    arms = {f"degree_{d}": flat for d in range(1, 5)} | {"degree_1": lambda g: first * flat(g)}
    answer = errors({"beta": [0.3, 0.6, 0.74, 0.9]}, network=flat, conditional_gaussian=flat, **arms)
    answer["test_error"].loc[{"arm": "degree_3"}] = answer["test_error"].sel(arm="degree_2")  # h₃ = 0
    made = claims.degree(answer)
    assert verdicts(made) == expected
    assert "β = 0.74, degree 1:" in made[1].evidence


def test_degrees_of_an_odd_network():
    """Degree 2 has the model of degree 1, so that is asked nothing of at β = 0.6; below 3 it counts."""
    arms = {f"degree_{d}": lambda g, d=d: (1.5 if d < 3 else 1.0) * flat(g) for d in range(1, 5)}
    answer = errors({"beta": [0.6, 0.74]}, network=flat, conditional_gaussian=flat, **arms)
    answer["test_error"].loc[{"arm": "degree_2"}] = answer["test_error"].sel(arm="degree_1")
    suffices, needed, _ = claims.degree(answer)
    assert suffices.verdict == "does not hold"  # a half more at β = 0.6
    assert (needed.verdict, [e.label for e in needed.estimates]) == ("holds", ["β = 0.74, degree 2"])


def test_every_study_with_claims_names_them_in_the_registry():
    for theory in theories().values():
        own = {study.claims for name, study in studies().items() if name.startswith(f"{theory.slug}/")}
        assert own - {None} <= set(theory.claims.values())
