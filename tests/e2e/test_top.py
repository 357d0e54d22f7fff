"""The live view in a real terminal: keys sent to tmux, the screen captured."""

import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from conftest import BERTH, FakeDriver, Machine, children, end, many_devices, scenario, wait_until, wakes

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PROMPT = "READY>"


class Tmux:
    """A shell in a terminal of tmux's, with the environment of a machine."""

    def __init__(self, machine, columns=100, rows=30, **changes):
        # A socket's path is short, a test's directory is not.
        self.folder = tempfile.mkdtemp(prefix="berth-tmux-")
        self.env = machine.environment(
            {"TMUX_TMPDIR": self.folder, "TERM": "xterm-256color"} | changes
        )
        rc = pathlib.Path(self.folder, "rc")
        rc.write_text(f"PS1='{PROMPT}'\n", encoding="utf-8")
        self.call("-u", "-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows,
                  f"bash --rcfile {rc} -i")
        self.call("set-option", "-g", "escape-time", "0")
        self.until(PROMPT)

    def call(self, *words):
        done = subprocess.run(["tmux", *map(str, words)], env=self.env, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == 0, f"tmux {words}: {done.stderr}"
        return done.stdout

    def close(self):
        subprocess.run(["tmux", "kill-server"], env=self.env, capture_output=True, timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def type(self, text):
        self.call("send-keys", "-l", "--", text)

    def press(self, *names):
        self.call("send-keys", *names)

    def screen(self):
        return self.call("capture-pane", "-p")

    def flag(self, name):
        return self.call("display-message", "-p", "#{" + name + "}").strip()

    def resize(self, columns, rows):
        self.call("resize-window", "-x", columns, "-y", rows)

    def until(self, *texts, timeout=60):
        """Waits until the screen shows all of them; a callable is asked about the screen."""
        seen = ""

        def shown():
            nonlocal seen
            seen = self.screen()
            return all(text(seen) if callable(text) else text in seen for text in texts)

        deadline = time.monotonic() + timeout
        while not shown():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {timeout} s: {texts}\n{seen}")
            time.sleep(0.02)
        return seen

    def shell(self, command):
        self.type(command)
        self.press("Enter")

    def settings(self):
        """What stty says, the shell being at its prompt."""
        path = pathlib.Path(self.folder, "stty")
        path.unlink(missing_ok=True)
        self.shell(f"stty -a > {path}.new; mv {path}.new {path}")
        wait_until(path.exists, "stty has answered")
        return path.read_text(encoding="utf-8")

    def top(self, *words):
        self.shell(" ".join([str(BERTH), "top", *map(str, words)]))
        self.until("berth top")

    def pid(self):
        shell = int(self.call("display-message", "-p", "#{pane_pid}"))
        return wait_until(lambda: children(shell), "the shell runs something")[0]


@pytest.fixture
def terminal_of():
    """terminal_of(machine, columns, rows): a terminal on it, closed when the test ends."""
    opened = []

    def make(machine, *size, **changes):
        opened.append(Tmux(machine, *size, **changes))
        return opened[-1]

    yield make
    for terminal in opened:
        terminal.close()


def assert_given_back(terminal, settings):
    terminal.until(PROMPT)
    assert terminal.flag("alternate_on") == "0", "still on the other screen"
    assert terminal.flag("cursor_flag") == "1", "the cursor stays hidden"
    assert terminal.flag("mouse_any_flag") == "0", "mouse presses still become bytes"
    assert terminal.settings() == settings


def busy_machine(pids, count=4):
    snapshot = many_devices(count)
    snapshot["gpu_processes"] = [
        {"device": snapshot["devices"][i % count]["id"], "pid": pid, "type": "C",
         "memory_used_bytes": (i + 1) << 30}
        for i, pid in enumerate(pids)
    ]
    return snapshot


def test_the_picture_stands_and_q_gives_the_terminal_back(machine, terminal_of):
    terminal = terminal_of(machine)
    terminal.shell("echo what was there before")
    settings = terminal.settings()
    terminal.top()
    shown = terminal.until("SIMULATED", "alice", "H100", "COMMAND", "quit")
    assert len(shown.splitlines()) == 30
    terminal.type("q")
    terminal.until("what was there before")
    assert_given_back(terminal, settings)


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (250, 70)], ids=str)
def test_a_resized_terminal_is_filled(machine, terminal_of, size):
    terminal = terminal_of(machine)
    terminal.top()
    terminal.until("quit")
    terminal.resize(*size)
    shown = terminal.until(
        lambda text: len(text.splitlines()) == size[1],
        lambda text: text.splitlines()[-1].startswith("q quit"),
        lambda text: len(text.splitlines()[0]) == size[0],
        "alice",
    )
    if size[0] == 250:
        assert "temp" in shown, "no charts on a wall"


