"""A server of the page's own shapes, for tests of the page alone. It plays a snapshot (as `berth status --json` prints
one) with moving numbers. It can be stopped, started and made stale at will.

    python3 mock_server.py SNAPSHOT.json PAGE [--port N] [--devices N]   serves until interrupted
"""

import argparse
import base64
import gzip
import hashlib
import json
import pathlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from mock_room import SEEN, Room

# The style of `berth report`, whose pages keep to the rules of the page that opens them.
SHEET = (pathlib.Path(__file__).parents[2] / "src/view/report/style_sheet.h").read_text(encoding="utf-8")
REPORT_STYLE = SHEET.partition('R"css(')[2].partition(')css"')[0]
REPORT_HASH = base64.b64encode(hashlib.sha256(REPORT_STYLE.encode()).digest()).decode()
# What a browser is told to keep to, as the server tells it with every answer.
RULES = {
    "content-security-policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{REPORT_HASH}'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/assets/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/assets/page.css": ("page.css", "text/css; charset=utf-8"),
    "/assets/icon.svg": ("icon.svg", "image/svg+xml"),
}


class MockServer:
    """The server itself: start() and stop() keep the port, so that a page finds it again."""

    def __init__(self, room, page, port=0):
        self.room, self.page, self.port = room, pathlib.Path(page), port
        self.server = None
        self.requests = []

    def start(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self, None)

            def do_POST(self):
                outer.answer(self, self.rfile.read(int(self.headers["content-length"] or 0)))

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # a page went away in the middle of an answer

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.server.going = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        server, self.server = self.server, None
        if server:
            server.going = False
            server.shutdown()
            server.server_close()

    def answer(self, handler, body):
        parts = urlsplit(handler.path)
        path, query = unquote(parts.path), dict(parse_qsl(parts.query))
        self.requests.append((handler.command, path, query, dict(handler.headers), body))
        if path in FILES:
            name, kind = FILES[path]
            reply(handler, 200, kind, (self.page / name).read_bytes())
        elif path == "/api/v1/events":
            self.stream(handler)
        elif path.startswith("/embed/"):
            up = "../" * (path.count("/") - 1)
            page = (f'<!doctype html><html lang="en" data-embed="{up}"><head><title>berth</title><link rel="icon" href="{up}assets/'
                    f'icon.svg"><link rel="stylesheet" href="{up}assets/page.css"><script type="module" src="{up}assets/page.js"></script></head><body></body></html>')
            reply(handler, 200, "text/html; charset=utf-8", page.encode())
        else:
            status, value = self.value_of(path, query, handler, body)
            if isinstance(value, str):
                return reply(handler, status, "text/html; charset=utf-8", value.encode())
            text = json.dumps(value).encode()
            tag = f'"{hash(text) & 0xFFFFFFFF:x}"'
            if status == 200 and handler.headers["if-none-match"] == tag:
                reply(handler, 304, "application/json", b"", tag)
            else:
                reply(handler, status, "application/json", text, tag)

    def value_of(self, path, query, handler, body):
        room = self.room
        with_history = {"/api/v1/history": room.history, "/api/v1/timeline": room.timeline, "/api/v1/usage": room.usage,
                        "/api/v1/recent": room.recent}
        if path in with_history or path == "/api/v1/events-log":
            if room.no_history:
                return error(503, "no_history", "no history is kept", "start berth serve with --history")
            return 200, with_history[path](query) if path in with_history else room.events_log()
        if path == "/api/v1/overview":
            return 200, room.overview(user_of(handler))
        if path == "/api/v1/alerts":
            return 200, {"simulated": room.simulated(), "alerts": list(room.alerts.values()), "next": None,
                         "deliveries": room.deliveries}
        if path == "/api/v1/hosts":
            return 200, room.hosts_now()
        if body is not None and path.endswith(("/release", "/signal")):
            return self.act(path.split("/")[3:], user_of(handler), handler, body)
        if path == "/api/v1/health":
            return 200, room.health | {"simulated": room.simulated()}
        if path == "/api/v1/runs":
            return 200, room.narrowed_runs(query)
        if path == "/api/v1/queue":
            return 200, room.queue_now()
        if path == "/api/v1/topology":
            return 200, room.topology()
        if path == "/gpu-status" and "device" in query:
            status = room.status(query["device"])
            return (200, status) if status else error(404, "not_found", "there is no such device", "")
        if path.startswith("/api/v1/runs/"):
            name, *part = path.split("/")[4:]
            return self.run_part([name.partition("@")[0], *part], query)
        if path == "/api/v1/compose" and body is not None:
            if handler.headers["x-berth"] != "1" or handler.headers["content-type"] != "application/json":
                return error(403, "forbidden", "X-Berth: 1 is missing", "")
            return 200, room.compose(json.loads(body))
        return error(404, "not_found", f"there is no {path}", "")

    def act(self, words, user, handler, body):
        room, (kind, name, what) = self.room, words
        if handler.headers["x-berth"] != "1":
            return error(403, "no_x_berth", "the header X-Berth is missing", "send X-Berth: 1")
        if user is None:
            return error(401, "token_wanted", "who asks is not known here", "use a token: berth token create")
        if room.read_only:
            return error(403, "read_only", "this server only shows", "start it without --read-only")
        there = room.leases() if kind == "leases" else room.processes()
        one = next((one for one in there if str(one["id" if kind == "leases" else "pid"]) == name), None)
        if one is None:
            return error(404, "not_found", f"there is no {name}", "look again")
        if user not in ("root", one["user"]):
            return error(403, "not_yours", f"{name} is another user's", "only they and administrators may do that")
        room.acts.append({"what": what, "name": name, "user": user, "body": json.loads(body)})
        if what == "signal":
            return 200, {"pid": one["pid"], "sent": True}
        return 200, {"lease": one["id"], "run": one["run"], "end": "ended"}

    def run_part(self, words, query):
        run = next((run for run in self.room.runs if run["id"] == words[0]), None)
        if run is None:
            return error(404, "not_found", "there is no such run", "")
        if run["user"] == "mara" and len(words) == 1:
            return 200, {key: run[key] for key in SEEN} | {"command": None}
        if len(words) == 1:
            return 200, run
        if words[1] == "samples":
            return 200, self.room.samples(run, int(query.get("points", 300)))
        if run["user"] == "mara":
            return error(403, "no_permission", "only its owner may read it", "")
        if words[1] == "explanation":
            return 200, self.room.explanation(run, query.get("lang"))
        if words[1] == "report":
            return 200, f"<!DOCTYPE html><html lang=en><title>r</title><style>{REPORT_STYLE}</style><main><h1>{run['id']}</h1></main>"
        text = self.room.log(run)
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", 65536))
        piece = text[offset : offset + limit]
        return 200, {"offset": offset, "next": offset + len(piece), "total": len(text), "text": piece}

    def stream(self, handler):
        server = self.server
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        for name, value in RULES.items():
            handler.send_header(name, value)
        handler.send_header("cache-control", "no-store")
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.close_connection = True
        last, user = None, user_of(handler)
        told = {"alert": len(self.room.alert_news), "health": len(self.room.health_news)}
        try:
            while server and server.going:
                room = self.room
                if room.hangs:
                    time.sleep(0.02)
                    continue
                if last is None or not (room.stale or room.still):
                    last = room.overview(user)
                else:
                    last = last | {"stale": room.stale, "sequence": last["sequence"] + 1,
                                   "unanswered_since_unix_ms": room.unanswered_since}
                text = f"id: {last['sequence']}\nevent: overview\ndata: {json.dumps(last)}\n\n"
                for name, news in (("alert", room.alert_news), ("health", room.health_news)):
                    text += "".join(f"event: {name}\ndata: {json.dumps(one)}\n\n" for one in news[told[name]:])
                    told[name] = len(news)
                handler.wfile.write(text.encode())
                handler.wfile.flush()
                deadline = time.monotonic() + self.room.interval_ms / 1000
                while server.going and time.monotonic() < deadline:
                    time.sleep(0.02)
        except OSError:
            pass


