"""Activation checkpointing: less memory for a second forward pass; the same gradients.

    berth run --or-cpu -- python3 activation_checkpointing.py

For: CUDA out of memory where the activations, not the weights, fill the card (long sequences, deep networks). Only what
enters each block is kept; the rest is computed again in the backward pass. The program compares gradients, memory after
the forward pass and time with and without. On a GPU the memory is what PyTorch's allocator has given out. On the CPU,
where it does not count, it is the resident size of the process.
"""

import ctypes
import inspect
import os
import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

BLOCKS, ROWS, WIDTH = 8, 8192, 32
# torch 1.11 has the better form, newer ones want to be told which.
NOT_REENTRANT = {"use_reentrant": False} if "use_reentrant" in inspect.signature(checkpoint).parameters else {}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Dropout(0.1), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.LayerNorm(WIDTH)
        )

    def forward(self, x):
        return x + self.inner(x)


def memory(device):
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps what was freed, and it would count
    if trim:
        trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def step(blocks, x, checkpointed):
    """(gradients, bytes that the forward pass left in memory, seconds)."""
    torch.manual_seed(2)  # the same dropout in both
    blocks.zero_grad()
    before, begin = memory(x.device), time.perf_counter()
    out = x
    for block in blocks:
        out = checkpoint(block, out, **NOT_REENTRANT) if checkpointed else block(out)
    kept = memory(x.device) - before
    out.pow(2).mean().backward()
    gradients = torch.cat([p.grad.flatten() for p in blocks.parameters()]).cpu()  # waits for the GPU
    return gradients, kept, time.perf_counter() - begin


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    measured = "torch.cuda.memory_allocated" if device.type == "cuda" else "resident size of the process"
    print(f"on {device.type}, torch {torch.__version__}; memory is the {measured}")
    blocks = nn.ModuleList([Block() for _ in range(BLOCKS)]).to(device)
    # The old form needs an input that wants gradients, or it computes none at all.
    x = torch.randn(ROWS, WIDTH, device=device, requires_grad=True)
    step(blocks[:1], x[:64].detach().requires_grad_(), True)  # what only the first call costs
    less, kept_less, seconds_less = step(blocks, x, True)
    plain, kept, seconds = step(blocks, x, False)
    print(f"without      kept_mib={kept / 2**20:.1f} in {seconds:.3f} s")
    print(f"checkpointed kept_mib={kept_less / 2**20:.1f} in {seconds_less:.3f} s")
    off = ((less - plain).abs().max() / plain.abs().max()).item()
    print(f"gradient_difference {off:.2e} of the largest gradient")
    marks = os.environ.get("BERTH_MARKS")
    if marks:
        with open(marks, "a", encoding="utf-8") as file:
            file.write(f"kept_mib={kept / 2**20:.1f} checkpointed_kept_mib={kept_less / 2**20:.1f}\n")
    print("the same gradients" if off < 1e-5 else "NOT the same gradients")
    sys.exit(0 if off < 1e-5 else 1)


if __name__ == "__main__":
    main()
