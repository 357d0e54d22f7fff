"""`berth demo`: the whole tour, and that nothing of it is left behind, however it is ended."""

import json
import os
import pathlib
import pwd
import re
import shlex
import signal
import subprocess
import time

import pytest
from conftest import ROOT, Machine, Terminal, end, many_devices, wait_until

SECTIONS = [
    "1. Every device", "2. Two jobs", "3. A third wants", "4. What ran", "5. A job that dies", "That was a simulation."
]  # fmt: skip
LONGEST = 60  # seconds; it takes eight
LONGEST_UNDISTURBED = 20  # seconds, of the quickest of some: others may be at work on the machine


class Demo:
    """A machine without a device, and a place for what the demonstration makes."""

    def __init__(self, directory):
        self.machine = Machine(directory, sim=None)
        self.temporary = directory / "tmp"
        self.temporary.mkdir()
        self.machine.env |= {"TMPDIR": str(self.temporary), "BERTH_NVML": "/nonexistent/libnvidia-ml.so.1"}

    def scratch(self):
        return list(self.temporary.iterdir())

    def keepers(self):
        """Processes that have the demonstration's own ledger: its jobs, and what keeps them."""
        found = []
        for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"BERTH_LEDGER={self.temporary}/".encode() in environment.read_bytes():
                    found.append(int(environment.parent.name))
            except OSError:
                pass
        return found

    def nothing_is_left(self):
        wait_until(lambda: not self.keepers(), "what the demonstration started has ended", 10)
        assert self.scratch() == []
        assert not (self.machine.directory / "state").exists()
        assert not (self.machine.directory / "ledger").exists()


def month_in(demo):
    """Whether the server of four weeks writes its history there."""
    found = "*/berth/history-sim-month-8xh100.sqlite"
    return wait_until(lambda: list(demo.temporary.glob(found)), "a history is kept", 20)


def answers_of(said):
    """What each step answered, one line each, after the verb that it was asked."""
    steps = [step.partition("\n") for step in said.split("$ berth ")[1:]]
    return [(asked.split()[0], " ".join(answer.split())) for asked, _, answer in steps]


def whole_tour(machine, **how):
    """(stdout and stderr as a person sees them, exit code)"""
    process = machine.start("demo", stderr=subprocess.STDOUT, **how)
    try:
        return process.communicate(timeout=LONGEST)[0], process.returncode
    finally:
        end(process)


@pytest.fixture
def demo(tmp_path):
    return Demo(tmp_path)


def test_the_tour_shows_each_section_and_calls_each_answer_simulated(demo):
    said, code = whole_tour(demo.machine)
    assert code == 0, said
    places = [said.find(section) for section in SECTIONS]
    assert -1 not in places and places == sorted(places), said
    answers = said.split("$ berth ")[1:]
    assert len(answers) == 11
    for answer in answers:
        assert "SIMULATED" in answer, f"it looks like a real machine: berth {answer}"
    assert "the job sees 4,5,6,7" in said
    demo.nothing_is_left()


@pytest.mark.parametrize(
    ("sim", "devices"), [("mi300x-8", "ROCR_VISIBLE_DEVICES"), ("ascend-910b-8", "ASCEND_RT_VISIBLE_DEVICES")]
)
def test_a_job_of_another_maker_says_by_its_own_variable_what_it_sees(demo, sim, devices):
    """What the caller's shell says of devices is not for this server."""
    said, code = whole_tour(demo.machine, env={"BERTH_SIM": sim, devices: "0", "HIP_VISIBLE_DEVICES": "0"})
    assert code == 0, said
    assert f"the job sees ${devices}" in said and re.search(r"the job sees \d(,\d){3}\n", said), said
    demo.nothing_is_left()
    # And the device that it explains is one that somebody is on.
    [number] = re.findall(r"^\$ berth explain (\d+) --seconds", said, re.M)
    snapshot = json.loads((ROOT / f"src/probe/sim/scenarios/{sim}.json").read_text(encoding="utf-8"))
    [device] = [one for one in snapshot["devices"] if str(one["index"]) == number]
    assert any(use["device"] == device["id"] for use in snapshot["gpu_processes"]), number


def test_where_there_are_several_makers_the_jobs_say_whose_device_they_want(demo):
    said, code = whole_tour(demo.machine, env={"BERTH_SIM": "arc-mixed"})
    assert code == 0 and "the job sees 0" in said, said
    assert "several kinds of devices" not in said and "there is no run" not in said, said


