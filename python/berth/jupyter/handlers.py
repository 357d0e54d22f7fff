"""What the extension answers, behind Jupyter's login."""

from __future__ import annotations

import asyncio
import re

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web
from tornado.iostream import StreamClosedError

from .shared_look import EVERY_S, SharedLook
from .serve_socket import Exchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Tuple

    from tornado.httputil import HTTPHeaders

MOST_STREAMS = 64
COMMENT_S = 15.0


class FromRoom(APIHandler):
    auth_resource = "berth"
    # A panel that asks every two seconds must not keep a server alive that is ended when idle.
    _track_activity = False

    def initialize(self, look: SharedLook) -> None:
        self.look = look


class OverviewHandler(FromRoom):
    @web.authenticated
    @authorized("read")
    async def get(self) -> None:
        seen = await self.look.overview()
        self.set_header("ETag", seen.etag)
        self.set_header("Cache-Control", "private, no-cache")
        if self.check_etag_header():
            self.set_status(304)
            self.finish()
        else:
            self.finish(seen.text)


class EventsHandler(FromRoom):
    """For programs. The panel asks instead: a browser keeps six connections to a server, all tabs together."""

    open_streams = 0

    @web.authenticated
    @authorized("read")
    async def get(self) -> None:
        if EventsHandler.open_streams >= MOST_STREAMS:
            raise web.HTTPError(503, f"{MOST_STREAMS} streams are open already: close one, or ask for the overview")
        EventsHandler.open_streams += 1
        try:
            await self._stream()
        except (StreamClosedError, asyncio.CancelledError):
            pass  # the listener has gone
        finally:
            EventsHandler.open_streams -= 1

    async def _stream(self) -> None:
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Accel-Buffering", "no")  # nginx holds streams back otherwise
        last, silent = None, 0.0
        while not self.request.connection.stream.closed():
            seen = await self.look.overview()
            if seen.etag != last or silent >= COMMENT_S:
                self.write(f"event: overview\ndata: {seen.text}\n\n" if seen.etag != last else ":\n\n")
                await self.flush()
                last, silent = seen.etag, 0.0
            await asyncio.sleep(EVERY_S)
            silent += EVERY_S


# The paths of `berth serve` that its page asks for.
GETS = re.compile(r"(|assets/[\w.-]+|api/v1/[\w./@%:~-]*|gpu-status|metrics)\Z")
POSTS = re.compile(r"api/v1/(compose|leases/[\w.@%:~-]+/release|processes/\d+/signal)\Z")
PASSED_ON = ("Accept", "Accept-Encoding", "Content-Type", "If-None-Match", "Last-Event-ID", "X-Berth")
PASSED_BACK = ("Content-Type", "Content-Encoding", "Vary", "ETag", "Cache-Control", "Retry-After")
HARMLESS_TYPES = ("application/json", "text/plain", "text/event-stream", "text/javascript", "text/css", "image/svg+xml")
MOST_POSTED = 64 << 10


class PageHandler(JupyterHandler):
    """`berth serve` under Jupyter's own origin: the page may fetch what is its own, and nothing of Jupyter's."""

    auth_resource = "berth"
    _track_activity = False

    def initialize(self, look: SharedLook) -> None:
        self.look = look
        self._exchange: Any = None

    def check_xsrf_cookie(self) -> None:
        """`post` has a check of its own: the page of `berth serve` knows no cookie of Jupyter's."""

    def write_error(self, status_code: int, **how: Any) -> None:
        """As `berth serve` tells its own."""
        error = how.get("exc_info", (None, None))[1]
        message = getattr(error, "log_message", None) or f"HTTP {status_code}"
        self.finish({"error": {"code": f"http_{status_code}", "message": message, "remedy": ""}})

    @web.authenticated
    @authorized("read")
    async def get(self, path: str) -> None:
        await self._pass_on(GETS, path)

    @web.authenticated
    @authorized("execute")
    async def post(self, path: str) -> None:
        # X-Berth is what no form sends, and no page of another origin without being allowed to first.
        if self.request.headers.get("X-Berth") != "1" or not self.check_origin():
            raise web.HTTPError(403, "X-Berth: 1 is missing, or a page of another origin asks")
        if len(self.request.body) > MOST_POSTED:
            raise web.HTTPError(413, f"more than {MOST_POSTED} bytes were sent")
        await self._pass_on(POSTS, path)

    def policy(self, path: str) -> str:
        if path:
            # Opened by itself it is a document of Jupyter's origin: it may do nothing at all.
            return "sandbox; default-src 'none'; frame-ancestors 'none'"
        own = self._own_address()
        return (
            f"default-src 'none'; script-src {own}assets/; style-src {own}assets/; img-src {own}assets/ data:; "
            f"connect-src {own}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        )

    def _own_address(self) -> str:
        """The page's folder; the scheme is the page's own. A policy cannot name every host."""
        host = self.request.host
        folder = url_path_join(self.settings["base_url"], "berth/page")
        if not re.match(r"[A-Za-z0-9.-]+(:\d+)?\Z", host):
            raise web.HTTPError(400, f"the page cannot be shown at the address {host!r}: use a name")
        return f"{host}{folder}/"

    async def _pass_on(self, allowed: re.Pattern[str], path: str) -> None:
        raw = self.request.path.partition("/berth/page/")[2]
        if not allowed.match(raw) or ".." in raw:
            raise web.HTTPError(404)
        headers = {name: self.request.headers[name] for name in PASSED_ON if name in self.request.headers}
        self._exchange = Exchange(lambda code, said: self._begin(raw, code, said), self._data)
        query = f"?{self.request.query}" if self.request.query else ""
        try:
            asked = await self._exchange.run(self.request.method, f"/{raw}{query}", headers, self.request.body)
        except StreamClosedError:
            return  # one of the two has gone
        if not asked:
            self.set_status(503)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish("berth serve does not run here for you: start it with `berth serve`, and load this again.\n")
        elif not self._finished:
            await self.finish()

    def _begin(self, path: str, code: int, said: HTTPHeaders) -> None:
        self.set_status(code)
        for name in PASSED_BACK:
            if name in said:
                self.set_header(name, said[name])
        kind = said.get("Content-Type", "").partition(";")[0].strip()
        if path and kind not in HARMLESS_TYPES:
            self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Content-Security-Policy", self.policy(path))
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")

    async def _data(self, chunk: bytes) -> None:
        self.write(chunk)
        await self.flush()

    def on_connection_close(self) -> None:
        if self._exchange is not None:
            self._exchange.close()


class SlashHandler(JupyterHandler):
    """The page's paths are relative to its folder."""

    @web.authenticated
    def get(self) -> None:
        self.redirect(url_path_join(self.settings["base_url"], "berth/page") + "/")


def handlers(base_url: str, look: SharedLook) -> List[Tuple[Any, ...]]:
    def at(path: str) -> str:
        return str(url_path_join(base_url, "berth", path))

    own = {"look": look}
    return [
        (at("api/overview"), OverviewHandler, own),
        (at("api/events"), EventsHandler, own),
        (at("page"), SlashHandler),
        (at("page/(.*)"), PageHandler, own),
    ]
