"""Holds the device's memory, or not even that, and does nothing, alone or with children."""

import os
import threading
import time

import common
from simulated_gpu import Gpu


def beat(every):
    """A heartbeat, as a notebook's kernel has one."""
    while True:
        time.sleep(every)


def main():
    """Sleeps until the time is over."""
    options = common.parser(__doc__)
    options.add_argument("--children", type=int, default=0)
    options.add_argument("--heartbeat", type=float, default=0.0)
    options.add_argument("--burst", type=float, default=0.0, help="seconds of kernels in the beginning")
    options.add_argument("--no-device", action="store_true")
    options = options.parse_args()
    for _ in range(options.children):
        if os.fork() == 0:
            time.sleep(options.seconds)
            os._exit(0)
    if options.heartbeat:
        threading.Thread(target=beat, args=(options.heartbeat,), daemon=True).start()
    if not options.no_device:
        gpu = Gpu(**common.told(options))
        gpu.memory(options.memory * common.GIGA)
        if options.burst:
            gpu.kernel(options.burst)
    time.sleep(options.seconds)


if __name__ == "__main__":
    main()
