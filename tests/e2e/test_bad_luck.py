"""Bad input and bad luck: a clear message with what to do next, a documented exit code, in time."""

import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from aftermath import ledger_files, leases, queue
from conftest import (BERTH, FakeDriver, Terminal, children, end, ends_within_patience, many_devices, scenario,
                      side_by_side, wait_until, waiting_in, without_escapes)

PATIENCE_S = 3.0


def assert_explained(done, *parts, code=None):
    """A message of ours with these parts, no crash, and the exit code."""
    text = " ".join((done.stdout + done.stderr).split())
    for part in parts:
        assert part in text, f"{part!r} is not said in: {done.stdout}{done.stderr}"
    assert done.returncode >= 0, f"ended by signal {-done.returncode}"
    if code is not None:
        assert done.returncode == code, f"exit {done.returncode}: {text}"


# --- the driver -----------------------------------------------------------------------------------


def test_no_library_is_said_with_what_to_do(machine_of):
    done = machine_of(None).run(env={"BERTH_NVML": "/nonexistent/libnvidia-ml.so.1"})
    assert_explained(done, "No GPU found", "/nonexistent/libnvidia-ml.so.1", "berth demo", code=1)


def test_a_library_that_is_none_is_said(machine_of, tmp_path):
    junk = tmp_path / "junk.so"
    junk.write_bytes(b"not an ELF file")
    done = machine_of(None).run(env={"BERTH_NVML": str(junk)})
    assert_explained(done, "file too short", code=1)


@pytest.mark.parametrize(
    ("code", "meaning", "remedy"),
    [
        (9, "Driver Not Loaded", "modprobe nvidia"),
        (4, "Insufficient Permissions", "/dev/nvidia"),
        (18, "version mismatch", "Reboot"),
        (999, "Unknown Error", "kernel log"),
    ],
)
def test_a_driver_that_does_not_start_says_why_and_what_to_do(driver_of, code, meaning, remedy):
    done = driver_of(many_devices(1), faults=f"nvmlInit_v2={code};nvmlInit={code}").run()
    assert_explained(done, meaning, remedy, code=1)


@pytest.mark.parametrize("words", [("run", "--", "true"), ("run", "--dry-run"), ("pick",)], ids=" ".join)
def test_a_driver_that_calls_all_lost_is_no_machine_without_devices(driver_of, words):
    done = driver_of(many_devices(2), faults="*=15").run(*words)
    assert_explained(done, "cannot be told, because its driver does not say", "GPU is lost", code=124)
    assert "there is no device" not in done.stdout + done.stderr
    assert "too few GPUs for this request" not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [("run", "--", "true"), ("pick",), ("smi", "-L"), ()], ids=" ".join)
