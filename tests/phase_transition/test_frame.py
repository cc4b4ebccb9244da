"""The DMFT in a growing frame: against response functions, real descents and a published run; its errors."""

import numpy as np
import pytest
from tests.phase_transition.responses import follow

from firstlight import MultiIndex
from firstlight.phase_transition import (
    Student,
    dmft,
)
from firstlight.phase_transition.theory.dmft import _joint
from firstlight.phase_transition.theory.labels import draw, label_law
from firstlight.phase_transition.theory.path import spread
from firstlight.phase_transition.theory.subspaces import subspaces

STEP = "sign(abs(z1) - 1.4820733)"
STEPS = 6


def random_case(seed):
    """Draw a target, a network, the sizes, and whether the hard directions are held."""
    rng = np.random.default_rng(seed)
    held = bool(rng.random() < 0.7)
    targets = [STEP, "sign(z1*z2)", "tanh(z1 + 1.5*(z2**2 - 1))", "sign(z1 + z2**2 - 1)"]
    target, noise = str(rng.choice(targets)), 0.0
    logistic = target.startswith("sign") and rng.random() < 0.4
    if not held and not logistic and rng.random() < 0.7:
        noise = 0.5
    a = rng.uniform(0.5, 1.2, rng.integers(1, 3)) * rng.choice([-1, 1])
    if a.size == 2 and rng.random() < 0.5:
        a[1] *= -1
    student = Student(
        str(rng.choice(["tanh", "tanh_squared", "gelu", "erf", "softplus"])), tuple(a),
        rng.uniform(0.4, 1.0), "logistic" if logistic else "square", rng.choice([0.0, 0.2]),
        rng.uniform(-0.3, 0.3),
    )  # fmt: skip
    return MultiIndex(target, noise=noise), student, rng.uniform(1.5, 6.0), rng.uniform(0.1, 0.3), held


@pytest.mark.parametrize("seed", range(16))
def test_random_models_against_response_functions(seed):
    target, student, delta, step_size, held = random_case(seed)
    hard = subspaces(target).hard
    start = np.zeros((student.width, target.k))
    if not held:
        start[:] = 0.3 * student.init_scale / np.sqrt(target.k * student.width)
    path = dmft(
        target, student, delta, step_size, STEPS, 1 << 14, hold_hard=held, start_overlap=start,
    )  # fmt: skip
    others, labels = [], label_law(target) if held else None
    for scramble in range(4):
        rng, dim = np.random.default_rng([seed, scramble]), (STEPS + 1) * student.width
        sample = draw(labels, dim, 1 << 12, rng) if held else _joint(target, hard, dim, 1 << 12, rng)
        first = np.zeros((student.width, labels.easy.shape[1])) if held else start
        others.append(follow(student, sample, delta, step_size, STEPS, first))
    ours = (lambda run: run.train_loss, lambda run: run.norm, lambda run: run.overlap,
            lambda run: run.hard_variance)  # fmt: skip
    for mine, theirs in zip(ours, zip(*others, strict=True), strict=True):
        error = np.hypot(path.standard_error(mine), spread(np.array(theirs)))
        gap = np.abs(mine(path) - np.mean(theirs, axis=0))
        # 16 models × some 30 numbers: four standard errors, and the forces that are dropped
        assert (gap <= 4 * error + 1e-3 * (1 + np.abs(mine(path)))).all()
