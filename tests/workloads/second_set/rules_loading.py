"""Series whose GPU waits for data or for the main thread, and near misses of them."""

from scene import (A100, A100P, G1080, H100, H200, L40S, R2080, R3090, R4090, T4, V100, Scene, copy, cycle, fed,
                   kernels, wait)


WARM = (wait(6.0, main=0.95, disk=40, read=90, power=0.03),)


def starved(seconds, share, main=0.04, kernel=None, **every):
    """An iteration whose GPU computes for `share` of the time and else waits for a batch."""
    loaded = {"busy": 0.98, "main": 0.98} | (kernel or {})
    return cycle(wait(seconds * (1 - share), main=main), kernels(seconds * share, rx=90, **loaded), **every)


def loader_cpu_bound():
    """As many workers as CPUs, all busy."""
    def full(worker=0.93, delay=0.05):
        return {"worker": worker, "worker_delay": delay, "worker_read": 6}
    return [
        ("h100_16", Scene("16 workers fill 16 CPUs; GPU busy for a third", H100, starved(0.6, 0.33, **full()),
                          cpus=16,
                          workers=16, background=0.01)),
        ("t4_4", Scene("4 workers fill the 4 CPUs of a cloud machine", T4,
                       starved(0.9, 0.62, kernel={"main": 0.3}, **full(0.92, 0.07)), cpus=4, workers=4,
                       background=0.01)),
        ("desktop_12", Scene("12 CPUs, 12 workers that decode pictures", R3090, starved(0.35, 0.45, **full(0.94)),
                             cpus=12,
                             workers=12, background=0.01, quirks=("ticks",))),
        ("v100_8", Scene("8 CPUs, 8 workers, framework unknown", V100, starved(0.5, 0.25, **full()), cpus=8,
                         workers=8,
                         framework=None, worker_name="python3", background=0.01)),
        ("gpus2_a100", Scene("two ranks with 16 workers each fill 32 CPUs", A100,
                             starved(0.7, 0.4, **full(0.95, 0.03)),
                             cpus=32, gpus=2, ranks=2, workers=16, steps=30, background=0.01)),
        ("turing_6", Scene("6 CPUs, 6 workers, batches that take 2 s", R2080, starved(2.0, 0.4, **full(0.92, 0.06)),
                           cpus=6,
                           workers=6, steps=60, background=0.02)),
        ("l40s_24_clear", Scene("24 CPUs, 24 workers, GPU at 15 %", L40S, starved(1.0, 0.15, **full(0.96, 0.03)),
                                cpus=24,
                                workers=24, background=0.0, quirks=("no_pressure",))),
    ]


def near_loader_cpu_bound():
    """The workers fill the CPUs, yet the GPU hardly waits."""
    rows = [
        (H100, 16, 15, 0.92, 0.05), (A100, 32, 30, 0.9, 0.04), (T4, 4, 3, 0.88, 0.06), (R3090, 12, 11, 0.9, 0.05),
        (R4090, 16, 14, 0.95, 0.06), (V100, 8, 7, 0.85, 0.04), (L40S, 24, 22, 0.8, 0.03), (R2080, 8, 6, 0.95, 0.06),
        (H200, 32, 31, 0.9, 0.03), (G1080, 4, 3, 0.9, 0.05),
    ]
    for number, (card, cpus, workers, worker, gap) in enumerate(rows):
        before = (wait(0.9, main=0.4, worker=0.97),) if number % 3 == 0 else ()
        yield Scene(f"{workers} workers keep {cpus} CPUs busy, {gap * 100:.0f} % of the GPU's time is lost", card,
                    fed(0.2 + 0.1 * number, gap, worker=worker, worker_delay=0.03), before, cpus=cpus,
                    workers=workers,
                    steps=70, background=0.01, framework=None if number == 4 else "torch")


