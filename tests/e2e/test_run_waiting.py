"""What a run says and does while it waits in the queue, on a terminal, in a pipe and detached."""

import os
import re
import signal
import time

import pytest

from aftermath import leases, poll, queue, show
from conftest import Terminal, end, many_devices
from test_run_life import holding
from test_run_signals import terminal, wait_until  # noqa: F401  (terminal is a fixture)


def typed(machine, *words):
    return " ".join(machine.command(*words))


# --- detached ----------------------------------------------------------------------------------------


def test_detached_run_waits_on_when_its_terminal_closes(machine, terminal):  # noqa: F811
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate)
    done = machine.directory / "done"
    terminal.type(typed(machine, "run", "-d", "--wait=1h", "--only", "3", "--", "touch", done) + "\n")
    terminal.until(r"process \d+ waits on when this terminal closes")
    terminal.until(r"next in the queue")
    terminal.close()
    time.sleep(0.5)
    assert len(queue(machine)) == 1
    gate.touch()
    assert holder.wait(timeout=10) == 0
    wait_until(done.exists)
    poll(lambda: show(machine)["state"] != "ended", 5, "the run has not ended")
    assert show(machine)["end"]["exit_code"] == 0


def test_detached_run_that_waited_answers_with_its_id_alone(machine, terminal):  # noqa: F811
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate)
    terminal.type(f"id=$({typed(machine, 'run', '-d', '--wait', '--only', '3', '--', 'true')}); echo =$?=$id=\n")
    poll(lambda: not queue(machine), 10, "nobody waits")
    gate.touch()
    found = terminal.until(r"=0=([0-9a-z-]+)=")
    assert found.group(1) == show(machine)["id"]
    assert holder.wait(timeout=10) == 0


@pytest.mark.parametrize("key, code", [("\x03", 130), ("\x1c", 131)])
def test_keys_take_a_detached_run_out_of_the_queue(machine, terminal, key, code):  # noqa: F811
    holder = holding(machine, 30)
    terminal.type(typed(machine, "run", "-d", "--wait", "--only", "3", "--", "true") + "\n")
    terminal.until(r"next in the queue")
    terminal.type(key)
    poll(lambda: queue(machine), 10, "it waits on")
    terminal.type("echo code=$?\n")
    assert terminal.until(r"code=(\d+)").group(1) == str(code)
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=10)


def test_the_process_that_is_named_can_be_killed_out_of_the_queue(machine):
    holder = holding(machine, 30)
    front = machine.start("run", "-d", "--wait", "--only", "3", "--", "true")
    said = ""
    while "waits on when" not in said:
        line = front.stderr.readline()
        assert line, said
        said += line
    os.kill(int(re.search(r"process (\d+) waits", " ".join(said.split())).group(1)), signal.SIGTERM)
    assert front.wait(timeout=10) == -signal.SIGTERM
    assert queue(machine) == []
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=10)


def test_detached_run_that_no_device_came_for_answers_as_in_the_foreground(machine):
    holder = holding(machine, 30)
    got = machine.run("run", "-d", "--wait=1s", "--only", "3", "--", "true")
    assert (got.returncode, got.stdout) == (124, "")
    assert "no device came within 1s" in got.stderr
    assert queue(machine) == []
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=10)


def test_why_nothing_came_is_in_the_log_where_the_terminal_has_gone(machine, terminal):  # noqa: F811
    holder = holding(machine, 30)
    log = machine.directory / "log"
    words = ["run", "-d", "--wait=2s", "--log", log, "--only", "3", "--", "true"]
    terminal.type(typed(machine, *words) + "\n")
    terminal.until(r"next in the queue")
    terminal.close()
    poll(lambda: not log.exists() or "no device came within 2s" not in log.read_text(), 10, "nothing in the log")
    assert queue(machine) == []
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=10)


def test_what_a_detached_wait_leaves_to_its_job_is_what_it_was_given(machine):
    """Signals' masks and dispositions: whoever waits for it catches some of its own."""
    show_them = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
    plain, waited = machine.directory / "plain", machine.directory / "waited"
    for log, options in ((plain, []), (waited, ["--wait"])):
        gate = machine.directory / "gate"
        holder = holding(machine, until=gate) if options else None
        started = machine.start("run", "-q", "-d", *options, "--only", "3", "--log", log, "--", "sh", "-c", show_them)
        if holder:
            poll(lambda: not queue(machine), 10, "nobody waits")
            gate.touch()
            holder.wait(timeout=10)
        told, said = started.communicate(timeout=20)
        assert started.returncode == 0, said
        machine.run("wait", told.strip())
        poll(lambda: leases(machine), 10, "its lease")
    assert waited.read_text() == plain.read_text() != ""


