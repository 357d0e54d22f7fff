"""What a run does with processes left behind, and with devices it was not given. Also with a state directory that
cannot be written, and between two users of one machine."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile

import pytest

from aftermath import leases, parts_of, poll, processes, show, waits_for
from conftest import BERTH, BUILD, Machine, end, many_devices

DEVICE_FILE = pathlib.Path("/dev/nvidia_berth_test")
NULL_DEVICE = os.makedev(1, 3)
FAKE_NVML = BUILD / "fakes/nvml/all/libnvidia-ml.so.1"
IS_ROOT = os.geteuid() == 0
ALICE, BOB = 1, 65534  # daemon and nobody: everywhere, and with names
# Where each user has a folder of their own for the whole machine: of these tests alone.
NOBODY_ELSE, NOR_HE = 700000 + os.getpid(), 1700000 + os.getpid()

needs_root = pytest.mark.skipif(not IS_ROOT, reason="two users: only root can be several users")


# --- left behind -----------------------------------------------------------------------------------


def leave_behind(machine, linger, redirection=""):
    """A job that ends at once and leaves a process in a session of its own. That process lasts until the returned file
    exists."""
    gate = machine.directory / "gate"
    script = f"setsid {shlex.join(waits_for(gate))} {redirection} >/dev/null 2>&1 </dev/null &"
    left = machine.run("run", "-q", "--linger", linger, "--", "sh", "-c", script)
    assert left.returncode == 0, left.stderr
    return gate


def test_process_left_without_a_device_file_ends_the_lease_before_it_ends_itself(machine):
    gate = leave_behind(machine, "2s")
    try:
        assert leases(machine), "the lease went before --linger was over"
        poll(lambda: leases(machine), 30, "the lease of a process that uses no device")
        assert [one for one in processes(machine) if "until test -e" in one], "the process was ended with the lease"
    finally:
        gate.touch()


@pytest.fixture
def device_file():
    """Looks like a device's file to the program and is /dev/null."""
    try:
        os.mknod(DEVICE_FILE, 0o666 | stat.S_IFCHR, NULL_DEVICE)
        with open(DEVICE_FILE, "rb"):
            pass
    except OSError as error:
        DEVICE_FILE.unlink(missing_ok=True)
        pytest.skip(f"device file held open: {DEVICE_FILE} cannot be made here ({error})")
    yield DEVICE_FILE
    DEVICE_FILE.unlink()


def test_process_left_with_a_device_file_open_keeps_the_lease_until_it_ends(machine, device_file):
    gate = leave_behind(machine, "500ms", f"3<{device_file}")
    try:
        with pytest.raises(AssertionError):
            poll(lambda: leases(machine), 2, "expected")
    finally:
        gate.touch()
    poll(lambda: leases(machine), 30, "the lease of a process that has ended")
    # The keeper gives the lease back first and then ends itself.
    poll(lambda: processes(machine), 30, "a process outlives its run")


# --- a device that the run was not given -------------------------------------------------------------


@pytest.mark.skipif(not FAKE_NVML.exists(), reason="outside the lease: fake_nvml is not built")
def test_process_on_a_device_outside_its_lease_is_said_and_recorded(machine_of, tmp_path):
    shown = machine_of("server-8xh100").run("status", "--json")
    host = json.loads(shown.stdout)
    host["gpu_processes"] = host["processes"] = host["leases"] = []
    host["simulated"] = None
    scene = tmp_path / "scene.json"
    scene.write_text(json.dumps(host))
    machine = machine_of(None)
    machine.env |= {"BERTH_NVML": str(FAKE_NVML), "BERTH_FAKE_NVML": str(scene)}

    seen = machine.directory / "seen"
    launcher = machine.start("run", "--only", "3", "--", *waits_for(seen))
    poll(lambda: len(parts_of(launcher.pid)) < 5, 30, "there is no job with a sampler")
    elsewhere = next(device for device in host["devices"] if device["index"] == 5)
    host["gpu_processes"] = [
        {"device": elsewhere["id"], "pid": parts_of(launcher.pid)["job"], "type": "C",
         "memory_bytes": 1 << 30}
    ]
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(host))
    changed.rename(scene)
    # The fake reads its machine when it is initialised: by a new sampler.
    os.kill(parts_of(launcher.pid)["sampler"], signal.SIGKILL)
    poll(lambda: "outside_lease" not in [event["kind"] for event in show(machine)["events"]] and "no event", 20,
         "nobody sees it")
    seen.touch()
    _, said = launcher.communicate(timeout=60)
    assert launcher.returncode == 0
    [event] = [event for event in show(machine)["events"] if event["kind"] == "outside_lease"]
    assert "GPU 5" in event["text"]
    assert said.count("GPU 5, which the run was not given") == 1, said


