"""A theory of somebody else's package gets what ours get, and a broken one takes nothing with it."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from firstlight.study.registry import Theory

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin_ridge"
SEVERAL = """
import contextlib, io, json, sys
from firstlight.cli import main
printed = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["firstlight", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main()
    printed.append(out.getvalue())
print(json.dumps(printed))
"""  # starting Python and importing takes longer than most of our commands
STUDY = "ridge/double-descent"


def environment(folder):
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def firstlight(folder, *commands):
    """Run some commands, one after the other, in one fresh process; return what each printed, and stderr."""
    given = json.dumps([[str(word) for word in command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, given],
        capture_output=True,
        text=True,
        env=environment(folder),
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the example as a wheel and install it where only these tests look, without the network."""
    folder, wheels = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-index", "--no-deps"]
    made = [*pip, "wheel", *options, "--no-build-isolation", "--wheel-dir", wheels, EXAMPLE]
    subprocess.run(made, check=True, timeout=240)
    (wheel,) = wheels.glob("firstlight_ridge-*.whl")
    subprocess.run([*pip, "install", *options, "--target", folder, wheel], check=True, timeout=240)
    return folder


def killed_run(folder, command, store):
    """Start the study in one process, kill it after some records, and count what is there."""

    def count():
        try:
            with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as opened:
                return opened.execute("SELECT count(*) FROM records").fetchone()[0]
        except sqlite3.OperationalError:  # not there yet
            return 0

    given = [sys.executable, "-c", "from firstlight.cli import main; main()", *map(str, command)]
    process = subprocess.Popen(given, env=environment(folder), stdout=subprocess.PIPE)
    limit = time.monotonic() + 120
    while count() < 3:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < limit, "waited too long"
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    return count()


@pytest.mark.slow
def test_a_plug_in_is_listed_run_resumed_judged_drawn_reported_and_cited(installed, tmp_path):
    store = tmp_path / "study.sqlite"
    run = ["study", "run", STUDY, "--workers", "0", "--store", store]
    kept = killed_run(installed, run, store)
    about = ["--store", store]
    commands = {
        "theories": ["theories", "--json"],
        "list": ["study", "list"],
        "resumed": [*run, "--json"],
        "again": [*run, "--json"],
        "show": ["study", "show", STUDY, *about],
        "figure": ["study", "figure", STUDY, *about, "-o", tmp_path],
        "cite": ["cite", "ridge"],
    }
    printed, _ = firstlight(installed, *commands.values())
    said = dict(zip(commands, printed, strict=True))

    listed = json.loads(said["theories"])
    (ours,) = [theory for theory in listed["theories"] if theory["name"] == "ridge"]
    assert ours["package"] == "firstlight-ridge 0.1.0"
    assert (ours["studies"], ours["source"]) == ([STUDY], "dobriban2018ridge")
    assert (len(listed["theories"]), listed["broken"]) == (5, [])
    assert STUDY in said["list"]

    resumed, again = json.loads(said["resumed"]), json.loads(said["again"])
    assert resumed["kept"] == kept
    assert resumed["computed"] + kept == 2 * 6 * (24 + 1)  # ridges × samples × (trials + one prediction)
    assert (again["computed"], again["failed"]) == (0, 0)
    assert again["fingerprint"] == resumed["fingerprint"]

    assert "simulation agrees at 12 of 12 points" in said["show"]
    assert "claim holds: more samples can hurt" in said["show"]
    suffixes = {Path(line).suffix for line in said["figure"].splitlines() if Path(line).stat().st_size}
    assert suffixes == {".png", ".svg", ".pdf", ".csv"}
    assert "@article{dobriban2018ridge," in said["cite"]


@pytest.mark.slow
def test_a_plug_in_has_its_chapter_in_the_report(installed, tmp_path):
    code = f"""
from dataclasses import replace
from firstlight.show import foundation
from firstlight.show.report import report
from firstlight.study import registry
foundation.CHAPTERS.clear()  # ours, which take a while
chosen = [replace(study, trials=2) for study in registry.featured() if study.name == {STUDY!r}]
report(chosen, store={str(tmp_path / "s.sqlite")!r}, destination={str(tmp_path / "r.html")!r}, workers=0)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=environment(installed), timeout=240)
    page = (tmp_path / "r.html").read_text("utf-8")
    assert 'id="ridge-double-descent"' in page
    assert "more samples can hurt" in page
    assert "Ridge Regression and Classification" in page


def plug_in(folder, name, code, target="THEORY"):
    """Install a package of one module by hand."""
    (folder / f"{name}.py").write_text(code)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[firstlight.theories]\n{name} = {name}:{target}\n")


ANNOUNCED = """
from firstlight.study.registry import Theory
THEORY = Theory(name={name!r}, title="t", question="q?", problems={{"p": "{home}:P"}}, studies={studies!r},
                commands={commands!r})
STUDIES = ()
"""


HIDING = """
import typer
app = typer.Typer()
@app.command("hello")
def hello(): print("hello")
@app.command("study")
def study(): print("not ours")
"""


def announced(name, home, studies="", commands=None):
    return ANNOUNCED.format(name=name, home=home, studies=studies or f"{home}:STUDIES", commands=commands)


def test_broken_plug_ins_are_named_and_skipped(tmp_path):
    plug_in(tmp_path, "raising", "raise RuntimeError('no luck today')")
    plug_in(tmp_path, "quitting", "raise SystemExit(3)")
    plug_in(tmp_path, "wrong", "THEORY = 3")
    plug_in(tmp_path, "absent", "")
    plug_in(tmp_path, "taking", announced("one_step", "taking"))
    plug_in(tmp_path, "lost", announced("lost", "lost", studies="lost:NOWHERE"))
    plug_in(tmp_path, "unlisted", announced("unlisted", "unlisted", studies="raising:STUDIES"))
    plug_in(tmp_path, "uncited", announced("uncited", "uncited").replace("commands", "references"))
    plug_in(tmp_path, "mute", announced("mute", "mute", commands="mute:NOWHERE"))
    plug_in(tmp_path, "hiding", announced("hiding", "hiding", commands="hiding:app") + HIDING)
    plug_in(tmp_path, "sound", announced("sound", "sound"))
    printed, errors = firstlight(tmp_path, ["theories", "--json"])
    said = json.loads(printed[0])
    assert "list" in firstlight(tmp_path, ["study", "--help"])[0][0]  # our command, not one that hides it
    assert "sound" in [theory["name"] for theory in said["theories"]]
    reasons = {one["name"]: one["error"] for one in said["broken"]}
    expected = {
        "raising": "RuntimeError: no luck today",
        "quitting": "SystemExit: 3",
        "wrong": "TypeError: wrong:THEORY is no Theory",
        "absent": "AttributeError: module 'absent' has no attribute 'THEORY'",
        "taking": "ValueError: the name 'one_step' is taken by firstlight",
        "lost": "NOWHERE",
        "unlisted": "no luck today",
        "uncited": "ValueError: references = None: must be of type Mapping",
        "mute": "NOWHERE",
        "hiding": "ValueError: the command 'study' is there already",
    }
    assert set(reasons) == set(expected)
    for name, reason in expected.items():
        assert reason in reasons[name]
        (line,) = [line for line in errors.splitlines() if line.startswith(f"theory {name} of {name} 1.0: ")]
        assert reason in line
    assert len(errors.splitlines()) == len(expected)
    assert "one-step/width" in next(one["studies"] for one in said["theories"] if one["name"] == "one_step")


FAULTY = """
from firstlight.study import Arm, Study
from firstlight.demo import Exponential
from firstlight.study.registry import Theory
THEORY = Theory(name="faulty", title="t", question="q?", problems={"p": Exponential},
                studies="faulty:STUDIES",
                claims={"raising": "faulty:raising"}, featured=("faulty/judged", "faulty/unwritten"))
def raising(results):
    raise KeyError("no such column")
def study(name, problem, claims=None):
    return Study(f"faulty/{name}", "d", problem, axes={"rate": [1.0, 2.0]}, arms={"theory": Arm("predict")},
                 claims=claims)
STUDIES = (study("unbuilt", "faulty:nowhere"), study("sound", "firstlight.demo:Exponential"),
           study("judged", "firstlight.demo:Exponential", "faulty:raising"))
"""


def test_a_faulty_study_or_claim_takes_no_other_with_it(tmp_path):
    plug_in(tmp_path, "faulty", FAULTY)
    code = f"""
from firstlight.show import foundation
from firstlight.show.report import report
from firstlight.study import registry
foundation.CHAPTERS.clear()
chosen = [registry.study("faulty/unbuilt"), registry.study("faulty/judged"), registry.study("faulty/sound")]
report(chosen, store={str(tmp_path / "r.sqlite")!r}, destination={str(tmp_path / "r.html")!r}, workers=0)
registry.featured()
print(registry.broken()[0].consequence)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(tmp_path), timeout=240
    )
    assert "its featured studies cannot be used: ValueError: featured 'faulty/unwritten'" in done.stdout
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "no such column" in page
    assert "nowhere" in page
    assert 'id="faulty-sound"' in page

    claims = ["claims", "--theory", "faulty", "--store", tmp_path / "s.sqlite", "--workers", "0"]
    (listed, _), errors = firstlight(tmp_path, ["study", "list"], claims)
    lines = {line.split()[0]: line for line in listed.splitlines()}
    assert (
        "cannot be built: ValueError: faulty/unbuilt at rate = 1.0: problem = 'faulty:nowhere'"
        in lines["faulty/unbuilt"]
    )
    assert "quick: 2 records" in lines["faulty/sound"]
    assert "one-step/width" in lines
    assert (
        "faulty/judged: not judged, ValueError: claims of faulty/judged need what it does not have" in errors
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("featured", "mine/a"), ("problems", ["p"]), ("commands", 3), ("page", 3), ("diagnose", {})],
)
def test_an_announcement_of_a_wrong_kind_names_its_field(field, value):
    fields = {"name": "mine", "title": "t", "question": "q", "problems": {"p": "a:b"}, "studies": "a:S"}
    with pytest.raises(ValueError, match=field):
        Theory(**{**fields, field: value})


