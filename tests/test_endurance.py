"""Small samples of the endurance campaigns, what they have found, and that they can fail."""

import json
import signal
from dataclasses import dataclass
from types import SimpleNamespace

import disasters
import endurance
import hostile
import kills
import numpy as np
import pytest
import random_arguments
import random_data
import random_problems
import visitors
import writes
import xarray as xr
from misbehaving import misbehave

from firstlight import unseen_classes
from firstlight.early_alignment.plane import PlaneProblem
from firstlight.measure.step import step_similarity
from firstlight.one_step.families import images
from firstlight.phase_transition import SpectrumProblem
from firstlight.phase_transition.spectral_method import SpectralProblem
from firstlight.phase_transition.variants import at_equal_time
from firstlight.study.store import Store, StoreError

QUICK = [name for name in random_arguments.FACTORIES if not name.startswith(("phase", "early"))]


@pytest.mark.parametrize("name", QUICK)
def test_random_problems_end_in_numbers_or_refusals(name, tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(random_problems, "limits", lambda: None)
    monkeypatch.setattr(random_data, "FOLDER", tmp_path)
    assert random_problems.work([name, 10_000]) == ""


@dataclass(frozen=True)
class Silent:
    """A problem whose results are given."""

    answer: xr.Dataset

    def predict(self, width=1):
        return self.answer


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"test_error": 1.0}, ""),
        ({"test_error": np.nan}, "silent: test_error"),
        ({"test_error": np.nan, "converged": True}, "silent: test_error"),
        ({"test_error": np.nan, "converged": False}, ""),
        ({"test_error": -1e-3}, "silent: test_error < 0"),
        ({"weight_norm": ("ridge", [1.0, np.inf]), "converged": ("ridge", [False, True])}, "weight_norm"),
    ],
)
def test_numbers_without_a_flag_are_found(variables, said, monkeypatch):
    monkeypatch.setattr(random_problems, "limits", lambda: None)
    problem = Silent(xr.Dataset(variables))
    wrong = random_problems.judged("one_step", "predict", problem.predict, {})[1]
    assert said in wrong
    assert bool(said) == bool(wrong)


NAN = np.nan
TOLD = "misclassification: not told, as the moments are not resolved"


@pytest.mark.parametrize(
    ("what", "variables", "attrs", "said", "wrong"),
    [
        ("phase_transition predict", {"delta_alg": NAN, "converged": True}, {}, [], "delta_alg"),
        ("phase_transition predict", {"delta_alg": NAN, "converged": False}, {}, [], ""),
        ("phase_transition predict", {"delta_alg": np.inf, "converged": True}, {}, [], ""),
        ("phase_transition predict", {"error": NAN, "signal": NAN}, {}, [], "error, signal"),
        ("phase_transition predict", {"delta_nn": np.inf, "converged": True}, {}, [], "delta_nn"),
        ("phase_transition predict", {"delta_over_alg": NAN}, {}, [], "delta_over_alg"),
        ("phase_transition predict", {"hidden_eigenvalue": NAN, "hidden_eigenvalue_sem": NAN}, {}, [], ""),
        ("phase_transition predict", {"gradient_norm": ("time", [NAN, NAN])}, {}, [], ""),
        ("phase_transition predict", {"gradient_norm": ("time", [1.0, NAN])}, {}, [], "gradient_norm"),
        ("phase_transition predict", {"threshold": ("time", [1.0, NAN])}, {}, [], ""),
        ("unseen_classes predict", {"spearman": NAN, "mean_recall": NAN}, {}, [], "mean_recall"),
        ("one_step predict", {"test_error": NAN}, {"note": "some remark"}, [], "test_error"),
        ("one_step predict", {"test_error": NAN}, {}, ["E[f] is uncertain"], "test_error"),
        ("one_step predict", {"test_error": NAN, "misclassification": NAN}, {}, [TOLD], "test_error"),
        ("one_step predict", {"misclassification": NAN}, {}, [TOLD], ""),
        ("one_step predict", {"misclassification": NAN}, {}, [], "misclassification"),
    ],
)
def test_a_note_a_warning_or_a_meaning_excuses_only_what_it_speaks_of(what, variables, attrs, said, wrong):
    assert random_problems.silent(what, xr.Dataset(variables, attrs=attrs), said) == wrong


