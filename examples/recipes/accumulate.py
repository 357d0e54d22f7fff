"""Gradient accumulation: the step of a large batch, computed in pieces that fit.

    berth run --or-cpu -- python3 accumulate.py

For: CUDA out of memory, where a smaller batch would change the training. Each piece's loss is weighted by its share of
the batch. So the gradients add up to those of the whole batch, even if the last piece is smaller. The program computes
both and compares them. It also shows what the usual mistakes would have done.

Not equal with BatchNorm, which sees each piece alone (GroupNorm and LayerNorm do not mind). Not equal with dropout
either: it draws other numbers.
"""

import copy
import os
import sys

import torch
from torch import nn

BATCH, PIECE, STEPS = 112, 32, 20  # three pieces of 32 and one of 16
loss_sum = nn.CrossEntropyLoss(reduction="sum")
loss_mean = nn.CrossEntropyLoss()


def whole(model, x, y):
    loss_mean(model(x), y).backward()


def in_pieces(model, x, y):
    """The same gradients, with the activations of one piece at a time in memory."""
    for part_x, part_y in zip(x.split(PIECE), y.split(PIECE)):
        (loss_sum(model(part_x), part_y) / len(x)).backward()


def without_division(model, x, y):
    """Mistake: the step becomes as many times larger as there are pieces."""
    for part_x, part_y in zip(x.split(PIECE), y.split(PIECE)):
        loss_mean(model(part_x), part_y).backward()


def mean_of_means(model, x, y):
    """Mistake: samples of the smaller last piece count more than the others."""
    pieces = x.split(PIECE)
    for part_x, part_y in zip(pieces, y.split(PIECE)):
        (loss_mean(model(part_x), part_y) / len(pieces)).backward()


def gradients(model, how, x, y):
    model.zero_grad()
    how(model, x, y)
    return torch.cat([p.grad.flatten() for p in model.parameters()]).clone()


def train(model, how, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for x, y in batches:
        optimizer.zero_grad()
        how(model, x, y)
        optimizer.step()  # once per batch, not once per piece
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def peak_of(device, act):
    """What the act needed at most in GPU memory, MiB; None on the CPU, where torch does not count."""
    if device.type != "cuda":
        act()
        return None
    torch.cuda.reset_peak_memory_stats(device)
    act()
    return torch.cuda.max_memory_allocated(device) / 2**20


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"on {device.type}, torch {torch.__version__}: batch {BATCH} in pieces of {PIECE}")
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10)).to(device)
    batches = []
    for _ in range(STEPS):
        x = torch.randn(BATCH, 64)
        batches.append((x.to(device), (x[:, :10].argmax(dim=1)).to(device)))

    x, y = batches[0]
    wanted = gradients(model, whole, x, y)
    size = wanted.abs().max().item()
    off = {}
    for how in (in_pieces, without_division, mean_of_means):
        off[how] = (gradients(model, how, x, y) - wanted).abs().max().item() / size
        print(f"gradient_difference {how.__name__} {off[how]:.2e} of the largest gradient")

    one, two = copy.deepcopy(model), copy.deepcopy(model)
    results = {}
    for name, copied, how in (("whole", one, whole), ("pieces", two, in_pieces)):
        peak = peak_of(device, lambda: results.update({name: train(copied, how, batches)}))
        print(f"peak memory, {name}: " + (f"{peak:.1f} MiB" if peak else "not counted on the CPU"))
    trained = (results["whole"] - results["pieces"]).abs().max().item()
    print(f"weight_difference after {STEPS} steps {trained:.2e}")

    equal = off[in_pieces] < 1e-5 and trained < 1e-4
    marks = os.environ.get("BERTH_MARKS")
    if marks:
        with open(marks, "a", encoding="utf-8") as file:
            file.write(f"gradient_difference={off[in_pieces]:.2e} weight_difference={trained:.2e}\n")
    print("equal to the large batch" if equal else "NOT equal to the large batch")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
