"""Sixteen readers of one laboratory at once: every one gets an answer, and the server keeps its size.

    python campaigns/visitors.py [--count 10] [--log out/visitors.jsonl]

Readers draw pages to the end, leave in the middle of one, start and cancel runs, bring tables, have them
diagnosed, and ask what is refused. Failures are a status that does not belong there, a stream without its
end, an error in a picture, a missing panel, and memory, files or processes that the server does not give
back. Exit code 1 if there is any.
"""

import json
import re
import resource
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil
from endurance import PATIENCE, campaign_by_kind

sys.path.append(str(Path(__file__).parents[1] / "tests" / "explore"))
from running_server import Server

Rng = np.random.Generator
READERS, REQUESTS = 16, 10
GROWTH = 150.0  # MB: the pictures that are remembered (64 MB), and what Python does not give back


def pictures(server: Server, rng: Rng, pages: dict[str, Any]) -> None:
    """Draw a page at a preset's values to its end."""
    name, values = _chosen(rng, pages)
    told = server.events(f"/api/theories/{name}/pictures?values={values}")
    assert not [one["error"] for one in told if "error" in one], told
    drawn = {panel for one in told for panel in one.get("panels", {})}
    wanted = {panel["name"] for panel in pages[name]["panels"]}
    assert drawn == wanted, f"{name}: {wanted - drawn} did not come"


def leave(server: Server, rng: Rng, pages: dict[str, Any]) -> None:
    """Begin to read a page, and go."""
    name, values = _chosen(rng, pages)
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as line:
        ask = f"GET /api/theories/{name}/pictures?values={values} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}"
        line.sendall(f"{ask}\r\n\r\n".encode())
        line.settimeout(float(rng.exponential(2.0)))
        try:
            while line.recv(1 << 16):
                pass
        except TimeoutError:
            pass


def run(server: Server, rng: Rng, pages: dict[str, Any]) -> None:
    """Start a run, cancel it, and read its events to the end."""
    name, _ = _chosen(rng, pages)
    begun = server.json("/api/runs", {"theory": name, "values": {}})
    server.json(f"/api/runs/{begun['number']}", {"do": "cancel"})
    told = server.events(f"/api/runs/{begun['number']}/events")
    assert told[-1]["state"] in ("done", "cancelled", "failed"), told[-1]


def table(server: Server, rng: Rng, pages: dict[str, Any]) -> None:
    """Bring a table of four classes; it can be found again."""
    brought = server.ask("/api/tables?name=mine.csv&labels=kind", "POST", _rows(rng))
    assert brought[0] == 200, brought
    assert json.loads(brought[1]) == server.json(f"/api/tables/{json.loads(brought[1])['table']}")


def diagnosis(server: Server, rng: Rng, pages: dict[str, Any]) -> None:
    """Have a table diagnosed."""
    status, text = server.ask("/api/diagnose?name=mine.csv&labels=kind&seconds=2", "POST", _rows(rng))
    assert status == 200, text
    assert b'"page"' in text, text[-500:]
    assert text.endswith(b"event: end\ndata: {}\n\n"), text[-100:]


def small(server: Server, rng: Rng, pages: dict[str, Any]) -> None:
    """Ask for what is quick, and for what is refused."""
    name, values = _chosen(rng, pages)
    for path in ("/", "/api/theories", f"/api/theories/{name}/take?values={values}", "/api/runs"):
        assert server.ask(path)[0] == 200, path
    for path in (f"/api/theories/{name}/pictures?values=[", "/api/theories/none", "/api/tables/none"):
        assert server.ask(path)[0] == 400, path
    assert server.ask("/api/tables?name=mine.csv", "POST", rng.bytes(100))[0] == 400


ACTIONS: list[Callable[[Server, Rng, dict[str, Any]], None]] = [
    pictures, pictures, leave, leave, run, table, diagnosis, small,
]  # fmt: skip


def _chosen(rng: Rng, pages: dict[str, Any]) -> tuple[str, str]:
    name = str(rng.choice(list(pages)))
    presets = [{}, *(preset["values"] for preset in pages[name]["presets"])]
    return name, quote(json.dumps(presets[int(rng.integers(len(presets)))]))


def _rows(rng: Rng) -> bytes:
    lines = [f"{rng.normal():.3f},{rng.normal():.3f},{'abcd'[i % 4]}" for i in range(40)]
    return "\n".join(["x,y,kind", *lines]).encode()


def read(server: Server, seed: int, pages: dict[str, Any]) -> str:
    """Be one reader; return what went wrong."""
    rng = np.random.default_rng(seed)
    for _ in range(REQUESTS):
        action = ACTIONS[int(rng.integers(len(ACTIONS)))]
        try:
            action(server, rng, pages)
        except Exception as error:
            return f"{action.__name__}: {type(error).__name__}: {str(error)[:500]}"
    return ""


def _size(server: Server) -> tuple[float, int, int]:
    """Return memory in MB, open files and children of the server itself."""
    process = psutil.Process(server.process.pid)
    return process.memory_info().rss / 1e6, process.num_fds(), len(process.children())


def visitors(rng: Rng, folder: Path) -> str:
    """Let all readers in, twice: the first round loads and remembers, the second must not grow."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))  # the server would inherit what one call may take
    Server.patience = PATIENCE
    server = Server(str(folder / "study.sqlite"))
    try:
        names = [one["name"] for one in server.json("/api/theories")["theories"]]
        pages = {name: server.json(f"/api/theories/{name}") for name in names}
        sizes = []
        for _ in range(2):
            seeds = rng.integers(1 << 31, size=READERS).tolist()
            with ThreadPoolExecutor(READERS) as readers:
                failures = list(filter(None, readers.map(lambda seed: read(server, seed, pages), seeds)))
            if failures:
                return "; ".join(failures)
            sizes.append(_size(server))
        print(re.sub(r"\s+", " ", f"MB, files, children: {sizes}"), file=sys.stderr, flush=True)
        grown = [after - before for before, after in zip(*sizes, strict=True)]
        kept = grown[0] < GROWTH and grown[1] < READERS and grown[2] <= 0
        return "" if kept else f"MB, files, children: {sizes}"
    finally:
        server.stop()


KINDS = {"visitors": (visitors, 2 * READERS * REQUESTS)}

if __name__ == "__main__":
    sys.exit(campaign_by_kind(__doc__, KINDS))
