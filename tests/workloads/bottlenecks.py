"""Workloads with one known bottleneck each: bottlenecks.py NAME VARIANT [SECONDS].

Real processes: workers really burn CPU, loaders really read files, threads really wait for a CPU. The GPU is simulated
and follows what they tell (README.md here). VARIANT is 0, 1 or 2."""

import hashlib
import multiprocessing
import os
import sys
import tempfile
import threading
import time

from simulated_gpu import Gpu

GOOD = {"sm": 82, "tensor": 45, "dram": 40, "power": 0.8}


def burn(seconds):
    """Uses a CPU for that long, by its own CPU time: others on the machine do not shorten the work."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


def worker_burning(queue, seconds):
    while True:
        burn(seconds)
        queue.put(1)


def loader(processes, target, *arguments):
    queue = multiprocessing.Queue(maxsize=2 * processes)
    for _ in range(processes):
        multiprocessing.Process(target=target, args=(queue, *arguments), daemon=True).start()
    return queue


def loader_cpu_bound(variant, until):
    gpu = Gpu(framework="torch", cpus=[2, 2, 3][variant], memory_bytes=8_000_000_000)
    queue = loader(2, worker_burning, [0.10, 0.16, 0.2][variant])
    while time.time() < until:
        queue.get()
        gpu.kernel([0.02, 0.03, 0.04][variant], **GOOD)
        gpu.synchronize(spin=variant != 1)


def loader_too_few_workers(variant, until):
    gpu = Gpu(framework=["torch", "tensorflow", "jax"][variant], cpus=[16, 32, 8][variant])
    queue = loader([1, 2, 1][variant], worker_burning, [0.08, 0.2, 0.12][variant])
    while time.time() < until:
        queue.get()
        gpu.kernel([0.03, 0.04, 0.05][variant], **GOOD)
        gpu.synchronize(spin=variant == 0)


def serial_python(variant, until):
    gpu = Gpu(framework=["torch", "jax", None][variant], cpus=[16, 8, 4][variant])
    while time.time() < until:
        burn([0.05, 0.12, 0.03][variant])
        gpu.kernel([0.02, 0.03, 0.012][variant], **GOOD)
        if variant != 2:
            gpu.synchronize()
        elif gpu.end > time.time() + 0.1:
            gpu.synchronize()


def host_device_copies(variant, until):
    gpu = Gpu(framework="torch", cpus=16)
    while time.time() < until:
        if variant == 2:  # device to host
            gpu.copy(0, seconds=0.06, sent=0.06 * 12e9)
        else:
            gpu.copy([0.08 * 20e9, 0.05 * 11e9][variant], seconds=[0.08, 0.05][variant])
        gpu.kernel([0.03, 0.02, 0.02][variant], **GOOD)
        gpu.synchronize()


def small_kernels(variant, until):
    gpu = Gpu(framework=["torch", "tensorflow", "jax"][variant], cpus=16)
    while time.time() < until:
        burn(0.02)
        gpu.kernels(seconds=[0.0004, 0.0008, 0.00018][variant], count=200, every=[0.0005, 0.001, 0.00025][variant])
        if gpu.end > time.time() + 0.3:
            gpu.synchronize()


def memory_bound(variant, until):
    gpu = Gpu(framework="torch", cpus=16)
    while time.time() < until:
        gpu.kernel(0.05, sm=[60, 75, 50][variant], tensor=[4, 12, 8][variant], dram=[85, 78, 90][variant], power=0.6)
        gpu.synchronize(spin=False)


def throttled(kind, variant, until):
    gpu = Gpu(framework="torch", cpus=16)
    gpu.state([kind], clock=[0.55, 0.65, 0.4][variant])
    while time.time() < until:
        gpu.kernel([0.05, 0.2, 0.01][variant], **(GOOD | {"power": [0.98, 0.9, 0.6][variant]}))
        gpu.synchronize(spin=False)


def throttled_power(variant, until):
    throttled("power", variant, until)


def throttled_heat(variant, until):
    throttled("heat", variant, until)


def waiting_for_ranks(variant, until):
    gpu = Gpu(framework="torch", cpus=32, ranks=[2, 8, 4][variant])
    while time.time() < until:
        gpu.kernel([0.9, 0.4, 1.2][variant], **GOOD)
        gpu.kernel([2.1, 3.0, 1.8][variant], sm=[5, 8, 3][variant], tensor=0, dram=2, power=0.15)
        gpu.synchronize(spin=variant != 1)


def periodic_pauses(variant, until):
    gpu = Gpu(framework="torch", cpus=16)
    while time.time() < until:
        end = time.time() + [3.0, 2.5, 4.0][variant]
        while time.time() < end:
            gpu.kernel(0.08, **GOOD)
            gpu.synchronize(spin=variant == 0)
        if variant == 0:
            burn(1.3)
        elif variant == 1:
            time.sleep(1.5)
        else:
            with tempfile.NamedTemporaryFile(dir=".") as file:
                file.write(os.urandom(20_000_000))
                file.flush()
                time.sleep(1.4)


def memory_held_idle(variant, until):
    gpu = Gpu(framework="torch", cpus=16)
    gpu.memory([30e9, 2e9, 60e9][variant])
    if variant == 1:  # an idle worker beside it
        multiprocessing.Process(target=time.sleep, args=(1000,), daemon=True).start()
    while time.time() < until:
        time.sleep(0.5 if variant else 1000)


def nothing_running(variant, until):
    while time.time() < until:  # the run has its GPU, and no process is on it
        time.sleep(0.2) if variant != 1 else burn(0.2)


def computes_on_cpu(variant, until):
    Gpu(framework=["torch", "tensorflow", None][variant], cpus=[4, 2, 16][variant])
    # Threads of one Python process take turns; hashing a large block lets the lock go.
    block = b"x" * 4_000_000

    def work():
        while time.time() < until:
            hashlib.sha256(block)

    for _ in range([2, 3, 2][variant]):
        threading.Thread(target=work, daemon=True).start()
    work()


def too_few_cpus(variant, until):
    os.sched_setaffinity(0, {[0, 1, 0][variant]})
    gpu = Gpu(framework="torch", cpus=[16, 64, 8][variant], cpus_allowed=1)
    queue = loader([4, 3, 6][variant], worker_burning, 0.05)
    while time.time() < until:
        queue.get()
        gpu.kernel(0.02, **GOOD)
        gpu.synchronize(spin=variant == 1)


def somebody_else(variant, until):
    """Not of the job: record_series.py starts it beside shared_with_others."""
    gpu = Gpu(device=int(os.environ["BERTH_OTHER_DEVICE"]))
    while time.time() < until:
        gpu.kernel([0.05, 0.08, 0.03][variant], **GOOD)
        gpu.synchronize(spin=False)
        time.sleep([0.05, 0.02, 0.05][variant])


def shared_with_others(variant, until):
    gpu = Gpu(framework="torch", cpus=16)
    while time.time() < until:
        gpu.kernel(0.04, **GOOD)
        gpu.synchronize(spin=False)
        time.sleep([0.03, 0.06, 0.02][variant])


def read_past_the_cache(queue, path, pause):
    file = os.open(path, os.O_RDONLY)
    size = os.fstat(file).st_size
    while True:
        for at in range(0, size, 1 << 20):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(file, 1 << 20, at)
            time.sleep(pause)
            if at % (8 << 20) == 0:
                queue.put(1)


def loader_storage_bound(variant, until):
    folder = tempfile.mkdtemp(dir=".")
    path = os.path.join(folder, "data")
    with open(path, "wb") as file:
        file.write(os.urandom(1 << 20) * 64)
        file.flush()
        os.fsync(file.fileno())
    gpu = Gpu(framework=["torch", "tensorflow", "jax"][variant], cpus=16)
    queue = loader([2, 1, 4][variant], read_past_the_cache, path, [0.01, 0.004, 0.02][variant])
    while time.time() < until:
        queue.get()
        gpu.kernel(0.01, **GOOD)
        gpu.synchronize(spin=False)
    os.unlink(path)


def healthy(variant, until):
    gpu = Gpu(framework="torch", cpus=16)
    queue = loader(1, worker_burning, 0.02)
    while time.time() < until:
        queue.get()
        gpu.kernel([0.08, 0.15, 0.3][variant], **GOOD)
        gpu.synchronize(spin=variant == 0)


def queued_ahead(variant, until):
    """Healthy also on a machine that has hardly any time for it: seconds of kernels are always queued."""
    gpu = Gpu(framework=["torch", "jax", None][variant], cpus=16)
    while time.time() < until:
        gpu.kernel(0.1, **GOOD)
        time.sleep(max(0.0, gpu.end - time.time() - 3))


if __name__ == "__main__":
    name, chosen = sys.argv[1], int(sys.argv[2])
    length = float(sys.argv[3]) if len(sys.argv) > 3 else 12
    globals()[name](chosen, time.time() + length)
