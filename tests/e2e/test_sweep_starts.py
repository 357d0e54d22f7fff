"""The moment at which `berth sweep` starts a point: whatever hangs, fails or is killed then, each point runs once."""

import os
import signal
import subprocess

import pytest

import kill_points
from aftermath import poll, processes, runs
from conftest import end, many_devices
from kill_points import Tree
from test_ledger_disk import Fake, NoInodes, disk, one_line  # noqa: F401  (a fixture among them)
from test_run_kill_points import spread

LONG = 120  # what is waited for at most; nothing here is to be quick


def sweep_of(machine, *options, points=3):
    """A sweep whose job notes its point."""
    out = machine.directory / "points"
    words = ("sweep", "--set", f"seed=1..{points}", *options, "--memory", "1G", "--", "sh", "-c", f"echo {{seed}} >>{out}")
    return words, lambda: sorted(out.read_text().splitlines()) if out.exists() else []


def started(machine, words, file, env=None):
    with file.open("w") as errors:
        return machine.start(*words, env=env or {}, stdout=subprocess.DEVNULL, stderr=errors)


def listed(machine):
    return runs(machine)["runs"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_full_ledger_is_told_at_once_and_its_points_wait_for_room(machine, disk, number):  # noqa: F811
    disk, word = disk
    assert machine.run("run", "-q", "--", "true").returncode == 0  # there is a ledger
    words, points = sweep_of(machine, "-j", "2")
    file = machine.directory / "said"
    disk.fail()
    sweep = started(machine, words, file, disk.env)
    try:
        poll(lambda: word not in one_line(file), LONG, "it does not say what stands in its way")
        poll(lambda: len(listed(machine)) != 3, LONG, "two points wait, recorded")
        sweep.send_signal(number)
        assert sweep.wait(timeout=LONG) == 128 + number, one_line(file)
    finally:
        end(sweep)
    said = one_line(file)
    assert said.count(word) == 1, said
    assert "could not be started" not in said and "`berth stop` ends a run" in said, said
    assert points() == []
    disk.mend()
    done = machine.run(*words, timeout=LONG)
    assert done.returncode == 0, done.stderr
    assert points() == ["1", "2", "3"]


def waiters(machine):
    return [one for one in processes(machine) if " run -d " in one]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_sweep_that_ends_while_it_starts_a_point_leaves_nobody_to_run_it(driver_of, number):
    machine = driver_of(many_devices(4), faults="nvmlInit_v2=sleep:5s")
    words, points = sweep_of(machine, "-j", "2")
    file = machine.directory / "said"
    sweep = started(machine, words, file)
    try:
        poll(lambda: len(waiters(machine)) < 2, LONG, "the point is being started")
        sweep.send_signal(number)
        assert sweep.wait(timeout=LONG) == (-number if number == signal.SIGKILL else 128 + number), one_line(file)
        poll(lambda: waiters(machine), LONG, "somebody is left who would run the point")
        assert listed(machine) == [], "it was ended before there was anything to wait for"
    finally:
        end(sweep)
    del machine.env["BERTH_FAKE_NVML_FAULTS"]
    done = machine.run(*words, timeout=LONG)
    assert done.returncode == 0, done.stderr
    assert points() == ["1", "2", "3"]


def test_a_start_that_nobody_could_end_yet_is_waited_for(driver_of):
    """The kernel may keep a process that was killed. Here it is stopped and its sweep killed. That ends all of the
    sweep, but not a stranger that was given its lock."""
    machine = driver_of(many_devices(4))
    words, points = sweep_of(machine, "-j", "2")
    state = machine.directory / "state/berth"
    state.mkdir(parents=True)
    holder = machine.directory / "holder.py"
    holder.write_text("import fcntl, os, struct, sys, time\n"
                      "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)\n"
                      "lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 1 << 62, 0, 0)\n"
                      "fcntl.fcntl(fd, 37, lock)\n"  # F_OFD_SETLK
                      "print('held', flush=True)\nsys.stdin.read()\n")
    held = subprocess.Popen(["python3", holder, state / "sweeps.lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    file = machine.directory / "said"
    sweep = None
    try:
        assert held.stdout.readline() == b"held\n"
        sweep = started(machine, words, file)
        poll(lambda: "waiting for it" not in one_line(file), LONG, "it says what it waits for")
        assert sweep.poll() is None and listed(machine) == []
        held.stdin.close()
        assert sweep.wait(timeout=LONG) == 0, one_line(file)
    finally:
        held.kill()
        held.wait()
        if sweep:
            end(sweep)
    assert points() == ["1", "2", "3"]


@pytest.mark.skipif(bool(kill_points.reason_to_skip()), reason=f"kill points: {kill_points.reason_to_skip()}")
def test_a_sweep_killed_at_any_system_call_runs_each_point_once(machine):
    words, points = sweep_of(machine, "-j", "1", points=2)
    out = machine.directory / "points"
    count = Tree(machine.command(*words), machine.env).calls[()]
    assert points() == ["1", "2"]
    killed = 0
    for at in spread(count, 20):
        out.unlink()
        tree = Tree(machine.command(*words, ), machine.env | {"XDG_STATE_HOME": str(machine.directory / f"at-{at}")}, (), at)
        killed += tree.was_killed
        env = {"XDG_STATE_HOME": str(machine.directory / f"at-{at}")}
        done = machine.run(*words, timeout=LONG, env=env)
        assert done.returncode == 0, f"killed at its system call {at}: {done.stderr}"
        assert points() == ["1", "2"], f"killed at its system call {at}"
    print(f"killed at {killed} of its {count} system calls")
    assert killed >= 10
