"""Results draw themselves: on axes given or new, theory as lines and experiment as points."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import firstlight
from firstlight import one_step, phase_transition, unseen_classes
from firstlight.data.unseen import image_classes
from firstlight.demo import Exponential


@pytest.fixture
def ax():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_comparison_of_numbers(ax):
    comparison = firstlight.compare(Exponential(rate=2.0), trials=8, rng=0)
    assert comparison.plot(ax) is ax
    assert labels(ax) == ["theory", "experiment"]
    assert ax.lines[0].get_ydata().tolist() == [0.5]
    bars = ax.containers[0]
    assert bars.lines[0].get_ydata().tolist() == [float(comparison.mean_mean)]
    (low, high) = bars.lines[2][0].get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(float(comparison.mean_sem))
    assert comparison.plot(observable="variance", ax=Figure().subplots()).get_ylabel() == "variance"
    with pytest.raises(ValueError, match="observable = 'mode': must be one of mean, variance"):
        comparison.plot(ax, observable="mode")


def test_a_comparison_by_class_and_what_is_kept(ax):
    problem = one_step.Problem.scaled(30, 20, 20, alpha=0.5, beta=0.7)
    comparison = firstlight.compare(problem, trials=2, rng=0)
    assert type(comparison.isel(trial=0)) is type(comparison)
    assert comparison.attrs["seed"] == 0
    assert comparison.plot(ax, observable="test_error_by_class").get_xlabel() == "class"
    assert comparison.plot(Figure().subplots()).get_ylabel() == "test error"  # not the first, train_error


def test_new_axes_are_made():
    with mpl.rc_context({"backend": "agg"}):
        from matplotlib import pyplot as plt

        made = firstlight.compare(Exponential(), trials=2, rng=0).plot()
        assert made.figure.get_axes() == [made]
        plt.close(made.figure)


def test_a_spectrum_and_a_path(ax):
    target = firstlight.MultiIndex("sign(abs(z1) - 1.482)")
    student = phase_transition.Student("tanh_squared", [1.0], 0.8)
    spectrum = phase_transition.hessian_spectrum(target, student, 7.6)
    assert spectrum.plot(ax) is ax
    x, density = ax.lines[0].get_data()
    assert np.trapezoid(density, x) == pytest.approx(1, abs=0.05)  # 400 points; the edges are smoothed
    assert labels(ax) == ["bulk", "outlier, hard directions", "outlier, other directions"]
    path = phase_transition.dmft(target, student, 3.0, 0.1, 2)
    drawn = path.plot(Figure().subplots())
    assert drawn.lines[1].get_ydata().tolist() == path.test_loss.tolist()


def test_an_analysis(ax):
    data = image_classes(np.random.default_rng(0), "digits", [3, 8], 8)
    analysis = unseen_classes.analyse(data, unseen_classes.Step())
    assert analysis.plot(ax) is ax
    assert {text.get_text() for text in ax.texts} == {str(name) for name in analysis["class"].values}
    assert labels(ax) == ["before", "after the step"]
