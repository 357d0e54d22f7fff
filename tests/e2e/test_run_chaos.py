"""Runs whose launcher, heir, keeper, sampler or job is killed at a random moment: no device is given away
while a process of its job lives, no lease outlives its job, every record is readable."""

import collections
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from aftermath import Tokens, assert_nothing_left, parts_of

LONG = bool(os.environ.get("BERTH_LONG"))
RUNS = 1000 if LONG else 60
AT_ONCE = 10
PARTS = ("launcher", "heir", "keeper", "sampler", "job")
LONGEST_DELAY = 0.15
# What a killed job leaves behind lives long enough to be met by the next on its device.
SURVIVOR_LASTS = 1.0
GIVE_UP = 60
# Few enough that the next in line takes at once what a job seems to have left.
DEVICES = "3,4,5"
NO_DEVICE_CAME = 124


def wait_for_part(launcher, part):
    """The part's pid as soon as it exists; None: the run ended without it."""
    while launcher.poll() is None:
        if victim := parts_of(launcher.pid).get(part):
            return victim
        time.sleep(0.001)
    return None


def kill_part(launcher, part, since, delay):
    """Kills the part so long after the launch, or after its own birth. What was killed, or
    "nothing": it had ended before."""
    if since == "launch":
        time.sleep(delay)
    victim = wait_for_part(launcher, part)
    if since == "birth":
        time.sleep(delay)
    if launcher.poll() is not None or parts_of(launcher.pid).get(part) != victim:
        return "nothing"
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        return "nothing"
    return part


def choose(dice):
    """(devices, how long the job lasts, the part to kill, since when, after so many seconds)"""
    part = dice.choice(PARTS)
    seconds = SURVIVOR_LASTS if part == "job" else round(dice.uniform(0.02, 0.4), 2)
    # While it waits in the queue a run has no job yet: many would be killed as they are born.
    since = dice.choice(("launch", "birth"))
    return dice.choice((1, 1, 1, 2, 3)), seconds, part, since, dice.uniform(0, LONGEST_DELAY)


def chaotic_run(machine, tokens, choice):
    devices, seconds, *kill = choice
    job = tokens.job(seconds)
    launcher = machine.start(
        "run", "-q", "--wait=60s", "--only", DEVICES, "-n", devices, "--", *job,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    killed = kill_part(launcher, *kill)
    try:
        launcher.wait(timeout=GIVE_UP)
    except subprocess.TimeoutExpired:
        launcher.kill()
        return "hung"
    return "sent away" if launcher.returncode == NO_DEVICE_CAME else killed


def test_runs_killed_at_random_moments_share_no_device_and_leave_nothing(machine):
    seed = int(os.environ.get("BERTH_SEED") or random.SystemRandom().randrange(10**9))
    print(f"BERTH_SEED={seed}")
    dice = random.Random(seed)
    tokens = Tokens(machine.directory)
    choices = [choose(dice) for _ in range(RUNS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        killed = collections.Counter(
            pool.map(lambda choice: chaotic_run(machine, tokens, choice), choices)
        )
    print(f"killed: {dict(killed)}; jobs started: {len(tokens.started())} of {RUNS}")
    states = assert_nothing_left(machine, tokens)
    print(f"records: {dict(collections.Counter(states.values()))}")
    assert killed["hung"] == killed["sent away"] == 0, killed
    assert all(killed[part] for part in PARTS), killed
    assert len(tokens.started()) > RUNS / 5
