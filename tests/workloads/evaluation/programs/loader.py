#!/usr/bin/env python3
"""A training whose loader is the limit: loader_cpu_bound, loader_too_few_workers, loader_storage_bound, too_few_cpus.
Which one depends on a worker's task for a batch, the number of workers, and their CPUs."""

import argparse
import os
import time

import common

parser = argparse.ArgumentParser()
parser.add_argument("--work", choices=["cpu", "direct", "pages", "slow_disk"], default="cpu")
parser.add_argument("--workers", type=int, default=2, help="0: the main process loads")
parser.add_argument("--batch", type=float, default=0.1, help="seconds for a batch (of CPU time, or of the disk)")
parser.add_argument("--kernel", type=float, default=0.02)
parser.add_argument("--spin", action="store_true")
parser.add_argument("--cpus", type=int, default=16)
parser.add_argument("--allowed", type=float)
parser.add_argument("--pin", type=int, help="all of it on so many CPUs")
parser.add_argument("--framework", default="torch")
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=60)
a = parser.parse_args()

common.begin(a.seconds)
if a.pin:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.pin])
folder = os.environ["BERTH_SIM_WORK"]
disk = common.Disk(folder) if a.work != "cpu" else None
slow = {}


def batch(number):
    if a.work == "cpu":
        common.burn_cpu(a.batch)
        return
    end = time.time() + a.batch
    while time.time() < end:
        if a.work == "pages":
            disk.pages(60)
        elif a.work == "direct":
            disk.read(1, 1 << 20)  # few and large: each end of a read waits for a CPU where others compute
        else:
            disk.read(4)
        if a.work != "direct":
            if number not in slow:
                slow[number] = common.SlowDisk(folder, 0.12)
            slow[number].wait()
    common.burn_cpu(0.004)


load = common.workers(a.workers, batch) if a.workers else lambda: batch(0)
gpu = common.Gpu(device=a.device, framework=a.framework, cpus=a.cpus, cpus_allowed=a.allowed if a.allowed else a.cpus, ranks=1)
gpu.memory(11e9)
while True:
    load()
    gpu.copy(38e6, seconds=0.002)
    gpu.kernel(a.kernel, sm=82, tensor=40, dram=35, power=0.75)
    gpu.synchronize(spin=a.spin)
