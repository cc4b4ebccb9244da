"""The laboratory in a real browser: pages, themes, a narrow window, keyboard, runs, links, exports."""

import csv
import json
import math
import os
import re
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlparse

import pytest

from firstlight.show.claims import page as claims_page
from firstlight.show.evidence import Row
from firstlight.study import registry
from firstlight.study.claims import Estimate, Statement, judged

THEORIES = [theory.name for theory in registry.theories().values() if theory.page is not None]
PATIENCE = 60_000  # milliseconds; a machine that does other things is slow
SMALL = "dimension=40&trials=1&samples=0.5"


@contextmanager
def opened(browser, server, path, width=1280, theme="light"):
    """A page as if it were the first, that must ask nobody else for anything and complain of nothing."""
    page = tab(browser)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    asked, complaints = [], []
    listeners = {
        "request": lambda request: asked.append(request.url),
        "console": lambda said: complaints.append(said.text) if said.type == "error" else None,
        "pageerror": lambda error: complaints.append(str(error)),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        page.goto(server.address + path)
        yield page
        page.evaluate("localStorage.clear()")  # nothing else is kept from page to page
    except BaseException:
        page.context.close()  # a key may be down, an answer on its way
        raise
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert not [url for url in asked if not url.startswith((server.address, "data:", "blob:"))]
    assert not complaints


def tab(browser):
    """The one tab of all tests: each new one has a process of its own, which compiles plotly anew."""
    if not browser.contexts:
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        context.new_page()
    return browser.contexts[0].pages[0]


def drawn(page, panel=None):
    """Wait until every panel, or one, has a picture."""
    chosen = f'.panel[data-panel="{panel}"]' if panel else ".panel"
    page.wait_for_function(
        "chosen => { const all = [...document.querySelectorAll(chosen)];"
        " return all.length && all.every(one => one.dataset.shown); }",
        arg=chosen,
    )


# Texts of less contrast than WCAG's AA asks for: 4.5, and 3 for large letters.
_FAINT = """() => {
  const numbers = (colour) => {
    const found = colour.match(/[-\\d.]+/g)?.map(Number) ?? [];
    const [r, g, b, opaque = 1] = found;
    return colour.startsWith("color(") ? [255 * r, 255 * g, 255 * b, opaque] : [r, g, b, opaque];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const [said, element] = [texts.currentNode.textContent.trim(), texts.currentNode.parentElement];
    const seen = element.checkVisibility({ visibilityProperty: true });
    if (!said || !seen || element.closest(":disabled, style")) continue;
    const style = getComputedStyle(element);
    const drawn = element.closest("svg");
    let [shown, papers] = [1, []];
    for (let one = element; one; one = one.parentElement) {
      shown *= Number(getComputedStyle(one).opacity);
      if (!one.closest("svg")) papers.unshift(numbers(getComputedStyle(one).backgroundColor));
    }
    const paper = papers.reduce((below, one) => over(one, below), [255, 255, 255, 1]);
    const [r, g, b, opaque] = numbers(drawn ? style.fill : style.color);
    const ink = over([r, g, b, opaque * shown], paper);
    const [dim, bright] = [light(ink), light(paper)].sort((one, other) => one - other);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if ((bright + 0.05) / (dim + 0.05) < (large ? 3 : 4.5)) faint.push(said.slice(0, 40));
  }
  return faint;
}"""


def settled(page):
    """Wait until the page shows what its controls say, refined; return their values."""
    return json.loads(page.wait_for_selector("article[data-settled]").get_attribute("data-settled"))


@pytest.mark.parametrize("name", THEORIES)
def test_every_theory_in_a_wide_light_window(browser, server, name):
    with opened(browser, server, f"/theory/{name}") as page:
        drawn(page)
        page.wait_for_selector(".assumed li")
        assert page.locator("math").count() > 2
        for panel in page.locator(".panel").all():  # every picture is a table too
            panel.locator("button:has-text('Table')").click()
            assert panel.locator("tbody tr").count() > 0
            panel.locator("button:has-text('Table')").click()
        assert page.locator(".error:visible, .panel.stale").count() == 0
        settled(page)
        assert page.evaluate(_FAINT) == []


@pytest.mark.parametrize("name", THEORIES)
def test_every_theory_in_a_narrow_dark_window(browser, server, name):
    with opened(browser, server, f"/theory/{name}", width=400, theme="dark") as page:
        drawn(page)
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.evaluate(_FAINT) == []


def test_the_first_page_shows_every_theory_with_a_live_picture(browser, server):
    with opened(browser, server, "/") as page:
        for name in THEORIES:
            page.wait_for_selector(f'a.card[href="/theory/{name}"][data-drawn=yes]')
        assert page.evaluate(_FAINT) == []
        page.click("#theme")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_link_brings_the_state_back(browser, server):
    with opened(
        browser, server, "/theory/one_step?beta=0.3&sweep=alpha&arms=%5B%22network%22%2C%22hermite%22%5D"
    ) as page:
        drawn(page)
        assert page.input_value("#control-beta") == "0.3"
        assert page.input_value("#control-sweep") == "alpha"
        assert page.is_checked('[data-control=arms] input[value="hermite"]')
        page.select_option("#control-activation", "tanh")
        page.wait_for_function("() => location.search.includes('activation=tanh')")
        found = parse_qs(urlparse(page.url).query)
        assert found == {
            "beta": ["0.3"],
            "sweep": ["alpha"],
            "arms": ['["network","hermite"]'],
            "activation": ["tanh"],
        }
    with opened(browser, server, "/theory/one_step?beta=%7Bbroken") as page:
        for broken in ("null", "true", "1e400", "[]", "%7Bbroken"):
            page.goto(f"{server.address}/theory/one_step?beta={broken}")
            assert "beta in the address" in page.wait_for_selector(".error:visible").inner_text()
        drawn(page)


def test_what_no_answer_came_for_is_not_shown_as_one(browser, server):
    with opened(browser, server, "/theory/phase_transition?target=z9") as page:
        settled(page)  # for this target there are thresholds, and no spectrum
        assert page.inner_text(".error:visible") == (
            "target = z9: has no hard direction; every direction is learnt at once"
        )
        assert page.locator(".panel.stale").count() == 3
        assert "stale" not in page.get_attribute('[data-panel="thresholds"]', "class")
        page.fill("[data-control=delta] .exact", "")
        page.press("[data-control=delta] .exact", "Enter")
        assert page.input_value("[data-control=delta] .exact") == "7.6"


def test_the_keyboard_alone_moves_a_slider_and_a_point(browser, server):
    with opened(browser, server, "/theory/unseen_classes") as page:
        settled(page)
        page.focus("#control-strength")
        before = page.input_value("[data-control=strength] .exact")
        page.keyboard.press("ArrowRight")
        assert page.input_value("[data-control=strength] .exact") != before
        for _ in range(60):  # from the controls on to the first class, by Tab alone
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('movable')"):
                break
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => location.search.includes('means=')")
        means = json.loads(parse_qs(urlparse(page.url).query)["means"][0])
        assert means[0][0] == pytest.approx(4.12)  # a hundredth of the picture's width


def test_a_dragged_datum_changes_the_fates(browser, server):
    with opened(browser, server, "/theory/early_alignment?width=6") as page:
        settled(page)
        told = page.inner_text('[data-panel="plane"] .note')
        box = page.locator('[data-place="1 14"]').bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] - 200, box["y"] - 160, steps=4)
        page.mouse.up()
        rows = settled(page)["data"]
        assert len(rows) == 25
        assert rows[14][0] < 0.5  # it was near (1, 0), and follows the hand
        assert page.inner_text('[data-panel="plane"] .note') != told
        page.click("button.play")
        page.wait_for_function("() => document.querySelector('.clock').textContent !== 't = 0'")
        page.click("button.play")
        page.locator('[data-panel="plane"] .time input').fill("1")
        page.fill("[data-control=horizon] .exact", "20")
        page.press("[data-control=horizon] .exact", "Enter")
        assert settled(page)["horizon"] == 20  # where the line of the moment is moved to, and the axis ends
        ends = page.evaluate("document.querySelector('[data-panel=loss] .canvas').layout.xaxis.range")
        assert ends[1] == pytest.approx(20, abs=1)


