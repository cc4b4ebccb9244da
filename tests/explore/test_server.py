"""The laboratory's server by itself: what it answers, whom it refuses, and what it survives."""

import asyncio
import contextlib
import http.client
import json
import math
import os
import pickle
import random
import re
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import parse_qs, quote, urlencode

import psutil
import pytest
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

import firstlight
from firstlight.explore import pages
from firstlight.show import interactive
from firstlight.show.pictures import Picture, Trace
from firstlight.study import registry

PAGES = [theory.name for theory in registry.theories().values() if theory.page is not None]
API = [
    "/", "/data", "/theory/one_step", "/vendor/plotly.js", "/static/app.js", "/static/../app.py",
    "/api/theories", "/api/theories/one_step", "/api/theories/one_step/pictures", "/api/claims",
    "/api/theories/one_step/thumbnail", "/api/theories/one_step/take", "/api/runs", "/api/runs/1",
    "/api/runs/1/events", "/api/diagnose",
]  # fmt: skip


def values(**given):
    return urlencode({"values": json.dumps(given)})


def test_the_first_page_and_its_parts_are_there(server):
    for path in ("/", "/static/app.js", "/static/style.css", "/vendor/plotly.js"):
        assert server.ask(path)[0] == 200
    found = server.json("/api/theories")
    assert found["version"] == firstlight.__version__
    assert {one["name"] for one in found["theories"]} == set(registry.theories())


def test_an_address_that_is_none_gets_a_page_that_says_so(server):
    for path in ("/foo", "/theories", "/data/mine"):
        status, body = server.ask(path)
        assert status == 404
        assert b"/static/app.js" in body
    status, body = server.ask("/api/foo")
    assert status == 404
    assert json.loads(body) == {"error": "/api/foo: there is nothing here"}


def test_names_of_digits_are_names_and_not_numbers():
    bars = Trace(name="theory", x=["2", "3", "10"], y=[0.1, 0.2, 0.3], kind="bars")
    drawn = interactive.figure(Picture(x="unseen class", y="Recall@1", traces=[bars]))
    assert drawn["layout"]["xaxis"]["type"] == "category"
    assert drawn["layout"]["yaxis"]["type"] == "-"


def test_a_page_that_fails_takes_no_other_with_it(monkeypatch):
    theories = registry.theories()
    broken = replace(theories["one_step"], name="broken", page="math:sqrt")  # which wants a number
    monkeypatch.setattr(registry, "theories", lambda: {"broken": broken, **theories})
    first, *others = pages.cards()
    assert first["answer"] == ""
    assert "this session; its page fails: " in first["missing"]
    assert all(other["answer"] for other in others)


def test_nothing_outside_the_static_folder_is_served(server):
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2f__init__.py",
        "/static//etc/passwd",
    ):
        assert server.ask(path)[0] == 404


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_described_and_draws_its_defaults(server, name):
    described = server.json(f"/api/theories/{name}")
    assert described["controls"]
    assert described["panels"]
    assert described["presets"]
    assert described["explanation"]
    told = server.events(f"/api/theories/{name}/pictures")
    assert not [one["error"] for one in told if "error" in one]
    drawn = {panel for one in told for panel in one.get("panels", {})}
    assert drawn == {panel["name"] for panel in described["panels"]}
    assert [one for one in told if "assumptions" in one]
    assert [one for one in told if "stored" in one]


@pytest.mark.parametrize("name", PAGES)
def test_every_preset_is_allowed(name):
    page = registry.resolve(registry.theories()[name].page, "page")()
    for preset in page.presets:
        assert page.study(page.clean(preset.values)).size


