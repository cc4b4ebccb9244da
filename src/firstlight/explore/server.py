"""Start the laboratory: choose a port, open the browser when the page is there, end with all children."""

import contextlib
import secrets
import socket
import threading
import time
import webbrowser
from urllib.parse import quote

import uvicorn

from firstlight.explore.app import application
from firstlight.explore.security import LOOPBACK, Guard
from firstlight.explore.workers import kill_all


def serve(store: str, *, port: int = 8765, host: str = "", token: str = "", browser: bool = True) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    store : str
        Path of the store.
    port : int, default 8765
        0: any free one. A port that is taken is an error.
    host : str, optional
        An address of this machine to listen on, for other machines; needs a token. Default: loopback only.
    token : str, optional
        What readers must know.
    browser : bool, default True
        Open the page.
    """
    if host and len(token) < 16:
        raise ValueError(
            f"host = {host!r}: other machines may connect, so a token of at least 16 characters is needed, "
            f"such as --token {secrets.token_urlsafe(16)}"
        )
    listener = _listen(host or "127.0.0.1", port)
    port = listener.getsockname()[1]
    ports = [f":{port}", *[""] * (port == 80)]  # which browsers leave out
    hosts = [] if host else [f"{name}{at}" for name in LOOPBACK for at in ports]
    guarded = Guard(application(store), hosts, token)
    address = f"http://{f'[{host}]' if ':' in host else host or LOOPBACK[0]}:{port}/"
    address += f"?token={quote(token, safe='')}" if token else ""
    config = uvicorn.Config(
        guarded,
        log_level="critical",
        timeout_graceful_shutdown=0,  # streams may go on for long, and nobody reads them any more
        server_header=False,
        h11_max_incomplete_event_size=1 << 17,
    )
    server = uvicorn.Server(config)
    print(f"firstlight explore: {address}   (records: {store}; Ctrl-C ends it)", flush=True)
    if browser:
        threading.Thread(target=_open, args=(server, address), daemon=True).start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    finally:
        kill_all()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((host, port), family=family, backlog=256, dualstack_ipv6=both)
    except (OSError, OverflowError) as error:
        raise ValueError(f"port = {port}: cannot listen at {host} ({error}); try --port 0") from error


def _open(server: uvicorn.Server, address: str) -> None:
    while not server.started:
        time.sleep(0.05)
    webbrowser.open(address)
