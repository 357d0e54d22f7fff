"""Training fed by worker processes that decode (--compute) or read (--disk) each batch."""

import multiprocessing
import os
import random
import time

import common
from simulated_gpu import Gpu


def work(options, queue):
    """One worker: makes batches for ever; a full queue holds it up."""
    disk = common.Disk(options.file, options.block * 1024) if options.disk else None
    jitter = random.Random(os.getpid())
    while True:
        if disk:
            disk.read(options.disk * jitter.uniform(0.7, 1.3))
        common.compute(options.compute * jitter.uniform(0.8, 1.2))
        queue.put(bytes(options.batch))


def train(options, gpu, queue):
    """Takes batches and computes on them."""
    for _ in common.until(options.seconds):
        queue.get()
        if options.main:
            common.compute(options.main)
        gpu.copy(options.batch * 60, seconds=options.batch * 60 / 12e9)
        gpu.kernel(options.kernel, sm=options.sm, tensor=options.sm * 0.5, dram=35, power=options.sm / 110)
        gpu.synchronize(spin=not options.sleep)


def arguments():
    """The command line."""
    options = common.parser(__doc__)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--compute", type=float, default=0.0, help="CPU seconds of a worker for a batch")
    options.add_argument("--disk", type=float, default=0.0, help="seconds a worker reads for a batch")
    options.add_argument("--main", type=float, default=0.0, help="CPU seconds of the main process for a batch")
    options.add_argument("--block", type=int, default=1024, help="KiB that one read asks for")
    options.add_argument("--file", default="")
    options.add_argument("--batch", type=int, default=400_000, help="bytes that a worker hands over")
    options.add_argument("--kernel", type=float, default=0.03)
    options.add_argument("--sm", type=float, default=85)
    return options.parse_args()


def main():
    """Starts the workers and trains."""
    options = arguments()
    queue = multiprocessing.Queue(maxsize=2 * options.workers)
    workers = [
        multiprocessing.Process(target=work, args=(options, queue), daemon=True) for _ in range(options.workers)
    ]
    for worker in workers:
        worker.start()
    gpu = Gpu(**common.told(options))
    gpu.memory(options.memory * common.GIGA)
    time.sleep(0.5)
    train(options, gpu, queue)


if __name__ == "__main__":
    main()