def test_the_best_step_is_one_that_theory_knows():
    """A first step without a prediction was called the best, as nothing is less than NaN."""
    from firstlight.one_step.page import _drawn

    page, rng = pages.page("one_step"), random.Random(0)
    values, axis = page.clean({"sweep": "step_size"}), [10.0**i for i in range(8)]
    names = ("test_error", "train_error", "relative_test_error", "relative_train_error")
    for _ in range(50):
        errors = [math.nan if rng.random() < 0.4 else rng.random() for _ in axis]
        numbers = [dict.fromkeys(names, one) for one in errors]
        known = {at: error for at, error in zip(axis, errors, strict=True) if error == error}
        for drawn in _drawn(values, axis, numbers, "one draw").values():
            assert [mark.x for mark in drawn.marks] == ([min(known, key=known.get)] if known else [])
            sign = {min(known, default=0): "≤", max(known, default=0): "≥"}
            assert all(f"η {sign.get(mark.x, '≈')} " in mark.label for mark in drawn.marks)
            assert ("not converged" in drawn.note) == (len(known) < len(axis))


def test_only_our_own_page_is_answered(server):
    host = f"127.0.0.1:{server.port}"
    assert server.ask("/", Host="evil.example")[0] == 421
    assert server.ask("/", Host=f"evil.example:{server.port}")[0] == 421
    assert server.ask("/api/theories", Host=host, Origin="http://evil.example")[0] == 403
    assert server.ask("/api/theories", Host=host, Origin="null")[0] == 403
    assert (
        server.ask("/api/theories", Host=host, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0]
        == 403
    )
    assert server.ask("/api/runs", "POST", b"{}", Host=host, Sec_Fetch_Site="cross-site")[0] == 403
    assert server.ask("/api/theories", Host=host, Origin=f"http://{host}")[0] == 200
    assert (
        server.ask("/", Host=host, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    )  # a link


def test_the_policy_allows_no_foreign_source_and_no_inline_script(server):
    line = http.client.HTTPConnection("127.0.0.1", server.port)
    line.request("GET", "/")
    policy = line.getresponse().getheader("content-security-policy")
    line.close()
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["connect-src"] == "'self'"
    assert "http" not in policy
    assert "*" not in policy


def test_bad_values_are_refused_with_the_control_and_the_range(server):
    for given, said in (
        ({"beta": 2}, "beta = 2: must be a number in [0, 1]"),
        ({"beta": "x"}, "beta"),
        ({"dimension": 100.5}, "integer"),
        ({"dimension": 1e9}, "from 40 to 300"),
        ({"activation": "__import__"}, "activation"),
        ({"no_such": 1}, "no_such"),
        ({"arms": ["network", "evil"]}, "arms"),
    ):
        status, text = server.ask(f"/api/theories/one_step/pictures?{values(**given)}")
        assert status == 400
        assert said in json.loads(text)["error"]


def test_what_is_no_request_at_all_does_no_harm(server):
    for junk in (
        b"\x00\xff\xfe\r\n\r\n",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000 + b"\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
            line.sendall(junk)
            line.settimeout(1)
            with contextlib.suppress(OSError):
                line.recv(100)
    assert server.ask("/api/theories")[0] == 200


def random_text(rng):
    alphabet = "abz019.,:;'\"<>[]{}()\\/%&=+-_ \u00e9\u2603\x00\n"
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(40)))


def random_json(rng, depth=3):
    made = [
        None,
        True,
        rng.random() * 10 ** rng.randrange(-300, 300),
        rng.randrange(-(10**9), 10**9),
        random_text(rng),
    ]
    if depth:
        made.append([random_json(rng, depth - 1) for _ in range(rng.randrange(4))])
        made.append({random_text(rng): random_json(rng, depth - 1) for _ in range(rng.randrange(3))})
    return rng.choice(made)


def test_random_requests_are_answered_and_never_break_the_server(server):
    rng = random.Random(0)
    controls = [control["name"] for control in server.json("/api/theories/one_step")["controls"]]
    for _ in range(300):
        path = rng.choice(API)
        if rng.random() < 0.3:
            path += "/" + quote(random_text(rng), safe="")
        given = {rng.choice(controls): random_json(rng) for _ in range(rng.randrange(1, 4))}
        text = rng.choice([json.dumps(given), random_text(rng), "[" * 3000, json.dumps(random_json(rng))])
        path += "?" + urlencode({"values": text, "theme": random_text(rng)})
        body = rng.choice(
            [None, text.encode(), json.dumps({"theory": "one_step", "values": given}).encode(), b"x" * 70_000]
        )
        method = rng.choice(["GET", "POST", "PUT", "DELETE", "HEAD"])
        if method == "GET" and text == "{}":
            continue
        status, _ = server.ask(path, method, body if method in ("POST", "PUT") else None)
        assert status < 500, (method, path, body)
    for run in server.json("/api/runs")["runs"]:  # what was right by chance
        server.json(f"/api/runs/{run['number']}", {"do": "cancel"})


