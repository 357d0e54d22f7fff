"""What record.py records: a program of programs/, its arguments and its card. Also why the answer is the one in the
name."""

from dataclasses import dataclass

H100 = ("server-8xh100", 3)
A100 = ("lab-4", 3)
OLD = ("lab-4", 0)
TURING = ("lab-4", 1)
PLAIN = ("no-history", 0)
BUSY = "--framework torch --cpus 16"


@dataclass(frozen=True)
class Recording:
    """One series. `delay`: how much waiting for a CPU is still no fault of this machine's. `heavy`: needs both CPUs.
    `holds`: the program is on the device. `pace`: a run's record afterwards."""

    why: str
    card: tuple
    command: str = ""
    seconds: int = 9
    warm: float = 2.0
    neighbour: str = ""
    heavy: bool = False
    holds: bool = True
    pace: bool = False
    delay: float = 0.12

    @property
    def server(self):
        """The simulated server's name."""
        return self.card[0]

    @property
    def device(self):
        """The device's index there."""
        return self.card[1]


def several(rule, *recordings):
    """Numbers a rule's recordings."""
    return {f"{rule}--recorded_{number}": one for number, one in enumerate(recordings, 1)}


IDLE = several(
    "nothing_running",
    Recording("nobody is on the H100", H100, holds=False),
    Recording("nobody is on the 1080 Ti", OLD, holds=False),
    Recording("a run sleeps and never opens the device", A100, "idle.py --no-device", holds=False),
) | several(
    "memory_held_idle",
    Recording("30 GB held, the program sleeps", H100, f"idle.py {BUSY} --memory 30"),
    Recording("a notebook with a heartbeat holds 8 GB", TURING, "idle.py --memory 8 --heartbeat 0.2 --cpus 8"),
    Recording("the program and its 4 children sleep", A100, f"idle.py {BUSY} --memory 22 --children 4"),
) | several(
    "computes_on_cpu",
    Recording("two threads compute, no kernel", H100, "threads.py --threads 2 --cpus 8 --framework torch",
              heavy=True, delay=0.5),
    Recording("two threads compute, no kernel, framework unknown", OLD, "threads.py --threads 2 --memory 0.3",
              heavy=True, delay=0.5),
    Recording("TensorFlow that found no kernel, a run's record", A100,
              "threads.py --threads 2 --framework tensorflow --memory 0.4", heavy=True, pace=True, delay=0.5),
)

LOADERS = several(
    "loader_cpu_bound",
    Recording("both CPUs are full of the two workers; a kernel of 12 ms per 40 ms", H100,
              "loader.py --framework torch --workers 2 --compute 0.08 --kernel 0.012 --sleep", heavy=True, delay=0.5),
    Recording("both CPUs are full of the two workers; a kernel of 60 ms per 150 ms", A100,
              "loader.py --framework torch --workers 2 --compute 0.3 --kernel 0.06 --sleep", heavy=True, delay=0.5),
    Recording("both CPUs are full of the two workers, framework unknown", TURING,
              "loader.py --workers 2 --compute 0.12 --kernel 0.01 --sleep", heavy=True, delay=0.5),
) | several(
    "loader_too_few_workers",
    Recording("one worker, 16 CPUs; 80 ms for a batch, 25 ms to compute on it", H100,
              f"loader.py {BUSY} --workers 1 --compute 0.08 --kernel 0.025 --sleep",
              heavy=True, delay=0.2),
    Recording("one worker, 24 CPUs; GPU busy for 40 %", A100,
              "loader.py --framework torch --cpus 24 --workers 1 --compute 0.1 --kernel 0.04 --sleep",
              heavy=True, delay=0.2),
    Recording("two workers, 32 CPUs; GPU busy for half", H100,
              "loader.py --framework torch --cpus 32 --workers 2 --compute 0.16 --kernel 0.04 --sleep",
              heavy=True, delay=0.3),
) | several(
    "loader_storage_bound",
    Recording("two workers read from the disk all the time", H100,
              f"loader.py {BUSY} --workers 2 --disk 0.16 --block 4096 --compute 0.002 --kernel 0.02 "
              "--sleep --file FILE",
              heavy=True, delay=0.25),
    Recording("the main process reads blocks of 64 KiB", A100,
              "single.py --framework torch --cpus 12 --disk 0.1 --block 64 --kernel 0.03 --sleep --file FILE",
              delay=0.2),
    Recording("four workers read big blocks, GPU busy for a third", H100,
              f"loader.py {BUSY} --workers 4 --disk 0.3 --block 8192 --compute 0.002 --kernel 0.025 --sleep"
              " --file FILE", heavy=True, delay=0.4),
)

