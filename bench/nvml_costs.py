"""What each function of NVML costs a program here: calls, CPU and the longest, by a library that stands before it.

    nvml_costs.py [--seconds N] PROGRAM [WORD...]     such as build/release/berth top -d 1s, nvtop, nvidia-smi

The program has a terminal of its own, and is ended after N seconds (13). BERTH_NVML: another library than the driver's.
"""

import argparse
import ctypes
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time

from bench_top import Terminal, drained

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROW = struct.Struct("64sqqq")
# Arguments are integers and pointers, seven at most, so that one signature passes all of them on.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static struct row { char name[64]; long calls, cpu, longest; } *rows;
static void *real;
static long now(clockid_t which) {
  struct timespec at;
  clock_gettime(which, &at);
  return at.tv_sec * 1000000000L + at.tv_nsec;
}
#define FUNCTION(number, function)                                                          \
  long function(long a, long b, long c, long d, long e, long f, long g) {                   \
    static long (*asked)(long, long, long, long, long, long, long);                         \
    if (!asked && !(asked = dlsym(real, #function))) return 13; /* no such function */      \
    const long cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);             \
    const long answer = asked(a, b, c, d, e, f, g), took = now(CLOCK_MONOTONIC) - wall;     \
    strcpy(rows[number].name, #function);                                                   \
    rows[number].calls++;                                                                   \
    rows[number].cpu += now(CLOCK_THREAD_CPUTIME_ID) - cpu;                                 \
    if (took > rows[number].longest) rows[number].longest = took;                           \
    return answer;                                                                          \
  }
__attribute__((constructor)) static void start(void) {
  char path[400];
  snprintf(path, sizeof path, FOLDER "/%d", getpid());
  const int file = open(path, O_RDWR | O_CREAT, 0666);
  if (ftruncate(file, COUNT * sizeof(struct row)) != 0) _exit(1);
  rows = mmap(0, COUNT * sizeof(struct row), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  real = dlopen(REAL, RTLD_LAZY | RTLD_LOCAL);
}
"""


def names():
    """Of all drivers whose lists are here, and of those whose header berth knows."""
    files = [*(ROOT / "tests/data/nvml-symbols").iterdir(), *(ROOT / "src/probe/nvml").glob("api.h")]
    return sorted({name for file in files for name in re.findall(r"\bnvml[A-Z]\w+", file.read_text(encoding="utf-8"))})


def driver():
    wanted = os.environ.get("BERTH_NVML", "libnvidia-ml.so.1")
    ctypes.CDLL(wanted)
    return re.search(r"/\S*libnvidia-ml\S*", pathlib.Path("/proc/self/maps").read_text(encoding="utf-8"))[0]


def build(folder):
    functions = "".join(f"FUNCTION({at}, {name})\n" for at, name in enumerate(names()))
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f'-DREAL="{driver()}"', f'-DFOLDER="{folder}"',
                    f"-DCOUNT={len(names())}", "-xc", "-", "-o", library], input=SOURCE + functions, text=True, check=True)
    return library


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--seconds", type=float, default=13)
    asked.add_argument("program", nargs=argparse.REMAINDER)
    words = asked.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        library = build(pathlib.Path(scratch))
        terminal, stop = Terminal(), threading.Event()
        env = os.environ | {"BERTH_NVML": str(library), "LD_LIBRARY_PATH": scratch, "TERM": "xterm-256color"}
        process = terminal.start(env, words.program)
        reader = threading.Thread(target=drained, args=(terminal, stop))
        reader.start()
        time.sleep(words.seconds)
        process.terminate()
        process.wait()
        stop.set()
        reader.join()
        terminal.close()
        for file in sorted(pathlib.Path(scratch).glob("[0-9]*")):
            rows = [(name.rstrip(b"\0").decode(), *rest) for name, *rest in ROW.iter_unpack(file.read_bytes()) if rest[0]]
            print(f"process {file.name}: {sum(row[1] for row in rows)} calls, {sum(row[2] for row in rows) / 1e6:.1f} ms of CPU")
            for name, calls, cpu, longest in sorted(rows, key=lambda row: -row[2]):
                print(f"  {name:<46}{calls:6} calls {cpu / 1e6:9.3f} ms, longest {longest / 1e6:.3f}")


if __name__ == "__main__":
    sys.exit(main())
