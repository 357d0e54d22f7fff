"""The simulated server that has been used for weeks: its history is there from the first moment, and is the one of what
it shows."""

import json
import time

import pytest
from conftest import wait_until
from serving import Server

NAME = "month-8xh100"
RANGES = {"1h": 3600, "24h": 86400, "7d": 7 * 86400, "28d": 28 * 86400}  # as typed: in seconds


@pytest.fixture
def month(machine_of):
    server = Server(machine_of(NAME))
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


def test_weeks_take_a_few_megabytes_and_are_not_written_twice(month):
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


def test_another_simulated_server_has_no_past(machine_of):
    server = Server(machine_of("lab-4"))
    try:
        wait_until(lambda: asked(server, "usage", "28d"), "a history is kept")
        assert asked(server, "usage", "28d")["rows"] == []
    finally:
        server.close()
