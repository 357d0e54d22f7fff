"""A GPU at 10 %: what helps, each measured against the loop as it was.

    berth run --or-cpu -- python3 busy_gpu.py

For: low utilisation with data that is fast enough (data_loader.py is for data that is not). Many small kernels leave
the GPU waiting for Python. These give it more to do at once: a larger batch, fewer waits for its answers, copies that
overlap, torch.compile. The program prints what it measured on this machine and promises nothing. A remedy that needs
what is not here is left out with the reason. Each result is checked against the plain loop.
"""

import os
import sys
import time

import torch
from torch import nn

ROWS, WIDTH, SMALL, LARGE = 8192, 32, 64, 1024


def make_model(device):
    torch.manual_seed(1)
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(4)]).to(device)


def plain(model, rows, device, batch=SMALL):
    """As tutorials have it: .item() makes Python wait for the GPU at each step."""
    total = 0.0
    for x in rows.split(batch):
        total += model(x.to(device)).pow(2).sum().item()
    return total


def larger_batch(model, rows, device):
    return plain(model, rows, device, LARGE)


def seldom_asked(model, rows, device):
    """The sum stays on the device; Python asks once, at the end."""
    total = torch.zeros((), device=device)
    for x in rows.split(SMALL):
        total += model(x.to(device)).pow(2).sum()
    return total.item()


def pinned_copies(model, rows, device):
    """The next batch is copied while the GPU computes: pinned memory, and non_blocking on another stream."""
    stream, total, ready = torch.cuda.Stream(), torch.zeros((), device=device), None
    for x in [*rows.split(SMALL), None]:
        if ready is not None:
            torch.cuda.current_stream().wait_stream(stream)
            ready.record_stream(torch.cuda.current_stream())  # not to be given out again before it is used
        coming = None
        if x is not None:
            with torch.cuda.stream(stream):
                coming = x.to(device, non_blocking=True)
        if ready is not None:
            total += model(ready).pow(2).sum()
        ready = coming
    return total.item()


def compiled(model, rows, device):
    return plain(model, rows, device)


def why_not(remedy, device):
    if remedy is pinned_copies and device.type != "cuda":
        return "on the CPU nothing is copied to a device"
    if remedy is compiled and not hasattr(torch, "compile"):
        return f"torch.compile came with torch 2.0, this is {torch.__version__}"
    return None


def measure(remedy, model, rows, device):
    """(samples per second at best of three, the sum); once before, without what only the first call costs."""
    if remedy is compiled:
        print("compiling, which takes up to a minute", flush=True)
        model = torch.compile(model)
    if remedy is pinned_copies:
        rows = rows.pin_memory()  # DataLoader(pin_memory=True) does that for each batch
    with torch.no_grad():
        remedy(model, rows[: 2 * LARGE], device)
        seconds = []
        for _ in range(3):
            begin = time.perf_counter()
            total = remedy(model, rows, device)  # a number: the GPU has finished
            seconds.append(time.perf_counter() - begin)
    return len(rows) / min(seconds), total


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"on {device.type}, torch {torch.__version__}: {ROWS} rows in batches of {SMALL}")
    model, rows = make_model(device), torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(1))
    marks, rates, wanted = os.environ.get("BERTH_MARKS"), {}, None
    for remedy in (plain, larger_batch, seldom_asked, pinned_copies, compiled):
        name, reason = remedy.__name__, why_not(remedy, device)
        if not reason:
            try:
                rates[name], total = measure(remedy, model, rows, device)
            except Exception as error:  # torch.compile: no compiler, or a Python that it does not know yet
                if remedy is not compiled:
                    raise
                reason = f"torch.compile failed here: {(str(error).strip() or repr(error)).splitlines()[0]}"
        if reason:
            print(f"{name:14} left out: {reason}")
            continue
        wanted = total if wanted is None else wanted
        off = abs(total - wanted) / wanted
        print(f"{name:14} {rates[name]:9.0f} samples/s, {rates[name] / rates['plain']:.1f} times plain, sum_difference {off:.1e}")
        if marks:
            with open(marks, "a", encoding="utf-8") as file:
                file.write(f"remedy={name} samples_per_s={rates[name]:.0f}\n")
        if off > 1e-4:
            sys.exit(f"{name} computes something else")
    print(f"fastest here: {max(rates, key=rates.get)}")


if __name__ == "__main__":
    main()