def test_one_neuron_is_dragged_by_its_ray_or_moved_by_keys(browser, server):
    start = [[0.6, 0.8, 1], [-0.8, 0.6, -1]]
    near = [[0.64, 0.77, 1], [-1, 0, -1]]  # a datum whose grip covers the tip of the first neuron's ray
    search = urlencode({"neurons": json.dumps(start), "data": json.dumps(near)})
    with opened(browser, server, f"/theory/early_alignment?{search}") as page:
        settled(page)
        box = page.locator('[data-place="0 0"] .grip').bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 30, y + 60, steps=3)
        page.mouse.up()
        values = settled(page)
        dragged = values["neurons"]
        assert dragged[0][1] < 0.7  # it was at 0.8, and follows the hand; its neighbours stay
        assert (dragged[1], values["data"]) == (start[1], near)
        page.locator('[data-panel="plane"] .time input').fill("0.5")
        page.focus('[data-place="0 0"]')
        page.keyboard.press("Shift+ArrowUp")
        assert page.input_value('[data-panel="plane"] .time input') == "0"  # points are moved at the start
        moved = settled(page)["neurons"]
        assert moved[1] == start[1]
        assert moved[0][1] == pytest.approx(dragged[0][1] + 0.125, abs=2e-3)  # a twentieth of the width
        page.click('[data-panel="plane"] button:has-text("Table")')
        first = page.locator('[data-panel="plane"] tbody tr').first.locator("td").all_inner_texts()
        assert float(first[4]) == pytest.approx(math.atan2(moved[0][1], moved[0][0]), abs=1e-4)  # five digits
        for kind, mark in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
            with page.expect_download() as waiting:
                page.click(f'[data-panel="plane"] button:has-text("{kind}")')
            assert Path(waiting.value.path()).read_bytes().startswith(mark)


