"""The simulated server that has been used for weeks. Its history is there from the first moment, and fits what it
shows."""

import json
import os
import pwd
import subprocess
import time

import pytest
from browser import CHROMIUM
from conftest import ROOT, Machine, wait_until
from prometheus import MISSING, PROMETHEUS, PROMTOOL, Prometheus, dashboards, expressions
from serving import Server
from test_page import check_page, reason_to_skip
from test_prometheus import EMPTY_WHEN_WELL
from test_serve import token_of

NAME = "month-8xh100"
RANGES = {"1h": 3600, "24h": 86400, "7d": 7 * 86400, "28d": 28 * 86400, "30d": 30 * 86400}  # as typed: in seconds


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """One for all that only ask: four weeks are computed anew for each user."""
    server = Server(Machine(tmp_path_factory.mktemp("month"), NAME))
    try:
        wait_until(lambda: asked(server, "history", "1h").get("last_sample_unix_ms"), "the past is written")
        wait_until(lambda: any(charts_of(asked(server, "history", "1h"))), "the last hour is written")
        wait_until(lambda: server.get("/api/v1/events-log").status == 200, "the server has opened it")
        yield server
    finally:
        server.close()


def asked(server, verb, since, *words):
    done = server.machine.run(verb, "--json", "--since", since, *words)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def busy_device(month):
    """One that somebody has at the moment: which that is, changes from hour to hour."""
    devices = json.loads(month.get("/api/v1/overview").body)["devices"]
    return max(devices, key=lambda one: (one["state"] == "leased", one["memory_used_bytes"] or 0))


def charts_of(history):
    """For each GPU the points of its utilisation, each (time, least, mean, 95 %, most)."""
    return [one["points"] for one in history["series"] if one["metric"] == "utilization_gpu_percent"]


@pytest.mark.parametrize("since", RANGES)
def test_every_range_is_drawn_from_the_first_moment(month, since):
    history = asked(month, "history", since)
    assert history["simulated"] == NAME
    charts = charts_of(history)
    assert len(charts) == 8
    for points in charts:
        age = time.time() - points[0][0] / 1000
        assert age > RANGES[since] * 0.9, "it does not reach back to the range's beginning"
    assert max(len({round(point[2]) for point in points}) for points in charts) > 3, "all stand still"


KEPT_OF_DETAILS = ["nvlink_sent_rate_bytes_per_second", "nvlink_received_rate_bytes_per_second", "activity_sm_percent",
                   "activity_tensor_percent", "activity_dram_percent"]


@pytest.mark.parametrize("since", RANGES)
def test_nvlink_and_activity_have_every_range_too(month, since):
    series = asked(month, "history", since)["series"]
    for key in KEPT_OF_DETAILS:
        of_key = [one["points"] for one in series if one["metric"] == key]
        assert len(of_key) == 8, f"{key} of {len(of_key)} cards"
        age = time.time() - min(points[0][0] for points in of_key) / 1000
        assert age > RANGES[since] * 0.9, f"{key} does not reach back to the range's beginning"
        if RANGES[since] > 86400:  # within a day nobody need have two cards
            assert any(point[4] > 0 for points in of_key for point in points), f"{key} is always 0"


@pytest.mark.parametrize("since", RANGES)
def test_pcie_has_every_range_too(month, since):
    series = asked(month, "history", since)["series"]
    for key in ("pcie_sent_bytes", "pcie_received_bytes"):
        of_key = [one["points"] for one in series if one["metric"] == key]
        assert len(of_key) == 8, f"{key} of {len(of_key)} cards"
        age = time.time() - min(points[0][0] for points in of_key) / 1000
        assert age > RANGES[since] * 0.9, f"{key} does not reach back to the range's beginning"
        if RANGES[since] >= 86400:  # within an hour nobody need compute
            assert sum(any(point[4] > 0 for point in points) for points in of_key) >= 4, f"{key} is 0"


