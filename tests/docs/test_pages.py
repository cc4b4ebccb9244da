"""The documentation's Python examples run, and the files and commands that it names are there."""

import importlib
import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SNIPPETS = [
    pytest.param(text, id=f"{page.relative_to(ROOT / 'docs')}-{number}")
    for page in PAGES
    if page.parent.name == "howto" or page.name == "start.md"
    for number, text in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("text", SNIPPETS)
def test_a_snippet_runs(text, tmp_path, monkeypatch, capsys):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    exec(compile(text, "snippet", "exec"), {"__name__": "snippet"})
    assert capsys.readouterr().out or list(tmp_path.iterdir()), "a snippet shows something"


@pytest.mark.parametrize(("name", "points"), [("study", 5), ("figure", 10)])
def test_the_study_in_a_file_is_read(name, points, tmp_path):
    from firstlight.study.toml import read_study
    from firstlight.study.trial import check

    page = (ROOT / "docs" / "howto" / f"{name}.md").read_text("utf-8")
    file = tmp_path / "study.toml"
    file.write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1], "utf-8")
    study = read_study(file)
    check(study)
    assert study.size == points


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "reference").glob("*.md")), ids=lambda page: page.stem
)
def test_modules_of_the_reference_exist(page):
    for name in re.findall(r"automodule:: (\S+)", page.read_text("utf-8")):
        assert importlib.import_module(name).__doc__, name


def test_commands_that_pages_name_exist():
    import typer

    from firstlight.cli import app

    known = {*typer.main.get_command(app).commands}
    for page in PAGES:
        for command in re.findall(r"^firstlight ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE):
            assert command in known, f"{page.name}: firstlight {command}"


def test_names_of_the_notation_are_names_of_the_code():
    code = " ".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    known = set(re.findall(r"\w+", code))
    rows = [
        re.split(r"(?<!\\)\|", line) for line in (ROOT / "docs/notation.md").read_text("utf-8").splitlines()
    ]
    named = [name for row in rows if len(row) > 4 for name in re.findall("`([^`]+)`", row[3])]
    words = [word for name in named for word in re.findall(r"[A-Za-z_]\w*", name)]
    assert len(words) > 100
    assert [word for word in words if word not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_pictures_and_links_lead_somewhere(page):
    made = (
        "tutorials/",
        "gallery/",
        "reference/studies",
        "reference/commands",
        "reference/campaigns",
    )  # at build time
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        bare = target.removeprefix("../")
        if bare.startswith(made):
            continue
        file = page.parent / target
        assert file.exists() or file.with_suffix(".md").exists(), f"{page.name}: {target}"
