"""The README's Python examples run, as they stand."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_readme_has_examples_of_at_most_ten_lines():
    assert EXAMPLES
    for example in EXAMPLES:
        assert len([line for line in example.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_prints_what_its_comments_say(number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[number], f"README example {number + 1}", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out.split()
    told = re.findall(r"print\(.*\)  # ([\w.]+)", EXAMPLES[number])
    assert len(told) == len(printed) > 0
    for said, each in zip(told, printed, strict=True):  # three digits are written
        assert said == each or float(said) == pytest.approx(float(each), rel=0.005)


def test_the_commands_that_it_names_exist():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([a-z]+)`", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[.+\]\((.+?)\)", README)
    assert pictures
    for picture in pictures:
        assert (Path(__file__).parents[1] / picture).read_bytes().startswith(b"\x89PNG")