def test_its_troubles_of_the_month_are_told_by_history_and_by_the_api(month):
    """An error of a card, and cards that were slowed down by their heat."""
    events = asked(month, "history", "30d")["events"]
    xids = [event for event in events if event["kind"] == "xid"]
    assert xids and all(event["code"] for event in xids)
    now = int(time.time() * 1000)
    served = month.get(f"/api/v1/events-log?since={now - 30 * 86_400_000}&until={now}", over="unix").json["events"]
    told = {(one["at_unix_ms"], one["kind"], one["code"], one["device"]) for one in served}
    assert (xids[-1]["at_unix_ms"], "xid", xids[-1]["code"], xids[-1]["device"]) in told
    slowed = {}
    for event in events:
        if event["code"] == "software_thermal_slowdown":
            slowed.setdefault(event["device"], []).append((event["at_unix_ms"], event["kind"]))
    hot, limit = hot_hours(month)
    known_from = {}  # of a device that was hot before: when it had cooled down
    for device, begin, end in sorted(hot, key=lambda hour: hour[1]):
        if begin <= known_from.get(device, now - 30 * 86_400_000 + 3_600_000):
            known_from[device] = end
            continue
        last = max((one for one in slowed[device] if one[0] < end), default=(0, None))
        assert last[0] >= begin or last[1] == "health", f"nothing tells that {device} was slowed down at {begin}"
    assert len(hot) > 10, "no card was slowed down by its heat for hours"
    for device, begin, end in hot[-3:]:
        def chart(metric, device=device, begin=begin, end=end):
            path = f"/api/v1/history?device={device}&metric={metric}&since={begin}&until={end}"
            return month.get(path, over="unix").json["points"]

        assert max(point[4] for point in chart("temperature_celsius")) >= limit - 1
        assert max(point[4] for point in chart("utilization_gpu_percent")) > 85
        assert min(point[1] for point in chart("clock_sm_megahertz")) < 0.75 * 1980


def hot_hours(month):
    """[(device, from, to)] in which a card stood just below the heat at which it slows down, and that heat."""
    limit = json.loads(month.machine.run("status", "--json").stdout)["devices"][0]["temperature_slowdown_celsius"]
    series = asked(month, "history", "30d")["series"]
    hot = [(one["device"], int(point[0]), int(point[0]) + one["step_ms"])
           for one in series if one["metric"] == "temperature_celsius" for point in one["points"] if point[2] >= limit - 1]
    return sorted(hot, key=lambda one: one[1]), limit


def test_usage_knows_every_user_for_four_weeks(month):
    usage = asked(month, "usage", "28d")
    assert usage["simulated"] == NAME
    rows = {row["key"]: row for row in usage["rows"]}
    assert set(rows) == {"alice", "bob", "carol", "dave", "erin"}
    for row in rows.values():
        assert row["busy_gpu_hours"] > 100 and row["idle_held_hours"] > 10
        assert not row["energy_integrated"], "a counter went back"
    assert usage["unwatched_hours"] < 20


def test_what_the_history_says_of_now_is_what_the_server_shows(month):
    def running():
        return {lease["id"] for lease in json.loads(month.machine.run("status", "--json").stdout)["leases"]}

    def lasting():
        spans = asked(month, "history", "28d")["spans"]
        return {span["id"] for span in spans if span["kind"] == "lease" and span["to_unix_ms"] is None}

    wait_until(lambda: running() == lasting(), "the newest look is written down, and is what is shown")


@pytest.mark.parametrize("verb", ["history", "usage"])
def test_before_its_server_has_begun_it_is_said_how_its_weeks_come(machine_of, verb):
    done = machine_of(NAME).run(verb)
    assert done.returncode == 1 and f"`berth serve --sim {NAME}`, then this again" in " ".join(done.stderr.split()), done
    done = machine_of("server-8xh100").run(verb)
    assert done.returncode == 1 and "keeps one while it runs" in " ".join(done.stderr.split()), done


def test_another_simulated_server_has_no_past(machine_of):
    server = Server(machine_of("lab-4"))
    try:
        wait_until(lambda: asked(server, "usage", "28d"), "a history is kept")
        assert asked(server, "usage", "28d")["rows"] == []
    finally:
        server.close()


