"""The web page in headless Chromium: clicks, live updates, reconnection, keyboard, accessibility.

The browser's tests are in web/tests/browser (JavaScript, driven by playwright-core). Here the server is started and
told what to do. Each of their outcomes becomes one of pytest's. They run against `berth serve` itself. What it cannot be
told, a mock plays, in the server's shapes. BERTH_LONG runs all on each of the two; BERTH_PAGE_SERVER (mock, berth)
chooses one."""

import functools
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest

import page_server
from browser import CHROMIUM, why_no_browser
from conftest import BERTH, BUILD, ROOT, scenario
from serving import Described

sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "web/tests")]
import check_page  # noqa: E402
import mock_room  # noqa: E402
import mock_server  # noqa: E402

PAGE = BUILD / "page" / "dist"
SCRIPTS = sorted((ROOT / "web/tests/browser").glob("*.test.mjs"))


def names_in(script):
    """Those of a script's tests; one in a loop over written values makes a name for each."""
    names, values = [], {}
    for line in re.finditer(
        r'for \(const (\w+) of \[(.*?)\]\)|^ *test\(\s*[`"](.*?)[`"],', script.read_text(encoding="utf-8"), re.M
    ):
        loop, written, name = line.groups()
        if loop:
            values[loop] = [word.strip(' "') for word in written.split(",")]
        else:
            names += expanded(name, values)
    return names


def expanded(name, values):
    if "${look}" in name:
        looks = [f"{language}, {width}" for language in ("en", "zh") for width in (1440, 390)]
        return [name.replace("${look}", look) for look in looks]
    for loop in re.findall(r"\$\{(\w+)\}", name):
        return [name.replace(f"${{{loop}}}", word) for word in values[loop]]
    return [name]


NAMES = [name for script in SCRIPTS for name in names_in(script)]
# "both": berth, and the mock for what berth cannot be told.
SERVERS = ["mock", "berth"] if os.environ.get("BERTH_LONG") else [os.environ.get("BERTH_PAGE_SERVER", "both")]


def reason_to_skip():
    if why_no_browser():
        return why_no_browser()
    if not (PAGE / "page.js").is_file() or (PAGE / "page.js").stat().st_size == 0:
        return "berth was built without its page (needs npm)"
    return check_page.bring_tools(ROOT)


class Mock:
    """The mock, with cards that are not well so that every view has something to show."""

    abilities = (
        "act alert change containers embed faults freeze hang history hostile hosts mig no-history planned problem read-only real"
        " restart runs script-link simulated stale still thousand unanswered xid bound"
    )
    cannot = {"sign-in": "it gives no tokens", "sweep": "its runs are invented, a sweep's are not"}

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

    def close(self):
        self.stop()

    def tell(self, what, query):
        room = self.server.room
        if what in ("stale", "fresh"):
            room.stale = what == "stale"
        elif what in ("hang", "go-on"):
            room.hangs = what == "hang"
        elif what == "still":
            room.still = True
        elif what == "unanswered":
            room.unanswered_since = mock_room.now_ms() - 60_000
        elif what == "answered":
            room.unanswered_since = None
        elif what in ("history-off", "history-on"):
            room.no_history = what == "history-off"
        elif what == "change":
            room.changed[int(query["device"])] = query["state"]
            return {"state": query["state"]}
        elif what == "alert":
            over = {"resolved_unix_ms": mock_room.now_ms()} if query.pop("over", None) else {}
            return room.alert(**(query | over))
        elif what == "problem":
            room.snapshot["problems"] = [{"code": "no_permission"} | query | {"device": room.snapshot["devices"][1]["id"]}]
        elif what == "bound":
            card = room.snapshot["devices"][7]
            card |= {"kind": "intel-gpu", "memory_used_is_bound": True, "memory_used_bytes": 3 << 30, "memory_total_bytes": 12 << 30}
        elif what == "mig":
            room.divide(int(query["device"]))
        elif what == "xid":
            if query:
                room.error(int(query["device"]))
        elif what == "faults":  # there are some anyway, but none of these
            room.snapshot["devices"][7]["state"] = "unknown"
            room.divide(6)
        elif what == "hosts":
            room.join(int(query["count"]))
        elif what == "freeze":
            room.hosts_now()
            room.frozen = True
        elif what == "real":
            room.snapshot["simulated"] = None
        elif what == "read-only":
            room.read_only = True
        elif what == "acts":
            return room.acts
        elif what == "who":
            # A token is the name of its user.
            return {"container": "docker llm-train", "user": "wei", "token": "wei", "gpu": 3, "pid": 40711, "run": room.runs[3]["id"], "named": room.runs[6]["id"], "failed": room.runs[3]["id"],
                    "foreign": room.runs[1]["id"]}
        elif what not in ("containers", "embed", "hostile", "planned"):  # it is so anyway
            raise ValueError(f"the mock cannot be told {what} {query}")
        return {}


