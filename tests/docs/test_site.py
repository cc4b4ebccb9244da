"""A page that our settings build asks nobody for anything, fits a phone, and needs no script for formulas."""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
DOCS = Path(__file__).parents[2] / "docs"
PAGE = """# One page

A formula $\\hat{F} = F + \\eta G$, one on its own,

$$ E = \\frac{\\mathbb{E}\\,(y - \\varphi^\\top w)^2}{1 - \\gamma} \\qquad
   \\lambda = \\kappa ( 1 - \\tfrac{1}{m} \\mathrm{tr} A ) \\qquad x \\to y $$

a table, [a link](other.md#a-place), code and an option --dry-run.

| a long heading that goes on | another long heading | and a third one that does not fit |
|---|---|---|
| `firstlight_study_run_one_step_width` | `firstlight_study_run_one_step_width` | text |

```python
print("a line of code that is much longer than four hundred pixels can show at once, so that it scrolls")
```

```{toctree}
other
```
"""
OTHER = "# Another page\n\n## A place\n\nHere.\n"
EXTENSIONS = "myst_parser,sphinx.ext.autodoc,sphinx_copybutton,sphinx_design,mathml"  # no gallery: seconds


@pytest.fixture(scope="module")
def extensions():
    sys.path.insert(0, str(DOCS / "_ext"))
    import check_site
    import generated

    yield check_site, generated
    sys.path.remove(str(DOCS / "_ext"))


@pytest.fixture(scope="module")
def check(extensions):
    return extensions[0]


def test_tables_have_as_many_cells_in_each_line(extensions):
    """A bar within a cell, such as |w|², ended it."""
    _, generated = extensions
    for page in generated.measured(DOCS / "measured").values():
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in page.splitlines()}) == 1
    assert generated.table(["a"], [["|w|"]]).splitlines()[-1] == r"| \|w\| |"


def test_generated_pages_list_every_command_and_every_study(extensions):
    from firstlight.study.registry import studies

    _, generated = extensions
    assert "\n## firstlight study run\n" in generated.commands()
    page = generated.catalogue()
    assert all(f"| `{name}` | " in page for name in studies())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.md").write_text(PAGE)
    (folder / "other.md").write_text(OTHER)
    options = ["-q", "--fail-on-warning", "-c", DOCS, "-D", f"extensions={EXTENSIONS}"]
    subprocess.run(
        [sys.executable, "-m", "sphinx", *options, folder, folder / "html"], check=True, timeout=240
    )
    return folder / "html"


def test_formulas_are_mathml_and_options_keep_their_dashes(site):
    text = (site / "index.html").read_text("utf-8")
    assert text.count("<math") == 2
    assert "MathJax" not in text
    assert "--dry-run" in text


def test_its_links_lead_somewhere(site, check):
    assert list(check.broken(site)) == []


def in_a_browser(check, folder):
    """In a thread of its own: other tests of the same process may hold a browser open in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: list(check.unfit(folder))).result()


def test_a_browser_asks_no_other_machine_and_nothing_overflows(site, check):
    pytest.importorskip("playwright")
    if shutil.which("chromium") is None:
        pytest.skip("no Chromium here")
    assert in_a_browser(check, site) == []


def test_faults_are_found(tmp_path, check):
    (tmp_path / "index.html").write_text(
        "<!doctype html><body><img src='http://192.0.2.1/a.png'><a href='gone.html'>a</a>"
        "<a href='#nowhere'>b</a><div style='width: 3000px'>wide</div><script>throw Error('no')</script>"
    )
    assert [line.split(" ", 1)[1][:12] for line in check.broken(tmp_path)] == [
        "loads http:/", "links to gon", "links to #no",
    ]  # fmt: skip
    pytest.importorskip("playwright")
    if shutil.which("chromium") is None:
        pytest.skip("no Chromium here")
    told = " ".join(in_a_browser(check, tmp_path))
    assert "asks for http://192.0.2.1/a.png" in told
    assert "pixels too wide" in told
    assert "raises no" in told
