"""What is released works where only it is installed: from the wheel and from the sdist."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from test_readme import EXAMPLES

import firstlight

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build sdist and wheel, each from the tree, as `make wheel` does; the build tools are those here."""
    folder = tmp_path_factory.mktemp("dist")
    kinds = ["--no-isolation", "--sdist", "--wheel"]
    run(sys.executable, "-m", "build", *kinds, "--outdir", str(folder), str(ROOT))
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def environment(folder, package):
    """Make an environment that holds this package alone, and finds dependencies where these tests do.

    A path in a .pth file is not searched for .pth files itself, so the tree's own installation stays out.
    """
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    home = Path(run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (home / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed", "--no-compile"]
    run(sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install", *offline, str(package))
    return folder / "bin", home


@pytest.fixture(scope="module")
def bare():
    """The environment without what leads Python to the tree."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    return environment(tmp_path_factory.mktemp("wheel"), built[1])


def test_the_first_example_of_the_readme_runs_from_the_wheel(installed, bare, tmp_path):
    bin, home = installed
    where = "import firstlight; print(firstlight.__file__, firstlight.__version__)"
    file, version = run(str(bin / "python"), "-c", where, env=bare, cwd=tmp_path).split()
    assert Path(file).is_relative_to(home)
    assert version == firstlight.__version__
    assert "agrees" in run(str(bin / "python"), "-c", EXAMPLES[0], env=bare, cwd=tmp_path)


def test_the_laboratory_starts_answers_and_stops(installed, bare, tmp_path):
    command = [installed[0] / "firstlight", "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, env=bare, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            assert address
            with urllib.request.urlopen(address[0], timeout=60) as answer:
                assert answer.status == 200
                assert b"firstlight" in answer.read()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def test_the_sdist_installs_the_same_files(built, installed, tmp_path):
    def record(home):
        (file,) = home.glob("firstlight-*.dist-info/RECORD")
        lines = file.read_text().splitlines()
        return {line for line in lines if "bin/firstlight" not in line and "dist-info/" not in line}

    _, home = environment(tmp_path / "sdist", built[0])
    assert record(home) == record(installed[1])


def test_the_sdist_holds_what_its_tests_and_documentation_need(built):
    with tarfile.open(built[0]) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    kept = run("git", "ls-files", cwd=ROOT).split("\n") if (ROOT / ".git").exists() else []
    left_out = {name for name in kept if name and name not in files and not name.startswith(".")}
    assert not left_out
    assert not [name for name in files if name.startswith((".venv", "out/"))]


def test_metadata_is_complete(built):
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        told = HeaderParser().parsestr(archive.read(name).decode())
        names = archive.namelist()
    assert told["Version"] == firstlight.__version__
    assert told["License-Expression"] == "MIT"
    assert told["Requires-Python"] == ">=3.11"
    assert {"deep", "cluster", "docs", "dev"} == set(told.get_all("Provides-Extra"))
    assert told["Description-Content-Type"] == "text/markdown"
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "firstlight/py.typed" in names


def test_changelog_and_citation_name_this_version():
    version = re.escape(firstlight.__version__)
    dated = re.search(rf"^## {version} \((\d{{4}}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert dated
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {firstlight.__version__}\n" in citation
    assert f'\ndate-released: "{dated[1]}"\n' in citation
