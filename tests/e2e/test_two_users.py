"""What one user sees of another's processes, and that nobody but they and root signals them.

Run by root, the tests look as an ordinary user at the process of another. Run by an ordinary user, they look at the
first process of the machine, which is root's."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from conftest import BERTH, FakeDriver, end, fake_library, wait_until
from test_top import Tmux, busy_machine

IS_ROOT = os.geteuid() == 0
VIEWER = 65534 if IS_ROOT else os.geteuid()
OTHER = 54321 if IS_ROOT else 0  # 54321 is in no /etc/passwd


def words_as(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


@pytest.fixture
def theirs():
    """The pid of a process that another user runs."""
    if not IS_ROOT:
        yield 1
        return
    process = subprocess.Popen([*words_as(OTHER), "sleep", "600"])
    wait_until(lambda: os.stat(f"/proc/{process.pid}").st_uid == OTHER, "it is another user's")
    yield process.pid
    assert process.poll() is None, "another user's process was hit"
    end(process)


@pytest.mark.skipif(not IS_ROOT, reason="only root can be several users")
def test_another_users_run_is_said_to_be_theirs(tmp_path):
    """Its id stands in `berth leases`, which everybody may read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-shared-"))
    folder.chmod(0o777)
    berth = shutil.copy(BERTH, folder / "berth")
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "BERTH_SIM": "server-8xh100",
           "BERTH_LEDGER": str(folder / "ledger")}  # fmt: skip
    (folder / "ledger").mkdir()
    (folder / "ledger").chmod(0o1777)
    theirs = env | {"HOME": str(folder / "theirs")}
    ours = env | {"HOME": str(folder / "ours")}
    for uid, home in ((OTHER, theirs), (VIEWER, ours)):
        os.mkdir(home["HOME"])
        os.chown(home["HOME"], uid, uid)
    running = subprocess.Popen([*words_as(OTHER), berth, "run", "-q", "--", "sleep", "600"], env=theirs)
    try:
        def leases():
            done = subprocess.run([*words_as(VIEWER), berth, "leases", "--json"], env=ours, capture_output=True, text=True)
            return [lease for lease in json.loads(done.stdout)["leases"] if lease.get("run")]

        wait_until(leases, "the lease can be read by the other user")
        run = leases()[0]["run"]
        for verb in (["stop", run], ["wait", run]):
            done = subprocess.run([*words_as(VIEWER), berth, *verb], env=ours, capture_output=True, text=True)
            assert done.returncode != 0 and f"{run} is " in done.stderr and str(OTHER) in done.stderr, done
        done = subprocess.run([*words_as(VIEWER), berth, "exec", run, "--", "echo", "used"], env=ours, capture_output=True,
                              text=True)
        assert done.returncode == 125 and "used" not in done.stdout and "you hold no lease" in done.stderr, done
        assert running.poll() is None
    finally:
        subprocess.run([*words_as(OTHER), berth, "stop", "--all", "-q", "--grace", "0s"], env=theirs, check=False)
        end(running)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(not IS_ROOT, reason="mounting /proc with hidepid: only root can")
@pytest.mark.parametrize(("option", "is_shown"), [("hidepid=0", True), ("hidepid=1", False), ("hidepid=2", False)])
def test_what_proc_hides_of_a_job_does_not_stand_in_the_ledger_either(option, is_shown):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-shared-"))
    folder.chmod(0o777)
    ledger, home = folder / "ledger", folder / "home"
    for path, mode in ((ledger, 0o1777), (home, 0o700)):
        path.mkdir()
        path.chmod(mode)
    os.chown(home, OTHER, OTHER)
    berth = shutil.copy(BERTH, folder / "berth")
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "BERTH_SIM": "server-8xh100", "BERTH_LEDGER": str(ledger),
           "HOME": str(home)}
    hiding = ["unshare", "-m", "sh", "-c", f'mount -t proc -o {option} proc /proc && exec "$@"', "sh"]
    script = f"cat {ledger}/.new-sim-server-8xh100/lease-*; {berth} leases"
    try:
        done = subprocess.run([*hiding, *words_as(OTHER), berth, "run", "-q", "--", "sh", "-c", script, "telltale"], env=env, capture_output=True, text=True, timeout=60, cwd="/")
        assert "berth-lease" in done.stdout and done.returncode == 0, done
        assert ("telltale" in done.stdout) == is_shown, done
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def viewer_of():
    """viewer_of(pids): a machine with these processes, seen by an ordinary user."""
    folders = []

    def make(pids):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-viewer-"))
        folders.append(folder)
        machine = FakeDriver(folder, busy_machine(pids))
        # An ordinary user may not reach what root has built where only root may go.
        machine.berth = folder / "berth"
        shutil.copy(BERTH, machine.berth)
        machine.env["BERTH_NVML"] = str(shutil.copy(fake_library(), folder))
        if IS_ROOT:
            for path in (folder, *folder.iterdir()):
                os.chown(path, VIEWER, VIEWER)
        return machine

    yield make
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def seen_by(machine, *words, wrapped=()):
    as_viewer = words_as(VIEWER) if IS_ROOT else []
    return subprocess.run(
        [*wrapped, *as_viewer, machine.berth, *words], env=machine.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=30, check=False, cwd="/",
    )


