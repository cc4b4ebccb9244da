"""Who may talk to the server: this machine's own page, or whoever holds the token. Nobody else is answered.

A page of another site can make a browser send requests to a loopback address, and a name of another site can
be made to point there. So every request must name the server by an address that it has itself (Host), and
come from its own page (Origin, Sec-Fetch-Site).
"""

import hmac
from collections.abc import Iterable
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# plotly styles its elements one by one, so styles may be inline; scripts may not
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_COOKIE = "firstlight"


class Guard:
    """Refuses what does not come from the server's own page, and adds the headers that keep it so.

    Parameters
    ----------
    app : ASGI application
    hosts : iterable of str
        Values of Host that are answered; empty: any, which needs a token.
    token : str
        What a reader must know once, as ``?token=``; a cookie remembers it. Empty: nobody is asked.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), token: str = "") -> None:
        self.app, self.hosts, self.token = app, frozenset(hosts), token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer = self._refusal(scope["path"], headers) or self._entrance(scope)
        await (answer or self.app)(scope, receive, safe)

    def _refusal(self, path: str, headers: Headers) -> PlainTextResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.hosts and host not in self.hosts:
            return PlainTextResponse("this name is not ours", 421)
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return PlainTextResponse("not from our page", 403)
        followed = headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api/")  # a link
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not followed:
            return PlainTextResponse("not from our page", 403)
        return None

    def _entrance(self, scope: Scope) -> PlainTextResponse | RedirectResponse | None:
        """Let in who shows the token, in the address or in the cookie."""
        if not self.token:
            return None
        request = Request(scope)
        spelt = quote(self.token, safe="")  # in letters that a cookie may hold
        if _same(request.cookies.get(_COOKIE, ""), spelt):
            return None
        given = request.query_params
        if not _same(given.get("token", ""), self.token):
            return PlainTextResponse("the address needs its token", 401)
        others = urlencode([one for one in given.multi_items() if one[0] != "token"])
        answer = RedirectResponse(f"/{scope['path'].lstrip('/')}{'?' if others else ''}{others}", 303)
        answer.set_cookie(
            _COOKIE, spelt, httponly=True, samesite="lax"
        )  # strict: no link from a mail would work
        return answer


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())
