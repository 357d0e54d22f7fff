"""A stream of a simulated GPU for workloads. What is queued here becomes what `berth --sim` shows of the device
(tests/workloads/README.md says what is written)."""

import json
import os
import time


def visible_device(default):
    """The position of the device that a run was given; without one, `default`."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    return int(first) if first.isdigit() else default


class Gpu:
    """One process's stream on one device. Kernels queue and run one after another."""

    def __init__(self, device=0, folder=None, **process):
        self.device = visible_device(device)
        folder = folder or os.environ["BERTH_SIM_WORK"]
        path = os.path.join(folder, f"{os.getpid()}-{self.device}.work")
        self.file = open(path, "a", buffering=1, encoding="ascii")  # noqa: SIM115: for the process's life
        self.process = {"pid": os.getpid(), "devices": [self.device], "memory_bytes": 500_000_000}
        self.process.update(process)
        self.end = time.time()
        self._tell(process=self.process)

    def _tell(self, **line):
        self.file.write(json.dumps(line) + "\n")

    def memory(self, number_of_bytes):
        """How much of the device's memory the process holds from now on."""
        self.process["memory_bytes"] = int(number_of_bytes)
        self._tell(process=self.process)

    def state(self, throttle=(), clock=1.0):
        """What holds the clocks from now on."""
        self._tell(state=[self.device, time.time()], throttle=list(throttle), clock=clock)

    def kernel(self, seconds, sm=80, tensor=40, dram=35, power=0.75, **more):
        """Queues one kernel and returns at once."""
        start = max(time.time(), self.end)
        self.end = start + seconds
        self._tell(kernel=[self.device, start, seconds], sm=sm, tensor=tensor, dram=dram, power=power, **more)

    def kernels(self, seconds, count, every, **what):
        """Queues `count` kernels that begin `every` seconds apart, as one line."""
        start = max(time.time(), self.end)
        self.end = start + every * count
        what = {"sm": 8, "tensor": 2, "dram": 5, "power": 0.15} | what
        self._tell(kernel=[self.device, start, seconds], every=every, count=count, **what)

    def copy(self, received, seconds, sent=0, wait=True):
        """Copies between host and device behind what is queued; `wait`: the caller is busy until it is
        done (pageable memory)."""
        start = max(time.time(), self.end)
        self.end = start + seconds
        self._tell(copy=[self.device, start, seconds], received=int(received), sent=int(sent))
        if wait:
            self.synchronize()

    def synchronize(self, spin=True):
        """Waits until all that was queued is done: spinning, as CUDA does by default, or asleep."""
        if not spin:
            time.sleep(max(0.0, self.end - time.time()))
            return
        while time.time() < self.end:
            pass
