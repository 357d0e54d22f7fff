"""A model of which one knows how large a batch fits, for tests of looking for it.

On a card of 4 GiB: 512 MiB of weights, 37 MiB for each sample, so 96 samples and no more. A step holds a
part of what it needs in its own frame when the rest is refused, as real ones do: whoever looks at the
traceback still has it."""

import torch

CARD_GIB = 4
WEIGHTS = 512 << 20
SAMPLE = 37 << 20
FITS = 96


class Model:
    def __init__(self, device="cuda:0"):
        self.device = device
        self.tries = []
        self.weights = torch.empty(WEIGHTS, dtype=torch.uint8, device=device)

    def step(self, batch_size):
        """One step of training; nothing stays of it."""
        self.tries.append(batch_size)
        activations = torch.empty(batch_size * (SAMPLE - (17 << 20)), dtype=torch.uint8, device=self.device)
        gradients = torch.empty(batch_size * (17 << 20), dtype=torch.uint8, device=self.device)
        return activations.numel() + gradients.numel()

    def allocated_beside_weights(self):
        return torch.cuda.memory_allocated(self.device) - WEIGHTS