# --- on a terminal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("_", range(10))
def test_on_a_terminal_the_line_of_who_waits_is_gone_before_the_job_prints(machine, _):
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate)
    window = Terminal(100)
    run = machine.start_on(window, "run", "--wait", "--only", "3", "--", "echo", "JOBOUT")
    try:
        wait_until(lambda: b"next in the queue" in window.read(), 15)
        gate.touch()
        wait_until(lambda: window.read() is not None and run.poll() is not None, 20)
        shown = window.read().decode()
    finally:
        end(run)
        window.close()
    assert run.returncode == 0, shown
    assert "next in the queue" in shown
    line = next(line for line in shown.split("\n") if "JOBOUT" in line)
    assert line == "JOBOUT\r", shown
    assert shown.index("berth: run ") < shown.index("JOBOUT")
    assert "\x1b[K" not in shown[shown.index("JOBOUT"):]
    assert holder.wait(timeout=10) == 0


# --- a driver that does not answer -----------------------------------------------------------------------

NEVER = ("can never", "will not help")


@pytest.fixture
def hanging(driver_of):
    return lambda devices: driver_of(many_devices(4), faults=f"nvmlDeviceGetName@{devices}=hang")


@pytest.mark.parametrize("devices, only", [("*", []), ("3", ["--only", "3"]), ("3", ["--only", "*H100*", "-n", "4"])])
def test_a_driver_that_does_not_answer_is_unknown_and_waited_for(hanging, devices, only):
    machine = hanging(devices)
    at_once = machine.run("run", *only, "--", "true")
    assert at_once.returncode == 124
    assert "did not answer in time" in at_once.stderr and "kernel log" in at_once.stderr, at_once.stderr
    begin = time.monotonic()
    waited = machine.run("run", "--wait=4s", *only, "--", "true")
    assert waited.returncode == 124
    assert time.monotonic() - begin >= 4, waited.stderr
    assert "no device came within 4s" in waited.stderr
    picked = machine.run("pick", *only)
    assert picked.returncode == 124
    for said in (at_once.stderr, waited.stderr, picked.stderr):
        assert not [word for word in NEVER if word in said], said


def test_who_waits_for_a_silent_device_stands_in_the_queue(hanging):
    machine = hanging("3")
    waiter = machine.start("run", "-q", "--wait=30s", "--only", "3", "--", "true")
    poll(lambda: not queue(machine), 10, "nobody waits")
    waiter.send_signal(signal.SIGTERM)
    assert waiter.wait(timeout=10) == -signal.SIGTERM


def test_a_silent_device_that_was_not_asked_for_does_not_make_it_possible(hanging):
    refused = hanging("3").run("run", "--wait=20s", "--only", "2", "-n", "2", "--", "true", timeout=10)
    assert refused.returncode == 124
    assert "can never" in refused.stderr, refused.stderr


# --- in a pipe -------------------------------------------------------------------------------------------


class Said:
    """What a process says on stderr, as it says it."""

    def __init__(self, process):
        self.process = process
        self.text = ""
        os.set_blocking(process.stderr.fileno(), False)

    def now(self):
        try:
            self.text += os.read(self.process.stderr.fileno(), 1 << 16).decode(errors="replace")
        except BlockingIOError:
            pass
        return self.text

    def until(self, pattern, seconds=10):
        poll(lambda: not re.search(pattern, self.now()) and (self.text or "nothing"), seconds, f"no {pattern!r}")
        return len(self.text)


