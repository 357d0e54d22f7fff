#!/usr/bin/env python3
"""Memory that is held and nothing done: an idle notebook, a dead lock with workers, a stopped process."""

import argparse
import os
import signal
import threading
import time

import common

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["sleep", "deadlock", "stopped"], default="sleep")
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=60)
a = parser.parse_args()

common.begin(a.seconds)
if a.how == "deadlock":
    def never(number):
        if number >= 0:
            threading.Event().wait()
    load = common.workers(3, never)
gpu = common.Gpu(device=a.device, framework="jax" if a.how == "sleep" else "torch", cpus=24, ranks=1)
gpu.memory(31e9 if a.how == "sleep" else 6.5e9)
gpu.kernel(0.3)  # it did something once
gpu.synchronize(spin=False)
if a.how == "sleep":
    while True:
        time.sleep(1)  # a kernel's heartbeat
elif a.how == "deadlock":
    held = threading.Lock()
    held.acquire()
    common.thread(held.acquire)
    load()
elif os.fork():
    # the process that computes is stopped, its child would have to go on
    os.kill(os.getpid(), signal.SIGSTOP)
else:
    common.with_parent()
    time.sleep(a.seconds)