def row_of(done, pid):
    assert done.returncode == 0, done.stderr
    [row] = [row for row in json.loads(done.stdout)["processes"] if row["pid"] == pid]
    return row


def test_another_users_process_is_shown_with_its_owner(viewer_of, theirs):
    machine = viewer_of([theirs, os.getpid()])
    row = row_of(seen_by(machine, "ps", "--json"), theirs)
    assert row["presence"] == "alive"
    assert row["process"]["uid"] == OTHER
    assert row["process"]["command"], "its command line is open to everybody"
    shown = seen_by(machine, "ps", "-u", str(OTHER)).stdout
    assert f" {theirs} " in shown and f" {os.getpid()} " not in shown


def test_what_may_not_be_looked_into_is_counted(viewer_of, theirs):
    answer = json.loads(seen_by(viewer_of([theirs]), "ps", "--json").stdout)
    assert answer["unreadable_processes"] > 0, "others' open files are theirs"


@pytest.mark.skipif(not IS_ROOT, reason="mounting /proc with hidepid: only root can")
@pytest.mark.parametrize("hidepid", [1, 2])
def test_what_proc_hides_is_said_and_not_guessed(viewer_of, theirs, hidepid):
    machine = viewer_of([theirs])
    hiding = ["unshare", "-m", "sh", "-c",
              f'mount -t proc -o hidepid={hidepid} proc /proc && exec "$@"', "sh"]
    row = row_of(seen_by(machine, "ps", "--json", wrapped=hiding), theirs)
    process = row["process"]
    assert row["presence"] != "gone"
    for key in ("command", "state", "executable_name", "container"):
        assert process[key] is None and process["why"][key] == "no permission", (key, process)
    if hidepid == 1:  # the folder is there, and it has an owner
        assert process["uid"] == OTHER
    else:
        assert process["uid"] is None and row["presence"] == "hidden"
    assert row["memory_used_bytes"] == 1 << 30, "the driver tells that to everybody"
    counted = json.loads(seen_by(machine, "ps", "--json", wrapped=hiding).stdout)["unreadable_processes"]
    assert counted is None if hidepid == 2 else counted > 0, "who is not shown cannot be counted"
    text = seen_by(machine, "ps", wrapped=hiding).stdout
    assert "1 of other users cannot be looked into: /proc hides them (hidepid)" in text
    assert "sudo berth ps" in text


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_top_asks_for_no_signal_to_another_users_process(viewer_of, theirs):
    machine = viewer_of([theirs])
    terminal = Tmux(machine, 100, 30)
    try:
        as_viewer = " ".join(words_as(VIEWER)) if IS_ROOT else ""
        terminal.shell(f"{as_viewer} {machine.berth} top")
        terminal.until("berth top", f" {theirs} ")
        owner = "root" if OTHER == 0 else str(OTHER)
        terminal.type("kk")
        terminal.until(f"process {theirs} belongs to {owner}: only they and root may do that")
        terminal.type("y")
        terminal.type("z")
        terminal.until(lambda text: "y/n" not in text)
        assert os.path.exists(f"/proc/{theirs}"), "it was hit"
    finally:
        terminal.close()
