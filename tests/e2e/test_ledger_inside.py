"""A ledger that is bind-mounted into a container: another PID namespace, and users as numbered outside, or not."""

import os
import shutil
import signal
import subprocess

import pytest

from aftermath import leases, poll
from conftest import FakeDriver, children, end, scenario, wait_until


@pytest.fixture(autouse=True)
def namespaces():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root and unshare, for namespaces of its own")
    if subprocess.run(["unshare", "--pid", "--fork", "--user", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces can be made here")


def test_a_lease_taken_in_another_pid_namespace_counts_and_ends_with_it(machine):
    inside = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *machine.command("run", "-n", "1", "--",
                                                                                         "sleep", "300")],
        env=machine.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        lease = wait_until(lambda: leases(machine), "a lease taken inside is seen outside")[0]
        refused = machine.run("run", "--only", lease["devices"][0]["device"], "--", "true")
        assert refused.returncode == 124 and "leased" in refused.stderr, refused.stderr
        os.kill(children(inside.pid)[0], signal.SIGKILL)  # the namespace's first process: all in it end
        poll(lambda: leases(machine), 30, "a lease whose namespace has gone")
    finally:
        end(inside)


def test_a_ledger_of_outside_is_refused_where_users_are_numbered_anew(tmp_path, berth_binary):
    script = (f"mount -t tmpfs none /run && {berth_binary} setup >/dev/null && "
              f"unshare --user {berth_binary} run -- true")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], text=True,
                          capture_output=True, check=False, stdin=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"})
    assert done.returncode == 125, done.stderr
    assert "numbers users anew" in done.stderr


def test_in_a_container_without_the_ledger_of_outside_one_line_says_so(tmp_path):
    driver = FakeDriver(tmp_path, scenario("desktop"))
    script = 'mount -t tmpfs none /run && mount -t tmpfs none /var/tmp && touch /run/.containerenv && exec "$@"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *driver.command("run", "--", "true")],
                          env=driver.environment({"BERTH_LEDGER": None}), text=True, capture_output=True, timeout=120,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert "in this container others' leases cannot be seen: start it with -v /run/berth:/run/berth" in done.stderr
