#!/usr/bin/env python3
"""Records series of real programs on a simulated GPU: record.py --berth BINARY --workloads FOLDER
[NAME ...]. What the tool says of a series is never looked at: its output goes to /dev/null. A recording
in which this machine was too busy is thrown away, told by the series alone (`reason_against`)."""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recordings import H100, RECORDINGS, Recording

HERE = Path(__file__).resolve().parent
TRIES = 4
LEAST_STEPS = 0.8


def share_of_waiting(steps):
    """For how much of the time the job's threads waited for a CPU, all together."""
    waited = sum(process.get("run_delay_ms", 0) for step in steps for process in step["processes"])
    return waited / max(1, sum(step["span_ms"] for step in steps))


def reason_against(text, recording: Recording):
    """Why this recording is no good; None: it is kept. Only the series is looked at."""
    header, *steps = [json.loads(line) for line in text.splitlines()]
    expected = recording.seconds * (1 if recording.pace else 2) * LEAST_STEPS
    if len(steps) < expected:
        return f"only {len(steps)} steps"
    if recording.holds and not any(process.get("devices") for step in steps for process in step["processes"]):
        return "the program was not on the device"
    if any(step["span_ms"] > 1000 for step in steps) and header["taken_by"] == "watch":
        return "a step took over a second: this machine was too busy"
    share = share_of_waiting(steps)
    if share > recording.delay:
        return f"threads waited for a CPU for {share:.2f} of the time: this machine was too busy"
    return None


class Places:
    """Devices are lent to one recording at a time."""

    def __init__(self):
        self.taken, self.changed = set(), threading.Condition()

    def choices(self, recording):
        """Where a recording can go: the simulated H100s from 3 on are all the same."""
        several = recording.card == H100 and not recording.neighbour
        return [(recording.server, recording.device + more) for more in range(4 if several else 1)]

    def take(self, recording):
        """Waits for a device."""
        with self.changed:
            while True:
                for place in self.choices(recording):
                    if place not in self.taken:
                        self.taken.add(place)
                        return place
                self.changed.wait()

    def give_back(self, place):
        """Lets the next one have it."""
        with self.changed:
            self.taken.discard(place)
            self.changed.notify_all()


PLACES = Places()


class Stage:
    """A folder, a ledger of its own and the environment for one recording."""

    def __init__(self, options, recording):
        self.options, self.recording = options, recording
        self.place = PLACES.take(recording)
        self.folder = Path(tempfile.mkdtemp(prefix="rec-", dir=options.scratch))
        (self.folder / "work").mkdir()
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        self.environment = os.environ | {
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(runtime),
            "BERTH_SIM": recording.server,
            "BERTH_SIM_WORK": str(self.folder / "work"),
            "PYTHONPATH": f"{options.workloads}:{HERE / 'programs'}",
        }

    def berth(self, *words):
        """Runs the tool unheard."""
        command = ["nice", "-n", "-10", str(self.options.berth), *words]
        subprocess.run(
            command, env=self.environment, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )

    def words(self, command):
        """The program's command line with this stage's files in it."""
        names = {"FILE": self.options.file, "SCRATCH": str(self.folder / "checkpoint")}
        program, *rest = command.split()
        return [sys.executable, str(HERE / "programs" / program), *(names.get(word, word) for word in rest)]

    def neighbour(self):
        """Starts the program of somebody else, when there is one."""
        if not self.recording.neighbour:
            return None
        words = self.words(self.recording.neighbour)
        return subprocess.Popen(["nice", "-n", "-10", *words], env=self.environment)

    def record(self):
        """The series as text."""
        recording, path = self.recording, self.folder / "series.jsonl"
        other = self.neighbour()
        try:
            if recording.command:
                self.berth("run", "-d", "--only", str(self.place[1]), "--", *self.words(recording.command))
                time.sleep(recording.warm)
            if recording.pace:
                time.sleep(recording.seconds)
                self.berth("stop", "last")
                self.berth("explain", "last", "--pace", "--save", str(path))
            else:
                what = "last" if recording.command else str(self.place[1])
                self.berth("explain", what, "--seconds", str(recording.seconds), "--save", str(path))
                if recording.command:
                    self.berth("stop", "last")
        finally:
            if other:
                other.kill()
                other.wait()
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def close(self):
        """Leaves nothing behind."""
        PLACES.give_back(self.place)
        shutil.rmtree(self.folder, ignore_errors=True)


def record(options, name):
    """Records one series, again when this machine was too busy; says what was thrown away."""
    recording = RECORDINGS[name]
    lines = []
    for _ in range(TRIES):
        stage = Stage(options, recording)
        try:
            text = stage.record()
        finally:
            stage.close()
        reason = reason_against(text, recording) if text else "no series"
        if reason is None:
            path = HERE / "recorded" / f"{name}.jsonl.gz"
            path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
            break
        lines.append(f"- {name}: {reason}")
    print(name, "kept" if reason is None else "given up", *lines, flush=True)
    return lines


def make_file(path):
    """What the programs read: not in the page cache, and no zeros."""
    with open(path, "wb") as file:
        for _ in range(256):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())


def main():
    """Records what was asked for, light programs two at a time, heavy ones alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--berth", required=True, type=Path)
    parser.add_argument("--workloads", required=True, type=Path)
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.berth, options.workloads = options.berth.resolve(), options.workloads.resolve()
    names = options.names or list(RECORDINGS)
    options.file = str(options.scratch / "record-data.bin")
    make_file(options.file)
    light = [name for name in names if not RECORDINGS[name].heavy]
    with ThreadPoolExecutor(2) as pool:
        thrown = list(pool.map(lambda name: record(options, name), light))
    thrown += [record(options, name) for name in names if RECORDINGS[name].heavy]
    os.remove(options.file)
    with open(HERE / "recorded" / "THROWN_AWAY.md", "a", encoding="utf-8") as file:
        file.writelines(line + "\n" for lines in thrown for line in lines)


if __name__ == "__main__":
    main()
