"""What a study is: grids, scales, arms; and everything it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from tiny import Tiny

from firstlight.study.registry import studies
from firstlight.study.spec import Arm, FigureSpec, Range, Refine, Scale
from firstlight.study.sweep import Study
from firstlight.study.trial import check

GRID = {"rate": [1.0, 2.0], "samples": [10, 20, 30]}


def make(**changes):
    return Study(**{"name": "tiny/x", "description": "x", "problem": Tiny, "axes": GRID, **changes})


def test_points_come_last_axis_first_and_by_number():
    study = make()
    points = list(study.points())
    assert points[:2] == [{"rate": 1.0, "samples": 10}, {"rate": 1.0, "samples": 20}]
    assert [study.point(i) for i in range(study.size)] == points
    assert study.records == 6 * (8 + 1)


def test_a_problem_is_found_by_its_address():
    assert make(problem="tiny:Tiny").build({"rate": 2.0, "samples": 5}) == Tiny(2.0, 5)


def test_numpy_axes_become_plain_numbers():
    study = make(axes={"rate": np.array([1.0, 2.0]), "samples": np.array([10, 20])})
    assert study.axes == {"rate": (1.0, 2.0), "samples": (10, 20)}
    assert type(study.axes["samples"][0]) is int


def test_scales_override():
    study = make(scales={"paper": Scale(trials=20, fixed={"sleep": 0.0}, axes={"samples": [500]})})
    paper, quick = study.at("paper"), study.at("quick")
    assert (paper.trials, paper.size, dict(paper.fixed)) == (20, 2, {"sleep": 0.0})
    assert (quick.trials, quick.size) == (8, 6)
    with pytest.raises(ValueError, match="scale 'papre': unknown, did you mean 'paper'"):
        study.at("papre")


def test_ranges_cost_nothing_until_read():
    huge = Range(0.0, 1.0, 10**9)
    assert len(huge) == 10**9
    assert huge[-1] == 1.0
    np.testing.assert_allclose(list(Range(2.0, 5.0, 4)), np.linspace(2, 5, 4), rtol=1e-15)
    np.testing.assert_allclose(Range(1.0, 8.0, 4, log=True)[0:4], [1, 2, 4, 8], rtol=1e-15)
    assert make(axes={"rate": huge}).size == 10**9


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"name": "Tiny"}, "name = 'Tiny'"),
        ({"description": "two\nlines"}, "description"),
        ({"problem": "nowhere"}, "problem = 'nowhere'"),
        ({"axes": {}}, "at least one axis"),
        ({"axes": {"rate": []}}, "axes.rate"),
        ({"axes": {"rate": "abc"}}, "axes.rate"),
        ({"axes": {"trial": [1]}}, "'trial' cannot name an axis"),
        ({"axes": {"rate": [1.0, 1.0]}}, "twice"),
        ({"axes": {"rate": [1.0, "a"]}}, "mix"),
        ({"axes": {"rate": [float("nan")]}}, "not NaN"),
        ({"axes": {"rate": [(1, 2)]}}, "axis value"),
        ({"fixed": {"rate": 1.0}}, "'rate' is an axis already"),
        ({"trials": 0}, "trials = 0"),
        ({"trials": True}, "trials = True"),
        ({"seed": -1}, "seed = -1"),
        ({"observables": "mean"}, "observables = 'mean'"),
        ({"tolerance": 0.0}, "tolerance = 0.0"),
        ({"arms": {}}, "at least one arm"),
        ({"arms": {"A b": Arm("simulate")}}, "'A b' cannot name an arm"),
        ({"arms": {"a": "simulate"}}, "must be an Arm"),
        ({"figure": FigureSpec(y="rtae")}, "figure.y 'rtae': unknown, did you mean 'rate'"),
        ({"refine": Refine("rtae", "mean", "theory", 3)}, "refine.axis 'rtae'"),
        ({"refine": Refine("rate", "mean", "theorie", 3)}, "refine.arm 'theorie'"),
        ({"size_axis": "size"}, "size_axis 'size'"),
        ({"scales": {"paper": Scale(axes={"sample": [1]})}}, "did you mean 'samples'"),
        ({"scales": {"paper": {"trials": 3}}}, "must be a Scale"),
    ],
)
def test_refusals(changes, match):
    with pytest.raises(ValueError, match=match):
        make(**changes)


@pytest.mark.parametrize(
    ("make_part", "match"),
    [
        (lambda: Arm("train"), "kind = 'train'"),
        (lambda: Arm("predict", trials=0), "trials = 0"),
        (lambda: Arm("predict", options=[1]), "options"),
        (lambda: Arm("predict", paired=1), "paired = 1"),
        (lambda: Arm("predict", paired=True, trials=3), "trials not given with it"),
        (lambda: Range(1.0, 1.0, 5), "must differ"),
        (lambda: Range(-1.0, 1.0, 5, log=True), "must be positive"),
        (lambda: Range(0.0, float("inf"), 5), "stop = inf"),
        (lambda: Refine("x", "y", "z", 0), "budget = 0"),
        (lambda: Scale(trials=0), "trials = 0"),
        (lambda: FigureSpec(draw="os.system"), "draw = 'os.system'"),
        (lambda: FigureSpec(log_x=1), "log_x = 1"),
    ],
)
def test_parts_refuse_too(make_part, match):
    with pytest.raises(ValueError, match=match):
        make_part()


def test_a_bad_point_is_named_before_anything_runs():
    with pytest.raises(
        ValueError, match=r"tiny/x at rate = -1.0, samples = 10: rate = -1.0: must be positive"
    ):
        check(make(axes={"rate": [1.0, -1.0], "samples": [10]}))
    with pytest.raises(ValueError, match=r"field '.+': unknown.*known: .*rate, samples"):
        check(make(fixed={"sampels": 3}))
    with pytest.raises(ValueError, match="has no 'theory'"):
        check(make(problem=dict))
    with pytest.raises(ValueError, match="No module named"):
        check(make(problem="no_such_module:Problem"))


def test_the_catalogue_is_consistent():
    for name, study in studies().items():
        assert study.name == name
        for scale in ("quick", *study.scales):
            study.at(scale)


def test_what_is_judged_must_be_kept():
    assert Study("tiny/x", "x", Tiny, axes={"rate": [1.0]}, observables=["mean"], judged=["mean"]).judged
    with pytest.raises(ValueError, match="judged 'variance': unknown"):
        Study("tiny/x", "x", Tiny, axes={"rate": [1.0]}, observables=["mean"], judged=["variance"])
    with pytest.raises(ValueError, match="absolute = -1"):
        Study("tiny/x", "x", Tiny, axes={"rate": [1.0]}, absolute=-1)


def test_an_absolute_tolerance_for_some_observables():
    study = Study("tiny/x", "x", Tiny, axes={"rate": [1.0]}, absolute={"variance": 0.5})
    assert (study.allowance("mean"), study.allowance("variance")) == (0.0, 0.5)
    assert replace(study, absolute=0.1).allowance("mean") == 0.1
    with pytest.raises(ValueError, match=r"absolute.mean = 'much'"):
        replace(study, absolute={"mean": "much"})
    with pytest.raises(ValueError, match="absolute 'median': unknown"):
        replace(study, observables=["mean"], absolute={"median": 0.1})
