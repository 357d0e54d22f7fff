"""A model of which one knows how large a batch fits, for tests of looking for it.

The card has 4 GiB, the weights 512 MiB, each sample 37 MiB. So 96 samples fit and no more. When the rest is refused, a
step holds a part of its memory in its frame, as real ones do. A traceback keeps that part alive."""

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