def test_keys_filter_sort_and_open_panels(machine, terminal_of):
    terminal = terminal_of(machine, 120, 40)
    terminal.top()
    terminal.until("alice", "bob")
    terminal.type("/bob")
    terminal.until("filter: bob", lambda text: "alice" not in text.partition("COMMAND")[2])
    terminal.press("Escape")
    terminal.until(lambda text: "alice" in text.partition("COMMAND")[2], "q quit")
    terminal.type("?")
    terminal.until("Keys", "send a signal")
    terminal.press("Escape")
    terminal.until("COMMAND")  # at once, Escape and l are Alt-l
    terminal.type("l")
    terminal.until("Leases and the waiting queue")
    terminal.type("q")
    terminal.until("COMMAND")
    terminal.type("s")
    terminal.until("SM%▼")
    terminal.press("Enter")
    terminal.until("Process", "device files")
    terminal.type("L")
    terminal.until("进程")


def test_it_speaks_chinese_and_ascii(machine, terminal_of):
    terminal = terminal_of(machine, 100, 30, BERTH_LANG="zh_CN")
    terminal.top()
    terminal.until("退出")
    terminal.type("q")
    terminal.until(PROMPT)
    ascii_terminal = terminal_of(machine, 100, 30, LANG="C")
    ascii_terminal.top()
    assert ascii_terminal.until("q quit").isascii()


def test_a_process_is_signalled_after_the_question(tmp_path, terminal_of):
    victim = subprocess.Popen(["sleep", "600"])
    other = subprocess.Popen(["sleep", "601"])
    try:
        terminal = terminal_of(FakeDriver(tmp_path, busy_machine([victim.pid, other.pid])))
        terminal.top()
        terminal.until("sleep 600", "sleep 601")
        terminal.type("/sleep 600")
        terminal.press("Enter")
        terminal.until(lambda text: "sleep 601" not in text)
        terminal.type("k")
        terminal.until("signal:")
        terminal.type("t")
        terminal.until(f"send TERM to process {victim.pid}", "y/n")
        terminal.type("n")
        terminal.until("nothing was done")
        assert victim.poll() is None
        terminal.type("zy")
        wait_until(lambda: state_of(victim.pid) == "T", "it is frozen")
        terminal.until(" T ")
        terminal.type("zy")
        wait_until(lambda: state_of(victim.pid) == "S", "it goes on")
        terminal.type("r")
        terminal.type("7")
        terminal.press("Enter")
        terminal.until("nice value", "y/n")
        terminal.type("y")
        wait_until(lambda: os.getpriority(os.PRIO_PROCESS, victim.pid) == 7, "it is nicer")
        terminal.type("kt")
        terminal.until("y/n")
        terminal.type("y")
        wait_until(lambda: victim.poll() is not None, "the process has ended")
        assert victim.returncode == -signal.SIGTERM
        assert other.poll() is None, "the wrong process was hit"
    finally:
        end(victim)
        end(other)


