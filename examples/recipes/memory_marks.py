"""Memory per epoch as marks, and what a leak looks like in them.

    berth run --or-cpu -- python3 memory_marks.py
    berth show last

For: out of memory after hours. A healthy training needs the same memory in every epoch from the second on. One that
keeps something needs more each time. Here the second half makes the usual mistake. It keeps the loss itself instead of
loss.item(), and with it every activation it was computed from.

On a GPU it marks the most that PyTorch's allocator gave out in the epoch (max_memory_allocated). It also marks what the
allocator holds of the device (reserved). On the CPU PyTorch does not count. There it is the resident size of this
process, and the mark says so.
"""

import os

import torch
from torch import nn

EPOCHS, STEPS, ROWS, WIDTH = 3, 4, 16384, 32


def mark(text):
    print(text, flush=True)
    if os.environ.get("BERTH_MARKS"):
        with open(os.environ["BERTH_MARKS"], "a", encoding="utf-8") as file:
            file.write(text + "\n")
    # From a shell script: berth mark epoch=1 loss=0.5


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory(device):
    """What to mark at an epoch's end; the peak counts anew from here."""
    if device.type != "cuda":
        return f"process_rss_mib={resident_bytes() / 2**20:.1f}"
    peak, held = torch.cuda.max_memory_allocated(device), torch.cuda.memory_reserved(device)
    torch.cuda.reset_peak_memory_stats(device)
    return f"cuda_peak_mib={peak / 2**20:.1f} cuda_reserved_mib={held / 2**20:.1f}"


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    measured = "torch.cuda.max_memory_allocated" if device.type == "cuda" else "resident size of the process"
    print(f"on {device.type}, torch {torch.__version__}; memory is the {measured}", flush=True)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(3)]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(ROWS, WIDTH, device=device)
    losses = []
    for epoch in range(1, 2 * EPOCHS + 1):
        leaking = epoch > EPOCHS
        for _ in range(STEPS):
            loss = (model(x) - x).pow(2).mean()
            if not leaking:
                optimizer.zero_grad()
                loss.backward()  # frees the activations
                optimizer.step()
                losses.append(loss.item())
            else:
                losses.append(loss)  # the mistake, in a validation without torch.no_grad()
        mark(f"epoch={epoch} keeps={'graphs' if leaking else 'numbers'} {memory(device)}")


if __name__ == "__main__":
    main()
