"""A machine whose date is set by hours while things go on, forwards and backwards. Leases hold, and the queue keeps its
order. Ages and durations stay what the steady clock says."""

import json
import re
import time

import pytest

from aftermath import leases, poll, queue, runs, show, waits_for
from conftest import BERTH, BUILD, wait_until

LIBRARY = BUILD / "fakes/preload/libset_date.so"
HOUR_S = 3600
AN_HOUR_MS = 3_600_000  # less than any date is set by


class Dates:
    """The date as every program of one machine sees it; it is right until set."""

    def __init__(self, machine):
        if not LIBRARY.exists():
            pytest.fail(f"{LIBRARY} is missing: ninja preload_set_date")
        self.file = machine.directory / "dates"
        self.file.write_text("")
        self.seconds = 0
        machine.env |= {"LD_PRELOAD": str(LIBRARY), "BERTH_FAKE_DATE": str(self.file)}

    def set(self, hours):
        self.seconds = hours * HOUR_S
        lines = self.file.read_text() + f"{time.time_ns()} {self.seconds}\n"
        changed = self.file.with_suffix(".new")
        changed.write_text(lines)
        changed.rename(self.file)

    def age_s(self, unix_ms):
        return time.time() + self.seconds - unix_ms / 1000


@pytest.fixture
def dates(machine):
    return Dates(machine)


def test_the_fake_date_is_what_the_program_sees(machine, dates):
    for hours in (0, 5, -5):
        dates.set(hours)
        taken = json.loads(machine.run("status", "--json").stdout)["taken_unix_ms"]
        assert abs(dates.age_s(taken)) < 10, f"{hours} h: {dates.age_s(taken)} s"


@pytest.mark.parametrize("hours", [5, -5])
def test_a_run_over_a_date_that_is_set_keeps_its_lease_and_its_length(machine, dates, hours):
    asked = machine.directory / "asked"
    script = f"sleep 1.6; until test -e {asked}; do sleep 0.02; done; {BERTH} mark epoch=1; sleep 1"
    job = machine.start("run", "-q", "--only", "3", "--", "sh", "-c", script)
    samples = machine.directory / "state/berth/last/samples"
    wait_until(lambda: samples.exists() and samples.read_text().count('{"t"') > 0, "the first sample")
    dates.set(hours)

    [lease] = leases(machine)
    assert 0 <= dates.age_s(lease["since_unix_ms"]) < 60, "the lease's age"
    [claim] = json.loads(machine.run("status", "--json").stdout)["leases"][-1:]
    assert claim["run"] == lease["run"]
    assert 0 <= dates.age_s(claim["since_unix_ms"]) < 60
    assert machine.run("pick", "--only", "3").returncode == 124, "a device with a lease was offered"
    since = [time.strftime("%H:%M", time.gmtime(time.time() + dates.seconds - ago)) for ago in (0, 60)]
    assert any(f" {one} " in machine.run("leases").stdout for one in since), machine.run("leases").stdout
    [running] = runs(machine)["runs"]
    assert running["state"] == "running"
    assert re.search(rf"{running['id']} .* \d(\.\d)?s? ", machine.run("runs").stdout)

    asked.touch()
    assert job.wait(timeout=60) == 0
    assert leases(machine) == []
    record = show(machine)
    started, end = record["started_unix_ms"], record["end"]
    assert 2500 <= end["lasted_milliseconds"] < AN_HOUR_MS
    assert 2500 <= end["at_unix_ms"] - started < AN_HOUR_MS
    assert 0 <= end["released_unix_ms"] - started < AN_HOUR_MS
    times = [int(t) for t in re.findall(r'^{"t":(\d+)', samples.read_text(), re.MULTILINE)]
    assert len(times) >= 3
    assert times == sorted(times) and times[-1] - times[0] < AN_HOUR_MS, times
    [mark] = record["marks"]
    assert started <= mark["at_unix_ms"] <= end["at_unix_ms"] + 2000
    [event] = record["events"]
    assert event["kind"] == "date_changed"
    assert ("set forward" if hours > 0 else "set back") in event["text"]
    assert re.search(r"ended with 0 after \d+(\.\d)?s", machine.run("show").stdout)


def test_waiters_keep_their_order_and_their_patience_whatever_the_date(machine, dates):
    order = machine.directory / "order"
    gate = machine.directory / "gate"
    holder = machine.start("run", "-q", "--only", "3", "--", *waits_for(gate))
    poll(lambda: not leases(machine), 30, "the holder has no lease")
    waiters = []
    for number, hours in ((1, 0), (2, -7), (3, 7), (4, 0)):
        dates.set(hours)
        waiters.append(machine.start("run", "-q", "--wait=60s", "--only", "3", "--", "sh", "-c",
                                     f"echo {number} >> {order}"))
        poll(lambda n=number: len(queue(machine)) < n, 10, f"waiter {number} is not in the queue")
    dates.set(-7)
    seen = queue(machine)
    assert [waiter["command"].split()[-3] for waiter in seen] == ["1", "2", "3", "4"], seen
    assert all(-1 <= dates.age_s(waiter["since_unix_ms"]) < 60 for waiter in seen), seen
    dates.set(7)
    gate.touch()
    for process in [holder, *waiters]:
        assert process.wait(timeout=40) == 0, process.stderr.read()
    assert order.read_text() == "1\n2\n3\n4\n"


def test_runs_are_listed_in_the_order_they_were_started(machine, dates):
    for code, hours in ((1, 0), (2, -5), (3, -5), (4, 5), (5, 0)):
        dates.set(hours)
        assert machine.run("run", "-q", "--", "sh", "-c", f"exit {code}").returncode == code
        assert show(machine, "last")["end"]["exit_code"] == code
    assert [run["end"]["exit_code"] for run in runs(machine)["runs"]] == [5, 4, 3, 2, 1]


def test_a_time_limit_is_no_date(machine, dates):
    job = machine.start("run", "-q", "--time", "2s", "--", "sh", "-c", "while :; do sleep 0.05; done")
    begin = time.monotonic()
    poll(lambda: not leases(machine), 30, "there is no lease")
    dates.set(5)
    job.wait(timeout=60)
    assert time.monotonic() - begin > 1.5
    assert show(machine)["end"]["because"] == "time limit"
    assert 1500 <= show(machine)["end"]["lasted_milliseconds"] < AN_HOUR_MS
