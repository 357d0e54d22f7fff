"""What a run says and does while it waits in the queue, on a terminal, in a pipe and detached."""

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from aftermath import leases, poll, queue, runs, show
from conftest import Terminal, end, many_devices, wakes
from test_bad_luck import fill, small_disk  # noqa: F401  (a fixture)
from test_run_life import holding
from test_run_signals import terminal, wait_until  # noqa: F401  (terminal is a fixture)


LOOKS = 3  # of one who waits: by then it has said what it was going to say of itself


def typed(machine, *words):
    return " ".join(machine.command(*words))


# --- detached ----------------------------------------------------------------------------------------


LONG = 60  # what is waited for at most; nothing here is to be quick
TOO_FEW = "too few GPUs for this request"


@pytest.fixture
def gate(machine):
    """Device 3 is held until this file is there."""
    path = machine.directory / "gate"
    holder = holding(machine, until=path)
    yield path
    path.touch()
    assert holder.wait(timeout=LONG) == 0


def waiting(machine, *options, command=("true",)):
    """A detached run that waits for device 3: its id."""
    done = machine.run("run", "-d", *options, "--only", "3", "--", *command, timeout=LONG)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def awaited(machine, run):
    return machine.run("wait", run, timeout=LONG)


def test_a_detached_run_gives_the_terminal_back_while_it_waits_and_runs_when_its_turn_comes(machine, gate):
    run = waiting(machine, "--wait=2h", command=("echo", "hello"))
    record = show(machine)
    assert (record["id"], record["state"], record["waiting"]) == (run, "waiting", True)
    assert len(queue(machine)) == 1
    assert "waiting in the queue" in machine.run("runs").stdout
    assert "waiting in the queue" in machine.run("show", run).stdout
    assert machine.run("logs", run).stdout == ""
    assert f"Run {run} has waited" in machine.run("explain", run).stdout
    gate.touch()
    assert awaited(machine, run).returncode == 0
    record = show(machine)
    assert (record["id"], record["state"], record["waiting"], record["cpu_only"]) == (run, "ended", False, False)
    assert len(record["given"]["devices"]) == 1 and record["waited_ms"] > 0
    assert machine.run("logs", run).stdout == "hello\n", "its output, and no word of berth's"


def test_detached_run_waits_on_when_its_terminal_closes(machine, terminal, gate):  # noqa: F811
    done = machine.directory / "done"
    terminal.type(f"id=$({typed(machine, 'run', '-d', '--wait=1h', '--only', '3', '--', 'touch', done)}); echo =$?=$id=\n")
    run = terminal.until(r"=0=([0-9a-z-]+)=").group(1)
    assert len(queue(machine)) == 1, "it answers with its id alone, and waits on"
    terminal.type("\x03")
    terminal.close()
    gate.touch()
    assert awaited(machine, run).returncode == 0
    assert done.exists() and show(machine)["id"] == run


def test_a_detached_run_that_no_device_came_for_was_never_started(machine, gate):
    run = waiting(machine, "--wait=1s", command=("touch", machine.directory / "ran"))
    ended = awaited(machine, run)
    assert ended.returncode == 124 and "for 1 GPU, no device came" in ended.stderr, ended.stderr
    assert "no device came within 1s" in machine.run("logs", run).stdout
    assert "\x1b" not in machine.run("logs", run).stdout
    record = show(machine)
    assert (record["state"], record["end"]["because"]) == ("ended", "no device came")
    for words in (["runs"], ["show", run], ["report", run, "--md"]):
        assert "for 1 GPU, no device came" in machine.run(*words).stdout, words
    assert "no device came for it within" in machine.run("explain", run).stdout
    assert queue(machine) == [] and not (machine.directory / "ran").exists()


def test_a_detached_run_goes_on_the_cpu_when_its_patience_is_over(machine, gate):
    run = waiting(machine, "--or-cpu=1s", command=("sh", "-c", "echo =$CUDA_VISIBLE_DEVICES="))
    assert awaited(machine, run).returncode == 0
    assert "=-1=" in machine.run("logs", run).stdout
    assert (show(machine)["cpu_only"], show(machine)["wanted"]) == (True, "-n 1 --only 3 --or-cpu=1s")
    assert show(machine)["waited_ms"] >= 1000