def test_too_few_files_to_look_with_is_no_machine_without_devices(driver_of, words):
    machine = driver_of(many_devices(1))
    limited = ["sh", "-c", 'ulimit -n 20; exec "$@"', "sh", *machine.command(*words)]
    done = subprocess.run(limited, env=machine.environment({}), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "20 files may be open at once" in said and "no device" not in said.lower(), said
    assert "No GPU found" not in said and "too few GPUs for this request" not in said


def test_no_devices_is_an_answer(driver_of):
    snapshot = many_devices(0)
    snapshot["sources"] = []
    done = driver_of(snapshot).run()
    assert_explained(done, "No GPU found", code=1)
    picked = driver_of(snapshot).run("pick")
    assert picked.returncode == 124, picked.stderr


def test_64_devices_are_all_seen_and_the_last_can_be_picked(driver_of):
    driver = driver_of(many_devices(64))
    seen = driver.status_json()["devices"]
    assert [d["index"] for d in seen] == list(range(64))
    assert driver.run("pick", "--only", "63").stdout == "63\n"
    assert driver.run("pick", "-n", "64").stdout.count(",") == 63


def test_a_device_lost_half_way_spoils_only_what_it_did_not_tell(driver_of):
    driver = driver_of(many_devices(3), faults="nvmlDeviceGetTemperature@1=15;nvmlDeviceGetTemperatureV@1=15")
    seen = driver.status_json()
    assert len(seen["devices"]) == 3
    whole = [d for d in seen["devices"] if d["index"] != 1]
    assert all(d["temperature_celsius"] is not None for d in whole)
    assert "GPU 1" in driver.run().stdout


def run_within(machine, *words, patience=PATIENCE_S, **kwargs):
    """Too late twice is no second in which the machine was another's."""
    times = []
    while len(times) < 2:
        begin = time.monotonic()
        done = machine.run(*words, **kwargs)
        times.append(time.monotonic() - begin)
        if times[-1] < patience:
            return done
    pytest.fail(f"{words} took {' and '.join(f'{took:.2f} s' for took in times)}")


def test_a_call_that_hangs_costs_only_its_device(driver_of):
    driver = driver_of(many_devices(4), faults="nvmlDeviceGetPowerUsage@2=hang;nvmlDeviceGetName@2=hang")
    done = run_within(driver, "status")
    assert_explained(done, "GPU 2", "no answer", code=0)
    rows = [line for line in done.stdout.splitlines() if re.match(r"  [0-3] ", line)]
    assert len(rows) == 4, done.stdout
    assert sum("free" in row for row in rows) == 3
    picked = run_within(driver, "pick", "-n", "3")
    assert picked.stdout == "0,1,3\n", picked.stderr


def test_many_hanging_devices_do_not_add_up(driver_of):
    done = run_within(driver_of(many_devices(16), faults="nvmlDeviceGetName@*=hang"), "status")
    assert done.returncode in (0, 1)
    assert "no answer" in " ".join(done.stdout.split())


def test_cards_that_all_hang_at_once_are_rows_with_the_reason(driver_of):
    """The last of them are given up before a probe process could open the library at all."""
    done = run_within(driver_of(scenario("server-8xh100"), faults="nvmlDeviceGetName@*=hang"), "status", "--json")
    snapshot = json.loads(done.stdout)
    assert len(snapshot["devices"]) == 8
    assert not [one for one in snapshot["problems"] if one["code"] == "crashed"], snapshot["problems"]


def test_a_library_that_hangs_while_it_starts_is_given_up(driver_of):
    """Later than a call: without persistence mode the cards are woken up meanwhile."""
    done = run_within(driver_of(many_devices(1), faults="nvmlInit_v2=hang"), "status", patience=13)
    assert_explained(done, "no answer", code=1)


WAKES_UP = "nvmlDeviceGetHandleByIndex_v2@*=sleep:{0};nvmlDeviceGetHandleByIndex@*=sleep:{0}"


SLOW = [WAKES_UP.format("500ms"), WAKES_UP.format("1s"), "nvmlInit_v2=sleep:3s", "*@3=sleep:15ms",
        "nvmlDeviceGetPowerUsage@*=sleep:300ms;nvmlDeviceGetUtilizationRates@*=sleep:300ms"]


@pytest.mark.parametrize(("words", "answer"), [
    (("health", "--json"), lambda done: [one["state"] for one in json.loads(done.stdout)["devices"]] == ["ok"] * 6),
    (("pick", "-n", "6"), lambda done: done.stdout == "0,1,2,3,4,5\n"),
], ids=["health", "pick"])
def test_a_driver_that_answers_slowly_is_well(tmp_path, words, answer):
    """Without persistence mode each card is woken up for every question, which takes seconds."""

    def ask(folder, faults):
        done = FakeDriver(folder, many_devices(6), faults=faults).run(*words)
        assert done.returncode == 0 and answer(done), done.stdout + done.stderr

    side_by_side(ask, tmp_path, [(faults,) for faults in SLOW])


def test_who_waits_for_a_driver_at_a_terminal_is_told_why(driver_of):
    driver = driver_of(many_devices(1), faults="nvmlInit_v2=sleep:3s")
    terminal = Terminal(200)
    done = driver.start("status", stdin=terminal.slave, stdout=terminal.slave, stderr=terminal.slave)
    wait_until(lambda: b"Without persistence mode" in terminal.read(), "why it takes so long")
    assert done.wait(timeout=30) == 0
    wait_until(lambda: b"H100" in terminal.read(), "the card")
    terminal.close()
    silent = driver.run("status")
    assert silent.stderr == ""


def test_a_card_that_never_wakes_up_costs_itself_alone(driver_of):
    faults = "nvmlDeviceGetHandleByIndex_v2@2=hang;nvmlDeviceGetHandleByIndex@2=hang"
    done = run_within(driver_of(many_devices(4), faults=faults), "status", "--json", patience=9)
    devices = json.loads(done.stdout)["devices"]
    assert [device["index"] for device in devices] == [0, 1, 2, 3]
    assert [bool(device["unusable_because"]) for device in devices] == [False, False, True, False]


@pytest.mark.parametrize("words", [("status", "-w", "0.5", "--json"), ("smi", "--query-gpu=index", "--format=csv", "-lms", "500")], ids=" ".join)
def test_a_probe_that_dies_between_two_looks_is_replaced(driver_of, words):
    watching = driver_of(many_devices(2)).start(*words)
    watching.stdout.readline()
    (probe,) = children(watching.pid)
    os.kill(probe, signal.SIGKILL)
    wait_until(lambda: [pid for pid in children(watching.pid) if pid != probe], "another probe process")
    assert watching.poll() is None
    end(watching)


@pytest.mark.clock
@pytest.mark.parametrize("words", [("status", "-w", "1"), ("smi", "-l", "1"), ("gpustat", "-i", "1")], ids=" ".join)
def test_a_second_ctrl_c_ends_whoever_waits_for_a_driver(driver_of, words):
    watching = driver_of(many_devices(1), faults="nvmlInit_v2=hang").start(*words)
    wait_until(lambda: children(watching.pid), "it asks the driver")
    began = time.monotonic()
    while watching.poll() is None and time.monotonic() - began < PATIENCE_S:
        watching.send_signal(signal.SIGINT)
        time.sleep(0.2)
    assert watching.wait(timeout=PATIENCE_S) != 0
    assert time.monotonic() - began < PATIENCE_S, "the library would be waited for 10 s"


def test_nothing_is_left_of_a_probe_that_hung(driver_of):
    """Every process with this test's own library in its environment is gone."""
    driver = driver_of(many_devices(2), faults="nvmlDeviceGetName@1=hang")
    driver.env["BERTH_TEST_MARK"] = mark = str(driver.directory)
    run_within(driver, "status")
    wait_until(lambda: not with_environment(mark), "the probe process is gone")


def with_environment(text):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            if text.encode() in pathlib.Path("/proc", entry, "environ").read_bytes():
                found.append(int(entry))
        except OSError:
            continue
    return found


class Freezer:
    """A cgroup whose processes do not even die of SIGKILL: as one stuck in the kernel.

    Only version 1 has it: what cgroup.freeze holds can still be killed. Where the system has mounted version 2 alone,
    root may mount the kernel's freezer for a while."""

    MOUNTED = pathlib.Path("/sys/fs/cgroup/freezer")

    def __init__(self, name, place):
        self.mount = None
        if not self.MOUNTED.is_dir():
            place.mkdir()
            done = subprocess.run(
                ["mount", "-t", "cgroup", "-o", "freezer", "cgroup", str(place)], capture_output=True, text=True
            )
            if done.returncode != 0:
                raise OSError(done.stderr.strip())
            self.mount = place
        self.path = (self.mount or self.MOUNTED) / name
        self.path.mkdir()

    def freeze(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid), encoding="utf-8")
        (self.path / "freezer.state").write_text("FROZEN", encoding="utf-8")

    def thaw_and_remove(self):
        (self.path / "freezer.state").write_text("THAWED", encoding="utf-8")
        wait_until(lambda: not (self.path / "cgroup.procs").read_text(), "the thawed are gone")
        self.path.rmdir()
        if self.mount:
            subprocess.run(["umount", str(self.mount)], check=True)