class Servers:
    """The servers that the tests in the browser see. There is one for tests that only look, and one for each test that
    changes it. They are told what to do by HTTP: POST /open, and then /NUMBER/WHAT."""

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
        if what in ("stop", "start", "close"):
            return getattr(served, what)()
        return served.tell(what, query)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for served in self.opened:
            served.close()


def outcomes_of(kind, folder, only=""):
    """Runs the tests that `only` matches in one browser; what became of each, by its name."""

    def make(number):
        (folder / str(number)).mkdir()
        return kind(folder / str(number))

    abilities, cannot = ",".join(kind.abilities.split()), kind.cannot
    if kind is page_server.Served:
        (folder / "past").mkdir()
        kind = functools.partial(kind, page_server.Past(folder / "past"))
    servers = Servers(make)
    script = ROOT / "web/tests/browser/run.mjs"
    try:
        done = subprocess.run(
            ["node", str(script), str(check_page.modules(ROOT)), servers.address, abilities, only],
            env=os.environ | {"BERTH_CHROMIUM": CHROMIUM},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=1700,  # each test has a bound of its own
            check=False,
        )
    finally:
        servers.close()
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            outcome = json.loads(line)
            if outcome["outcome"] == "skipped":
                needs = outcome["message"].split(", ")
                outcome["outcome"] = "skipped" if cannot.keys() >= set(needs) else "failed"
                outcome["message"] = "; ".join(cannot.get(need, f"nobody says why not {need}") for need in needs)
            found[outcome["name"]] = outcome
    found[""] = {"outcome": "failed", "message": f"node ended with {done.returncode}: {done.stderr[-4000:]}"}
    return found


@pytest.fixture(scope="module", params=SERVERS)
def outcomes(request, tmp_path_factory):
    if reason := reason_to_skip():
        pytest.skip(reason)
    if request.param != "both":
        kind = {"mock": Mock, "berth": page_server.Served}[request.param]
        return outcomes_of(kind, tmp_path_factory.mktemp("page"))
    found = outcomes_of(page_server.Served, tmp_path_factory.mktemp("page"))
    left = [name for name, outcome in found.items() if outcome["outcome"] == "skipped"]
    assert left, "berth can be told all: the mock has nothing left to show"
    only = f"^({'|'.join(map(re.escape, left))})$"
    mocked = outcomes_of(Mock, tmp_path_factory.mktemp("mock"), only)
    return found | {name: mocked.get(name, mocked[""]) for name in left}


def test_none_of_the_browsers_tests_is_left_out(outcomes):
    assert set(outcomes) - {""} == set(NAMES), outcomes[""]["message"]


@pytest.mark.parametrize("name", NAMES)
def test_in_the_browser(outcomes, name):
    outcome = outcomes.get(name, outcomes[""])
    if outcome["outcome"] == "skipped":
        pytest.skip(outcome["message"])
    assert outcome["outcome"] == "passed", outcome.get("message")


# ------------------------------------------------------------------------------------------- the mock


