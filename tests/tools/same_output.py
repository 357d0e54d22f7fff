#!/usr/bin/env python3
"""Holds two builds of berth against each other, byte by byte, while the clock stands still (libfaketime). It compares
every verb's text and JSON on every simulated server and every recording.

    same_output.py OLD NEW [FILE…]      FILE: recordings and dumps for --replay; 0: no difference

Servers and verbs are those that the programs name.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CLOCK = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
FIRST = "server-8xh100"
# What a verb shows of the devices, beyond itself and --json.
LOOKS = [
    [], ["--json"], ["status", "--csv"], ["gpustat", "-cpu"], ["smi", "-L"], ["smi", "-q"], ["smi", "-q", "-x"], ["smi", "topo", "-m"], ["smi", "nvlink", "-s"],
    ["smi", "dmon", "-c", "1"], ["smi", "pmon", "-c", "1"], ["smi", "--query-compute-apps=pid,name,used_memory", "--format=csv"],
    ["smi", "--query-gpu=index,name,uuid,memory.used,power.draw,temperature.gpu,ecc.mode.current", "--format=csv"],
]  # fmt: skip
MORE = [
    ["pick", "-n", "2", "--format", "json"], ["pick", "--memory", "10G"], ["run", "--dry-run", "true"],
    ["run", "--dry-run", "--json", "true"], ["fit", "7B"], ["fit", "7B", "--json"], ["alert", "rules", "--json"], ["--version"],
]  # fmt: skip
# They go on until somebody ends them, watch by the steady clock, or change the machine. Only their help is asked for.
ONLY_HELP = {"demo", "explain", "top", "serve", "record", "setup", "service", "support"}


def lines_of(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def servers(program):
    return [line.split()[0] for line in lines_of(program, "scenarios") if line.strip()]


def verbs(program):
    return [found[1] for line in lines_of(program, "--help") if (found := re.match(r"  ([a-z]+)  +\S", line))]


def cases(program):
    """(server, words) of all that is asked."""
    asked = verbs(program)
    plain = [words for verb in asked if verb not in ONLY_HELP for words in ([verb], [verb, "--json"])]
    for server in servers(program):
        yield from ((server, words) for words in LOOKS + plain)
    yield from ((FIRST, words) for words in [*MORE, ["--help"], *([verb, "--help"] for verb in asked)])


def say(binary, words, home, **more):
    """(code, stdout, stderr) of the one program under its usual name."""
    env = {
        "PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "TZ": "UTC", "COLUMNS": "120",
        "XDG_STATE_HOME": f"{home}/state", "BERTH_LEDGER": f"{home}/ledger", "LD_PRELOAD": CLOCK,
        "FAKETIME": "2026-01-02 03:04:05", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "BERTH_NVML": "/nonexistent.so", **more,
    }  # fmt: skip
    done = subprocess.run([binary, *words], env=env, cwd=home, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def named(binary, directory):
    path = pathlib.Path(directory, "berth")
    path.symlink_to(os.path.realpath(binary))
    return str(path)


def differs(old, new, words, home, **more):
    before, after = say(old, words, home, **more), say(new, words, home, **more)
    if before == after:
        return False
    print("==", " ".join(f"{key}={value}" for key, value in more.items()), "berth", *words)
    if before[0] != after[0]:
        print(f"exit code {before[0]}, now {after[0]}")
    for was, now in zip(before[1:], after[1:]):
        lines = [text.decode(errors="replace").splitlines() for text in (was, now)]
        print("\n".join(list(difflib.unified_diff(*lines, "before", "after", lineterm="", n=1))[:40]))
    return True


def main(old, new, *files):
    asked = different = 0
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        pair = named(old, a), named(new, b)
        # What one of the two does not know it refuses: that is a difference, too.
        every = list(dict.fromkeys((server, tuple(words)) for program in pair for server, words in cases(program)))
        for language in ("C.UTF-8", "zh_CN.UTF-8"):
            for server, words in every:
                asked += 1
                different += differs(*pair, words, home, BERTH_SIM=server, LANG=language)
        for file in files:
            for words in LOOKS:
                asked += 1
                different += differs(*pair, [*words, "--replay", os.path.realpath(file)], home)
    print(f"{asked} compared, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
