"""What a server that has something of everything answers, held against the document that it serves."""

import json
import re
import signal
import subprocess

import pytest
from conftest import ROOT, FakeDriver, Machine, wait_until
from serving import Described, Events, Server
from test_top import busy_machine

CONFIG = """
interval = "300ms"
[join]
hosts = ["other=http://127.0.0.1:{port}"]
interval = "1s"
[alerts.gpu_lost]
for = "0s"
"""

# Members that list things, by path: none of these may be empty.
LISTS = {
    "/gpu-status": ["devices", "gpu_processes", "processes", "leases", "queue", "sources"],
    "/api/v1/overview": ["devices", "processes", "leases", "queue", "alerts"],
    "/api/v1/devices": ["devices"],
    "/api/v1/processes": ["processes"],
    "/api/v1/leases": ["leases"],
    "/api/v1/alerts": ["alerts"],
    "/api/v1/queue": ["queue"],
    "/api/v1/health": ["devices"],
    "/api/v1/hosts": ["hosts"],
    "/api/v1/runs": ["runs"],
    "/api/v1/runs/{run}/samples": ["devices", "columns", "points"],
    "/api/v1/runs/{run}/log": ["text"],
    "/api/v1/history": ["points"],
    "/api/v1/recent": ["devices"],
    "/api/v1/topology": ["devices"],
    "/api/v1/usage": ["rows"],
    "/api/v1/timeline": ["devices", "spans"],
    "/api/v1/events-log": ["events"],
}


NO_JSON = ("/api/v1/events", "/metrics", "/login", "/api/v1/runs/{run}/report")  # or none with an end


class Filled:
    """A server with a process, a run, somebody who waits, another server, an alert and a past."""

    def __init__(self, directory):
        for name in ("here", "other"):
            (directory / name).mkdir()
        self.started = []
        self.job = subprocess.Popen(["sleep", "600"])
        self.other = Server(Machine(directory / "other", "lab-4"))
        faults = directory / "faults"
        faults.write_text("", encoding="utf-8")
        self.machine = FakeDriver(directory / "here", busy_machine([self.job.pid]), faults=f"@{faults}")
        config = directory / "serve.toml"
        config.write_text(CONFIG.format(port=self.other.port), encoding="utf-8")
        self.server = Server(self.machine, "--config", config)
        self.events = Events(self.server, over="unix")
        told = self.machine.run("run", "--detach", "--only", "1", "--", "sh", "-c", "echo a line; sleep 600")
        assert told.returncode == 0, told.stderr
        self.started.append(self.machine.start("run", "--wait", "--only", "1", "--", "true"))
        faults.write_text("*@3=15", encoding="utf-8")

    def get(self, path):
        return self.server.get(path, over="unix")

    def close(self):
        self.events.close()
        self.machine.run("stop", "--all")
        for process in (*self.started, self.job):
            process.kill()
            process.communicate()
        for server in (self.server, self.other):
            server.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    filled = Filled(tmp_path_factory.mktemp("filled"))
    try:
        yield filled
    finally:
        filled.close()


@pytest.fixture(scope="module")
def described(filled):
    return Described(filled.get("/api/v1/openapi.json").json)


def documented(document):
    """[(method, path)], with "*" for each part that has a name of its own."""
    return [(method, re.sub(r"\{\w+\}", "*", path))
            for path, operations in document["paths"].items() for method in operations]


def test_what_can_be_asked_is_in_the_document_and_the_other_way_round():
    """The table of the program, which is all that it answers besides the page's files."""
    table = (ROOT / "src/serve/api.cc").read_text(encoding="utf-8").split("to_array<Route>({")[1].split("});")[0]
    routes = re.findall(r'\{Method::(\w+), "([^"]+)"', table)
    assert len(routes) == table.count("{Method::") > 20, "a row that is not understood"
    document = json.loads((ROOT / "src/serve/openapi.json").read_text(encoding="utf-8"))
    told = documented(document)
    assert len(told) == len(set(told)) and len(routes) == len(set(routes))
    assert set(routes) - set(told) == set(), "not in the document"
    assert set(told) - set(routes) == set(), "in the document alone"
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            named = {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}: the names in its path"