def test_half_a_character_is_refused_before_anything_remembers_it(server):
    """A run with one was queued, and from then on the list of runs could not be sent to anybody."""
    for half in ("\\ud800", "\\udfff", "a\\udc80b"):
        text = f'{{"file": {{"table": "", "classes": ["{half}"]}}}}'
        body = f'{{"theory": "unseen_classes", "values": {text}}}'.encode()
        assert server.ask("/api/runs", "POST", body) == (400, b'{"error":"not JSON"}')
        assert server.ask(f"/api/theories/unseen_classes/take?{urlencode({'values': text})}")[0] == 400
        assert server.ask("/api/runs")[0] == 200


def test_two_hundred_fast_changes_leave_the_last_one_right(server):
    def pictures(beta, dropped):
        path = f"/api/theories/one_step/pictures?{values(beta=beta, dimension=60)}"
        line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        line.request("GET", path)
        if dropped:
            line.sock.close()
        return line

    for place in range(200):
        pictures(round(place / 200, 3), dropped=True)
    told = server.events(f"/api/theories/one_step/pictures?{values(beta=0.5, dimension=60)}")
    assert [one for one in told if "panels" in one]
    assert not [one for one in told if "error" in one]


def test_a_killed_worker_is_replaced(server):
    server.json("/api/theories")
    every = psutil.Process(server.process.pid).children()
    children = [child for child in every if "spawn_main" in " ".join(child.cmdline())]
    assert children
    for child in children:
        child.kill()
    while any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children):
        time.sleep(0.01)  # the server need not have collected them
    told = server.events(f"/api/theories/one_step/pictures?{values(beta=0.31, dimension=60)}")
    assert [one for one in told if "panels" in one]


def shown(server, number):
    return next(one for one in server.json("/api/runs")["runs"] if one["number"] == number)


def run_to_end(server, number):
    while True:
        run = shown(server, number)
        if run["state"] in ("done", "failed", "cancelled", "asks"):
            return run
        time.sleep(0.1)


SMALL = {"dimension": 40, "trials": 1, "samples": 0.5}


def test_a_run_makes_ordinary_records(server):
    from firstlight.explore.pages import page
    from firstlight.study.run import dataset
    from firstlight.study.store import Store

    run = server.json("/api/runs", {"theory": "one_step", "values": SMALL})
    told = server.events(f"/api/runs/{run['number']}/events")
    assert told[-1]["state"] == "done"
    assert told[-1]["done"] == told[-1]["total"] > 0
    points = told[-1]["points"]["errors"][0]
    one_step = page("one_step")
    study = one_step.study(one_step.clean(SMALL))
    with Store(server.store) as store:
        found = dataset(study, store)
        assert study.name in store.counts()
    assert (found.status == "ok").all()
    mean = found.test_error.sel(arm="network").mean("trial").values
    assert points["y"] == pytest.approx(mean.tolist(), rel=1e-6)  # JSON carries seven digits
    facts = server.events(f"/api/theories/one_step/pictures?{values(**SMALL)}")
    stored = next(one for one in facts if "stored" in one)
    assert stored["stored"] == stored["records"] == study.records
    assert stored["points"]["errors"][0]["y"] == points["y"]


def test_a_run_whose_trials_fail_is_asked_about(tmp_path, monkeypatch):
    """It would tell a time that failing trials took."""
    from firstlight.explore import jobs
    from firstlight.explore.pages import page
    from firstlight.one_step.problem import Problem

    def broken(*_, **__):
        raise RuntimeError("broken")

    monkeypatch.setattr(Problem, "simulate", broken)
    told = []
    jobs.run(told.append, "one_step", page("one_step").clean(SMALL), str(tmp_path / "s.sqlite"), False)
    assert told[-1]["asks"].startswith("an unknown time for")
    assert "broken" in told[-1]["asks"]