def state_of(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return stat.rpartition(")")[2].split()[0]


def test_details_tell_names_but_no_values_of_the_environment(tmp_path, terminal_of):
    job = subprocess.Popen(["sleep", "600"], env={"SECRET_TOKEN": "hunter2", "PATH": "/bin:/usr/bin"})
    try:
        terminal = terminal_of(FakeDriver(tmp_path, busy_machine([job.pid])), 100, 50)
        terminal.top()
        terminal.until("sleep 600")
        terminal.press("Enter")
        shown = terminal.until("environment", "SECRET_TOKEN", "device files")
        assert "hunter2" not in shown
    finally:
        end(job)


def test_a_command_full_of_escape_sequences_arrives_harmless(tmp_path, terminal_of):
    job = subprocess.Popen(["bash", "-c", "exec -a $'\\e[2J\\e]0;owned\\a\\x9b31mevil' sleep 600"])
    try:
        terminal = terminal_of(FakeDriver(tmp_path, busy_machine([job.pid])), 160, 30)
        terminal.top()
        shown = terminal.until("evil")
        assert "\\x1B[2J" in shown
        assert terminal.flag("pane_title") != "owned"
    finally:
        end(job)


def seconds_of_keys(terminal, count=40):
    """How long so many keys take, each until the screen shows what it does."""
    began = time.monotonic()
    for place in range(count):
        key, shows = [("?", "Keys"), ("l", "Leases and"), ("!", "What is wrong"), ("q", "COMMAND")][place % 4]
        terminal.type(key)
        terminal.until(shows)
    return time.monotonic() - began


def test_a_driver_that_hangs_does_not_freeze_the_keys(tmp_path, terminal_of):
    faults = tmp_path / "faults"
    faults.write_text("", encoding="utf-8")
    driver = FakeDriver(tmp_path, many_devices(4), faults=f"@{faults}")
    terminal = terminal_of(driver)
    terminal.top("-d", "100ms")
    terminal.until("every 100 ms", lambda text: text.count("H100") >= 4)
    well = seconds_of_keys(terminal)
    faults.write_text("nvmlDeviceGetPowerUsage@1=hang;nvmlDeviceGetPowerUsage@2=hang",
                      encoding="utf-8")
    hung = seconds_of_keys(terminal)
    terminal.until("the driver does not answer since", "it does not answer", timeout=30)
    hung += seconds_of_keys(terminal)
    # The machine is as slow now as it was before. If the keys waited for each look, a second of every 1.1 would be
    # lost. 80 keys would take eleven times as long, or a second each.
    assert hung < 3 * (2 * well) + 2, f"80 keys in {hung:.1f} s, 40 of a driver that answers in {well:.1f} s"
    shown = terminal.screen()
    assert shown.count("it does not answer") >= 2, shown
    assert terminal.until("°C").count("°C") >= 2, "the other devices are shown on"
    terminal.type("q")
    terminal.until(PROMPT)


def play(driver, snapshot):
    """Changes the machine that a running driver plays."""
    path = pathlib.Path(driver.env["BERTH_FAKE_NVML"])
    path.with_suffix(".new").write_text(json.dumps(snapshot), encoding="utf-8")
    path.with_suffix(".new").rename(path)


def test_mig_is_set_up_anew_while_somebody_looks(tmp_path):
    divided = scenario("h100-mig")
    whole = copy.deepcopy(divided)
    whole["devices"] = whole["devices"][:1]
    whole["devices"][0] |= {"mig_mode": False, "utilization_gpu_percent": 37}
    whole["gpu_processes"] = []
    driver = FakeDriver(tmp_path, divided)
    driver.env["BERTH_FAKE_NVML_LIVE"] = "1"
    tape = tmp_path / "tape"
    watcher = subprocess.Popen([BERTH, "record", "-d", "200ms", str(tape)],
                               env=driver.environment({}), stderr=subprocess.DEVNULL)

    def newest():
        lines = tape.read_text(encoding="utf-8").splitlines() if tape.exists() else []
        whole_lines = [line for line in lines if line.endswith("}")]
        return json.loads(whole_lines[-1])["devices"] if whole_lines else []

    try:
        for _ in range(2):
            wait_until(lambda: len(newest()) == 5, "the card and its four instances are seen")
            play(driver, whole)
            card = wait_until(lambda: len(newest()) == 1 and newest()[0], "the card alone is seen")
            assert card["utilization_gpu_percent"] == 37, "not supported is not believed for ever"
            play(driver, divided)
        wait_until(lambda: len(newest()) == 5, "the instances are back")
    finally:
        end(watcher)


def test_mig_is_set_up_anew_under_an_open_top(tmp_path, terminal_of):
    divided = scenario("h100-mig")
    whole = copy.deepcopy(divided)
    whole["devices"] = whole["devices"][:1]
    whole["devices"][0] |= {"mig_mode": False, "utilization_gpu_percent": 37}
    whole["gpu_processes"] = []
    driver = FakeDriver(tmp_path, divided)
    driver.env["BERTH_FAKE_NVML_LIVE"] = "1"
    terminal = terminal_of(driver, 140, 40)
    terminal.top("-d", "200ms")
    pids = [str(process["pid"]) for process in divided["gpu_processes"]]
    profiles = [device["name"].split("MIG ")[1] for device in divided["devices"][1:]]

    def instances(screen):
        return sum(" MIG " in line for line in screen.splitlines())

    for _ in range(2):
        screen = terminal.until(lambda text: instances(text) == len(profiles), *pids)
        assert any(profile[:2] in screen for profile in profiles)
        terminal.press("Down")  # the cursor is on a process of an instance that goes
        play(driver, whole)
        screen = terminal.until("37%", lambda text: instances(text) == 0, "no process uses a GPU")
        assert not [pid for pid in pids if f" {pid} " in screen]
        terminal.press("Enter")  # nothing is selected: nothing is opened, and the keys go on
        play(driver, divided)
    terminal.until(lambda text: instances(text) == len(profiles), *pids)
    terminal.type("q")
    terminal.until(PROMPT)


def test_the_mouse_selects_opens_and_sorts(tmp_path, terminal_of):
    pids = [4711001 + i for i in range(4)]
    terminal = terminal_of(FakeDriver(tmp_path, busy_machine(pids)), 120, 40)
    terminal.top("-d", "60s")
    terminal.until(*map(str, pids))
    assert terminal.flag("mouse_any_flag") == "1", "no press would arrive"

    def place_of(text):
        lines = terminal.screen().splitlines()
        row = next(i for i, line in enumerate(lines) if text in line)
        return lines[row].index(text) + 2, row + 1  # inside the word, counted from 1

    def press(text):
        column, row = place_of(text)
        terminal.type(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")

    def order():
        found = [line.split()[1] for line in terminal.screen().splitlines() if "4711" in line]
        return [int(word) for word in found]

    first = order()
    assert sorted(first) == pids
    wanted = str(first[2])
    press(wanted)  # selects
    terminal.until(lambda text: "device files" not in text)
    press(wanted)  # again: opens what it selected
    terminal.until("Process", f"pid             {wanted}")
    terminal.press("Escape")
    terminal.until(lambda text: "pid             " not in text)
    press("GPU MEM")
    terminal.until("GPU MEM▼")
    most_first = [pids[3], pids[2], pids[1], pids[0]]
    wait_until(lambda: order() == most_first, "who holds most stands first")
    press("GPU MEM")
    terminal.until("GPU MEM▲")
    wait_until(lambda: order() == pids, "and then last")
    terminal.type("q")
    terminal.until(PROMPT)


def test_the_driver_is_reloaded_and_devices_come_and_go(tmp_path, terminal_of):
    faults = tmp_path / "faults"
    faults.write_text("", encoding="utf-8")
    driver = FakeDriver(tmp_path, many_devices(2), faults=f"@{faults}")
    terminal = terminal_of(driver, 120, 40)
    terminal.top("-d", "300ms")
    terminal.until("every 300 ms", lambda text: text.count("H100") >= 2)
    # The module is gone: nothing of the library's answers, and initialising it fails.
    faults.write_text("nvmlDeviceGetCount_v2=1;nvmlInit_v2=9", encoding="utf-8")
    terminal.until("Driver Not Loaded")
    terminal.type("?")
    terminal.until("Keys", timeout=60)
    terminal.press("Escape")
    # A newer one comes back, with three cards more.
    newer = many_devices(5)
    newer["host"]["driver_version"] = "610.10"
    play(driver, newer)
    faults.write_text("", encoding="utf-8")
    terminal.until("610.10", lambda text: text.count("H100") >= 5,
                   lambda text: "Driver Not Loaded" not in text)
    terminal.type("q")
    terminal.until(PROMPT)


def test_a_library_that_never_starts_leaves_the_keys_alive(tmp_path, terminal_of):
    driver = FakeDriver(tmp_path, many_devices(1), faults="nvmlInit_v2=hang")
    terminal = terminal_of(driver)
    terminal.top()
    terminal.type("?")
    terminal.until("Keys", timeout=60)
    terminal.until("the driver does not answer since", timeout=30)
    terminal.type("qq")
    terminal.until(PROMPT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV,
                                    signal.SIGABRT], ids=str)
def test_the_terminal_is_given_back_however_it_ends(machine, terminal_of, number):
    terminal = terminal_of(machine)
    settings = terminal.settings()
    terminal.top()
    terminal.until("quit")
    assert terminal.flag("alternate_on") == "1"
    pid = terminal.pid()
    os.kill(pid, number)
    wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "it has ended")
    assert_given_back(terminal, settings)


