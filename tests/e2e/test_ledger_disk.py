"""The ledger's disk while it takes nothing more or fails. It tests waiters, new runs, and jobs that end."""

import signal
import subprocess
import time

import pytest

from aftermath import leases, ledger_files, poll, queue, waits_for
from conftest import BUILD, end
from test_run_waiting import opened

LIBRARY = BUILD / "fakes/preload/libfailing_disk.so"
LONG = 60  # what is waited for at most; nothing here is to be quick


class Fake:
    """A disk on which everything fails as a word says, for those that are started with its variables."""

    def __init__(self, machine, word):
        if not LIBRARY.exists():
            pytest.fail(f"{LIBRARY} is missing: ninja preload_failing_disk")
        self.word, self.switch = word, machine.directory / "fails"
        self.env = {"LD_PRELOAD": str(LIBRARY), "BERTH_FAKE_FAILING_WHILE": str(self.switch),
                    "BERTH_FAKE_FAILING_DISK": machine.env["BERTH_LEDGER"]}

    def fail(self):
        self.switch.write_text(self.word)

    def mend(self):
        self.switch.unlink()


class NoInodes:
    """A disk with room and without a place for one more file."""

    def __init__(self, place):
        self.place, self.env, self.made = place, {}, []

    def fail(self):
        # A keeper takes its lease away and closes it a moment later, which leaves room for another.
        poll(lambda: [one for one in opened(self.place) if one.endswith("(deleted)")], LONG, "it stays open")
        try:
            while True:
                one = self.place / f"file-{len(self.made)}"
                one.touch()
                self.made.append(one)
        except OSError as error:
            assert error.strerror == "No space left on device", error

    def mend(self):
        for one in self.made:
            one.unlink()
        self.made.clear()


@pytest.fixture(params=["inodes", "quota", "writes"])
def disk(request, machine, tmp_path):
    """That of the machine's ledger, and what its errors are called."""
    if request.param != "inodes":
        words = {"quota": "Disk quota exceeded", "writes": "Input/output error"}
        yield Fake(machine, request.param), words[request.param]
        return
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "nr_inodes=60", "berth-test", str(place)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"needs root to mount a tmpfs: {made.stderr.strip()}")
    machine.env["BERTH_LEDGER"] = str(place / "ledger")
    yield NoInodes(place), "No space left on device"
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def reads(machine):
    return Fake(machine, "reads")


def one_line(file):
    return " ".join(file.read_text().split())


def holding(machine, gate, env):
    holder = machine.start("run", "-q", "--only", "3", "--", *waits_for(gate), env=env)
    poll(lambda: not leases(machine), LONG, "the holder has no lease")
    return holder


def waiting(machine, env, file, *words):
    with file.open("w") as errors:
        return machine.start("run", "--wait", *words, "--", "sh", "-c", "exit 5", env=env, stderr=errors)


def keeps_its_place(machine, waiter, place, file):
    again = time.monotonic() + 3
    while time.monotonic() < again:
        assert waiter.poll() is None, one_line(file)
        assert [one["id"] for one in queue(machine)] == [place["id"]]


def test_who_waits_keeps_its_place_and_says_once_what_the_disk_said(machine, disk):
    disk, word = disk
    gate, file = machine.directory / "gate", machine.directory / "said"
    holder = holding(machine, gate, disk.env)
    waiter = waiting(machine, disk.env, file, "--only", "3")
    try:
        poll(lambda: len(queue(machine)) != 1, LONG, "it does not wait")
        [place] = queue(machine)
        waiter.send_signal(signal.SIGSTOP)  # so that it has nothing before the disk fails
        gate.touch()
        assert holder.wait(timeout=LONG) == 0
        poll(lambda: leases(machine), LONG, "the lease stays")
        disk.fail()
        waiter.send_signal(signal.SIGCONT)
        poll(lambda: word not in one_line(file), LONG, "it does not say what stands in its way")
        keeps_its_place(machine, waiter, place, file)
        disk.mend()
        assert waiter.wait(timeout=LONG) == 5
        assert one_line(file).count(word) == 1, one_line(file)
    finally:
        end(waiter)


def test_who_comes_is_told_what_the_disk_said_and_what_to_do(machine, disk):
    disk, word = disk
    assert machine.run("run", "-q", "--", "true").returncode == 0  # there is a ledger
    disk.fail()
    refused = machine.run("run", "-q", "--", "true", env=disk.env)
    said = " ".join(refused.stderr.split())
    assert refused.returncode == 125 and word in said, said
    assert machine.env["BERTH_LEDGER"] in said and "`df -i`" in said, said
    disk.mend()
    assert machine.run("run", "-q", "--", "true", env=disk.env).returncode == 0