def rows_below(status, index):
    """What the picture lists below the device of that index: who is on it."""
    lines = iter(status.splitlines())
    assert next((line for line in lines if line.startswith(f"{index:3} ")), None), status
    rows = []
    for line in lines:
        if not line.startswith("      "):
            break
        rows.append(" ".join(line.split()))
    return rows


def test_status_marks_the_runs_process_on_a_device_outside_its_lease_and_no_other(driver_of):
    host = many_devices(3)
    machine = driver_of(host)
    machine.env["BERTH_FAKE_NVML_LIVE"] = "1"
    run = machine.start("run", "-q", "--only", "0", "--", "sleep", "60")
    stranger = subprocess.Popen(["sleep", "61"])
    try:
        poll(lambda: len(parts_of(run.pid)) < 5, 30, "there is no job with a sampler")
        job = parts_of(run.pid)["job"]
        ids = [device["id"] for device in host["devices"]]
        uses = [(ids[0], job), (ids[1], job), *((device, stranger.pid) for device in ids)]
        host["gpu_processes"] = [
            {"device": device, "pid": pid, "type": "C", "memory_used_bytes": 1 << 30} for device, pid in uses
        ]
        changed = machine.directory / "changed.json"
        changed.write_text(json.dumps(host))
        changed.rename(machine.env["BERTH_FAKE_NVML"])
        shown = machine.run("status").stdout
        narrow = machine.on_terminal(60, "status")[1]
    finally:
        end(stranger)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
    rows = [{int(row.split()[1]): row for row in rows_below(shown, index)} for index in range(3)]
    assert re.fullmatch(rf"\S+ {job} sleep 60 \d+s 1\.0G lease", rows[0][job]), shown
    assert re.fullmatch(rf"\S+ {job} sleep 60 \d+s 1\.0G outside its lease", rows[1][job]), shown
    assert shown.count("outside its lease") == narrow.count("outside its lease") == 1, shown + narrow
    for row, note in zip(rows, [" no lease", "", ""]):
        assert re.fullmatch(rf"\S+ {stranger.pid} sleep 61 \d+s 1\.0G{note}", row[stranger.pid]), shown
    assert [set(row) for row in rows] == [{job, stranger.pid}, {job, stranger.pid}, {stranger.pid}], shown


# --- a state directory that cannot be written ----------------------------------------------------------


def lost_record_is_said_once_and_the_job_runs(command, env):
    got = subprocess.run(command, env=env, text=True, capture_output=True, timeout=30,
                         stdin=subprocess.DEVNULL, check=False)
    assert (got.stdout, got.returncode) == ("ok\n", 3), got.stderr
    assert got.stderr.count("not recorded") + got.stderr.count("no longer be written") == 1, got.stderr


@pytest.mark.skipif(not shutil.which("unshare"), reason="full state directory: no unshare")
def test_full_state_directory_never_stops_a_job(machine):
    state = machine.directory / "state"
    state.mkdir()
    mount = f"mount -t tmpfs -o size=4k,nr_inodes=64 tmpfs {state}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], check=False, capture_output=True).returncode:
        pytest.skip("full state directory: a small file system cannot be mounted here")
    job = " ".join(machine.command("run", "--", "sh", "-c", "'sleep 0.3; echo ok; exit 3'"))
    script = f"{mount} && head -c 4096 /dev/zero > {state}/full; {job}"
    lost_record_is_said_once_and_the_job_runs(["unshare", "-m", "sh", "-c", script], machine.env)