def asked_of_the_mock(address, path, body=None):
    """(status, what it says) of one request; with a body it is a POST by the user `wei`."""
    headers = {"Content-Type": "application/json", "X-Berth": "1", "Authorization": "Bearer wei"}
    request = urllib.request.Request(
        urllib.parse.urljoin(address, path), body and json.dumps(body).encode(), headers if body else {}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as answer:
        return answer.code, json.load(answer)


def events_of_the_mock(address, wanted):
    """The first event of each name that is `wanted`."""
    found, name = {}, None
    with urllib.request.urlopen(urllib.parse.urljoin(address, "api/v1/events"), timeout=60) as stream:
        while not wanted <= found.keys():
            key, _, value = stream.readline().decode().rstrip("\n").partition(": ")
            if key == "event":
                name = value
            elif key == "data":
                found.setdefault(name, json.loads(value))
    return found


@pytest.fixture
def mock(tmp_path):
    """The mock, told of all that its pages are tested with."""
    mock = Mock(tmp_path)
    address = mock.start()
    for what, query in [
        ("mig", {"device": 2}),
        ("hosts", {"count": 14}),
        ("alert", {"summary": "held idle for 2 h by bob"}),
        ("alert", {"id": "2", "severity": "critical", "over": 1}),
        ("problem", {"source": "kernel log", "message": "it cannot be read", "remedy": "run it as root"}),
    ]:
        mock.tell(what, query)
    yield mock, address
    mock.stop()


def test_the_mock_answers_as_the_document_says(mock):
    mock, address = mock
    described = Described(json.loads((ROOT / "src/serve/openapi.json").read_text(encoding="utf-8")))

    def answer(template, path=None, body=None, status=200):
        answered, value = asked_of_the_mock(address, path or template.lstrip("/"), body)
        assert answered == status, f"{path or template}: {value}"
        operation = described.paths[template]["post" if body is not None else "get"]
        described.check_answer(operation, answered, value, path or template)
        return value

    overview = answer("/api/v1/overview")
    for listed in ("devices", "processes", "leases", "queue", "problems", "alerts"):
        assert overview[listed], f"the overview has no {listed}: nothing of them is looked at"
    device, since = overview["devices"][0]["id"], overview["taken_unix_ms"] - 86_400_000
    span = f"since={since}&until={overview['taken_unix_ms']}"
    assert answer("/api/v1/history", f"api/v1/history?device={device}&metric=utilization_gpu_percent&{span}")["points"]
    assert answer("/api/v1/timeline", f"api/v1/timeline?{span}")["spans"]
    assert answer("/api/v1/events-log", f"api/v1/events-log?{span}")["events"]
    assert answer("/api/v1/recent", f"api/v1/recent?metric=utilization_gpu_percent&{span}")["devices"]
    assert answer("/api/v1/topology")["devices"]
    assert answer("/api/v1/queue")["queue"]
    answer("/gpu-status", "gpu-status?device=0")
    for by in ("user", "job", "gpu", "day"):
        assert answer("/api/v1/usage", f"api/v1/usage?by={by}&{span}")["rows"]
    assert len(answer("/api/v1/alerts")["alerts"]) == 2
    assert len(answer("/api/v1/hosts")["hosts"]) == 14
    assert answer("/api/v1/health")["devices"]
    for run in answer("/api/v1/runs")["runs"]:
        path = f"api/v1/runs/{run['id']}"
        answer("/api/v1/runs/{run}", path)
        assert answer("/api/v1/runs/{run}/samples", f"{path}/samples")["points"]
        for part in ("log", "explanation"):
            answer(f"/api/v1/runs/{{run}}/{part}", f"{path}/{part}", status=403 if run["user"] == "mara" else 200)
    answer("/api/v1/runs/{run}", "api/v1/runs/none", status=404)
    for wanted in (1, 1000):
        answer("/api/v1/compose", body={"devices": wanted, "memory": "10G"})
    lease = overview["leases"][0]
    process = next(one for one in overview["processes"] if one["lease"] == lease["id"])
    ending = {"signal": "TERM", "start_ticks": process["start_ticks"]}
    answer("/api/v1/processes/{pid}/signal", f"api/v1/processes/{process['pid']}/signal", ending)
    answer("/api/v1/leases/{lease}/release", f"api/v1/leases/{lease['id']}/release", {"why": "a test"})
    answer("/api/v1/leases/{lease}/release", f"api/v1/leases/{lease['id']}/release", {"why": "again"}, 404)

    threading.Timer(0.5, mock.tell, ("alert", {"id": "3"})).start()
    events = events_of_the_mock(address, {"overview", "alert"})
    for name, schema in (("overview", "Overview"), ("alert", "Alert")):
        described.check({"$ref": f"#/components/schemas/{schema}"}, events[name], f"the event {name}")
    mock.tell("history-off", {})
    answer("/api/v1/history", status=503)


RULES = ("content-security-policy", "x-content-type-options", "referrer-policy")


def rules_of(address, path):
    """What the answer of a server tells a browser to keep to."""
    with urllib.request.urlopen(urllib.parse.urljoin(address, path), timeout=60) as answer:
        return {name: answer.headers[name] for name in RULES}


def test_the_mock_gives_a_browser_the_rules_of_the_server(tmp_path):
    if reason := reason_to_skip():
        pytest.skip(reason)
    mock, served = Mock(tmp_path), page_server.Served(None, tmp_path, live=False)
    try:
        told, wanted = mock.start(), served.start()
        served.wait_for(lambda: served.ask("api/v1/overview")["devices"], "it looks")
        for path in (*mock_server.FILES, "api/v1/overview", "api/v1/events"):
            assert rules_of(told, path) == rules_of(wanted, path), path
    finally:
        mock.stop()
        served.close()


# ------------------------------------------------------------------------------------------- the page


def test_the_page_is_given_without_scripts_or_styles_of_its_own():
    if not PAGE.is_dir():
        pytest.skip("berth was built without its page (needs npm)")
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|<script>|\son\w+=|https?://", html), html


def test_the_page_is_at_most_90_kb_as_it_is_sent():
    if not PAGE.is_dir():
        pytest.skip("berth was built without its page (needs npm)")
    sizes = {name: (PAGE / f"{name}.gz").stat().st_size for name in ("index.html", "page.js", "page.css", "icon.svg")}
    assert sum(sizes.values()) <= 90_000, sizes


def test_nothing_of_the_page_writes_markup_from_data():
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
    for path in sorted(pathlib.Path(ROOT / "web/src").rglob("*.ts")):
        code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        assert not forbidden.search(code), f"{path}: {forbidden.search(code)}"
