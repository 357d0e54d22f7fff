"""Runs whose launcher, keeper, sampler or job is killed at a random moment: no device is given away
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
PARTS = ("launcher", "keeper", "sampler", "job")
LONGEST_DELAY = 0.15
GIVE_UP = 60


def kill_part(launcher, part, delay):
    """Kills the part at that moment, or as soon as it exists. What was killed, or "nothing"."""
    time.sleep(delay)
    while launcher.poll() is None:
        victim = parts_of(launcher.pid).get(part)
        if victim:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                break
            return part
        time.sleep(0.001)
    return "nothing"


def chaotic_run(machine, tokens, choice):
    devices, part, delay, seconds = choice
    job = tokens.job(seconds)
    launcher = machine.start(
        "run", "-q", "--wait=60s", "-n", devices, "--", *job,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    killed = kill_part(launcher, part, delay)
    try:
        launcher.wait(timeout=GIVE_UP)
    except subprocess.TimeoutExpired:
        launcher.kill()
        return "hung"
    return killed


def test_runs_killed_at_random_moments_share_no_device_and_leave_nothing(machine):
    seed = int(os.environ.get("BERTH_SEED") or random.SystemRandom().randrange(10**9))
    print(f"BERTH_SEED={seed}")
    dice = random.Random(seed)
    tokens = Tokens(machine.directory)
    choices = [
        (dice.choice((1, 1, 1, 2, 3)), dice.choice(PARTS), dice.uniform(0, LONGEST_DELAY),
         round(dice.uniform(0.02, 0.4), 2))
        for _ in range(RUNS)
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        killed = collections.Counter(
            pool.map(lambda choice: chaotic_run(machine, tokens, choice), choices)
        )
    print(f"killed: {dict(killed)}; jobs started: {len(tokens.started())} of {RUNS}")
    states = assert_nothing_left(machine, tokens)
    print(f"records: {dict(collections.Counter(states.values()))}")
    assert killed["hung"] == 0, killed
    assert all(killed[part] for part in PARTS), killed
    assert len(tokens.started()) > RUNS / 5
