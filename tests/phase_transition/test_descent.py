"""The matrix-free Hessian and the recorded descent, against what is written out."""

import numpy as np
import pytest

from firstlight import MultiIndex, activation
from firstlight.measure.hessian import EigenPairs, HessianOperator, extreme_eigenpairs, hessian_operator
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.experiment.descent import as_network, descend, hessian_of, orthogonal_start

TARGET = MultiIndex("sign(abs(z1) - 1.4820733)")


def small(name="square", m=3):
    rng = np.random.default_rng(0)
    drawn = TARGET.sample(120, 12, rng=rng)
    student = Student("gelu", (1.0, -0.7, 0.4)[:m], loss=name, ridge=0.2, offset=0.1)
    return student, drawn, orthogonal_start(12, m, 0.9, rng)


def risk(student, drawn, W):
    mean = student.penalty.value(drawn.y, as_network(student, W)(drawn.X)).mean()
    return mean + 0.5 * student.ridge * (W**2).sum()


def down(student, drawn, W):
    return as_network(student, W).gradient(drawn.X, drawn.y).first_layer


@pytest.mark.parametrize("name", ["square", "logistic"])
def test_the_gradient_and_the_hessian_against_differences(name):
    student, drawn, W = small(name)
    step, direction = 1e-5, np.random.default_rng(1).standard_normal(W.shape)
    ends = W + step * direction, W - step * direction
    slope = (risk(student, drawn, ends[0]) - risk(student, drawn, ends[1])) / (2 * step)
    # central differences: step² and rounding over the step
    assert (down(student, drawn, W) * direction).sum() == pytest.approx(slope, abs=1e-8)
    change = (down(student, drawn, ends[0]) - down(student, drawn, ends[1])) / (2 * step)
    H = hessian_of(student, as_network(student, W), drawn.X, drawn.y)
    np.testing.assert_allclose((H @ direction.ravel()).reshape(3, -1), change, atol=1e-8)


def test_eigenpairs_against_a_dense_solver():
    student, drawn, W = small()
    H = hessian_operator(drawn.X, drawn.y, W, student.a, student.sigma)
    dense = np.array([H @ row for row in np.eye(36)])
    np.testing.assert_allclose(dense, dense.T, atol=1e-14)
    exact, vectors = np.linalg.eigh(dense)
    low = extreme_eigenpairs(H, 3, 3)
    np.testing.assert_allclose(low.values, exact[:3], rtol=1e-6)
    np.testing.assert_allclose(extreme_eigenpairs(H, 3, 2, "right").values, exact[-2:], rtol=1e-6)
    single = hessian_operator(drawn.X.astype(np.float32), drawn.y, W, student.a, student.sigma)
    np.testing.assert_allclose(extreme_eigenpairs(single, 3, 3).values, exact[:3], rtol=1e-5)
    assert (low.residuals < 1e-3 * np.abs(low.values)).all()
    expected = (vectors[:, 0].reshape(3, 12) @ drawn.directions[:, 0]) ** 2
    np.testing.assert_allclose(low.overlap(drawn.directions)[0], expected, atol=1e-6)


def test_eigenvalues_have_the_units_of_the_curvature():
    """Also where single precision overflows (its range ends at 1e38) or has only zeros."""
    rng = np.random.default_rng(0)
    for scale in (1e-60, 1e-25, 1e-12, 1e12, 1e18, 1e20, 1e60):
        student, drawn, _ = small()
        W = rng.standard_normal((3, drawn.X.shape[1])) / drawn.X.shape[1] ** 0.5
        H = hessian_operator(drawn.X, drawn.y, W, student.a, student.sigma)
        scaled = HessianOperator(H.X, H.bow, scale * H.slope, scale**2 * H.bend, 0.0)
        for side in ("left", "right"):
            found, expected = (extreme_eigenpairs(one, 3, 3, side).values for one in (scaled, H))
            np.testing.assert_allclose(found / scale**2, expected, rtol=1e-6)  # as beside a dense solver


def test_the_lowest_pair_that_points_somewhere():
    axes = np.eye(5)
    vectors = np.array([axes[0], 0.8 * axes[1] + 0.6 * axes[0], axes[4]])[:, None]
    pairs = EigenPairs(np.array([-3.0, -2.0, -1.0]), vectors, np.zeros(3))
    known = 2 * axes[:, :1]  # of any length
    assert pairs.lowest_along(axes[:, 1:2], known) == pytest.approx((-2.0, 0.64))
    assert pairs.lowest_along(axes[:, 4:], known) == pytest.approx((-1.0, 1.0))
    # per dimension the second vector points at the three directions less (0.64/3) than at the known one
    assert pairs.lowest_along(axes[:, 1:4], known) == pytest.approx((-2.0, 0.64))  # so the most of all
    assert pairs.lowest_along(axes[:, :0], known) == (-3.0, 0.0)  # no hard direction


