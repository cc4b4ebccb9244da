"""Deep networks: what they refuse, what they say without torch, and, with torch, that training teaches."""

from importlib.util import find_spec

import numpy as np
import pytest

from firstlight.unseen_classes import DeepProblem
from firstlight.unseen_classes.experiment.deep import Training, embeddings_along_training

TORCH = find_spec("torch") is not None


@pytest.mark.skipif(TORCH, reason="torch is installed")
def test_without_torch_the_message_says_what_to_install():
    with pytest.raises(ValueError, match=r"torch is not installed.*firstlight\[deep\]"):
        DeepProblem(images="digits", per_class=5).simulate(0)


def test_theory_needs_no_torch():
    predicted = DeepProblem(images="digits", classes="random", per_class=15, epochs=2).predict(0)
    assert predicted.sizes["epoch"] == 3
    assert 0 <= float(predicted.kendall_w[0]) <= 1


def test_costs_grow_with_the_work():
    small, large = DeepProblem(), DeepProblem(model="resnet18", width=64, per_class=600, epochs=20)
    assert large.cost("simulate").flops > 1000 * small.cost("simulate").flops
    assert large.cost("predict").bytes > small.cost("predict").bytes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "vgg"}, "model = 'vgg'"),
        ({"loss": "hinge"}, "loss = 'hinge'"),
        ({"epochs": 0}, "epochs = 0"),
        ({"step_size": 0.0}, "step_size = 0.0"),
        ({"classes": "1"}, "classes = '1'"),
        ({"per_class": 1}, "per_class = 1"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        DeepProblem(**change)


@pytest.mark.skipif(not TORCH, reason="needs the extra `deep`")
@pytest.mark.parametrize("loss", ["softmax", "normalised-softmax", "contrastive"])
@pytest.mark.parametrize("model", ["cnn", "resnet18"])
def test_training_separates_what_it_is_trained_on(loss, model):
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    images = 0.1 * rng.random((90, 8, 8))
    for c in range(3):  # a bright bar at a place of its own
        images[labels == c, :, 2 * c + 1] += 0.8
    training = Training(model=model, loss=loss, width=4, embedding=8, epochs=6, batch_size=30)
    result = embeddings_along_training(images, labels, images[:5], training, np.random.default_rng(1))
    assert len(result) == 7
    assert result[0][0].shape == (90, 8)
    assert result[0][1].shape == (5, 8)

    def separation(embedding):
        centres = np.array([embedding[labels == c].mean(axis=0) for c in range(3)])
        within = np.mean([embedding[labels == c].var(axis=0).sum() for c in range(3)])
        return centres.var(axis=0).sum() / within

    assert separation(result[-1][0]) > 2 * separation(result[0][0])
    again = embeddings_along_training(images, labels, images[:5], training, np.random.default_rng(1))
    np.testing.assert_array_equal(result[-1][0], again[-1][0])


@pytest.mark.skipif(not TORCH, reason="needs the extra `deep`")
def test_theory_and_experiment_name_the_same():
    problem = DeepProblem(images="digits", per_class=20, epochs=1, width=4)
    predicted, measured = problem.predict(0), problem.simulate(0)
    assert set(predicted.data_vars) == set(measured.data_vars)
    assert predicted.sizes == measured.sizes