@pytest.mark.parametrize(("patience", "end_of_it"), [("--wait=1s", "no device came"), ("--or-cpu=1s", "on the CPU")])
def test_who_waited_in_vain_is_told_once_what_was_in_the_way(machine, gate, patience, end_of_it):
    done = machine.run("run", patience, "--only", "3", "--", "true", timeout=LONG)
    assert end_of_it in done.stderr and done.stderr.count("leased to") == 1, done.stderr
    screen = machine.on_terminal(80, "run", patience, "--only", "3", "--", "true")[1]
    assert end_of_it in screen and screen.count("leased to") == 1, screen


@pytest.mark.parametrize("words", [["{}"], ["--all"]], ids=["one", "all"])
def test_stop_takes_a_detached_run_out_of_the_queue(machine, gate, words):
    run = waiting(machine, "--wait")
    keeper = show(machine)["keeper"]["pid"]
    os.kill(keeper, signal.SIGSTOP)
    only = [word.format(run) for word in words]
    if words == ["--all"]:  # the holder is a run, too
        gate.touch()
        poll(lambda: leases(machine), LONG, "the holder has not gone")
    stopped = machine.run("stop", *only, timeout=LONG)
    assert stopped.returncode == 0 and f"run {run} never started" in stopped.stderr, stopped.stderr
    assert awaited(machine, run).returncode == 128 + signal.SIGTERM
    assert queue(machine) == []
    assert show(machine)["end"]["because"] == "left the queue"
    assert "for 1 GPU, stopped by " in machine.run("show", run).stdout


def test_a_wait_that_was_killed_is_told_as_such(machine, gate):
    run = waiting(machine, "--wait")
    os.kill(show(machine)["keeper"]["pid"], signal.SIGKILL)
    poll(lambda: show(machine)["state"] != "end unknown", LONG, "the record does not say so")
    assert "never started: the process that waited for a device has gone" in machine.run("show", run).stdout
    assert awaited(machine, run).returncode == 125


def test_why_nothing_came_is_in_the_file_that_was_named(machine, gate):
    log = machine.directory / "log"
    run = waiting(machine, "--wait=1s", "--log", log)
    assert awaited(machine, run).returncode == 124
    assert "no device came within 1s" in log.read_text()


def test_what_can_wait_for_nothing_answers_in_front(machine):
    refused = machine.run("run", "-d", "--wait", "-n", "9", "--", "true", timeout=LONG)
    assert (refused.returncode, refused.stdout) == (124, "")
    assert TOO_FEW in refused.stderr
    missing = machine.run("run", "-d", "--wait", "--", "no-such-command", timeout=LONG)
    assert (missing.returncode, missing.stdout) == (127, "")
    assert runs(machine)["runs"] == []


def test_a_wait_that_could_not_be_recorded_is_not_begun(machine, gate):
    records = machine.directory / "state/berth/runs"
    poll(lambda: not records.is_dir(), LONG, "the holder of the device has no record")
    records.rename(records.parent / "before")
    records.write_text("")  # root could write into a directory whatever its mode
    try:
        done = machine.run("run", "-d", "--wait", "--only", "3", "--", "true", timeout=LONG)
        assert (done.returncode, done.stdout) == (125, "")
        assert "cannot be recorded" in done.stderr and "make room there" in done.stderr
        poll(lambda: queue(machine), LONG, "it waits all the same")
    finally:
        records.unlink()
        (records.parent / "before").rename(records)


def test_what_a_detached_wait_leaves_to_its_job_is_what_it_was_given(machine):
    """Signals' masks and dispositions: a process that waits for the job catches some of its own."""
    show_them = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
    plain, waited = machine.directory / "plain", machine.directory / "waited"
    for log, options in ((plain, []), (waited, ["--wait"])):
        path = machine.directory / "path"
        holder = holding(machine, until=path) if options else None
        run = waiting(machine, *options, "--log", log, command=("sh", "-c", show_them))
        if holder:
            assert len(queue(machine)) == 1
            path.touch()
            holder.wait(timeout=LONG)
        assert awaited(machine, run).returncode == 0
        poll(lambda: leases(machine), LONG, "its lease")
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
    assert holder.wait(timeout=30) == 0


