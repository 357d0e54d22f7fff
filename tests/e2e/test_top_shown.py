"""What `berth top` shows: its options, a process's device files, who holds and who waits, how a recording runs."""

import json
import os
import pwd
import re
import shutil
import subprocess

import pytest
from aftermath import leases, queue, show
from conftest import FakeDriver, Machine, children, end, many_devices, wait_until
from test_reserved import a_queue
from test_run_life import holding
from test_top import PROMPT, busy_machine, terminal_of  # noqa: F401  (terminal_of is a fixture)

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def rows(screen):
    """The lines of the table of processes, below its head."""
    lines = screen.splitlines()
    head = next(place for place, line in enumerate(lines) if "COMMAND" in line)
    return [line for line in lines[head + 1 :] if re.match(r"[ *]+\d", line)]


def pids_in(screen):
    return [int(row.split()[1]) for row in rows(screen)]


def head(screen):
    return next(line for line in screen.splitlines() if "COMMAND" in line)


def left(terminal):
    terminal.type("q")
    terminal.until(PROMPT)


# --- options -----------------------------------------------------------------------------------------


def test_u_shows_one_users_processes_alone(machine, terminal_of):  # noqa: F811
    terminal = terminal_of(machine, 120, 40)
    terminal.top("-u", "bob")
    screen = terminal.until("ipykernel_launcher")
    assert [row.split()[2] for row in rows(screen)] == ["bob"]
    assert "user bob" in head(screen), "a part is not to be taken for the whole"
    left(terminal)
    terminal.top("--user", "carol")
    assert rows(terminal.until("no process passes the filter")) == []


def test_i_shows_one_device_and_its_processes_alone(machine, terminal_of):  # noqa: F811
    terminal = terminal_of(machine, 120, 40)
    terminal.top()
    terminal.until(lambda text: text.count("H100") == 8, "alice", "bob")
    left(terminal)
    terminal.top("-i", "2")
    screen = terminal.until(lambda text: text.count("H100") == 1, "bob")
    assert [row.split()[:3] for row in rows(screen)] == [["2", "30417", "bob"]]
    assert "GPU 2" in head(screen)
    left(terminal)
    terminal.top("--id", "0,1")
    screen = terminal.until(lambda text: text.count("H100") == 2, "alice")
    assert [row.split()[0] for row in rows(screen)] == ["0", "1"]


@pytest.mark.parametrize("devices", ["nosuch", "1,nosuch"])
def test_i_of_a_device_that_is_not_there_is_refused(machine, terminal_of, devices):  # noqa: F811
    terminal = terminal_of(machine, 120, 40)
    terminal.top("-i", devices)
    screen = terminal.until('no device matches "nosuch"; there are: 0 1 2', PROMPT)
    assert "H100" not in screen
    terminal.shell("echo ended with $?")
    terminal.until("ended with 1")


@pytest.mark.parametrize(("columns", "order", "heads"), [
    ("memory,device", [3, 2, 4, 1], ["GPU▲", "GPU MEM▼"]),
    ("device,memory", [4, 3, 2, 1], ["GPU▲", "GPU MEM▼"]),
    ("memory", [2, 3, 1, 4], ["GPU MEM▼"]),
    ("pid", [1, 2, 3, 4], ["PID▲"]),
])  # fmt: skip
def test_s_sorts_by_the_first_column_and_then_the_next(tmp_path, terminal_of, columns, order, heads):  # noqa: F811
    """Four processes, the first on the last device, the middle two with the most memory."""
    pids = [4711001, 4711002, 4711003, 4711004]
    snapshot = busy_machine(list(reversed(pids)))
    for process in snapshot["gpu_processes"]:
        process["memory_used_bytes"] = (2 if process["pid"] in pids[1:3] else 1) << 30
    terminal = terminal_of(FakeDriver(tmp_path, snapshot), 120, 40)
    terminal.top("-s", columns)
    screen = terminal.until(*map(str, pids))
    assert [pid - 4711000 for pid in pids_in(screen)] == order
    sorted_by = re.findall(r"(?:GPU )?\S+[▼▲]", head(screen))
    assert sorted(sorted_by) == sorted(heads)


