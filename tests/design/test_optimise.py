"""The best setting by theory: against closed forms, on borders, over integers and choices, and checked."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import xarray as xr

import firstlight
from firstlight.maths.rng import generator

sys.path.append(str(Path(__file__).parents[2] / "examples" / "plugin_ridge"))

from firstlight_ridge.problem import Problem as Ridge


@dataclass(frozen=True)
class Bowl:
    """A made-up theory: f = 1 + (ln x - ln 3)² + (y - 0.4)² + (n - 6)²/50 + what the kind costs."""

    x: float = 1.0
    y: float = 0.0
    n: int = 1
    kind: str = "plain"
    known_to: float = np.inf  # theory says nothing about larger x

    theory: ClassVar[str] = "bowl"
    version: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()
    wrong: ClassVar[float] = 0.0  # how far simulations are from theory in ln x

    def predict(self, rng=0):
        if self.y > 0.9:
            raise ValueError(f"y = {self.y}: must be at most 0.9")
        if self.x > self.known_to:
            raise ValueError(f"x = {self.x}: must be at most {self.known_to}")
        value = self._value(self.x)
        curve = ("time", [9.0, value])
        return xr.Dataset({"f": value, "f_sem": 0.01, "path": curve}, {"time": [0, 5]})

    def simulate(self, rng=None):
        noise = 0.02 * generator(rng).standard_normal()
        return xr.Dataset({"f": self._value(self.x * np.exp(self.wrong)) + noise})

    def _value(self, x):
        bump = {"plain": 0.5, "good": 0.0, "bad": 2.0}[self.kind]
        return 1 + np.log(x / 3) ** 2 + (self.y - 0.4) ** 2 + (self.n - 6) ** 2 / 50 + bump


def test_the_best_ridge_of_a_plug_in():
    # isotropic regression: the best λ is noise² d / (n signal²), whatever the rest (Dobriban and Wager 2018)
    for noise, signal in ((0.5, 1.0), (1.0, 1.5)):
        problem = Ridge(dimension=200, samples=300, noise=noise, signal=signal)
        optimum = firstlight.optimise(problem, {"ridge": (1e-4, 100.0)})
        assert optimum.best["ridge"] == pytest.approx(noise**2 * 200 / (300 * signal**2), rel=0.03)
        assert optimum.converged
        assert optimum.border == ()
        low, high = optimum.flat["ridge"]
        worse = [replace(problem, ridge=x).predict().test_error.item() for x in (0.9 * low, 1.1 * high)]
        assert min(worse) > 1.04 * optimum.value
        assert optimum.curves["ridge"].min() == pytest.approx(optimum.value)


def test_numbers_integers_and_choices_together():
    over = {"x": (0.1, 100.0), "n": (1, 40), "kind": ["plain", "good", "bad"]}
    optimum = firstlight.optimise(Bowl(y=0.4), over, "f")
    assert optimum.best["n"] == 6
    assert optimum.best["kind"] == "good"
    assert optimum.best["x"] == pytest.approx(3.0, rel=0.02)
    assert (optimum.value, optimum.error) == (pytest.approx(1.0, abs=1e-3), 0.01)
    np.testing.assert_allclose(optimum.flat["x"], 3 * np.exp([-(0.05**0.5), 0.05**0.5]), rtol=0.05)
    assert optimum.problem == Bowl(y=0.4, **optimum.best)
    three = firstlight.optimise(Bowl, {"x": (0.1, 100.0), "y": (0.0, 0.9), "n": (1, 12)}, "f")
    assert three.best["n"] == 6
    assert three.best["y"] == pytest.approx(0.4, abs=0.03)
    least = firstlight.optimise(Bowl(), {"y": (0.0, 0.8)}, "path", at={"time": 5}, maximise=True)
    assert least.best["y"] in (0.0, pytest.approx(0.8))


def test_choices_alone():
    found = firstlight.optimise(Bowl(), {"kind": ["plain", "good"], "n": [2, 5]}, "f", check=True)
    assert found.best == {"kind": "good", "n": 5}
    assert found.converged
    assert (found.flat, found.border, found.checked.verdict) == ({}, (), "holds")
    assert found.curves["kind"].values.tolist() == [found.value + 0.5, found.value]


def test_bounds_of_small_types_are_numbers_like_others():
    """Differences of NumPy's small integers wrap around, and float32 knows no bound of 1e300."""
    for low, high in ((np.int8(-100), np.int8(100)), (np.float32(0.5), np.float32(40.0))):
        found = firstlight.optimise(Bowl(x=3.0, y=0.4, kind="good"), {"n": (low, high)}, "f")
        assert found.best["n"] == pytest.approx(6, abs=0.1)