def test_a_shells_background_job_draws_no_line_over_the_one_in_front(machine, terminal, gate):  # noqa: F811
    terminal.type(typed(machine, "run", "--wait", "--only", "3", "--", "echo", "JOBOUT") + " &\n")
    terminal.until(r"waiting, next in the queue(.*\n)+.*GPU 4-7")
    terminal.type("sleep 2.5; echo in=front\n")
    terminal.until(r"[\r\n]in=front\r")
    drawn = terminal.text
    assert "waiting" not in drawn and "\x1b[K" not in drawn, drawn
    terminal.type("fg\n")
    terminal.until(r"waiting \d+s.*next in the queue", LONG)
    terminal.until(r"\r.*waiting \d+s.*next in the queue", LONG)
    gate.touch()
    terminal.until(r"[\r\n]JOBOUT\r", LONG)


# --- a driver that does not answer -----------------------------------------------------------------------

NEVER = (TOO_FEW, "will not help")


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
    poll(lambda: not queue(machine), 30, "nobody waits")
    waiter.send_signal(signal.SIGTERM)
    assert waiter.wait(timeout=30) == -signal.SIGTERM


def test_a_silent_device_that_was_not_asked_for_does_not_make_it_possible(hanging):
    refused = hanging("3").run("run", "--wait=60s", "--only", "2", "-n", "2", "--", "true", timeout=30)
    assert refused.returncode == 124
    assert TOO_FEW in refused.stderr, refused.stderr


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

    def until(self, pattern, seconds=30):
        poll(lambda: not re.search(pattern, self.now()) and (self.text or "nothing"), seconds, f"no {pattern!r}")
        return len(self.text)


def test_in_a_pipe_the_reasoning_is_said_once_and_then_a_line_per_change(machine):
    free = machine.run("pick", "--dry-run", "-n", "2").stderr
    first, second = re.findall(r"^  GPU (\d+) ", free, re.MULTILINE)[:2]
    holders = [machine.start("run", "-q", "--only", one, "--", "sleep", "30") for one in (first, second)]
    poll(lambda: len(leases(machine)) != 2, 30, "not two leases")
    wish = ["-n", "2", "--only", f"{first},{second}"]
    ahead = machine.start("run", "-q", "--wait", *wish, "--", "sleep", "1")
    poll(lambda: not queue(machine), 30, "nobody waits")
    waiter = machine.start("run", "--wait", *wish, "--", "echo", "started")
    said = Said(waiter)
    said.until("place 2 in the queue(.*\n)+.*not in --only")
    wakes(waiter.pid, LOOKS)
    told = len(said.now())
    assert said.text.count("leased to ") == 2 and "GPU 0-3 " in said.text and said.text.count("GPU ") == 4

    holders[0].send_signal(signal.SIGTERM)
    holders[0].wait(timeout=30)
    said.until(f"GPU {first}: would")
    wakes(waiter.pid, LOOKS)
    assert said.now()[told:] == f"waiting; GPU {first}: would do, 1 of 2 wanted\n"

    told = len(said.text)
    ahead.send_signal(signal.SIGTERM)
    ahead.wait(timeout=30)
    said.until("next in the queue")
    wakes(waiter.pid, LOOKS)
    assert said.now()[told:] == "waiting, next in the queue\n"

    holders[1].send_signal(signal.SIGTERM)
    holders[1].wait(timeout=30)
    assert waiter.wait(timeout=30) == 0
    assert said.now().count("leased to ") == 2