@pytest.mark.parametrize(("n", "d", "m"), [(1, 3, 1), (6, 5, 2), (67, 4, 3), (130, 9, 4)])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_products_of_any_size(n, d, m, precision):
    rng = np.random.default_rng(n)
    X, y, W, a = (
        rng.standard_normal((n, d)),
        rng.choice([-1.0, 1.0], n),
        rng.standard_normal((d, m)),
        np.ones(m),
    )
    H = hessian_operator(X.astype(precision), y, W.T, a, "tanh", ridge=0.3)
    slope = 1 - np.tanh(X @ W) ** 2
    gap = np.tanh(X @ W).sum(axis=1) - y
    expected = 0.3 * np.eye(m * d)
    for i in range(n):
        D = np.outer(slope[i], slope[i]) - np.diag(2 * gap[i] * slope[i] * np.tanh(X[i] @ W))
        expected += np.kron(D, np.outer(X[i], X[i])) / n
    # rounding of numbers of order one, times their size
    tolerance = 1e-12 if precision is np.float64 else 3e-6
    np.testing.assert_allclose(np.array([H @ row for row in np.eye(m * d)]), expected, atol=tolerance * d)
    np.testing.assert_allclose(H.dense(), expected, atol=tolerance * d)


def test_descent_records_holds_and_batches():
    student, drawn, W = small(m=1)
    data = (drawn.X, drawn.y)
    path = descend(student, data, data, W, drawn.directions, 0.2, 10, times=(0, 10), held=drawn.directions)
    assert path.times.tolist() == [0, 10]
    np.testing.assert_allclose(path.overlap, 0, atol=1e-14)
    free = descend(student, data, data, W, drawn.directions, 0.2, 3)
    expected = W
    for _ in range(3):
        expected = expected - 0.2 * down(student, drawn, expected)
    np.testing.assert_allclose(free.networks[-1].first_layer, expected)
    np.testing.assert_allclose(free.gram[-1], expected @ expected.T)
    assert free.train_loss[0] == pytest.approx(risk(student, drawn, W) - 0.1 * (W**2).sum())
    noisy = descend(student, data, data, W, drawn.directions, Training(0.2, batch=0.25), 3, rng=5)
    again = descend(student, data, data, W, drawn.directions, Training(0.2, batch=0.25), 3, rng=5)
    np.testing.assert_array_equal(noisy.networks[-1].first_layer, again.networks[-1].first_layer)
    assert not np.allclose(noisy.networks[-1].first_layer, free.networks[-1].first_layer)
    whole = descend(student, data, data, W, drawn.directions, Training(0.2, batch=1.0), 3, rng=5)
    np.testing.assert_allclose(whole.networks[-1].first_layer, free.networks[-1].first_layer)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: orthogonal_start(2, 3, 1.0), "width = 3"),
        (lambda: orthogonal_start(2, 0, 1.0), "width = 0"),
        (lambda: orthogonal_start(2, True, 1.0), "width = True"),
        (lambda: orthogonal_start(2.5, 1, 1.0), "dimension = 2.5"),
        (lambda: orthogonal_start(2, 1, np.nan), "scale = nan"),
        (lambda: orthogonal_start(2, 1, -1.0), "scale = -1.0"),
        (
            lambda: hessian_operator(np.ones((4, 2)), np.ones(4), np.ones((1, 3)), [1.0], "tanh"),
            "first_layer: shape",
        ),
        (lambda: small_operator(activation_="relu"), "kinks"),
        (lambda: small_operator(activation_=lambda z: np.maximum(z, 0)), "kinks"),
        (lambda: small_operator(activation_=lambda z: np.abs(z - 0.123)), "kinks"),
        (lambda: small_operator(X=np.full((4, 4), np.nan)), "X: 16 values"),
        (lambda: small_operator(X=1j * np.eye(4)), "X: of type complex128"),
        (lambda: small_operator(X=np.ones((0, 4)), y=[]), "X: shape"),
        (lambda: small_operator(y=[1.0, 1.0, 1.0, np.inf]), "y: holds NaN or infinity"),
        (lambda: small_operator(first_layer=np.full((1, 4), np.nan)), "first_layer"),
        (lambda: small_operator(second_layer=["a"]), "second_layer"),
        (lambda: small_operator(ridge=-1), "ridge = -1"),
        (lambda: small_operator(ridge=np.nan), "ridge = nan"),
        (lambda: small_operator(offset=np.nan), "offset = nan"),
        (lambda: small_operator(offset=True), "offset = True"),
        (lambda: extreme_eigenpairs(small_operator(), 1, 2, "top"), "side"),
        (lambda: extreme_eigenpairs(small_operator(), 1, 99), "count = 99"),
        (lambda: extreme_eigenpairs(small_operator(), 1, 1.5), "count = 1.5"),
        (lambda: extreme_eigenpairs(small_operator(), 3, 1), "neurons = 3: must divide"),
        (lambda: extreme_eigenpairs(small_operator(), 0, 1), "neurons = 0"),
        (lambda: extreme_eigenpairs(small_operator(), 1, 1, tolerance=np.nan), "tolerance = nan"),
        (lambda: run_small(step_size=-1.0), "step_size = -1.0"),
        (lambda: run_small(step_size=0.0), "step_size = 0.0: must be a number above 0"),
        (lambda: run_small(step_size="a"), "step_size = 'a'"),
        (lambda: run_small(step_size=1e9), "diverges"),
        (lambda: run_small(batch=0), "batch = 0"),
        (lambda: run_small(batch=1.5), "batch = 1.5"),
        (lambda: run_small(batch="a"), "batch = 'a'"),
        (
            lambda: run_small(batch=0.005),
            "batch = 0.005: must leave at least one of the 120 samples",
        ),
        (
            lambda: run_small(batch=0.3, batches="cyclic"),
            "batch = 0.3: must be 1 over a whole number",
        ),
        (lambda: run_small(batches="once"), "batches = 'once'"),
        (lambda: run_small(batch=0.5, batches="one_pass"), "supply = None: one pass needs"),
        (lambda: run_small(momentum=1.0), "momentum = 1.0"),
        (lambda: run_small(nesterov=1), "nesterov = 1"),
        (lambda: run_small(schedule="warm"), "schedule = 'warm'"),
        (lambda: run_small(schedule=(1.0, np.nan, 1.0)), "schedule = "),
        (lambda: run_small(schedule=(1.0, 0.0)), "schedule = "),
        (lambda: run_small(schedule=(1.0, 0.5)), "schedule = '2 factors': must have one for each of the 5"),
        (lambda: run_small(bias_step=-1.0), "bias_step = -1.0"),
        (lambda: run_small(steps=-1), "steps = -1"),
        (lambda: run_small(steps=2.0), "steps = 2.0"),
        *[
            (lambda times=times: run_small(times=times), "times = .*: must be integers in 0 .. 5")
            for times in [(), (99,), (-1,), (1.0,), (True,), 3, "ab"]
        ],
        (lambda: run_small(start=np.full((3, 12), np.nan)), "start: 36 values"),
        (lambda: run_small(start=np.ones((2, 12))), r"expected \(3, d\)"),
        (lambda: run_small(start=np.ones((3, 11))), r"expected \(3, d\), \(d, k\)"),
        (lambda: run_small(train=(np.ones((5, 11)), np.ones(5))), r"train: .* expected \(n, 12\), \(n,\)"),
        (lambda: run_small(test=(np.ones((5, 12)), np.ones(4))), "test: shapes"),
        (lambda: run_small(train=(np.ones((5, 12)), np.full(5, np.nan))), "train labels: 5 values"),
        (lambda: run_small(held=np.ones((12, 1))), "held: columns are not orthonormal"),
        (lambda: run_small(held=np.ones(12)), "held: shape"),
        (lambda: run_small(held=np.eye(5)), "held: shape"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_of_numpy_are_numbers():
    pairs = extreme_eigenpairs(small_operator(ridge=np.float32(0.5)), np.int64(1), np.int64(2))
    exact = np.linalg.eigvalsh(small_operator(ridge=0.5).dense())
    np.testing.assert_allclose(pairs.values, exact[:2], rtol=1e-6)
    path = run_small(
        step_size=np.float32(0.125), batch=np.float32(0.25), steps=np.int64(3), times=np.array([0, 3])
    )
    same = run_small(step_size=0.125, batch=0.25, steps=3, times=[0, 3])
    np.testing.assert_array_equal(path.networks[-1].first_layer, same.networks[-1].first_layer)


@pytest.mark.parametrize("name", ["softplus", "gelu", "linear", "He_4"])
def test_smooth_functions_of_ones_own_have_a_hessian(name):
    own = activation(lambda z: activation(name)(z))
    expected = small_operator(activation_=name).dense()
    # the accuracy of second derivatives by differences
    np.testing.assert_allclose(small_operator(activation_=own).dense(), expected, atol=1e-5)


def small_operator(**changed):
    fields = {"X": np.eye(4), "y": np.ones(4), "first_layer": np.ones((1, 4)), "second_layer": [1.0]}
    return hessian_operator(**{**fields, "activation_": "tanh", **changed})


def run_small(step_size=0.1, steps=5, **changed):
    student, drawn, W = small()
    data = (drawn.X, drawn.y)
    algorithm = {name: changed.pop(name) for name in [*changed] if name in Training.__dataclass_fields__}
    values = {"train": data, "test": data, "start": W, "directions": drawn.directions, "rng": 0, **changed}
    return descend(student, training=Training(step_size, **algorithm), steps=steps, **values)
