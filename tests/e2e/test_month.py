"""The simulated server that has been used for weeks: its history is there from the first moment, and is the one of what
it shows."""

import json
import time

import pytest
from conftest import Machine, wait_until
from serving import Server

NAME = "month-8xh100"
RANGES = {"1h": 3600, "24h": 86400, "7d": 7 * 86400, "28d": 28 * 86400}  # as typed: in seconds


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """One for all that only ask: four weeks are computed anew for each user."""
    server = Server(Machine(tmp_path_factory.mktemp("month"), NAME))
    try:
        wait_until(lambda: asked(server, "history", "1h").get("last_sample_unix_ms"), "the past is written")
        wait_until(lambda: any(charts_of(asked(server, "history", "1h"))), "the last hour is written")
        yield server
    finally:
        server.close()


def asked(server, verb, since, *words):
    done = server.machine.run(verb, "--json", "--since", since, *words)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def charts_of(history):
    """Of each GPU: the points of its utilisation, each (time, least, mean, 95 %, most)."""
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


def listed(machine):
    return json.loads(machine.run("runs", "--json", "-n", "100000").stdout)["runs"]


def test_four_weeks_of_runs_are_there_and_say_that_they_are_simulated(machine_of):
    machine = machine_of(NAME)
    runs = listed(machine)
    assert len(runs) > 200
    assert {run["user"] for run in runs} == {"alice", "bob", "carol", "dave", "erin"}
    assert {run["given"]["simulated"] for run in runs} == {NAME}
    oldest = min(run["started_unix_ms"] for run in runs)
    assert 20 < (time.time() * 1000 - oldest) / 86_400_000 < 30
    assert {run["state"] for run in runs} == {"ended"}
    assert any(run["waited_ms"] > 0 for run in runs), "none has waited"
    assert sum(run["end"]["exit_code"] == 1 for run in runs) > 5, "none has failed"
    assert all(run["summary"]["samples"] >= 6 for run in runs)
    assert "SIMULATED" in machine.run("runs").stdout + machine.run("show").stdout


def test_the_same_time_has_the_same_runs(tmp_path):
    """From the seed alone: two users who ask at the same time see the same past."""

    def seen_by(user):
        (tmp_path / user).mkdir()
        runs = listed(Machine(tmp_path / user, NAME))
        return {run["id"]: (run["command"], run["end"]["exit_code"]) for run in runs}

    first, second = seen_by("one"), seen_by("other")
    both = first.keys() & second.keys()
    assert len(both) > 200 and all(first[id] == second[id] for id in both)


@pytest.mark.parametrize(("command", "finds"), [
    ("python serve.py --max-batch 256", "memory"),
    ("python kernels_test.py", "illegal memory access"),
])  # fmt: skip
def test_explain_finds_why_one_failed(machine_of, command, finds):
    machine = machine_of(NAME)
    failed = next(run for run in listed(machine) if " ".join(run["command"]) == command)
    done = machine.run("explain", failed["id"])
    assert finds in done.stdout and "error:" in done.stdout, done.stdout
    # `berth report` of the latest has curves.
    latest = listed(machine)[0]["id"]
    assert len(json.loads(machine.run("report", "--json", latest).stdout)["runs"]) == 1


def test_invented_runs_never_stand_among_ones_own(machine_of):
    machine = machine_of(NAME)
    assert machine.run("run", "-q", "--", "true").returncode == 0
    own = listed(machine)[0]
    assert own["command"] == ["true"]
    assert json.loads(machine.run("show", "--json").stdout)["id"] == own["id"]
    elsewhere = machine.run("runs", "--json", env={"BERTH_SIM": "lab-4"})
    assert json.loads(elsewhere.stdout)["runs"] == []


def test_the_page_lists_them(month):
    answer = json.loads(month.get("/api/v1/runs").body)
    assert len(answer["runs"]) > 20


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