@pytest.mark.parametrize("mounted", ["by the system", "by the test"])
def test_a_probe_that_cannot_even_be_killed_holds_nobody_up(driver_of, tmp_path, monkeypatch, mounted):
    """berth has exited and been reaped while its probe process is frozen."""
    if mounted == "by the test":
        monkeypatch.setattr(Freezer, "MOUNTED", tmp_path / "nowhere")
    elif not Freezer.MOUNTED.is_dir():
        pytest.skip("this system has version 2 of cgroups alone, as Debian 12 and Ubuntu 24.04 have")
    try:
        freezer = Freezer(f"berth-test-{os.getpid()}", tmp_path / "freezer")
    except OSError as error:
        pytest.skip(f"needs root and the kernel's cgroup v1 freezer: {error}")
    driver = driver_of(many_devices(2), faults="nvmlDeviceGetName@1=hang")
    process = driver.start("status")
    try:
        probe = wait_until(lambda: children(process.pid), "the probe process has started", 2)[0]
        freezer.freeze(probe)
        with ends_within_patience("the probe process stands still for ever"):
            out, err = process.communicate(timeout=60)
        assert pathlib.Path(f"/proc/{probe}").exists(), "the probe was not stuck: nothing was tested"
        assert re.search(r"^  0 H100.*free", out, re.MULTILINE), f"{out}{err}"
    finally:
        end(process)
        freezer.thaw_and_remove()


# --- hostile text ---------------------------------------------------------------------------------


