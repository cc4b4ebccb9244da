"""How fast the laboratory is as a reader feels it, in Chromium. `make bench-explore` runs this script."""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))
from benchmarks._table import rounded, write
from running_server import Server

PATIENCE = 300_000  # milliseconds
MOVES = {  # a slider of each page, the target for its first curve and for the refined one, in milliseconds
    "one_step": ("beta", 200, 2000),
    "early_alignment": ("scale", 100, 2000),
    "phase_transition": ("delta", 200, 2000),
    "unseen_classes": ("strength", 100, 2000),
}
_ARMS = '["network","hermite","conditional_gaussian"]'
_STREAMED = {"dimension": 40, "samples": 0.5, "trials": 40, "arms": _ARMS}  # 1280 records
_MOVE = """async ([name, value]) => {
  const input = document.querySelector(`#control-${name}`);
  const panel = document.querySelector('.panel');
  const before = Number(panel.dataset.shown);
  const start = performance.now();
  input.value = value;
  input.dispatchEvent(new Event('input', { bubbles: true }));
  while (Number(panel.dataset.shown) === before) await new Promise(requestAnimationFrame);
  const first = performance.now() - start;
  while (panel.classList.contains('coarse')) await new Promise(requestAnimationFrame);
  return [first, performance.now() - start];
}"""
_FRAMES = """async () => {
  document.querySelector('button.primary').click();
  const state = () => document.querySelector('.run').dataset.state;
  while (state() !== 'running') {
    if (state() === 'asks') document.querySelector('.run .answers button').click();
    await new Promise(requestAnimationFrame);
  }
  const start = performance.now();
  let frames = 0;
  while (state() === 'running' && performance.now() - start < 60000) {
    await new Promise(requestAnimationFrame);
    frames += 1;
  }
  return 1000 * frames / (performance.now() - start);
}"""
Row = tuple[str, str, float, str, float]  # part, what, measured, unit, target


def settled(page: Page) -> None:
    page.wait_for_selector("article[data-settled]", timeout=PATIENCE)


def cold(browser: Browser, folder: str) -> Iterator[Row]:
    """Time a start, from the command to a page that can be used, and to its first curve."""
    began, page = time.perf_counter(), browser.new_page()
    server = Server(f"{folder}/cold.sqlite")
    page.goto(server.address + "/theory/one_step")
    page.wait_for_selector(".controls", timeout=PATIENCE)
    yield "start", "command to a page whose controls are there", time.perf_counter() - began, "s", 4
    page.wait_for_selector(".panel[data-shown]", timeout=PATIENCE)
    yield "start", "command to the first curve of one_step", time.perf_counter() - began, "s", 4
    page.close()
    server.stop()


def slider(page: Page, server: Server, theory: str) -> Iterator[Row]:
    """Time the first and the refined picture over moves of one slider."""
    control, *targets = MOVES[theory]
    page.goto(f"{server.address}/theory/{theory}")
    settled(page)
    low, high = (float(page.get_attribute(f"#control-{control}", bound) or 0) for bound in ("min", "max"))
    moves = [low + (high - low) * (0.3 + 0.4 * i / 11) for i in range(12)]
    times = [page.evaluate(_MOVE, [control, str(value)]) for value in moves]
    for what, some, target in zip(("first", "refined"), zip(*times[2:], strict=True), targets, strict=True):
        yield theory, f"slider to the {what} picture, median", statistics.median(some), "ms", target


def frames(page: Page, server: Server) -> Iterator[Row]:
    """Count frames while the records of a run stream in."""
    page.goto(f"{server.address}/theory/one_step?{urlencode(_STREAMED)}")
    settled(page)
    yield "run", "frames while 1280 records stream in", page.evaluate(_FRAMES), "per s", 30


def tabs(browser: Browser, server: Server) -> Iterator[Row]:
    """Move a slider in eight tabs at once; each must show the numbers that the server has for its values."""
    pages, wanted = [browser.new_page() for _ in range(8)], [2.0 + 0.1 * i for i in range(8)]
    for page in pages:
        page.goto(f"{server.address}/theory/unseen_classes")
    for page in pages:
        settled(page)
    began = time.perf_counter()
    for page, value in zip(pages, wanted, strict=True):
        page.fill("[data-control=strength] .exact", str(value))
        page.keyboard.press("Enter")
    for page in pages:
        settled(page)
    yield "tabs", "eight moved at once, until all are refined", time.perf_counter() - began, "s", 8
    seen = [
        (page.get_attribute("article", "data-settled"), page.evaluate(
            "document.querySelector('[data-panel=alignment] .canvas').data[0].y"))
        for page in pages
    ]  # fmt: skip
    right = 0
    for value, (values, shown) in zip(wanted, seen, strict=True):
        told = server.events(f"/api/theories/unseen_classes/pictures?{urlencode({'values': values})}")
        last = [one["panels"]["alignment"] for one in told if "panels" in one][-1]["data"][0]["y"]
        right += json.loads(values or "{}")["strength"] == value and last == shown
    yield "tabs", "of eight, those that show their own numbers", right, "", 8
    for page in pages:
        page.close()


def measured() -> Iterator[Row]:
    """Yield all rows, with one server and one browser."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield from cold(browser, folder)
        server, page = Server(f"{folder}/study.sqlite"), browser.new_page()
        for theory in MOVES:
            yield from slider(page, server, theory)
        yield from frames(page, server)
        yield from tabs(browser, server)
        browser.close()
        server.stop()


def row(part: str, what: str, value: float, unit: str, target: float) -> dict[str, Any]:
    """Return a row as it is kept; times must be at most the target, counts at least."""
    good = value <= target if unit in ("s", "ms") else value >= target
    bound = f"{'≤' if unit in ('s', 'ms') else '≥'} {target:g} {unit}".strip()
    kept = {"part": part, "what": what, **rounded({"measured": value}), "unit": unit, "target": bound}
    return kept | {"met": good, "load": round(os.getloadavg()[0], 1)}


def main() -> None:
    """Print the table, and keep it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", metavar="FILE")
    save, rows = parser.parse_args().save, []
    for one in measured():
        rows.append(row(*one))
        print(*rows[-1].values(), sep=" | ", flush=True)
    if save:
        write(save, rows)


if __name__ == "__main__":
    main()
