"""Each system call of each process of a run as the moment at which it is killed."""

import os
import threading

import pytest

import kill_points
from aftermath import Tokens, assert_nothing_left, leases, poll, runs
from kill_points import Tree

LONG = bool(os.environ.get("BERTH_LONG"))
LAUNCHER = ()
JOB_LASTS = 0.05
JOB_CODE = 7
# The next in line must not wait long for a device whose job has been killed.
NEXT_STARTS_WITHIN = 15

pytestmark = pytest.mark.skipif(
    bool(kill_points.reason_to_skip()), reason=f"kill points: {kill_points.reason_to_skip()}"
)


def spread(count, points):
    """Numbers from 1 to count: all of them in the long tests, else so many, the ends included."""
    if LONG or count <= points:
        return range(1, count + 1)
    return sorted({1 + round(at * (count - 1) / (points - 1)) for at in range(points)})


def keeper_of(tree):
    """The job is the one that became another program below launcher, heir and keeper."""
    [keeper] = [place[:-1] for place in tree.executed if len(place) == 3]
    return keeper


class Stage:
    """A run on device 3, killed somewhere, and a second one that waits for the same device."""

    def __init__(self, machine):
        self.machine = machine
        self.keepers = set()
        self.tokens = Tokens(machine.directory)
        words = ("run", "-q", "--only", "3", "--wait=20s", "--")
        self.command = machine.command(*words, *self.tokens.job(JOB_LASTS, JOB_CODE))
        self.next = machine.command(*words, *self.tokens.job(JOB_LASTS))

    def learn(self):
        tree = Tree(self.command, self.machine.env)
        assert tree.command.returncode == JOB_CODE
        self.keepers = {keeper_of(tree), keeper_of(tree)[:-1]}
        return tree

    def kill(self, victim, at):
        second = []
        had_started = len(self.tokens.started())
        had_ended = self.ended_by_code()
        tree = Tree(
            self.command, self.machine.env, victim, at,
            on_killed=lambda tree: second.append(tree.start_other(self.next, self.machine.env)),
        )
        where = f"process {victim} killed at its system call {at}"
        for one in second:
            assert one.returncode == 0, f"{where}: the next run ended with {one.returncode}"
        assert self.tokens.collisions() == [], where
        poll(lambda: leases(self.machine), NEXT_STARTS_WITHIN, f"{where}: leases are left")
        if victim in self.keepers:
            started = len(self.tokens.started()) - had_started - len(second)
            assert tree.command.returncode == (JOB_CODE if started else 125), where
            poll(lambda: self.ended_by_code() != had_ended + started, 10, f"{where}: the record knows no end")
        return tree.was_killed

    def ended_by_code(self):
        """How many records say that the job ended with its code."""
        ends = [run.get("end") for run in runs(self.machine)["runs"]]
        return sum(1 for end in ends if end and end["known"] and end["exit_code"] == JOB_CODE)


def kill_at_each(stage, victim, count, points):
    killed = sum(stage.kill(victim, at) for at in spread(count, points))
    print(f"process {victim}: killed at {killed} of its {count} system calls")
    return killed


def test_launcher_killed_at_any_system_call(machine):
    stage = Stage(machine)
    count = stage.learn().calls[LAUNCHER]
    assert kill_at_each(stage, LAUNCHER, count, 25) >= 10
    assert_nothing_left(machine, stage.tokens)


def test_keeper_killed_at_any_system_call(machine):
    stage = Stage(machine)
    tree = stage.learn()
    keeper = keeper_of(tree)
    assert kill_at_each(stage, keeper, tree.calls[keeper], 25) >= 10
    assert_nothing_left(machine, stage.tokens)


def test_heir_killed_at_any_system_call(machine):
    stage = Stage(machine)
    tree = stage.learn()
    heir = keeper_of(tree)[:-1]
    assert kill_at_each(stage, heir, tree.calls[heir], 25) >= 10
    assert_nothing_left(machine, stage.tokens)


def test_the_others_killed_at_any_system_call(machine):
    """The job before its exec, the sampler, and any others that there are."""
    stage = Stage(machine)
    tree = stage.learn()
    keeper = keeper_of(tree)
    others = [place for place in tree.calls if place not in (LAUNCHER, keeper, keeper[:-1])]
    assert len(others) >= 2, tree.calls
    for place in others:
        kill_at_each(stage, place, tree.calls[place], 5)
    assert_nothing_left(machine, stage.tokens)


def test_waiter_killed_at_any_system_call(machine):
    stage = Stage(machine)
    hold = machine.directory / "hold"

    def with_device_taken(act):
        hold.touch()
        holder = machine.start("run", "-q", "--only", "3", "--", "sh", "-c",
                               f"while [ -e {hold} ]; do sleep 0.01; done", stdout=None, stderr=None)
        poll(lambda: not leases(machine), 30, "the holder has no lease")
        release = threading.Timer(0.15, hold.unlink)
        release.start()
        try:
            return act()  # each wait in it has its own patience
        finally:
            release.join()
            holder.wait(timeout=30)

    count = with_device_taken(stage.learn).calls[LAUNCHER]
    points = spread(count, 15)
    killed = sum(with_device_taken(lambda at=at: stage.kill(LAUNCHER, at)) for at in points)
    print(f"waiter: killed at {killed} of its {count} system calls")
    assert killed >= 5
    assert_nothing_left(machine, stage.tokens)
