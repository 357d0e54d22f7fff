"""Phases laid one after the other, and what a stretch of them amounts to."""

from bisect import bisect_right
from itertools import chain, cycle

from scene import NUMBERS


class Timeline:
    """What one device and its process do from 0 to `length` seconds."""

    def __init__(self, scene, phases, length, rng):
        self.starts, self.phases = [], []
        now = 0.0
        if not scene.before and not scene.absent:
            now = -rng.uniform(0, sum(phase.seconds for phase in phases))
        for phase in chain(scene.before, cycle(phases)):
            if now >= length:
                break
            end = now + phase.seconds * max(0.4, rng.gauss(1.0, scene.jitter))
            if end > 0:
                self.starts.append(now)
                self.phases.append(phase)
            now = end
        self.end = now

    def _pieces(self, begin, end):
        """The phases between two times with their shares of it."""
        index = max(0, bisect_right(self.starts, begin) - 1)
        while index < len(self.starts) and self.starts[index] < end:
            stop = self.starts[index + 1] if index + 1 < len(self.starts) else self.end
            share = (min(end, stop) - max(begin, self.starts[index])) / (end - begin)
            if share > 0:
                yield self.phases[index], share
            index += 1

    def mean(self, begin, end):
        """Every number's mean between two times, as a dictionary."""
        pieces = list(self._pieces(begin, end))
        return {name: sum(getattr(phase, name) * share for phase, share in pieces) for name in NUMBERS}

    def busy(self, begin, end):
        """The utilisation between two times, in percent."""
        return 100 * sum(phase.busy * share for phase, share in self._pieces(begin, end))

    def last(self, end):
        """The phase at a time."""
        return self.phases[max(0, bisect_right(self.starts, end - 1e-6) - 1)]