def user_of(handler):
    """A token here is the name of its user."""
    return (handler.headers["authorization"] or "").removeprefix("Bearer ") or None


def error(status, code, message, remedy):
    return status, {"error": {"code": code, "message": message, "remedy": remedy}}


def reply(handler, status, kind, body, tag=None):
    # gzip makes something of nothing, and a 304 with a body spoils the connection for the next.
    takes_gzip = "gzip" in (handler.headers["accept-encoding"] or "")
    packed = gzip.compress(body, 1) if body and takes_gzip else None
    handler.send_response(status)
    handler.send_header("content-type", kind)
    for name, value in RULES.items():
        handler.send_header(name, value)
    if tag is not None:
        handler.send_header("etag", tag)
        handler.send_header("cache-control", "no-cache")
    if packed is not None:
        handler.send_header("content-encoding", "gzip")
    handler.send_header("content-length", str(len(packed or body)))
    handler.end_headers()
    handler.wfile.write(packed or body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("snapshot")
    parser.add_argument("page")
    parser.add_argument("--health")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--devices", type=int)
    given = parser.parse_args()
    health = json.loads(pathlib.Path(given.health).read_text(encoding="utf-8")) if given.health else None
    room = Room(json.loads(pathlib.Path(given.snapshot).read_text(encoding="utf-8")), health, given.devices, hostile="lin")
    server = MockServer(room, given.page, given.port).start()
    print(f"http://127.0.0.1:{server.port}/", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
