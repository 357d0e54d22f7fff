"""`berth support` on a run that does not go on: which of its processes waits for what."""

import fcntl
import os
import re
import signal

import pytest

from aftermath import parts_of, poll, queue, waits_for
from conftest import end


def processes_in(machine):
    """The paragraphs of the part, by pid."""
    done = machine.run("support", "-o", "-", timeout=120)
    assert done.returncode == 0, done.stderr
    body = done.stdout.split("\n==== processes: ", 1)[1].split("\n==== ", 1)[0]
    found = re.split(r"^process (\d+): ", body, flags=re.M)
    return {int(pid): text for pid, text in zip(found[1::2], found[2::2])}


@pytest.fixture
def launcher(machine):
    over = machine.directory / "over"
    words = ["sh", "-c", " ".join([*waits_for(over)[2:]]), "x", "--token", "hunter2hunter2"]
    started = machine.start("run", "-q", "--only", "3", "--", *words)
    poll(lambda: {"heir", "keeper", "sampler", "job"} - set(parts_of(started.pid)), 20, "parts are missing")
    yield started
    over.touch()
    end(started)
    machine.run("stop", "--all", "-q", "--grace", "0s")


def test_each_process_of_a_run_is_told_with_its_part_and_what_it_waits_for(machine, launcher):
    parts = parts_of(launcher.pid)
    os.kill(parts["keeper"], signal.SIGSTOP)
    try:
        told = processes_in(machine)
    finally:
        os.kill(parts["keeper"], signal.SIGCONT)
    for part in ("launcher", "heir", "keeper", "sampler"):
        assert told[parts[part]].startswith(part), told
        for line in ("  state ", "  in the kernel at ", "  system call ", "  command ", "  kernel stack: "):
            assert f"\n{line}" in told[parts[part]], told[parts[part]]
    assert "\n  state T, age " in told[parts["keeper"]]
    assert "waitid" in told[parts["heir"]] or "not read" in told[parts["heir"]]
    assert "/lease-" in told[parts["keeper"]]
    assert "OFDLCK" in told[parts["keeper"]], "its lock on the lease"
    assert parts["job"] not in told
    assert "hunter2" not in "".join(told.values())


def test_a_launcher_that_waits_in_the_queue_is_told(machine, launcher):
    waiter = machine.start("run", "-q", "--wait=60s", "--only", "3", "--", "true")
    try:
        poll(lambda: not queue(machine), 20, "nobody waits")
        assert "waiting in the queue with ticket " in processes_in(machine)[waiter.pid]
    finally:
        waiter.send_signal(signal.SIGTERM)
        waiter.wait(timeout=60)


def test_a_launcher_that_waits_for_the_host_lock_is_told_with_who_holds_it(machine):
    assert machine.run("run", "-q", "--", "true").returncode == 0
    path = machine.ledger / "host.lock"
    with open(path, "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiter = machine.start("run", "-q", "--wait=60s", "--only", "3", "--", "true")
        try:
            poll(lambda: str(path) not in links_of(waiter.pid), 20, "it does not wait for the lock")
            told = processes_in(machine)[waiter.pid]
        finally:
            end(waiter)
    assert "host.lock" in told, told
    assert re.search(rf"lock \d+: FLOCK +ADVISORY +WRITE {os.getpid()} ", told), told


def links_of(pid):
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    return found