HOST = several(
    "serial_python",
    Recording("70 ms of Python, then 30 ms of kernels, waits sleep", H100,
              f"single.py {BUSY} --think 0.07 --kernel 0.03 --sleep"),
    Recording("60 ms of Python, then 60 ms of kernels, waits spin", A100,
              f"single.py {BUSY} --think 0.06 --kernel 0.06", heavy=True),
    Recording("half a second of Python, then 0.2 s of kernels; nothing known of the framework", PLAIN,
              "single.py --cpus 6 --think 0.5 --kernel 0.2 --sleep --memory 4"),
) | several(
    "host_device_copies",
    Recording("0.7 GB of pageable memory to the device, 78 ms, then 30 ms of kernels", H100,
              f"single.py {BUSY} --receive 700 --kernel 0.03", heavy=True),
    Recording("the optimizer's state goes both ways over PCIe, pinned", A100,
              f"single.py {BUSY} --receive 1000 --send 1000 --rate 20 --kernel 0.06 --sleep"),
    Recording("results come back over a PCIe 3 link", TURING,
              "single.py --framework torch --cpus 8 --send 400 --rate 6 --kernel 0.04 --sleep"),
) | several(
    "too_few_cpus",
    Recording("16 CPUs, the job is bound to one; 6 threads take turns", H100,
              "threads.py --framework torch --cpus 16 --allowed 1 --on 1 --threads 6 --rounds 20000 --kernel 0.02 "
              "--sleep",
              heavy=True, delay=99),
    Recording("32 CPUs, a quota of one; 4 threads, spinning waits", A100,
              "threads.py --framework torch --cpus 32 --allowed 1 --on 1 --threads 4 --rounds 40000 --kernel 0.03",
              heavy=True, delay=99),
    Recording("8 CPUs, one allowed; 10 threads of an unknown framework", OLD,
              "threads.py --cpus 8 --allowed 1 --on 1 --threads 10 --rounds 15000 --kernel 0.04 --sleep",
              heavy=True, delay=99),
)

FULL = "--sm 88 --tensor 55 --dram 40 --power 0.95"
DEVICE = several(
    "small_kernels",
    Recording("kernels of 10 us one after the other, a tenth of the chip", H100,
              f"single.py {BUSY} --kernel 0.1 --every 0.0005 --duty 0.9 --sm 9 --tensor 1 --dram 4 --power 0.15",
              heavy=True),
    Recording("batch of one, power of a quarter of the limit", A100,
              f"single.py {BUSY} --kernel 0.08 --every 0.001 --duty 0.88 --sm 10 --power 0.16 --dram 5", heavy=True),
    Recording("a batch that is too small, kernels without gaps", H100,
              "single.py --framework jax --cpus 32 --kernel 0.05 --sm 12 --tensor 3 --dram 6 --power 0.18 --sleep"),
) | several(
    "memory_bound",
    Recording("decoding: 90 % of the bandwidth, hardly any tensor work", H100,
              f"single.py {BUSY} --kernel 0.03 --sm 84 --tensor 6 --dram 90 --power 0.62 --sleep"),
    Recording("an element-wise solver at 86 %", H100,
              "single.py --framework jax --cpus 48 --kernel 0.2 --sm 92 --tensor 0 --dram 86 --power 0.66 --sleep"),
    Recording("embedding look-ups at 82 %", H100,
              f"single.py {BUSY} --kernel 0.06 --sm 76 --tensor 9 --dram 82 --power 0.58 --sleep"),
) | several(
    "throttled_power",
    Recording("the power limit holds the clock at 55 %", H100,
              f"single.py {BUSY} {FULL} --kernel 0.1 --throttle power --clock 0.55 --sleep"),
    Recording("the power limit holds the clock at 48 %", A100,
              f"single.py {BUSY} {FULL} --kernel 0.05 --throttle power --clock 0.48 --sleep"),
    Recording("a weak power supply holds the clock at 60 %", OLD,
              f"single.py --cpus 8 {FULL} --kernel 0.08 --throttle power --clock 0.6 --sleep"),
) | several(
    "throttled_heat",
    Recording("heat holds the clock at 50 %", H100,
              f"single.py {BUSY} --power 0.55 --kernel 0.1 --throttle heat --clock 0.5 --sleep"),
    Recording("heat holds the clock at 40 %", TURING,
              "single.py --cpus 12 --framework torch --power 0.5 --kernel 0.06 --throttle heat --clock 0.4 --sleep"),
    Recording("heat holds the clock at 45 % for nine tenths of the time", A100,
              f"single.py {BUSY} --power 0.6 --kernel 0.06 --throttle heat --clock 0.45 --throttle-every 5 "
              "--throttle-share 0.9 --sleep", seconds=15),
)

