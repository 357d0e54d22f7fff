"""What a made series is made of: cards, phases of a GPU and its job, and scenes of them."""

from dataclasses import dataclass, fields

GIB = 1 << 30


@dataclass(frozen=True)
class Card:
    """A GPU as its driver tells it. `rest`: idle watts and clock. `boost`: the share of the highest clock that it
    really reaches. `counters`: SM, tensor and DRAM activity (Hopper). `consumer`: clocks fall when nothing runs, also
    under a context."""

    name: str
    memory: float
    limit: int
    rest: tuple
    clock: int
    pcie: int
    nvlink: bool = False
    counters: bool = False
    history: bool = True
    consumer: bool = False
    boost: float = 0.97


H100 = Card("NVIDIA H100 80GB HBM3", 79.6, 700, (72, 345), 1980, 5, nvlink=True, counters=True)
H100P = Card("NVIDIA H100 PCIe", 79.6, 350, (48, 345), 1755, 5, counters=True, boost=0.94)
H200 = Card("NVIDIA H200", 140.4, 700, (76, 345), 1980, 5, nvlink=True, counters=True)
A100 = Card("NVIDIA A100-SXM4-80GB", 80.0, 400, (62, 210), 1410, 4, nvlink=True)
A100P = Card("NVIDIA A100-PCIE-40GB", 40.0, 250, (36, 210), 1410, 4)
L40S = Card("NVIDIA L40S", 45.0, 350, (34, 210), 2520, 4, boost=0.95)
V100 = Card("Tesla V100-SXM2-32GB", 32.0, 300, (42, 135), 1530, 3, nvlink=True)
T4 = Card("Tesla T4", 15.0, 70, (10, 300), 1590, 3, boost=0.95)
R4090 = Card("NVIDIA GeForce RTX 4090", 24.0, 450, (18, 210), 3105, 4, consumer=True, boost=0.9)
R3090 = Card("NVIDIA GeForce RTX 3090", 24.0, 350, (24, 210), 2100, 4, consumer=True, boost=0.92)
R2080 = Card("NVIDIA GeForce RTX 2080 Ti", 11.0, 260, (14, 300), 2100, 3, consumer=True, boost=0.9, history=False)
G1080 = Card("NVIDIA GeForce GTX 1080 Ti", 11.0, 250, (10, 139), 1911, 3, consumer=True, boost=0.98, history=False)


@dataclass
class Phase:
    """What happens for so many seconds. The rest are rates and shares of the time. `power`: of what lies between idle
    and the limit. rx, tx, link, disk, read, write: MB a second. `main`, `worker`: CPU share of the main thread and of
    each worker. `pool`: CPUs of the main process's other threads. `*_stall`: share spent waiting for storage.
    `*_delay`: share spent waiting for a CPU. `temp`: degrees, 0: as the power says."""

    seconds: float = 1.0
    busy: float = 0.0
    sm: float = 0.0
    tensor: float = 0.0
    dram: float = 0.0
    power: float = 0.0
    rx: float = 0.0
    tx: float = 0.0
    link: float = 0.0
    main: float = 0.02
    pool: float = 0.0
    stall: float = 0.0
    delay: float = 0.0
    disk: float = 0.0
    read: float = 0.0
    write: float = 0.0
    worker: float = 0.0
    worker_stall: float = 0.0
    worker_delay: float = 0.0
    worker_disk: float = 0.0
    worker_read: float = 0.0
    others_share: float = 0.0
    swap_in: float = 0.0
    temp: float = 0.0
    clock: float = 1.0
    throttle: tuple = ()


NUMBERS = [field.name for field in fields(Phase) if field.name not in ("seconds", "throttle")]


@dataclass
class Scene:
    """One series. `cycle` repeats after `before`; `cycles` instead: one per device. `memory`: share of the card's.
    `idle_children`: child processes that hold a device and do nothing. `absent`: seconds at the start in which no
    process is there. `quirks`: see render.py."""

    why: str
    card: Card = H100
    cycle: tuple = ()
    before: tuple = ()
    cycles: tuple = ()
    framework: str | None = "torch"
    ranks: int | None = None
    cpus: int = 32
    allowed: float | None = None
    workers: int = 0
    worker_name: str = "pt_data_worker"
    pool_threads: int = 4
    gpus: int = 1
    steps: int = 40
    by: str = "watch"
    background: float = 0.04
    memory: float = 0.6
    limit: float = 1.0
    width: int = 16
    others: int = 0
    swapped: float = 0.0
    process: bool = True
    holds: bool = True
    state: str = ""
    idle_children: int = 0
    absent: float = 0.0
    jitter: float = 0.06
    quirks: tuple = ()


def kernels(seconds=0.1, **more):
    """Kernels of a well-fed training: the main thread spins in CUDA's wait or launches."""
    values = {"busy": 0.985, "sm": 84, "tensor": 43, "dram": 36, "power": 0.84, "main": 0.98, "rx": 3, "tx": 1}
    return Phase(seconds, **(values | more))


def wait(seconds=0.1, **more):
    """No kernel; the main thread sleeps unless told."""
    return Phase(seconds, **({"power": 0.07} | more))


def copy(seconds, rx=0.0, tx=0.0, **more):
    """Copies while no kernel runs; the caller is busy (pageable memory)."""
    return Phase(seconds, **({"rx": rx, "tx": tx, "power": 0.12, "main": 0.98, "dram": 1.5} | more))


def cycle(*phases, **every):
    """Phases that repeat, each with the values `every`."""
    for phase in phases:
        for name, value in every.items():
            setattr(phase, name, value)
    return phases


def fed(seconds, gap, kernel=None, during=None, **every):
    """An iteration of so many seconds. The share `gap` is no kernel. `kernel` and `during`: what is special about the
    one and the other."""
    return cycle(
        wait(max(0.0005, seconds * gap), **(during or {})), kernels(seconds * (1 - gap), **(kernel or {})), **every
    )