_THREE_KEYS = """async (place) => {
  const later = window.setTimeout;
  window.setTimeout = (what, wait) => later(what, wait === 400 ? 60000 : wait); // an answer is waited for
  const panel = document.querySelector('[data-panel=plane]');
  const point = document.querySelector(`[data-place="${place}"]`);
  const heights = [];
  new MutationObserver(() => heights.push(Number(point.getAttribute('transform').match(/[0-9.-]+/g)[1])))
    .observe(point, { attributes: true, attributeFilter: ['transform'] });
  const press = () => point.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true }));
  const shown = panel.dataset.shown;
  press();
  press();
  while (panel.dataset.shown === shown) await new Promise(requestAnimationFrame);
  press(); // the first has been answered, the second not yet
  return heights;
}"""


@pytest.mark.parametrize(("place", "control"), [("0 0", "neurons"), ("1 0", "data")])
def test_a_late_answer_moves_nothing_that_was_moved_since(browser, server, place, control):
    search = urlencode({"neurons": "[[1,0.1,1]]", "data": "[[1,0.1,1],[0,1,1]]"})
    with opened(browser, server, f"/theory/early_alignment?{search}") as page:
        settled(page)
        heights = page.evaluate(_THREE_KEYS, place)
        assert heights == sorted(heights, reverse=True)  # pixels count downwards: it never went back
        assert settled(page)[control][0] == [1, 0.175, 1]  # three hundredths of the width


def test_a_late_answer_waits_while_a_point_is_held(browser, server):
    with opened(browser, server, "/theory/early_alignment?width=3&horizon=5") as page:
        settled(page)
        point = page.locator('[data-place="0 0"]')
        before = point.get_attribute("transform")
        box = point.locator(".grip").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.fill("[data-control=seed] .exact", "2")  # draws other neurons, while one is held
        page.dispatch_event("[data-control=seed] .exact", "change")
        assert settled(page)["seed"] == 2
        assert point.get_attribute("transform") == before
        page.mouse.up()  # it was not dragged: now the answer is shown
        shown = point.get_attribute("transform")
        page.reload()
        settled(page)
        assert shown == point.get_attribute("transform") != before


