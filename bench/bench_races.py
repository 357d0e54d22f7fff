"""500 processes that ask for 8 devices of a made-up machine at once, without `berth run`. With and without inotify,
and with a head of the queue that is stopped. What all waiters together cost, from tests/stress/lease_stress. A broken
promise there exits with 1."""

import json
import os
import pathlib
import re
import subprocess
import sys

STRESS = pathlib.Path(os.environ["BERTH_BUILD"]) / "tests/stress/lease_stress"


def shown(*words):
    done = subprocess.run([STRESS, *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stdout}")
    print(done.stdout, file=sys.stderr, end="")
    return done.stdout


def tell(name, unit, value, limit):
    print(json.dumps({"name": name, "unit": unit, "value": value, "low": value, "high": value,
                      "floor": None, "limit": limit, "runs": 1}), flush=True)


def main():
    for verb, name in (("race", "500 processes ask for 8 devices at once, CPU of all"),
                       ("race-without-inotify", "the same with no inotify instance left")):
        text = shown(verb, "500", "30")
        tell(name, "s", float(re.search(r"([\d.]+) s CPU", text).group(1)), 10)


if __name__ == "__main__":
    sys.exit(main())
