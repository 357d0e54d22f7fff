"""Distributed data parallel: one process per GPU, or on the CPU where there are none.

    berth run -n 2 -- torchrun --rdzv_backend=c10d --rdzv_endpoint=localhost:0 --nproc_per_node=2 distributed.py
    berth run --cpu -- torchrun --rdzv_backend=c10d --rdzv_endpoint=localhost:0 --nproc_per_node=2 distributed.py

berth run -n 2 gives the job two cards and makes only those visible, as 0 and 1. LOCAL_RANK picks among them, whatever
their numbers on the machine are. Port 0 lets two such jobs run on one machine. nccl on GPUs, gloo on the CPU. The last
line compares the result with one process that has the whole batch. Only rank 0 prints and marks. --time warns torchrun
alone, which then ends its processes: save often, or see resume.py.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH, RATE = 20, 64, 0.5


def make_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 10))


def data():
    generator = torch.Generator().manual_seed(2)
    for _ in range(STEPS):
        x = torch.randn(BATCH, 32, generator=generator)
        yield x, x[:, :10].argmax(dim=1)


def train(model, share, device):
    """Trains on what `share` takes of each batch; the mean loss of its own share at the end."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for x, y in data():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[share].to(device)), y[share].to(device))
        loss.backward()  # here DistributedDataParallel makes the mean of all processes' gradients
        optimizer.step()
    return loss.detach()


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def main():
    if "RANK" not in os.environ:
        sys.exit("start it with torchrun: see the first lines of this file")
    rank, ranks, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    if BATCH % ranks:
        sys.exit(f"a batch of {BATCH} has no equal shares for {ranks} processes")
    here = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if 0 < cards < here:
        sys.exit(f"{cards} cards for {here} processes: berth run -n as many as --nproc_per_node")
    device = torch.device("cuda", local) if cards else torch.device("cpu")
    if cards:
        torch.cuda.set_device(device)  # before the first collective, or all of them use card 0
    dist.init_process_group("nccl" if cards else "gloo")

    model = make_model().to(device)
    parallel = DistributedDataParallel(model, device_ids=[local] if cards else None)
    # With a Dataset: DataLoader(…, sampler=DistributedSampler(dataset)), and sampler.set_epoch(epoch).
    loss = train(parallel, slice(rank, None, ranks), device)

    dist.all_reduce(loss)  # the sum
    mine = weights(model)
    lowest, highest = mine.clone(), mine.clone()
    dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    apart = (highest - lowest).abs().max().item()
    alone = make_model().to(device)
    train(alone, slice(None), device)
    off = (weights(alone) - mine).abs().max().item()
    if rank == 0:
        mean = loss.item() / ranks
        print(f"{ranks} processes on {device.type} by {dist.get_backend()}, torch {torch.__version__}, loss {mean:.4f}")
        print(f"rank_difference {apart:.2e}, weight_difference from one process {off:.2e}", flush=True)
        if os.environ.get("BERTH_MARKS"):
            with open(os.environ["BERTH_MARKS"], "a", encoding="utf-8") as file:
                file.write(f"ranks={ranks} loss={mean:.4f}\n")
        print("equal to one process with the whole batch" if off < 1e-4 else "NOT equal to one process")
    dist.destroy_process_group()
    sys.exit(0 if apart == 0 and off < 1e-4 else 1)


if __name__ == "__main__":
    main()