def test_borders_and_refusals_are_told():
    optimum = firstlight.optimise(Bowl(), {"x": (5.0, 100.0)}, "f")
    assert optimum.best["x"] == 5.0
    assert optimum.border == ("x",)
    assert "on the border of x" in str(optimum)
    some = firstlight.optimise(Bowl(), {"y": (0.0, 2.0)}, "f")
    assert some.best["y"] == pytest.approx(0.4, abs=0.01)
    assert "must be at most 0.9" in some.refused
    assert np.isnan(some.curves["y"].values[-1])


@pytest.mark.parametrize("limit", np.exp(np.random.default_rng(5).uniform(np.log(0.6), np.log(9), 12)))
def test_where_theory_stops_is_a_border(limit):
    optimum = firstlight.optimise(Bowl(known_to=limit), {"x": (0.2, 40.0)}, "f")
    best = min(limit, 3.0)
    assert optimum.best["x"] == pytest.approx(best, rel=0.03)  # 60 evaluations beside a wall
    flat = 3 * np.exp(np.sqrt(0.05 * Bowl(x=3.0)._value(3.0)))  # where f is 5 % worse than at 3
    assert (optimum.border == ("x",)) == (limit < flat)
    assert ("must be at most" in str(optimum)) == (limit < 40)


def test_the_check_looks_beyond_where_theory_stops(monkeypatch):
    monkeypatch.setattr(Bowl, "wrong", -0.8)  # simulations have their optimum at 3 e^0.8 = 6.7
    stopped = firstlight.optimise(Bowl(known_to=3.2), {"x": (0.2, 40.0)}, "f", check=True)
    assert stopped.checked.verdict != "holds"
    assert max(float(e.label.split(" = ")[1].split(",")[0]) for e in stopped.checked.estimates) > 3.2


def test_a_refusal_of_networks_beyond_theory_costs_no_result(monkeypatch):
    simulate = Bowl.simulate

    def refused(self, rng=None):
        if self.x > 3.3:
            raise ValueError(f"x = {self.x}: diverges")
        return simulate(self, rng)

    monkeypatch.setattr(Bowl, "simulate", refused)
    found = firstlight.optimise(Bowl(known_to=3.2), {"x": (0.2, 40.0)}, "f", check=True)
    assert found.checked.verdict == "holds"
    assert "not checked there: x = " in found.refused


@pytest.mark.parametrize(("bounds", "border"), [((6, 4000), ("n",)), ((4, 9000), ())])
def test_only_an_end_is_a_border_of_integers(bounds, border):
    found = firstlight.optimise(Bowl(x=3.0, y=0.4, kind="good"), {"n": bounds}, "f")
    assert found.best == {"n": 6}
    assert found.border == border


def test_the_check_can_fail(monkeypatch):
    good = firstlight.optimise(Bowl(), {"x": (0.1, 100.0)}, "f", check=True)
    assert good.checked.verdict == "holds"
    monkeypatch.setattr(Bowl, "wrong", 1.0)  # simulations have their optimum at 3/e
    bad = firstlight.optimise(Bowl(), {"x": (0.1, 100.0)}, "f", check=True)
    assert bad.checked.verdict in ("holds in part", "does not hold")
    ridge = firstlight.optimise(
        Ridge(dimension=60, samples=90, noise=1.0), {"ridge": (1e-3, 100.0)}, check=True, trials=60
    )
    assert ridge.checked.verdict == "holds"


