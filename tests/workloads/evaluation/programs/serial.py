#!/usr/bin/env python3
"""One thread of Python does everything between the kernels."""

import argparse
import json
import time

import common

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["tokenise", "no_workers", "environment"], default="tokenise")
parser.add_argument("--cpus", type=int, default=16)
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=60)
a = parser.parse_args()

common.begin(a.seconds)
if a.how == "environment":  # workers are there, but have nothing to do
    idle = common.workers(2, lambda number: time.sleep(0.5))
gpu = common.Gpu(device=a.device, framework="torch", cpus=a.cpus, ranks=1)
gpu.memory(2.4e10)
text = json.dumps({"text": ["the quick brown fox"] * 3000})
while True:
    if a.how == "tokenise":
        end = time.time() + 0.06
        while time.time() < end:
            ids = [hash(w) % 50257 for s in json.loads(text)["text"] for w in s.split()]
        gpu.kernel(0.035, sm=80, tensor=45, dram=35, power=0.75)
        gpu.synchronize()
    elif a.how == "no_workers":
        common.burn(0.12)
        gpu.copy(7.7e7, seconds=0.004)
        gpu.kernel(0.06, sm=85, tensor=40, dram=40, power=0.8)  # the next batch is prepared meanwhile
    else:
        common.burn(0.009)
        gpu.kernel(0.001, sm=30, tensor=5, dram=10, power=0.3)
        gpu.synchronize()
