"""One server for all tests of the laboratory, as a user starts it; and a browser, where there is one."""

import shutil
from collections.abc import Iterator

import pytest
from running_server import Server


@pytest.fixture
def start() -> type[Server]:
    """What starts one more server."""
    return Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The laboratory at a free port, with a store of its own."""
    running = Server(str(tmp_path_factory.mktemp("explore") / "study.sqlite"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium as the system has it; without it these tests are skipped."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium: apt-get install -y chromium (or another package of it), then run again")
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()
