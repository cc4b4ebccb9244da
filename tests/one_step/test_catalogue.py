from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from firstlight.show.figures import figure
from firstlight.study.registry import studies

STUDIES = {name: study for name, study in studies().items() if name.startswith("one-step/")}
WANTED = (
    "width alpha beta mixture-ratio spike-alignment rank alpha-beta-map degree degree-odd feature-spectrum"
    " fashion-mnist-0-1 fashion-mnist-5-9 fashion-mnist-0-1-means fashion-mnist-5-9-means fashion-mnist-rate"
)


def test_all_studies_are_there():
    assert set(STUDIES) == {f"one-step/{name}" for name in WANTED.split()}


@pytest.mark.parametrize("name", [name for name in STUDIES if "fashion" not in name])
def test_every_point_builds_at_both_scales(name):
    for scale in ("quick", "paper"):
        study = STUDIES[name].at(scale)
        for index in (0, study.size - 1):
            problem = study.build(study.point(index))
            assert problem.cost("simulate").flops > 0
        assert set(study.observables) <= {
            "test_error", "train_error", "relative_test_error", "misclassification", "eigenvalue"
        }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "axes"),
    [("alpha-beta-map", {"alpha": [0.0, 1.0], "beta": [0.3, 0.6]}), ("degree", {"beta": [0.3, 0.6]})],
)
def test_special_pictures(name, axes):
    study = replace(STUDIES[f"one-step/{name}"].at("quick"), axes=axes)
    rng = np.random.default_rng(0)
    shape = (*(len(values) for values in axes.values()), len(study.arms), 3)
    values = rng.uniform(0.1, 0.2, shape)
    values[0, ..., 1, :] = np.nan  # an arm that has nothing to say leaves a gap, not an error
    data = xr.Dataset(
        {"test_error": ((*axes, "arm", "trial"), values)},
        {**axes, "arm": list(study.arms), "trial": range(3)},
    )
    drawn = figure(study, data)
    assert all(ax.get_xlabel() for ax in drawn.axes[: len(axes["beta"])])
