"""One process without workers. Each step thinks on the CPU, reads from the disk, copies and computes. On several ranks
it waits for the others. Every so often it pauses."""

import os
import threading
import time

import common
from simulated_gpu import Gpu


def launch(options, gpu):
    """Many short kernels, each launched by Python: the thread is busy for as long as they run."""
    count = int(options.kernel / options.every)
    gpu.kernels(
        options.every * options.duty, count, options.every,
        sm=options.sm, tensor=options.tensor, dram=options.dram, power=options.power,
    )
    common.compute(options.kernel * 0.9)
    gpu.synchronize(spin=not options.sleep)


def kernel(options, gpu):
    """The step's kernels, and on several ranks the collective behind them."""
    if options.every:
        launch(options, gpu)
        return
    gpu.kernel(
        options.kernel, sm=options.sm, tensor=options.tensor, dram=options.dram, power=options.power,
        nvlink=options.link * common.GIGA,
    )
    if options.spin:
        gpu.kernel(options.spin, sm=13, tensor=0, dram=1.2, power=0.17)
        gpu.kernel(0.02, sm=16, tensor=0, dram=20, power=0.3, nvlink=2.5e9)
    gpu.synchronize(spin=not options.sleep)


def copies(options, gpu):
    """What goes over PCIe in a step; the rate is that of pageable memory unless told."""
    for megabytes, sent in ((options.receive, False), (options.send, True)):
        if megabytes:
            amount = megabytes * 1e6
            seconds = amount / (options.rate * common.GIGA)
            gpu.copy(0 if sent else amount, seconds, sent=amount if sent else 0, wait=False)
            gpu.synchronize(spin=not options.sleep)


def pause(options):
    """A checkpoint: serialised by Python, then written."""
    common.compute(options.pause * options.pause_compute)
    with open(options.scratch, "wb") as file:
        for _ in range(8):
            file.write(bytes(4 << 20))
        file.flush()
        os.fsync(file.fileno())
    time.sleep(options.pause * (1 - options.pause_compute) * 0.9)


def step(options, gpu, disk):
    """One iteration."""
    if options.think:
        common.compute(options.think)
    if disk:
        disk.read(options.disk)
    copies(options, gpu)
    if options.kernel:
        kernel(options, gpu)
    if options.rest:
        time.sleep(options.rest)


def throttle(options, gpu):
    """Holds the clocks from the beginning, or from time to time (--throttle-every)."""
    while True:
        gpu.state([options.throttle], options.clock)
        if not options.throttle_every:
            return
        time.sleep(options.throttle_every * options.throttle_share)
        gpu.state()
        time.sleep(options.throttle_every * (1 - options.throttle_share))


def arguments():
    """The command line."""
    options = common.parser(__doc__)
    numbers = {
        "think": 0, "disk": 0, "receive": 0, "send": 0, "rate": 9, "kernel": 0.05, "sm": 85, "tensor": 42,
        "dram": 35, "power": 0.8, "link": 0, "spin": 0, "rest": 0, "pause": 0, "pause_every": 8,
        "pause_compute": 0.5, "every": 0, "duty": 0.8, "clock": 1.0, "throttle_every": 0, "throttle_share": 0.5,
    }
    for name, default in numbers.items():
        options.add_argument("--" + name.replace("_", "-"), type=float, default=default)
    options.add_argument("--block", type=int, default=1024)
    options.add_argument("--throttle", default="")
    options.add_argument("--file", default="")
    options.add_argument("--scratch", default="")
    return options.parse_args()


def main():
    """Trains until the time is over."""
    options = arguments()
    gpu = Gpu(**common.told(options))
    gpu.memory(options.memory * common.GIGA)
    if options.throttle:
        threading.Thread(target=throttle, args=(options, gpu), daemon=True).start()
    disk = common.Disk(options.file, options.block * 1024) if options.disk else None
    paused = time.time()
    for _ in common.until(options.seconds):
        step(options, gpu, disk)
        if options.pause and time.time() - paused > options.pause_every:
            pause(options)
            paused = time.time()


if __name__ == "__main__":
    main()