def test_it_stops_and_goes_on_like_any_job(machine, terminal_of):
    terminal = terminal_of(machine)
    settings = terminal.settings()
    terminal.top()
    terminal.until("quit")
    terminal.press("C-z")
    terminal.until("Stopped")
    assert_given_back(terminal, settings)
    terminal.shell("fg")
    terminal.until("quit", "alice")
    os.kill(terminal.pid(), signal.SIGTSTP)
    terminal.until("Stopped")
    terminal.shell("fg")
    terminal.until("quit")
    terminal.type("q")
    assert_given_back(terminal, settings)


def test_without_a_terminal_it_says_what_to_use(machine):
    done = machine.run("top")
    assert done.returncode == 2
    assert "terminal" in done.stderr and "berth status -w" in done.stderr


@pytest.mark.parametrize("words", [["--theme", "pink"], ["--sort", "beauty"], ["--speed", "0"],
                                   ["-d", "often"]], ids=" ".join)
def test_mistaken_options_are_named(machine, words):
    code, printed = machine.on_terminal(80, "top", *words)
    assert code == 2
    assert words[1] in printed or words[0] in printed


def test_a_paused_picture_stands_still_and_then_shows_what_came_meanwhile(machine, terminal_of):
    terminal = terminal_of(machine, 120, 40)  # simulated: every look differs
    terminal.top("-d", "100ms")
    terminal.until("alice")
    terminal.type("p")
    terminal.until("paused")
    time.sleep(0.2)  # until all of that picture is on the screen
    paused = terminal.screen()
    wakes(terminal.pid(), 20)
    assert terminal.screen() == paused
    terminal.type("-------")  # a minute between looks: what is shown then came before
    terminal.type("p")
    shown = terminal.until("every 60 s")
    assert shown.splitlines()[1:] != paused.splitlines()[1:]


