"""What to cite: every key renders, every way of asking finds it, unknown names are refused."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from firstlight.cli.cite import cite as command
from firstlight.references import bibtex, cite, entries, keys_of
from firstlight.study.registry import theories

ENTRIES = entries()


def app() -> typer.Typer:
    main = typer.Typer()
    main.command("cite")(command)
    return main


@pytest.mark.parametrize("key", ENTRIES)
def test_every_entry_is_balanced_bibtex_with_title_and_year(key):
    text = cite(key)
    assert re.match(rf"@(article|inproceedings|misc){{{key},\n", text)
    assert text.count("{") == text.count("}")
    assert {"title", "year"} <= set(dict(ENTRIES[key].fields))
    assert text.isascii(), "accents are written in BibTeX's way"


@pytest.mark.parametrize("key", ENTRIES)
def test_year_in_the_key_is_the_year_in_the_entry(key):
    assert re.search(r"\d{4}", key).group() == dict(ENTRIES[key].fields)["year"]


def test_the_software_is_cited_as_its_citation_file_says():
    import firstlight

    file = (Path(__file__).parents[1] / "CITATION.cff").read_text("utf-8")
    fields = dict(ENTRIES["firstlight2026"].fields)
    assert f'title: "{fields["title"]}"' in file
    assert f'date-released: "{fields["year"]}' in file
    assert f"version: {fields['note'].split()[-1]}" in file
    assert firstlight.__version__ in fields["note"]
    assert cite("firstlight") == cite("firstlight2026")


def test_every_theory_has_a_source():
    assert {"one_step", "early_alignment", "phase_transition", "unseen_classes"} <= set(theories())
    for theory in theories().values():
        assert theory.references


def test_spelling_of_a_theory_is_forgiving():
    assert cite("One-Step") == cite("one_step") == bibtex(theories()["one_step"].references)


def test_objects_classes_and_functions_with_references():
    class Problem:
        references = ("min2024early", "cho2009kernel")

    def method():
        pass

    method.references = "williams1997computing"
    assert cite(Problem) == cite(Problem()) == bibtex(["min2024early", "cho2009kernel"])
    assert keys_of(method) == ("williams1997computing",)
    assert cite(SimpleNamespace(references=())) == ""


def test_everything_without_a_name():
    assert cite().count("@") == len(ENTRIES)


def test_unknown_name_suggests_a_close_one():
    with pytest.raises(ValueError, match=r"name = 'min2024erly'.*did you mean min2024early"):
        cite("min2024erly")
    with pytest.raises(ValueError, match=r"known names: .*one_step"):
        cite("???")


@pytest.mark.parametrize("thing", [3, object(), len, SimpleNamespace(references=7)])
def test_objects_without_references_are_refused(thing):
    with pytest.raises(ValueError, match=r"^thing = .*references"):
        cite(thing)


def test_object_with_an_unknown_key_is_refused():
    with pytest.raises(ValueError, match=r"references = \['nobody1900'\]"):
        cite(SimpleNamespace(references=("nobody1900", "min2024early")))


def test_command_prints_bibtex_once_per_key():
    result = CliRunner().invoke(app(), ["early_alignment", "min2024early"])
    assert result.exit_code == 0
    assert result.stdout.count("@inproceedings{min2024early,") == 1
    assert CliRunner().invoke(app(), []).stdout.strip() == cite()


def test_command_prints_json():
    result = CliRunner().invoke(app(), ["one_step", "--json"])
    parsed = json.loads(result.stdout)
    assert list(parsed) == list(theories()["one_step"].references)
    assert parsed["demir2025onestep"]["eprint"] == "2503.00856"


def test_command_refuses_unknown_names_in_one_line():
    result = CliRunner().invoke(app(), ["nosuchpaper"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "nosuchpaper" in result.stderr
