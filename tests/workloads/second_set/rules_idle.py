"""Series whose GPU does nothing, and near misses of them."""

from scene import (A100, A100P, G1080, H100, H200, L40S, R2080, R3090, R4090, T4, V100, Phase, Scene, cycle, fed,
                   kernels, wait)

NOTHING = cycle(Phase(1.0, main=0.0))


def nothing_running():
    """No process on the device."""
    empty = {"cycle": NOTHING, "process": False, "framework": None}
    job = {"cycle": cycle(Phase(1.0, main=0.3, disk=4, write=38, read=30)), "holds": False, "framework": None}
    return [
        ("h100_empty", Scene("the card is empty, the host idles", H100, cpus=192, **empty)),
        ("t4_empty", Scene("an empty T4 of a small cloud machine, readings fail now and then", T4, cpus=4,
                           quirks=("flaky",), **empty)),
        ("gpus8_empty", Scene("eight empty H200s while others use the host's CPUs", H200, cpus=224, gpus=8, steps=20,
                              background=0.35, **empty)),
        ("old_card_empty", Scene("an empty 1080 Ti without utilisation history", G1080, cpus=8, **empty)),
        ("run_downloads", Scene("the run fetches its data and has not opened a device yet", A100, by="run_samples",
                                steps=60, cpus=64, **job)),
        ("job_without_gpu", Scene("the job fetches files; none of its processes is on the card", R4090, cpus=24,
                                  **job)),
    ]


def near_nothing_running():
    """The process comes late, leaves for a moment, or hardly shows; the GPU is well used."""
    rows = [
        (H100, 1.5, 80, "watch", "torch", 0.6), (A100, 2.0, 100, "watch", "jax", 0.8),
        (R3090, 1.0, 60, "watch", None, 0.4),
        (T4, 3.0, 120, "run_samples", None, 0.5), (V100, 4.0, 180, "run_samples", None, 0.7),
        (H100, 0.0, 40, "watch", None, 0.02), (L40S, 0.0, 40, "watch", "torch", 0.03),
        (R2080, 0.0, 60, "watch", None, 0.05),
        (H200, 5.0, 240, "run_samples", None, 0.9), (R4090, 1.0, 60, "watch", "tensorflow", 0.1),
    ]
    for card, absent, steps, by, framework, memory in rows:
        start = (Phase(absent, main=0.0),) if absent else ()
        why = f"no process for the first {absent:g} s" if absent else "holds hardly any memory"
        yield Scene(why + "; well used", card, fed(0.3, 0.04), start, framework=framework, steps=steps, by=by,
                    memory=memory, absent=absent, workers=0 if by != "watch" else 4)


def memory_held_idle():
    """Memory is held, nothing moves."""
    still = cycle(Phase(1.0, main=0.001))
    beat = cycle(Phase(1.0, main=0.006, pool=0.003))
    return [
        ("notebook", Scene("a notebook's kernel holds 40 GB and waits for its user", H100, beat, cpus=96, memory=0.5,
                           pool_threads=6)),
        ("workers_asleep", Scene("the process and its 8 workers sleep", R3090, still, cpus=16, workers=8,
                                 memory=0.8)),
        ("stopped", Scene("the process was stopped (Ctrl-Z)", T4, cycle(Phase(1.0, main=0.0)), cpus=4, memory=0.7,
                          state="T", framework=None)),
        ("run_hangs", Scene("the run hangs after its training and keeps the memory", A100, still, by="run_samples",
                            steps=120, cpus=64, memory=0.45)),
        ("server_no_requests", Scene("a model server without requests", L40S, beat, cpus=48, memory=0.9,
                                     pool_threads=16,
                                     framework="tensorflow", quirks=("no_pressure",))),
        ("debugger_old", Scene("a debugger's prompt, an old card", G1080, still, cpus=8, memory=0.6, framework=None,
                               quirks=("flaky",))),
        ("gpus4", Scene("four processes hold four cards and sleep", V100, still, cpus=80, gpus=4, ranks=4, steps=30,
                        memory=0.7)),
    ]


def near_memory_held_idle():
    """Somebody idles beside, or the job itself for a moment; the GPU is well used."""
    rows = [
        (H100, 1, 0, 0.0, "torch"), (A100, 2, 0, 0.0, "jax"), (R4090, 0, 1, 0.0, "torch"), (V100, 0, 2, 0.0, None),
        (T4, 0, 0, 1.5, "torch"), (H200, 0, 0, 1.2, None), (R3090, 1, 1, 0.0, None), (L40S, 3, 0, 0.0, "tensorflow"),
        (A100P, 0, 0, 1.0, "torch"), (R2080, 0, 1, 1.0, "torch"),
    ]
    for number, (card, children, others, pause, framework) in enumerate(rows):
        before = (Phase(pause, main=0.0, power=0.05),) if pause else ()
        why = f"{children} children and {others} others hold memory idle, {pause:g} s of rest at first; well used"
        yield Scene(why, card, fed(0.2 + 0.1 * number, 0.03), before, framework=framework, idle_children=children,
                    others=others, steps=60, workers=number % 4, memory=0.5, pool_threads=number % 5)