def test_a_recording_is_made_and_replayed(machine, terminal_of, tmp_path):
    tape = tmp_path / "tape.jsonl"
    done = machine.run("record", tape, "-d", "100ms", "--for", "1s")
    assert done.returncode == 0, done.stderr
    lines = tape.read_text(encoding="utf-8").splitlines()
    assert 3 <= len(lines) <= 11
    times = [json.loads(line)["taken_unix_ms"] for line in lines]
    assert times == sorted(times) and times[-1] - times[0] >= 300
    terminal = terminal_of(Machine(tmp_path, sim=None))
    terminal.top("--replay", tape, "--speed", "0.125")
    terminal.until(f"/{len(lines)}", "alice")
    terminal.type("p")
    terminal.until("paused")
    terminal.type("[[")
    terminal.until(f" 1/{len(lines)}")
    terminal.type("]")
    terminal.until(f"{min(11, len(lines))}/{len(lines)}")
    terminal.type(",")
    terminal.until(f"{min(11, len(lines)) - 1}/{len(lines)}")
    terminal.type("kt")
    terminal.until("a recording: nobody can be signalled in it")
    terminal.type("p")
    terminal.until(f"{len(lines)}/{len(lines)}")


def test_a_damaged_line_of_a_recording_is_played_as_no_empty_machine(machine, terminal_of, tmp_path):
    tape = tmp_path / "tape.jsonl"
    machine.run("record", tape, "-d", "100ms", "--for", "1s")
    whole = tape.read_text(encoding="utf-8").splitlines()[:3]
    assert len(whole) == 3
    tape.write_text("\n".join([whole[0], whole[1][:3000], whole[2]]) + "\n", encoding="utf-8")
    terminal = terminal_of(Machine(tmp_path, sim=None))
    terminal.top("--replay", tape, "--speed", "0.125")
    terminal.type("p")
    terminal.until("paused")
    terminal.type("[[")
    terminal.until(" 1/3", "alice", lambda screen: "can be read" not in screen)
    terminal.type(".")
    terminal.until(" 2/3", "alice", "H100", "the nearest line that can be read is shown: ")
    terminal.type(".")
    terminal.until(" 3/3", "alice", lambda screen: "can be read" not in screen)


