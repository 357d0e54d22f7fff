"""What a test's machine reads of the real one: no home, ledger or configuration of the people who use that."""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess

import pytest

from conftest import wait_until

CALLS = "trace=open,openat,openat2,stat,statx,newfstatat,mkdir,mkdirat,connect"
OF_THE_MACHINE = ("/run/berth", "/var/lib/berth", "/etc/berth")
# A look at where a directory lies, on the way to one that the test has.
ON_THE_WAY = ("/tmp", "/var/tmp")


def traced(machine, *words):
    calls = machine.directory / "calls"
    return calls, ["strace", "-f", "-qq", "-s", "300", "-e", CALLS, "-o", calls, *machine.command(*words)]


def paths_in(calls, machine):
    """Paths of people and of the machine's own berth that were looked at, but for those of the test."""
    homes = {one.pw_dir for one in pwd.getpwall() if one.pw_uid == 0 or one.pw_uid >= 1000} - {"/", "/nonexistent"}
    watched = tuple(sorted(homes)) + OF_THE_MACHINE + ("/home",)
    program = str(pathlib.Path(machine.command()[0]).parent)
    own = (str(machine.directory), program, *ON_THE_WAY)
    seen = set(re.findall(r'"(/[^"]*)"', calls.read_text(errors="replace")))
    return sorted(path for path in seen if path.startswith(watched) and not path.startswith(own))


@pytest.fixture(autouse=True)
def can_trace():
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    if subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode:
        pytest.skip("strace may not trace here")


@pytest.mark.parametrize("words", [["status"], ["ps"], ["runs"], ["queue"], ["leases"], ["config"],
                                   ["idle"], ["run", "--", "true"]], ids=lambda words: words[0])
def test_a_verb_reads_nothing_of_the_machines_people(machine, words):
    calls, command = traced(machine, *words)
    done = subprocess.run(command, env=machine.environment({"PATH": "/usr/bin:/bin"}), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert str(machine.directory) in calls.read_text(errors="replace"), "nothing was traced"
    assert paths_in(calls, machine) == []


def test_a_server_reads_nothing_of_the_machines_people(machine):
    socket = machine.directory / "serve.sock"
    calls, command = traced(machine, "serve", "--listen", "none", "--socket", socket)
    server = subprocess.Popen(command, env=machine.environment({"PATH": "/usr/bin:/bin"}), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(socket.exists, "it listens", timeout=120)
        for path in ("runs", "overview"):
            got = subprocess.run(["curl", "-s", "--unix-socket", socket, f"http://localhost/api/v1/{path}"],
                                 capture_output=True, timeout=120, check=False)
            assert got.returncode == 0 and got.stdout.startswith(b"{"), (path, got)
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # a killed strace leaves what it traces
        server.wait()
    assert paths_in(calls, machine) == []