RANKS = "--framework torch --cpus 96 --link 1"
GROUPS = several(
    "waiting_for_ranks",
    Recording("one of 8 ranks: 0.25 s of its own work, 0.3 s in the collective", H100,
              f"single.py {RANKS} --ranks 8 --kernel 0.25 --spin 0.3 --sleep"),
    Recording("one of 16 ranks: 1.5 s of its own work, 1.5 s in the collective", H100,
              f"single.py {RANKS} --ranks 16 --kernel 1.5 --spin 1.5 --sleep", seconds=16),
    Recording("one of 4 ranks: 0.1 s of its own work, 0.2 s in the collective", H100,
              f"single.py {RANKS} --ranks 4 --kernel 0.1 --spin 0.2 --sleep"),
) | several(
    "periodic_pauses",
    Recording("3 s of checkpoint after every 6 s", H100,
              f"single.py {BUSY} --kernel 0.08 --pause 3 --pause-every 6 --scratch SCRATCH --sleep", seconds=40),
    Recording("4 s of pause after every 8 s, little of it on the CPU", A100,
              f"single.py {BUSY} --kernel 0.08 --pause 4 --pause-every 8 --pause-compute 0.1 --scratch SCRATCH --sleep",
              seconds=45),
    Recording("5 s of evaluation on the CPU after every 9 s, a run's record", H100,
              f"single.py {BUSY} --kernel 0.1 --pause 5 --pause-every 9 --pause-compute 0.8 --scratch SCRATCH --sleep",
              seconds=60, pace=True),
) | several(
    "shared_with_others",
    Recording("somebody else has six tenths of the H100", H100, "sharer.py --framework torch --cpus 32 --share 0.38",
              neighbour="sharer.py --device 3 --turn 1 --share 0.38 --memory 20"),
    Recording("somebody else has half of the A100", A100,
              "sharer.py --framework torch --cpus 16 --share 0.48 --period 0.1",
              neighbour="sharer.py --device 3 --turn 1 --share 0.48 --period 0.1 --memory 9"),
    Recording("somebody else has seven tenths of the 2080 Ti", TURING, "sharer.py --cpus 8 --share 0.28 --memory 3",
              neighbour="sharer.py --device 1 --turn 1 --share 0.28 --memory 4"),
)

HEALTHY = {
    "healthy--near_loader_too_few_workers-recorded": Recording(
        "one worker at 60 %, always a batch ahead; GPU 95 %", H100,
        f"loader.py {BUSY} --workers 1 --compute 0.035 --kernel 0.06 --sleep"),
    "healthy--near_serial_python-recorded": Recording(
        "5 ms of Python per 100 ms of kernels", A100, f"single.py {BUSY} --think 0.005 --kernel 0.1 --sleep"),
    "healthy--near_host_device_copies-recorded": Recording(
        "5 ms of copies per 110 ms of kernels", H100,
        f"single.py {BUSY} --receive 100 --rate 20 --kernel 0.11 --sleep"),
    "healthy--near_throttled_power-recorded": Recording(
        "the power limit works, the clock is at 95 %", H100,
        f"single.py {BUSY} {FULL} --kernel 0.1 --throttle power --clock 0.95 --sleep"),
    "healthy--near_throttled_heat-recorded": Recording(
        "heat for a tenth of the time, at 92 % of the clock", A100,
        f"single.py {BUSY} --kernel 0.1 --throttle heat --clock 0.92 --throttle-every 5 --throttle-share 0.1 --sleep"),
    "healthy--near_waiting_for_ranks-recorded": Recording(
        "one of 8 ranks waits 20 ms per 0.4 s", H100,
        f"single.py {RANKS} --ranks 8 --kernel 0.4 --spin 0.02 --sleep"),
    "healthy--near_periodic_pauses-recorded": Recording(
        "0.5 s of checkpoint after every 12 s", H100,
        f"single.py {BUSY} --kernel 0.08 --pause 0.4 --pause-every 12 --scratch SCRATCH --sleep", seconds=40),
    "healthy--near_memory_bound-recorded": Recording(
        "55 % of the bandwidth under 45 % tensor work", H100,
        f"single.py {BUSY} --kernel 0.1 --sm 90 --tensor 45 --dram 55 --power 0.85 --sleep"),
    "healthy--near_loader_storage_bound-recorded": Recording(
        "one worker reads half of the time, the GPU never waits", A100,
        f"loader.py {BUSY} --workers 1 --disk 0.03 --block 256 --compute 0.004 --kernel 0.07 --sleep --file FILE"),
}

RECORDINGS = IDLE | LOADERS | HOST | DEVICE | GROUPS | HEALTHY