def test_t_puts_children_under_their_parents(tmp_path, terminal_of):  # noqa: F811
    parent = subprocess.Popen(["sh", "-c", "sleep 600; true"])
    try:
        child = wait_until(lambda: children(parent.pid), "the shell has started its sleep")[0]
        snapshot = busy_machine([parent.pid, child], count=1)  # the child has more memory
        terminal = terminal_of(FakeDriver(tmp_path, snapshot), 120, 40)
        terminal.top("-s", "memory")
        screen = terminal.until(f" {parent.pid} ", f" {child} ", "sleep 600")
        assert pids_in(screen) == [child, parent.pid] and "└" not in screen
        terminal.type("t")
        assert pids_in(terminal.until("└ sleep 600")) == [parent.pid, child]
        terminal.type("t")
        terminal.until(" sleep 600", lambda text: "└" not in text)
        left(terminal)
        terminal.top("-s", "memory", "-t")
        screen = terminal.until(f" {parent.pid} ", f" {child} ", "sleep 600")
        assert pids_in(screen) == [parent.pid, child]
        assert "└ sleep 600" in rows(screen)[1]
    finally:
        for pid in children(parent.pid):
            os.kill(pid, 9)
        end(parent)


def colours_on(terminal):
    """{the colour of letters or of their ground: a place that has it}, as SGR numbers."""
    found = {}
    text = terminal.call("capture-pane", "-p", "-e")
    for place in re.finditer(r"\x1b\[([0-9;]*)m([^\x1b]*)", text):
        for number in filter(None, place[1].split(";")):
            if 30 <= int(number) <= 49 and int(number) not in (39, 49) or 90 <= int(number) <= 107:
                found.setdefault(int(number), place[2].strip())
    return found


RED, GREEN, YELLOW, BLUE, CYAN, WHITE = 31, 32, 33, 34, 36, 37


@pytest.mark.parametrize(("theme", "title", "never"), [
    ("dark", CYAN, {BLUE}),
    ("light", BLUE, {YELLOW, CYAN, YELLOW + 60, CYAN + 60, WHITE + 60}),  # they vanish on a white ground
    ("colour-blind", CYAN + 60, {RED, GREEN, RED + 60, GREEN + 60}),
    ("mono", None, set(range(30, 108))),
])  # fmt: skip
def test_a_theme_has_its_colours_and_no_others(machine, terminal_of, theme, title, never):  # noqa: F811
    terminal = terminal_of(machine, 120, 40)
    terminal.top("--theme", theme)
    terminal.until("alice", "COMMAND", "quit")
    colours = colours_on(terminal)
    assert colours.get(title, "berth top") == "berth top"
    assert (title in colours) is (title is not None)
    assert not never & colours.keys(), colours


# --- panels ------------------------------------------------------------------------------------------

# A /dev of its own, with files that are called like a card's. One is open twice, and one file is no device.
DEVICES_OPEN = """
mount -t tmpfs none /dev && : > /dev/nvidia0 && : > /dev/nvidia1 && : > /dev/nvidiactl || exit 9
exec sleep 600 3< /dev/nvidia1 4< /dev/nvidiactl 5< /dev/nvidia1 6< /etc/passwd
"""


@pytest.fixture
def opener():
    """A process that has the files of device 1 open, and not that of device 0."""
    as_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    process = subprocess.Popen(["unshare", *as_user, "--mount", "sh", "-c", DEVICES_OPEN], stderr=subprocess.PIPE)

    def is_open():
        try:
            with open(f"/proc/{process.pid}/comm", encoding="utf-8") as file:
                return file.read() == "sleep\n"
        except OSError:
            return False

    try:
        wait_until(lambda: is_open() or process.poll() is not None, "it has the files open")
        if process.poll() is not None:
            pytest.skip(f"no /dev of one's own here: {process.stderr.read().decode().strip()}")
        yield process
    finally:
        end(process)
        process.stderr.close()


def test_details_list_the_device_files_that_a_process_has_open(tmp_path, terminal_of, opener):  # noqa: F811
    other = subprocess.Popen(["sleep", "601"], stdin=subprocess.DEVNULL)
    try:
        terminal = terminal_of(FakeDriver(tmp_path, busy_machine([opener.pid, other.pid])), 120, 50)
        terminal.top("-s", "device")
        terminal.until("sleep 600", "sleep 601")
        terminal.press("Enter")
        screen = terminal.until(f"pid             {opener.pid}", "device files")
        [files] = [line for line in screen.splitlines() if line.startswith("device files")]
        assert files.split()[2:] == ["/dev/nvidia1", "/dev/nvidiactl"]
        assert "/etc/passwd" not in screen
        terminal.press("Escape")
        terminal.until("COMMAND")
        terminal.press("Down")
        terminal.press("Enter")
        screen = terminal.until(f"pid             {other.pid}", "device files")
        [files] = [line for line in screen.splitlines() if line.startswith("device files")]
        assert files.split()[2:] == ["none"]
    finally:
        end(other)