def test_each_path_takes_what_the_document_says_and_nothing_else(filled):
    document = filled.get("/api/v1/openapi.json").json
    assert document == json.loads((ROOT / "src/serve/openapi.json").read_text(encoding="utf-8"))
    methods = {}
    for method, path in documented(document):
        methods.setdefault(path.replace("*", "x"), []).append("GET, HEAD" if method == "get" else method.upper())
    for path, allowed in methods.items():
        answer = filled.server.ask("OPTIONS", path, over="unix")
        assert (answer.status, answer.headers.get("allow")) == (405, ", ".join(allowed)), path
        nowhere = filled.get(path + "/further/x")
        assert nowhere.status == 404 and nowhere.json["error"]["code"] == "not_found", path


def test_every_list_of_a_full_server_is_as_its_document_says(filled, described):
    def gone():
        return any(device["state"] == "lost" for device in filled.get("/api/v1/overview").json["devices"])

    wait_until(gone, "a device is lost", 20)
    run = wait_until(lambda: filled.get("/api/v1/runs").json["runs"], "the run is listed")[0]["id"]
    device = next(d["id"] for d in filled.get("/api/v1/overview").json["devices"] if d["index"] == 1)
    queries = {"/api/v1/history": f"?device={device}&metric=memory_used_bytes", "/api/v1/recent": "?metric=memory_used_bytes"}
    for template, operations in described.paths.items():
        if "get" not in operations or template in NO_JSON:
            continue
        path = template.replace("{run}", run).replace("{device}", device) + queries.get(template, "")

        def empty(path=path, template=template):
            answer = filled.get(path)
            return [key for key in LISTS.get(template, ()) if answer.status != 200 or not answer.json.get(key)]

        if empty():
            wait_until(lambda: not empty(), f"{path} has something of all, but of {empty()}", 20)
        answer = filled.get(path)
        assert answer.status == 200, f"{path}: {answer.body}"
        described.check_answer(operations["get"], answer.status, answer.json, path)
        # Nobody in particular is shown less, and is told so.
        less = filled.server.get(path, over="tcp")
        assert less.status == (403 if template.startswith("/api/v1/runs/{run}/") else 200), f"{path}: {less.body}"
        described.check_answer(operations["get"], less.status, less.json, f"{path}, for nobody in particular")
        assert "{" not in path, "each thing is asked for by its name"


def test_a_member_that_nobody_described_is_a_mistake_and_one_that_is_missing(filled, described):
    schema = {"$ref": "#/components/schemas/Overview"}
    overview = filled.get("/api/v1/overview").json
    assert described.mistakes(schema, overview) == []
    for where in (overview, overview["host"], overview["devices"][0], overview["queue"][0]["process"]):
        where["foreign"] = 1
        [mistake] = described.mistakes(schema, overview)
        assert "'foreign' was unexpected" in mistake
        del where["foreign"]
        name = next(iter(where))
        taken = where.pop(name)
        [mistake] = described.mistakes(schema, overview)
        assert f"'{name}' is a required property" in mistake
        where[name] = taken


def test_every_event_is_as_the_document_says(filled, described):
    told = described.paths["/api/v1/events"]["get"]["responses"]["200"]
    schemas = told["content"]["text/event-stream"]["x-data-of-events"]
    missing = set(schemas)
    assert missing == {"overview", "health", "alert"}
    full = False

    def heard():
        nonlocal full
        name, _, data = filled.events.next()
        described.check(schemas[name], data, f"the event {name}")
        missing.discard(name)
        full = full or name == "overview" and all(data[key] for key in LISTS["/api/v1/overview"])
        return full and not missing

    wait_until(heard, f"an event of each kind; not heard: {missing}", 20)


def test_what_is_done_is_answered_as_the_document_says(filled, described):
    paths = described.paths
    [process] = filled.get("/api/v1/processes").json["processes"]
    ticks = process["start_ticks"]
    acts = [("/api/v1/processes/{pid}/signal", str(process["pid"]), {"signal": "TERM", "start_ticks": ticks})]
    [lease] = filled.get("/api/v1/leases").json["leases"]
    acts.append(("/api/v1/leases/{lease}/release", lease["id"], {}))
    acts.append(("/api/v1/compose", "", {"devices": 1}))
    for template, name, body in acts:
        path = template.replace("{pid}", name).replace("{lease}", name)
        answer = filled.server.post(path, body)
        assert answer.status == 200, f"{path}: {answer.body}"
        described.check_answer(paths[template]["post"], answer.status, answer.json, path)
    assert filled.job.wait(10) == -signal.SIGTERM
    assert filled.started[0].wait(20) == 0, "who waited has got the device"
