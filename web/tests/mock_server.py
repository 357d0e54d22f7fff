"""A server of the page's own shapes, for tests of the page alone: it plays a snapshot (as `berth status
--json` prints one) with moving numbers, and can be stopped, started and made stale at will.

    python3 mock_server.py SNAPSHOT.json PAGE [--port N] [--devices N]   serves until interrupted
"""

import argparse
import copy
import gzip
import json
import math
import pathlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/assets/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/assets/page.css": ("page.css", "text/css; charset=utf-8"),
    "/assets/icon.svg": ("icon.svg", "image/svg+xml"),
}
READINGS = (
    "id index kind parent mig name state utilization_gpu_percent memory_used_bytes memory_total_bytes"
    " temperature_celsius temperature_slowdown_celsius power_draw_milliwatts power_limit_milliwatts"
).split()
HOUR, DAY = 3_600_000, 86_400_000
HOSTILE = "<img src=x onerror=alert(1)>"


def now_ms():
    return time.time_ns() // 1_000_000


class Room:
    """What there is to show at a moment: a snapshot's devices, somebody's leases, runs and a log."""

    def __init__(self, snapshot, health=None, devices=None, interval_ms=1000, hostile=HOSTILE):
        self.snapshot = copy.deepcopy(snapshot)
        self.interval_ms = interval_ms
        self.health = health or {"state": None, "devices": [], "problems": []}
        if devices:
            self.multiply(devices)
        self.hostile = hostile
        self.alerts = []  # said once to everybody who listens then
        self.stale = False
        self.blind = False  # nobody has looked yet
        self.no_history = False
        self.changed = {}  # device position: state, as a test asks for it
        self.sequence = 0
        self.started = now_ms()
        self.runs = [self.run(i) for i in range(7)]

    def multiply(self, count):
        models = self.snapshot["devices"]
        self.snapshot["devices"] = [
            copy.deepcopy(models[i % len(models)])
            | {"index": i, "id": f"GPU-{i:08x}-0000-4000-8000-000000000000"}
            for i in range(count)
        ]

    def leases(self):
        device = self.snapshot["devices"][min(3, len(self.snapshot["devices"]) - 1)]
        return [
            {
                "id": "9f8e47e3-cd17934ce0ea9fb0",
                "run": self.runs[0]["id"],
                "user": "wei",
                "command": None,
                "since_unix_ms": self.started - 95 * 60_000,
                "devices": [{"device": device["id"], "exclusive": True, "promised_bytes": None}],
            }
        ]

    def queue(self):
        return [
            {"id": "t1", "user": "mara", "wants": "-n 8", "since_unix_ms": self.started - 40 * 60_000},
            {"id": "t2", "user": self.hostile, "wants": "-n 2 --memory 20G", "since_unix_ms": self.started - 70_000},
        ]

    def overview(self):
        self.sequence += 1
        now = now_ms()
        devices = []
        states = {device["id"]: device["state"] for device in self.health["devices"]}
        for place, raw in enumerate(self.snapshot["devices"]):
            device = {key: raw.get(key) for key in READINGS}
            device["why"] = {k: v for k, v in (raw.get("why") or {}).items() if k in READINGS}
            device["users"] = [name for name in str(raw.get("users") or "").replace(",", " ").split()]
            device["leases"] = []
            device["health"] = states.get(raw["id"], "ok")
            wave = math.sin(now / 9000 + place)
            if device["utilization_gpu_percent"]:
                device["utilization_gpu_percent"] = max(0, min(100, round(88 + 11 * wave)))
                device["power_draw_milliwatts"] = int(590_000 + 60_000 * wave)
            for lease in self.leases():
                if lease["devices"][0]["device"] == raw["id"]:
                    device |= {"state": "leased", "users": [lease["user"]], "leases": [lease["id"]]}
                    device |= {"utilization_gpu_percent": max(0, round(70 + 25 * wave))}
                    device |= {"memory_used_bytes": 51_312_485_990, "power_draw_milliwatts": 540_000}
            if place in self.changed:
                device["state"] = self.changed[place]
            devices.append(device)
        return {
            "berth_overview": 1,
            "taken_unix_ms": now,
            "sequence": self.sequence,
            "simulated": self.snapshot.get("simulated"),
            "stale": self.stale,
            "interval_ms": self.interval_ms,
            "version": "0.1.0",
            "host": {
                key: self.snapshot["host"].get(key)
                for key in ("name", "driver_version", "cuda_version_supported")
            },
            "asker": {"user": None, "admin": False, "sees": "public"},
            "counts": {},
            "devices": devices,
            "processes": self.processes(),
            "leases": self.leases(),
            "queue": self.queue(),
            "problems": self.snapshot.get("problems", []),
        }

    def processes(self):
        known = {process["pid"]: process for process in self.snapshot["processes"]}
        there = {device["id"] for device in self.snapshot["devices"]}
        rows = []
        for use in self.snapshot["gpu_processes"]:
            process = known.get(use["pid"], {})
            if use["device"] not in there:
                continue
            rows.append(
                {key: use.get(key) for key in ("device", "pid", "type", "memory_used_bytes", "utilization_sm_percent")}
                | {
                    "user": process.get("user"),
                    "command": None,
                    "started_unix_ms": process.get("started_unix_ms"),
                    "container": process.get("container") or None,
                    "run": None,
                    "lease": None,
                }
            )
        lease = self.leases()[0]
        rows.append(
            {
                "device": lease["devices"][0]["device"], "pid": 40711, "type": "C",
                "user": lease["user"], "command": "python train.py", "memory_used_bytes": 51_270_000_000,
                "utilization_sm_percent": 71, "started_unix_ms": lease["since_unix_ms"] + 2000,
                "container": "docker llm-train", "run": lease["run"], "lease": lease["id"],
            }
        )
        return rows

    def run(self, number):
        begin = self.started - (95 * 60_000 if number == 0 else number * 5 * HOUR)
        device = self.snapshot["devices"][(3 + number) % len(self.snapshot["devices"])]
        ended = number != 0
        lasted = 92 * 60_000 + number * 260_000
        end = {
            "at_unix_ms": begin + lasted, "known": True, "exit_code": 0 if number != 2 else None,
            "signal": 9 if number == 2 else None, "because": "time limit" if number == 2 else "",
            "lasted_milliseconds": lasted,
        }
        marks = [
            {"at_unix_ms": begin + (i + 1) * lasted // 6, "exact": i % 2 == 0, "text": f"epoch={i} loss={2 / (i + 1):.3f}"}
            for i in range(5)
        ]
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(begin / 1000))
        return {
            "id": f"{stamp}-ab12c{number}", "user": ["wei", "mara", "alice"][number % 3],
            "command": ["python", "train.py", "--lr", "3e-4"], "working_directory": "/home/wei/exp",
            "started_unix_ms": begin, "waited_ms": 42_000, "wanted": "-n 1", "lease": "",
            "retry_of": None, "log": "/home/wei/exp/train.log", "state": "ended" if ended else "running",
            "time_limit_ms": None, "given": {"host": self.snapshot["host"], "devices": [device]},
            "machine": {"operating_system": "Debian GNU/Linux 12", "cpu_model": "AMD EPYC"},
            "git": {"commit": "8d3fa1c09d8e7f33", "branch": "main", "dirty": True},
            "python": {"version": "3.11.2", "packages": {"torch": "2.6.0"}},
            "variables": {"CUDA_VISIBLE_DEVICES": "3"}, "end": end if ended else None,
            "summary": {
                "samples": 5520, "mean_utilization_percent": 71.4, "energy_millijoules": 2_900_000_000,
                "tree_memory_peak_bytes": 9_313_664_000, "tree_cpu_milliseconds": 120_000,
                "devices": [{"mean_utilization_percent": 71.4, "memory_peak_bytes": 51_312_485_990,
                             "energy_millijoules": 2_900_000_000, "temperature_peak_celsius": 71}],
            },
            "marks": marks,
            "events": [{"at_unix_ms": begin + lasted // 2, "kind": "sampler_restarted", "text": "samples are missing for 8 s"}],
            "problems": [],
        }

    def samples(self, run, points):
        begin = run["started_unix_ms"]
        end = run["end"]["at_unix_ms"] if run["end"] else now_ms()
        rows = []
        for i in range(points):
            dip = 0.1 if 0.60 < i / points < 0.66 else 1
            wave = math.sin(i / 7)
            rows.append([int(begin + (end - begin) * i / points), 0, round(dip * (80 + 12 * wave), 1),
                         51_312_485_990, int(dip * 480_000 + 70_000 + 9000 * wave), 58 + round(6 * wave)])
        return {
            "devices": [device["id"] for device in run["given"]["devices"]],
            "columns": ["utilization_gpu_percent", "memory_used_bytes", "power_draw_milliwatts", "temperature_celsius"],
            "points": rows,
        }

    @staticmethod
    def log(run):
        end = run["end"]["at_unix_ms"] if run["end"] else run["started_unix_ms"] + 95 * 60_000
        length = end - run["started_unix_ms"]
        lines = []
        for i in range(1200):
            at = run["started_unix_ms"] + length * i / 1200
            # Stamps in a zone that is not the browser's, as logs have them.
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at / 1000 + 8 * 3600))
            text = "waiting for the data loader" if 0.60 < i / 1200 < 0.66 else f"step {i} loss {2 / (1 + i / 200):.4f}"
            lines.append(f"{stamp} \x1b[32mINFO\x1b[0m {text}")
        return "\n".join(lines) + "\n"

    def history(self, query):
        since, until = int(query["since"]), int(query["until"])
        step = max(1000, (until - since) // int(query.get("points", 300)))
        middle, spread = {
            "utilization_gpu_percent": (70, 25), "memory_used_bytes": (55e9, 6e9),
            "power_draw_milliwatts": (520_000, 120_000), "temperature_celsius": (61, 8),
        }[query["metric"]]
        unit = query["metric"].rsplit("_", 1)[1]
        points = []
        begin = max(since, self.started - 40 * DAY)
        for at in range(begin - begin % step, until, step):
            if 0.3 < (at % DAY) / DAY < 0.33:
                continue  # the server was down
            mean = middle + spread * 0.6 * math.sin(at / 2.1e6) * math.cos(at / 3.3e7)
            points.append([at, mean - spread * 0.3, mean, mean + spread * 0.25, mean + spread * 0.35])
        return {"device": query["device"], "metric": query["metric"], "unit": unit, "step_ms": step,
                "knows_since_unix_ms": self.started - 40 * DAY, "points": points}

    def timeline(self, query):
        since, until = int(query["since"]), int(query["until"])
        spans = []
        for place, device in enumerate(self.snapshot["devices"]):
            for k in range(60):
                begin = self.started - (k * 5 + place % 4) * HOUR
                kind = "lease" if k % 3 == 0 else "health" if (k + place) % 23 == 0 else "run"
                end = None if k == 0 else begin + (2 + (k * 7 + place) % 3) * HOUR
                if begin < until and (end or until) > since:
                    spans.append({"device": device["id"], "kind": kind, "id": self.runs[k % 7]["id"],
                                  "user": ["wei", "mara", "alice", "bob"][(k + place) % 4],
                                  "title": "python train.py" if kind != "health" else "ecc_uncorrected",
                                  "from_unix_ms": begin, "to_unix_ms": end, "state": "ended"})
        devices = [{key: device[key] for key in ("id", "index", "name")} for device in self.snapshot["devices"]]
        return {"devices": devices, "spans": spans}

    def usage(self, query):
        names = {"user": ["alice", "wei", "mara", "bob"], "gpu": [d["id"] for d in self.snapshot["devices"]],
                 "job": [run["id"] for run in self.runs], "day": [f"2026-11-{15 + i}" for i in range(7)]}[query["by"]]
        rows = [
            {"key": name, "gpu_hours": 410 / (i + 1.3), "busy_gpu_hours": 300 / (i + 1.3),
             "idle_held_hours": 60 / (i + 1.3) if i % 3 else 12 / (i + 1), "energy_joules": 5.2e8 / (i + 1.3),
             "cost": 43.3 / (i + 1.3), "waits": 3 * i, "waited_hours": 2.5 * i, "runs": 40 - i}
            for i, name in enumerate(names)
        ]
        return {"by": query["by"], "since_unix_ms": int(query["since"]), "until_unix_ms": int(query["until"]),
                "knows_since_unix_ms": self.started - 5 * DAY, "price_per_kwh": 0.3, "currency": "EUR", "rows": rows}

    def events_log(self):
        devices = self.snapshot["devices"]
        return {"events": [
            {"at_unix_ms": self.started - 3 * HOUR, "kind": "xid", "device": devices[0]["id"], "code": "79",
             "text": "GPU has fallen off the bus."},
            {"at_unix_ms": self.started - 26 * HOUR, "kind": "health", "device": devices[1]["id"],
             "state": "degraded", "code": "ecc_uncorrected", "text": "12 memory errors were not corrected"},
        ], "next": None}

    def compose(self, request):
        wanted = request.get("devices", 1)
        free = [d for d in self.overview()["devices"] if d["state"] == "free"]
        others = [d for d in self.overview()["devices"] if d["state"] != "free"]
        share = f" --memory {request['memory']}" if "memory" in request else ""
        placed = [{"id": d["id"], "index": d["index"], "name": d["name"], "reason": "free, 79.6 GiB"} for d in free]
        return {"command": f"berth run -n {wanted}{share} -- COMMAND", "satisfied": wanted <= len(free),
                "possible": wanted <= len(free) + len(others), "chosen": placed[:wanted] if wanted <= len(free) else [],
                "refused": [{"id": d["id"], "index": d["index"], "name": d["name"], "rule": "in_use",
                             "text": "in use by a process without a lease", "may_change": True} for d in others]}


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
        else:
            status, value = self.value_of(path, query, handler, body)
            reply(handler, status, "application/json", json.dumps(value).encode())

    def value_of(self, path, query, handler, body):
        room = self.room
        with_history = {"/api/v1/history": room.history, "/api/v1/timeline": room.timeline, "/api/v1/usage": room.usage}
        if path in with_history or path == "/api/v1/events-log":
            if room.no_history:
                return error(503, "no_history", "no history is kept", "start berth serve with --history")
            return 200, with_history[path](query) if path in with_history else room.events_log()
        if path == "/api/v1/overview":
            return 200, room.overview()
        if path == "/api/v1/health":
            return 200, room.health
        if path == "/api/v1/runs":
            return 200, {"runs": room.runs, "next": None}
        if path.startswith("/api/v1/runs/"):
            return self.run_part(path.split("/")[4:], query)
        if path == "/api/v1/compose" and body is not None:
            if handler.headers["x-berth"] != "1" or handler.headers["content-type"] != "application/json":
                return error(403, "forbidden", "X-Berth: 1 is missing", "")
            return 200, room.compose(json.loads(body))
        return error(404, "not_found", f"there is no {path}", "")

    def run_part(self, words, query):
        run = next((run for run in self.room.runs if run["id"] == words[0]), None)
        if run is None:
            return error(404, "not_found", "there is no such run", "")
        if run["user"] == "mara" and len(words) == 1:
            return 200, {k: v for k, v in run.items() if k not in ("marks", "events", "machine", "git", "python", "variables", "log")} | {"command": None}
        if len(words) == 1:
            return 200, run
        if words[1] == "samples":
            return 200, self.room.samples(run, int(query.get("points", 300)))
        if run["user"] == "mara":
            return error(403, "no_permission", "only its owner may read it", "")
        text = self.room.log(run)
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", 65536))
        piece = text[offset : offset + limit]
        return 200, {"offset": offset, "next": offset + len(piece), "total": len(text), "text": piece}

    def stream(self, handler):
        server = self.server
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("cache-control", "no-store")
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.close_connection = True
        last, told = None, len(self.room.alerts)
        try:
            while server and server.going:
                if self.room.blind:
                    handler.wfile.write(b": nothing yet\n\n")
                    handler.wfile.flush()
                    time.sleep(0.1)
                    continue
                if not self.room.stale or last is None:
                    last = self.room.overview()
                else:
                    last = last | {"stale": True, "sequence": last["sequence"] + 1}
                text = f"id: {last['sequence']}\nevent: overview\ndata: {json.dumps(last)}\n\n"
                for alert in self.room.alerts[told:]:
                    text += f"event: alert\ndata: {json.dumps(alert)}\n\n"
                told = len(self.room.alerts)
                handler.wfile.write(text.encode())
                handler.wfile.flush()
                deadline = time.monotonic() + self.room.interval_ms / 1000
                while server.going and time.monotonic() < deadline:
                    time.sleep(0.02)
        except OSError:
            pass


def error(status, code, message, remedy):
    return status, {"error": {"code": code, "message": message, "remedy": remedy}}


def reply(handler, status, kind, body):
    packed = gzip.compress(body, 1) if "gzip" in (handler.headers["accept-encoding"] or "") else None
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-security-policy", POLICY)
    handler.send_header("x-content-type-options", "nosniff")
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
