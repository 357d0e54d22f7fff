#!/usr/bin/env python3
"""Copies between host and device take the time."""

import argparse

import common

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["pinned", "offload", "results_down"], default="pinned")
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=60)
a = parser.parse_args()

common.begin(a.seconds)
gpu = common.Gpu(device=a.device, framework="torch", cpus=64, ranks=1)
gpu.memory(4e10)
while True:
    if a.how == "pinned":  # frames go up, the thread sleeps meanwhile
        gpu.copy(0.07 * 5e10, seconds=0.07, wait=False)
        gpu.kernel(0.025, sm=80, tensor=30, dram=45, power=0.7)
        gpu.synchronize(spin=False)
    elif a.how == "offload":  # gradients down, weights up
        gpu.kernel(0.05, sm=85, tensor=50, dram=40, power=0.8)
        gpu.copy(0.10 * 2.6e10, seconds=0.10, sent=0.10 * 2.4e10)
    else:
        gpu.kernel(0.04, sm=85, tensor=40, dram=40, power=0.8)
        gpu.copy(1e6, seconds=0.06, sent=0.06 * 4.5e10)
