"""The theory's studies can be built, and its special pictures drawn."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import CliRunner

import firstlight
from firstlight.cli import app
from firstlight.data.separable import separable
from firstlight.early_alignment import Problem, align
from firstlight.early_alignment.figures import animate
from firstlight.show.figures import figure
from firstlight.study.registry import studies
from firstlight.study.run import run
from firstlight.study.sweep import Study

STUDIES = {name: study for name, study in studies().items() if name.startswith("early-alignment/")}


def test_the_studies_of_the_theory_are_there():
    expected = {"toy", "two-points", "time-vs-n", "time-vs-mu", "time-vs-scale", "loss-rate", "loss-bound",
                "low-rank", "mnist-0-1", "mnist-1-7", "mnist-3-8", "sgd", "first-layer-only",
                "needed-scale"}  # fmt: skip
    assert {name.split("/")[1] for name in STUDIES} == expected


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_every_point_builds_a_problem(name, scale):
    study = STUDIES[name].at(scale)
    for point in study.points():
        assert isinstance(study.build(point), Problem)


def test_the_study_of_scales_waits_for_the_last_neuron():
    study = STUDIES["early-alignment/time-vs-scale"]
    for trial in (0, 6):  # settled at 800 and 62 000
        problem = study.build({"log_scale": -1.0})
        simulated = problem.simulate(trial, **study.arms["flow"].options)
        assert float(simulated.fate_plus + simulated.fate_minus + simulated.fate_dead) == pytest.approx(1)
        assert 100 < float(simulated.alignment_time) < problem.horizon


def test_the_toy_s_picture_is_drawn_from_its_records(tmp_path):
    study = STUDIES["early-alignment/toy"]
    small = Study(
        **{
            field: getattr(study, field)
            for field in ("name", "description", "problem", "axes", "arms", "figure")
        },
        fixed={**study.fixed, "step_size": 2e-2, "horizon": 40.0, "observations": 11, "width": 12},
        trials=2,
    )
    results = run(small, store=tmp_path / "records.sqlite", workers=0)
    drawn = figure(small, results)
    assert len(drawn.axes) == 6
    drawn.savefig(tmp_path / "toy.png")
    assert np.asarray(Image.open(tmp_path / "toy.png")).std() > 10  # something is on it


def test_the_animation_moves(tmp_path):
    problem = Problem(
        data="toy", start="gaussian", reduction="mean", step_size=2e-2, horizon=40.0, observations=9
    )
    simulated = problem.simulate(0, method="descent", neurons=True)
    file = animate(tmp_path / "toy.gif", simulated, *problem.draw(0)[:2], frames=4)
    with Image.open(file) as picture:
        assert picture.n_frames == 4
    with pytest.raises(ValueError, match="neurons=True"):
        animate(file, simulated.drop_dims("coordinate"), *problem.draw(0)[:2])


def test_the_animation_by_command(tmp_path):
    file = tmp_path / "new" / "toy.gif"
    small = ["--width", "8", "--horizon", "2", "--frames", "3"]
    done = CliRunner().invoke(app, ["animate", str(file), *small])
    assert done.exit_code == 0, done.output
    with Image.open(file) as picture:
        assert picture.n_frames == 3
    for wrong, message in ((["toy.mp4"], "must end in .gif"), ([str(file), "--scale", "2"], "scale = 2")):
        with pytest.raises(ValueError, match=message):
            CliRunner().invoke(app, ["animate", *wrong], catch_exceptions=False)


def test_a_comparison_along_a_dimension():
    problem = Problem(samples=6, dimension=3, width=5, horizon=2.0)
    comparison = firstlight.compare(problem, trials=2, rng=0)
    ax = comparison.plot(Figure().subplots(), observable="cosine_plus")
    assert ax.get_xlabel() == "time"
    assert ax.lines[0].get_xdata().tolist() == comparison["time"].values.tolist()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), comparison.cosine_plus_predicted.mean("trial"))


def test_neurons_arrive():
    X, y = separable(10, 5, mu=0.2, rng=0)
    rng = np.random.default_rng(1)
    path = align(X, y, rng.normal(size=(12, 5)), rng.choice([-1, 1], size=12))
    ax = path.plot(Figure().subplots())
    arrived = sum(line.get_ydata()[-1] for line in ax.lines)
    assert arrived == np.isfinite(np.minimum(path.entry_time, path.death_time)).sum() > 0
