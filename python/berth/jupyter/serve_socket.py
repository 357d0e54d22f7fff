"""`berth serve` over its Unix socket."""

from __future__ import annotations

import asyncio
import ctypes
import socket

from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine
from tornado.iostream import IOStream

from .. import _abi
from .._context import Context
from ..errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Awaitable, Callable, Dict, List, Optional

LONGEST_ANSWER = 64 << 20


def connected() -> Optional[socket.socket]:
    """To a server that the library takes; None: there is none. A Unix socket connects at once or not at all."""
    descriptor = ctypes.c_int(-1)
    try:
        with Context.borrowed(_abi.FROM_SERVE) as context:
            _abi.call("berth_serve_connect", context.handle, ctypes.byref(descriptor))
    except Error:
        return None
    return socket.socket(fileno=descriptor.value)


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
    except asyncio.TimeoutError:
        raise  # since Python 3.11 it is an OSError
    except OSError:
        return None
    return b"".join(parts) if status[0] == 200 else None
