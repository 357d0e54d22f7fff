"""`berth usage` by each key, as a table, CSV and JSON. It is of two pasts. One is long and made up. The other is what a
server saw of people who really waited."""

import csv
import io
import json
import os
import pwd
import re
import signal

import pytest
from conftest import FakeDriver, Machine, end, many_devices, wait_until
from serving import Server
from test_history import writer

KEYS = ["user", "job", "gpu", "day"]
PRICE = 0.25


class MadeUp:
    """Forty minutes of eight GPUs: a job with a lease on the first, ten users without; nobody waited."""

    def __init__(self, directory):
        self.machine = Machine(directory)
        self.store = directory / "history.sqlite"
        done = writer("load", self.store, 2400)
        assert done.returncode == 0, done.stderr


class Waited:
    """Two cards: one was held by a run, and two waited for it, until they had enough of it."""

    def __init__(self, directory):
        self.machine = FakeDriver(directory, many_devices(2))
        self.store = directory / "state/berth/history.sqlite"
        server = Server(self.machine, "--interval", "100ms")
        people = []

        def queue():
            return server.get("/api/v1/overview").json["queue"]

        try:
            done = self.machine.run("run", "--detach", "--only", "1", "--", "sleep", "600")
            assert done.returncode == 0, done.stderr
            self.run = json.loads(self.machine.run("show", "last", "--json").stdout)["id"]
            wait_until(lambda: server.get("/api/v1/leases").json["leases"], "the lease is seen", 20)
            for number in (1, 2):
                people.append(self.machine.start("run", "--wait", "--only", "1", "--", "true"))
                wait_until(lambda number=number: len(queue()) == number, "he is seen to wait", 20)
            since = [one["since_unix_ms"] for one in queue()]

            def waited_at(look):
                """Hours that they have waited when it was looked."""
                return sum(look["taken_unix_ms"] - one for one in since) / 3.6e6

            def newest():
                return server.get("/api/v1/overview").json

            wait_until(lambda: newest()["taken_unix_ms"] > max(since) + 2000, "a while", 30)
            self.at_least = waited_at(newest())
            for one in people:
                one.send_signal(signal.SIGINT)
                one.wait(20)
            wait_until(lambda: not queue(), "nobody waits", 20)
            self.at_most = waited_at(newest())
            assert server.stop() == 0, server.said
        finally:
            self.machine.run("stop", "--all")
            for one in people:
                end(one)
                one.communicate()
            server.close()


@pytest.fixture(scope="module")
def pasts(tmp_path_factory):
    return {"made up": MadeUp(tmp_path_factory.mktemp("made-up")), "waited": Waited(tmp_path_factory.mktemp("waited"))}


