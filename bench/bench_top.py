"""What `berth top` costs: CPU of the program and its probe process within 20 s at one look a second.
8 devices on the fake NVML, 64 real processes, a terminal of 200 by 50 that takes everything. What nvtop
costs beside it, and how long the first picture takes.

With --gpu: on this machine's own devices, beside 64 processes that compute on the first of them."""

import fcntl
import os
import pathlib
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

from bench_commands import BERTH, BUILD, LIBRARY, children_of, cpu_nanoseconds, machine_json, tell

SECONDS = 20
FIRST_PICTURES = 30
PROCESSES = 64
# A kernel of a few ms, again and again; by the driver alone, so that 64 of them fit into main memory.
COMPUTES = r"""
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry spin()\n{\n.reg .u64 %a, %b;\n.reg .pred %p;\n\
mov.u64 %a, %clock64;\nagain:\nmov.u64 %b, %clock64;\nsub.u64 %b, %b, %a;\nsetp.lt.u64 %p, %b, 4000000;\n@%p bra again;\nret;\n}\n"
def must(code):
    if code:
        sys.exit(f"CUDA says {code}")
context, module, kernel = (ctypes.c_void_p() for _ in range(3))
must(cuda.cuInit(0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
must(cuda.cuCtxSetCurrent(context))
must(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
must(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"spin"))
print("computes", flush=True)
while True:
    must(cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None))
    must(cuda.cuCtxSynchronize())
    time.sleep(0.1)
"""


class Terminal:
    """A pseudo-terminal whose output is read at once, as a real one's is."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def start(self, env, command):
        return subprocess.Popen(command, env=env, stdin=self.slave, stdout=self.slave,
                                stderr=self.slave, start_new_session=True)

    def close(self):
        os.close(self.master)
        os.close(self.slave)


def drained(terminal, stop):
    """Bytes that come until `stop` is set."""
    count = 0
    while not stop.is_set():
        if select.select([terminal.master], [], [], 0.2)[0]:
            count += len(os.read(terminal.master, 1 << 16))
    return count


def cpu_of(env, command):
    terminal = Terminal()
    process = terminal.start(env, command)
    stop = threading.Event()
    bytes_read = []
    reader = threading.Thread(target=lambda: bytes_read.append(drained(terminal, stop)))
    reader.start()
    try:
        time.sleep(SECONDS)
        if process.poll() is not None:
            raise SystemExit(f"{command[0]} ended by itself: {process.returncode}")
        everybody = [process.pid, *children_of(process.pid)]
        return sum(map(cpu_nanoseconds, everybody)) / 1e9
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        stop.set()
        reader.join()
        terminal.close()


def nvtop_command():
    """The distribution's, installed or unpacked by ./dev bench; None: it has none."""
    program = shutil.which("nvtop") or next(
        map(str, BUILD.parent.glob("peers/nvtop/usr/bin/nvtop")), None)
    return program and [program, "--delay", "10"]  # tenths of a second


def first_picture(env):
    """Milliseconds from the start to the last device's name on the screen."""
    terminal = Terminal()
    began = time.perf_counter()
    process = terminal.start(env, [BERTH, "top"])
    seen = b""
    try:
        while seen.count(b"H100") < 8:
            if not select.select([terminal.master], [], [], 10)[0]:
                raise SystemExit("no picture came")
            seen += os.read(terminal.master, 1 << 16)
        return (time.perf_counter() - began) * 1000
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        terminal.close()


def start_beside(on_gpu):
    if not on_gpu:
        return [subprocess.Popen(["sleep", "600"]) for _ in range(PROCESSES)]
    started = [subprocess.Popen([sys.executable, "-c", COMPUTES], stdout=subprocess.PIPE, text=True)
               for _ in range(PROCESSES)]
    if any(one.stdout.readline() != "computes\n" for one in started):
        raise SystemExit("not all of the processes compute")
    return started


def main():
    on_gpu = sys.argv[1:] == ["--gpu"]
    with tempfile.TemporaryDirectory() as scratch:
        beside = start_beside(on_gpu)
        env = {
            "PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8", "TERM": "xterm-256color",
            "XDG_STATE_HOME": scratch + "/state", "BERTH_LEDGER": scratch + "/ledger",
        }
        try:
            of_peer, where = env, "this machine's GPUs"
            if not on_gpu:
                env |= {"BERTH_NVML": str(LIBRARY), "BERTH_FAKE_NVML": scratch + "/machine.json",
                        "BERTH_FAKE_NVML_MOVE": "1"}
                pathlib.Path(scratch, "machine.json").write_text(machine_json([p.pid for p in beside]))
                of_peer, where = env | {"LD_LIBRARY_PATH": str(LIBRARY.parent)}, "8 GPUs"
            what = f"CPU of 20 s at 1 Hz, {where}, {PROCESSES} processes"
            nvtop = nvtop_command()
            theirs, ours = [], []
            for _ in range(3):  # by turns: the machine's hour is the same for both
                if nvtop:
                    theirs.append(cpu_of(of_peer, nvtop))
                ours.append(cpu_of(env, [BERTH, "top", "-d", "1s"]))
            if nvtop:
                tell(f"nvtop: {what}", "s", theirs, None, None)
            limit = statistics.median(theirs) if nvtop else 0.07  # nvtop's on such a machine
            tell(f"`berth top`: {what}, probe process included", "s", ours, None, limit)
            if not on_gpu:
                tell("`berth top`: first picture", "ms",
                     [first_picture(env) for _ in range(FIRST_PICTURES)], None, 20)
        finally:
            for one in beside:
                one.kill()


if __name__ == "__main__":
    sys.exit(main())
