"""What the end-to-end tests share: the program as a user starts it, on a machine of its own.

Every test gets a ledger, a state directory and a home below its own temporary directory. So nothing of the machine it
runs on is seen or touched. BERTH (or BERTH_BIN) names the binary. BERTH_BUILD names the build directory with the fake
driver libraries."""

import concurrent.futures
import contextlib
import copy
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BERTH_BUILD", ROOT / "build/release"))
BERTH = os.environ.get("BERTH_BIN") or os.environ.get("BERTH") or str(BUILD / "berth")
if " " in BERTH:
    # Some tests type the program's name into a shell: give it one that needs no quotes.
    _link = pathlib.Path(tempfile.mkdtemp()) / "berth"
    _link.symlink_to(BERTH)
    BERTH = str(_link)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control started this in the background. Then all that the tests start would ignore Ctrl-C,
    # too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pause_before_asking_again(asked_at):
    """Who starts a program to ask leaves four fifths of the time to others."""
    took = time.monotonic() - asked_at
    time.sleep(max(0.01, min(4 * took, 0.25), took))


def wait_until(condition, what, timeout=60.0):
    """Polls `condition` and returns its first true value; fails naming `what` was awaited."""
    deadline = time.monotonic() + timeout
    while (asked_at := time.monotonic()) < deadline:
        value = condition()
        if value:
            return value
        pause_before_asking_again(asked_at)
    pytest.fail(f"not within {timeout} s: {what}")


@contextlib.contextmanager
def ends_within_patience(what, seconds=60.0):
    """The block ends by itself, and does not wait for ever. This says nothing of speed. A test that asks for less than
    20 s compares with a clock, and is marked so (tests/tools/test_clock.py)."""
    assert seconds >= 20, "so short a patience is a claim about speed"
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    if took >= seconds:
        pytest.fail(f"it took {took:.0f} s: {what}")


def wakes(pid, times):
    """Waits until a process has gone to sleep and woken so many times more. By then a process that looks repeatedly has
    looked. It has also done what it was going to do of itself."""

    def switches():
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[1])

    wanted = switches() + times
    wait_until(lambda: switches() >= wanted, f"process {pid} wakes {times} times")


def sleeps(pid):
    """Whether it waits for something now."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "S"


def waiting_in(pipe):
    """Bytes that came into a pipe or a socket and were not read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def side_by_side(act, directory, cases):
    """act(folder, *case) for all cases at once, in threads: of what waits most of the time."""
    folders = [directory / str(number) for number in range(len(cases))]
    for folder in folders:
        folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as threads:
        acts = [threads.submit(act, folder, *case) for folder, case in zip(folders, cases)]
    failed = [(case, error) for case, one in zip(cases, acts) if (error := one.exception())]
    if failed:
        pytest.fail("; ".join(f"{case}: {error!r}" for case, error in failed))


def fake_library(symbols="all"):
    """The fake libnvidia-ml.so.1 that exports what the driver `symbols` exports."""
    return BUILD / "fakes/nvml" / symbols / "libnvidia-ml.so.1"


class Terminal:
    """A pseudo-terminal of a given size, with what the program on it has printed."""

    def __init__(self, columns, rows=50):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.output = b""

    def settings(self):
        return termios.tcgetattr(self.slave)

    def read(self, timeout=0.01):
        while select.select([self.master], [], [], timeout)[0]:
            try:
                block = os.read(self.master, 65536)
            except OSError:
                break
            if not block:
                break
            self.output += block
            timeout = 0
        return self.output

    def type(self, text):
        os.write(self.master, text)

    def close(self):
        os.close(self.master)
        os.close(self.slave)


class Machine:
    """A machine (simulated by default) with its own ledger and records. Commands are typed in its folder: no run asks
    git of this repository's."""

    patience = 60  # how long one command may take, in seconds

    def __init__(self, directory, sim="server-8xh100"):
        self.directory = directory
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "XDG_STATE_HOME": str(directory / "state"),
            "BERTH_LEDGER": str(directory / "ledger"),
            # A server of root's reads the homes of all people, here of none.
            "BERTH_HOMES": str(directory / "nobodys-home"),
            "BERTH_ETC": str(directory / "etc"),  # the machine's own configuration is not read
            "BERTH_SERVE_SOCKET": str(directory / "serve.sock"),  # nor is its `berth serve` asked
        }
        if sim:
            self.env["BERTH_SIM"] = sim

    @property
    def ledger(self):
        """Where its leases are: a simulated server has a part of the ledger to itself."""
        directory, sim = pathlib.Path(self.env["BERTH_LEDGER"]), self.env.get("BERTH_SIM")
        return directory / f".new-sim-{sim}" if sim else directory

    def command(self, *words):
        return [BERTH, *map(str, words)]

    def environment(self, changes):
        env = self.env | changes
        return {name: value for name, value in env.items() if value is not None}

    def run(self, *words, timeout=None, **kwargs):
        env = self.environment(kwargs.pop("env", {}))
        if "stdin" not in kwargs and "input" not in kwargs:
            kwargs["stdin"] = subprocess.DEVNULL
        kwargs.setdefault("cwd", self.directory)
        return subprocess.run(
            self.command(*words), env=env, timeout=timeout or self.patience, text=True, capture_output=True, **kwargs
        )

    def start(self, *words, **kwargs):
        env = self.environment(kwargs.pop("env", {}))
        kwargs.setdefault("cwd", self.directory)
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(*words), env=env, text=True, **kwargs)

    def start_on(self, terminal, *words, env=None, stdin=None):
        """Starts it as the session leader of `terminal`, so that Ctrl-C typed there arrives."""

        def make_controlling():
            os.setsid()
            fcntl.ioctl(2, termios.TIOCSCTTY, 0)

        return subprocess.Popen(
            self.command(*words),
            cwd=self.directory,
            env=self.environment(env or {}),
            stdin=terminal.slave if stdin is None else stdin,
            stdout=terminal.slave,
            stderr=terminal.slave,
            preexec_fn=make_controlling,
        )

    def on_terminal(self, columns, *words, env=None, timeout=60):
        """(exit code, text as printed) of a run on a terminal `columns` wide."""
        terminal = Terminal(columns)
        try:
            process = self.start_on(terminal, *words, env=env)
            deadline = time.monotonic() + timeout
            while process.poll() is None:
                terminal.read()
                if time.monotonic() > deadline:
                    process.kill()
                    process.wait()
                    pytest.fail(f"{words} did not end in {timeout} s: {terminal.output!r}")
            terminal.read()
            return process.returncode, terminal.output.decode(errors="surrogateescape")
        finally:
            terminal.close()


