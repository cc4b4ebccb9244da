"""Figures, tables, chapters and exports of studies."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from tiny import Tiny

from firstlight.maths.rng import generator
from firstlight.show import interactive
from firstlight.show.browser import panels, plain_label
from firstlight.show.chapter import chapter
from firstlight.show.figures import figure
from firstlight.show.measured import measured
from firstlight.show.pictures import Mark, Picture, Trace
from firstlight.show.save import save
from firstlight.show.summary import export, summarise, table, tidy, verdict
from firstlight.study import registry
from firstlight.study.run import run
from firstlight.study.spec import Arm, FigureSpec, Refine
from firstlight.study.sweep import Study

ARMS = {"experiment": Arm("simulate"), "theory": Arm("predict", {"bad_at": 2.0})}
BASE = {"name": "tiny/x", "description": "x", "problem": Tiny, "trials": 4, "arms": ARMS}
RATES = [1.0, 1.5, 2.0, 2.5, 3.0]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.sqlite"


def made(path, **changes):
    study = Study(**{**BASE, "axes": {"rate": RATES}, "observables": ["mean"], **changes})
    return study, run(study, path, workers=0)


def lines(ax):
    drawn = [line for line in ax.lines if line.get_linestyle().lower() != "none"]
    return [line for line in drawn if len(line.get_xdata())]


def test_a_logarithmic_axis_leaves_out_what_is_not_positive():
    lines = [Trace(name="theory", x=[-1.0, 0.0, 1.0, 10.0], y=[1.0, 2.0, 3.0, 4.0])]
    drawn = interactive.figure(
        Picture(x="t", y="loss", traces=lines, marks=[Mark(x=2.0, label="here")], log_x=True)
    )
    assert min(drawn["layout"]["xaxis"]["tickvals"]) > 0
    assert drawn["layout"]["annotations"][0]["xanchor"] == "left"


def test_theory_is_a_line_with_a_gap_and_experiment_is_points(path):
    study, results = made(path)
    ax = figure(study, results).axes[0]
    (theory,) = lines(ax)
    np.testing.assert_array_equal(theory.get_ydata(), [1, 1 / 1.5, np.nan, 0.4, 1 / 3])
    (bars,) = ax.containers
    np.testing.assert_array_equal(bars[0].get_ydata(), results["mean"].sel(arm="experiment").mean("trial"))
    ends = bars[2][0].get_segments()
    sem = results["mean"].sel(arm="experiment").std("trial", ddof=1) / 2
    # The bar's ends are mean ± s.e.m.; they are recomputed here by another route, so rounding remains.
    np.testing.assert_allclose([end[1, 1] - end[0, 1] for end in ends], 2 * sem, rtol=1e-12)


@pytest.mark.parametrize("trials", [1, 2])
def test_the_error_of_a_single_trial_is_unknown_and_not_zero(path, trials):
    study, results = made(path, trials=trials)
    points = measured(results, "experiment", "mean", "rate", name="trials")
    browser = [one for one in panels(study, results)[0]["data"] if "error_y" in one]
    for drawn in (interactive.trace(points), *browser):
        assert [error is None for error in drawn["error_y"]["array"]] == [trials == 1] * len(RATES)
    (bars,) = figure(study, results).axes[0].containers
    lengths = [np.ptp(ends[:, 1]) for ends in bars[2][0].get_segments() if len(ends)]
    assert len(lengths) == (trials > 1) * len(RATES)
    assert min(lengths, default=1) > 0


def test_a_converged_point_between_two_gaps_stays_visible(path):
    arms = {"theory": Arm("predict", {"bad_at": 2.0})}
    study, results = made(path, axes={"rate": [2.0, 1.0]}, arms=arms, trials=1)
    marks = [line for line in figure(study, results).axes[0].lines if line.get_marker() == "_"]
    assert marks[0].get_xdata().tolist() == [1.0]


def test_panels_colours_words_and_maps(path):
    grid = {"rate": RATES, "samples": [10, 20]}
    study, results = made(path, axes=grid, figure=FigureSpec(hue="samples", log_x=True, log_y=True))
    drawn = figure(study, results)
    assert len(lines(drawn.axes[0])) == 2
    assert drawn.axes[0].get_xscale() == "log"
    assert "samples = 20" in [text.get_text() for text in drawn.legends[0].get_texts()]
    study, results = made(path, axes=grid, figure=FigureSpec(panels="samples"))
    assert [ax.get_title() for ax in figure(study, results).axes] == ["samples = 10", "samples = 20"]
    study, results = made(path, axes=grid, figure=FigureSpec(y="samples", log_y=True))
    drawn = figure(study, results)
    assert len(drawn.axes) == 3  # two maps and their colour bar
    assert np.ma.getmaskarray(drawn.axes[1].collections[0].get_array()).sum() == 2  # theory's gap
    study, results = made(path, observables=["mean", "variance"])
    assert len(figure(study, results).axes) == 2


class Named(Tiny):
    def __init__(self, kind):
        super().__init__(rate={"slow": 1.0, "fast": 3.0}[kind])


def by_kind(kind):
    return Named(kind)


def test_no_label_of_a_study_shows_tex_in_a_browser():
    labels = {name for study in registry.studies().values() for name in study.figure.labels.values()}
    titles = {study.figure.title for study in registry.studies().values() if study.figure.title}
    assert len(labels) > 50
    assert [one for one in labels | titles if set(plain_label(one)) & set("\\\\{}$&")] == []
    said = {
        r"$\sqrt{n + d}$": "√(n + d)",
        r"$a \cdot b \to \infty$": "a · b → ∞",
        r"$\mathrm{tr}\,\Sigma$": "tr Σ",
        r"$\log d$": "log d",
    }
    assert {tex: plain_label(tex) for tex in said} == said


def test_words_on_the_axis(path):
    study, results = made(path, problem=by_kind, axes={"kind": ["slow", "fast"]})
    ax = figure(study, results).axes[0]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["slow", "fast"]


def draw_specially(study, result):
    from firstlight.show import style

    return style.new(1, 4)


def test_a_study_may_bring_its_own_picture(path, monkeypatch):
    import firstlight.show.figures as module

    monkeypatch.setattr(module, "draw_specially", draw_specially, raising=False)
    study, results = made(path, figure=FigureSpec(draw="firstlight.show.figures:draw_specially"))
    assert len(figure(study, results).axes) == 4


def test_a_refined_study_draws_only_what_it_visited(path):
    rule = Refine("rate", "mean", "theory", budget=2)
    arms = {"theory": Arm("predict"), "experiment": Arm("simulate")}
    study, results = made(path, axes={"rate": [1.0, 2.0], "samples": [5, 6]}, refine=rule, arms=arms)
    assert not np.isnan(lines(figure(study, results).axes[0])[0].get_ydata()).any()


def test_files(path, tmp_path):
    study, results = made(path)
    paths = save(study, results, tmp_path / "figures")
    assert [file.suffix for file in paths] == [".png", ".svg", ".pdf", ".csv"]
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {file.name for file in paths}
    heads = [b"\x89PNG", b"<?xml", b"%PDF"]
    assert [file.read_bytes()[: len(head)] for file, head in zip(paths, heads, strict=False)] == heads
    again = save(study, results, tmp_path / "again")
    assert [file.read_bytes() for file in paths[1:]] == [file.read_bytes() for file in again[1:]]
    frame = pd.read_csv(paths[3])
    assert frame["rate"].tolist() == RATES
    assert frame["experiment_verdict"][2] == "no prediction"


def test_tables_and_verdicts(path):
    study, results = made(path, axes={"rate": RATES, "samples": [100_000]})
    frame = table(study, results)
    assert list(frame.columns) == [
        "observable", "rate", "samples", "experiment", "experiment_sem", "theory", "experiment_gap",
        "experiment_verdict",
    ]  # fmt: skip
    assert frame["experiment_verdict"].tolist() == ["agrees", "agrees", "no prediction", "agrees", "agrees"]
    assert verdict(study, results) == (
        "mean: experiment agrees at 4 of 4 points (no prediction at 1); tolerance 5%"
    )
    both, results = made(path, axes={"rate": [1.0], "samples": [8]}, observables=["mean", "variance"],
                       judged=["variance"], absolute=0.5, trials=500)  # fmt: skip
    # Theory gives 1 where the mean of samples of 8 is 7/8: within 5 % + 0.5, and "mean" is not spoken of.
    assert verdict(both, results) == "variance: experiment agrees at 1 of 1 points; tolerance 5% + 0.5"
    alone, results = made(path, arms={"experiment": Arm("simulate")})
    assert verdict(alone, results) == "no theory to compare with"
    assert "experiment_gap" not in table(alone, results)


class Averaged(Tiny):
    """Thirty samples a trial, for the price of one."""

    def simulate(self, rng=None, shift=0.0):
        draws = generator(rng).exponential(1 / self.rate, (30, self.samples))
        return xr.Dataset({"mean": draws.mean() + shift, "variance": draws.var(axis=1).mean()})


def test_where_a_number_belongs_stands_before_it_whatever_arms_are_called(path):
    """Gaps of arms with an underscore, and to a second arm, stood before the means."""
    arms = {"slow_trials": Arm("simulate", against=("fair_coin",)), "theory": Arm("predict"),
            "fair_coin": Arm("simulate")}  # fmt: skip
    study, results = made(path, arms=arms, observables=["mean", "variance"])
    columns = list(table(study, results).columns)
    assert columns[:4] == ["observable", "rate", "slow_trials", "slow_trials_sem"]
    assert columns.index("slow_trials_gap") < columns.index("slow_trials by fair_coin_gap")
    assert columns.index("theory") < columns.index("slow_trials_gap")


def test_the_gap_along_a_size_axis_gets_a_rate(path):
    # The variance with divisor n falls short by 1/n, at every rate; the error bar is the fit's own.
    study, results = made(
        path, axes={"rate": [1.0, 2.0], "samples": [4, 8, 16]}, observables=["variance"], size_axis="samples",
        problem=Averaged, trials=60, arms={"experiment": Arm("simulate"), "theory": Arm("predict")},
    )  # fmt: skip
    slope, _, sem = verdict(study, results).split("size^(")[1].partition(")")[0].split()
    assert abs(float(slope) + 1) < 3 * float(sem) < 1.2
    # The mean is right at every size: its scatter shrinks too, but that is noise and no gap.
    rates = [0.5 + 0.1 * i for i in range(64)]
    noise, results = made(
        path, axes={"rate": rates, "samples": [4, 16]}, size_axis="samples", trials=10,
        arms={"experiment": Arm("simulate"), "theory": Arm("predict")},
    )  # fmt: skip
    assert "no rate" in verdict(noise, results)


class Paired(Tiny):
    def predict(self, rng=None, **options):
        return self.simulate(rng) * 1.0


def test_a_theory_with_trials_is_compared_pairwise(path):
    arms = {"experiment": Arm("simulate"), "theory": Arm("predict", paired=True)}
    study, results = made(path, problem=Paired, arms=arms)
    assert (summarise(study, results)["mean_gap"] == 0).all()
    assert set(np.unique(summarise(study, results)["mean_verdict"])) == {"agrees"}


def test_chapters(path):
    study, _ = made(path)
    page = chapter(study, "quick", path, workers=0)
    assert page.title == "tiny/x"
    assert page.assumptions == ["holds: positive rate (rate = 1.0)"]
    assert page.verdict.startswith("mean: experiment undecided at 4 of 4 points (about ")
    assert page.command.startswith("firstlight.study.run")
    assert len(page.table) == 5
    assert page.figure.axes


@pytest.mark.parametrize("kind", ["nc", "parquet", "csv"])
def test_exports_hold_every_trial(path, tmp_path, kind):
    study, results = made(path, observables=["mean", "variance"])
    file = export(study, results, kind, tmp_path / f"x.{kind}")
    if kind == "nc":
        with xr.open_dataset(file) as back:
            np.testing.assert_array_equal(back["mean"], results["mean"])
            assert back.attrs["fingerprint"] == results.attrs["fingerprint"]
        return
    frame = pd.read_parquet(file) if kind == "parquet" else pd.read_csv(file)
    assert len(frame) == 2 * study.records
    pd.testing.assert_frame_equal(frame, tidy(study, results), check_dtype=False)
    if kind == "csv":
        assert json.loads(file.with_suffix(".json").read_text())["seed"] == 0


def test_provenance_never_takes_the_place_of_the_numbers(path, tmp_path):
    study, results = made(path)
    with pytest.raises(ValueError, match="provenance goes there"):
        export(study, results, "csv", tmp_path / "numbers.json")
    assert not (tmp_path / "numbers.json").exists()
    assert export(study, results, "parquet", tmp_path / "numbers.json").exists()


def test_an_unknown_format_is_refused(path, tmp_path):
    study, results = made(path)
    with pytest.raises(ValueError, match="format 'xlsx': unknown"):
        export(study, results, "xlsx", tmp_path / "x")


def test_nothing_to_draw(path):
    study, results = made(path, fixed={"broken_at": 1.0}, axes={"rate": [1.0]}, arms={"sim": Arm("simulate")})
    with pytest.raises(ValueError, match="nothing to draw"):
        figure(study, results)


def test_single_numbers_are_left_to_the_table(tmp_path):
    study = Study("tiny/x", "x", Tiny, axes={"rate": [1.0, 2.0]}, trials=2)
    results = run(study, tmp_path / "s.sqlite", workers=0)
    results["constant"] = results["mean"].isel(rate=0, drop=True)
    assert [ax.get_title() for ax in figure(study, results).axes if ax.get_visible()] == ["mean", "variance"]
    with pytest.raises(ValueError, match="observable constant has only"):
        figure(study, results.drop_vars(["mean", "variance"]))
