"""Checkpoint on a signal, and go on from there as if nothing had happened.

    berth run --or-cpu --time 8h -- python3 resume.py
    berth run --or-cpu --time 8h -- python3 resume.py      # goes on; exit code 75 until it has finished

For: time limits, maintenance, a card that fails. berth run --time sends SIGTERM a minute before the limit
(--warn-signal and --warn-ahead change that). berth stop sends SIGTERM. --on-gpu-fault signal sends SIGUSR1. A signal is
only noted. The checkpoint is written between two steps, whole or not at all. It has everything the next step depends
on: weights, optimiser, schedule, random numbers and the place in the data. --verify trains once more without a stop and
compares.
"""

import signal

STOPPING = (signal.SIGTERM, signal.SIGUSR1)
asked_to_stop = []
for number in STOPPING:
    # Before the imports: they take seconds, and a signal then would end the job unsaved.
    signal.signal(number, lambda received, _: asked_to_stop.append(signal.Signals(received).name))

import argparse
import os
import sys
import time

import torch
from torch import nn

UNFINISHED = 75  # EX_TEMPFAIL: start it again
# The checkpoint is data, and torch can refuse to unpickle anything else. That of 1.13 refuses numbers as well.
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
AS_DATA = {"weights_only": True} if VERSION >= (2, 4) else {}


class Training:
    def __init__(self, device, steps):
        torch.manual_seed(1)
        self.device, self.done, self.loss = device, 0, None
        self.model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 4)).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, max(1, steps // 4), gamma=0.5)
        self.data = torch.Generator().manual_seed(2)  # the order of the data is a state, too

    def step(self):
        x = torch.randn(32, 16, generator=self.data)
        y = x[:, :4].argmax(dim=1)
        self.optimizer.zero_grad()
        self.loss = nn.functional.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
        self.loss.backward()
        self.optimizer.step()
        self.schedule.step()
        self.done += 1

    def save(self, path):
        state = {
            "done": self.done,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "data": self.data.get_state(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
        }  # a GradScaler has a state_dict() as well
        with open(path + ".new", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)  # a kill leaves the old or the new one, never half of one

    def load(self, path):
        state = torch.load(path, map_location="cpu", **AS_DATA)
        self.done = state["done"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.data.set_state(state["data"])
        torch.set_rng_state(state["random"])
        if state["random_cuda"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["random_cuda"], self.device)


def mark(text):
    print(text, flush=True)
    if os.environ.get("BERTH_MARKS"):
        with open(os.environ["BERTH_MARKS"], "a", encoding="utf-8") as file:
            file.write(text + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--checkpoint", default="resume.pt")
    parser.add_argument("--pause", type=float, default=0, help="seconds per step, for trying it out")
    parser.add_argument("--verify", action="store_true", help="compare with a training that was not stopped")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    training = Training(device, options.steps)
    if os.path.exists(options.checkpoint):
        training.load(options.checkpoint)
        if training.done >= options.steps and not options.verify:
            sys.exit(
                f"{options.checkpoint} has all {options.steps} steps: nothing to resume. For more of them: "
                f"--steps {2 * training.done}; from the start: another --checkpoint, or remove the file"
            )
        mark(f"resumed_at={training.done}")
    print(f"on {device.type}, torch {torch.__version__}, step {training.done} of {options.steps}", flush=True)
    while training.done < options.steps:
        if asked_to_stop:
            training.save(options.checkpoint)
            mark(f"saved_at={training.done} because={asked_to_stop[0]}")
            for number in STOPPING:
                # While it ends Python takes its handlers back, and the limit itself would kill it unfinished.
                signal.signal(number, signal.SIG_IGN)
            sys.exit(UNFINISHED)
        training.step()
        time.sleep(options.pause)
    training.save(options.checkpoint)
    print(f"finished: step {training.done}, loss {training.loss.item():.6f}" if training.loss is not None else "had finished")
    if options.verify:
        straight = Training(device, options.steps)
        while straight.done < options.steps:
            straight.step()
        pairs = zip(straight.model.parameters(), training.model.parameters())
        off = max((a - b).abs().max().item() for a, b in pairs)
        print(f"weight_difference from a training that was not stopped {off:.2e}")
        sys.exit(0 if off < (1e-5 if device.type == "cuda" else 1e-12) else 1)


if __name__ == "__main__":
    main()
