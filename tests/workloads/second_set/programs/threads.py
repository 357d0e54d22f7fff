"""Threads that compute outside Python's lock. Without --kernel they compute on the CPU instead of the device. Or a step
needs more of them than the process may use CPUs (--on)."""

import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import common
from simulated_gpu import Gpu


def hashes(rounds):
    """Some milliseconds of computing without Python's lock."""
    return hashlib.pbkdf2_hmac("sha256", b"word", b"salt", rounds)


def without_kernels(options):
    """The model is on the CPU: every thread computes all the time."""
    def endless():
        while True:
            hashes(20_000)
    for _ in range(options.threads):
        threading.Thread(target=endless, daemon=True).start()
    time.sleep(options.seconds)


def with_kernels(options, gpu):
    """Each step needs a part from every thread, then the device computes."""
    with ThreadPoolExecutor(options.threads) as pool:
        for _ in common.until(options.seconds):
            list(pool.map(hashes, [options.rounds] * options.threads))
            gpu.kernel(options.kernel)
            gpu.synchronize(spin=not options.sleep)


def main():
    """Starts the threads."""
    options = common.parser(__doc__)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--rounds", type=int, default=15_000)
    options.add_argument("--kernel", type=float, default=0.0)
    options.add_argument("--on", type=int, default=0, help="use only so many CPUs")
    options = options.parse_args()
    if options.on:
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:options.on]))
    gpu = Gpu(**common.told(options))
    gpu.memory(options.memory * common.GIGA)
    if options.kernel:
        with_kernels(options, gpu)
    else:
        without_kernels(options)


if __name__ == "__main__":
    main()
