"""The server's routes: pages, pictures as they are refined, runs as they go on, and the static files."""

import asyncio
import contextlib
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from firstlight import __version__
from firstlight.explore import jobs, pages
from firstlight.explore.runs import Run, Runs
from firstlight.explore.shared import Shared
from firstlight.explore.upload import brought, diagnosed, kept
from firstlight.explore.workers import JobFailed, Pool, WorkerDied
from firstlight.show.interactive import coloured
from firstlight.show.page import key

STATIC = Path(__file__).parent / "static"
_LARGEST = 1 << 16  # bytes of a request's values
_GRACE = 2.0  # seconds in which a page that is opened with the server may ask
_CACHE = 1 << 26  # bytes of pictures that are remembered
_CHILDREN = 4  # processes that compute pictures


class Laboratory:
    """What the routes share: children that compute, pictures that are known, runs."""

    def __init__(self, store: str) -> None:
        self.store, self.pool, self.runs = store, Pool(_CHILDREN), Runs(store)
        self._known: OrderedDict[str, str] = OrderedDict()
        self._shared: dict[str, Shared] = {}
        self._size = 0
        self._warm: dict[str, asyncio.Task[None]] = {}
        self._warming = asyncio.get_running_loop().create_task(self._warm_all())

    async def _warm_all(self) -> None:
        """Get one theory after the other ready, when nobody waits for one: the first page comes first."""
        await asyncio.sleep(_GRACE)
        for name in pages.drawn():
            if asked := list(self._warm.values()):
                await asyncio.wait(asked)
            await self._ready(name)

    async def _ready(self, name: str) -> None:
        """Draw a first picture, once: that loads and compiles what a theory needs, in one child alone."""
        if name not in self._warm:
            self._warm[name] = asyncio.get_running_loop().create_task(self._load(name))
        await asyncio.wait([self._warm[name]])

    async def _load(self, name: str) -> None:
        with contextlib.suppress(Exception):  # whoever asks for it is told
            await self.first(name)

    async def first(self, name: str) -> str:
        """Return the first pictures of a theory at its default values."""
        which, values = next(iter(pages.page(name).views)), pages.page(name).clean({})
        async with contextlib.aclosing(self._view(name, which, values)) as pictures:
            async for first in pictures:
                return first
        raise JobFailed(f"{name}: no picture came")

    async def view(self, name: str, which: str, values: dict[str, Any]) -> AsyncIterator[str]:
        """Yield the pictures of a view, once the theory is ready: code is compiled in one child alone."""
        await self._ready(name)
        async for item in self._view(name, which, values):
            yield item

    async def facts(self, name: str, values: dict[str, Any]) -> AsyncIterator[str]:
        """Yield what is assumed and stored, after the first picture: a second child would load as long."""
        await self._ready(name)
        async for item in self.pool.stream(jobs.facts, name, values, self.store):
            yield item

    async def _view(self, name: str, which: str, values: dict[str, Any]) -> AsyncGenerator[str, None]:
        """Yield the pictures of a view; a complete answer is kept, and given at once the next time."""
        needed = pages.page(name).needed(which, values)
        place = f"{which} {key(name, needed)}"
        if place in self._known:
            self._known.move_to_end(place)
            yield self._known[place]
            return
        if place not in self._shared:
            source = self.pool.stream(jobs.view, name, which, needed)
            self._shared[place] = Shared(source, lambda last: self._keep(place, last))
        async for item in self._shared[place].follow():
            yield item

    def _keep(self, place: str, last: str | None) -> None:
        """Forget a job that has ended, and remember its last picture."""
        self._shared.pop(place, None)
        if last is not None:
            self._known[place] = last
            self._size += len(last)
        while self._size > _CACHE:
            self._size -= len(self._known.popitem(last=False)[1])

    def close(self) -> None:
        """End every child."""
        for task in (self._warming, *self._warm.values()):
            task.cancel()
        self.pool.close()
        self.runs.close()