def waiting_run(machine, place, *command):
    """A run that waits for device 3, `place` in the queue."""
    process = machine.start("run", "-q", "--wait=1h", "--only", "3", "--", *command)
    wait_until(lambda: len(queue(machine)) == place, f"{command} waits")
    return process


def test_the_panel_of_leases_names_who_holds_and_who_waits(machine, terminal_of):  # noqa: F811
    started = [holding(machine, 601)]
    try:
        started += [waiting_run(machine, place, "sleep", str(601 + place)) for place in (1, 2)]
        [lease] = leases(machine)
        waiting = [one["run"] for one in queue(machine)]
        user = pwd.getpwuid(os.getuid()).pw_name
        terminal = terminal_of(machine, 120, 40)
        terminal.top("-d", "200ms")
        terminal.type("l")
        screen = terminal.until("Leases and the waiting queue", "sleep 601", "sleep 602", "sleep 603")
        assert re.search(rf"""^{user} has GPU 3 \(whole\) for \S+ *
  {lease["run"]} +sleep 601 *
 *
1\. {user} waits since \S+ for .*
  {waiting[0]} +sleep 602 *
2\. {user} waits since \S+ for .*
  {waiting[1]} +sleep 603 *$""", screen, re.M), screen
        # The first in the queue gives up, then the holder ends: the second has what it waited for.
        for place in (1, 0):
            started[place].terminate()
            started[place].communicate(timeout=60)
        terminal.until(re.compile(rf"^{user} has GPU 3 .*\n  \S+ +sleep 603 *\n *\nnobody waits", re.M).search)
        wait_until(lambda: show(machine)["job"], "its job has been started")
    finally:
        for process in reversed(started):  # who waits first, so that nobody gets the device now
            process.terminate()
            process.communicate(timeout=60)


def test_the_rows_of_gpus_name_state_holder_and_run(machine, terminal_of):  # noqa: F811
    with a_queue(machine):
        terminal = terminal_of(machine, 200, 50)
        terminal.top()
        screen = terminal.until("RUN", "reserved", "leased")
        top = screen.partition("COMMAND")[0].splitlines()
        user = pwd.getpwuid(os.getuid()).pw_name
        of_gpu = {row.split()[0].rstrip("*"): row for row in top if re.match(r"[ │]*\d+\*? +H100", row)}
        assert sorted(of_gpu) == [str(index) for index in range(8)], screen
        [lease] = leases(machine)
        run = lease["run"].rpartition("-")[2]
        assert re.search(rf" leased +{user} +{run}\b", of_gpu["3"]), screen
        for index in "4567":
            assert re.search(rf" reserved +→{user}\b", of_gpu[index]), screen
            assert run not in of_gpu[index]
        assert re.search(r" busy +alice", of_gpu["0"]) and re.search(r" held ", of_gpu["2"]), screen


# --- a recording -------------------------------------------------------------------------------------


def clock_of(screen):
    """The seconds of the day in the title: when what is shown was recorded."""
    hours, minutes, seconds = re.search(r"(\d\d):(\d\d):(\d\d)\s*$", screen.splitlines()[0]).groups()
    return (int(hours) * 60 + int(minutes)) * 60 + int(seconds)


def test_a_recording_runs_as_fast_as_speed_says(tmp_path, terminal_of):  # noqa: F811
    noon = 1_790_856_000_000
    snapshot = many_devices(1)
    tape = tmp_path / "tape.jsonl"
    tape.write_text("".join(json.dumps(snapshot | {"taken_unix_ms": noon + 1000 * second}) + "\n"
                            for second in range(120)), encoding="utf-8")
    nowhere = Machine(tmp_path, sim=None)
    nowhere.env["TZ"] = "UTC"
    slow, fast = terminal_of(nowhere), terminal_of(nowhere)
    slow.top("--replay", tape, "--speed", "0.5")
    first = clock_of(slow.until("speed 0.5 "))
    assert first % 60 < 5, "it begins at its beginning"
    # Started later, it would be behind, were both as fast.
    fast.top("--replay", tape, "--speed", "4")
    fast.until("speed 4 ")
    screen = slow.until(lambda text: clock_of(text) >= first + 3, timeout=60)
    come, further = clock_of(screen) - first, clock_of(fast.screen()) - first
    assert further >= 2 * come, f"{come} s of the recording at half its speed, {further} s at four times"