def test_in_a_pipe_the_reasoning_is_said_once_and_then_a_line_per_change(machine):
    free = machine.run("pick", "--dry-run", "-n", "2").stderr
    first, second = re.findall(r"^  GPU (\d+) ", free, re.MULTILINE)[:2]
    holders = [machine.start("run", "-q", "--only", one, "--", "sleep", "30") for one in (first, second)]
    poll(lambda: len(leases(machine)) != 2, 10, "not two leases")
    wish = ["-n", "2", "--only", f"{first},{second}"]
    ahead = machine.start("run", "-q", "--wait", *wish, "--", "sleep", "1")
    poll(lambda: not queue(machine), 10, "nobody waits")
    waiter = machine.start("run", "--wait", *wish, "--", "echo", "started")
    said = Said(waiter)
    said.until("place 2 in the queue(.*\n)+.*not in --only")
    time.sleep(0.5)
    told = len(said.now())
    assert said.text.count("leased to ") == 2 and said.text.count("GPU ") == 8

    holders[0].send_signal(signal.SIGTERM)
    holders[0].wait(timeout=10)
    said.until(f"GPU {first}: ", 5)
    time.sleep(1)
    assert said.now()[told:] == f"waiting; GPU {first}: would do, 1 of 2 wanted\n"

    told = len(said.text)
    ahead.send_signal(signal.SIGTERM)
    ahead.wait(timeout=10)
    said.until("next in the queue", 5)
    time.sleep(1)
    assert said.now()[told:] == "waiting, next in the queue\n"

    holders[1].send_signal(signal.SIGTERM)
    holders[1].wait(timeout=10)
    assert waiter.wait(timeout=10) == 0
    assert said.now().count("leased to ") == 2


def test_in_a_pipe_a_new_holder_is_named_in_one_line(machine):
    holder = machine.start("run", "-q", "--only", "3", "--", "sleep", "30")
    poll(lambda: not leases(machine), 10, "the holder has no lease")
    ahead = machine.start("run", "-q", "--wait", "--only", "3", "--", "sleep", "29")
    poll(lambda: not queue(machine), 10, "nobody waits")
    waiter = machine.start("run", "--wait", "--only", "3", "--", "true")
    said = Said(waiter)
    told = said.until("place 2 in the queue(.*\n)+.*GPU 7.*\n")
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=10)
    said.until("sleep 29")
    time.sleep(0.5)
    changed = said.now()[told:].splitlines()
    assert 1 <= len(changed) <= 3, changed
    assert any(re.search(r"waiting.*; GPU 3: leased to \S+ since .*\(sleep 29", line) for line in changed), changed
    for process in (ahead, waiter):
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=10)


# --- without a device --------------------------------------------------------------------------------------

SHOW = ["sh", "-c", "echo seen=$CUDA_VISIBLE_DEVICES="]


def test_or_cpu_waits_as_long_as_it_says_and_goes_without(machine):
    holder = holding(machine, 30)
    begin = time.monotonic()
    got = machine.run("run", "--or-cpu=2s", "--only", "3", "--", *SHOW)
    took = time.monotonic() - begin
    assert (got.returncode, got.stdout) in ((0, "seen==\n"), (0, "seen=-1=\n")), got.stderr
    assert 2 <= took < 10, took
    said = " ".join(got.stderr.split())
    told = ("next in the queue", "running on the CPU, as --or-cpu says", "ended with 0")
    assert sorted(told, key=said.index) == list(told), said
    assert show(machine)["cpu_only"] is True
    assert queue(machine) == []
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=10)


def test_or_cpu_takes_a_device_that_comes_while_it_waits(machine):
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate)
    run = machine.start("run", "--or-cpu=20s", "--only", "3", "--", *SHOW)
    poll(lambda: not queue(machine), 10, "nobody waits")
    gate.touch()
    told, said = run.communicate(timeout=30)
    assert (run.returncode, told) == (0, "seen=3=\n"), said
    assert show(machine)["cpu_only"] is False
    assert holder.wait(timeout=10) == 0


# --- what was promised -------------------------------------------------------------------------------------


def test_a_share_is_said_to_be_a_promise_and_its_end_says_what_was_used_of_it(machine):
    got = machine.run("run", "--memory", "10G", "--", "sleep", "2.3")
    assert got.returncode == 0
    started, ended = got.stderr.splitlines()[0], got.stderr.splitlines()[-1]
    assert re.match(r"berth: run \S+ on GPU \d+ .*; 10\.0 GiB promised, a promise, not enforced", started), got.stderr
    assert got.stderr.count("not enforced") == 1
    assert re.search(r"; memory peak \d+(\.\d+)? [MG]iB of 10\.0 GiB promised(;|$)", ended), got.stderr
    several = machine.run("run", "-n", "2", "--memory", "10G", "--", "true").stderr
    assert re.search(r"on GPU \d, \d; 10\.0 GiB promised, a promise, not enforced", several), several
    assert "promise" not in machine.run("run", "-q", "--memory", "10G", "--", "true").stderr
    assert "promise" not in machine.run("run", "--", "true").stderr
