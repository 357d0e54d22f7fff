"""What another user can do to those who wait, by reading and locking what all may open.

Run by root, another user does it. Run by an ordinary user, another process of theirs does it, with the same rights to
read."""

import contextlib
import fcntl
import json
import os
import signal
import struct
import subprocess
import time

import pytest
from conftest import end, wait_until
from storm import IS_ROOT, USERS, Storm

ANN, BOB = USERS[0], USERS[-1]

OFD_GETLK, OFD_SETLK = 36, 37  # <fcntl.h>; Python has no names for them before 3.12
UNTIL_STOPPED = 600


def lock_to_read(fd, start, length):
    """Read locks on all of the range that no writer has; of length 0: to the end of all offsets."""
    asked = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, start, length, 0)
    try:
        fcntl.fcntl(fd, OFD_SETLK, asked)
        return
    except OSError:
        kind, _, begin, taken, _ = struct.unpack("hhqqi4x", fcntl.fcntl(fd, OFD_GETLK, asked))
    if kind == fcntl.F_UNLCK:
        return  # it has been given back meanwhile: the next round will do
    if begin > start:
        lock_to_read(fd, start, begin - start)
    end_of_it = begin + taken
    if taken and (not length or end_of_it < start + length):
        lock_to_read(fd, end_of_it, length and start + length - end_of_it)


def read_and_lock(ledger, say):
    """Takes read locks wherever they are granted, and shared flocks, on each file of the ledger, over and over. It
    gives none back."""
    files = {}
    for _ in range(UNTIL_STOPPED * 50):
        for path in ledger.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_dir():
                    continue
                number = path.stat().st_ino
                if number not in files:
                    files[number] = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                if "lock" not in path.name:
                    fcntl.flock(files[number], fcntl.LOCK_SH | fcntl.LOCK_NB)
                lock_to_read(files[number], 0, 0)
        say(b".")
        time.sleep(0.02)


def hold_the_lock(ledger, say):
    """Every file that is there to be locked and that others may open."""
    for path in ledger.rglob("*lock*"):
        with contextlib.suppress(OSError):
            fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)
    say(b".")
    time.sleep(UNTIL_STOPPED)


def lock_to_write(fd, start, length, kind=fcntl.F_WRLCK):
    fcntl.fcntl(fd, OFD_SETLK, struct.pack("hhqqi4x", kind, 0, start, length, 0))


def put_tickets(ledger, texts):
    """Tickets of one's own in the queue's own folder, by descriptor; their names claim no place."""
    [folder] = [path.parent for path in ledger.rglob("lease-*")]
    made = []
    for number, text in enumerate(texts):
        path = folder / f"ticket-{0:019}-hostile-{os.getpid()}-{number}"
        made.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
        os.write(made[-1], text)
    return made


# src/lease/ledger_locks.h: somebody awake lets go of a byte each millisecond, and of none of the flags.
LIFE, BEAT, FLAGS_END = 1 << 30, 1 << 32, (1 << 62) + (1 << 20) * 4096


def keep_empty_tickets(ledger, say):
    """They live, and say nothing of when they were awake."""
    for fd in put_tickets(ledger, [b""] * 6):
        lock_to_write(fd, 0, LIFE)
    say(b".")
    time.sleep(UNTIL_STOPPED)


