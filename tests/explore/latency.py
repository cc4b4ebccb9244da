"""Slider to new curve, as a reader feels it: medians by page, in Chromium. Run it as a script."""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent))
from conftest import Server

_ARMS = '["network","hermite","conditional_gaussian"]'  # 1280 records
MOVES = {
    "one_step": "beta",
    "early_alignment": "scale",
    "phase_transition": "delta",
    "unseen_classes": "strength",
}
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


def measured(page, name: str) -> tuple[float, float]:
    """Return the medians of first and refined pictures over moves of one slider, in milliseconds."""
    low, high = (float(page.get_attribute(f"#control-{name}", bound)) for bound in ("min", "max"))
    moves = [low + (high - low) * (0.3 + 0.4 * i / 11) for i in range(12)]
    times = [page.evaluate(_MOVE, [name, str(value)]) for value in moves]
    first, refined = zip(*times[2:], strict=True)
    return statistics.median(first), statistics.median(refined)


_FRAMES = """async () => {
  document.querySelector('button.primary').click();
  const state = () => document.querySelector('.run').dataset.state;
  while (state() !== 'running') {
    if (state() === 'asks') document.querySelector('.run .answers button').click();
    await new Promise(requestAnimationFrame);
  }
  const start = performance.now();
  let frames = 0;
  while (state() === 'running' && performance.now() - start < 20000) {
    await new Promise(requestAnimationFrame);
    frames += 1;
  }
  return [1000 * frames / (performance.now() - start), document.querySelector('.run .state').textContent];
}"""


def main() -> None:
    """Print the table."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        server = Server(f"{folder}/study.sqlite")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(server.address + "/theory/one_step")
        page.wait_for_selector(".controls")
        found: dict[str, object] = {"cold start to controls, s": time.perf_counter() - began}
        page.wait_for_selector(".panel[data-shown]", timeout=120_000)
        found["cold start to the first curve, s"] = time.perf_counter() - began
        for theory, control in MOVES.items():
            page.goto(f"{server.address}/theory/{theory}")
            page.wait_for_selector("article[data-settled]", timeout=300_000)
            first, refined = measured(page, control)
            print(theory, first, refined, file=sys.stderr, flush=True)
            found[theory] = f"first {first:.0f} ms, refined {refined:.0f} ms"
        page.goto(f"{server.address}/theory/one_step?dimension=40&samples=0.5&trials=40&arms={_ARMS}")
        page.wait_for_selector("article[data-settled]", timeout=300_000)
        frames, said = page.evaluate(_FRAMES)
        found["frames per second while records stream in"] = f"{frames:.0f} ({said})"
        found["load"] = os.getloadavg()[0]
        browser.close()
        server.stop()
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