def stieltjes_by_quadrature(ridge, aspect):
    """Integrate 1 / (s + λ) over the Marchenko-Pastur density and its atom at zero."""
    low, high = (1 - np.sqrt(aspect)) ** 2, (1 + np.sqrt(aspect)) ** 2
    centre, half = (low + high) / 2, (high - low) / 2  # s = centre + half cos t removes the root at both ends

    def inner(t):
        s = centre + half * np.cos(t)
        return (half * np.sin(t)) ** 2 / (2 * np.pi * aspect * s * (s + ridge))

    return quad(inner, 0, np.pi, epsabs=0, epsrel=1e-11, limit=400)[0] + max(0, 1 - 1 / aspect) / ridge


def test_the_examples_formula_is_the_integral_over_the_spectrum(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    from firstlight_ridge.theory import limiting_error, stieltjes

    rng = np.random.default_rng(0)
    for _ in range(50):
        ridge, aspect = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-1, 1)
        m, slope = stieltjes(ridge, aspect)
        assert m == pytest.approx(stieltjes_by_quadrature(ridge, aspect), rel=1e-9)  # quad is asked for 1e-11
        step = 1e-4 * ridge  # a central difference is off by about (step / ridge)², 1e-8
        ahead, behind = (stieltjes(ridge + sign * step, aspect)[0] for sign in (1, -1))
        assert slope == pytest.approx((behind - ahead) / (2 * step), rel=1e-6)
    assert limiting_error(400, 800, 0.1, 1.0, 0.5) == pytest.approx(0.42678, abs=5e-6)  # as published
