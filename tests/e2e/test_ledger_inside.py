"""A ledger that is bind-mounted into a container: another PID namespace, and users as numbered outside, or not."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from aftermath import leases, poll
from conftest import BERTH, FakeDriver, children, end, scenario, wait_until


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


@pytest.fixture
def shared():
    """A folder that every account reaches, with the program and a ledger for all."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-shared-"))
    folder.chmod(0o777)
    shutil.copy(BERTH, folder / "berth")
    for name in ("ledger", "inside"):
        (folder / name).mkdir()
        (folder / name).chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def test_a_lease_taken_inside_is_that_accounts_outside(shared):
    user = 1000
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "BERTH_SIM": "server-8xh100", "HOME": str(shared)}
    script = (f"mount --bind {shared}/ledger {shared}/inside && exec setpriv --reuid={user} --regid={user} "
              f"--clear-groups {shared}/berth run -q -- sleep 300")
    inside = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", script],
                              env=env | {"BERTH_LEDGER": str(shared / "inside")}, stdin=subprocess.DEVNULL)

    def told():
        done = subprocess.run([shared / "berth", "leases", "--json"], env=env | {"BERTH_LEDGER": str(shared / "ledger")},
                              text=True, capture_output=True, check=False, timeout=60)
        return [one for one in json.loads(done.stdout)["leases"] if one.get("uid") == user]
    try:
        [lease] = wait_until(told, "a lease of that account's is seen outside")
        assert lease["devices"] and lease["run"], lease
    finally:
        for first in children(inside.pid):  # who has changed its user outlives its parent
            os.kill(first, signal.SIGKILL)
        end(inside)
    poll(told, 30, "a lease whose namespace has gone")


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
    assert "in this container others' leases cannot be seen. Start it with -v /run/berth:/run/berth" in done.stderr
