#!/usr/bin/env python3
"""Well used, and then nothing for seconds, repeatedly: a checkpoint, an evaluation, an upload."""

import argparse
import os
import time

import common

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["checkpoint", "evaluate", "upload"], default="checkpoint")
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=120)
a = parser.parse_args()

common.begin(a.seconds)
busy, pause = {"checkpoint": (6.0, 3.0), "evaluate": (7.0, 4.0), "upload": (4.5, 2.0)}[a.how]
gpu = common.Gpu(device=a.device, framework="torch", cpus=32, ranks=1)
gpu.memory(5.5e10)
block = os.urandom(1 << 20)
while True:
    end = time.time() + busy
    while time.time() < end:
        gpu.kernel(0.12, sm=85, tensor=45, dram=38, power=0.82)
        gpu.synchronize(spin=False)
    end = time.time() + pause
    if a.how == "evaluate":
        common.burn(pause)
    elif a.how == "upload":
        time.sleep(pause)
    else:
        path = os.path.join(os.environ["BERTH_SIM_WORK"], "checkpoint")
        with open(path, "wb") as f:
            while time.time() < end:
                f.write(block)
                f.flush()
                os.fsync(f.fileno())
                time.sleep(0.04)
        os.unlink(path)
