"""`berth run -- apptainer …` with the real one: no daemon, so what it starts has the run's lease, variables and end."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

import pytest

from aftermath import leases, poll, show
from conftest import ROOT, Machine, wait_until
from engines import base_image

PEER = ROOT / "build/peers/apptainer"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Folders to make containers of, where one runs here."""
    if not (PEER / "usr/bin/apptainer").exists():
        pytest.skip(f"no apptainer in {PEER.relative_to(ROOT)}: ./dev test --long unpacks it")
    folder = tmp_path_factory.mktemp("apptainer")
    base_image(folder)
    for name in ("etc", "var/tmp", "root", "home", ".singularity.d/actions"):
        (folder / "root" / name).mkdir(parents=True)
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (folder / "root/etc" / name).touch()
    start = folder / "root/.singularity.d/actions/start"  # as the images that it builds have it
    start.write_text("#!/bin/sh\nexec /bin/sleep 300\n")
    start.chmod(0o755)
    tried = subprocess.run(apptainer("exec", folder / "root", "true"), env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
                           capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"apptainer does not run here: {tried.stderr[-400:]}")
    return folder / "root"


def apptainer(verb, *words):
    # Not all of root's rights are there to be handed on.
    rights = ("--no-privs",) if os.geteuid() == 0 and verb in ("exec", "start") else ()
    verbs = ("instance", "start") if verb == "start" else (verb,)
    return [str(PEER / "usr/bin/apptainer"), "--silent", *verbs, *rights, *map(str, words)]


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    made.env["HOME"] = str(tmp_path)
    yield made
    made.run("stop", "last", "--grace", "0s")


def in_container(root, *words):
    return ("--", *apptainer("exec", root, *words))


def sleepers(length):
    """Processes that run `sleep LENGTH`."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"sleep") and words[1:2] == [str(length).encode()]:
                found.append(entry.name)
    return found


def test_its_variables_and_its_end_are_the_jobs(machine, root):
    done = machine.run("run", "-n", "2", *in_container(root, "/bin/sh", "-c", "echo cards $CUDA_VISIBLE_DEVICES; exit 7"))
    assert done.returncode == 7, done.stderr
    given = [device["index"] for device in show(machine)["given"]["devices"]]
    assert done.stdout == f"cards {','.join(map(str, given))}\n"
    assert not leases(machine)


def test_stop_asks_what_runs_inside(machine, root):
    script = "trap 'echo asked; exit 3' TERM; echo begun; while :; do sleep 0.05; done"
    run = machine.start("run", *in_container(root, "/bin/sh", "-c", script))
    assert run.stdout.readline() == "begun\n"
    assert leases(machine)
    assert machine.run("stop", "last").returncode == 0
    said, _ = run.communicate(timeout=60)
    assert "asked" in said
    assert show(machine)["end"]["because"] == "stopped" and not leases(machine)


def test_what_outlives_a_killed_apptainer_keeps_the_lease(machine, root, tmp_path):
    length = 100_000 + os.getpid()  # nobody else's
    run = machine.start("run", *in_container(root, "/bin/sh", "-c", f"sleep {length} & echo begun; wait"))
    assert run.stdout.readline() == "begun\n"
    wait_until(lambda: sleepers(length), "it sleeps")
    os.kill(show(machine)["job"]["pid"], signal.SIGKILL)
    # What it started goes with it, or lives: the lease does the same, whatever the record says.
    assert run.wait(timeout=60) == -signal.SIGKILL
    held = leases(machine)
    assert held or not sleepers(length), "the lease has gone while the container computes on"
    poll(lambda: bool(leases(machine)) != bool(sleepers(length)), 30, "a lease that says otherwise")
    machine.run("stop", "last", "--grace", "1s")
    wait_until(lambda: not sleepers(length), "its end")
    poll(lambda: leases(machine), 30, "the lease of a stopped run")


def test_an_instance_holds_the_lease_until_it_is_stopped(machine, root):
    done = machine.run("run", "--", *apptainer("start", root, "mine"))
    if done.returncode != 0:
        pytest.skip(f"no instance can be started here: {done.stderr[-300:]}")
    assert leases(machine)
    listed = subprocess.run([str(PEER / "usr/bin/apptainer"), "instance", "list", "--json"], env=machine.env, text=True,
                            capture_output=True, check=True)
    [instance] = json.loads(listed.stdout)["instances"]
    assert os.path.exists(f"/proc/{instance['pid']}")
    assert machine.run("stop", "last", "--grace", "1s", timeout=60).returncode == 0
    wait_until(lambda: not os.path.exists(f"/proc/{instance['pid']}"), "the instance's end")
    assert not leases(machine)
