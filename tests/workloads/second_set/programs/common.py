"""What the programs share: work that really costs CPU time, and reads that really go to the disk. Also how long to go
on."""

import argparse
import mmap
import os
import random
import time
import zlib

BLOCK = bytes(range(256)) * 64
GIGA = 1_000_000_000


def parser(text):
    """The options that every program has."""
    options = argparse.ArgumentParser(description=text)
    options.add_argument("--seconds", type=float, default=60.0, help="when to end")
    options.add_argument("--framework", default=None)
    options.add_argument("--ranks", type=int, default=None)
    options.add_argument("--cpus", type=int, default=None, help="what the host says it has")
    options.add_argument("--allowed", type=float, default=None, help="how many of them the job may use")
    options.add_argument("--memory", type=float, default=9.0, help="GB of the device")
    options.add_argument("--sleep", action="store_true", help="CUDA's waits sleep instead of spinning")
    return options


def told(options):
    """What of the options the simulated GPU is told about the process."""
    values = {
        "framework": options.framework,
        "ranks": options.ranks,
        "cpus": options.cpus,
        "cpus_allowed": options.allowed or options.cpus,
    }
    return {key: value for key, value in values.items() if value is not None}


def until(seconds):
    """True until so many seconds have passed, at every call."""
    end = time.time() + seconds
    while time.time() < end:
        yield


def compute(seconds):
    """Costs the calling thread so much CPU time."""
    end = time.thread_time() + seconds
    number = 0
    while time.thread_time() < end:
        number = zlib.crc32(BLOCK, number)
    return number


class Disk:
    """A file whose reads pass the page cache by and go to the disk."""

    def __init__(self, path, block):
        self.file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self.block = block
        self.blocks = max(1, os.fstat(self.file).st_size // block)
        self.buffer = mmap.mmap(-1, block)
        self.random = random.Random(os.getpid())

    def read(self, seconds):
        """Reads blocks here and there for so long."""
        end = time.time() + seconds
        while time.time() < end:
            place = self.random.randrange(self.blocks) * self.block
            os.preadv(self.file, [self.buffer], place)