def test_a_run_of_one_trial_an_arm_is_not_tried_out_first(tmp_path, monkeypatch):
    """A dry run would do each of its trials five times."""
    from firstlight.explore import jobs
    from firstlight.explore.pages import page
    from firstlight.study import trial

    done, told = [], []
    monkeypatch.setattr(trial.Task, "record", _counted(done, trial.Task.record))
    values = page("early_alignment").clean({"width": 3, "horizon": 5})
    jobs.run(told.append, "early_alignment", values, str(tmp_path / "s.sqlite"), False)
    assert told[-1]["done"] == told[-1]["stored"] == told[0]["total"] == len(done) == 2


def _counted(done, record):
    def counting(task, **content):
        done.append(task.arm)
        return record(task, **content)

    return counting


def test_a_run_is_cancelled_and_resumed(server):
    asked = {**SMALL, "dimension": 60, "trials": 25}
    run = server.json("/api/runs", {"theory": "one_step", "values": asked})
    again = server.json("/api/runs", {"theory": "one_step", "values": asked})
    assert again["number"] == run["number"]
    waiting = server.json("/api/runs", {"theory": "one_step", "values": {**SMALL, "beta": 0.2}})
    assert waiting["state"] == "waiting"
    while not (now := shown(server, run["number"]))["done"]:
        assert now["state"] in ("waiting", "running")
        time.sleep(0.05)
    cancelled = server.json(f"/api/runs/{run['number']}", {"do": "cancel"})
    assert cancelled["state"] == "cancelled"
    assert 0 < cancelled["done"] < cancelled["total"]
    assert run_to_end(server, waiting["number"])["state"] == "done"
    again = server.json("/api/runs", {"theory": "one_step", "values": asked})
    told = server.events(f"/api/runs/{again['number']}/events")
    counts = [one["done"] for one in told if one["total"]]
    assert counts[0] >= cancelled["done"]  # nothing is computed twice
    assert counts == sorted(counts)
    assert (told[-1]["state"], counts[-1]) == ("done", told[-1]["total"])


@pytest.mark.parametrize("name", PAGES)
def test_what_is_copied_means_the_same_records(server, name, tmp_path, monkeypatch):
    from firstlight.explore.pages import page
    from firstlight.study.toml import read_study
    from firstlight.study.trial import tasks

    def addresses(study):
        return [task.address for task in tasks(study, study.points())]

    found, ran = page(name), []
    monkeypatch.setattr(firstlight.study, "run", ran.append)  # the program runs, the study does not
    for given in ({}, dict(found.presets[-1].values)):
        study = found.study(found.clean(given))
        taken = server.json(f"/api/theories/{name}/take?{values(**given)}")
        exec(taken["python"], {})
        written, _, command = taken["command"].partition("\nEND\n")
        path, _, text = written.partition("\n")
        file = tmp_path / path.split()[2]
        file.write_text(text + "\n")
        assert command == f"firstlight study run {file.name}\n"
        for copied in (ran.pop(), read_study(file)):
            assert addresses(copied) == addresses(study)  # the same records, and so the same numbers