def test_classes_are_separable_from_all_others():
    values = np.array([[NAN, 1.0], [NAN, NAN]])
    names = {"class": [1, 2], "other": [1, 2]}
    answer = xr.Dataset(
        {"separability": (("class", "other"), values), "recall": ("class", [1.0, 1.0])}, names
    )
    assert random_problems.silent("unseen_classes predict", answer) == "separability"
    answer["separability"][1, 0] = 1.0
    assert random_problems.silent("unseen_classes predict", answer) == ""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("width = 0: must be positive"), ""),
        (ValueError("cannot reshape"), "not named"),
        (TypeError("width"), "TypeError"),
    ],
)
def test_refusals_name_a_field(error, said, monkeypatch):
    monkeypatch.setattr(random_problems, "limits", lambda: None)

    def call(width):
        raise error

    assert said in random_problems.judged("one_step", "build", call, {"width": 0})[1]


def test_a_child_that_dies_or_prints_or_never_ends_is_told():
    child = endurance.Child(misbehave)
    try:
        assert child._once(["dies"]).failure.startswith("died: SIGKILL")
        assert child._once(["answers"]).failure == ""
        assert child._once(["never ends"], 0).failure.startswith("died: SIGXCPU")
        assert child._once(["answers"]).failure == ""
        assert child._once(["prints"]).failure == "printed: an illegal value"
        assert child._once(["answers"]).failure == ""
    finally:
        child.stop()


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_hostile_input_is_read_or_refused(kind):
    assert endurance._try(hostile.KINDS, [kind, 10_000]) == ""


def test_a_study_that_is_neither_read_nor_refused_is_found(monkeypatch):
    monkeypatch.setattr(hostile, "read_study", {}.__getitem__)
    assert endurance._try(hostile.KINDS, ["studies", 0]).startswith("KeyError")


def test_a_store_that_refuses_everything_is_found(monkeypatch):
    def refuse(*given):
        raise StoreError("no store is right")

    monkeypatch.setattr(hostile.stores, "read", refuse)
    assert "is harmless, and the store is refused" in endurance._try(hostile.KINDS, ["bits", 0])


def test_a_store_that_loses_records_is_found_without_another_run_beside_it(tmp_path, monkeypatch):
    put = Store.put
    kept = lambda some: [one for one in some if one.arm != "theory"]  # noqa: E731
    monkeypatch.setattr(Store, "put", lambda store, some: put(store, kept(some)))
    with pytest.raises(RuntimeError, match=r"results and failures .*80 values are no numbers"):
        kills.undisturbed.__wrapped__("tiny/short")


@pytest.mark.slow
def test_workers_alone_are_killed_and_the_driver_ends(tmp_path):
    assert kills._killed(tmp_path / "s.sqlite", "workers", np.random.default_rng(0)) == (True, "")
    assert kills.resumed(tmp_path / "s.sqlite") == ""


def test_two_drivers_at_once_are_found(tmp_path, monkeypatch):
    """The lock is taken away, and the other driver is this very process."""
    codes = []
    monkeypatch.setattr(
        disasters, "run", lambda study, path, workers: Store.begin_run(path, "b", "", "", "", 1)
    )
    monkeypatch.setattr(disasters.os, "_exit", codes.append)
    monkeypatch.setattr(Store, "begin_run", Store.begin_run)  # is put back
    with Store(tmp_path / "s.sqlite", write=True) as store:
        first = store.begin_run("a", "", "", "", 1)
        disasters._second_run(store)
        assert codes == [5]
        store.end_run(first, "complete")
        store.end_run(first + 1, "complete")
        monkeypatch.setattr(disasters, "_lives", lambda number: False)
        disasters._second_run(store)
        assert codes == [5]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["disk", "phases", "writes"])
def test_a_full_disk_or_a_kill_at_a_write_costs_nothing(kind):
    assert endurance._try(disasters.KINDS, [kind, 10_000]) == ""


@pytest.mark.parametrize("kind", ["disk", "phases"])
def test_what_changes_the_bits_is_found(kind, tmp_path, monkeypatch):
    ended = SimpleNamespace(start=int, join=int, exitcode={"disk": 0, "phases": -signal.SIGKILL}[kind])
    monkeypatch.setattr(disasters, "child", lambda *given: ended)
    monkeypatch.setattr(disasters, "resumed", lambda path, study: "another fingerprint")
    monkeypatch.setattr(disasters, "_statements", lambda: 100)
    found = disasters.KINDS[kind][0](np.random.default_rng(0), tmp_path)
    assert found.endswith("another fingerprint")


