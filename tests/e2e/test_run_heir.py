"""One process of berth's is killed. The device stays the job's as long as the job's tree lives, whatever that has
closed, cleared or left. `berth stop` ends it."""

import json
import os
import pathlib
import signal
import subprocess
import threading

import pytest

from aftermath import children, leases, ledger_files, parts_of, poll, show
from conftest import end

BUSY = 124
# A daemon with nothing of the run: no descriptor, no variable, no session, no parent. The job itself has given away the
# same; it keeps only its number.
JOB = """
import os, sys
here, main = sys.argv[1:]
os.closerange(3, 65536)
environment = {"PATH": os.environ["PATH"]}
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    waits = "echo $$ > daemon.new; mv daemon.new daemon; until test -e over; do sleep 0.02; done"
    os.chdir(here)
    nothing = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.execve("/bin/sh", ["sh", "-c", waits], environment)
os.wait()
os.chdir(here)
os.execve("/bin/sh", ["sh", "-c", "until test -e daemon; do sleep 0.02; done; " + main], environment)
"""
STAYS = "until test -e over; do sleep 0.02; done; exit 7"


class Scene:
    def __init__(self, machine):
        self.machine = machine
        self.script = machine.directory / "job.py"
        self.script.write_text(JOB)

    def words(self, *options, main=STAYS):
        return ("run", "-q", "--only", "3", *options, "--", "/usr/bin/python3", self.script, self.machine.directory, main)

    def start(self, *options, **how):
        """A run in the foreground, all of whose parts are there."""
        launcher = self.machine.start(*self.words(*options, **how))
        poll(lambda: {"heir", "keeper", "sampler", "job"} - set(parts_of(launcher.pid)), 20, "parts are missing")
        self.wait_for_daemon()
        return launcher

    def detach(self, *options, **how):
        """Its id, its keeper and its heir."""
        done = self.machine.run(*self.words("--detach", *options, **how))
        assert done.returncode == 0, done.stderr
        self.wait_for_daemon()
        name = done.stdout.strip()
        keeper = self.keeper_of(name)
        return name, keeper, parent_of(keeper)

    def keeper_of(self, name):
        poll(lambda: not show(self.machine, name)["keeper"]["pid"], 30, "the record names no keeper")
        return show(self.machine, name)["keeper"]["pid"]

    def wait_for_daemon(self):
        poll(lambda: not (self.machine.directory / "daemon").exists(), 20, "the job's daemon has not begun")

    def daemon(self):
        return int((self.machine.directory / "daemon").read_text())

    def daemon_lives(self):
        try:
            stat = pathlib.Path(f"/proc/{self.daemon()}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"  # dead, and not reaped yet

    def is_taken(self):
        """Whether nobody else is given the device."""
        return self.machine.run("run", "-q", "--only", "3", "--", "true").returncode == BUSY

    def let_end(self):
        (self.machine.directory / "over").touch()


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def stop(machine, name):
    return machine.run("stop", name, "--grace", "20s", env={"LANG": "C.UTF-8"})


@pytest.fixture
def scene(machine):
    made = Scene(machine)
    yield made
    made.let_end()
    machine.run("stop", "--all", "-q", "--grace", "0s")


def test_a_detached_job_that_left_all_behind_keeps_its_device_when_its_keeper_is_killed(scene):
    name, keeper, _ = scene.detach()
    os.kill(keeper, signal.SIGKILL)
    poll(lambda: is_there(keeper), 30, "the keeper lives")
    assert scene.is_taken()
    assert show(scene.machine, name)["state"] == "running"
    stopped = stop(scene.machine, name)
    assert stopped.returncode == 0, stopped.stderr
    assert "had ended already" not in stopped.stderr
    assert not scene.daemon_lives()
    poll(lambda: ledger_files(scene.machine), 30, "the lease is left")
    record = show(scene.machine, name)
    assert (record["state"], record["end"]["signal"], record["end"]["because"]) == ("ended", 15, "stopped")
    assert [event["kind"] for event in record["events"]] == ["keeper_killed"]
    assert scene.machine.run("wait", name).returncode == 128 + signal.SIGTERM


def test_the_launcher_ends_as_the_job_does_whose_keeper_is_killed(scene):
    launcher = scene.start("--hold")
    os.kill(parts_of(launcher.pid)["keeper"], signal.SIGKILL)
    assert scene.is_taken()
    scene.let_end()
    assert launcher.wait(timeout=60) == 7
    record = show(scene.machine)
    assert (record["state"], record["end"]["exit_code"]) == ("ended", 7)
    poll(lambda: leases(scene.machine), 30, "the lease is left")


def test_what_a_job_left_running_keeps_its_device_when_the_keeper_is_killed_after_the_prompt_is_back(scene):
    assert scene.machine.run(*scene.words("--hold", main="exit 7")).returncode == 7
    name = show(scene.machine)["id"]
    os.kill(scene.keeper_of(name), signal.SIGKILL)
    assert scene.is_taken()
    assert stop(scene.machine, name).returncode == 0
    assert not scene.daemon_lives()
    poll(lambda: ledger_files(scene.machine), 30, "the lease is left")
    record = show(scene.machine, name)
    assert (record["end"]["exit_code"], record["end"]["because"]) == (7, "")
    poll(lambda: show(scene.machine, name)["end"]["released_unix_ms"] is None, 30, "it does not say when it was over")


@pytest.mark.parametrize("part", ["launcher", "heir", "keeper", "sampler", "listener"])
def test_whichever_process_is_killed_the_device_stays_the_jobs_and_stop_ends_it(scene, part):
    launcher = scene.start()
    parts = parts_of(launcher.pid)
    # Beside it the launcher has a probe's process for a while.
    poll(lambda: len(children(launcher.pid)) != 2, 60, "there is no listener, or more than that")
    [parts["listener"]] = [pid for pid in children(launcher.pid) if pid != parts["heir"]]
    name = show(scene.machine)["id"]
    try:
        os.kill(parts[part], signal.SIGKILL)
        assert scene.is_taken()
        assert show(scene.machine, name)["state"] == "running"
        stopped = stop(scene.machine, name)
        assert stopped.returncode == 0, stopped.stderr
        assert not scene.daemon_lives()
        poll(lambda: ledger_files(scene.machine), 30, "the lease is left")
        assert show(scene.machine, name)["end"]["signal"] == signal.SIGTERM
    finally:
        end(launcher)


def test_stop_waits_for_a_slow_heir_and_asks_the_jobs_daemon_too(scene):
    launcher = scene.start()
    parts = parts_of(launcher.pid)
    name = show(scene.machine)["id"]
    os.kill(parts["heir"], signal.SIGSTOP)
    comes = threading.Timer(1, os.kill, (parts["heir"], signal.SIGCONT))
    comes.start()
    try:
        os.kill(parts["keeper"], signal.SIGKILL)
        stopped = stop(scene.machine, name)
        assert (stopped.returncode, "was killed" in stopped.stderr) == (0, False), stopped.stderr
        assert not scene.daemon_lives()
    finally:
        comes.join()
        end(launcher)


def test_stop_says_what_it_could_not_where_nobody_takes_the_killed_keepers_place(scene):
    name, keeper, heir = scene.detach(main="exit 7")
    poll(lambda: show(scene.machine, name)["state"] != "ended", 30, "the job goes on")
    os.kill(heir, signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    poll(lambda: is_there(keeper), 30, "the keeper lives")
    try:
        stopped = stop(scene.machine, name)
        assert stopped.returncode != 0
        assert "take its place" in stopped.stderr
        assert scene.daemon_lives()
    finally:
        os.kill(heir, signal.SIGCONT)
    assert stop(scene.machine, name).returncode == 0
    assert not scene.daemon_lives()


# Each of a row of processes leaves the next behind and ends; the last stays. All have closed what berth gave them.
ROW = """
import os, sys, time
length, here = int(sys.argv[1]), sys.argv[2]
os.closerange(3, 65536)
for number in range(length):
    if os.fork():
        os._exit(7)
    if number == 0:
        os.setsid()
open(here + "/daemon", "w").write(str(os.getpid()))
while not os.path.exists(here + "/over"):
    time.sleep(0.02)
"""


def test_a_job_that_runs_away_from_process_to_process_keeps_its_device_as_long_as_one_lives(scene):
    """Each look at the tree comes while a process in it ends. The keeper is not busy for long with the ended ones."""
    scene.script.write_text(ROW)
    nobody = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = ("run", "-q", "--only", "3", "--hold", "--", "/usr/bin/python3", scene.script, "3000", scene.machine.directory)
    assert scene.machine.start(*words, **nobody).wait(timeout=60) == 7
    scene.wait_for_daemon()
    assert scene.is_taken()
    scene.let_end()
    poll(lambda: leases(scene.machine), 20, "nobody of the job lives, and its device is held")


def test_a_command_that_is_not_there_is_told_as_ever_by_an_heir(machine):
    got = machine.run("run", "-q", "--", "/nonexistent/command")
    assert got.returncode == 127
    assert ledger_files(machine) == []


def test_a_second_keeper_killed_leaves_the_job_to_the_launcher(scene):
    launcher = scene.start(main="trap '' HUP; " + STAYS)
    parts = parts_of(launcher.pid)
    for part in ("heir", "keeper"):
        os.kill(parts[part], signal.SIGKILL)
    name = show(scene.machine)["id"]
    assert show(scene.machine, name)["state"] == "running", "its main process lives"
    scene.let_end()
    assert launcher.wait(timeout=60) == 7
    assert show(scene.machine, name)["state"] == "end unknown"


def test_a_time_limit_holds_on_under_the_heir(scene):
    done = scene.machine.run(*scene.words("--detach", "--time", "4s"))
    assert done.returncode == 0, done.stderr
    scene.wait_for_daemon()
    name = done.stdout.strip()
    os.kill(scene.keeper_of(name), signal.SIGKILL)
    scene.machine.run("wait", name, timeout=60)
    assert show(scene.machine, name)["end"]["because"] == "time limit"
    poll(lambda: json.loads(scene.machine.run("leases", "--json").stdout)["leases"], 20, "the lease is left")


def test_stop_lets_a_stopped_keeper_go_on_so_that_it_gives_the_device_back(scene):
    name, keeper, _ = scene.detach()
    os.kill(keeper, signal.SIGSTOP)
    assert stop(scene.machine, name).returncode == 0
    poll(lambda: leases(scene.machine), 20, "the device is still held")
