"""Two programs on one device that take turns, from the same source. One is the job. The other, started elsewhere with
--turn 1, is another's process."""

import time

import common
from simulated_gpu import Gpu


def main():
    """Computes in its own part of every period."""
    options = common.parser(__doc__)
    options.add_argument("--period", type=float, default=0.04)
    options.add_argument("--share", type=float, default=0.4, help="the job's part of the period")
    options.add_argument("--turn", type=int, default=0, help="0: the job, 1: the other")
    options.add_argument("--device", type=int, default=0)
    options = options.parse_args()
    gpu = Gpu(device=options.device, **common.told(options))
    gpu.memory(options.memory * common.GIGA)
    begin = options.share * options.period if options.turn else 0.0
    length = options.period - begin if options.turn else options.share * options.period
    for _ in common.until(options.seconds):
        now = time.time()
        start = now - now % options.period + begin
        if start < now - 0.002:
            start += options.period
        gpu.end = start
        gpu.kernel(length * 0.97)
        time.sleep(max(0.0, start + length - time.time()))


if __name__ == "__main__":
    main()