def test_who_waits_detached_for_the_disk_is_seen_in_the_queue_and_says_why(machine, disk):
    disk, word = disk
    gate = machine.directory / "gate"
    holder = holding(machine, gate, disk.env)
    disk.fail()
    begun = machine.run("run", "--detach", "--wait", "--only", "3", "--", "true", env=disk.env)
    run = begun.stdout.strip()
    try:
        assert begun.returncode == 0 and word in begun.stderr, begun.stderr
        assert queue(machine) == []
        for words in (["queue"], ["explain", run], ["show", run]):
            said = " ".join(machine.run(*words).stdout.split())
            assert run in said and "its place in the queue could not be written" in said and word in said, said
        disk.mend()
        poll(lambda: not queue(machine), LONG, "it does not queue")
        poll(lambda: "it has its place in the queue now" not in machine.run("show", run).stdout, LONG, "it is not noted")
        assert "Not in the queue yet" not in machine.run("queue").stdout
    finally:
        machine.run("stop", run)
        gate.touch()
        assert holder.wait(timeout=LONG) == 0


def test_who_comes_and_may_wait_waits_for_the_disk_too(machine, disk):
    disk, word = disk
    assert machine.run("run", "-q", "--", "true").returncode == 0
    file = machine.directory / "said"
    disk.fail()
    waiter = waiting(machine, disk.env, file)
    try:
        poll(lambda: word not in one_line(file), LONG, "it does not say what stands in its way")
        assert waiter.poll() is None, one_line(file)
        disk.mend()
        assert waiter.wait(timeout=LONG) == 5
        assert one_line(file).count(word) == 1, one_line(file)
    finally:
        end(waiter)


def test_whose_time_is_over_before_the_disk_has_room_is_told_of_the_disk(machine, disk):
    disk, word = disk
    assert machine.run("run", "-q", "--", "true").returncode == 0
    disk.fail()
    done = machine.run("run", "--wait=1s", "--only", "3", "--", "true", env=disk.env, timeout=LONG)
    said = " ".join(done.stderr.split())
    assert done.returncode == 124 and "no device could be given within 1s: " in said, said
    assert word in said.rpartition("no device could be given")[2] and "1 wanted" not in said, said


def test_a_job_that_ends_meanwhile_ends_as_it_did_and_gives_its_device_back(machine, disk):
    disk, _ = disk
    gate = machine.directory / "gate"
    job = ["sh", "-c", f"until test -e {gate}; do sleep 0.02; done; exit 3"]
    holder = machine.start("run", "--only", "3", "--", *job, env=disk.env)
    poll(lambda: not leases(machine), LONG, "the job has no lease")
    disk.fail()
    gate.touch()
    _, said = holder.communicate(timeout=LONG)
    assert holder.returncode == 3 and "ended with 3" in said, said
    poll(lambda: leases(machine), LONG, "the lease outlives the job")
    disk.mend()
    assert machine.run("run", "-q", "--only", "3", "--", "true").returncode == 0
    poll(lambda: ledger_files(machine), LONG, "files are left over")


def test_a_ledger_that_cannot_be_read_gives_no_device_away(machine, reads):
    gate = machine.directory / "gate"
    holder = holding(machine, gate, {})
    try:
        reads.fail()
        for words in (("--only", "3"), ()):
            refused = machine.run("run", "-q", *words, "--", "true", env=reads.env)
            said = " ".join(refused.stderr.split())
            assert refused.returncode == 125 and "Input/output error" in said, said
            assert machine.env["BERTH_LEDGER"] in said, said
    finally:
        gate.touch()
        assert holder.wait(timeout=LONG) == 0


def test_who_waits_waits_while_the_ledger_cannot_be_read(machine, reads):
    gate, file = machine.directory / "gate", machine.directory / "said"
    holder = holding(machine, gate, {})
    waiter = waiting(machine, reads.env, file, "--only", "3")
    try:
        poll(lambda: len(queue(machine)) != 1, LONG, "it does not wait")
        [place] = queue(machine)
        reads.fail()
        poll(lambda: "Input/output error" not in one_line(file), LONG, "it does not say what stands in its way")
        gate.touch()
        assert holder.wait(timeout=LONG) == 0
        keeps_its_place(machine, waiter, place, file)
        reads.mend()
        assert waiter.wait(timeout=LONG) == 5
        assert one_line(file).count("Input/output error") == 1, one_line(file)
    finally:
        gate.touch()
        end(waiter)