def test_in_a_pipe_a_new_holder_is_named_in_one_line(machine):
    holder = machine.start("run", "-q", "--only", "3", "--", "sleep", "30")
    poll(lambda: not leases(machine), 30, "the holder has no lease")
    ahead = machine.start("run", "-q", "--wait", "--only", "3", "--", "sleep", "29")
    poll(lambda: not queue(machine), 30, "nobody waits")
    waiter = machine.start("run", "--wait", "--only", "3", "--", "true")
    said = Said(waiter)
    told = said.until("place 2 in the queue(.*\n)+.*GPU 4-7.*\n")
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=30)
    said.until("sleep 29")
    wakes(waiter.pid, LOOKS)
    changed = said.now()[told:].splitlines()
    assert 1 <= len(changed) <= 3, changed
    assert any(re.search(r"waiting.*; GPU 3: leased to \S+ since .*\(sleep 29", line) for line in changed), changed
    for process in (ahead, waiter):
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


# --- without a device --------------------------------------------------------------------------------------

SHOW = ["sh", "-c", "echo seen=$CUDA_VISIBLE_DEVICES="]


def test_or_cpu_waits_as_long_as_it_says_and_goes_without(machine):
    holder = holding(machine, 30)
    got = machine.run("run", "--or-cpu=2s", "--only", "3", "--", *SHOW)
    assert leases(machine), "it waited until the device was given back"
    assert (got.returncode, got.stdout) in ((0, "seen==\n"), (0, "seen=-1=\n")), got.stderr
    said = " ".join(got.stderr.split())
    told = ("next in the queue", "running on the CPU, as --or-cpu says", "ended with 0")
    assert sorted(told, key=said.index) == list(told), said
    assert show(machine)["cpu_only"] is True
    assert queue(machine) == []
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=30)


def test_wait_beside_or_cpu_says_how_long(machine, gate):
    got = machine.run("run", "--wait=2s", "--or-cpu", "--only", "3", "--", *SHOW, timeout=LONG)
    assert (got.returncode, got.stdout) == (0, "seen=-1=\n"), got.stderr
    record = show(machine)
    assert (record["cpu_only"], record["wanted"]) == (True, "-n 1 --only 3 --or-cpu=2s")
    assert record["waited_ms"] >= 2000
    assert f"after waiting {record['waited_ms'] // 1000}s" in machine.run("show").stdout
    assert "next in the queue" in got.stderr and "after waiting" in got.stderr, got.stderr
    would = machine.run("run", "--dry-run", "--wait=2s", "--or-cpu", "--only", "3", "--", "true")
    assert (would.returncode, "Would wait 2s for a device, then run on the CPU" in would.stdout) == (124, True), would


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--wait", "--or-cpu"], "waits for ever"),
        (["--wait=2s", "--or-cpu=3s"], "--or-cpu=3s says how long to wait"),
        (["--no-wait", "--or-cpu=3s"], "--or-cpu=3s says how long to wait"),
        (["--wait=“5m”"], 'try "5m"'),
        (["--or-cpu=‘10m’"], 'try "10m"'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_patience_that_contradicts_itself_is_refused(machine, flags, says):
    refused = machine.run("run", *flags, "--", "true")
    assert (refused.returncode, refused.stdout) == (125, "") and says in refused.stderr, refused.stderr


def test_or_cpu_takes_a_device_that_comes_while_it_waits(machine):
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate)
    run = machine.start("run", "--or-cpu=20s", "--only", "3", "--", *SHOW)
    poll(lambda: not queue(machine), 30, "nobody waits")
    gate.touch()
    told, said = run.communicate(timeout=30)
    assert (run.returncode, told) == (0, "seen=3=\n"), said
    assert show(machine)["cpu_only"] is False
    assert holder.wait(timeout=30) == 0


# --- what was promised -------------------------------------------------------------------------------------