@dataclass(frozen=True)
class Valley:
    """A made-up theory: 1 + (v - v0)ᵀ A (v - v0) in some of three numbers, narrow and askew."""

    a: float = 0.0
    b: float = 0.0
    c: float = 0.0
    seed: int = 0
    size: int = 2
    reach: float = 1.0

    theory: ClassVar[str] = "valley"
    version: ClassVar[int] = 1

    def predict(self, rng=0):
        return xr.Dataset({"f": float(self.at(np.array([self.a, self.b, self.c])[: self.size]))})

    def at(self, v):
        r, k = np.random.default_rng([8, self.seed]), self.size
        A = r.normal(size=(k, k))
        A = A @ A.T + 0.02 * np.eye(k)
        off = v - self.reach * r.uniform(-0.1, 1.1, k)
        return 1 + np.einsum("...i,ij,...j->...", off, A, off)


@pytest.mark.parametrize(("kinds", "most"), [("ii", 40), ("in", 12), ("iii", 14)])
def test_integers_in_narrow_valleys_against_all_of_them(kinds, most):
    """Optima were said to be settled where a neighbour was better with the others moved: 6.2 for 1.1."""
    right = []
    for seed in range(20):
        problem = Valley(seed=seed, size=len(kinds), reach=most)
        low = {"i": 1, "n": 1.0}
        over = {name: (low[kind], low[kind] * most) for name, kind in zip("abc", kinds, strict=False)}
        every = [np.arange(1, most + 1.0) if kind == "i" else np.linspace(1, most, 4001) for kind in kinds]
        least = problem.at(np.stack(np.meshgrid(*every, indexing="ij"), -1)).min()
        right.append(
            firstlight.optimise(problem, over, "f").value <= 1.002 * least
        )  # of the simplex, the grid
    assert np.mean(right) >= 0.9  # of three integers: what two steps at once lead to


@pytest.mark.parametrize("share", np.random.default_rng(6).uniform(0.96, 1.04, 16))
def test_an_optimum_beside_a_border_is_found(share):
    """A simplex cut off at a border is flat: it stayed there, and said that the optimum may lie beyond."""
    for low, high in ((3.0 - share, 3.0 + (1 - share)), (2.0 + share, 3.0 + share)):
        found = firstlight.optimise(Bowl(), {"y": (low - 2.6, high - 2.6)}, "f")  # best at 0.4
        inside = low < 3.0 < high
        assert found.best["y"] == pytest.approx(min(max(0.4, low - 2.6), high - 2.6), abs=2e-3)
        assert (found.border == ("y",)) == (not inside or min(3.0 - low, high - 3.0) < 2e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: firstlight.optimise(Bowl(), {}), "over = {}: must name one to three variables"),
        (lambda: firstlight.optimise(Bowl(), {"z": (0, 1)}, "f"), "over 'z': unknown"),
        (lambda: firstlight.optimise(Bowl(), {"x": (2.0, 1.0)}, "f"), r"over\['x'\] = \(2.0, 1.0\)"),
        (lambda: firstlight.optimise(Bowl(), {"x": ["a"]}, "f"), r"over\['x'\]"),
        (lambda: firstlight.optimise(Bowl(), {"x": (1.0, 2.0)}), "objective = 'test_error': not predicted"),
        (lambda: firstlight.optimise(Bowl(), {"x": (1.0, 2.0)}, "path"), "path depends on time"),
        (lambda: firstlight.optimise(Bowl(), {"x": (1.0, 2.0)}, "path", at={"time": 3}), "path is known at"),
        (lambda: firstlight.optimise(Bowl(), {"y": (1.0, 2.0)}, "f"), "nowhere on the grid.*at most 0.9"),
        (lambda: firstlight.optimise(3, {"y": (1.0, 2.0)}, "f"), "problem = 3"),
        (lambda: firstlight.optimise(Bowl(), {"n": (1, 10**400)}, "f"), r"over\['n'\] = .* at most 1e\+300"),
        (lambda: firstlight.optimise(Bowl(), {"x": (-1.7e308, 1.7e308)}, "f"), r"over\['x'\] = .* at most"),
        (lambda: firstlight.optimise(Bowl(), {"kind": [{}, {"a": 1}]}, "f"), r"over\['kind'\] = .* hold"),
        (
            lambda: firstlight.optimise(Bowl(), {"x": (1.0, 2.0)}, "path", at={"tiem": 5}),
            "at, for path 'tiem': unknown, did you mean 'time'",
        ),
    ],
)
def test_bad_questions(call, message):
    with pytest.raises(ValueError, match=message):
        call()