def test_the_tour_is_over_in_twenty_seconds(demo):
    took = []
    while len(took) < 3 and all(one >= LONGEST_UNDISTURBED for one in took):
        began = time.monotonic()
        assert whole_tour(demo.machine)[1] == 0
        took.append(time.monotonic() - began)
    assert min(took) < LONGEST_UNDISTURBED, took
    demo.nothing_is_left()


def test_the_third_job_says_for_whom_it_waits_and_the_records_how_each_ended(demo):
    said, code = whole_tour(demo.machine)
    assert code == 0, said
    answers = answers_of(said)
    assert [verb for verb, _ in answers] == ["status", "run", "run", "leases", "run", "runs", "show",
                                               "run", "wait", "explain", "explain"], said  # fmt: skip
    started = [re.search(r"run (\S+) on GPU ([\d, ]+)", answer)[1] for verb, answer in answers[:7] if verb == "run"]
    assert len(set(started)) == 3, said

    waiting, begun = answers[4][1].split("berth: run ")
    assert waiting.startswith("SIMULATED server-8xh100 waiting, next in the queue GPU 0 "), waiting
    user = re.escape(pwd.getpwuid(os.geteuid()).pw_name)
    held = rf"GPU 4-7 H100 80GB HBM3 leased to {user} since \d\d:\d\d \(sh -c 'sleep 4', pid \d+\)"
    assert re.search(held, waiting), f"who has these four is not said: {waiting}"
    shared = rf"GPU 3 H100 80GB HBM3 leased: 10\.0 GiB promised, and it is wanted whole: {user} since"
    assert re.search(shared, waiting), waiting
    assert re.match(r"\S+ on GPU 4, 5, 6, 7, after waiting [1-9]\d*s ", begun), begun

    records = answers[5][1]
    for run, devices in zip(started, ["4,5,6,7", "3", "4,5,6,7"]):
        row = rf"{run} \d\d:\d\d \d+s ended with 0 {devices} \d+% [\d.]+G sh -c '"
        assert re.search(row, records), f"{run} is not listed with how it ended: {records}"
    assert re.match(rf"SIMULATED server-8xh100 {started[2]} ended with 0 after \d+s ", answers[6][1]), answers[6]


def test_it_explains_why_a_job_died_and_why_a_gpu_idles(demo):
    said, code = whole_tour(demo.machine)
    assert code == 0, said
    (_, died), (_, idles) = answers_of(said)[-2:]
    assert "out of GPU memory" in died and "the GPU's memory was used up" in died, died
    assert "memory of the GPU is held, and nothing computes" in idles, idles


def test_the_tour_speaks_the_language_it_is_asked_for(demo):
    process = demo.machine.start("demo", "--lang", "zh_CN", "--sim", "desktop", stderr=subprocess.STDOUT)
    try:
        read = ""
        while "GPU 0" not in read and "desktop" not in read:
            line = process.stdout.readline()
            assert line, read
            read += line
        assert "SIMULATED desktop  1 个设备" in read, read
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONGEST)
    demo.nothing_is_left()


@pytest.mark.parametrize("lines", [1, 14, 30])
def test_a_reader_that_goes_away_leaves_nothing_behind(demo, lines):
    command = shlex.join(demo.machine.command("demo"))
    script = f"{command} | head -{lines}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], env=demo.machine.env, capture_output=True, text=True, timeout=LONGEST
    )
    assert len(done.stdout.splitlines()) == lines
    assert done.returncode == 128 + signal.SIGPIPE, done.stderr
    demo.nothing_is_left()


