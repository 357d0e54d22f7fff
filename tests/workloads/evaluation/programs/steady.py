#!/usr/bin/env python3
"""A steady job. By itself it is well. Beside another one of its kind it is half of shared_with_others. Or it is one
that ends at once, for nothing_running."""

import argparse
import time

import common

parser = argparse.ArgumentParser()
parser.add_argument("--share", type=float, default=0.97, help="part of the time its kernels run")
parser.add_argument("--period", type=float, default=0.04)
parser.add_argument("--shift", type=float, default=0, help="where in the period they begin")
parser.add_argument("--ends-after", type=float, default=1e9)
parser.add_argument("--memory", type=float, default=2.2e10)
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=60)
a = parser.parse_args()

common.begin(min(a.seconds, a.ends_after))
gpu = common.Gpu(device=a.device, framework="torch", cpus=64, ranks=1)
gpu.memory(a.memory)
while True:
    now = time.time()
    gpu.end = (int(now / a.period) + 1 + a.shift) * a.period  # the card lets the two take turns
    gpu.kernels(a.share * a.period, count=10, every=a.period, sm=80, tensor=40, dram=35, power=0.75)
    time.sleep(max(0, gpu.end - 0.3 * a.period - time.time()))