def test_names_with_escapes_never_reach_the_terminal_raw(machine_of, tmp_path):
    evil = "\x1b]0;owned\x07\x1b[2Jpy\nthon\u202e\x9b31m"
    snapshot = scenario("desktop")
    for process in snapshot["processes"]:
        process["command"] = [evil, "\x1b[31mred"]
        process["user"] = "ali\x1b[5mce"
    name = "RTX\x1b[7m\n3070\x1b[4m\x9b1m"
    snapshot["devices"][0]["name"] = name
    saved = tmp_path / "evil.json"
    saved.write_text(json.dumps(snapshot), encoding="utf-8")
    plain = machine_of(None)
    snapshot["devices"][0]["serial"] = "12\x1b[7m3\x1b[4m4\x1b[0m"
    saved.write_text(json.dumps(snapshot), encoding="utf-8")
    forms = [], ["-q"], ["-q", "-x"], ["-q", "-j"], ["-L"], ["topo", "-m"], ["-pm", "\x1b[31m\x07"]
    smi = [["smi", *words] for words in forms]
    for words in (["status"], ["pick", "-n", "2"], ["leases"], ["health"], ["ps"], *smi):
        _, printed = plain.on_terminal(120, *words, "--replay", saved, env={"NO_COLOR": "1"})
        if words[-2:] == ["topo", "-m"]:
            printed = printed.replace("\x1b[4mGPU0", "").replace("NUMA ID\x1b[0m", "")
        assert "\x1b" not in printed and "\x07" not in printed, f"{words}: {printed!r}"
        assert "\x9b" not in printed and "\u202e" not in printed, f"{words}: {printed!r}"
    csv = plain.run("--csv", "index,name", "--replay", saved).stdout
    assert "\x1b" not in csv
    told = plain.run("smi", "-q", "-j", "--replay", saved).stdout
    assert json.loads(told)["nvidia_smi_log"]["gpu"][0]["product_name"] == name


def test_a_process_with_a_broken_name_behind_the_driver_is_shown_escaped(driver_of, tmp_path):
    sleeper = subprocess.Popen(
        [b"ev\xff\x1b[31mil\n", "-c", "read line"],
        executable="/bin/sh",
        stdin=subprocess.PIPE,
    )
    try:
        played = many_devices(1)
        played["gpu_processes"] = [
            {"device": played["devices"][0]["id"], "pid": sleeper.pid, "type": "C", "memory_used_bytes": 1 << 30}
        ]
        driver = driver_of(played)
        code, printed = driver.on_terminal(120, env={"NO_COLOR": "1"})
        assert code == 0
        assert "\x1b" not in printed and "il" in printed, repr(printed)
        json.loads(driver.run("--json").stdout.encode("utf-8"))
    finally:
        sleeper.stdin.close()
        sleeper.wait()


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"berth_snapshot": 999}', "\x00\xff", "[" * 100000]
)
@pytest.mark.parametrize("option", ["--replay", "--sim"])
def test_a_file_that_is_no_snapshot_is_refused_by_name(machine_of, tmp_path, option, content):
    broken = tmp_path / "broken.json"
    broken.write_text(content, encoding="latin-1")
    done = machine_of(None).run("status", option, broken)
    assert_explained(done, "broken.json", code=1)