def test_a_full_disk_fails_the_run_and_nothing_else(start, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    tiny = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.name != "posix" or subprocess.run(tiny, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root on Linux only")
    try:
        running = start(str(disk / "study.sqlite"))
        asked = {"theory": "early_alignment", "values": {"width": 60}}
        (disk / "filler").write_bytes(bytes(190 * 1024))
        for seed in range(20):
            run = running.json("/api/runs", {**asked, "values": {"width": 60, "seed": seed}})
            if (last := run_to_end(running, run["number"]))["state"] == "failed":
                break
        assert last["state"] == "failed"
        assert "full" in last["message"]
        told = running.events(f"/api/theories/one_step/pictures?{values(dimension=40)}")
        assert [one for one in told if "panels" in one]
        (disk / "filler").unlink()  # room again: the same run is done
        run = running.json("/api/runs", {**asked, "values": {"width": 60, "seed": seed}})
        assert run_to_end(running, run["number"])["state"] == "done"
        running.stop()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_eight_tabs_at_once_each_get_their_own_curve(server):
    from firstlight.explore.pages import page

    found = page("unseen_classes")
    asked = [{"strength": round(1.0 + place, 2), "each": 10} for place in range(8)]

    def curve(given):
        told = server.events(f"/api/theories/unseen_classes/pictures?{values(**given)}")
        assert not [one for one in told if "error" in one]
        return [one["panels"]["alignment"] for one in told if "panels" in one][-1]["data"][0]["y"]

    with ThreadPoolExecutor(8) as tabs:
        shown_curves = list(tabs.map(curve, asked))
    for given, seen in zip(asked, shown_curves, strict=True):
        *_, last = found.views["classes"].draw(found.clean(given))
        assert seen == pytest.approx(last["alignment"].traces[0].y, rel=1e-6)  # seven digits travel


def test_claims_are_those_of_the_records_at_hand(server):
    from firstlight.show.evidence import rows
    from firstlight.study.registry import study
    from firstlight.study.run import run
    from firstlight.study.store import Store

    judged = study("unseen-classes/operator-norm")
    run(judged, server.store, workers=0)
    events = server.events("/api/claims")
    told = [claim for one in events for claim in one["claims"]]
    waiting = {one["study"] for one in events[-1]["waiting"]}
    assert "unseen-classes/digits-pairs" in waiting
    assert judged.name not in waiting
    with Store(server.store) as store:
        expected = [row.plain()["verdict"] for row in rows(store, [judged])]
    assert [claim["verdict"] for claim in told if claim["study"] == judged.name] == expected != []


def test_without_a_token_no_other_machine_is_let_in(tmp_path):
    from firstlight.explore.server import serve

    with pytest.raises(ValueError, match="token"):
        serve(str(tmp_path / "s.sqlite"), host="0.0.0.0", token="short", browser=False)


def test_with_a_token_only_its_holders_are_let_in():
    from firstlight.explore.security import Guard

    async def page(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inside"})

    def answer(query=b"", **headers):
        sent = []

        async def send(message):
            sent.append(message)

        named = [(name.encode(), value.encode()) for name, value in {"host": "lab:1", **headers}.items()]
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": query, "headers": named}
        run = asyncio.run, Guard(page, token="a-token-of-some-length")(scope, None, send)
        ThreadPoolExecutor(1).submit(*run).result()  # a browser's tests leave a loop running in this thread
        return sent[0]["status"], dict(sent[0]["headers"])

    assert answer()[0] == 401
    assert answer(b"token=a-token-of-some-lengtX")[0] == 401
    assert answer(cookie="firstlight=wrong")[0] == 401
    status, headers = answer(b"token=a-token-of-some-length")
    assert status == 303
    cookie = headers[b"set-cookie"].decode()
    assert "HttpOnly" in cookie
    assert answer(cookie=cookie.split(";")[0])[0] == 200
    assert answer(cookie=cookie.split(";")[0], origin="http://evil.example")[0] == 403


@pytest.mark.parametrize("token", ["sixteen letters & more", 'a+b=c;d/e?f#g%41"', "fünf ☃☃☃☃☃☃☃☃☃☃☃☃"])
def test_any_token_opens_the_address_that_is_printed_once_and_for_links(token):
    """Spaces, + and & changed on the way; what else an address says was lost."""
    from firstlight.explore.security import Guard

    reached = []

    async def page(scope, receive, send):
        reached.append((scope["path"], parse_qs(scope["query_string"].decode())))
        await PlainTextResponse("inside")(scope, receive, send)

    def visit(address, cookie=""):
        sent = []

        async def send(message):
            sent.append(message)

        path, _, query = address.partition("?")
        named = [(b"host", b"lab:1"), (b"cookie", cookie.encode("latin-1"))]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": named,
        }
        run = asyncio.run, Guard(page, token=token)(scope, None, send)
        ThreadPoolExecutor(1).submit(*run).result()
        return sent[0]["status"], dict(Headers(raw=sent[0]["headers"]))

    state = {"arms": ['["a","b"]'], "target": ["z1 + z2 & 50%"]}
    link = "/theory/one_step?" + urlencode({name: one[0] for name, one in state.items()})
    assert visit(link)[0] == 401
    status, headers = visit(f"{link}&token={quote(token, safe='')}")
    assert (status, reached) == (303, [])
    cookie, *about = headers["set-cookie"].split("; ")
    assert "SameSite=lax" in about  # strict ones are not sent where a link of a mail leads to
    assert visit(headers["location"], cookie)[0] == 200
    assert reached == [("/theory/one_step", state)]
    away = visit(f"//elsewhere.example/x?token={quote(token, safe='')}")[1]["location"]
    assert not away.startswith("//")


@pytest.mark.parametrize(
    ("host", "port", "address", "reached"),
    [
        ("", 80, "http://127.0.0.1:80/", ["127.0.0.1", "localhost:80", "[::1]"]),
        ("", 8765, "http://127.0.0.1:8765/", ["127.0.0.1:8765", "localhost:8765"]),
        ("::1", 8765, "http://[::1]:8765/?token=a%20token%20%26%20a%20half", []),
        ("10.0.0.1", 8765, "http://10.0.0.1:8765/?token=a%20token%20%26%20a%20half", []),
    ],
)
def test_the_address_that_is_printed_is_one(monkeypatch, capsys, host, port, address, reached):
    from firstlight.explore import server

    class Listener:
        def getsockname(self):
            return ("", port)

    monkeypatch.setattr(server, "_listen", lambda host, port: Listener())
    monkeypatch.setattr(server.uvicorn.Server, "run", lambda self, sockets: served.append(self.config.app))
    served = []
    server.serve("none", port=port, host=host, token="a token & a half" if host else "", browser=False)
    assert f"firstlight explore: {address} " in capsys.readouterr().out
    assert served[0].hosts.issuperset(reached)
    assert ("127.0.0.1" in served[0].hosts) == (port == 80)


def test_ctrl_c_ends_it_with_all_children(start, tmp_path):
    running = start(str(tmp_path / "study.sqlite"))
    running.json("/api/theories")
    children = psutil.Process(running.process.pid).children(recursive=True)
    assert children
    line = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    line.request("GET", "/api/theories/one_step/pictures")  # something is being computed and streamed
    os.kill(running.process.pid, signal.SIGINT)
    assert running.process.wait(15) in (0, -signal.SIGINT)
    running.process.stdout.close()
    _, alive = psutil.wait_procs(children, timeout=5)
    line.close()
    assert not alive


def test_a_full_temporary_folder_is_told_to_who_brings_a_file(start, tmp_path, monkeypatch):
    """It was an internal error without a word."""
    disk = tmp_path / "disk"
    disk.mkdir()
    tiny = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.name != "posix" or subprocess.run(tiny, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root on Linux only")
    monkeypatch.setenv("TMPDIR", str(disk))
    running = start(str(tmp_path / "study.sqlite"))
    try:
        rows = b"a,label\n" + b"1,x\n2,y\n" * 20_000
        for place in ("diagnose", "tables"):
            status, text = running.ask(f"/api/{place}?name=rows.csv", "POST", rows)
            assert status == 400
            assert re.search(rf"No space left on device: '{disk}/.*data.csv'", json.loads(text)["error"])
            assert not list(disk.glob("firstlight-*"))
    finally:
        running.stop()
        subprocess.run(["umount", str(disk)], check=True)


def test_files_are_bounded_and_read_as_any_other(server):
    def told(name, content, **more):
        status, text = server.ask(
            "/api/diagnose?" + urlencode({"name": name, "seconds": 2, **more}), "POST", content
        )
        return status, text.decode()

    assert told("evil.exe", b"x")[0] == 400
    assert told("a.csv", b"a,label\n1,x\n2,y\n", seconds="nan")[0] == 400
    assert told("a.csv", b"a,label\n1,x\n2,y\n", task="rm -rf")[0] == 400
    assert "pickled" in told("a.npy", pickle.dumps({"a": 1}), labels="0")[1]
    assert "../" not in told("../../etc/a.csv", b"a,b\n1,2\n")[1]
    assert "error" in told("a.parquet", bytes(range(256)))[1]
    assert server.ask("/api/theories")[0] == 200