# --- its runs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A user's machine whose runs only are asked for: each such machine computes the four weeks anew."""
    return Machine(tmp_path_factory.mktemp("used"), NAME)


def listed(machine):
    return json.loads(machine.run("runs", "--json", "-n", "100000").stdout)["runs"]


@pytest.fixture(scope="module")
def runs(used):
    return listed(used)


def test_a_month_of_runs_is_there_and_say_that_they_are_simulated(used, runs):
    assert len(runs) > 200
    assert {run["user"] for run in runs} == {"alice", "bob", "carol", "dave", "erin"}
    assert {run["given"]["simulated"] for run in runs} == {NAME}
    oldest = min(run["started_unix_ms"] for run in runs)
    assert 28 < (time.time() * 1000 - oldest) / 86_400_000 < 32, "of another time than the history"
    assert {run["state"] for run in runs} == {"ended"}
    assert any(run["waited_ms"] > 0 for run in runs), "none has waited"
    assert sum(run["end"]["exit_code"] == 1 for run in runs) > 5, "none has failed"
    assert all(run["summary"]["samples"] >= 6 for run in runs)
    assert "SIMULATED" in used.run("runs").stdout + used.run("show").stdout


def test_the_same_time_has_the_same_runs(runs, tmp_path):
    """From the seed alone: two users who ask at the same time see the same past."""

    def told(runs):
        return {run["id"]: (run["command"], run["end"]["exit_code"]) for run in runs}

    first, second = told(runs), told(listed(Machine(tmp_path, NAME)))
    both = first.keys() & second.keys()
    assert len(both) > 200 and all(first[id] == second[id] for id in both)


@pytest.mark.parametrize(("command", "finds"), [
    ("python serve.py --max-batch 256", "memory"),
    ("python kernels_test.py", "illegal memory access"),
])  # fmt: skip
def test_explain_finds_why_one_failed(used, runs, command, finds):
    failed = next(run for run in runs if " ".join(run["command"]) == command)
    done = used.run("explain", failed["id"])
    assert finds in done.stdout and "error:" in done.stdout, done.stdout
    # `berth report` of the latest has curves.
    assert len(json.loads(used.run("report", "--json", runs[0]["id"]).stdout)["runs"]) == 1


TROUBLES = {
    "jupyter notebook": "memory of the GPU is held, and nothing computes",
    "python sweep.py --batch-size 512": "the GPU is too hot and slows itself down",
    "python finetune.py --workers 1": "the GPU stands still again and again",
}


def troubled_now(directory):
    """A server like it, of another seed, where each of these goes on: its machine, {command: GPU}."""
    file = directory / "month.json"
    written = json.loads((ROOT / f"src/probe/sim/scenarios/{NAME}.json").read_text(encoding="utf-8"))
    for seed in range(1, 500):
        file.write_text(json.dumps(written | {"seed": seed}), encoding="utf-8")
        machine = Machine(directory, str(file))
        told = json.loads(machine.run("status", "--json").stdout)
        devices = {device["id"]: device for device in told["devices"]}
        found = {lease["command"]: devices[lease["devices"][0]["device"]] for lease in told["leases"]}
        idle = found.get("jupyter notebook", {}).get("utilization_gpu_percent")
        if idle == 0 and found.keys() >= TROUBLES.keys():
            return machine, {command: device["index"] for command, device in found.items()}
    return pytest.fail("of no seed do all of them go on now")


def test_explain_names_each_trouble_that_goes_on(tmp_path):
    quarter = None
    while quarter != int(time.time()) // 900:  # jobs begin and end with one
        quarter = int(time.time()) // 900
        machine, gpus = troubled_now(tmp_path)
        asked_for = {command: machine.start("explain", str(gpus[command]), "--seconds", "40") for command in TROUBLES}
        said = {command: process.communicate(timeout=200)[0] for command, process in asked_for.items()}
    assert {command: TROUBLES[command] in text for command, text in said.items()} == dict.fromkeys(TROUBLES, True), said