def test_memory_that_runs_out_under_a_limit_is_told_as_that(machine):
    """Below some 600 KiB the loader itself fails; from 1,300 on all is well, by what the C library takes."""
    told = []
    for kib in range(500, 1500, 50):
        done = subprocess.run(["sh", "-c", f'ulimit -d {kib}; exec "$0" ps --sim faults', BERTH], env=machine.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
        for word in ("bad_alloc", "JSON", "bug", "terminate"):
            assert word not in done.stderr, f"ulimit -d {kib}: {done}"
        if "memory ran out" in done.stderr:
            assert done.returncode in (1, 125) and f"(ulimit -d {kib})" in done.stderr, done
            told.append(kib)
    assert told, "no limit was low enough for memory to run out"


@pytest.mark.parametrize("path", ["/nonexistent/x.json", "/", "/dev/null"])
def test_an_unreadable_replay_file_is_named(machine_of, path):
    done = machine_of(None).run("status", "--replay", path)
    assert_explained(done, path, code=1)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB, read-only or full as a test wishes."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "berth-test", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"needs root to mount a tmpfs: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_read_only_state_directory_stops_no_job(machine, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = machine.run("run", "--", "echo", "worked", env={"XDG_STATE_HOME": str(small_disk)})
    assert done.stdout == "worked\n" and done.returncode == 0, done.stderr
    assert str(small_disk) in done.stderr, f"the record that is missing is not mentioned: {done.stderr}"


def test_a_full_state_directory_stops_no_job(machine, small_disk):
    with open(small_disk / "filling", "wb", buffering=0) as filling:
        try:
            while True:
                filling.write(b"x" * 4096)
        except OSError:
            pass
    done = machine.run("run", "--", "echo", "worked", env={"XDG_STATE_HOME": str(small_disk)})
    assert done.stdout == "worked\n" and done.returncode == 0, done.stderr
    assert done.stderr, "nothing was said of the record"
    assert machine.run("runs", env={"XDG_STATE_HOME": str(small_disk)}).returncode in (0, 1)


def fill(place):
    with open(place / "filling", "wb", buffering=0) as filling:
        for size in (4096, 1):
            try:
                while True:
                    filling.write(b"x" * size)
            except OSError:
                continue


def ends_with_3(gate):
    """A command that does so once there is this file."""
    return ["sh", "-c", f"until test -e {gate}; do sleep 0.02; done; exit 3"]


@pytest.mark.parametrize("options", [["--only", "3"], ["--cpu"]], ids=["gpu", "cpu"])
def test_a_disk_that_fills_up_during_a_run_keeps_its_end_from_nobody(machine, small_disk, options):
    """Room for the end is taken at the start."""
    env = {"XDG_STATE_HOME": str(small_disk)}
    gate = machine.directory / "gate"
    job = machine.start("run", *options, "--", *ends_with_3(gate), env=env)
    samples = small_disk / "berth/last/samples"
    wait_until(lambda: samples.exists() and samples.read_text().count('{"t"') > 0, "the first sample")
    fill(small_disk)
    gate.touch()
    out, err = job.communicate(timeout=60)
    assert job.returncode == 3, err
    assert "ended with 3" in err
    record = json.loads(machine.run("show", "--json", env=env).stdout)
    assert record["state"] == "ended" and record["end"]["exit_code"] == 3
    assert record["end"]["released_unix_ms"] is not None
    assert machine.run("wait", "last", env=env).returncode == 3


def test_an_end_without_room_is_written_as_soon_as_there_is_some(machine, small_disk):
    """As on file systems that never write in place: the room taken at the start is no help there."""
    env = {"XDG_STATE_HOME": str(small_disk)}
    gate = machine.directory / "gate"
    job = machine.start("run", "--only", "3", "--", *ends_with_3(gate), env=env)
    samples = small_disk / "berth/last/samples"
    wait_until(lambda: samples.exists() and samples.read_text().count('{"t"') > 0, "the first sample")
    (small_disk / "berth/last/end.room").unlink()
    fill(small_disk)
    gate.touch()
    _, err = job.communicate(timeout=60)
    assert job.returncode == 3 and err.count("can no longer be written") == 1, err
    assert machine.run("leases").stdout.startswith("SIMULATED")
    assert "Nobody holds a lease" in machine.run("leases").stdout
    (small_disk / "filling").unlink()
    shown = lambda: json.loads(machine.run("show", "--json", env=env).stdout)  # noqa: E731
    wait_until(lambda: shown()["state"] == "ended", "the end is written", 10)
    assert shown()["end"]["exit_code"] == 3


def test_without_a_home_a_job_still_runs(machine):
    nowhere = {"HOME": None, "XDG_STATE_HOME": None}
    done = machine.run("run", "--", "echo", "worked", env=nowhere)
    assert done.stdout == "worked\n" and done.returncode == 0, done.stderr
    assert_explained(machine.run("show", env=nowhere), "HOME", code=1)


# --- the ledger -----------------------------------------------------------------------------------


def test_foreign_broken_and_newer_files_in_the_ledger_harm_nobody(machine):
    assert machine.run("run", "-q", "--", "true").returncode == 0
    ledger = machine.ledger
    (ledger / "README.txt").write_text("hello", encoding="utf-8")
    (ledger / "lease-broken").write_bytes(b"\xff\x00garbage")
    (ledger / "lease-empty").touch()
    (ledger / "core").mkdir()
    (ledger / "link").symlink_to("/etc/passwd")
    os.mkfifo(ledger / "lease-pipe")
    for words in (["status"], ["leases"], ["pick"], ["run", "-q", "--", "true"]):
        done = run_within(machine, *words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
    assert (ledger / "README.txt").exists(), "a stranger's file was removed"


def test_a_lease_of_a_newer_format_is_honoured(machine, tmp_path):
    """Line 1 is the same for all time; a live lease of a newer berth keeps its device."""
    started = tmp_path / "started"
    job = machine.start("run", "--", "sh", "-c", f"echo > {started}; read line", stdin=subprocess.PIPE)
    try:
        wait_until(started.exists, "the job has started")
        ledger = machine.ledger
        [lease] = [p for p in ledger.iterdir() if p.is_file() and p.stat().st_size > 0]
        text = lease.read_bytes()
        first, _, rest = text.partition(b"\n")
        newer = re.sub(rb"^(\S+) \d+", rb"\1 9", first)
        assert newer != first, f"no format number in {first!r}"
        with open(lease, "r+b") as file:
            file.write(newer + b"\n" + b"\x01unknown to us\n" + rest)
        assert machine.run("pick").stdout == "4\n", "the device of the newer lease was offered"
        assert machine.run("leases").returncode == 0
    finally:
        job.communicate("\n", timeout=60)


def test_a_ledger_that_is_a_file_is_refused(machine, tmp_path):
    (tmp_path / "ledger").write_text("no directory", encoding="utf-8")
    assert_explained(machine.run("run", "--", "true"), str(tmp_path / "ledger"), code=125)
    assert_explained(machine.run("status"), str(tmp_path / "ledger"), code=0)


def test_a_ledger_that_cannot_be_read_leaves_no_card_free(driver_of, tmp_path):
    machine = driver_of(many_devices(1))
    (tmp_path / "ledger").write_text("no directory", encoding="utf-8")
    done = machine.run("status", "--csv", "index,state,leases,users")
    assert (done.returncode, done.stdout) == (0, "index,state,leases,users\n0,unknown,,\n")
    assert_explained(done, str(tmp_path / "ledger"), code=0)
    told = machine.status_json()
    assert {one["source"]: one["succeeded"] for one in told["sources"]}["ledger"] is False
    [card] = told["devices"]
    assert card["leases"] is None and card["why"]["leases"] == "failed"
    (tmp_path / "told.json").write_text(json.dumps(told), encoding="utf-8")
    assert machine.run("pick", "--replay", str(tmp_path / "told.json")).returncode == 124
    (tmp_path / "ledger").unlink()
    told = machine.status_json()
    assert {one["source"]: one["succeeded"] for one in told["sources"]}["ledger"] is True
    assert (told["devices"][0]["state"], told["devices"][0]["leases"]) == ("free", 0)


def test_who_is_on_a_card_whose_list_could_not_be_read_is_unknown_not_nobody(driver_of):
    lists = [f"nvmlDeviceGet{kind}RunningProcesses{version}@0=999"
             for kind in ("Compute", "Graphics", "MPSCompute") for version in ("", "_v2", "_v3")]  # fmt: skip
    [card] = driver_of(many_devices(1), faults=";".join(lists)).status_json()["devices"]
    assert card["users"] is None and card["why"]["users"] == card["why"]["process_count"] == "failed"


def test_csv_says_on_stderr_what_it_has_no_cell_for(driver_of):
    none = driver_of(None, faults="nvmlInit_v2=9;nvmlInit=9").run("status", "--csv", "index,state")
    assert (none.returncode, none.stdout) == (1, "index,state\n")
    assert "driver" in none.stderr.lower(), none.stderr
    silent = driver_of(many_devices(2), faults="*@1=15")
    done = silent.run("status", "--csv", "index,state")
    assert done.stdout == "index,state\n0,free\n1,lost\n" and done.stderr.count("GPU 1") == 1, done.stderr
    assert silent.run("status", "-i", "0", "--csv", "index,state").stderr == ""


def test_a_ledger_that_cannot_be_made_is_refused(machine):
    done = machine.run("run", "--", "true", env={"BERTH_LEDGER": "/proc/ledger"})
    assert_explained(done, "/proc/ledger", code=125)


def test_a_ledger_on_a_read_only_disk_is_refused(machine, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = machine.run("run", "--", "true", env={"BERTH_LEDGER": str(small_disk / "ledger")})
    assert_explained(done, str(small_disk), code=125)


def test_who_is_killed_while_waiting_does_not_fill_a_small_ledger(machine, small_disk):
    machine.env["BERTH_LEDGER"] = str(small_disk / "ledger")
    holder = machine.start("run", "-q", "--only", "3", "--", "sleep", "300")
    try:
        wait_until(lambda: len(leases(machine)) == 1, "it holds its device", 20)
        for _ in range(6):  # 48 tickets of a page each, where there is room for 15
            waiters = [machine.start("run", "-q", "--wait", "--only", "3", "--", "true") for _ in range(8)]
            wait_until(lambda: len(queue(machine)) == 8, "all wait", 60)
            for waiter in waiters:
                waiter.kill()
                waiter.communicate()
        assert len(ledger_files(machine)) <= 16
    finally:
        machine.run("stop", "--all", "-q")
        end(holder)
    for _ in range(3):
        assert machine.run("run", "-q", "--wait", "--only", "3", "--", "true").returncode == 0
    assert ledger_files(machine) == []


def test_a_host_lock_held_for_ever_is_reported_with_its_holder(machine):
    assert machine.run("run", "-q", "--", "true").returncode == 0
    with open(machine.ledger / "host.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run_within(machine, "run", "--", "true", patience=40, timeout=60)
        assert_explained(done, "host.lock", str(os.getpid()), code=125)
        assert run_within(machine, "status").returncode == 0, "looking needs no lock"


@pytest.mark.clock
def test_a_host_lock_held_for_ever_keeps_no_prompt_from_coming_back(machine):
    """The job's end and its record do not wait for the lock; the lease's file goes when it can."""
    gate = machine.directory / "gate"
    job = machine.start("run", "--", *ends_with_3(gate))
    ledger = machine.ledger
    wait_until(lambda: ledger.exists() and list(ledger.glob("lease-*")), "there is a lease")
    with open(ledger / "host.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        gate.touch()
        begin = time.monotonic()
        _, err = job.communicate(timeout=40)
        assert job.returncode == 3 and time.monotonic() - begin < 5, err
        record = json.loads(machine.run("show", "--json").stdout)
        assert record["end"]["exit_code"] == 3
    wait_until(lambda: not list(ledger.glob("lease-*")), "the lease is removed", 5)
    wait_until(lambda: json.loads(machine.run("show", "--json").stdout)["end"]["released_unix_ms"],
               "the record says when", 5)


# --- the command line and the streams -------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["frobnicate"], 2, "berth run -- frobnicate"),
        (["--frobnicate"], 2, "--frobnicate"),
        (["status", "3"], 2, 'word "3" (berth status --help'),
        (["status", "-w", "5parsec"], 2, "5parsec"),
        (["run"], 125, "no command"),
        (["run", "--memory", "x", "--", "true"], 125, "--memory"),
        (["run", "--frobnicate", "--", "true"], 125, "--frobnicate"),
        (["run", "--", "/nonexistent"], 127, "No such file"),
        (["run", "--", "/etc/passwd"], 126, "Permission denied"),
        (["run", "--only", "0", "--", "true"], 124, "alice"),
        (["run", "--time", "soon", "--", "true"], 125, "soon"),
        (["run", "--time", "", "--", "true"], 125, "--time: its value is empty"),
        (["run", "--retry-on", "", "--", "true"], 125, "--retry-on: its value is empty"),
        (["run", "--on-gpu-fault", "", "--", "true"], 125, "--on-gpu-fault: its value is empty"),
        (["runs", "-n", "0"], 2, '"0" is not a number from 1 to 1000000'),
        (["runs", "-n", "many"], 2, "many"),
        (["show", "nope"], 1, "nope"),
        (["--sim", "nope"], 2, "server-8xh100"),
        (["show", "--sim", "20261123-034050-tu73gc"], 2, "--sim= alone means server-8xh100"),
        (["smi", "--sim", "nope"], 2, "lab-4"),
        (["status", "--sim", "lab-4", "--replay", "/nonexistent"], 2, "--sim and --replay name two machines"),
        (["smi", "-L", "--sim", "lab-4", "--replay", "/nonexistent"], 2, "--sim and --replay name two machines"),
        (["ps", "--replay", ""], 2, "--replay: its value is empty"),
        (["status", "--replay="], 2, "--replay"),
        (["\x1b[31mevil"], 2, "evil"),
    ],
    ids=lambda value: " ".join(value).replace("\x1b", "ESC") if isinstance(value, list) else "",
)
def test_mistakes_on_the_command_line_have_their_exit_code(machine, words, code, part):
    done = machine.run(*words)
    assert_explained(done, part, code=code)
    assert done.stderr.startswith("berth: ") or code == 124 or "berth: " in done.stderr
    assert "\x1b" not in done.stderr


def test_a_full_disk_behind_stdout_is_an_error(machine):
    for words in (["status"], ["--json"], ["pick"], ["--help"], ["scenarios"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                machine.command(*words), env=machine.env, stdout=full, stderr=subprocess.PIPE, text=True
            )
        assert done.returncode == 1, f"{words}: exit {done.returncode}"
        assert "could not be written" in done.stderr, f"{words}: {done.stderr}"


def test_a_full_disk_behind_nvidia_smis_output_is_said_once(machine):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            machine.command("smi"), env=machine.env, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.count("could not be written") == 1, done.stderr


@pytest.mark.parametrize("stdout", [">/dev/full", ">&-"])
def test_a_detached_run_whose_id_cannot_be_told_says_how_to_find_it(machine, stdout):
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {BERTH} run -d -- sleep 30 {stdout}"],
        env=machine.env, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )
    assert done.returncode == 125, done.stderr
    [run] = json.loads(machine.run("runs", "--json").stdout)["runs"]
    assert run["state"] == "running", "the job did not start"
    assert f"the job runs as {run['id']}" in done.stderr and f"berth stop {run['id']}" in done.stderr
    assert done.stderr.count("could not be written") == 1, done.stderr
    assert machine.run("stop", run["id"]).returncode == 0


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_closed_streams_harm_nothing(machine, closed):
    close = " ".join(f"{fd}<&-" if fd == "0" else f"{fd}>&-" for fd in closed.split())
    for words in ("status", "pick", "run -q -- true"):
        done = subprocess.run(
            ["/bin/sh", "-c", f"exec {BERTH} {words} {close}"],
            env=machine.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode in (0, 1), f"{words} {close}: {done.returncode} {done.stderr}"
        if "1" not in closed:
            assert done.returncode == 0, f"{words} {close}: {done.stderr}"
        elif not words.startswith("run"):
            assert done.returncode == 1, f"{words} {close}: an answer nobody got is no success"
    ledger = machine.ledger
    assert (ledger / "host.lock").stat().st_size == 0, "output went into the ledger's lock"


def test_a_reader_that_goes_away_is_no_crash_report(machine):
    done = subprocess.run(
        ["/bin/sh", "-c", f"{BERTH} --json | head -c 10"],
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == '{"berth_sn' and done.stderr == ""


def test_a_very_long_command_line_runs_and_is_recorded(machine):
    long = ["x" * 100_000, *["word"] * 5000]
    done = machine.run("run", "-q", "--", "sh", "-c", "echo $#", *long)
    assert done.returncode == 0, done.stderr[:500]
    assert done.stdout == "5000\n"
    shown = machine.run("show")
    assert shown.returncode == 0, shown.stderr
    assert machine.run("pick", "--only", "0," * 20000 + "3").returncode == 0


def test_a_deleted_working_directory_stops_nothing(machine, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && {BERTH} status && exec {BERTH} run -- echo worked"
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.endswith("worked\n"), done.stderr


def test_watching_survives_a_terminal_that_closes(machine):
    terminal = Terminal(80)
    process = machine.start_on(terminal, "-w", "100ms")
    try:
        wait_until(lambda: b"SIMULATED" in terminal.read(), "the first picture")
        terminal.close()
        wait_until(lambda: process.poll() is not None, "it has ended with its terminal", 5)
        assert process.returncode in (0, 1, -signal.SIGHUP), process.returncode
    finally:
        end(process)


def test_a_log_that_nobody_reads_holds_no_device(machine, tmp_path):
    def held():
        return [one["id"] for one in json.loads(machine.run("leases", "--json").stdout)["leases"]]

    before = held()
    os.mkfifo(tmp_path / "log")
    done = machine.run("run", "-d", "--log", tmp_path / "log", "--", "true", timeout=30)
    assert done.returncode == 125 and str(tmp_path / "log") in done.stderr, done.stderr
    assert held() == before


def test_a_log_that_is_read_slowly_loses_nothing(machine, tmp_path):
    os.mkfifo(tmp_path / "log")
    reader = os.open(tmp_path / "log", os.O_RDONLY | os.O_NONBLOCK)
    job = ["/usr/bin/python3", "-c", "import sys; sys.stdout.write('x' * 300_000); sys.stdout.flush()"]
    assert machine.run("run", "-d", "--log", tmp_path / "log", "--", *job).returncode == 0
    full = fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ)
    wait_until(lambda: waiting_in(reader) == full, "the pipe is full")
    os.set_blocking(reader, True)
    got = b""
    while piece := os.read(reader, 1 << 16):
        got += piece
    os.close(reader)
    assert got == b"x" * 300_000


def test_a_locale_that_cannot_show_chinese_has_english_words(machine):
    shown = machine.run("health", env={"LC_ALL": "zh_CN", "LANG": "zh_CN"}).stdout
    assert "ok" in shown and "?" not in shown


def test_a_narrow_terminal_is_no_crash(machine):
    for width in (1, 2, 10, 20):
        code, printed = machine.on_terminal(width)
        assert code == 0, without_escapes(printed)
