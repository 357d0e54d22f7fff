#!/usr/bin/env python3
"""A process that holds a GPU and computes on the CPU. It uses two CPUs at once: in C, where Python lets go of its
lock."""

import argparse
import hashlib
import time
import zlib

import common

parser = argparse.ArgumentParser()
parser.add_argument("--how", choices=["hash", "compress", "derive"], default="hash")
parser.add_argument("--cpus", type=int, default=8)
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=60)
a = parser.parse_args()

common.begin(a.seconds)
data = bytes(range(256)) * (1 << 15)


def forever():
    while True:
        if a.how == "hash":
            hashlib.sha256(data).digest()
        elif a.how == "compress":
            zlib.compress(data, 9)
        else:
            hashlib.pbkdf2_hmac("sha256", b"x", b"y", 400000)


gpu = common.Gpu(device=a.device, framework={"hash": "torch", "compress": "tensorflow", "derive": "jax"}[a.how], cpus=a.cpus, ranks=1)
gpu.memory(5.2e8)
common.thread(forever)
if a.how == "compress":
    common.thread(forever)
    while True:
        time.sleep(0.5)
forever()