FIRST_NAMESPACE = "pid:[4026531836]"


def skip_where_numbers_name_nobody(snapshot):
    """In a container a number of the driver's list is the host's: no living process here is known by it."""
    if os.readlink("/proc/self/ns/pid") == FIRST_NAMESPACE:
        return
    listed = {one["pid"] for one in snapshot.get("gpu_processes", [])}
    if any(pathlib.Path("/proc", str(pid)).exists() for pid in listed):
        pytest.skip("needs the whole machine's processes: in a container the driver's numbers name nobody")


class FakeDriver(Machine):
    """A machine whose devices are seen through the fake libnvidia-ml.so.1, by dlopen."""

    def __init__(self, directory, snapshot=None, symbols="all", faults=None):
        super().__init__(directory, sim=None)
        self.env["BERTH_NVML"] = str(fake_library(symbols))
        if not fake_library(symbols).exists():
            pytest.fail(f"{fake_library(symbols)} is missing: ninja fake_nvml")
        if snapshot is not None:
            skip_where_numbers_name_nobody(snapshot)
            played = directory / "played.json"
            played.write_text(json.dumps(snapshot), encoding="utf-8")
            self.env["BERTH_FAKE_NVML"] = str(played)
        if faults:
            self.env["BERTH_FAKE_NVML_FAULTS"] = faults

    def status_json(self, *words):
        done = self.run("status", "--json", *words)
        assert done.stdout, f"no JSON on stdout; exit {done.returncode}, stderr: {done.stderr}"
        return json.loads(done.stdout)


_scenarios = {}


def scenario(name):
    """The snapshot of a built-in scenario, as a fresh copy."""
    if name not in _scenarios:
        done = subprocess.run(
            [BERTH, "status", "--json", "--sim", name],
            env={"PATH": os.environ["PATH"], "BERTH_LEDGER": "/nonexistent/ledger"},
            capture_output=True,
            text=True,
            check=False,
        )
        _scenarios[name] = json.loads(done.stdout)
    return copy.deepcopy(_scenarios[name])


def many_devices(count):
    """A machine with `count` equal cards that do nothing."""
    snapshot = scenario("server-8xh100")
    model = next(d for d in snapshot["devices"] if d["index"] == 7)
    snapshot["gpu_processes"], snapshot["processes"] = [], []
    snapshot["devices"] = []
    for index in range(count):
        uuid = f"GPU-{index:08x}-0000-4000-8000-000000000000"
        address = f"00000000:{index + 1:02x}:00.0"
        snapshot["devices"].append(
            model
            | {"index": index, "id": uuid, "uuid": uuid, "pci_address": address}
            | {"minor_number": index}
        )
    return snapshot


ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")


def without_escapes(text):
    return ESCAPE.sub("", text).replace("\r", "")


def children(pid):
    """Pids whose parent is `pid`."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(entry))
    return found


def end(process):
    """Ends a process that a test started, whatever became of the test."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_of_roots_own():
    """A server of root without a state directory of its own leaves it for every test to come."""
    roots = pathlib.Path("/var/lib/berth")
    was_there = roots.exists()
    yield
    assert was_there or not roots.exists(), f"a test has left {roots} (or something else has, meanwhile)"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def machine_of(tmp_path):
    """machine_of("desktop"), machine_of(None) for the real one."""
    return lambda sim: Machine(tmp_path, sim)


@pytest.fixture
def driver_of(tmp_path):
    """driver_of(snapshot, symbols=…, faults=…): a machine behind the fake driver library."""
    return lambda snapshot=None, **how: FakeDriver(tmp_path, snapshot, **how)


@pytest.fixture
def berth_binary():
    return BERTH