def test_invented_runs_never_stand_among_ones_own(used):
    """The last of `used`, to which it adds a run."""
    assert used.run("run", "-q", "--cpu", "--", "true").returncode == 0, "its cards may all be taken"
    own = listed(used)[0]
    assert own["command"] == ["true"]
    assert json.loads(used.run("show", "--json").stdout)["id"] == own["id"]
    elsewhere = used.run("runs", "--json", env={"BERTH_SIM": "lab-4"})
    assert json.loads(elsewhere.stdout)["runs"] == []


def test_the_page_lists_them(month):
    answer = json.loads(month.get("/api/v1/runs").body)
    assert len(answer["runs"]) > 20


@pytest.mark.skipif(not (PROMETHEUS and PROMTOOL), reason=f"needs {MISSING}")
def test_our_dashboards_are_filled(month, tmp_path):
    prometheus = Prometheus(tmp_path, [("berth", "/metrics", "berth", [f"127.0.0.1:{month.port}"])])
    device = str(busy_device(month)["index"])
    try:
        wait_until(lambda: prometheus.query("count_over_time(up[1m]) >= 3"), "three scrapes", 90)
        empty = {panel for dashboard in dashboards() for panel, text in expressions(dashboard, job="berth", device=device)
                 if not prometheus.query(text)}  # fmt: skip
    finally:
        prometheus.close()
    # Nobody need wait at a moment, whole cards are promised no bytes, and that one need have had no error.
    may_be = {"What is not well", "Longest wait", "Leases and what they were promised", "XID errors"}
    assert empty <= EMPTY_WHEN_WELL | may_be


def test_no_view_of_the_page_is_empty(month):
    if reason := reason_to_skip():
        pytest.skip(reason)
    token = token_of(month, "page", "--user", pwd.getpwuid(os.geteuid()).pw_name)["Authorization"].removeprefix("Bearer ")
    # The runs that ended last have samples, and with them charts.
    ended = [run for run in json.loads(month.get("/api/v1/runs").body)["runs"] if run["end"]]
    ended.sort(key=lambda run: run["end"]["at_unix_ms"], reverse=True)
    runs = [f"{run['id']}@{run['uid']}" for run in ended]
    words = {"base": f"http://127.0.0.1:{month.port}/", "token": token, "runs": runs,
             "device": busy_device(month)["id"]}  # fmt: skip
    script = ROOT / "web/tests/browser/empty_views.mjs"
    done = subprocess.run(
        ["node", str(script), str(check_page.modules(ROOT)), json.dumps(words)], env=os.environ | {"BERTH_CHROMIUM": CHROMIUM},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert {name for name, view in seen.items() if view["missing"]} == set(), seen
    # Texts of emptiness that may be true at a moment.
    may_be_empty = {"Nobody waits.", "No alert.", "The job left no marks (berth mark)."}
    of_one_device = {"gpu": {"No rule finds anything wrong."}}
    told = {name: set(view["empty"]) - may_be_empty - of_one_device.get(name, set()) for name, view in seen.items()}
    assert not any(told.values()), seen
    assert not [chart for view in seen.values() for chart in view["charts"] if "nothing recorded" in chart], seen
    drawn = " ".join(seen["gpu"]["charts"])
    for name in ("Load", "Memory", "Power", "Temperature", "Activity, SM", "SM clock", "PCIe, sent", "NVLink, sent"):
        assert f"{name}: " in drawn, drawn
    assert seen["health"]["shown"] > 20 and seen["usage"]["shown"] == 5 and seen["runs"]["shown"] > 20, seen


def test_weeks_take_a_few_megabytes_and_are_not_written_twice(month):
    """The last, as it ends the server."""
    state = month.machine.directory / "state" / "berth"
    files = list(state.glob(f"history-sim-{NAME}.sqlite*"))
    assert sum(file.stat().st_size for file in files) < 16 << 20
    before = asked(month, "usage", "28d")["rows"][0]["gpu_hours"]
    month.close()
    again = Server(month.machine)
    try:
        wait_until(lambda: again.get("/api/v1/usage").status == 200, "the history is open again")
        after = asked(again, "usage", "28d")["rows"][0]["gpu_hours"]
    finally:
        again.close()
    assert abs(after - before) < 1
