"""Runs of five users whose processes are killed and stopped at random moments. No device is given twice, and no run
that was left alone fails. What stays behind is bounded.

250 runs, a few at a time, as in `./dev test`. With BERTH_LONG 2,000, and 500 launchers at once. BERTH_SEED repeats the
choices that were made, but not the moments."""

import collections
import contextlib
import json
import os
import pathlib
import random
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from aftermath import poll
from conftest import end
from storm import IS_ROOT, USERS, LeftStopped, Storm, Watcher, plan

LONG = bool(os.environ.get("BERTH_LONG"))
# (runs, so many of them at once)
STORMS = [(2000, 60), (500, 500)] if LONG else [(250, 24)]
if "BERTH_STORM_RUNS" in os.environ:
    STORMS = [(int(os.environ["BERTH_STORM_RUNS"]), int(os.environ.get("BERTH_STORM_AT_ONCE", "24")))]
GIVE_UP = 3600 if LONG else 600
# Dead leases, tickets, half-written files and what belongs to them, of one user.
MOST_LEFT = 16


@pytest.fixture
def storm():
    made = Storm()
    yield made
    made.remove()


def one_run(storm, left_stopped, until, number, planned):
    """(what was done to it, exit code, what it said)"""
    uid, options, kind, milliseconds, gib, hit = planned
    said = storm.home(uid) / f"said-{number}"
    with open(said, "w+", encoding="utf-8") as errors:
        process = storm.start(uid, "run", "-q", "--wait", *options, "--", *storm.job(kind, milliseconds, gib), stderr=errors)
        if hit:
            hit.strike(storm, process, left_stopped)
        try:
            code = process.wait(timeout=max(1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = "hung"
        errors.seek(0)
        return (hit.done if hit else "nothing"), code, errors.read()


def let_go_at_the_end(left_stopped, ended, runs):
    """Stopped processes are continued when nobody else is left."""
    while ended.counted < runs - len(left_stopped.pids) and not ended.over.wait(0.1):
        pass
    left_stopped.go_on()


class Ended:
    def __init__(self):
        self.counted, self.over, self._lock = 0, threading.Event(), threading.Lock()

    def count(self, answer):
        with self._lock:
            self.counted += 1
        return answer


def answers_of(storm, planned, at_once):
    left_stopped, ended, until = LeftStopped(), Ended(), time.monotonic() + GIVE_UP
    freeing = threading.Thread(target=let_go_at_the_end, args=(left_stopped, ended, len(planned)))
    freeing.start()
    try:
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(
                lambda one: ended.count(one_run(storm, left_stopped, until, *one)), enumerate(planned)
            ))
    finally:
        ended.over.set()
        freeing.join()
        left_stopped.go_on()


def nothing_goes_on(storm):
    going = []
    for pid in storm.processes():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            going.append(f"{pid} {pathlib.Path(f'/proc/{pid}/cmdline').read_text(encoding='utf-8')}")
    return going


def is_wrong(done, code, _):
    """A run that was not killed gets its device, however much is stopped and killed beside it. A run that lost only its
    sampler or its listener goes on as if nothing were."""
    how, _, part = done.partition(" ")
    spared = "kill" not in how
    return code == "hung" or (spared and code != 0) or (part in ("sampler", "listener") and code != 0)


def too_many(by_owner):
    return {uid: len(names) for uid, names in by_owner.items() if len(names) > MOST_LEFT}


def records_of(storm, uid):
    listed = storm.start(uid, "runs", "--json", "-n", "100000", stdout=subprocess.PIPE)
    return json.loads(listed.communicate()[0])


@pytest.mark.parametrize(("runs", "at_once"), STORMS)
@pytest.mark.parametrize("users", [pytest.param(len(USERS), id=f"{len(USERS)}_users")])
def test_runs_under_kills_and_stops_share_no_device_and_leave_nothing(storm, users, runs, at_once):
    assert users == (5 if IS_ROOT else 1)
    seed = int(os.environ.get("BERTH_SEED") or random.SystemRandom().randrange(10**9))
    print(f"BERTH_SEED={seed}")
    watcher = Watcher(storm.marks)
    watcher.start()
    began = time.monotonic()
    planned = plan(seed, runs)
    answers = answers_of(storm, planned, at_once)
    print(f"{runs} runs in {time.monotonic() - began:.0f} s; {dict(collections.Counter(done for done, *_ in answers))}")
    poll(lambda: nothing_goes_on(storm), 90, "processes are left over")
    watcher.end()
    left, half = storm.ledger_files(), storm.half_records()
    print(f"left in the ledger: { {uid: len(names) for uid, names in left.items()} }; half records: {half}")
    wrong = [one for one in answers if is_wrong(*one)]
    kinds = dict(line.split() for line in storm.lines("started"))
    found = {
        "devices given twice, as seen by a watcher": [(device, [(kinds[run], run, gib) for run, gib in on_it])
                                                      for device, on_it in watcher.found],
        "devices given twice, as seen by the jobs": storm.lines("collisions"),
        "runs that failed by no fault of their own": [len(wrong), *wrong[:5]] if wrong else [],
        "more files left in the ledger than are bounded": too_many(left),
        "more half-made records than are bounded": too_many(half),
    }
    assert not any(found.values()), {what: seen for what, seen in found.items() if seen}
    assert watcher.looks > 0 and len(storm.lines("started")) > runs / 2
    # The claims: so many launchers, some of each user, and each part of a run hit in each way.
    assert len(answers) == runs and {uid for uid, *_ in planned} == set(USERS)
    struck = {tuple(done.split()) for done, *_ in answers if done != "nothing"}
    assert {how for how, _ in struck} >= {"kill", "stop", "stop-kill"}, struck
    assert {part for _, part in struck} >= {"launcher", "waiter", "heir", "keeper", "sampler", "job"}, struck
    for uid in USERS:
        assert storm.start(uid, "run", "-q", "--", "true").wait(timeout=60) == 0
        listed = records_of(storm, uid)
        assert not listed.get("problems"), listed["problems"]
        assert {run["state"] for run in listed["runs"]} <= {"ended", "end unknown"}
    assert not any(storm.ledger_files().values()), "what is bounded goes with each user's next run"


def how_it_ended(process):
    said = process.communicate(timeout=GIVE_UP)[1]
    return process.returncode, said


def lane(storm, uid):
    """What goes wrong with several runs of 0.1 s after one another."""
    runs = (storm.start(uid, "run", "-q", "--wait", "--", "sleep", "0.1", stderr=subprocess.PIPE) for _ in range(4 if LONG else 2))
    return [answer for answer in (how_it_ended(one) for one in runs) if answer != (0, "")]


def test_a_hundred_at_a_time_beside_busy_loops_all_get_their_turn(storm):
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3)]
    try:
        with ThreadPoolExecutor(100) as lanes:
            failed = sum(lanes.map(lambda number: lane(storm, USERS[number % len(USERS)]), range(100)), [])
        assert not failed, f"{len(failed)}: {failed[:2]}"
    finally:
        for loop in busy:
            end(loop)
