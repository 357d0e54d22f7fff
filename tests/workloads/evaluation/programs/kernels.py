#!/usr/bin/env python3
"""The device itself is the limit: small kernels, memory, power, heat, a collective that spins."""

import argparse
import time

import common

parser = argparse.ArgumentParser()
parser.add_argument("--how", required=True)
parser.add_argument("--device", type=int, default=5)
parser.add_argument("--seconds", type=float, default=60)
a = parser.parse_args()

common.begin(a.seconds)
big = {"sm": 86, "tensor": 45, "dram": 38, "power": 0.85}
ranks = {"ranks_half": 8, "ranks_hang": 16, "ranks_sleeping": 32}.get(a.how, 1)
gpu = common.Gpu(device=a.device, framework="jax" if a.how.endswith("jax") else "torch", cpus=96, ranks=ranks)
gpu.memory(3e10)


def launch(seconds, busy, every, **what):
    """A thread that launches: it is busy for as long as the kernels take that it launches."""
    gpu.kernels(busy, count=int(seconds / every), every=every, **what)
    common.burn(seconds * 0.97)
    gpu.synchronize()


throttle = {"power_60": ("power", 0.6), "power_brake": ("power", 0.45), "power_70": ("power", 0.7), "heat_55": ("heat", 0.55), "heat_grows": ("heat", 0.75), "heat_65": ("heat", 0.65)}
if a.how in throttle:
    gpu.state(throttle=[throttle[a.how][0]], clock=throttle[a.how][1])
began = time.time()
while True:
    if a.how == "small_eager":
        launch(0.1, 0.00046, 0.0005, sm=9, tensor=2, dram=4, power=0.14)
    elif a.how == "small_rnn":
        launch(0.2, 0.0002, 0.00022, sm=14, tensor=3, dram=6, power=0.18)
    elif a.how == "small_jax":
        launch(0.05, 0.0019, 0.002, sm=6, tensor=0, dram=3, power=0.1)
    elif a.how == "memory_decode":
        gpu.kernels(0.0248, count=20, every=0.025, sm=70, tensor=5, dram=88, power=0.5)
        gpu.synchronize(spin=False)
    elif a.how == "memory_stencil_jax":
        gpu.kernel(0.4, sm=85, tensor=0, dram=92, power=0.55)
        gpu.synchronize(spin=False)
    elif a.how == "memory_elementwise":
        gpu.kernels(0.0045, count=50, every=0.0046, sm=94, tensor=1, dram=86, power=0.62)
        gpu.synchronize(spin=True)
    elif a.how in throttle:
        if a.how == "heat_grows":
            gpu.state(throttle=["heat"], clock=max(0.4, 0.75 - (time.time() - began) * 0.015))
        gpu.kernel(0.25, **dict(big, power=1.0 if "power_" in a.how and a.how != "power_brake" else 0.5))
        gpu.synchronize(spin=False)
    elif a.how in ("ranks_half", "ranks_sleeping"):
        spin = a.how == "ranks_half"
        for seconds, what in ((1.5, big), (1.5 if spin else 2.5, {"sm": 4, "tensor": 0, "dram": 1, "power": 0.1})):
            gpu.kernel(seconds, **what)
            gpu.synchronize(spin=spin)
    elif a.how == "ranks_hang":
        gpu.kernel(1.0, sm=3, tensor=0, dram=1, power=0.09)
        gpu.synchronize(spin=True)
    else:
        parser.error(a.how)