def test_a_recording_is_not_overwritten_but_appended_to(machine, tmp_path):
    tape = tmp_path / "tape.jsonl"
    assert machine.run("record", tape, "-d", "100ms", "--for", "100ms").returncode == 0
    first = tape.read_text(encoding="utf-8")
    again = machine.run("record", tape, "--for", "100ms")
    assert again.returncode == 1 and "--append" in again.stderr
    assert tape.read_text(encoding="utf-8") == first
    assert machine.run("record", tape, "--append", "-d", "100ms", "--for", "100ms").returncode == 0
    assert tape.read_text(encoding="utf-8").startswith(first)
    assert len(tape.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize("cut", [None, 300])
def test_nothing_is_added_to_what_is_no_whole_recording(machine, tmp_path, cut):
    tape = tmp_path / "tape"
    if cut:
        assert machine.run("record", tape, "-d", "100ms", "--for", "100ms").returncode == 0
    tape.write_text(tape.read_text(encoding="utf-8")[:cut] if cut else "my notes\n", encoding="utf-8")
    before = tape.read_text(encoding="utf-8")
    refused = machine.run("record", tape, "--append", "--for", "100ms")
    assert refused.returncode == 1 and "nothing was added" in refused.stderr
    assert tape.read_text(encoding="utf-8") == before


def test_recording_ends_on_ctrl_c_with_whole_lines(machine, tmp_path):
    tape = tmp_path / "tape.jsonl"
    process = machine.start("record", tape, "-d", "100ms")
    try:
        wait_until(lambda: tape.exists() and tape.read_text(encoding="utf-8").count("\n") >= 2,
                   "two snapshots")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        for line in tape.read_text(encoding="utf-8").splitlines():
            json.loads(line)
    finally:
        end(process)


def test_a_full_disk_is_reported(machine):
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = machine.start("record", "-", "--for", "100ms", stdout=full)
        assert process.wait(timeout=60) == 1
        assert "No space left" in process.stderr.read()
