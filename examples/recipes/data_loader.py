"""Data-loader settings, measured: how long the training waits for its data under each.

    berth run --or-cpu -- python3 data_loader.py

For: a GPU that is idle in between, with one Python thread at 100 %. The data here is made up: each sample waits as
storage does. Then it costs a little CPU, as decoding does. What helps depends on the machine and on your data. So the
program promises nothing: it prints what it measured here. Every setting delivers the same samples in the same order,
which is checked.
"""

import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

SAMPLES, BATCH, EPOCHS = 96, 12, 2


class Slow(Dataset):
    """Reads and decodes as slowly as real data: 2 ms of waiting and some work per sample."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        time.sleep(0.002)
        sample = torch.full((64, 64), float(index))
        for _ in range(4):
            sample = torch.sin(sample) + index
        return sample


def settings(device):
    """(name, arguments): each adds one thing to the one before it."""
    workers = max(1, min(4, len(os.sched_getaffinity(0))))
    pinned = {"pin_memory": device.type == "cuda"}
    some = {"num_workers": workers, **pinned}
    kept = {**some, "persistent_workers": True}  # else they are started again for each epoch
    return [
        ("num_workers=0", {"num_workers": 0}),
        (f"num_workers={workers}", {"num_workers": workers}),
        ("+ pin_memory", some),
        ("+ persistent_workers", kept),
        ("+ prefetch_factor=4", {**kept, "prefetch_factor": 4}),  # batches that each worker keeps ready
    ]


def measure(device, arguments):
    """(seconds in all, of them waiting for data, what arrived)."""
    loader = DataLoader(Slow(), batch_size=BATCH, shuffle=False, **arguments)
    arrived, waited = [], 0.0
    begin = asked = time.perf_counter()
    for _ in range(EPOCHS):
        for batch in loader:
            waited += time.perf_counter() - asked
            batch = batch.to(device, non_blocking=True)  # asynchronous only from pinned memory
            for _ in range(3):
                batch = torch.tanh(batch)  # the training
            arrived.append(batch.sum().item())
            asked = time.perf_counter()
    return time.perf_counter() - begin, waited, arrived


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"on {device.type}, torch {torch.__version__}, {len(os.sched_getaffinity(0))} CPUs to run on")
    marks, first, rates = os.environ.get("BERTH_MARKS"), None, {}
    for name, arguments in settings(device):
        if name == "+ pin_memory" and device.type != "cuda":
            print(f"{name:24} left out: on the CPU nothing is copied to a device")
            continue
        seconds, waited, arrived = measure(device, arguments)
        rates[name] = EPOCHS * SAMPLES / seconds
        print(f"{name:24} {rates[name]:7.0f} samples/s, waited for data {100 * waited / seconds:3.0f} % of {seconds:.2f} s")
        if marks:
            with open(marks, "a", encoding="utf-8") as file:
                file.write(f"loader {name.replace(' ', '')} samples_per_s={rates[name]:.0f} waited={waited / seconds:.2f}\n")
        first = first or arrived
        if arrived != first:
            sys.exit(f"{name}: other samples arrived than with the first setting")
    best = max(rates, key=rates.get)
    print(f"fastest here: {best}, {rates[best] / rates['num_workers=0']:.1f} times num_workers=0")
    print(f"all settings delivered the same {len(first)} batches")


if __name__ == "__main__":
    main()