def test_a_share_is_said_with_what_holds_it_and_its_end_says_what_was_used_of_it(machine):
    got = machine.run("run", "--memory", "10G", "--", "sleep", "2.3")
    assert got.returncode == 0
    started, ended = got.stderr.splitlines()[0], got.stderr.splitlines()[-1]
    held = r"10\.0 GiB, limited by the watchdog: it warns"
    assert re.match(rf"berth: run \S+ on GPU \d+ .*; {held}", started), got.stderr
    assert got.stderr.count("limited by") == 1
    assert re.search(r"; memory peak \d+(\.\d+)? [MG]iB of 10\.0 GiB promised(;|$)", ended), got.stderr
    several = machine.run("run", "-n", "2", "--memory", "10G", "--", "true").stderr
    assert re.search(rf"on GPU \d, \d; {held}", several), several
    assert "limited by" not in machine.run("run", "-q", "--memory", "10G", "--", "true").stderr
    assert "limited by" not in machine.run("run", "--", "true").stderr


def test_what_could_not_be_stopped_does_not_wait_detached(machine):
    holder = machine.start("run", "-q", "--only", "3", "--", "sleep", "60")
    try:
        poll(lambda: len(leases(machine)) != 1, 30, "it has no device")
        words = ["run", "--detach", "--wait", "--only", "3", "--log", machine.directory / "log", "--", "true"]
        done = machine.run(*words, env={"XDG_STATE_HOME": "/proc/nowhere"})
        assert done.returncode == 125 and "cannot be recorded" in done.stderr, done.stderr
        poll(lambda: queue(machine), 30, "it waits all the same")
    finally:
        end(holder)
        machine.run("stop", "--all", "-q")


def test_a_detached_run_that_need_not_wait_gives_the_terminal_back_too(machine):
    gate = machine.directory / "gate"
    done = machine.run("run", "--detach", "--wait", "--", "sh", "-c", f"until test -e {gate}; do sleep 0.05; done")
    assert done.returncode == 0, done.stderr
    assert json.loads(machine.run("show", done.stdout.strip(), "--json").stdout)["state"] == "running"
    gate.touch()
    assert machine.run("wait", done.stdout.strip()).returncode == 0


# --- the ledger's disk -------------------------------------------------------------------------------


def opened(place):
    """The files under it that any process has open."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            for link in os.listdir(process / "fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(process / "fd" / link)
                    if target.startswith(str(place)):
                        yield target


def test_who_waits_keeps_its_place_while_the_ledgers_disk_is_full(machine, small_disk):  # noqa: F811
    machine.env["BERTH_LEDGER"] = str(small_disk / "ledger")
    gate, file = machine.directory / "gate", machine.directory / "said"
    said = lambda: " ".join(file.read_text().split())  # noqa: E731
    holder = holding(machine, until=gate)
    with file.open("w") as errors:
        waiter = machine.start("run", "--wait", "--only", "3", "--", "sh", "-c", "exit 5", stderr=errors)
    poll(lambda: len(queue(machine)) != 1, LONG, "it does not wait")
    [place] = queue(machine)
    waiter.send_signal(signal.SIGSTOP)  # so that it cannot have the page that the lease leaves
    gate.touch()
    assert holder.wait(timeout=LONG) == 0
    # Its keeper takes the lease away a moment later and closes it, which leaves room for another.
    poll(lambda: list((small_disk / "ledger").rglob("lease-*")), LONG, "the lease stays")
    poll(lambda: [one for one in opened(small_disk) if one.endswith("(deleted)")], LONG, "it stays open")
    fill(small_disk)
    waiter.send_signal(signal.SIGCONT)
    poll(lambda: "No space left" not in said(), LONG, "it does not say what stands in its way")
    again = time.monotonic() + 3
    while time.monotonic() < again:
        assert waiter.poll() is None, said()
        assert [one["id"] for one in queue(machine)] == [place["id"]]
    refused = machine.run("run", "-q", "--only", "4", "--", "true")
    assert refused.returncode == 125 and "No space left" in " ".join(refused.stderr.split()), refused.stderr
    (small_disk / "filling").rename(machine.ledger / "filling")
    os.chown(machine.ledger / "filling", 65534, 65534)
    named = " ".join(machine.run("run", "-q", "--only", "4", "--", "true").stderr.split())
    assert "Most room in it is taken by files of nobody" in named, named
    (machine.ledger / "filling").unlink()
    assert waiter.wait(timeout=LONG) == 5
    assert said().count("No space left") == 1, said()
