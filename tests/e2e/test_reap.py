"""`berth reap`: an idle lease's owner is told, then the lease is ended, by the policy alone. It never acts without
--act, never on an owner who was not told, never on one who computes."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import BERTH, FakeDriver, end, many_devices, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acting as several users: only root can")
# This process alone has these users: all their processes are killed at the end, and other files run beside it.
OWNER = 60000 + os.getpid() % 2000 * 2
OTHER = OWNER + 1
POLICY = """
[reap]
notify = ["{notify}", "told"]
notice = "1s"
[everybody]
idle_after = "1s"
idle_holders = "{what}"
"""


class Shared(FakeDriver):
    """Root's machine of two idle cards, each held by another user."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="berth-shared-"))
        self.folder.chmod(0o755)
        super().__init__(self.folder, many_devices(2))
        self.berth = shutil.copy(BERTH, self.folder / "berth")
        for path in self.folder.iterdir():
            path.chmod(0o755 if path.is_dir() or path.name == "berth" else 0o644)
        (self.folder / "ledger").mkdir()
        (self.folder / "ledger").chmod(0o1777)
        self.told = self.folder / "told.d"
        self.told.mkdir()
        self.told.chmod(0o1777)
        self.notify = self.folder / "notify"
        self.notify.write_text(f'#!/bin/sh\nid -u >"{self.told}/$BERTH_RUN.$1"; env >>"{self.told}/$BERTH_RUN.$1"\n')
        self.notify.chmod(0o755)
        self.holders = {}

    def policy(self, what, notify=None):
        etc = self.folder / "etc/berth"
        etc.mkdir(parents=True, exist_ok=True)
        (etc / "berth.toml").write_text(POLICY.format(what=what, notify=notify or self.notify))

    def hold(self, uid, card):
        home = self.folder / f"home{uid}"
        home.mkdir()
        os.chown(home, uid, uid)
        env = self.environment({"HOME": str(home), "XDG_STATE_HOME": str(home / "state"),
                                "BERTH_ETC": str(self.folder / "none")})  # a test's policy is its reader's own
        self.holders[uid] = subprocess.Popen(
            ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", self.berth, "run", "-q", "--only", str(card),
             "--", "sleep", "600"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until(lambda: self.lease_of(uid), f"{uid} holds a card")

    def lease_of(self, uid):
        listed = json.loads(self.run("leases", "--json").stdout)["leases"]
        return next((one for one in listed if one["uid"] == uid), None)

    def reap(self, *options):
        done = self.run("reap", *options)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())


@pytest.fixture
def machine():
    made = Shared()
    serve = made.start("serve", "--socket", made.folder / "serve.socket", "--listen", "none", stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    yield made
    end(serve)
    for uid, holder in made.holders.items():
        subprocess.run(["pkill", "-KILL", "-u", str(uid)], check=False)
        end(holder)
    shutil.rmtree(made.folder, ignore_errors=True)


def await_idle(machine):
    wait_until(lambda: machine.reap().count("nothing computed") == 2, "both leases are measured as idle")


def test_without_being_asked_to_act_nothing_is_done(machine):
    machine.policy("end")
    machine.hold(OWNER, 0)
    machine.hold(OTHER, 1)
    await_idle(machine)
    assert machine.reap().count("its owner would be told") == 2
    assert not list(machine.told.iterdir())
    assert machine.lease_of(OWNER) and machine.lease_of(OTHER)


def test_each_owner_is_told_as_themselves_and_then_it_is_ended(machine):
    machine.policy("end")
    machine.hold(OWNER, 0)
    machine.hold(OTHER, 1)
    await_idle(machine)
    runs = {uid: machine.lease_of(uid)["run"] for uid in (OWNER, OTHER)}
    assert machine.reap("--act").count("its owner was told now") == 2
    for uid, run in runs.items():
        said = (machine.told / f"{run}.told").read_text()
        assert said.splitlines()[0] == str(uid), "the command ran as the owner, not as root"
        assert f"BERTH_RUN={run}\n" in said and "BERTH_ENDS=" in said
    assert machine.lease_of(OWNER) and machine.lease_of(OTHER), "telling ends nothing"

    def is_over():
        machine.reap("--act")
        return not machine.lease_of(OWNER) and not machine.lease_of(OTHER)
    wait_until(is_over, "both are ended once the notice is over")
    for holder in machine.holders.values():
        assert holder.wait(60) == -signal.SIGTERM


def test_a_policy_that_only_tells_ends_nothing(machine):
    machine.policy("notify")
    machine.hold(OWNER, 0)
    machine.hold(OTHER, 1)
    await_idle(machine)
    assert "told now" in machine.reap("--act")
    for _ in range(3):
        assert machine.reap("--act").count("left as it is") == 2
    assert machine.lease_of(OWNER) and machine.lease_of(OTHER)


def test_who_cannot_be_told_is_left_alone(machine):
    machine.policy("end", notify="/nonexistent/program")
    machine.hold(OWNER, 0)
    machine.hold(OTHER, 1)
    await_idle(machine)
    assert "/nonexistent/program cannot be run here" in machine.run("reap").stderr, "said before anything is tried"
    for _ in range(2):
        done = machine.run("reap", "--act")
        assert done.returncode != 0 and done.stdout.count("could not be told") == 2, done
    assert machine.lease_of(OWNER) and machine.lease_of(OTHER)


def test_only_root_acts_and_a_forged_note_of_telling_ends_nothing(machine):
    machine.policy("end")
    machine.hold(OWNER, 0)
    machine.hold(OTHER, 1)
    await_idle(machine)
    refused = subprocess.run(
        ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", machine.berth, "reap", "--act"],
        env=machine.environment({"HOME": "/nonexistent"}), capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    note = machine.folder / "etc/berth/told"
    note.write_text("".join(f"{machine.lease_of(uid)['id']} {2**40}\n" for uid in (OWNER, OTHER)))
    os.chown(note, OTHER, OTHER)
    assert "it would be ended" not in machine.reap()
    assert machine.lease_of(OWNER) and machine.lease_of(OTHER)