def loader_too_few_workers():
    """A few busy workers, many CPUs with nothing to do."""
    def few(worker=0.97):
        return {"worker": worker, "worker_read": 12}
    return [
        ("h100_2_of_64", Scene("2 workers, 64 CPUs; GPU at 30 %", H100, starved(0.5, 0.3, **few()), cpus=64,
                               workers=2)),
        ("a100_1_of_32", Scene("1 worker, 32 CPUs; GPU at 45 %", A100, starved(0.4, 0.45, **few(0.98)), cpus=32,
                               workers=1)),
        ("ada_2_of_24", Scene("2 workers, 24 CPUs; GPU at 65 %", R4090, starved(0.3, 0.65, **few()), cpus=24,
                              workers=2,
                              quirks=("ticks",))),
        ("v100_4_of_40", Scene("4 workers, 40 CPUs; bursts of 2 s", V100, starved(2.0, 0.45, **few(0.96)), cpus=40,
                               workers=4,
                               steps=60, worker_name="python3", framework=None)),
        ("gpus4_2_each_of_128", Scene("2 workers for each of four ranks, 128 CPUs", H100, starved(0.5, 0.38, **few()),
                                      cpus=128, gpus=4, ranks=4, workers=2, steps=30)),
        ("jax_3_of_32", Scene("3 loader processes, 32 CPUs", L40S, starved(0.6, 0.4, **few(0.95)), cpus=32, workers=3,
                              framework="jax", worker_name="python3", quirks=("no_pressure", "no_minmax"))),
        ("t4_1_of_16", Scene("1 worker that tokenises, 16 CPUs", T4, starved(0.8, 0.25, **few(0.98)), cpus=16,
                             workers=1)),
    ]


def near_loader_too_few_workers():
    """Few and busy workers that are just enough."""
    rows = [
        (H100, 64, 2, 0.9, 0.03), (A100, 32, 1, 0.92, 0.05), (R4090, 24, 2, 0.95, 0.06), (V100, 40, 3, 0.85, 0.03),
        (L40S, 32, 1, 0.7, 0.02), (T4, 16, 1, 0.95, 0.07), (R3090, 16, 2, 0.93, 0.05), (H200, 192, 4, 0.9, 0.04),
        (R2080, 12, 1, 0.6, 0.03), (A100P, 48, 2, 0.96, 0.07),
    ]
    for number, (card, cpus, workers, worker, gap) in enumerate(rows):
        yield Scene(f"{workers} of {cpus} CPUs load, {gap * 100:.0f} % of the GPU's time is lost", card,
                    fed(0.15 + 0.15 * number, gap, kernel={"main": 0.98 if number % 2 else 0.2}, worker=worker),
                    cpus=cpus,
                    workers=workers, quirks=("flaky",) if number == 6 else ())


def loader_storage_bound():
    """Those who load stand still for the disk."""
    def slow(stall=0.86, cpu=0.08, disk=9.0):
        return {"worker": cpu, "worker_stall": stall, "worker_disk": disk}
    def itself(seconds, share, stall, disk):
        return cycle(wait(seconds * (1 - share), main=0.1, stall=stall, disk=disk), kernels(seconds * share, rx=60))
    return [
        ("h100_nfs", Scene("8 workers read small files over NFS; GPU at 25 %", H100, starved(0.8, 0.25, **slow()),
                           cpus=64,
                           workers=8)),
        ("t4_disk", Scene("4 workers on one network disk", T4, starved(1.0, 0.4, **slow(0.88, 0.09, 5)), cpus=8,
                          workers=4)),
        ("no_workers", Scene("the main process reads its batches itself", A100, itself(0.5, 0.35, 0.88, 160),
                             cpus=32)),
        ("no_workers_old", Scene("a hard disk that seeks; 1080 Ti", G1080, itself(1.2, 0.3, 0.87, 22), cpus=8,
                                 framework=None)),
        ("desktop_sata", Scene("6 workers on a SATA disk; GPU at 60 %", R3090,
                               starved(0.4, 0.6, **slow(0.8, 0.15, 70)),
                               cpus=16, workers=6, quirks=("ticks",))),
        ("v100_2s", Scene("batches of 3 s from a cold store", V100, starved(3.0, 0.3, **slow(0.9, 0.06, 20)), cpus=40,
                          workers=10, steps=60, worker_name="python3", framework=None)),
        ("gpus2_shared_store", Scene("two ranks, 6 workers each, a store that is overloaded", A100,
                                     starved(0.7, 0.35, **slow(0.85, 0.1, 12)), cpus=64, gpus=2, ranks=2, workers=6,
                                     steps=30)),
    ]


def near_loader_storage_bound():
    """Much is read and waited for, ahead of time."""
    rows = [
        (H100, 16, 8, 0.7, 110, 0.03), (A100, 32, 12, 0.6, 60, 0.04), (T4, 8, 4, 0.8, 12, 0.06),
        (R3090, 12, 6, 0.5, 80, 0.04),
        (V100, 40, 10, 0.75, 25, 0.05), (L40S, 48, 4, 0.65, 200, 0.03), (R4090, 24, 2, 0.6, 350, 0.05),
        (R2080, 8, 3, 0.7, 30, 0.07), (H200, 128, 16, 0.8, 90, 0.02), (G1080, 8, 0, 0.3, 40, 0.07),
    ]
    for number, (card, cpus, workers, stall, disk, gap) in enumerate(rows):
        during = {"stall": 0.6, "disk": 150, "main": 0.2} if not workers else {}
        yield Scene(f"workers wait for storage for {stall * 100:.0f} % of their time, the GPU for {gap * 100:.0f} %",
                    card,
                    fed(0.2 + 0.08 * number, gap, during=during, worker=0.15, worker_stall=stall, worker_disk=disk),
                    cpus=cpus,
                    workers=workers, quirks=("no_pressure",) if number == 3 else ())


