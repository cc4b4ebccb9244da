import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from firstlight.one_step import OneStepClassifier, OneStepRegressor


@pytest.mark.parametrize("estimator", [OneStepRegressor(), OneStepClassifier()])
def test_scikit_learn_accepts_them(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns about the checks that it skips
        check_estimator(estimator)


def test_pipeline_and_grid_search():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    y = np.array(["a", "b", "c"])[np.clip(np.floor(x[:, 0] + 1.5), 0, 2).astype(int)]
    model = make_pipeline(StandardScaler(), OneStepClassifier(width=80, random_state=0))
    grid = {"onestepclassifier__ridge": [1e-4, 10.0], "onestepclassifier__step_size": [0.0, 6.0]}
    search = GridSearchCV(model, grid, cv=3).fit(x, y)
    assert search.best_params_["onestepclassifier__ridge"] == 1e-4
    assert search.best_score_ > 0.7  # chance is 0.38, the largest class
    assert search.decision_function(x).shape == (300, 3)


def test_a_long_step_learns_a_direction():
    # one relevant direction among 50: without the step the read-out must find it among random features
    rng = np.random.default_rng(1)
    x, fresh = rng.normal(size=(1000, 50)), rng.normal(size=(1000, 50))
    y, truth = np.tanh(2 * x[:, 0]), np.tanh(2 * fresh[:, 0])
    scores = [
        OneStepRegressor(width=100, step_size=eta, ridge=1e-2, random_state=0).fit(x, y).score(fresh, truth)
        for eta in (0.0, 100.0)
    ]
    assert scores[1] > scores[0] + 0.1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("width", 0),
        ("width", 2.5),
        ("width", True),
        ("ridge", -1.0),
        ("step_size", np.inf),
        ("gradient_fraction", 1.0),
    ],
)
def test_bad_parameters_are_refused(field, value):
    x, y = np.eye(4), np.arange(4.0)
    with pytest.raises(ValueError, match=field):
        OneStepRegressor(**{field: value}).fit(x, y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="class"):
        OneStepClassifier().fit(np.eye(3), np.ones(3))


def test_units_do_not_matter():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 8))
    y = np.maximum(x[:, 0], 0)
    plain = OneStepRegressor(step_size=8.0, random_state=0).fit(x, y).predict(x)
    other = (
        OneStepRegressor(step_size=8.0, random_state=0).fit(1e6 * x + 5, 1e-3 * y - 2).predict(1e6 * x + 5)
    )
    np.testing.assert_allclose((other + 2) * 1e3, plain, atol=1e-6)


def test_one_feature_three_named_classes_and_no_sparse_input():
    x = np.linspace(-1, 1, 200)[:, None]
    y = np.array(["low", "mid", "high"])[np.digitize(x[:, 0], [-0.4, 0.4])]
    model = OneStepClassifier(random_state=0).fit(x, y)
    assert set(model.predict(x)) == {"low", "mid", "high"}
    assert model.score(x, y) > 0.6  # ReLUs of one centred input can only bend at its mean
    with pytest.raises(TypeError, match="dense"):
        model.fit(sparse.csr_array(x), y)


def test_constant_inputs_and_extreme_units():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    constant = OneStepRegressor(random_state=0).fit(np.full((200, 3), 0.1), y)
    # what is left of 0.1 after its mean is taken is rounding, and no scale
    np.testing.assert_allclose(constant.predict([[0, 0, 0], [0.1, 0.1, 0.1]]), y.mean(), rtol=1e-6)
    expected = OneStepRegressor(random_state=0).fit(x, y).predict(x)
    for size in (1e200, 1e-200):
        predicted = OneStepRegressor(random_state=0).fit(size * x, y).predict(size * x)
        np.testing.assert_allclose(predicted, expected, rtol=1e-6)