def test_export_and_table_hold_the_numbers_of_the_library(browser, server, tmp_path):
    from firstlight.explore.pages import page as described
    from firstlight.one_step import Problem

    with opened(browser, server, f"/theory/one_step?{SMALL}&sweep=beta") as page:
        settled(page)
        with page.expect_download() as waiting:
            page.click('[data-panel="errors"] button:has-text("CSV")')
        path = Path(waiting.value.path())
        rows = list(csv.reader(path.read_text().splitlines()))
        curve = {float(row[1]): float(row[2]) for row in rows[1:] if row[0] == "test error, theory"}
        problem = Problem.scaled(dimension=40, width=40, samples=20, alpha=0.5, beta=1.0)
        note = page.inner_text('[data-panel="errors"] .note')
        draws = int(re.fullmatch(r"mean over (\d+) draws of the first layer", note)[1])
        mean = sum(float(problem.predict(draw).test_error) for draw in range(draws)) / draws
        assert curve[1.0] == pytest.approx(mean, rel=1e-5)  # seven digits travel
        page.click('[data-panel="errors"] button:has-text("Table")')
        assert page.locator('[data-panel="errors"] tbody tr').count() == len(rows) - 1
        page.click("text=Copy as Python")
        page.wait_for_function("() => window.copied")
        scope: dict = {}
        program = page.evaluate("window.copied").replace(
            "run(study)", f"run(study, {str(tmp_path / 's.sqlite')!r}, workers=0)"
        )
        exec(compile(program, "copied", "exec"), scope)
        one_step = described("one_step")
        values = one_step.clean({"dimension": 40, "trials": 1, "samples": 0.5, "sweep": "beta"})
        assert scope["results"].attrs["fingerprint"]
        assert scope["study"].axes == one_step.study(values).axes
        for kind in ("png", "svg"):
            with page.expect_download() as waiting:
                page.click(f'[data-panel="relative"] button:has-text("{kind.upper()}")')
            assert Path(waiting.value.path()).stat().st_size > 1000


def test_one_network_has_no_standard_error(browser, server):
    with opened(browser, server, f"/theory/one_step?{SMALL}&beta=0.35") as page:
        settled(page)
        page.click("button.primary")
        page.wait_for_selector(".run[data-state=done]")
        page.click('[data-panel="errors"] button:has-text("Table")')
        rows = page.locator('[data-panel="errors"] tbody tr:has-text("network")')
        assert [row.inner_text().split("\t")[-1] for row in rows.all()] == ["–"] * 8
        page.click('[data-panel="errors"] button:has-text("Table")')
        with page.expect_download() as waiting:
            page.click('[data-panel="errors"] button:has-text("CSV")')
        *_, last = csv.reader(Path(waiting.value.path()).read_text().splitlines())
        assert (last[0], last[3]) == ("test error, network", "")


def test_a_run_outlives_a_refresh(browser, server):
    path = f"/theory/one_step?{SMALL}&beta=0.45"
    with opened(browser, server, path) as page:
        settled(page)
        page.click("button.primary")
        page.wait_for_selector(".run[data-state=done], .run[data-state=stored]")
        page.reload()
        settled(page)
        page.wait_for_selector(".run[data-state=stored]")
        page.wait_for_function(
            "() => Number(document.querySelector('[data-panel=errors]').dataset.points) === 8"
        )
        assert page.get_attribute("[data-panel=errors]", "data-points") == "8"


def test_a_run_is_found_again_cancelled_and_resumed(browser, server):
    with opened(browser, server, "/theory/one_step?dimension=80&trials=40&beta=0.45") as page:
        settled(page)
        page.focus("button.primary")
        page.keyboard.press("Enter")
        page.wait_for_selector("button:has-text('Cancel')")
        page.reload()  # the run goes on, and the page finds it again
        page.wait_for_selector('[data-panel="errors"][data-points]:not([data-points="0"])')
        assert page.locator(".run .others li").count() == 0  # it is not listed as another's too
        page.click("button:has-text('Cancel')")
        page.wait_for_selector(".run[data-state=cancelled]")
        kept = int(re.match(r"cancelled; (\d+) records are kept", page.inner_text(".run .state"))[1])
        page.click("button:has-text('Go on with the run')")
        page.wait_for_selector(".run[data-state=running] .state:has-text(' of 640 records')")
        assert int(page.inner_text(".run .state").split()[0]) >= kept > 0
        page.click("button:has-text('Cancel')")


