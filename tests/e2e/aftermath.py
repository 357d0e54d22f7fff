"""What must hold on a machine after whatever happened to its runs.

The jobs themselves prove exclusivity, outside the ledger. Each flocks one file per device that it was given, by a
descriptor that its children inherit. Such a token lasts exactly as long as any process of the job, however it ends."""

import json
import os
import pathlib
import time

from conftest import pause_before_asking_again

# A process that has just ended may still hold its token: it closes the lease first, then the token. Hence the moment's
# patience.
TOKEN_JOB = """#!/bin/sh
cd "$1" || exit 99
echo "$BERTH_RUN" >> started
descriptor=3
IFS=,
for device in $CUDA_VISIBLE_DEVICES; do
  eval "exec $descriptor>>device-$device"
  flock -w 0.05 $descriptor || echo "$BERTH_RUN on device $device" >> collisions
  descriptor=$((descriptor + 1))
done
sleep "$2"
exit "${3:-0}"
"""


class Tokens:
    """The tokens of one machine, and the job that takes them."""

    def __init__(self, directory):
        self.directory = directory / "tokens"
        self.directory.mkdir()
        self.script = self.directory / "job"
        self.script.write_text(TOKEN_JOB)

    def job(self, seconds, code=0):
        return ["sh", self.script, self.directory, str(seconds), str(code)]

    def _lines(self, name):
        file = self.directory / name
        return file.read_text().split("\n")[:-1] if file.exists() else []

    def started(self):
        return self._lines("started")

    def collisions(self):
        return self._lines("collisions")


def poll(claim, seconds, what):
    """Asks repeatedly; the last answer is in the failure's message."""
    end = time.monotonic() + seconds
    while True:
        asked_at = time.monotonic()
        answer = claim()
        if not answer:
            return
        assert time.monotonic() < end, f"{what}, after {seconds} s still: {answer}"
        pause_before_asking_again(asked_at)


def waits_for(path):
    """A command that lasts until there is such a file."""
    return ["sh", "-c", f"until test -e {path}; do sleep 0.02; done"]


def leases(machine):
    said = json.loads(machine.run("leases", "--json").stdout)
    return said["leases"]


def queue(machine):
    return json.loads(machine.run("leases", "--json").stdout)["queue"]


def ledger_files(machine):
    return sorted(name for name in os.listdir(machine.ledger) if name != "host.lock")


def runs(machine):
    listed = machine.run("runs", "--json", "-n", "100000")
    assert listed.returncode == 0, listed.stderr
    return json.loads(listed.stdout)


def show(machine, name="last"):
    shown = machine.run("show", name, "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def processes(machine):
    """Living processes of this machine's runs: those that were started with its state directory."""
    wanted = f"XDG_STATE_HOME={machine.env['XDG_STATE_HOME']}".encode()
    found = []
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if wanted not in (directory / "environ").read_bytes().split(b"\0"):
                continue
            words = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if words:  # a zombie has none
            found.append(f"{directory.name} {words}")
    return found


def children(pid):
    try:
        return [int(one) for one in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def leader_among(pids):
    """The one that leads a session of its own."""
    for pid in pids:
        try:
            if os.getsid(pid) == pid:
                return pid
        except OSError:
            continue
    return 0


def parts_of(launcher):
    """The processes of a run under way: which of launcher, heir, keeper, sampler and job there are."""
    heir = leader_among(children(launcher))
    keeper = leader_among(children(heir))
    found = {"launcher": launcher} | {name: pid for name, pid in (("heir", heir), ("keeper", keeper)) if pid}
    for child in children(keeper):
        try:
            found["sampler" if os.getsid(child) == found["keeper"] else "job"] = child
        except OSError:
            continue
    return found


def assert_nothing_left(machine, tokens, seconds=30):
    """No process, no lease, no place in the queue, no file in the ledger; every record readable."""
    poll(lambda: leases(machine), seconds, "leases outlive their jobs")
    poll(lambda: processes(machine), seconds, "processes are left over")
    assert not queue(machine)
    # The user's next claims remove what the killed have left in the ledger. What these had not published goes a second
    # later.
    poll(lambda: machine.run("run", "-q", "--", "true").returncode != 0 or ledger_files(machine), seconds, "files are left over")
    assert tokens.collisions() == []
    listed = runs(machine)
    assert not listed.get("problems"), listed["problems"]
    states = {run["id"]: run["state"] for run in listed["runs"]}
    assert set(states.values()) <= {"ended", "end unknown"}, states
    missing = set(tokens.started()) - set(states)
    assert not missing, f"jobs ran without a record: {missing}"
    for name, state in states.items():
        assert show(machine, name)["state"] == state
    return states