@pytest.fixture
def blocked(machine):
    """What makes records impossible from the second run on, for root too: a file where their directory is to be."""
    assert machine.run("run", "-q", "--", "true").returncode == 0
    runs = machine.directory / "state/berth/runs"
    runs.rename(runs.parent / "before")
    runs.write_text("")
    yield runs
    runs.unlink()
    (runs.parent / "before").rename(runs)


def test_detached_job_whose_output_nobody_would_keep_is_not_started(machine, blocked):
    got = machine.run("run", "--detach", "--", "sleep", "43")
    assert (got.returncode, got.stdout) == (125, "")
    assert "was not started" in got.stderr and "--log FILE" in got.stderr
    assert not leases(machine)
    poll(lambda: processes(machine), 30, "the job was started")


@pytest.mark.parametrize("words", [("{}",), ("--all",)])
def test_detached_job_without_a_record_is_stopped_by_its_lease(machine, blocked, words):
    log = machine.directory / "log"
    started = machine.run("run", "--detach", "--log", log, "--", "sh", "-c", "echo hello; exec sleep 43")
    run = started.stdout.strip()
    assert started.returncode == 0 and run, started.stderr
    assert f"berth stop {run}" in started.stderr
    poll(lambda: "hello" not in log.read_text(), 30, "the job's output is not in the file of --log")
    if words == ("--all",):
        blocked.rename(blocked.parent / "file")
        (blocked.parent / "before").rename(blocked)
    stopped = machine.run("stop", *(word.format(run) for word in words))
    if words == ("--all",):
        blocked.rename(blocked.parent / "before")
        (blocked.parent / "file").rename(blocked)
    assert stopped.returncode == 0 and f"{run} has ended" in stopped.stderr, stopped.stderr
    poll(lambda: processes(machine), 30, "the job was not stopped")
    poll(lambda: leases(machine), 30, "its lease is still there")


def test_wait_waits_for_a_job_without_a_record_by_its_lease(machine, blocked):
    log, gate, ended = (machine.directory / name for name in ("log", "gate", "ended"))
    job = ["sh", "-c", f"until test -e {gate}; do sleep 0.02; done; touch {ended}"]
    run = machine.run("run", "--detach", "--log", log, "--", *job).stdout.strip()
    assert processes(machine)
    waiting = machine.start("wait", run)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(timeout=1)
    gate.touch()
    _, said = waiting.communicate(timeout=60)
    assert ended.exists(), "wait came back before the job's end"
    assert waiting.returncode == 125 and "no record" in said


@pytest.mark.skipif(not shutil.which("unshare"), reason="full state directory: no unshare")
def test_last_is_never_an_earlier_run_than_one_without_a_record(machine):
    state = machine.directory / "state"
    state.mkdir()
    mount = f"mount -t tmpfs -o size=40k tmpfs {state}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], check=False, capture_output=True).returncode:
        pytest.skip("full state directory: a small file system cannot be mounted here")
    recorded = " ".join(machine.command("run", "-q", "--", "sh", "-c", "'exit 5'"))
    other = " ".join(machine.command("run", "-q", "--", "true"))
    asked = "; ".join(" ".join(machine.command(verb, "last")) for verb in ("explain", "wait", "report"))
    script = f"{mount}; {recorded}; head -c 100k /dev/zero > {state}/full; {other}; {asked}"
    got = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], env=machine.env, text=True, capture_output=True, timeout=60, check=False
    )
    assert got.stderr.count("has no record") == 3, got.stderr
    assert "exit code 5" not in got.stdout


