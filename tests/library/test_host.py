"""What the library does to the program it is in: nothing that the program did not ask for."""

import json
import os
import re
import shutil
import signal
import time

import pytest

from hosts import BUILD, HERE, PLACE, ROOT, checked, compiled, run, shared

BERTH = PLACE / "berth"


@pytest.mark.parametrize("verb", [
    "every-call", "nulls", "older-structs", "newer-structs", "waits-for-any-child", "ignores-sigchld",
    "leaks-nothing", "forks", "cancels", "adopts-orphans",
])
def test_it_does_what_it_says(host, server, verb):
    assert checked(server.run(host, verb)).stdout == "", "it printed something"


def test_every_call_of_the_static_library(tmp_path, server):
    program = compiled(tmp_path / "host", HERE / "host.c", "-std=c99", PLACE / "libberth.a")
    checked(server.run(program, "every-call", env={"BERTH_HELPER": BERTH}))


@pytest.mark.parametrize("options", [["-std=c++17"], ["-std=c++20", "-fno-exceptions"], ["-std=c++23"]],
                         ids=lambda options: " ".join(options))
def test_the_cpp_wrapper(tmp_path, server, library, options):
    program = compiled(tmp_path / "wrapper", HERE / "wrapper.cc", *options, *shared(), compiler="g++")
    checked(server.run(program))


class Trace:
    """The system calls of one process: its own threads, not its children."""

    def __init__(self, server, tmp_path, *command):
        if not shutil.which("strace"):
            pytest.skip("strace is not installed")
        written = tmp_path / "trace.txt"
        done = server.run("strace", "-qq", "-o", written, *command)
        text = written.read_text() if written.exists() else ""
        if "ptrace" in done.stderr or not text:
            pytest.skip("no process can be traced here")
        checked(done)
        self.lines = text.splitlines()

    def of(self, *names):
        return [line for line in self.lines if line.split("(")[0] in names]

    def of_clone(self):
        return self.of("clone", "clone3", "fork", "vfork")


@pytest.fixture
def trace(host, server, tmp_path):
    return Trace(server, tmp_path, host, "every-call")


def test_it_starts_no_thread_and_never_forks(trace):
    started = trace.of_clone()
    assert started, "no helper was started, though every call was made"
    for line in started:
        assert "CLONE_VFORK" in line or line.startswith("vfork("), line
        assert "CLONE_THREAD" not in line, line


def test_it_sets_no_signal_handler(trace):
    assert trace.of("rt_sigaction", "sigaction", "sigaltstack", "signalfd", "signalfd4") == []


def test_it_opens_no_driver(trace):
    # It may look whether libcuda.so.1 is loaded: that opens files of this name, and no device.
    opened = trace.of("open", "openat", "openat2")
    assert opened
    assert [line for line in opened if re.search(r"/dev/(nvidia|dri|kfd)|libnvidia|libamd", line)] == []


def test_it_prints_nothing(trace):
    assert [line for line in trace.of("write", "writev", "sendto", "pwrite64") if re.match(r"\w+\([012],", line)] == []


def test_it_registers_nothing_for_the_end_of_the_process(tmp_path, server, library):
    program = compiled(tmp_path / "exits", HERE / "exits.c", "-std=c99", "-rdynamic", *shared())
    assert checked(server.run(program)).stdout == "0\n"