def serial_python():
    """One thread of the main process is what the GPU waits for."""
    def alone(seconds, share, **more):
        return starved(seconds, share, main=0.985, **more)
    mixed = cycle(kernels(0.2, busy=0.42, sm=30, tensor=12, dram=14, power=0.32, main=0.99))
    return [
        ("h100_tokenizer", Scene("the main thread tokenises between the steps; GPU at 35 %", H100, alone(0.2, 0.35),
                                 cpus=64)),
        ("h100_launch_gaps", Scene("Python comes to launch a kernel only every other while; GPU at 42 %", H100, mixed,
                                   cpus=32, pool_threads=3)),
        ("workers_idle", Scene("4 workers have long been done; the main thread collates", R3090,
                               alone(0.5, 0.45, worker=0.05), cpus=16, workers=4)),
        ("t4_server", Scene("a server that prepares its requests in one thread", T4, alone(0.08, 0.4), cpus=8,
                            framework="tensorflow", pool_threads=8)),
        ("ada_sampler", Scene("a scheduler in Python between the decoding steps", R4090, alone(0.03, 0.62), cpus=24,
                              quirks=("ticks",))),
        ("v100_environment", Scene("a simulated world is stepped in the main thread", V100, alone(1.5, 0.25), cpus=40,
                                   framework=None, steps=50)),
        ("gpus2_postprocess", Scene("two ranks, each with half a second of Python after every step", A100P,
                                    alone(0.8, 0.4), cpus=32, gpus=2, ranks=2, steps=30)),
    ]


def near_serial_python():
    """The main thread is busy all the time because it spins or launches ahead."""
    rows = [
        (H100, 0.2, 0.03, "torch"), (A100, 0.1, 0.05, "torch"), (R3090, 0.3, 0.06, "torch"),
        (T4, 0.5, 0.06, "tensorflow"),
        (V100, 0.05, 0.05, None), (L40S, 0.15, 0.07, "jax"), (R4090, 0.03, 0.05, "torch"),
        (R2080, 0.8, 0.04, "torch"),
        (H200, 1.5, 0.03, "torch"), (G1080, 0.25, 0.07, None),
    ]
    for number, (card, seconds, gap, framework) in enumerate(rows):
        yield Scene(f"the main thread spins in CUDA's wait; {gap * 100:.0f} % of the GPU's time is lost to Python",
                    card,
                    fed(seconds, gap, kernel={"main": 0.995}, during={"main": 0.99}, worker=0.15),
                    framework=framework,
                    workers=(0, 4, 8)[number % 3], quirks=("no_minmax",) if number == 5 else ())


def host_device_copies():
    """Copies take the time."""
    def moved(kernel, first, rx=0.0, second=0.0, tx=0.0, **more):
        parts = [copy(first, rx=rx, **more)] + ([copy(second, tx=tx, **more)] if second else [])
        return cycle(*parts, kernels(kernel))
    return [
        ("h100_offload", Scene("the optimizer lives in host memory: both ways at 40 GB/s", H100,
                               moved(0.12, 0.1, 41000, 0.1, 38000, main=0.3), cpus=96)),
        ("narrow_riser", Scene("a 1080 Ti on a riser of 4 lanes", G1080, moved(0.1, 0.16, 3100), cpus=8, width=4,
                               framework=None)),
        ("t4_results", Scene("whole activations are brought back", T4, moved(0.15, 0.02, 5000, 0.2, 5600), cpus=8)),
        ("a100_pageable", Scene("pageable memory, 7 GB/s", A100P, moved(0.19, 0.11, 7200, pool=0.1), cpus=32,
                                workers=4)),
        ("ada_layers_offloaded", Scene("layers come over PCIe for every token", R4090,
                                       moved(0.05, 0.13, 22000, main=0.97),
                                       cpus=24, memory=0.95)),
        ("run_record", Scene("a run's record: 14 GB/s of 25 on the mean, GPU at 40 %", A100,
                             moved(0.2, 0.25, 23000, 0.05, 21000), WARM, by="run_samples", steps=90, cpus=64)),
        ("gpus2_v100", Scene("two ranks copy pageable memory", V100, moved(0.3, 0.4, 5200), cpus=40, gpus=2, ranks=2,
                             steps=30)),
    ]