def keep_awake_and_never_start(ledger, say):
    """As many waiters as look at the devices, which want what the first in the queue wants."""
    text = min(ledger.rglob("ticket-*")).read_bytes()
    awake = {fd: BEAT + time.monotonic_ns() // 1_000_000 for fd in put_tickets(ledger, [text] * 4)}
    for fd, beat in awake.items():
        lock_to_write(fd, 0, LIFE)
        lock_to_write(fd, beat, FLAGS_END - beat)
    for _ in range(UNTIL_STOPPED * 4):
        for fd, beat in awake.items():
            awake[fd] = BEAT + time.monotonic_ns() // 1_000_000
            lock_to_write(fd, beat, awake[fd] - beat, fcntl.F_UNLCK)
        say(b".")
        time.sleep(0.25)


@pytest.fixture
def ledger():
    storm = Storm()
    subprocess.run(["chmod", "1777", storm.home(ANN)], check=True)
    # With the first run the ledger is all there: its lock, too.
    assert storm.start(ANN, "run", "-q", "--", "true").wait(60) == 0
    yield storm
    storm.remove()


class Bob:
    """His process, from its first word on."""

    def __init__(self, storm, body):
        told, say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                os.close(told)
                if IS_ROOT:
                    os.setgroups([])
                    os.setgid(BOB)
                    os.setuid(BOB)
                body(storm.ledger, lambda word: os.write(say, word))
            os._exit(1)
        os.close(say)
        self.told = told

    def signal(self, number):
        os.kill(self.pid, number)

    def goes_on(self):
        return os.read(self.told, 65536) != b""

    def __enter__(self):
        assert self.goes_on()
        return self

    def __exit__(self, *_):
        self.signal(signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.told)


def waiting(storm, only, devices, job):
    return storm.start(ANN, "run", "-q", "--wait=2h", "--only", only, "-n", devices, "--", "sh", "-c", job, stderr=subprocess.PIPE)


def queue_of(storm):
    told = storm.start(ANN, "leases", "--json", stdout=subprocess.PIPE)
    return len(json.loads(told.communicate(timeout=60)[0])["queue"])


def ended(process, patience=120):
    said = process.communicate(timeout=patience)[1]
    return process.returncode, said


def hold(storm, only, gate):
    holder = waiting(storm, only, 1, f"touch {gate}.begun; until test -e {gate}; do sleep 0.05; done")
    wait_until((gate.parent / (gate.name + ".begun")).exists, "the holder has its device", 60)
    return holder


def test_a_reader_of_tickets_and_leases_throws_nobody_out_of_the_queue(ledger):
    gate, order = ledger.home(ANN) / "gate", ledger.home(ANN) / "order"
    holder = hold(ledger, "3", gate)
    waiters = []
    with Bob(ledger, read_and_lock) as reader:
        # The first gathers 4 while it waits for 3; the others come behind it.
        for number, (only, devices) in enumerate((("3,4", 2), ("4", 1), ("3", 1), ("3", 1)), 1):
            waiters.append(waiting(ledger, only, devices, f"echo {number} >>{order}; sleep 0.2"))
            wait_until(lambda count=number: queue_of(ledger) >= count or waiters[-1].poll() is not None, "it waits", 60)
        began = time.monotonic()  # long enough for several heartbeats, and for the silent to be passed over
        while time.monotonic() < began + 7:
            assert reader.goes_on()
            assert [one.communicate()[1] for one in waiters if one.poll() is not None] == []
        gate.touch()
        assert ended(holder) == (0, "")
        assert [ended(one) for one in waiters] == [(0, "")] * 4
        told = order.read_text().split()
        assert told[0] == "1" and told.index("3") < told.index("4"), told
        # What is dead does not come to life by being locked.
        assert ended(ledger.start(ANN, "run", "-q", "--only", "3", "--", "true", stderr=subprocess.PIPE)) == (0, "")


def test_a_reader_does_not_keep_the_dead_in_the_ledger(ledger):
    for number in range(5):
        holder = hold(ledger, "3", ledger.home(ANN) / f"gate-{number}")
        waiter = waiting(ledger, "3", 1, "true")
        wait_until(lambda: queue_of(ledger), "it waits", 60)
        with Bob(ledger, read_and_lock) as reader:
            for pid in ledger.processes() - {reader.pid}:
                with contextlib.suppress(ProcessLookupError):  # it ends with one before it
                    os.kill(pid, signal.SIGKILL)
            ended(holder), ended(waiter)
            wait_until(lambda: queue_of(ledger) == 0, "the dead do not wait", 60)
            assert reader.goes_on()
            assert ended(ledger.start(ANN, "run", "-q", "--wait", "--only", "3", "--", "true", stderr=subprocess.PIPE)) == (0, "")
    assert len(ledger.ledger_files()[ANN]) <= 4, ledger.ledger_files()


def test_empty_tickets_that_another_keeps_locked_hold_nobody_up(ledger):
    gate = ledger.home(ANN) / "gate"
    holder = hold(ledger, "3", gate)
    with Bob(ledger, keep_empty_tickets):
        waiters = [waiting(ledger, "3", 1, "true") for _ in range(2)]
        wait_until(lambda: queue_of(ledger) == 2, "they wait", 60)
        gate.touch()
        assert [ended(one) for one in (holder, *waiters)] == [(0, "")] * 3
        assert ended(ledger.start(ANN, "run", "-q", "--only", "3", "--", "true", stderr=subprocess.PIPE)) == (0, "")


def test_who_keeps_its_tickets_awake_and_never_starts_holds_nobody_up_who_sleeps_behind_it(ledger):
    gate = ledger.home(ANN) / "gate"
    holder = hold(ledger, "3", gate)
    first = waiting(ledger, "3", 1, "true")
    wait_until(lambda: queue_of(ledger) == 1, "the first waits", 60)
    with Bob(ledger, keep_awake_and_never_start) as bob:
        wait_until(lambda: queue_of(ledger) == 5, "his tickets wait", 60)
        sleeper = waiting(ledger, "3", 1, "true")
        wait_until(lambda: queue_of(ledger) == 6, "it waits", 60)
        gate.touch()
        assert [ended(one) for one in (holder, first, sleeper)] == [(0, "")] * 3
        assert bob.goes_on() and queue_of(ledger) == 4, "they were not there to the end"


def test_who_comes_and_who_waits_while_another_holds_the_lock_waits_on(ledger):
    gate = ledger.home(ANN) / "gate"
    holder = hold(ledger, "3", gate)
    waiter = waiting(ledger, "3", 1, "true")
    wait_until(lambda: queue_of(ledger), "it waits", 60)
    with Bob(ledger, hold_the_lock):
        newcomer = waiting(ledger, "4", 1, "true")
        gate.touch()
        began = time.monotonic()
        while time.monotonic() < began + 14:
            assert [one.communicate()[1] for one in (waiter, newcomer) if one.poll() is not None] == []
            time.sleep(0.1)
    assert ended(holder) == (0, "")
    for code, said in map(ended, (waiter, newcomer)):
        assert code == 0 and said.count("host.lock") == said.count("berth: ") <= 1, "said once, if at all: " + said


@pytest.mark.parametrize("stops", [True, False], ids=["stopped", "running"])
def test_only_a_stopped_holder_of_the_lock_is_said_to_be_stopped(ledger, stops):
    with Bob(ledger, hold_the_lock) as holder:
        if stops:
            holder.signal(signal.SIGSTOP)
        run = ledger.start(ANN, "run", "-q", "--", "true", stderr=subprocess.PIPE)
        code, said = ended(run)
        assert code not in (0, -signal.SIGSEGV), said
        words = " ".join(said.split())
        assert "KILL" not in words, "who holds a lock may be innocent"
        assert str(holder.pid) in words and ("stopped" in words) == stops, words


def test_who_was_stopped_for_a_part_of_the_time_is_not_said_to_be_stopped(ledger):
    with Bob(ledger, hold_the_lock) as holder:
        run = ledger.start(ANN, "run", "-q", "--", "true", stderr=subprocess.PIPE)
        while run.poll() is None:
            holder.signal(signal.SIGSTOP)
            time.sleep(0.25)
            holder.signal(signal.SIGCONT)
            time.sleep(0.15)
        _, said = ended(run)
        assert "stopped" not in said, said


def test_a_ledger_made_under_a_umask_that_forbids_everything_can_be_used(ledger):
    own = {"BERTH_LEDGER": str(ledger.home(ANN) / "deep/ledger")}

    def run(*words, mask=0o022):
        process = subprocess.Popen(
            ["sh", "-c", f'umask {mask:o}; exec "$@"', "sh", ledger.berth, *words], stderr=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, env=ledger.env | own | {"HOME": str(ledger.home(ANN))}, cwd="/",
            **({"user": ANN, "group": ANN, "extra_groups": []} if IS_ROOT else {}),
        )
        out, said = process.communicate(timeout=60)
        return process.returncode, out.strip(), said

    assert run("run", "-q", "--", "sh", "-c", "umask", mask=0o777) == (0, "0777", "")
    assert run("run", "-q", "--", "sh", "-c", "umask", mask=0o777) == (0, "0777", "")
    assert run("run", "-q", "--", "true") == (0, "", "")
