"""The web page in headless Chromium: clicks, live updates, reconnection, keyboard, accessibility.

The browser's tests are in web/tests/browser (JavaScript, driven by playwright-core); here the server
is started, told what to do, and each of their outcomes becomes one of pytest's. They run against a
mock that plays snapshots in the server's shapes, and against `berth serve` itself. BERTH_PAGE_SERVER
(mock, berth) chooses one of the two."""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import pytest

from conftest import BERTH, BUILD, ROOT, end, scenario, wait_until

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "web/tests")]
import check_page  # noqa: E402
import mock_room  # noqa: E402
import mock_server  # noqa: E402

PAGE = BUILD / "page" / "dist"
CHROMIUM = os.environ.get("BERTH_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SCRIPTS = sorted((ROOT / "web/tests/browser").glob("*.test.mjs"))
NAMES = [
    name
    for script in SCRIPTS
    for name in re.findall(r'\btest\(\s*[`"](.*?)[`"],\s*\{', script.read_text(encoding="utf-8"), re.M)
]
SERVERS = [name for name in ("mock", "berth") if os.environ.get("BERTH_PAGE_SERVER", name) == name]


def expanded(name):
    """The names that one test() in a loop makes."""
    if "${width}" in name:
        return [name.replace("${width}", str(width)) for width in (360, 768)]
    if "${reducedMotion}" in name:
        return [name.replace("${reducedMotion}", word) for word in ("reduce", "no-preference")]
    if "${colorScheme}" in name:
        return [name.replace("${colorScheme}", scheme) for scheme in ("light", "dark")]
    return [name]


def reason_to_skip():
    if CHROMIUM is None:
        return "needs chromium"
    if not (PAGE / "page.js").is_file() or (PAGE / "page.js").stat().st_size == 0:
        return "berth was built without its page (needs npm)"
    return check_page.bring_tools(ROOT)


class Mock:
    """The mock, with cards that are not well so that every view has something to show."""

    abilities = (
        "act alert blind change faults freeze history hold-log hostile hosts mig no-history problem read-only real"
        " restart runs simulated stale"
    )

    def __init__(self, _):
        snapshot = scenario("server-8xh100")
        health = self.health()
        for device, state in zip(snapshot["devices"], health["devices"]):
            state |= {"id": device["id"], "index": device["index"]}
        self.server = mock_server.MockServer(mock_server.Room(snapshot, health, interval_ms=300), PAGE)

    @staticmethod
    @functools.cache
    def health_text():
        done = subprocess.run(
            [BERTH, "health", "--json", "--sim", "faults"],
            env={"PATH": os.environ["PATH"], "BERTH_LEDGER": "/nonexistent/ledger"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def health(self):
        return json.loads(self.health_text())

    def start(self):
        self.server.start()
        return f"http://127.0.0.1:{self.server.port}/"

    def stop(self):
        self.server.stop()

    def tell(self, what, query):
        room = self.server.room
        if what in ("stale", "fresh"):
            room.stale = what == "stale"
        elif what in ("history-off", "history-on"):
            room.no_history = what == "history-off"
        elif what == "change":
            room.changed[int(query["device"])] = query["state"]
        elif what in ("blind", "sighted"):
            room.blind = what == "blind"
        elif what == "alert":
            over = {"resolved_unix_ms": mock_room.now_ms()} if query.pop("over", None) else {}
            room.alert(**(query | over))
        elif what == "problem":
            room.snapshot["problems"] = [query | {"device": room.snapshot["devices"][1]["id"]}]
        elif what == "mig":
            room.divide(int(query["device"]))
        elif what == "hosts":
            room.join(int(query["count"]))
        elif what == "freeze":
            room.hosts_now()
            room.frozen = True
        elif what == "real":
            room.snapshot["simulated"] = None
        elif what == "read-only":
            room.read_only = True
        elif what in ("hold-log", "give-log"):
            (room.gives_log.clear if what == "hold-log" else room.gives_log.set)()
        elif what == "acts":
            return room.acts
        else:
            raise ValueError(f"the mock cannot be told {what} {query}")
        return {}


class Served:
    """`berth serve` on a simulated server, with what it can be told from outside."""

    abilities = "restart simulated"

    def __init__(self, directory):
        self.directory = directory
        self.process = None
        self.port = 0

    def start(self):
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "XDG_RUNTIME_DIR": str(self.directory),
            "BERTH_LEDGER": str(self.directory / "ledger"),
            "LANG": "C.UTF-8",
        }
        log = self.directory / "serve.log"
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [BERTH, "serve", "--sim", "server-8xh100", "--listen", f"127.0.0.1:{self.port}"]
                + ["--socket", str(self.directory / "serve.sock")],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

        def address():
            if self.process.poll() is not None:
                pytest.fail(f"berth serve ended with {self.process.returncode}: {log.read_text()}")
            return re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text(encoding="utf-8"))

        self.port = int(wait_until(address, "berth serve says where it listens")[1])
        return f"http://127.0.0.1:{self.port}/"

    def stop(self):
        process, self.process = self.process, None
        if process:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                end(process)

    def tell(self, what, query):
        raise ValueError(f"berth serve cannot be told {what} {query}")


class Servers:
    """The servers that the tests in the browser see: one for those that only look, and one each for those
    that change it. Told what to do by HTTP: POST /open, and then /NUMBER/WHAT."""

    def __init__(self, make):
        self.make = make
        self.opened = []
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                parts = urllib.parse.urlsplit(self.path)
                try:
                    value, status = outer.told(parts.path.strip("/"), dict(urllib.parse.parse_qsl(parts.query))), 200
                except Exception as error:  # told to the test that asked
                    value, status = repr(error), 500
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def told(self, path, query):
        if path == "open":
            with self.lock:
                number = len(self.opened)
                self.opened.append(self.make(number))
            return {"number": number, "address": self.opened[number].start()}
        number, what = path.split("/")
        served = self.opened[int(number)]
        if what in ("stop", "start"):
            return getattr(served, what)()
        return served.tell(what, query)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for served in self.opened:
            served.stop()


def outcomes_of(kind, folder):
    """Runs all tests in one browser; what became of each, by its name."""

    def make(number):
        (folder / str(number)).mkdir()
        return kind(folder / str(number))

    servers = Servers(make)
    script = ROOT / "web/tests/browser/run.mjs"
    abilities = ",".join(kind.abilities.split())
    try:
        done = subprocess.run(
            ["node", str(script), str(check_page.modules(ROOT)), servers.address, abilities],
            env=os.environ | {"BERTH_CHROMIUM": CHROMIUM},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=420,
            check=False,
        )
    finally:
        servers.close()
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            outcome = json.loads(line)
            found[outcome["name"]] = outcome
    found[""] = {"outcome": "failed", "message": f"node ended with {done.returncode}: {done.stderr[-4000:]}"}
    return found


@pytest.fixture(scope="module", params=SERVERS)
def outcomes(request, tmp_path_factory):
    if reason := reason_to_skip():
        pytest.skip(reason)
    kind = {"mock": Mock, "berth": Served}[request.param]
    return outcomes_of(kind, tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize("name", [each for name in NAMES for each in expanded(name)])
def test_in_the_browser(outcomes, name):
    outcome = outcomes.get(name, outcomes[""])
    if outcome["outcome"] == "skipped":
        pytest.skip(outcome["message"])
    assert outcome["outcome"] == "passed", outcome.get("message")


def test_the_page_is_given_without_scripts_or_styles_of_its_own():
    if not PAGE.is_dir():
        pytest.skip("berth was built without its page (needs npm)")
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|<script>|\son\w+=|https?://", html), html


def test_nothing_of_the_page_writes_markup_from_data():
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
    for path in sorted(pathlib.Path(ROOT / "web/src").rglob("*.ts")):
        code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        assert not forbidden.search(code), f"{path}: {forbidden.search(code)}"
