"""Automatic mixed precision: half the activation memory, and tensor cores, with float32 weights.

    berth run --or-cpu -- python3 mixed_precision.py
    berth run -- python3 mixed_precision.py --dtype float16      # cards before Ampere

bfloat16 where the device has it (Ampere and newer, the CPU): it has float32's range and wants no scaler. float16 on
older cards: small gradients would become 0. So a scaler multiplies the loss and divides the gradients again. It leaves
out a step whose gradients overflowed. The program trains in float32 and in mixed precision and compares.
"""

import argparse
import contextlib
import os
import sys
import time

import torch
from torch import nn

STEPS = 60


def best_dtype(device):
    if device.type == "cpu":
        return torch.bfloat16
    # torch.cuda.is_bf16_supported() says yes to emulation too; Ampere (8.0) is the first that has it.
    return torch.bfloat16 if torch.cuda.get_device_capability(device)[0] >= 8 else torch.float16


def autocast(device, dtype):
    if dtype is torch.float32:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=dtype)  # torch.cuda.amp.autocast is deprecated


def make_scaler(device, dtype):
    """Does nothing unless enabled, so that the loop below is the same for every type."""
    enabled = device.type == "cuda" and dtype is torch.float16
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):  # torch 2.3; the other is deprecated there
        return torch.amp.GradScaler(device.type, enabled=enabled)
    return torch.cuda.amp.GradScaler(enabled=enabled)


def train(device, dtype, data):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    model.to(device)  # not .half(): the weights stay float32
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scaler = make_scaler(device, dtype)
    begin = time.monotonic()
    for x, y in data:
        optimizer.zero_grad()
        with autocast(device, dtype):  # forward and loss; not backward
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)  # before anything looks at the gradients
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    last = loss.item()  # also waits for the GPU
    seconds = time.monotonic() - begin
    weights = {p.dtype for p in model.parameters()}
    print(f"{str(dtype)[6:]}: loss {last:.4f} in {seconds:.2f} s, outputs {out.dtype}, weights {weights}")
    return last, out.dtype, weights


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=["auto", "bfloat16", "float16"], default="auto")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = best_dtype(device) if options.dtype == "auto" else getattr(torch, options.dtype)
    if device.type == "cpu" and dtype is torch.float16:
        sys.exit("float16 is for GPUs: on the CPU use bfloat16")
    print(f"on {device.type}, torch {torch.__version__}")

    # What the scaler is for: a gradient that float16 cannot hold, and the same one scaled.
    small = torch.tensor(1e-8)
    lost, kept = small.half().item(), ((small * 65536).half().float() / 65536).item()
    print(f"float16 holds 1e-08 as {lost:g}, scaled by 65536 as {kept:.3g}; bfloat16 as {small.bfloat16().item():.3g}")

    generator = torch.Generator().manual_seed(1)
    data = []
    for _ in range(STEPS):
        x = torch.randn(128, 64, generator=generator)
        data.append((x.to(device), x[:, :10].argmax(dim=1).to(device)))
    full, _, _ = train(device, torch.float32, data)
    mixed, outputs, weights = train(device, dtype, data)
    off = abs(mixed - full) / full
    print(f"loss_difference {off:.4f} of {full:.4f}")
    good = off < 0.1 and outputs is dtype and weights == {torch.float32}
    marks = os.environ.get("BERTH_MARKS")
    if marks:
        with open(marks, "a", encoding="utf-8") as file:
            file.write(f"loss_float32={full:.4f} loss_mixed={mixed:.4f}\n")
    print("mixed precision learns as float32 does" if good else "mixed precision did NOT do as float32")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
