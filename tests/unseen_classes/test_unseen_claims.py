"""The theory's claims on made-up records: each verdict follows what the records say, and nothing else."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import xarray as xr

from firstlight.show.figures import figure
from firstlight.study.claims import claims_of
from firstlight.study.registry import resolve, studies
from firstlight.study.run import run
from firstlight.unseen_classes import claims
from firstlight.unseen_classes.definitions.observables import RELATIONS


def records(axes, trials=4, **columns):
    """Lay functions of the axes out over trials with a little noise, and fill the other arm with nonsense."""
    grid = xr.Dataset(coords={**axes, "trial": range(trials)})
    data, rng = xr.Dataset(coords=axes), np.random.default_rng(0)
    for name, make in columns.items():
        values = make(grid).broadcast_like(grid)
        noise = 1e-3 * rng.normal(size=values.shape)
        data[name] = xr.concat([values + noise, 0 * values - 7], xr.Variable("arm", ["network", "theory"]))
    return data


def verdicts(made):
    return {claim.statement: claim.verdict for claim in made}


CLASSES = {"strength": [0.25, 4.0], "cosine": [-1.0, -0.5, 0.0, 0.4, 0.8]}


@pytest.mark.parametrize(
    ("height", "verdict"),
    [
        (lambda g: abs(g.cosine) * g.strength, "holds"),
        (lambda g: -abs(g.cosine) * g.strength, "does not hold"),
        (lambda g: abs(g.cosine) * (g.strength - 1), "holds in part"),
        (lambda g: 0 * g.cosine * g.strength + (g.trial % 2), "undecided"),
    ],
)
def test_against_similarity(height, verdict):
    data = records(CLASSES, alignment=height, cohesion=height, elasticity=height)
    assert verdicts(claims.elasticity(data)) == {claims.ELASTICITY: verdict}
    assert verdicts(claims.alignment(data)) == {claims.ALIGNMENT: verdict}


def test_sides():
    axes = {"side": ["opposite", "same"], "along": [0.0, 0.5, 1.0, 1.5]}

    def made(same, before):
        opposite = xr.DataArray([1.0, 0.0], dims="side")
        after = lambda g: opposite * g.along + (1 - opposite) * same * g.along + 0.5  # noqa: E731
        data = records(
            axes, mean_recall=after, mean_recall_before=lambda g: 0 * g.along + before, raw_recall=after
        )
        return verdicts(claims.sides(data))

    assert made(same=1.0, before=0.0) == {claims.RECALL: "holds", claims.HELPS: "holds"}
    assert made(same=-1.0, before=9.0) == {claims.RECALL: "holds in part", claims.HELPS: "does not hold"}
    assert made(same=0.0, before=1.25)[claims.HELPS] == "holds in part"


def test_the_papers_set_ups():
    data = records(
        {"length": [0.1, 0.2, 0.4, 0.8]},
        cohesion=lambda g: g.length,
        elasticity=lambda g: -g.length,
        mean_recall=lambda g: 0.9 + 0.1 * g.length,
        mean_recall_before=lambda g: 0.5 + 0.5 * g.length,
        raw_recall=lambda g: 0.7 + 0 * g.length,
    )
    assert verdicts(claims.lengths(data)) == {
        claims.ALIGNMENT: "holds", claims.ELASTICITY: "does not hold", claims.RECALL: "holds",
        claims.FAVOURS: "does not hold",
    }  # fmt: skip
    data = records(
        {"length": [0.008, 0.026], "spread": [0.1, 0.5, 1.0, 5.0]},
        similarity=lambda g: g.length / g.spread,
        alignment=lambda g: 1 / (0.5 + g.spread) + 0 * g.length,
        elasticity=lambda g: (g.length - 0.01) * 100 / (0.5 + g.spread),
        mean_recall=lambda g: 1 / (0.5 + g.spread) + 0 * g.length,
        mean_recall_before=lambda g: 0 * g.spread + 0 * g.length,
        raw_recall=lambda g: g.spread + 0 * g.length,
    )
    assert "(inputs: -0.9" in claims.rotations(data)[-1].evidence
    assert verdicts(claims.rotations(data)) == {
        claims.ALIGNMENT: "holds", claims.ELASTICITY: "holds in part", claims.IDENTICAL: "holds in part",
        claims.FAVOURS: "holds",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "frobenius", "verdict"),
    [(-0.5, 0.0, "holds in part"), (-0.5, -0.5, "holds"), (0.0, -0.1, "does not hold")],
)
def test_powers_of_the_size(operator, frobenius, verdict):
    axes = {"activation": ["erf", "relu"], "dimension": [50.0, 100.0, 200.0]}
    base = records(axes, x=lambda g: 0 * g.dimension + 0 * xr.DataArray([0.0, 0.0], dims="activation"))["x"]
    sizes = base["dimension"]
    data = xr.Dataset(
        {
            "operator_error": np.exp(base) * sizes**operator,
            "frobenius_error": np.exp(base) * sizes**frobenius,
        }
    )
    assert verdicts(claims.gradient(data)) == {claims.RANK_ONE: verdict}
    ratio = data["operator_error"].rename(activation="law").assign_coords(arm=["matrix", "theory"])
    grows = xr.Dataset({"over_published": ratio * sizes ** np.array(0.5 - operator)})
    bounded = xr.Dataset({"over_published": ratio * sizes ** np.array(-operator)})
    assert verdicts(claims.norms(bounded)) == {claims.NORMS: "holds"}
    assert verdicts(claims.norms(grows)) == {claims.NORMS: "does not hold"}
    one = bounded.where(bounded["law"] == "erf", grows)
    assert verdicts(claims.norms(one)) == {claims.NORMS: "does not hold"}


SETS = [list(pair) for pair in combinations(range(10), 2)]
UNSEEN = np.array([[place not in pair for place in range(10)] for pair in SETS])


def training_sets(relation_values, change=-0.04):
    """Make 45 pairs of ten classes in two trials: rank correlations and recalls, with a noise by set."""
    names = [*RELATIONS, "similarity_raw_recall", "alignment_raw_recall"]
    values = np.stack([relation_values.get(name, 0.5 * np.ones(45)) for name in names], axis=-1)
    noise = 0.01 * np.random.default_rng(0).normal(size=(45, 1))
    score = np.where(UNSEEN, 0.5 + noise, np.nan)
    dims = ("arm", "images", "trial", "train")
    return xr.Dataset(
        {
            "spearman_by_set": ((*dims, "relation"), np.stack([values + noise] * 2)[None, None]),
            "alignment": ((*dims, "class"), np.stack([score] * 2)[None, None]),
            "recall": ((*dims, "class"), np.stack([score + change + noise] * 2)[None, None]),
            "recall_before": ((*dims, "class"), np.stack([score] * 2)[None, None]),
            "raw_recall": (dims[:3], np.full((1, 1, 2), 0.8)),
        },
        {"arm": ["network"], "images": ["digits"], "relation": names},
    )


def test_training_sets():
    data = training_sets({"similarity_recall": np.full(45, 0.2), "alignment_recall": np.full(45, -0.6)})
    made = claims.sets(data)
    assert verdicts(made) == {
        claims.ALIGNMENT: "holds", claims.ELASTICITY: "holds", claims.RECALL: "holds in part",
        claims.FAVOURS: "holds", claims.RETRIEVED: "does not hold", claims.HELPS: "does not hold",
    }  # fmt: skip
    assert all("inputs: 0." in claim.evidence for claim in made[2:])  # a baseline beside each Recall@1


def test_sets_of_the_same_classes_are_not_independent():
    """Class effects of mean 0: in 45 pairs of ten classes the claim may be undecided, hardly ever decided.

    An interval of 45 independent sets would decide in most cases: that of the bootstrap covers 13 %.
    """
    rng, repeats, decided = np.random.default_rng(6), 60, 0
    for _ in range(repeats):
        values = UNSEEN @ rng.normal(size=10) / 8
        [part] = claims.sets(training_sets({"similarity_elasticity": 0.1 * values}))[1].estimates
        decided += not part.low <= 0 <= part.high
        assert part.verdict != "undecided" or claims.judged(claims.ELASTICITY, [part]).outlook(2) == (
            "more trials do not help (they redraw the same ten classes)"
        )
    assert decided / repeats < 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)


def test_an_interval_that_is_cut_off_promises_nothing():
    """Correlations are at most 1: what is cut off there does not make the other side shorter with trials."""
    values = 0.78 + UNSEEN @ np.linspace(-0.7, 0.7, 10) / 4
    claim = claims.sets(training_sets({"similarity_elasticity": values}))[1]
    [part] = claim.estimates
    assert (part.verdict, part.high) == ("undecided", 1)
    assert part.low < 0.3 < part.value
    assert claim.outlook(2) == "more trials do not help (they redraw the same ten classes)"


def test_deep_networks():
    """Levels that are as high before training count for nothing: the change does."""
    axes = {"loss": ["a", "b"], "epoch": [0, 1, 2]}
    loss = xr.DataArray([0.0, 0.0], dims="loss")
    swing = lambda g: (g.trial % 2 - 0.5) * g.epoch + loss  # noqa: E731
    unseen = np.array([[(place + trial) % 10 < 5 for place in range(10)] for trial in range(8)])
    data = records(
        axes, trials=8,
        similarity_alignment=lambda g: 0.6 + loss + 0 * g.epoch,
        alignment_recall=swing,
        kendall_w=lambda g: 0.9 - 0.2 * g.epoch + loss,
        mean_recall=lambda g: 0.5 + 0.1 * g.epoch + loss,
        raw_recall=lambda g: 0.55 + loss,
    )  # fmt: skip
    data["raw_recall"] = (
        data["raw_recall"].isel(epoch=0, drop=True)
        if "epoch" in data["raw_recall"].dims
        else data["raw_recall"]
    )
    data["unseen"] = (("trial", "class"), unseen.astype(float))
    data["unseen"] = data["unseen"].broadcast_like(data["raw_recall"])
    said = {claim.text: claim for claim in claims.deep(data)}
    assert {text: claim.verdict for text, claim in said.items()} == {
        f"by training, {claims.ALIGNMENT.text}": "undecided",
        f"by training, {claims.RETRIEVED.text}": "undecided",
        f"by training, {claims.ALIKE.text}": "does not hold",
        claims.HELPS.text: "holds",
    }
    assert "inputs: 0.55" in said[claims.HELPS.text].evidence
    words = data.assign(status=xr.full_like(data["raw_recall"], "ok", dtype="U9"))  # as real records have it
    assert [claim.verdict for claim in claims.deep(words)] == [claim.verdict for claim in said.values()]


def test_a_small_study_of_training_sets_is_judged_and_drawn(tmp_path):
    study = studies()["unseen-classes/multi-class"]
    fixed = {**study.fixed, "sets": "0,1,2;3,4,5;6,7,8,9", "per_class": 12, "width": 64}
    small = replace(study, fixed=fixed, trials=1, scales={})
    results = run(small, tmp_path / "s.sqlite", workers=0)
    made = claims_of(small, results)
    assert len(made) == 6
    assert "digits" in made[0].evidence
    drawn = figure(small, results)
    assert len(drawn.axes) == 4
    assert drawn.get_suptitle() == small.description
    assert "per_class = 12, width = 64" in drawn.get_supxlabel()


def test_every_study_of_the_room_has_claims_that_are_written_down():
    for name, study in studies().items():
        if name.startswith("unseen-classes/"):
            assert callable(resolve(study.claims, "claims")), name
            assert claims_of(study, xr.Dataset({"status": ("trial", ["missing"])})) == []