@pytest.mark.parametrize(
    ("there", "code", "said"),
    [
        ("whole", 5, "exit code 5"),  # no error at all
        ("whole", 4, "exit code 4"),  # one that names no file
        ("tor", 3, "are not whole"),
        ("torn, and longer than it was", 3, "are not whole"),
        (".part", 3, "leaves"),
        (writes.BEFORE.decode(), 3, ""),
    ],
)
def test_what_a_full_disk_may_not_do_is_found(there, code, said, tmp_path, monkeypatch):
    def ended(name, folder, limit):
        folder.mkdir(exist_ok=True)
        (folder / "file").write_text("whole" if limit < 0 else there)
        if there == ".part" and limit >= 0:
            (folder / there).touch()
        return 5 if limit < 0 else code

    monkeypatch.setattr(writes, "_ended", ended)
    monkeypatch.setattr(writes, "WRITERS", {"csv": None})
    writes._whole.cache_clear()
    found = writes.writes(np.random.default_rng(0), tmp_path)
    writes._whole.cache_clear()
    assert said in found
    assert bool(said) == bool(found)


class Refusing:
    """A laboratory that answers everything with an error."""

    def ask(self, path, *rest):
        return 500, b""

    def json(self, path, body=None):
        raise AssertionError(path)

    events = json


@pytest.mark.parametrize("action", [one for one in visitors.ACTIONS if one is not visitors.leave])
def test_a_reader_without_an_answer_is_told(action, monkeypatch):
    monkeypatch.setattr(visitors, "ACTIONS", [action])
    pages = {"one_step": {"presets": [], "panels": []}}
    assert visitors.read(Refusing(), 0, pages).startswith(f"{action.__name__}: AssertionError")


class Direct:
    """A child that is none."""

    def __init__(self, work):
        self.work = work

    def __call__(self, case):
        return endurance.Outcome(case, self.work(case), 0.0)

    def stop(self):
        pass


def test_a_log_is_gone_on_from(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(endurance, "Child", Direct)
    log = str(tmp_path / "log.jsonl")
    options = endurance.arguments("about", 3).parse_args(["--log", log])
    cases = [["some", 0], ["some", 1]]
    for known in (cases[:1], cases):
        assert endurance.campaign(misbehave, known, options) == 0
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2
    assert "some: 2 tried, 0 failed" in capsys.readouterr().out


def test_sums_grow_by_new_cases_only(tmp_path, monkeypatch):
    monkeypatch.setattr(endurance, "Child", Direct)
    log, save = tmp_path / "log.jsonl", tmp_path / "sums.json"
    options = endurance.arguments("about", 3).parse_args(["--log", str(log), "--save", str(save)])
    for cases in ([["some", 0]], [["some", 0], ["some", 7]], [["some", 100_000]], [["other", 5]]):
        endurance.campaign(misbehave, cases, options)
    log.unlink()
    endurance.campaign(misbehave, [["some", 100_001]], options)
    sums = json.loads(save.read_text())
    assert (sums["some"]["tries"], sums["other"]["tries"]) == (4, 1)
    assert sums["some"]["seeds"] == [[0, 7], [100_000, 100_001]]


# What the campaigns have found.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: at_equal_time(second_layer=(1.0, -1.0)), "second_layer = "),
        (lambda: SpectrumProblem(samples_per_dimension=0.02, dimension=4), "samples_per_dimension = 0.02"),
        (lambda: SpectralProblem(samples_per_dimension=0.02, dimension=4), "samples_per_dimension = 0.02"),
        (lambda: PlaneProblem(points=[(0.0, 1.0, -1)]), "points = .*at least two"),
        (lambda: unseen_classes.NormProblem(mean=1e200), "mean = 1e"),
        (
            lambda: unseen_classes.GradientProblem(activation="erf", train_norm=1e3, dimension=40).simulate(
                1029
            ),
            "train_norm = 1000.0: every neuron is flat",
        ),
        (
            lambda: images(0.5, 4, "0,1", images="digits").predict(method="asymptotic"),
            "method = 'asymptotic': needs identity-plus-spikes",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_above_a_threshold_of_zero_every_number_of_samples_is_infinitely_far():
    assert float(SpectralProblem("z1", samples_per_dimension=1.0).predict().delta_over_alg) == np.inf


def test_a_branch_that_is_lost_is_told(monkeypatch):
    problem = random_problems.drawn("phase_transition.phases", 16)[0](
        second_layer=(1.0, -1.0), width=2, init_scale=100.0, ridge=0.01, offset=10.0, dimension=100, steps=2,
        samples_per_dimension=10.0,
    )  # fmt: skip
    assert not problem.predict(rng=16, draws=64).converged.any()


def test_an_infinite_ratio_of_signal_and_noise_needs_noise():
    heads = np.eye(2)  # as many outputs as neurons: all movement lies along the heads
    similarity = step_similarity(np.array([[2.0, 0.0]]), heads, 0.5, [0])
    assert np.isnan(similarity.snr.item())