class Users:
    """Two ordinary users with homes of their own and one ledger, in a place both can reach."""

    def __init__(self, directory):
        self.directory = directory
        self.directory_of_ledger = directory / "ledger"
        self.directory_of_ledger.mkdir()
        self.directory_of_ledger.chmod(0o1777)
        lock = self.directory_of_ledger / "host.lock"
        lock.touch()
        lock.chmod(0o666)

    def machine(self, uid):
        home = self.directory / str(uid)
        if not home.exists():
            home.mkdir()
            os.chown(home, uid, uid)
        made = Machine(home)
        made.env["BERTH_LEDGER"] = str(self.directory_of_ledger)
        as_user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        made.command = lambda *words: [*as_user, BERTH, *map(str, words)]
        return made


@pytest.fixture
def users():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        made = Users(pathlib.Path(directory))
        yield made
        for uid in (ALICE, BOB, NOBODY_ELSE, NOR_HE):
            poll(lambda uid=uid: processes(made.machine(uid)), 30, "processes are left over")


@needs_root
def test_read_only_state_directory_never_stops_a_job(users):
    alice = users.machine(ALICE)
    state = alice.directory / "state"
    state.mkdir(mode=0o555)
    command = alice.command("run", "--", "sh", "-c", "echo ok; exit 3")
    lost_record_is_said_once_and_the_job_runs(command, alice.env)


@needs_root
def test_records_of_another_user_are_not_said_to_be_none(users):
    alice, bob = users.machine(ALICE), users.machine(BOB)
    state = alice.directory / "state"
    assert alice.run("run", "-q", "--", "true").returncode == 0
    [run] = (state / "berth/runs").glob("2*")
    state.chmod(0o700)
    for verb, code in (("explain", 1), ("wait", 125), ("report", 1)):
        got = bob.run(verb, run.name, env={"XDG_STATE_HOME": str(state)})
        assert got.returncode == code
        assert "Permission denied" in got.stderr and "no run" not in got.stderr, got.stderr


@pytest.mark.parametrize(
    ("verb", "code"), [("report", 2), ("explain", 2), ("logs", 2), ("show", 2), ("stop", 2), ("wait", 125)]
)
def test_empty_word_for_a_run_is_refused_and_not_taken_for_the_last(machine, verb, code):
    assert machine.run("run", "-q", "--cpu", "--", "true").returncode == 0
    got = machine.run(verb, "")
    assert (got.returncode, got.stdout) == (code, "")
    assert "is empty" in got.stderr


# --- two users ---------------------------------------------------------------------------------------


@needs_root
def test_another_user_sees_the_lease_waits_for_it_and_cannot_end_it(users):
    alice, bob = users.machine(ALICE), users.machine(BOB)
    launcher = alice.start("run", "-q", "--only", "3", "--", "sleep", "60")
    # The claim comes first, the job's process is written into it a moment later.
    poll(lambda: [one.get("job") for one in leases(bob)] in ([], [None]), 30, "alice's job has no lease")
    [lease] = leases(bob)
    assert (lease["uid"], lease["user"]) == (ALICE, "daemon")
    assert lease["since_unix_ms"] > 0

    refused = bob.run("run", "--only", "3", "--", "true")
    assert refused.returncode != 0
    assert "daemon" in refused.stderr and "sleep 60" in refused.stderr
    assert bob.run("stop", lease["run"]).returncode != 0
    assert bob.run("stop", "--all").returncode == 0
    [file] = alice.ledger.glob("lease-*")
    as_bob = bob.command()[:-1]
    for attempt in (f"rm -f {file}", f"mv {file} {file}x", f": > {file}", f"kill {launcher.pid}"):
        done = subprocess.run([*as_bob, "sh", "-c", attempt], check=False, capture_output=True)
        assert done.returncode != 0, attempt
    assert leases(bob) == [lease]
    assert alice.run("stop", lease["run"]).returncode == 0
    assert launcher.wait(timeout=30) == -signal.SIGTERM
    assert bob.run("run", "-q", "--only", "3", "--", "true").returncode == 0