def test_a_question_is_about_the_settings_that_asked(browser, server):
    """A run of an hour asks; with other settings on the page its answer would start what nobody looks at."""
    with opened(browser, server, "/theory/one_step?dimension=300&trials=40&samples=4&beta=0.45") as page:
        page.wait_for_selector(".run .state:has-text(' records')")
        page.click("button.primary")
        page.wait_for_selector("button:has-text('Run it'):visible")
        exact = page.locator("[data-control=beta] .exact")
        for _ in range(2):  # changed, and found again after a refresh
            exact.fill("0.5")
            exact.press("Enter")
            page.wait_for_selector(".run .state:has-text('other settings')")
            assert not page.is_visible("button:has-text('Run it')")
            page.wait_for_function("() => location.search.includes('beta=0.5')")
            page.reload()
        page.click("button:has-text('show its settings')")
        page.wait_for_selector("button:has-text('Run it'):visible")
        assert exact.input_value() == "0.45"
        exact.fill("0.5")
        exact.press("Enter")
        page.click("button.primary")  # the new question takes the place of the old one
        page.wait_for_selector("button:has-text('Run it'):visible")
        asking = [run for run in server.json("/api/runs")["runs"] if run["state"] == "asks"]
        assert [run["values"]["beta"] for run in asking] == [0.5]
        page.click("button:has-text('Cancel')")
        page.wait_for_selector(".run[data-state=cancelled]")
        assert page.evaluate("document.activeElement.className") == "primary"  # Cancel had it, and is gone


def test_who_waits_on_a_button_keeps_it_while_progress_is_told(browser, server):
    with opened(browser, server, "/theory/one_step?dimension=60&trials=40&beta=0.55") as page:
        settled(page)
        page.click("button.primary")
        counted = ".run[data-state=running] .state:has-text(' of 640 records')"
        page.wait_for_selector(f"{counted}, button:has-text('Run it'):visible")
        if page.is_visible("button:has-text('Run it')"):  # a busy machine asks
            page.click("button:has-text('Run it')")
        page.wait_for_selector(counted)
        page.focus("button:has-text('Cancel')")
        told = page.inner_text(".run .state")
        page.wait_for_function("told => document.querySelector('.run .state').textContent !== told", arg=told)
        page.keyboard.press("Enter")
        page.wait_for_selector(".run[data-state=cancelled]")
        assert page.inner_text(".run .state").startswith("cancelled")


def test_what_cannot_be_copied_is_said(browser, server):
    with opened(browser, server, "/theory/one_step") as page:
        settled(page)
        page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('gone')); }")
        page.click("button:has-text('Copy as Python')")
        page.wait_for_selector(".take [role=status]:has-text('firstlight explore')")
        assert "copied" not in page.inner_text(".take [role=status]")


def test_training_classes_of_ones_own_file_are_chosen(browser, server, tmp_path):
    lines = ["a,b,c,tree"] + [
        f"{(i * 37) % 11 + i % 5},{(i * 53) % 7},{i % 3},{['ash', 'elm', 'fir', 'oak', '<i>'][i % 5]}"
        for i in range(100)
    ]
    (tmp_path / "trees.csv").write_text("\n".join(lines))
    with opened(browser, server, "/theory/unseen_classes") as page:
        page.wait_for_selector(".run .state:has-text(' records')")
        page.select_option("#control-source", "file")
        page.wait_for_selector(".error:has-text('your file')")  # which must be chosen first
        assert page.inner_text(".run .state") == ""  # of no file, no records are counted
        page.fill("[aria-label='column of the labels']", "tree")
        page.set_input_files("#control-file", tmp_path / "trees.csv")
        said = page.locator('[data-control="file"] [role=status]')
        said.filter(has_text="100 rows, 3 columns; train on").wait_for()
        whole = settled(page)["file"]["table"]
        left_out = page.locator("[aria-label='columns to leave out, by name']")
        left_out.fill("c")
        left_out.press("Enter")
        said.filter(has_text="100 rows, 2 columns; train on").wait_for()
        assert settled(page)["file"]["table"] != whole
        page.click('[data-control="file"] .chip:has-text("oak")')
        page.wait_for_function("() => location.search.includes('oak')")
        page.reload()
        settled(page)
        chosen = page.locator('[data-control="file"] input:checked')
        assert [one.input_value() for one in chosen.all()] == ["<i>", "ash", "oak"]
        page.click('[data-panel="recall"] button:has-text("Table")')
        rows = [row.inner_text().split("\t") for row in page.locator('[data-panel="recall"] tbody tr').all()]
        known = {row[1] for row in rows if row[2] not in ("", "–")}
        assert known == {"elm", "fir"}