def test_a_bug_in_it_is_an_error_and_ends_no_host(tmp_path, server):
    define = ['-DBERTH_VERSION="0"', f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
    program = tmp_path / "bug"
    ours = [ROOT / "src/lib/border.cc", BUILD / "libberth_base.a"]
    done = run(["g++", "-std=c++23", *define, HERE / "bug.cc", *ours, "-lfmt", "-lz", "-o", program])
    assert done.returncode == 0, done.stderr
    said = checked(server.run(program)).stdout
    assert re.fullmatch(r"12 a bug in libberth at .*bug\.cc:\d+: \(1 \+ 1 == 3\) does not hold: sums are right\n", said)


def test_it_sleeps_on_nothing_but_its_helper(trace):
    assert trace.of("nanosleep", "clock_nanosleep", "pause", "alarm", "setitimer", "timer_create") == []


def test_a_host_of_two_gigabytes_is_not_copied(host, server, tmp_path, record_property):
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if available < 4 << 30:
        pytest.skip(f"needs 4 GiB of free memory, {available >> 30} are")
    before = time.monotonic()
    started = Trace(server, tmp_path, host, "large").of_clone()
    record_property("measured", f"a look and a lease in a host of 2 GiB, traced: {time.monotonic() - before:.2f} s")
    assert started and all("CLONE_VM" in line and "CLONE_VFORK" in line for line in started), started


def test_a_host_whose_thread_takes_each_child(host, server):
    checked(server.run(host, "reaps-in-a-thread"))


def test_a_host_without_standard_descriptors(host, server):
    assert server.run(host, "without-stdio").returncode == 0


def test_a_card_that_hangs_hangs_no_host(host, server):
    """The look comes after the driver's patience: with the cards that answer, and why one does not."""
    fake = BUILD / "fakes/nvml/all/libnvidia-ml.so.1"
    if not fake.exists():
        pytest.skip(f"{fake} is not built: ninja fake_nvml")
    machine = json.loads((ROOT / "src/probe/sim/scenarios/server-8xh100.json").read_text())
    played = server.directory / "machine.json"
    played.write_text(json.dumps(machine | {"gpu_processes": []}))
    done = server.run(host, "lists", env={
        "BERTH_SIM": None, "BERTH_NVML": fake, "BERTH_FAKE_NVML": played,
        "BERTH_FAKE_NVML_FAULTS": "nvmlDeviceGetTemperature@3=hang;nvmlDeviceGetTemperatureV@3=hang"})
    lines = checked(done).stdout.splitlines()
    assert len(lines) == 8 and re.fullmatch(r"3 absent \d", lines[3]), lines
    assert all(re.fullmatch(rf"{at} \d+ C", lines[at]) for at in (0, 1, 2, 4, 5, 6, 7)), lines


class Paused:
    """A host that waits at its points for the test."""

    def __init__(self, server, host, verb):
        self.process = server.start(host, verb)

    def point(self):
        line = self.process.stdout.readline()
        if not line:
            _, said = self.process.communicate()
            pytest.fail(f"it ended with {self.process.returncode}: {said}")
        return line.strip()

    def go_on(self):
        self.process.stdin.write("g")
        self.process.stdin.flush()

    def end(self):
        _, said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, said


@pytest.fixture
def paused(host, server):
    begun = []

    def start(verb):
        begun.append(Paused(server, host, verb))
        return begun[-1]

    yield start
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def until(condition, what, patience_s=20):
    deadline = time.monotonic() + patience_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {patience_s} s: {what}"
        time.sleep(0.02)
    return value


def ledger(server):
    done = server.run(BERTH, "leases", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def leases(server):
    return json.dumps(ledger(server)["leases"])


def queue(server):
    return ledger(server)["queue"]


def test_a_helper_that_is_killed_costs_no_lease(paused, server):
    process = paused("helper-is-killed")
    process.point()
    helpers = server.helpers()
    assert helpers, "no helper is there"
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not set(server.helpers()) & set(helpers), "the helper's end")
    process.go_on()
    process.end()


def test_a_helper_that_is_killed_before_it_answers_is_asked_again(paused, server):
    process = paused("helper-is-killed-in-steps")
    for point in ("before the look", "looking", "before the choice", "choosing", "before the lease", "leasing"):
        assert process.point() == point
        helpers = server.helpers()
        assert len(helpers) == 1, helpers
        os.kill(helpers[0], signal.SIGSTOP if point.startswith("before") else signal.SIGKILL)
        process.go_on()
    process.end()


def test_the_helper_ends_with_the_host(paused, server):
    process = paused("holds")
    process.point()
    assert server.helpers()
    process.process.kill()
    until(lambda: not server.helpers(), "the end of the helper of a host that was killed")


def test_a_lease_is_everybodys_and_ends_with_a_kill(paused, server):
    process = paused("holds")
    lease = process.point()
    assert lease in leases(server)
    process.process.kill()
    process.process.wait()
    until(lambda: lease not in leases(server), "the end of the lease of a host that was killed")


def test_a_program_that_was_given_the_descriptor_keeps_the_lease(paused, server):
    process = paused("hands-over")
    lease = process.point()
    process.process.kill()
    process.process.wait()
    until(lambda: not server.helpers(), "the helper's end")
    assert lease in leases(server), "the program that has the descriptor keeps no lease"
    process.process.stdin.close()  # what `cat` waits for
    until(lambda: lease not in leases(server), "the end of the lease with the last that has it")


def test_who_waits_stands_in_the_queue_and_leaves_it(paused, server):
    process = paused("queues")
    news = process.point()
    assert '"position":1' in news.replace(" ", ""), news
    assert len(queue(server)) == 1
    process.go_on()
    assert process.point() == "left"
    assert not queue(server), "it says that it has left, and others see its place"
    process.go_on()
    process.end()


