"""`berth serve` over its Unix socket: only one whose owner is root or this user is believed."""

from __future__ import annotations

import asyncio
import os
import socket
import struct

from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine
from tornado.iostream import IOStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Awaitable, Callable, Dict, List, Optional

LONGEST_ANSWER = 64 << 20


def places() -> List[str]:
    """Where it has its socket, the user's own before everybody's. BERTH_SERVE_SOCKET names another."""
    named = os.environ.get("BERTH_SERVE_SOCKET")
    if named:
        return [named]
    name = "serve-simulated.sock" if os.environ.get("BERTH_SIM") else "serve.sock"
    found = []
    if os.geteuid() != 0:
        for variable, below in (("XDG_RUNTIME_DIR", ""), ("XDG_STATE_HOME", ""), ("HOME", "/.local/state")):
            folder = os.environ.get(variable, "")
            if folder.startswith("/"):
                found.append(f"{folder}{below}/berth/{name}")
                break
    return [*found, f"/run/berth-serve/{name}"]


def is_believed(connected: socket.socket) -> bool:
    _, uid, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid in (0, os.geteuid())


def connected() -> Optional[socket.socket]:
    """To the first that is there; None: there is none. A Unix socket connects at once or not at all."""
    for place in places():
        one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        one.setblocking(False)
        try:
            one.connect(place)
        except OSError:
            one.close()
            continue
        if is_believed(one):
            return one
        one.close()
    return None


class Exchange(HTTPMessageDelegate):
    """One request and its answer, of which the body is given to `on_data` as it comes."""

    def __init__(self, on_head: Callable[[int, HTTPHeaders], None], on_data: Callable[[bytes], Awaitable[None]]) -> None:
        self._on_head = on_head
        self._on_data = on_data
        self._stream: Optional[IOStream] = None

    def headers_received(self, start_line, headers):  # type: ignore[no-untyped-def]
        self._on_head(start_line.code, headers)

    def data_received(self, chunk):  # type: ignore[no-untyped-def]
        return self._on_data(chunk)

    async def run(self, method: str, path: str, headers: Dict[str, str], body: bytes = b"") -> bool:
        """Whether there was somebody to ask. It ends with the answer, or when it is closed."""
        link = connected()
        if link is None:
            return False
        self._stream = IOStream(link)
        try:
            parameters = HTTP1ConnectionParameters(no_keep_alive=True, max_body_size=LONGEST_ANSWER)
            connection = HTTP1Connection(self._stream, True, parameters)
            all_headers = HTTPHeaders({"Host": "localhost", **headers})
            if body or method == "POST":
                all_headers["Content-Length"] = str(len(body))
            sent = connection.write_headers(RequestStartLine(method, path, ""), all_headers, body or None)
            connection.finish()
            await sent
            await connection.read_response(self)
        finally:
            self.close()
        return True

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


async def fetched(path: str, patience_s: float) -> Optional[bytes]:
    """The whole answer; None: nobody serves here, or it is not well. TimeoutError: it does not answer."""
    status, parts = [0], []  # type: List[int], List[bytes]

    def head(code: int, _: HTTPHeaders) -> None:
        status[0] = code

    async def data(chunk: bytes) -> None:
        parts.append(chunk)

    exchange = Exchange(head, data)
    try:
        await asyncio.wait_for(exchange.run("GET", path, {"Accept": "application/json"}), patience_s)
    except OSError:
        return None
    return b"".join(parts) if status[0] == 200 else None