def near_host_device_copies():
    """Much goes over PCIe beside the kernels."""
    rows = [
        (H100, 22000, 4000, 0.03), (A100, 9000, 500, 0.04), (R4090, 11000, 200, 0.05), (T4, 3000, 100, 0.06),
        (V100, 5500, 300, 0.05), (L40S, 8000, 6000, 0.04), (R3090, 9000, 9000, 0.05), (R2080, 4500, 100, 0.06),
        (H200, 30000, 12000, 0.03), (G1080, 4000, 50, 0.07),
    ]
    for number, (card, rx, tx, gap) in enumerate(rows):
        yield Scene(f"{rx / 1000:g} GB/s to the device, nearly all while kernels run", card,
                    fed(0.15 + 0.1 * number, gap, kernel={"rx": rx, "tx": tx}, during={"rx": rx, "main": 0.9},
                        worker=0.3),
                    workers=number % 5, framework=(None, "torch", "jax")[number % 3])


def too_few_cpus():
    """Threads take turns on too few CPUs."""
    def turns(seconds, share, main, delay, **more):
        """`main`, `delay`: CPU share and wait of the main thread; the workers' in `more`."""
        return cycle(wait(seconds * (1 - share), main=main), kernels(seconds * share, main=main), delay=delay, **more)
    crowd = {"worker": 0.2, "worker_delay": 0.72}
    return [
        ("bound_to_2_of_64", Scene("8 workers and the main thread on 2 of 64 CPUs", H100,
                                   turns(0.9, 0.28, 0.3, 0.6, **crowd), cpus=64, allowed=2, workers=8)),
        ("quota_4_of_96", Scene("a container's quota of 4 CPUs for 16 workers", A100,
                                turns(0.7, 0.35, 0.3, 0.6, worker=0.22, worker_delay=0.7), cpus=96, allowed=4.0,
                                workers=16)),
        ("other_jobs", Scene("other people's jobs fill the 16 CPUs of the host", R3090,
                             turns(0.6, 0.3, 0.35, 0.6, worker=0.34, worker_delay=0.6), cpus=16, workers=6,
                             background=0.86)),
        ("pool_on_2", Scene("12 threads of the process itself on 2 of 40 CPUs", V100,
                            turns(0.8, 0.3, 0.2, 7.5, pool=1.72), cpus=40, allowed=2, pool_threads=12,
                            framework=None)),
        ("one_cpu", Scene("taskset left over from a test: one CPU for main and 10 threads", R4090,
                          turns(0.5, 0.38, 0.16, 5.0, pool=0.8), cpus=24, allowed=1, pool_threads=10)),
        ("gpus2_quota_3", Scene("two ranks in a container of 3 CPUs", H100,
                                turns(1.2, 0.3, 0.3, 0.65, worker=0.2, worker_delay=0.75), cpus=128, allowed=3.0,
                                gpus=2,
                                ranks=2, workers=5, steps=30)),
        ("tensorflow_quota_1_5", Scene("a quota of one CPU and a half for 16 threads", T4,
                                       turns(0.6, 0.35, 0.12, 6.0, pool=1.28), cpus=16, allowed=1.5, pool_threads=16,
                                       framework="tensorflow")),
    ]


def near_too_few_cpus():
    """Few CPUs, or threads that wait for one, and a GPU that does not mind."""
    rows = [
        (H100, 64, 4.0, 4, 0.4, 0.15, 0.04), (A100, 96, 8.0, 8, 0.7, 0.1, 0.03), (T4, 4, 2.0, 2, 0.4, 0.2, 0.06),
        (R3090, 16, 4.0, 6, 0.35, 0.3, 0.05), (V100, 40, 6.0, 8, 0.5, 0.25, 0.05), (L40S, 48, 2.0, 2, 0.3, 0.1, 0.04),
        (R4090, 24, 3.0, 4, 0.3, 0.35, 0.06), (R2080, 8, 2.0, 3, 0.25, 0.3, 0.07),
        (H200, 192, 12.0, 16, 0.6, 0.1, 0.02),
        (G1080, 8, None, 4, 0.4, 0.2, 0.06),
    ]
    for number, (card, cpus, allowed, workers, worker, delay, gap) in enumerate(rows):
        yield Scene(f"{workers} workers wait for a CPU for {delay:.0%} of the time, the GPU for {gap:.0%}", card,
                    fed(0.3 + 0.1 * number, gap, worker=worker, worker_delay=delay, delay=0.04), cpus=cpus,
                    allowed=allowed,
                    workers=workers, background=0.5 if allowed is None else 0.04, pool_threads=2)
