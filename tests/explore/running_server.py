"""A running laboratory, for tests, for its latency and for the campaign of many visitors."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

BARE = Path(__file__).parents[1] / "study" / "bare"  # no dask, which xarray would load in every child


class Server:
    """A running `firstlight explore`."""

    patience = 120.0  # seconds without a byte

    def __init__(self, store: str) -> None:
        self.store = store
        command = [sys.executable, "-c", "from firstlight.cli import main; main()", "explore", "--no-browser"]
        path = os.pathsep.join(filter(None, [str(BARE), os.environ.get("PYTHONPATH")]))
        own = {"OPENBLAS_NUM_THREADS": "1", "FIRSTLIGHT_CACHE": f"{store}.cache", "PYTHONPATH": path}
        self.process = subprocess.Popen(
            [*command, "--port", "0", "--store", store], stdout=subprocess.PIPE, text=True,
            env={**os.environ, **own},
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line
        self.port = int(found[1])
        self.address = f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """Return status and body of one request."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        try:
            line.request(
                method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}
            )
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()

    def json(self, path: str, body: object = None) -> dict:
        """Return the answer to a request for JSON."""
        data = None if body is None else json.dumps(body).encode()
        status, text = self.ask(path, "GET" if body is None else "POST", data)
        assert status == 200, text
        return json.loads(text)

    def events(self, path: str) -> list[dict]:
        """Return all events of a stream."""
        status, text = self.ask(path)
        assert status == 200, text
        *told, end = [part for part in text.decode().split("\n\n") if part]
        assert end.startswith("event: end")
        return [json.loads(part.removeprefix("data: ")) for part in told]

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(self.patience / 6)
        assert self.process.stdout is not None
        self.process.stdout.close()
