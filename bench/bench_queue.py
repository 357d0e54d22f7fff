"""`berth run -q --wait -- sleep 0.02` on the simulated server, 10 to 500 at a time: how many end per second, and how
many of them otherwise than with 0. Each number is taken by turns with the others, in each round anew.

"At a time": that many launchers are alive from the first to the last of the runs that are timed; each that ends is
followed by another. "At once": all are started, and none follows.

BERTH_BENCH_AT_A_TIME (10,50,100,300,500) and BERTH_BENCH_ROUNDS (3) make it shorter."""

import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from bench_commands import BERTH

AT_A_TIME = [int(one) for one in os.environ.get("BERTH_BENCH_AT_A_TIME", "10,50,100,300,500").split(",")]
AT_ONCE = 300
ROUNDS = int(os.environ.get("BERTH_BENCH_ROUNDS", "3"))
LEAST_TIMED = 200
WORDS = [BERTH, "run", "-q", "--wait", "--", "sleep", "0.02"]


def environment(scratch):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("BERTH_", "CUDA_VISIBLE_DEVICES"))}
    return env | {"BERTH_SIM": "server-8xh100", "BERTH_LEDGER": str(scratch / "ledger"),
                  "XDG_STATE_HOME": str(scratch / "state"), "HOME": str(scratch), "LANG": "C.UTF-8"}


class Crowd:
    """Launchers that were started here and have not ended."""

    def __init__(self, env, errors):
        self.env, self.alive, self.ended, self.failed = env, set(), 0, 0
        self.files = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                      (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                      (os.POSIX_SPAWN_OPEN, 2, str(errors), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)]

    def start(self, count=1):
        for _ in range(count):
            self.alive.add(os.posix_spawn(BERTH, WORDS, self.env, file_actions=self.files))

    def wait_for_one(self):
        pid, status = os.wait()
        self.alive.remove(pid)
        self.ended += 1
        self.failed += status != 0

    def drain(self):
        while self.alive:
            self.wait_for_one()


def closed_loop(crowd, at_a_time):
    """Runs per second that end with 0, while so many are alive."""
    timed = max(LEAST_TIMED, at_a_time)
    crowd.start(at_a_time)

    def until(ended):
        while crowd.ended < ended:
            crowd.wait_for_one()
            crowd.start()

    # The first start all at once, which is measured by itself: until most of them wait, nothing is timed.
    until(at_a_time // 2)
    began, failed = time.monotonic(), crowd.failed
    until(at_a_time // 2 + timed)
    rate = (timed - (crowd.failed - failed)) / (time.monotonic() - began)
    crowd.drain()
    return rate


def all_at_once(crowd):
    began = time.monotonic()
    crowd.start(AT_ONCE)
    crowd.drain()
    return (crowd.ended - crowd.failed) / (time.monotonic() - began)


def measure(how, *words):
    """(runs per second, how many ended otherwise than with 0)"""
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        crowd = Crowd(environment(scratch), scratch / "errors")
        rate = how(crowd, *words)
        if crowd.failed:
            said = (scratch / "errors").read_text(encoding="utf-8", errors="replace")
            print(f"{crowd.failed} of {crowd.ended} failed: {said[-600:]}", file=sys.stderr)
        return rate, crowd.failed


def tell(name, unit, values, limit=None):
    values = sorted(values)
    print(json.dumps({"name": name, "unit": unit, "value": statistics.median(values), "low": values[0],
                      "high": values[-1], "floor": None, "limit": limit, "runs": len(values)}), flush=True)


def main():
    rates = {at_a_time: [] for at_a_time in AT_A_TIME}
    at_once, failed = [], 0
    for _ in range(ROUNDS):
        for at_a_time in AT_A_TIME:
            rate, bad = measure(closed_loop, at_a_time)
            print(f"{at_a_time} at a time: {rate:.1f}/s, {bad} failed", file=sys.stderr)
            rates[at_a_time].append(rate)
            failed += bad
        rate, bad = measure(all_at_once)
        print(f"{AT_ONCE} at once: {rate:.1f}/s, {bad} failed", file=sys.stderr)
        at_once.append(rate)
        failed += bad
    for at_a_time, seen in rates.items():
        tell(f"`berth run -q --wait -- sleep 0.02` on 8 simulated devices, {at_a_time} at a time", "/s", seen)
    tell(f"the same, {AT_ONCE} started at once", "/s", at_once)
    few, many = min(rates), max(rates)
    # A share of at least one half, the other way up: what is held here are upper bounds.
    tell(f"of these, the rate of {few} at a time by that of {many}", "",
         [one / other for one, other in zip(rates[few], rates[many])], limit=2)
    tell("of these, runs that failed", "", [failed], limit=0)


if __name__ == "__main__":
    sys.exit(main())
