"""The ledger under real processes: the proofs of tests/stress, each one a test here.

BERTH_STRESS names the program (default: the release build's); BERTH_STRESS_JOBS makes the races
longer (default 200; 500 is the number published).
"""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(
    os.environ.get("BERTH_STRESS", ROOT / "build/release/tests/stress/lease_stress")
)
JOBS = os.environ.get("BERTH_STRESS_JOBS", "200")


def prove(*arguments, limit=120):
    """Runs one proof and returns the line it prints; a skip is passed on with its reason."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not built: `ninja lease_stress`, or set BERTH_STRESS")
    done = subprocess.run(
        [str(PROGRAM), *arguments], capture_output=True, text=True, timeout=limit, check=False
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout.strip())
    return done.stdout


def cpu_seconds(line):
    return float(re.search(r"([0-9.]+) s CPU", line).group(1))


def test_race_gives_no_device_twice_and_keeps_the_order():
    assert cpu_seconds(prove("race", JOBS)) <= 10


def test_race_works_with_no_inotify_instance_left():
    assert cpu_seconds(prove("race-without-inotify", JOBS)) <= 10


def test_stopped_head_costs_the_others_at_most_five_seconds():
    prove("stopped-head")


@pytest.mark.parametrize("who", ["kill-claimer", "kill-waiter"])
def test_every_system_call_is_a_survivable_point_of_death(who):
    prove(who)


def test_two_users_share_a_root_owned_ledger():
    line = prove("two-users")
    if "SKIPPED" in line:
        pytest.skip(line.strip())