def application(store: str) -> Starlette:
    """Return the web application.

    Parameters
    ----------
    store : str
        Where runs keep their records, and pages find them.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.laboratory = Laboratory(store)
        try:
            yield
        finally:
            app.state.laboratory.close()

    routes = [
        Route("/", _shell),
        Route("/theory/{name}", _shell),
        Route("/data", _shell),
        Route("/vendor/plotly.js", _plotly),
        Route("/api/theories", _theories),
        Route("/api/theories/{name}", _theory),
        Route("/api/theories/{name}/pictures", _pictures),
        Route("/api/theories/{name}/thumbnail", _thumbnail),
        Route("/api/theories/{name}/take", _take),
        Route("/api/claims", _claims),
        Route("/api/diagnose", _diagnose, methods=["POST"]),
        Route("/api/tables", _bring, methods=["POST"]),
        Route("/api/tables/{name}", _table),
        Route("/api/runs", _runs),
        Route("/api/runs", _begin, methods=["POST"]),
        Route("/api/runs/{number:int}", _change, methods=["POST"]),
        Route("/api/runs/{number:int}/events", _events),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    said: Any = dict.fromkeys((ValueError, OSError, JobFailed, WorkerDied), _refused)
    handlers = {**said, 404: _nowhere}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)[:2000]}, 400)


async def _nowhere(request: Request, error: Exception) -> Response:
    """Answer with a page, which says that it is none, where a page may have been meant."""
    if (path := request.url.path).startswith(("/api/", "/static/", "/vendor/")):
        return JSONResponse({"error": f"{path[:200]}: there is nothing here"}, 404)
    return FileResponse(STATIC / "index.html", 404, headers={"cache-control": "no-cache"})


async def _shell(request: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})


async def _plotly(request: Request) -> Response:
    """Serve plotly.js as the package from PyPI brings it."""
    spec = find_spec("plotly")
    script = Path(str(spec and spec.origin)).parent / "package_data" / "plotly.min.js"
    return FileResponse(script, media_type="text/javascript", headers={"cache-control": "max-age=86400"})


async def _theories(request: Request) -> Response:
    return JSONResponse({"version": __version__, "theories": pages.cards()})


async def _theory(request: Request) -> Response:
    name = request.path_params["name"]
    pages.page(name)  # an unknown one is refused
    return JSONResponse(pages.description(name))


def _laboratory(request: Request) -> Laboratory:
    laboratory: Laboratory = request.app.state.laboratory
    return laboratory


def _asked(request: Request) -> tuple[str, dict[str, Any], str]:
    """Return page, checked values and theme of a request."""
    name, text = request.path_params["name"], request.query_params.get("values", "{}")
    if len(text) > _LARGEST:
        raise ValueError(f"values: at most {_LARGEST} characters")
    return name, pages.page(name).clean(_parsed(text)), _theme(request)


def _parsed(text: str | bytes) -> Any:
    """Return what JSON says; half a character, which no answer could repeat, is refused."""
    try:
        parsed = json.loads(text)
        json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    return parsed


def _theme(request: Request) -> str:
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def _stream(source: AsyncIterator[str]) -> Response:
    """Send texts as server-sent events; an error becomes an event too, and the end is announced."""

    async def events() -> AsyncIterator[str]:
        try:
            async for item in source:
                yield f"data: {item}\n\n"
        except (ValueError, WorkerDied) as error:
            yield f"data: {json.dumps({'error': str(error)[:2000]})}\n\n"
        yield "event: end\ndata: {}\n\n"

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


async def _pictures(request: Request) -> Response:
    """Stream all about one choice of values: what is assumed, what is stored, every view as it refines."""
    name, values, theme = _asked(request)
    laboratory = _laboratory(request)
    sources = [_in_theme(laboratory.view(name, which, values), theme) for which in pages.page(name).views]
    sources += [_in_theme(laboratory.facts(name, values), theme)]
    return _stream(_merged(sources))


async def _in_theme(source: AsyncIterator[str], theme: str) -> AsyncIterator[str]:
    """Pass on a source in the theme's colours; its error is one of its items, so that the others go on."""
    try:
        async for item in source:
            yield coloured(item, theme)
    except (JobFailed, WorkerDied) as error:
        yield json.dumps({"error": str(error)[:2000]})


async def _merged(sources: list[AsyncIterator[str]]) -> AsyncIterator[str]:
    """Yield what any of the sources yields, as it comes."""
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    async def pump(source: AsyncIterator[str]) -> None:
        try:
            async for item in source:
                queue.put_nowait(item)
        finally:
            queue.put_nowait(None)

    tasks = [asyncio.get_running_loop().create_task(pump(source)) for source in sources]
    try:
        running = len(tasks)
        while running:
            item = await queue.get()
            if item is None:
                running -= 1
            else:
                yield item
    finally:
        for task in tasks:
            task.cancel()


async def _thumbnail(request: Request) -> Response:
    """Return the small picture of a theory at its default values; the first one will do."""
    name, _, theme = _asked(request)
    item = await _laboratory(request).first(name)
    return JSONResponse(json.loads(coloured(item, theme))["panels"].get(pages.page(name).thumbnail, {}))


async def _take(request: Request) -> Response:
    name, values, _ = _asked(request)
    text = await _laboratory(request).pool.one(jobs.take, name, values)
    return Response(text, media_type="application/json")


async def _claims(request: Request) -> Response:
    laboratory = _laboratory(request)
    return _stream(laboratory.pool.stream(jobs.claims, laboratory.store))


async def _diagnose(request: Request) -> Response:
    return _stream(await diagnosed(request, _laboratory(request).pool))


async def _bring(request: Request) -> Response:
    return Response(await brought(request, _laboratory(request).pool), media_type="application/json")


async def _table(request: Request) -> Response:
    text = await _laboratory(request).pool.one(kept, request.path_params["name"])
    return Response(text, media_type="application/json")


async def _runs(request: Request) -> Response:
    return JSONResponse({"runs": [run.shown() for run in _laboratory(request).runs.all.values()]})


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON table that a request holds; what is too long is not read to its end."""
    text = b""
    async for chunk in request.stream():
        text += chunk
        if len(text) > _LARGEST:
            raise ValueError(f"at most {_LARGEST} bytes")
    body = _parsed(text)
    if not isinstance(body, dict):
        raise ValueError("not a table")
    return body


async def _begin(request: Request) -> Response:
    asked = await _body(request)
    name = str(asked.get("theory"))
    values = pages.page(name).clean(asked.get("values", {}))
    return JSONResponse(_laboratory(request).runs.add(name, values).shown())


def _run(request: Request) -> Run:
    run = _laboratory(request).runs.all.get(request.path_params["number"])
    if run is None:
        raise ValueError(f"run {request.path_params['number']}: there is none")
    return run


async def _change(request: Request) -> Response:
    """Cancel a run, or go on with one that asked."""
    run, runs = _run(request), _laboratory(request).runs
    changes: dict[str, Callable[[Run], None]] = {"cancel": runs.cancel, "confirm": runs.confirm}
    asked = (await _body(request)).get("do")
    if asked not in changes:
        raise ValueError(f"do = {asked!r}: must be cancel or confirm"[:200])
    changes[asked](run)
    return JSONResponse(run.shown())


async def _events(request: Request) -> Response:
    run, theme = _run(request), _theme(request)

    async def news() -> AsyncIterator[str]:
        async for now in _laboratory(request).runs.watch(run):
            yield coloured(json.dumps(now.shown() | {"points": now.points}), theme)

    return _stream(news())
