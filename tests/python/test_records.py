"""A lease that a program took itself and that has a record: what `berth show` and `stop` make of it."""

import json
import os
import pathlib
import signal
import time

import pytest
from conftest import E2E


def record_of(desk, run="last"):
    return json.loads(desk.run("show", run, "--json").stdout)


def ended(desk, run="last", timeout=20):
    """Its record, once somebody has written how it ended."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        record = record_of(desk, run)
        if record["state"] != "running":
            return record
        time.sleep(0.05)
    raise AssertionError(f"it goes on: {record}")


def marked(desk, process):
    """Waits until the sampler has seen a second sample: by then it has taken what it finds."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        record = record_of(desk)
        if record["summary"]["samples"] >= 2:
            return record
        time.sleep(0.05)
    raise AssertionError("no sample came")


HOLDS = "berth.lease(record=True, name='mine')"


def test_a_lease_that_was_given_back_has_a_record_of_what_it_was_and_did(desk):
    holder = desk.holding(HOLDS)
    running = record_of(desk)
    assert running["state"] == "running" and running["spec"]["name"] == "mine"
    assert running["job"]["pid"] == holder.pid and running["lease"] == holder.lease_id
    marked(desk, holder)
    holder.communicate()
    record = ended(desk)
    assert record["state"] == "ended"
    end = record["end"]
    assert (end["ended"], end["exit_code"], end["signal"]) == ("gave_back", None, None), "it may go on"
    assert end["why"]["exit_code"] == "unsupported"
    assert record["summary"]["tree_cpu_milliseconds"] > 0, "its own processor time is the run's"
    assert [device["index"] for device in record["given"]["devices"]] == [3]
    assert desk.leases() == []
    shown = desk.run("show", "last").stdout
    assert "gave its devices back" in shown and "ended with" not in shown
    assert "gave its devices back: there is nothing to explain" in desk.run("explain", record["id"]).stdout
    assert json.loads(desk.run("explain", record["id"], "--json").stdout)["ended_well"] is None
    after = desk.run("run", "--after", record["id"], "--", "true")
    assert after.returncode == 125 and "that run has gone without a word of its end" in after.stderr


def test_a_sampler_that_ended_is_started_again(desk):
    holder = desk.holding(HOLDS)
    before = marked(desk, holder)
    keeper = before["keeper"]["pid"]
    sampler, = map(int, pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split())
    os.kill(sampler, signal.SIGKILL)
    E2E.wait_until(lambda: record_of(desk)["summary"]["samples"] > before["summary"]["samples"] + 1, "samples again")
    holder.communicate()
    record = ended(desk)
    assert [event["kind"] for event in record["events"]] == ["sampler_restarted"]
    assert record["end"]["ended"] == "gave_back"


def test_what_it_marks_and_its_children_use_is_in_the_record(desk):
    desk.python(
        """
        import berth, subprocess, sys, time
        with berth.lease(record=True):
            berth.mark(epoch=1, loss=0.5)
            busy = "import time; end = time.process_time() + 1\\nwhile time.process_time() < end: pass\\ntime.sleep(2)"
            subprocess.run([sys.executable, "-c", busy], start_new_session=True)
        """
    )
    record = ended(desk)
    assert [mark["text"] for mark in record["marks"]] == ["epoch=1 loss=0.5"]
    assert record["summary"]["tree_cpu_milliseconds"] >= 1000, "a child in a session of its own counts"


def test_how_a_program_ended_that_was_killed_nobody_knows(desk):
    holder = desk.holding(HOLDS)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    record = ended(desk)
    assert record["state"] == "end unknown"
    assert desk.leases() == []


def test_stop_ends_the_program(desk):
    holder = desk.holding(HOLDS)
    marked(desk, holder)
    desk.run("stop", "last", check=True)
    assert holder.wait(timeout=20) == -signal.SIGTERM
    assert ended(desk)["end"]["because"] == "stopped"


def test_a_forked_worker_keeps_the_lease_and_the_owners_end_is_told(desk):
    worker = int(
        desk.python(
            """
            import berth, os, sys, time
            lease = berth.lease(record=True)
            child = os.fork()
            if child == 0:
                os.close(1); os.close(2)
                time.sleep(30)
                os._exit(0)
            print(child, flush=True)
            os.kill(os.getpid(), 9)
            """,
            code_wanted=-signal.SIGKILL,
        )
    )
    try:
        assert ended(desk)["state"] == "end unknown"
        assert len(desk.leases()) == 1, "the worker may compute on it still"
    finally:
        os.kill(worker, signal.SIGKILL)
    E2E.wait_until(lambda: desk.leases() == [], "the lease ends with the last that has it")


def test_a_lease_without_room_for_a_record_goes_on_and_says_so(desk):
    blocked = desk.directory / "a file"
    blocked.write_text("no folder")
    told = desk.told(
        """
        said = []
        with berth.lease(record=True) as lease:
            print(json.dumps([lease.id != "", "BERTH_MARKS" in os.environ]))
        """,
        env={"XDG_STATE_HOME": str(blocked)},
    )
    assert told == [True, False]


if __name__ == "__main__":
    pytest.main([__file__])