def usage(past, by, *words):
    done = past.machine.run("usage", "--store", past.store, "--since", "2h", "--by", by, "--price", PRICE, "--currency",
                            "EUR", *words, env={"BERTH_SIM": None, "LANG": "C", "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(past, by):
    told = json.loads(usage(past, by, "--json"))
    assert (told["berth_usage"], told["by"], told["price_per_kwh"], told["currency"]) == (1, by, PRICE, "EUR")
    assert told["rows"], "somebody used a device"
    return told["rows"]


def in_csv(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("by", KEYS)
@pytest.mark.parametrize("name", ["made up", "waited"])
def test_csv_has_what_json_has(pasts, name, by):
    past = pasts[name]
    wanted = rows_of(past, by)
    found = list(csv.DictReader(io.StringIO(usage(past, by, "--csv"))))
    assert len(found) == len(wanted)
    for cells, row in zip(found, wanted, strict=True):
        # Only jobs have a user beside the key.
        assert set(cells) == set(row) | {"user"}
        for key, value in row.items():
            if key == "unwatched_hours" and value:
                continue  # grows from one command to the next
            if isinstance(value, float):
                assert float(cells[key]) == pytest.approx(value), key
            else:
                assert cells[key] == in_csv(value), key


def is_shown_as(hours, cell):
    return 0 < hours < 0.1 if cell == "<0.1" else float(cell) == pytest.approx(hours, abs=0.0501)


TITLES = {"user": "User", "job": "Job", "gpu": "GPU", "day": "Day"}


def table_of(text, by):
    """[{title: cell}] of the table; two spaces are between its columns."""
    lines = text.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith(TITLES[by]))
    titles = re.split(r"\s{2,}", lines[head].strip())
    at = titles.index("GPU hours") + 1
    titles.insert(at, "share")
    rows = []
    for line in lines[head + 1:]:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) != len(titles):
            break
        rows.append(dict(zip(titles, cells, strict=True)))
    return rows


@pytest.mark.parametrize("by", KEYS)
@pytest.mark.parametrize("name", ["made up", "waited"])
def test_the_table_has_what_json_has(pasts, name, by):
    past = pasts[name]
    wanted = rows_of(past, by)
    text = usage(past, by)
    found = table_of(text, by)
    assert len(found) == len(wanted), text
    devices = [device["uuid"] for device in many_devices(2)["devices"]] if name == "waited" else None
    for cells, row in zip(found, wanted, strict=True):
        key = cells[TITLES[by]]
        if by == "gpu":
            assert int(key) == (devices.index(row["key"]) if devices else int(row["key"][10:12], 16)), text
        else:
            assert key == (row["key"] or "(without a lease)"), text
        assert cells.get("User") == (row["user"] if by == "job" else row["key"] if by == "user" else None)
        for title, field in (("GPU hours", "gpu_hours"), ("busy", "busy_gpu_hours"), ("idle, held", "idle_held_hours")):
            assert is_shown_as(row[field], cells[title]), (title, row[field], text)
        if row["cost"] is not None:
            assert float(cells["EUR"]) == pytest.approx(row["cost"], abs=0.00501)
            assert row["cost"] == pytest.approx(row["energy_joules"] / 3.6e6 * PRICE)
        if by != "job":
            assert int(cells["Runs"]) == row["runs"]
        waits = name == "waited" and by in ("user", "day")
        assert ("Waited" in cells) == waits, text
        if waits:
            hours, times = re.fullmatch(r"(\S+) h \((\d+)\)", cells["Waited"]).groups()
            assert int(times) == row["waits"] and is_shown_as(row["waited_hours"], hours), text


def test_every_key_shares_out_the_same_hours(pasts):
    for past in pasts.values():
        rows = {by: rows_of(past, by) for by in ("gpu", "day")}
        hours = {by: sum(row["gpu_hours"] for row in rows[by]) for by in ("gpu", "day")}
        assert hours["gpu"] == pytest.approx(hours["day"]) and hours["gpu"] > 0
        energy = {by: sum(row["energy_joules"] or 0 for row in rows[by]) for by in ("gpu", "day")}
        assert energy["gpu"] == pytest.approx(energy["day"])
        for by in ("gpu", "day"):
            for row in rows[by]:
                parts = row["busy_gpu_hours"] + row["idle_held_hours"] + row["unknown_load_hours"]
                assert parts == pytest.approx(row["gpu_hours"])


def test_who_waited_is_charged_with_it_once(pasts):
    past = pasts["waited"]
    [user] = [row for row in rows_of(past, "user") if row["waits"]]
    assert user["key"] == pwd.getpwuid(os.geteuid()).pw_name
    assert user["waits"] == 2
    # A look may see some tenths of a second later that a user has gone.
    assert past.at_least - 1 / 3600 <= user["waited_hours"] <= past.at_most + 1 / 3600, (past.at_least, past.at_most)
    assert past.at_least > 0
    days = rows_of(past, "day")
    assert sum(row["waits"] for row in days) >= 2, "who waited over midnight did so on both days"
    assert sum(row["waited_hours"] for row in days) == pytest.approx(user["waited_hours"])
    for by in ("job", "gpu"):
        assert all(row["waits"] is None and row["waited_hours"] is None for row in rows_of(past, by))


def test_a_lease_is_its_users_its_jobs_and_its_devices(pasts):
    past = pasts["waited"]
    [job] = rows_of(past, "job")
    [user] = rows_of(past, "user")
    [device] = [row for row in rows_of(past, "gpu") if row["runs"]]
    assert job["key"] == past.run and device["key"] == many_devices(2)["devices"][1]["uuid"]
    assert job["gpu_hours"] == pytest.approx(user["gpu_hours"]) == pytest.approx(device["gpu_hours"])
    assert job["user"] == user["key"] and user["runs"] == device["runs"] == 1