@needs_root
@pytest.mark.parametrize("mode", [0o1777, 0o777])
def test_runs_inside_a_lease_work_for_every_user_of_one_ledger(users, mode):
    users.directory_of_ledger.chmod(mode)
    for uid in (NOBODY_ELSE, NOR_HE, NOBODY_ELSE):
        one = users.machine(uid)
        inner = f"{BERTH} run -q -- sh -c 'echo $CUDA_VISIBLE_DEVICES'"
        got = one.run("run", "-q", "-n", "2", "--", "sh", "-c", inner)
        assert (got.returncode, got.stdout) == (0, "4\n"), got.stderr
        poll(lambda one=one: leases(one), 30, "a lease outlives its run")
        inside = pathlib.Path(f"/var/tmp/berth-{uid}-inside")
        poll(lambda inside=inside: list(inside.iterdir()), 30, "an inner ledger is left behind")
        inside.rmdir()


@needs_root
def test_somebody_elses_directory_for_inner_ledgers_is_refused_by_name(users):
    alice = users.machine(NOBODY_ELSE)
    squatted = pathlib.Path(f"/var/tmp/berth-{NOBODY_ELSE}-inside")
    squatted.mkdir(mode=0o777)
    os.chown(squatted, NOR_HE, NOR_HE)
    try:
        got = alice.run("run", "-q", "-n", "2", "--", BERTH, "run", "-q", "--", "true")
        assert got.returncode == 125
        assert f"{squatted} is not a directory of yours" in got.stderr, got.stderr
    finally:
        squatted.rmdir()


@needs_root
def test_a_lock_that_another_user_holds_for_ever_is_said_with_who_holds_it(users):
    alice, bob = users.machine(ALICE), users.machine(BOB)
    assert alice.run("run", "-q", "--only", "3", "--", "true").returncode == 0
    hold = (f"import fcntl, time; lock = open('{alice.ledger}/host.lock'); "
            "fcntl.flock(lock, fcntl.LOCK_EX); print('HELD', flush=True); time.sleep(60)")
    python = [*bob.command()[:-1], "/usr/bin/python3", "-c", hold]
    holder = subprocess.Popen(python, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "HELD\n"
        refused = alice.run("run", "--only", "3", "--", "true", timeout=40)
        assert refused.returncode == 125
        assert f"process {holder.pid} (python3) of nobody" in refused.stderr, refused.stderr
        assert alice.run("leases").returncode == 0
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert alice.run("run", "-q", "--only", "3", "--", "true").returncode == 0


@needs_root
def test_another_user_cannot_keep_a_dead_lease_alive_nor_lease_in_anothers_name(users):
    alice, bob = users.machine(ALICE), users.machine(BOB)
    launcher = alice.start("run", "-q", "--only", "3", "--", "sleep", "20")
    poll(lambda: "job" not in parts_of(launcher.pid), 30, "there is no job")
    poll(lambda: not leases(bob), 30, "alice has no lease")
    [file] = alice.ledger.glob("lease-*")
    forged = alice.ledger / "lease-00000000-0123456789abcdef"
    # Bob copies the lease and takes every lock that he can have, on the copy and on alice's own.
    hold = (f"cp {file} {forged}; exec 8>>{forged} 9<{file}; flock -n 8; flock -n -s 9;"
            f"flock -n 9; echo HELD; exec sleep 20")
    thief = subprocess.Popen([*bob.command()[:-1], "sh", "-c", hold], stdout=subprocess.PIPE, text=True)
    assert thief.stdout.readline() == "HELD\n"
    for pid in parts_of(launcher.pid).values():
        os.kill(pid, signal.SIGKILL)
    launcher.wait(timeout=30)
    try:
        poll(lambda: [one for one in leases(bob) if one["uid"] == ALICE], 5, "a lease of alice's")
        assert alice.run("run", "-q", "--only", "3", "--", "true").returncode == 0
        assert not file.exists()
    finally:
        thief.kill()
        thief.wait()
        thief.stdout.close()
