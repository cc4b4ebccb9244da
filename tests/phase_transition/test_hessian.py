"""The Hessian's bulk, edges and outliers: closed forms, a second program, and simulated matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize

from firstlight import MultiIndex
from firstlight.maths.losses import Loss
from firstlight.phase_transition import SpectrumProblem
from firstlight.phase_transition.definitions import Student
from firstlight.phase_transition.theory.dmft import held_path
from firstlight.phase_transition.theory.hessian import (
    empirical_law,
    hessian_spectrum,
    initial_law,
    spectrum_of,
)
from firstlight.phase_transition.theory.labels import label_law
from firstlight.phase_transition.theory.law import CurvatureLaw, visible
from firstlight.phase_transition.theory.resolvent import Bulk
from firstlight.phase_transition.theory.stacks import eliminate, entries_first, inverse

TARGET = MultiIndex("sign(abs(z1) - 1.4820733)")
ONE = Student("tanh_squared", 1.0, 0.8)
TWO = Student("tanh_squared", (1.0, 0.5), 0.3)
FOUR = Student("tanh_squared", (1.0, 0.5, 0.5, 1.0), 0.5)


def simulated_hessian(student, delta, d, rng):
    """The Hessian itself, formed block by block from data, and the hidden direction."""
    drawn = TARGET.sample(round(delta * d), d, rng=rng)
    rows = np.linalg.qr(rng.standard_normal((d, student.width)))[0] * student.init_scale
    h = drawn.X @ rows
    f = student.output(h)
    a, m = np.asarray(student.second_layer), student.width
    slope, bend = a * student.sigma.derivative(h), a * student.sigma.second_derivative(h)
    blocks = [
        [
            drawn.X.T
            @ ((slope[:, i] * slope[:, j] + (i == j) * (f - drawn.y) * bend[:, i])[:, None] * drawn.X)
            for j in range(m)
        ]
        for i in range(m)
    ]
    return np.block(blocks) / len(drawn.y), drawn.directions[:, 0]


def test_marchenko_pastur():
    bulk = Bulk(np.ones((1, 1, 1)), np.ones(1), 4.0)
    assert bulk.left_edge().value == pytest.approx(0.25, abs=1e-9)
    assert bulk.mirrored.left_edge().value == pytest.approx(-2.25, abs=1e-9)
    x = np.linspace(0.4, 2.1, 6)
    exact = np.sqrt((2.25 - x) * (x - 0.25)) / (2 * np.pi * 0.25 * x)
    # smoothing over 1e-5 of the bulk's size
    np.testing.assert_allclose(bulk.density(x, width=1e-5), exact, rtol=1e-3)
    kernel = Bulk(np.ones((1, 1, 1)), np.ones(1), 0.5).left_edge()  # fewer samples than dimensions
    assert kernel.value == 0.0
    assert kernel.pinned


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_stacks_of_small_matrices(m):
    rng = np.random.default_rng(m)
    half = rng.standard_normal((50, m, m))
    positive = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(m)
    for stack in (positive, half + half.transpose(0, 2, 1) + 1j * positive):
        # rounding, times a condition number below 1e4
        np.testing.assert_allclose(inverse(stack), np.linalg.inv(stack), rtol=1e-9, atol=1e-10)
    smallest = np.linalg.eigvalsh(positive).min()
    assert eliminate(entries_first(positive - 0.99 * smallest * np.eye(m)))
    assert not eliminate(entries_first(positive - 1.01 * smallest * np.eye(m)))
    with pytest.raises(ValueError, match="positive definite"):
        inverse(-positive)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_moments_of_the_resolvent_equation(m):
    rng = np.random.default_rng(m)
    half, weight = rng.standard_normal((40, m, m)), rng.dirichlet(np.ones(40))
    bulk = Bulk(half + half.transpose(0, 2, 1), weight, 2.5)
    P = 4 * np.eye(m) + 0.1 * np.ones((m, m))
    for at in (P, P + 1j * np.eye(m)):
        mean, memory = bulk.moments(at)
        A, B = bulk.shrink(at)  # node by node
        np.testing.assert_allclose(mean, np.tensordot(weight, B, 1), rtol=1e-11, atol=1e-12)
        X = rng.standard_normal((m, m))
        slow = 2.5 * np.einsum("n,nab,ac,ncd->bd", weight, A, X, A)
        np.testing.assert_allclose((memory @ X.ravel()).reshape(m, m), slow, rtol=1e-11, atol=1e-12)
        step = 1e-5 * (X + X.T)  # and the memory is the mean's derivative; its curvature is of order 1
        change = bulk.moments(at + step)[0] - bulk.moments(at - step)[0]
        np.testing.assert_allclose(change.ravel() / 2, memory @ step.ravel(), atol=1e-12)
    assert bulk.moments(-P) is None


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("step", [0, 4, 32])
def test_the_edge_is_where_the_slack_ends_and_no_earlier(step, sign):
    # rare negative curvatures of three neurons: a long step of the search leaves the branch with slack left
    student = Student("tanh_squared", (1.0, -0.7, 0.3), 0.7)
    law = held_path(label_law(TARGET), student, 1.8, 0.1, 32, 1 << 11, 0, (step,)).law(0, known=False)
    bulk = Bulk(sign * law.D, law.weight, 1.8)
    edge = bulk.left_edge()
    assert abs(edge.point.slack) < 1e-6
    for p in edge.point.p * np.array([0.98, 1.02]):  # the edge is the largest z of the branch
        point = bulk.follow(float(p), edge.point.P)
        assert point is None or point.z < edge.value


@pytest.mark.parametrize("seed", range(4))
def test_the_edge_of_another_law_is_only_a_start(seed):
    rng = np.random.default_rng(seed)
    m = 1 + seed % 3
    raw = rng.standard_normal((2, 500, m, m))
    laws = [Bulk(part + part.mT, np.full(500, 1 / 500), float(rng.uniform(1, 4))) for part in raw]
    known = laws[0].left_edge().point
    for start in (known, known._replace(p=0.1 * known.p), known._replace(p=30 * known.p)):
        assert laws[1].left_edge(start).value == pytest.approx(laws[1].left_edge().value, rel=1e-9)


def test_the_mean_of_the_density():
    law, student = MultiIndex("cos(2*z1)"), Student("cos", 1.0, 0.7, offset=0.2)
    spectrum = hessian_spectrum(law, student, 6.0)
    x = np.linspace(spectrum.left_edge - 0.5, spectrum.right_edge + 0.5, 200)
    density = spectrum.density(x, width=2e-3)
    z, h = np.random.default_rng(0).standard_normal((2, 200_000, 1))
    # the smoothing's tails beyond the grid; plain draws err by 0.003
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=0.02)
    mean = student.curvature(law.law(z), student.init_scale * h).mean()  # of tr H, over the dimensions
    assert np.trapezoid(x * density, x) == pytest.approx(mean, abs=0.02)


@pytest.mark.parametrize(("student", "delta"), [(ONE, 7.606), (TWO, 0.858), (TWO, 1.963)])
def test_edge_against_the_concave_program(student, delta):
    law = initial_law(TARGET, student, 2048)
    bulk = Bulk(law.D, law.weight, delta)
    edge = bulk.left_edge()
    index = np.triu_indices(student.width)

    def lowest(entries):
        P = np.zeros((student.width, student.width))
        P[index] = entries
        P = P + P.T - np.diag(np.diag(P))
        if bulk.moments(P) is None:
            return 1e3
        K = np.linalg.inv(P + law.D / delta)
        value = (delta - 1) * P - delta * np.tensordot(law.weight, P @ K @ P, 1)
        return -np.linalg.eigvalsh(value)[0]

    start = (1.1 * edge.point.P)[index]
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    best = minimize(lowest, start, method="Nelder-Mead", options=options)
    assert edge.value == pytest.approx(-best.fun, abs=1e-6)


@pytest.mark.parametrize(
    ("student", "delta", "edge", "outlier", "overlap"),
    [(ONE, 7.606, -0.2058, -0.2128, 0.167), (ONE, 14.262, 0.0175, -0.0197, 0.455),
     (TWO, 1.963, -0.8960, -0.9344, 0.206)],
)  # fmt: skip
def test_values_computed_elsewhere(student, delta, edge, outlier, overlap):
    # an independent computation on other nodes, rounded to its digits
    spectrum = hessian_spectrum(TARGET, student, delta)
    assert spectrum.left_edge == pytest.approx(edge, abs=3e-4)
    assert spectrum.outliers[0].value == pytest.approx(outlier, abs=3e-4)
    assert spectrum.outliers[0].overlap == pytest.approx(overlap, abs=1e-3)
    assert spectrum.margin < 0


def test_below_the_threshold_there_is_none():
    for student, delta in ((ONE, 2.853), (TWO, 0.858)):
        spectrum = hessian_spectrum(TARGET, student, delta)
        assert not [o for o in spectrum.outliers if o.side == "left"]
        assert spectrum.margin > 0


def test_the_bulk_against_eigenvalues():
    d = 400
    matrix, _ = simulated_hessian(TWO, 1.962, d, np.random.default_rng(0))
    eigenvalues = np.linalg.eigvalsh(matrix)
    spectrum = hessian_spectrum(TARGET, TWO, 1.962, draws=2048)
    x = np.linspace(spectrum.left_edge - 0.2, spectrum.right_edge + 0.2, 160)
    density = spectrum.density(x, width=3e-3)
    mass = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(x))])
    assert mass[-1] == pytest.approx(1, abs=0.02)
    empirical = np.searchsorted(eigenvalues, x) / eigenvalues.size
    assert np.abs(mass - empirical).max() <= 0.02


@pytest.mark.parametrize(("student", "delta", "d"), [(ONE, 14.262, 350), (TWO, 3.0, 350), (FOUR, 9.0, 250)])
def test_outliers_against_simulation(student, delta, d):
    spectrum = hessian_spectrum(TARGET, student, delta, draws=1 << 12)
    expected = min((o for o in spectrum.outliers if o.side == "left"), key=lambda o: o.value)
    values, overlaps = [], []
    for seed in range(4):
        matrix, direction = simulated_hessian(student, delta, d, np.random.default_rng(seed))
        eigenvalues, vectors = np.linalg.eigh(matrix)
        inside = (vectors.reshape(student.width, d, -1) * direction[:, None]).sum(axis=1)
        overlap = (inside**2).sum(axis=0)
        best = int(np.argmax(overlap[:12]))
        values.append(eigenvalues[best])
        overlaps.append(overlap[best])
    # class fractions fluctuate as d^-1/2 and move the whole spectrum: about 0.03 at d = 2000 in single runs,
    # of a bulk that is some units wide; the mean of four at d = 350 has about the same
    assert np.mean(values) == pytest.approx(expected.value, abs=0.06)
    assert np.mean(overlaps) == pytest.approx(expected.overlap, abs=0.08)


def test_outliers_along_the_weights():
    spectrum = hessian_spectrum(TARGET, ONE, 7.606)
    assert spectrum.other_outliers[0].value == pytest.approx(-0.3487, abs=3e-4)


@pytest.mark.parametrize("seed", range(6))
def test_an_outlier_that_has_hardly_left_the_bulk_has_an_overlap(seed):
    """At the threshold itself it was a division by zero, or rounding."""
    rng = np.random.default_rng([6, seed])
    student = Student(
        str(rng.choice(["tanh_squared", "gelu"])), tuple(rng.uniform(0.3, 1, 1 + seed % 2)), 0.78
    )
    law = initial_law(MultiIndex("tanh(z1**2 - 1)"), student, 512, 0)
    low, high = 0.3, 60.0
    for _ in range(60):  # to the last digits
        middle = (low * high) ** 0.5
        low, high = (low, middle) if spectrum_of(law, middle).margin < 0 else (middle, high)
    overlaps = []
    for away in (0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3):
        outliers = spectrum_of(law, high * (1 + away)).outliers
        overlaps.append(max([one.overlap for one in outliers if one.side == "left"], default=0.0))
    # it grows in proportion to the distance; its steps resolve about a millionth
    np.testing.assert_allclose(
        overlaps, overlaps[-1] * np.array([0, 0, 0, 0, 0, 0, 0.01, 1]), rtol=0.1, atol=2e-5
    )


def test_rare_extremes_do_not_move_the_edge():
    law = initial_law(TARGET, TWO, 1 << 11)
    plain = visible(law, 2.0)[2]
    rare = CurvatureLaw(
        np.concatenate([law.D, [-40.0 * np.eye(2)]]), np.append(law.weight * (1 - 1e-5), 1e-5),
        np.concatenate([law.second, law.second[:1]]),
    )  # fmt: skip
    pinned, (kept, _, edge) = Bulk(rare.D, rare.weight, 2.0).left_edge(), visible(rare, 2.0)
    assert pinned.pinned
    assert pinned.value < 3 * plain.value
    assert not edge.pinned
    assert len(kept.D) >= len(law.D) - 1
    assert edge.value == pytest.approx(plain.value, abs=1e-3)


def test_outliers_along_the_weights_of_four_neurons():
    spectrum = hessian_spectrum(TARGET, Student("tanh_squared", (1.0,) * 4, 0.5), 2.0, draws=1 << 11)
    # two simulations at d = 1000: the lowest at -0.678 and -0.686, with parts of 0.26 and 0.28 along the rows
    assert spectrum.other_outliers[0].value == pytest.approx(-0.68, abs=0.04)
    assert spectrum.other_outliers[0].overlap == pytest.approx(0.26, abs=0.06)


def test_phase_retrieval_with_a_normalised_loss():
    # L = (h² - y²)²/(4(1 + y²)), y = g up to its sign: a user's loss, and a law given by hand
    loss = Loss(
        "normalised", lambda y, f: (f - y * y) ** 2 / 4 / (1 + y * y),
        lambda y, f: (f - y * y) / 2 / (1 + y * y), lambda y, f: 0 * f + 0.5 / (1 + y * y),
    )  # fmt: skip
    student = Student("quadratic", 1.0, 1.0, loss)
    z = np.random.default_rng(0).standard_normal((1 << 16, 2))
    D = student.curvature(z[:, 0], z[:, 1:])
    law = CurvatureLaw(D, np.full(len(z), 1 / len(z)), (z[:, 0] ** 2)[:, None, None])
    spectrum = hessian_spectrum("abs(z1)", student, 2.274, law)
    # 65536 plain samples: one per cent
    assert spectrum.outliers[0].value == pytest.approx(-0.3771, abs=6e-3)
    assert spectrum.outliers[0].overlap == pytest.approx(0.191, abs=0.02)


def test_ridge_shifts_the_spectrum():
    plain = hessian_spectrum(TARGET, ONE, 7.606, draws=1 << 11)
    shifted = hessian_spectrum(TARGET, Student("tanh_squared", 1.0, 0.8, ridge=0.3), 7.606, draws=1 << 11)
    assert shifted.left_edge == pytest.approx(plain.left_edge + 0.3)
    assert shifted.outliers[0].value == pytest.approx(plain.outliers[0].value + 0.3)
    assert shifted.outliers[0].overlap == pytest.approx(plain.outliers[0].overlap)


@pytest.mark.parametrize("name", ["square", "logistic"])
def test_derivatives_against_differences(name):
    student = Student("gelu", (1.0, -0.5, 2.0), 1.0, name, offset=0.3)
    rng = np.random.default_rng(0)
    h, y, step = rng.standard_normal((50, 3)), np.sign(rng.standard_normal(50)), 1e-5
    force, curvature = student.force(y, h), student.curvature(y, h)
    for j in range(3):
        move = step * np.eye(3)[j]
        slope = (student.risk(y, h + move) - student.risk(y, h - move)) / (2 * step)
        bend = (student.force(y, h + move) - student.force(y, h - move)) / (2 * step)
        # central differences: the square of the step, and rounding over the step
        np.testing.assert_allclose(force[:, j], slope, atol=1e-8)
        np.testing.assert_allclose(curvature[:, j], bend, atol=1e-8)


@pytest.mark.parametrize("text", ["cos(2*z1)", "exp(-z1**2)", "z2/sqrt(1 + z2**2)*sign(z1)", "tanh(z1*z2)"])
def test_bounded_labels_pass(text):
    assert np.isfinite(hessian_spectrum(text, ONE, 4.0, draws=256).left_edge)


def test_a_loss_may_have_constant_curvature():
    mine = Loss("mine", lambda y, f: 0.5 * (f - y) ** 2, lambda y, f: f - y, lambda y, f: 1.0)
    values = [
        hessian_spectrum(TARGET, Student("tanh_squared", (1.0, 0.5), 0.8, loss=loss), 4.0, draws=256)
        for loss in (mine, "square")
    ]
    assert values[0].left_edge == pytest.approx(values[1].left_edge, rel=1e-12)  # rounding


def test_a_singular_step_is_not_the_end():
    # Newton's method lands exactly on a fold here, with these nodes
    few, many = (
        hessian_spectrum("tanh(z1**2-1)", Student("cos", (1.0, -1.0), 0.7), 4.0, draws=samples)
        for samples in (2048, 1 << 14)
    )
    assert few.left_edge == pytest.approx(many.left_edge, abs=0.03)  # of a scrambled rule with 2048 nodes


def test_a_loss_may_overflow_far_out():
    # warnings are errors here: y**200 overflows at the labels that probe for bounds
    mine = Loss(
        "mine", lambda y, f: (f - y) ** 2 / (1 + y**200), lambda y, f: 2 * (f - y) / (1 + y**200),
        lambda y, f: 0 * f + 2 / (1 + y**200),
    )  # fmt: skip
    assert np.isfinite(hessian_spectrum("z1**2", Student("gelu", loss=mine), 3.0, draws=64).left_edge)


def test_small_experiments():
    simulated = SpectrumProblem(dimension=8).simulate(
        0
    )  # fewer eigenvalues than are searched for the hidden one
    assert simulated.smallest_eigenvalue <= simulated.hidden_eigenvalue <= simulated.largest_eigenvalue


def a_law(D=((1.0,), (1.0,)), weight=(0.5, 0.5), hard=1, latent=None):
    return CurvatureLaw(np.array(D)[:, :, None], weight, np.ones((2, hard, hard)), latent)


NOWHERE = Loss("nowhere", *[lambda y, f: np.nan * f] * 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Student("tanh", True), "second_layer = True"),
        (lambda: Student("tanh", (1.0, True)), "second_layer"),
        (lambda: Student("tanh", "1"), "second_layer"),
        (lambda: hessian_spectrum(TARGET, Student("gelu", loss=NOWHERE), 3.0, draws=64), "loss = nowhere"),
        (lambda: SpectrumProblem(low="a"), "low = 'a'"),
        (lambda: SpectrumProblem(low=-np.inf), "low = -inf"),
        (lambda: a_law(D=((np.nan,), (1.0,))), "finite"),
        (lambda: a_law(D=((1.0,), (1.0,), (1.0,))), "shapes"),
        (lambda: a_law(D=((1.0, 0.0), (1.0, 0.0))), "shapes"),
        (lambda: a_law(weight=0.5), "shapes"),
        (lambda: a_law(weight=(0.5, 0.4)), "sum 0.9"),
        (lambda: a_law(weight=(1.5, -0.5)), "weight"),
        (lambda: a_law(latent=np.ones(2)), "shapes"),
        (lambda: hessian_spectrum(TARGET, ONE, 3.0, a_law(hard=2)), "law: 2 hard coordinates, must be 1"),
        (lambda: empirical_law(TARGET, ONE, np.array([1.0, 5.0]), np.zeros((2, 1))), "y = 5"),
        (lambda: empirical_law(TARGET, ONE, 1.0, np.zeros((1, 1))), "shapes"),
        (lambda: hessian_spectrum(TARGET, Student("relu"), 2.0), "twice differentiable"),
        (
            lambda: hessian_spectrum(TARGET, Student(lambda z: np.maximum(z, 1)), 2.0),
            "twice differentiable",
        ),
        (lambda: hessian_spectrum(TARGET, Student(lambda z: np.sign(z - 0.1)), 2.0), "twice differentiable"),
        (lambda: Student("tanh", (1.0, 0.0)), "second_layer"),
        (lambda: Student("tanh", init_scale=0.0), "init_scale"),
        (lambda: Student("tanh", ridge=-1.0), "ridge"),
        (lambda: Student("tanh", loss="hinge"), "loss = 'hinge'"),
        (lambda: hessian_spectrum(TARGET, ONE, 0.0), "samples_per_dimension"),
        (lambda: hessian_spectrum(TARGET, ONE, "3"), "samples_per_dimension"),
        (lambda: hessian_spectrum(TARGET, ONE, 3.0, draws=0), "draws"),
        (lambda: hessian_spectrum(TARGET, TWO, 3.0, initial_law(TARGET, ONE, 64)), "law of 2 neurons"),
        (lambda: hessian_spectrum(3.0, ONE, 3.0), "target = 3.0"),
        (lambda: hessian_spectrum("z1**2", ONE, 2.0), "unbounded below"),
        (lambda: hessian_spectrum(MultiIndex("sign(abs(z1)-1)", noise=0.1), ONE, 2.0), "drop its noise"),
        (lambda: hessian_spectrum("z1", ONE, 2.0), "no hard direction"),
        # labels that grow slowly, or little, are unbounded all the same
        *[
            (lambda text=text: hessian_spectrum(text, ONE, 2.0, draws=64), "unbounded below")
            for text in ("log(1 + z1**2)", "log(abs(z1))", "sqrt(abs(z1))", "abs(z1)/1e5", "1/abs(z1)")
        ],
        (lambda: hessian_spectrum(MultiIndex("sign(abs(z1)-1)", noise=1e-5), ONE, 2.0), "drop its noise"),
        (lambda: hessian_spectrum("step(abs(z1)-1)", Student("gelu", loss="logistic"), 2.0), "labels ±1"),
        (lambda: hessian_spectrum(TARGET, ONE, 3.0, draws=10**11), "GB"),
        (lambda: hessian_spectrum(TARGET, "tanh", 3.0), "student = 'tanh'"),
        (lambda: Student("tanh", loss=[1]), "loss"),
        (lambda: Loss("mine", 1, 2, 3), "value = 1"),
        (lambda: hessian_spectrum(TARGET, ONE, 3.0, draws=64).density([1.0], 0.0), "width = 0"),
        (lambda: hessian_spectrum(TARGET, ONE, 3.0, draws=64).density([np.nan]), "x: must be finite"),
        (lambda: empirical_law(TARGET, ONE, np.zeros(0), np.zeros((0, 1))), "at least one sample"),
        (lambda: empirical_law(TARGET, ONE, np.ones(2), np.full((2, 1), np.nan)), "finite"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
