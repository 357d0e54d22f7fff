"""A small training that runs unchanged on a GPU or on the CPU.

    berth run --or-cpu -- python3 examples/train.py

It makes its own data (two interleaved spirals), so nothing is downloaded. It finishes in seconds. Its progress goes to
stdout, and as marks to the file that $BERTH_MARKS names. `berth show` puts the marks on the same time axis as what the
device did.
"""

import argparse
import math
import os
import time

import torch
from torch import nn


def spirals(count: int, generator: torch.Generator) -> "tuple[torch.Tensor, torch.Tensor]":
    """Points of two spirals, and which of the two each is on."""
    turn = torch.rand(count, generator=generator) * 1.5 * math.pi + 0.5
    label = torch.randint(0, 2, (count,), generator=generator)
    angle = turn + label * math.pi
    points = torch.stack([turn * torch.cos(angle), turn * torch.sin(angle)], dim=1) / 2
    noise = torch.randn(count, 2, generator=generator) * 0.05
    return points + noise, label


def mark(**values: object) -> None:
    """One line of progress for berth; nothing where berth did not start us."""
    path = os.environ.get("BERTH_MARKS")
    if path:
        with open(path, "a", encoding="utf-8") as marks:
            marks.write(" ".join(f"{key}={value}" for key, value in values.items()) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small network on data it makes itself.")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--points", type=int, default=4096)
    parser.add_argument("--width", type=int, default=64)
    options = parser.parse_args()

    generator = torch.Generator().manual_seed(1)
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"training on {device.type} ({name}), torch {torch.__version__}", flush=True)

    points, labels = (part.to(device) for part in spirals(options.points, generator))
    width = options.width
    network = nn.Sequential(
        nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
    ).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()

    begin = time.monotonic()
    for epoch in range(1, options.epochs + 1):
        total = 0.0
        order = torch.randperm(options.points, generator=generator).to(device)
        batches = order.split(256)
        for batch in batches:
            optimizer.zero_grad()
            loss = loss_of(network(points[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            total += loss.item()
        mean = total / len(batches)
        print(f"epoch {epoch}/{options.epochs} loss {mean:.4f}", flush=True)
        mark(epoch=epoch, loss=f"{mean:.4f}")

    with torch.no_grad():
        right = (network(points).argmax(dim=1) == labels).float().mean().item()
    print(f"accuracy {right:.3f} after {time.monotonic() - begin:.1f} s", flush=True)
    mark(accuracy=f"{right:.3f}")


if __name__ == "__main__":
    main()