def computes_on_cpu():
    """The device is held, the CPUs do the work."""
    def on(pool, **more):
        return cycle(Phase(1.0, main=0.97, pool=pool, power=0.02, **more))
    return [
        ("torch_on_cpu", Scene("model.to(device) was forgotten: 32 threads of OpenMP compute", H100, on(30.0),
                               cpus=64,
                               pool_threads=31, memory=0.006)),
        ("consumer_12", Scene("12 threads compute, a context is all there is", R3090, on(10.6), cpus=16,
                              pool_threads=11,
                              memory=0.02)),
        ("tensorflow_t4", Scene("TensorFlow without the right libraries computes on 4 CPUs", T4, on(2.8), cpus=4,
                                pool_threads=4, memory=0.03, framework="tensorflow")),
        ("run_record", Scene("a run's record: 15 CPUs busy, no kernel in two minutes", A100, on(14.5),
                             (wait(5.0, main=0.9, disk=60, power=0.02),), by="run_samples",
                             steps=120, cpus=32, pool_threads=16, memory=0.006)),
        ("jax_cpu", Scene("JAX fell back to the CPU", L40S, on(18.0), cpus=48, pool_threads=20, memory=0.01,
                          framework="jax", quirks=("ticks",))),
        ("old_unknown", Scene("a solver that was built without kernels for this card", G1080, on(5.6), cpus=8,
                              pool_threads=6, memory=0.03, framework=None)),
        ("two_ranks", Scene("two ranks, both compute on the CPU", V100, on(8.5), cpus=40, gpus=2, ranks=2,
                            pool_threads=9,
                            memory=0.02)),
    ]


def near_computes_on_cpu():
    """Several CPUs of the process itself are busy too, or were at first; the GPU is well used."""
    rows = [
        (H100, 12.0, 0.0, 64, "tensorflow"), (A100, 8.0, 0.0, 32, "jax"), (R4090, 6.0, 0.0, 16, None),
        (T4, 1.8, 0.0, 4, "tensorflow"), (V100, 5.0, 0.0, 40, "tensorflow"), (H100, 20.0, 2.5, 96, "torch"),
        (R3090, 9.0, 2.0, 12, "torch"), (L40S, 10.0, 1.5, 32, None), (R2080, 4.5, 2.0, 8, "torch"),
        (H200, 16.0, 2.0, 128, "jax"),
    ]
    for card, pool, first, cpus, framework in rows:
        busy = {"pool": 0.25 if first else pool}
        before = (Phase(first, main=0.95, pool=pool, power=0.05),) if first else ()
        why = f"{pool:g} CPUs busy for {first:g} s at first" if first else f"{pool:g} CPUs of its own feed it"
        yield Scene(why + "; GPU well used", card, fed(0.25, 0.03, **busy), before, framework=framework, cpus=cpus,
                    pool_threads=max(3, round(pool * 1.3)), steps=90 if first else 40)


def swapping():
    """The job's memory comes back from the disk."""
    def stalls(seconds, share, rate, kernel_share, **kernel):
        return cycle(
            wait(seconds * (1 - kernel_share), main=0.16, stall=share, disk=rate, swap_in=rate),
            kernels(seconds * kernel_share, disk=rate * 0.2, swap_in=rate * 0.2, **kernel), delay=0.02)
    base = {"swapped": 9.0, "background": 0.06}
    return [
        ("h100_big_ram", Scene("a data set in RAM that does not fit", H100, stalls(0.6, 0.82, 240, 0.3), cpus=32,
                               **base)),
        ("small_host", Scene("a small host: 8 GB for a job of 14", T4, stalls(0.8, 0.85, 60, 0.25), cpus=4, **base)),
        ("desktop", Scene("a desktop whose browser pushed the job out", R3090, stalls(0.5, 0.78, 130, 0.58), cpus=12,
                          framework=None, **base)),
        ("mostly_stalled", Scene("hardly a kernel between the faults", R2080, stalls(2.5, 0.92, 35, 0.1), cpus=8,
                                 **base)),
        ("workers_swap", Scene("the workers fault too", V100, cycle(
            wait(0.35, main=0.05, stall=0.6, disk=50, swap_in=210, worker=0.12, worker_stall=0.8, worker_disk=40),
            kernels(0.2, swap_in=110, worker=0.14, worker_stall=0.75, worker_disk=25)), cpus=16, workers=4, **base)),
        ("a100_evaluation", Scene("host memory oversubscribed by the optimizer's copies", A100,
                                  stalls(1.6, 0.8, 330, 0.35), cpus=64, quirks=("no_pressure",), **base)),
    ]


def near_swapping():
    """Some memory is out, little comes back."""
    rows = [
        (H100, 4.0, 0.0, 0.02, "torch"), (A100, 12.0, 0.05, 0.03, "torch"), (R3090, 2.0, 0.3, 0.03, None),
        (T4, 1.5, 0.4, 0.04, "torch"), (V100, 6.0, 0.1, 0.03, "tensorflow"), (L40S, 3.0, 1.0, 0.05, "jax"),
        (R2080, 1.0, 0.6, 0.05, "torch"), (R4090, 5.0, 1.5, 0.06, "torch"), (H200, 20.0, 0.2, 0.02, None),
        (G1080, 0.8, 0.5, 0.05, None),
    ]
    for number, (card, swapped, rate, gap, framework) in enumerate(rows):
        yield Scene(f"{swapped:g} GB are swapped out, {rate:g} MB/s come back; well used", card,
                    fed(0.25, gap, during={"stall": 0.3 if rate else 0.0, "main": 0.5}, swap_in=rate, disk=rate),
                    framework=framework, swapped=swapped, workers=number % 4, cpus=8 + 4 * number)