# The sentences after which it is ended: while a step runs, and while two jobs are in the background.
@pytest.mark.parametrize("moment", ["1. Every device", "3. A third wants"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda s: s.name)
def test_ended_by_a_signal_it_ends_what_it_has_begun(demo, number, moment):
    process = demo.machine.start("demo", stderr=subprocess.STDOUT)
    try:
        for line in process.stdout:
            if line.startswith(moment):
                break
        process.send_signal(number)
        process.communicate(timeout=LONGEST)
        assert process.returncode == -number
    finally:
        end(process)
    demo.nothing_is_left()


@pytest.mark.parametrize(
    ("faults", "says"),
    [("nvmlInit_v2@*=18;nvmlInit=18", "Reboot"), ("*@*=15", "bus")],
    ids=["another version", "lost"],
)
def test_a_machine_whose_cards_cannot_be_used_is_told_why(driver_of, faults, says):
    """Before it shows a server that is not there."""
    done = driver_of(many_devices(1), faults=faults).run("demo", timeout=LONGEST)
    first = done.stdout.split("server with eight.")[1].split("SIMULATED")[0]
    assert says in first, done.stdout[:800]


def test_two_ctrl_c_tidy_up_all_the_same(demo):
    terminal = Terminal(80)
    process = demo.machine.start_on(terminal, "demo")
    try:
        wait_until(lambda: b"3. A third wants" in terminal.read(), "the third job is begun", LONGEST)
        terminal.type(b"\x03")
        terminal.type(b"\x03")
        wait_until(lambda: process.poll() is not None or terminal.read() is None, "it has ended", LONGEST)
        assert process.returncode == -signal.SIGINT
    finally:
        end(process)
        terminal.close()
    demo.nothing_is_left()


def test_on_a_terminal_it_ends_with_the_page_until_ctrl_c(demo):
    terminal = Terminal(80)
    process = demo.machine.start_on(terminal, "demo", env={"BROWSER": "true", "DISPLAY": None})
    try:
        wait_until(lambda: b"6. A server that has been used" in terminal.read(), "the page is announced", LONGEST)
        wait_until(lambda: b"http://127.0.0.1:" in terminal.read(), "its address is told", LONGEST)
        assert process.poll() is None
        assert month_in(demo), "its history is another's, or none"
        terminal.type(b"\x03")
        wait_until(lambda: process.poll() is not None or terminal.read() is None, "it has ended", LONGEST)
    finally:
        end(process)
        terminal.close()
    demo.nothing_is_left()


def test_a_closed_terminal_leaves_nothing_behind(demo):
    terminal = Terminal(80)
    process = demo.machine.start_on(terminal, "demo")
    try:
        wait_until(lambda: b"3. A third wants" in terminal.read(), "the third job is begun", LONGEST)
        terminal.close()
        process.wait(timeout=LONGEST)
        assert process.returncode == -signal.SIGHUP
    finally:
        end(process)
    demo.nothing_is_left()


def test_under_nohup_a_hangup_does_not_end_it(demo):
    with open(demo.machine.directory / "out", "wb") as out:
        process = subprocess.Popen(
            ["nohup", *demo.machine.command("demo")],
            env=demo.machine.env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        wait_until(demo.scratch, "it has begun")
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=LONGEST) == 0
    finally:
        end(process)
    assert SECTIONS[-1] in (demo.machine.directory / "out").read_text()
    demo.nothing_is_left()


def test_a_machine_with_devices_is_looked_at_as_it_is(driver_of, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "ledger").mkdir()
    driver = driver_of(many_devices(3))
    before = sorted(tmp_path.rglob("*"))
    changes = {"TMPDIR": str(temporary), "CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    said, code = whole_tour(driver, env=changes)
    assert code == 0, said
    assert "SIMULATED" not in said and "No GPU found" not in said, said
    assert "3 of 3 free" in said
    assert f"Ledger {tmp_path}/ledger (BERTH_LEDGER)" in said, "it looked into another ledger"
    commands = [line for line in said.splitlines() if line.startswith("$ ")]
    assert commands == ["$ berth status", "$ berth pick --dry-run", "$ berth leases"]
    picked = said.split("$ berth pick --dry-run")[1].split("$ berth")[0]
    assert "Nothing was taken" in picked and "\n1\n" in picked, "an inherited list was passed over"
    after = [path for path in sorted(tmp_path.rglob("*")) if path.name != "host.lock"]
    assert after == before, "something was leased or recorded"


def test_a_replayed_machine_is_the_one_that_is_shown(machine_of, driver_of, tmp_path):
    taken = tmp_path / "taken.json"
    taken.write_text(driver_of(many_devices(3)).run("status", "--json").stdout)
    plain = machine_of(None)
    done = plain.run("demo", "--replay", taken, env={"BERTH_NVML": "/nonexistent/libnvidia-ml.so.1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"$ berth status --replay {taken}" in done.stdout
    assert "3 of 3 free" in done.stdout, done.stdout
