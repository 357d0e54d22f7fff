"""What the memory cap's shim costs a program: a pair of allocate and free, and a start that never uses CUDA.

On the fake driver, with the shim before it and without, by turns. Times are of the processor: what a
machine that does other work beside it changes least."""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench_commands import BUILD, SPAWN, tell

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/guard"))
from account_file import Account  # noqa: E402

UUID = "01" * 16
FAKE = BUILD / "fakes/cuda"
SHIM = BUILD / "guard/berth-guard.so"
FLOOR = BUILD / "bench/floor_guard"
ROUNDS = 15


def nanoseconds(env, processes, threads, pairs):
    """Of a pair, the mean over processes that begin at once."""
    running = [subprocess.Popen([FLOOR, str(threads), str(pairs)], env=env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    for one in running:
        one.stdin.close()
    return statistics.mean(float(one.stdout.read()) for one in running)


def pairs_of(scratch):
    bare = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(FAKE), "BERTH_FAKE_CUDA": f"{UUID}=A=4G"}
    shimmed = bare | {"LD_PRELOAD": str(SHIM), "BERTH_GUARD_DRIVER": str(FAKE / "libcuda.so.1"),
                      "BERTH_GUARD_ACCOUNT": str(Account(scratch / "account", {UUID: 1 << 30}).path)}
    for name, processes, threads, pairs, limit in (
        ("1 thread", 1, 1, 200_000, 150), ("2 threads", 1, 2, 100_000, 150), ("8 processes", 8, 1, 50_000, 1000),
    ):  # fmt: skip
        turns = [(nanoseconds(bare, processes, threads, pairs), nanoseconds(shimmed, processes, threads, pairs))
                 for _ in range(ROUNDS)]
        tell(f"allocate and free through the shim, {name}", "ns", [with_it for _, with_it in turns],
             statistics.median(without for without, _ in turns), limit)


# What starts, how often: little; C++ of a few libraries, and of some fifty; an interpreter.
PROGRAMS = {"`true`": (["/bin/true"], 3000), "`ninja --version`": (["/usr/bin/ninja", "--version"], 1000),
            "`cmake -E true`": (["/usr/bin/cmake", "-E", "true"], 600),
            "`python3 -c pass`": (["/usr/bin/python3", "-c", "pass"], 600)}  # fmt: skip


def job_variables(scratch, root):
    """What a job has set that finds its driver by the loader's cache: the shim for the fake driver, as berth writes it."""
    said = subprocess.run([BUILD / "shim_of", "--root", root, "--folder", scratch, "/usr/bin/env"],
                          env={"LD_LIBRARY_PATH": str(FAKE)}, check=True, capture_output=True, text=True).stdout
    job = dict(line.split("=", 1) for line in said.splitlines())
    return {"LD_PRELOAD": job["LD_PRELOAD"], "LD_LIBRARY_PATH": job["LD_LIBRARY_PATH"].split(":")[0]}


def starts(scratch):
    """The processor time of programs that never use CUDA, in microseconds: on one processor, by turns."""
    shims = pathlib.Path(tempfile.mkdtemp(prefix="berth-guard-", dir="/var/tmp"))
    (scratch / "lib").mkdir()
    (scratch / "lib/ld-linux.so.2").touch()
    job, beside_32 = job_variables(shims, "/nonexistent"), job_variables(shims, scratch)
    own = os.sched_getaffinity(0)
    both = {"with the shim": job}
    parts = {"with LD_PRELOAD alone": {"LD_PRELOAD": job["LD_PRELOAD"]},
             "with LD_LIBRARY_PATH alone": {"LD_LIBRARY_PATH": job["LD_LIBRARY_PATH"]},
             **both, "with the shim, where 32-bit programs run": beside_32}  # fmt: skip
    os.sched_setaffinity(0, {max(own)})
    try:
        for program, (command, rounds) in PROGRAMS.items():
            kinds = parts if command == ["/bin/true"] else both
            words = ["FIRST=", "SECOND=", *command]  # to set two variables costs, too
            for variables in kinds.values():
                words += [":", *(f"{name}={value}" for name, value in ({"SECOND": ""} | variables).items()), *command]
            done = subprocess.run([SPAWN, str(rounds), *words], check=True, capture_output=True, text=True).stdout
            bare, *others = ([float(run.split(":")[3]) for run in line.split()] for line in done.splitlines())
            for kind, times in zip(kinds, others):
                tell(f"{program} without CUDA, {kind}", "µs", times, statistics.median(bare), 50)
    finally:
        os.sched_setaffinity(0, own)
        shutil.rmtree(shims)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        starts(pathlib.Path(scratch))
        pairs_of(pathlib.Path(scratch))


if __name__ == "__main__":
    main()