def test_no_heading_of_the_claims_breaks_within_a_word(browser):
    """Words of the cells may break: without room they left `verdi|ct` above a short verdict."""
    long = Statement("one two " * 40, "source", "place " * 9, "number " * 30, "rule " * 30)
    claim = judged(long, [Estimate("share " * 20, 1, 0.5, 2)] * 3)
    tab(browser).set_content(
        claims_page([Row("t", "t/s", "quick", claim, "d = 9, " * 9, 3, 3, 0, "", 1, 0.0)])
    )
    lines = """() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector("th"));
      return range.getClientRects().length;
    }"""
    for width in (1280, 800):
        tab(browser).set_viewport_size({"width": width, "height": 900})
        assert tab(browser).evaluate(lines) == 1


_DROP = """([name, text]) => {
  const brought = new DataTransfer();
  brought.items.add(new File([text], name));
  const drop = { dataTransfer: brought, bubbles: true, cancelable: true };
  document.body.dispatchEvent(new DragEvent('drop', drop));
}"""


def test_a_file_of_ones_own_is_diagnosed(browser, server, tmp_path):
    lines = ["a,b,<b>label</b>"] + [
        f"{(i * 37) % 11},{(i * 53) % 7},{'yes' if i % 2 else 'no'}" for i in range(80)
    ]
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    with opened(browser, server, "/data") as page:
        page.fill("#seconds", "5")
        page.fill("#labels", "<b>label</b>")
        page.set_input_files("#file", tmp_path / "mine.csv")
        page.evaluate(_DROP, ["again.csv", "\n".join(lines)])  # while the first is being read
        page.wait_for_selector(".drop:has-text('again.csv')")
        page.wait_for_timeout(300)
        assert page.locator("button:has-text('Cancel')").is_visible()
        page.wait_for_selector(".result:visible")
        assert page.evaluate(
            "document.querySelector('.diagnosis').shadowRoot.textContent.includes('80 rows')"
        )
        assert (
            page.evaluate("document.querySelector('.diagnosis').shadowRoot.querySelectorAll('script').length")
            == 0
        )
        page.fill("#labels", "")
        page.evaluate(_DROP, ["bad.csv", "a,b\n1,2\n"])
        page.wait_for_selector(".error:visible")
        assert "bad.csv" in page.inner_text(".error")


def test_a_file_that_was_mended_can_be_chosen_again(browser, server, tmp_path):
    """As a reader does who is told of a column: the browser holds the file as it was when it was chosen."""
    mine = tmp_path / "mine.csv"
    mine.write_text("a,b,label\n" + "1,x,yes\n2,z,no\n" * 20)
    with opened(browser, server, "/data") as page:
        page.fill("#seconds", "5")
        page.set_input_files("#file", mine)
        page.wait_for_selector(".error:has-text('not a number')")
        mine.write_text("a,b,label\n" + "1,3,yes\n2,4,no\n" * 40)
        os.utime(mine, (0, 0))  # whatever the clock's resolution
        page.click("button:has-text('Diagnose')")
        page.wait_for_selector(".error:has-text('mine.csv: has changed since it was chosen')")
        with page.expect_file_chooser() as choosing:
            page.click(".drop")
        choosing.value.set_files(mine)
        page.wait_for_selector(".result:visible")
        assert not page.is_visible(".error")
