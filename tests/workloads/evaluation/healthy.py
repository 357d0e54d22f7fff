"""Ten runs near each rule that are well: nothing is to be found in them."""

import random

from series import *  # noqa: F403


CARDS = ["h100", "a100", "3090", "t4", "v100", "h200", "4090", "2080ti", "a10", "l40s", "h100pcie", "a100pcie", "v100pcie", "b200", "a6000", "1080ti", "p100"]
HOST = {"h100": 192, "h200": 128, "b200": 144, "h100pcie": 64, "a100": 64, "a100pcie": 48, "l40s": 64, "a10": 16, "a6000": 32, "3090": 24, "4090": 32,
        "2080ti": 16, "1080ti": 12, "t4": 8, "v100": 40, "v100pcie": 24, "p100": 20}


def good(util=(97, 1.3), **more):
    d = dict(util=util, power_mean=.78)
    d.update(more)
    return d


def near(rule, why, rows):
    """rows: (hardware, device, processes or a function of the hardware, more)."""
    assert len(rows) == 10, (rule, len(rows))
    for n, row in enumerate(rows, 1):
        hw, dev, procs = row[:3]
        more = dict(row[3]) if len(row) > 3 else {}
        text = why + (": " + more.pop("why") if "why" in more else "")
        interval = more.pop("interval", (500, 500, 1000)[n % 3])
        more.setdefault("steps", 30 if interval == 500 else 18)
        more.setdefault("cpus", HOST[hw])
        r = random.Random(f"load of {rule} {n}")  # each job is another: how much of the card it uses, all of it plenty
        more["base"] = {"power": (r.uniform(.66, .93), r.uniform(.012, .035)), "sm": (r.uniform(64, 92), r.uniform(1.5, 4)),
                        "tensor": (r.uniform(24, 58), r.uniform(1.5, 4)), "dram": (r.uniform(18, 48), r.uniform(1.5, 4))}
        if isinstance(dev, list):
            more["devs"] = dev
            dev = None
        series(f"healthy--near_{rule}-{n}", text, hw, interval=interval, dev=dev, procs=procs, **more)


def healthy():
    # nothing_running
    near("nothing_running", "the device has a steady load, however little one sees of who makes it", [
        ("2080ti", good((95, 2), memory=.05, power=(.78, .02)), [main("2080ti", .99, [], .05, name="python", state="R")], {"framework": None, "why": "molecular dynamics with 500 MB of memory"}),
        ("a100", good(), [], {"framework": None, "ranks": None, "why": "in a container: the process ids are of another name space, so the list is empty"}),
        ("h100", lambda t: dict(util=0, power=.03, sm=0, tensor=0, dram=0, seen=False) if t < .6 else good(warm=.6), lambda t: [] if t < .6 else [main("h100", .7)], {"steps": 36, "why": "the job began half a second after the look did"}),
        ("v100", good(), lambda t: [] if 4 < t < 5.2 else [main("v100", .8)], {"flaky": .06, "why": "process list and some readings failed for a moment"}),
        ("3090", good((96, 1.5), memory=.02, power=(.9, .02)), [main("3090", .03, [], .02, name="hashcat")], {"framework": None, "why": "a small CUDA program with 500 MB"}),
        ("4090", good((94, 2)), [main("4090", .8, instead={"gpu_memory_bytes": NO}, without=("threads",))], {"why": "memory per process cannot be read here (WSL)"}),
        ("t4", good((97, 1), power=(.93, .02), clock=(.96, .01)), [], {"framework": None, "ranks": None, "without": ("others_percent",), "why": "processes in a container"}),
        ("a10", lambda t: good((52, 5) if 5.8 < t < 6.6 else (98, 1)), lambda t: [main("a10", .7, pid=20111 if t < 6.4 else 20893)], {"steps": 36, "interval": 500, "why": "a sweep: one short job ends and the next begins at once"}),
        ("p100", good((96, 2)), [main("p100", .6)], {"interval": 1000, "taken_by": "run_samples", "subject": "run 20251118-140000-p1p1p1", "why": "a run's record of an old card that tells little"}),
        ("h200", good((98, 1), memory=.04), [main("h200", .06, [("S", .02)], .04)], {"framework": "jax", "why": "a JAX program that needs little memory and no CPU"}),
    ])

    # memory_held_idle
    quiet = dict(voluntary=25, involuntary=0, read=0)
    near("memory_held_idle", "the process holds nearly all the memory and its CPU time is next to nothing, but the device computes all the time", [
        ("h100", good((99, .6), memory=.98), [main("h100", .02, [("S", .01)], .97, **quiet)], {"why": "whole steps as one CUDA graph, the thread sleeps until it is done"}),
        ("a100", good(), [main("a100", .0, [("S", 0)], .012, pid=5100, sm=0, **quiet), main("a100", .75, None, .7, pid=5161, parent=5100)], {"why": "the launcher has a context and sleeps, its child trains"}),
        ("3090", good((96, 1), others=1, others_percent=0), [main("3090", .8, memory=.5)], {"why": "somebody's idle notebook holds memory beside a training that runs"}),
        ("t4", good((97, 1), power=(.94, .02), clock=(.96, .01)), [main("t4", .05, [("S", .03)] * 2, .9, name="tritonserver", **quiet)], {"framework": None, "why": "an inference server with its batches always full"}),
        ("v100", good(memory=.97), [main("v100", .04, [("S", .01)] * 3, .97, **quiet)], {"framework": "tensorflow", "why": "TensorFlow took all memory and uses it"}),
        ("h200", good((99, .5), memory=.93), [main("h200", .03, [("S", .02)], .93, **quiet)], {"framework": "jax"}),
        ("4090", good((98.5, .8), memory=.95, power=(.88, .02)), [main("4090", .06, [("S", .01)], .95, **quiet)], {"why": "image generation with blocking waits"}),
        ("2080ti", good((97, 1)), [main("2080ti", .01, [("S", .01)], .6, name="FahCore_24", **quiet)], {"framework": None}),
        ("a10", lambda t: good((48, 6) if 8.2 < t < 9.3 else (98, 1)), [main("a10", .05, [("S", .02)], .9, **quiet)], {"steps": 40, "interval": 500, "why": "one second of little between two epochs in 20"}),
        ("l40s", good((95, 2)), [main("l40s", .03, [("S", .02)], .9, **quiet)] + workers(2, .01, read=0, voluntary=3), {"why": "the data lie in the device's memory, the workers have nothing to do"}),
    ])

    # computes_on_cpu
    def omp(n, cores=(.93, .04)):
        return [({"R": .9, "S": .1}, cores)] * n
    near("computes_on_cpu", "the process keeps many CPUs busy, but the device is busy all the same", [
        ("a100", good((96, 1.5)), [main("a100", .95, omp(8))], {"why": "environments of reinforcement learning in threads, overlapped"}),
        ("2080ti", good((94, 2), power=(.7, .03)), [main("2080ti", .98, omp(9), .06, name="gmx")], {"framework": None, "why": "GROMACS computes bonded forces on the CPU meanwhile"}),
        ("h100", good((97, 1)), [main("h100", .8, omp(6, (.8, .1)))], {"why": "DALI decodes in threads"}),
        ("v100", lambda t: dict(util=(2, 1), power=.08) if t < 1.1 else good((98, .8)), [main("v100", lambda t: .99 if t < 1.1 else .4, [("auto", lambda t: .95 if t < 1.1 else .04)] * 6)], {"framework": "jax", "interval": 500, "steps": 40, "why": "XLA compiles for one second, then the device is busy for the rest"}),
        ("t4", good((95, 1.5), power=(.93, .02), clock=(.96, .01)), [main("t4", .9, omp(4, (.85, .08)), delay=.1)], {"framework": "tensorflow", "why": "tf.data maps on five of eight CPUs"}),
        ("h200", good((98, 1)), [main("h200", .9, omp(7))], {"why": "asynchronous checkpoint is compressed in threads"}),
        ("3090", good((93, 2)), [main("3090", .97, omp(7))], {"why": "FAISS searches on CPU and device"}),
        ("l40s", good((96, 1)), [main("l40s", .7, omp(8, (.7, .1)), name="ffmpeg_infer")], {"framework": None, "why": "video is decoded on the CPU, ahead of the network"}),
        ("4090", good((97, 1), power=(.85, .02)), [main("4090", .96, omp(8))], {"framework": "jax", "why": "MuJoCo on the CPU, learner on the device"}),
        ("v100pcie", good((95, 1.5)), [main("v100pcie", .99, omp(9), .1, name="lmp")], {"framework": None, "why": "LAMMPS"}),
    ])

    # loader_cpu_bound
    near("loader_cpu_bound", "as many workers as CPUs and all of them busy, but the device hardly ever waits", [
        ("t4", good((96, 1.5), power=(.93, .02), clock=(.96, .01)), [main("t4", .3, delay=.03)] + workers(4, (.94, .03), delay=.03), {"cpus": 4}),
        ("a100", good((94, 2)), [main("a100", .6)] + workers(6, (.95, .02)), {"cpus": 64, "allowed": 6}),
        ("3090", good((97, 1)), [main("3090", .7, delay=.05)] + workers(6, (.9, .04), delay=.05), {"cpus": 6}),
        ("h100", good((92, 2)), [main("h100", .5)] + workers(8, (.93, .03)), {"cpus": 192, "allowed": 8, "steps": 12}),
        ("v100", good((95, 2)), [main("v100", .4)] + workers(5, (.97, .01), name="python3"), {"cpus": 5, "framework": "tensorflow"}),
        ("2080ti", good((98, 1)), [main("2080ti", .2, delay=.04)] + workers(4, (.9, .05), delay=.04), {"cpus": 4}),
        ("4090", good((91, 2)), [main("4090", .6)] + workers(8, (.96, .02)), {"cpus": 8, "steps": 12}),
        ("h200", good((96, 1)), [main("h200", .7)] + workers(4, (.98, .01)), {"cpus": 128, "allowed": 5.0}),
        ("a10", lambda t: good((55, 8) if t < 1 else (97, 1)), [main("a10", .15)] + workers(4, (.95, .03)), {"cpus": 4, "steps": 30, "interval": 500, "why": "after the first second of the epoch"}),
        ("l40s", good((95, 1.5)), [main("l40s", .6)] + workers(6, (.88, .05)), {"cpus": 6}),
    ])

    # loader_too_few_workers
    near("loader_too_few_workers", "few workers, always busy, with many CPUs free, and yet the device is busy: more workers would bring nothing", [
        ("a100", good((96, 1.5)), [main("a100", .6)] + workers(2, (.97, .015))),
        ("h100", good((95, 1.5)), [main("h100", .7)] + workers(4, (.95, .03))),
        ("3090", good((98, 1)), [main("3090", .5)] + workers(1, (.99, .005))),
        ("t4", good((97, 1), power=(.94, .02), clock=(.96, .01)), [main("t4", .3)] + workers(2, (.92, .04)), {"cpus": 16}),
        ("v100", good((93, 2)), [main("v100", .6)] + workers(3, (.98, .01))),
        ("2080ti", good((92, 2)), [main("2080ti", .7)] + workers(2, (.96, .02))),
        ("h200", good((97, 1)), [main("h200", .6)] + workers(4, (.9, .05))),
        ("4090", good((94, 1.5)), [main("4090", .7)] + workers(2, (.985, .01))),
        ("a100pcie", good((99, .6)), [main("a100pcie", .9)] + workers(1, (.94, .03))),
        ("v100pcie", good((95, 1.5)), [main("v100pcie", .5)] + workers(3, (.93, .04), name="python3"), {"framework": "tensorflow"}),
    ])

    # loader_storage_bound
    def dees(share, **more):
        return dict(state={"D": share, "S": .9 - share, "R": .1}, **more)
    near("loader_storage_bound", "who loads waits for storage much of the time, but far enough ahead: the device is busy", [
        ("a100", good((96, 1.5)), [main("a100", .6)] + workers(4, (.15, .04), **dees(.7, storage=(5e7, 8e6))), {"iowait": (8, 2), "io_pressure": (60, 8)}),
        ("h100", good((97, 1)), [main("h100", .7)] + workers(4, (.2, .05), **dees(.6, storage=(3.5e8, 4e7))), {"iowait": (3, 1), "io_pressure": (45, 8)}),
        ("3090", good((95, 1.5)), [main("3090", .6)] + workers(2, (.08, .02), **dees(.75, storage=(2e7, 3e6))), {"iowait": (9, 3), "io_pressure": (70, 8)}),
        ("t4", good((93, 2), power=(.93, .02), clock=(.96, .01)), [main("t4", .3)] + workers(3, (.2, .04), **dees(.65, storage=(3e7, 4e6))), {"iowait": (25, 5), "io_pressure": (72, 8)}),
        ("v100", good((98, 1)), [main("v100", (.3, .04), [("D", .02), ("S", .1)], storage=(9e7, 1e7))], {"iowait": (3, 1), "io_pressure": (50, 9), "why": "a thread reads ahead"}),
        ("h200", good((96, 1)), [main("h200", .7)] + workers(4, (.1, .03), **dees(.7, storage=(1.2e8, 2e7), major=(150, 30))), {"io_pressure": (55, 8)}),
        ("4090", good((94, 2)), [main("4090", .8)] + workers(3, (.12, .03), **dees(.6, storage=(6e7, 9e6))), {"iowait": (6, 2), "io_pressure": (58, 8)}),
        ("2080ti", lambda t: good((50, 10) if t < .8 else (97, 1)), [main("2080ti", .6)] + workers(2, (.1, .03), **dees(.7, storage=(3e7, 5e6))), {"steps": 30, "interval": 500, "iowait": (10, 3), "io_pressure": (65, 8), "why": "after a cold first batch"}),
        ("a10", good((97, 1)), [main("a10", .5)], {"iowait": (35, 6), "io_pressure": (92, 4), "why": "another job waits for the disk, this one does not read"}),
        ("l40s", good((92, 2)), [main("l40s", .5)] + workers(4, (.18, .04), **dees(.55, storage=(1.5e8, 2e7))), {"iowait": (5, 2), "io_pressure": (52, 8)}),
    ])

    # serial_python
    near("serial_python", "the main thread is busy all the time, but because it spins in CUDA's synchronisation or queues ahead: the device is busy", [
        ("h100", good((98, 1)), [main("h100", (.995, .003), [("S", .02)], state="R", voluntary=20)]),
        ("a100", good((97, 1)), [main("a100", (.99, .005), [("S", .15)], state="R")]),
        ("3090", good((96, 1.5)), [main("3090", (.985, .01), [("S", .05)], state="R")] + workers(2, (.1, .03))),
        ("t4", good((98, 1), power=(.94, .02), clock=(.96, .01)), [main("t4", (.99, .005), state="R")], {"framework": "tensorflow"}),
        ("v100", good((94, 1.5)), [main("v100", (.995, .003), state="R")]),
        ("h200", good((99, .5)), [main("h200", (.99, .005), state="R")], {"framework": "jax"}),
        ("4090", good((93, 2)), [main("4090", (.97, .015), [("S", .2)], state="R")]),
        ("2080ti", good((92, 2)), [main("2080ti", (.98, .01), state="R", read=1e7)], {"why": "num_workers=0, but each sample is cheap"}),
        ("1080ti", good((98, 1)), [main("1080ti", (.995, .003), [("S", .01)], state="R")]),
        ("b200", good((95, 1.5)), [main("b200", (.985, .01), [("S", .1)], state="R")] + workers(2, (.3, .05))),
    ])

    # host_device_copies
    near("host_device_copies", "much goes over the link, but beside the kernels: the device is busy", [
        ("a100", good((97, 1), received=(9e9, 1e9), sent=(7e9, 1e9)), [main("a100", .8)], {"why": "activations are offloaded on a stream of their own"}),
        ("h100", good((96, 1.2), received=(2.4e10, 2e9)), [main("h100", .7)]),
        ("t4", good((95, 1.5), received=(2.8e9, 3e8), power=(.93, .02), clock=(.96, .01)), [main("t4", .8)]),
        ("v100pcie", good((98, 1), received=(6e9, 8e8), sent=(1e9, 2e8)), [main("v100pcie", .9)]),
        ("h200", good((97, 1), received=(1.9e10, 2e9), sent=(1.7e10, 2e9)), [main("h200", .8)]),
        ("l40s", good((94, 1.5), received=(1.1e10, 1e9)), [main("l40s", .6)]),
        ("4090", good((96, 1), received=(8e9, 9e8)), [main("4090", .7)]),
        ("a10", good((93, 2), received=(7e9, 8e8), sent=(2e9, 3e8)), [main("a10", .8)]),
        ("a100pcie", lambda t: good((97, 1), received=2e10 if t < 1.1 else 5e7) if t >= 1.1 else good((45, 6), received=2e10), [main("a100pcie", .8)], {"steps": 40, "interval": 500, "why": "one second of weights being loaded, then none"}),
        ("v100", good((99, .6), received=(5e9, 5e8), sent=(5e9, 5e8)), [main("v100", .95)]),
    ])

    # small_kernels
    near("small_kernels", "the launching thread is busy and the card does not draw its limit, but the kernels fill a good part of the chip", [
        ("h100", good((97, 1), sm=(68, 3), tensor=(28, 3), dram=(32, 3), power=(.6, .03)), [main("h100", (.99, .005), state="R")]),
        ("h200", good((96, 1), sm=(74, 3), tensor=(20, 3), dram=(40, 3), power=(.58, .03)), [main("h200", (.98, .01), state="R")]),
        ("h100pcie", good((95, 1.5), sm=(66, 4), tensor=(30, 3), dram=(38, 3), power=(.68, .03)), [main("h100pcie", (.97, .01), state="R")]),
        ("b200", good((98, 1), sm=(71, 3), tensor=(35, 3), dram=(36, 3), power=(.6, .03)), [main("b200", (.99, .005), state="R")], {"framework": "jax"}),
        ("a100", good((97, 1), power=(.66, .03)), [main("a100", (.99, .005), state="R")]),
        ("3090", good((96, 1), power=(.72, .03)), [main("3090", (.985, .01), state="R")]),
        ("v100", good((98, 1), power=(.64, .03)), [main("v100", (.99, .005), state="R")], {"framework": "tensorflow"}),
        ("2080ti", good((95, 1.5), power=(.75, .03)), [main("2080ti", (.98, .01), state="R")] + workers(2, (.3, .05))),
        ("h100", lambda t: good((96, 1), sm=(14, 2), tensor=(3, 1), dram=(6, 1), power=(.2, .02)) if 3 < t < 4.1 else good((97, 1), sm=(80, 3)), [main("h100", (.98, .01), state="R")], {"steps": 36, "interval": 500, "why": "one second of small kernels (the optimiser, once) in 18"}),
        ("4090", good((99, .6), power=(.68, .03)), [main("4090", (.995, .003), state="R")]),
    ])

    # memory_bound
    near("memory_bound", "the memory is busy, but so are the tensor cores, or it is not near its limit", [
        ("h100", good((98, 1), dram=(58, 3), tensor=(57, 3), sm=(86, 2), power=(.92, .02)), [main("h100", .8)]),
        ("h200", good((99, .6), dram=(52, 3), tensor=(62, 3), sm=(88, 2), power=(.95, .02)), [main("h200", .8)]),
        ("h100pcie", good((97, 1), dram=(55, 3), tensor=(48, 3), power=(.9, .02)), [main("h100pcie", .7)]),
        ("b200", good((98, 1), dram=(60, 3), tensor=(58, 3), power=(.9, .02)), [main("b200", .7)], {"why": "a full batch of long prompts in half precision"}),
        ("h100", good((99, .5), dram=(36, 3), tensor=(0, 0), sm=(94, 1.5), power=(.78, .02)), [main("h100", .2)], {"framework": "jax", "why": "single-precision arithmetic is the limit, not the memory"}),
        ("h200", good((97, 1), dram=(48, 3), tensor=(40, 3)), [main("h200", .7)] + workers(2, (.3, .05))),
        ("a100", good((98, 1), umem_share=58), [main("a100", .8)], {"why": "no counters here; the memory is in use 57 % of the time"}),
        ("3090", good((97, 1), umem_share=62, power=(.92, .02)), [main("3090", .8)], {"why": "no counters here"}),
        ("h100", lambda t: good((98, 1), dram=(84, 2), tensor=(2, .5), sm=(92, 2), power=(.7, .02)) if 5 < t < 6.1 else good((98, 1)), [main("h100", .7)], {"steps": 36, "interval": 500, "why": "the optimiser's pass is bound by memory, one second in 18"}),
        ("v100", good((98, 1), umem_share=50, dram=0), [main("v100", .7)]),
    ])

    # throttled_power
    full = dict(util=(99, .6), power=(1.02, .01), power_mean=1, throttle=[("power", .9)])
    near("throttled_power", "the card is at or near its power limit, as a full load is, and the clocks are within a few percent of the highest (or of what the card reaches without any limit)", [
        ("h100", dict(full, clock=(.975, .006), tensor=(62, 2), sm=(92, 1.5)), [main("h100", .8)]),
        ("h200", dict(full, clock=(.965, .006), throttle=[("power", .6)]), [main("h200", .8)]),
        ("a100", dict(full, clock=(.97, .008)), [main("a100", .8)]),
        ("v100", dict(full, clock=(.96, .008), throttle=[("power", .5)]), [main("v100", .7)]),
        ("4090", good((98, 1), power=(.93, .02), clock=(.884, .004)), [main("4090", .7)], {"why": "a GeForce never reaches the table's highest clock; nothing throttles it"}),
        ("3090", good((98, 1), power=(.95, .015), clock=(.907, .006)), [main("3090", .7)], {"why": "no reason given; the usual boost clock of the model"}),
        ("t4", dict(full, power=(.96, .02), clock=(.965, .01), throttle=[("power", .3)]), [main("t4", .5)], {"why": "light kernels on a T4"}),
        ("h100", good((98, 1), power=(.62, .02), clock=(.945, .002), throttle=["other"]), [main("h100", .7)], {"why": "clocks set a little lower by the administrator: no power limit"}),
        ("a100pcie", lambda t: dict(good((98, 1)), clock=.8, power=1.0, throttle=["power"]) if 4 < t < 5.1 else good((98, 1), clock=1), [main("a100pcie", .8)], {"steps": 36, "interval": 500, "why": "the limit bites for one second in 18"}),
        ("h100pcie", dict(full, clock=(.955, .008), tensor=(55, 3)), [main("h100pcie", .7)]),
    ])

    # throttled_heat
    near("throttled_heat", "the card is warm, but the clocks stay at or within a few percent of the highest", [
        ("2080ti", good((98, 1), temperature=(83, .6)), [main("2080ti", .8)]),
        ("t4", good((97, 1), temperature=(80, .6), power=(.9, .02), clock=(.96, .01)), [main("t4", .5)]),
        ("3090", good((98, 1), temperature=(82, .7)), [main("3090", .8)]),
        ("a6000", good((97, 1), temperature=(84, .6)), [main("a6000", .7)]),
        ("h100", good((98, 1), temperature=(79, .7), clock=(.985, .004), throttle=[("heat", .1)]), [main("h100", .8)], {"why": "a flag now and then, the clocks at 98 %"}),
        ("v100pcie", good((98, 1), temperature=(81, .7)), [main("v100pcie", .8)]),
        ("a100pcie", lambda t: good((98, 1), temperature=(86, .5), clock=.86, throttle=["heat"]) if 6 < t < 6.8 else good((98, 1), temperature=(84, .5), clock=1), [main("a100pcie", .7)], {"steps": 36, "interval": 500, "why": "one brief excursion before the fans catch up"}),
        ("1080ti", good((98, 1), temperature=(82, .7)), [main("1080ti", .8)]),
        ("a10", good((97, 1), temperature=(83, .6), clock=(.97, .006), throttle=[("heat", .15)]), [main("a10", .6)]),
        ("p100", good((97, 1), temperature=(80, .7)), [main("p100", .6)]),
    ])

    # waiting_for_ranks
    blip = dict(util=(99.5, .4), power=(.3, .05), sm=(25, 6), tensor=(8, 3), dram=(8, 3), nvlink=9e10, power_mean=.7)
    ddp = dict(util=(99, .6), power=(.84, .025), sm=(82, 3), tensor=(46, 3), nvlink=(1.1e11, 1e10), power_mean=.8)
    near("waiting_for_ranks", "one of several ranks; collectives take little of the time (or are hidden behind the arithmetic), the chip computes", [
        ("h100", ddp, [main("h100", (.97, .02), state="R")], {"ranks": 8}),
        ("h100", lambda t: blip if 4.2 < t < 5 else ddp, [main("h100", (.97, .02), state="R")], {"ranks": 16, "steps": 36, "interval": 500, "why": "one short wait of 1 step in 18 s"}),
        ("h200", dict(ddp, sm=(70, 4), tensor=(38, 3), power=(.72, .03), nvlink=(2.6e11, 2e10)), [main("h200", .9)], {"ranks": 8, "why": "fully sharded, gathers overlapped"}),
        ("a100", dict(ddp, nvlink=(7e10, 8e9)), [main("a100", (.98, .01), state="R")], {"ranks": 4}),
        ("v100", dict(ddp, nvlink=(3e10, 4e9)), [main("v100", .9)], {"ranks": 4, "framework": "tensorflow"}),
        ("3090", good((98, 1), power=(.86, .03)), [main("3090", (.97, .02), state="R")], {"ranks": 2}),
        ("b200", ddp, [main("b200", .9)], {"ranks": 64, "framework": "jax"}),
        ("h100", [ddp, dict(ddp, sm=(80, 3))], [main("h100", .97, state="R", pid=7001, parent=6990), main("h100", .96, state="R", pid=7002, parent=6990, devices=(1,))], {"ranks": 2, "subject": "run 20251120-093000-r2r2r2"}),
        ("a100", lambda t: dict(ddp, power=(.4, .05), nvlink=9e10) if 6.1 < t < 6.7 else dict(ddp, nvlink=6e10), [main("a100", (.97, .02), state="R")], {"ranks": 32, "steps": 36, "interval": 500, "why": "the power dips once"}),
        ("h100pcie", dict(ddp, sm=(74, 4), power=(.78, .03), received=(6e9, 8e8), sent=(6e9, 8e8)), [main("h100pcie", .9)], {"ranks": 4, "why": "no NVLink: the gradients go over PCIe, overlapped"}),
    ])

    # periodic_pauses
    def dips(period, width, low=(25, 6), phase=1.0):
        def at(t):
            x = (t - .25 + phase) % period
            return good(low, power=(.5, .05)) if x < width else good((98, .8))
        return at
    one = {"steps": 60, "interval": 500}
    near("periodic_pauses", "the pauses are short or rare: a few percent of the time", [
        ("h100", dips(8, .5, (55, 8)), [main("h100", .7)], dict(one, why="a quarter of a second of logging every 8 s")),
        ("a100", lambda t: dict(good(), util=0, power=.2) if 14 < t < 15.6 else good((98, 1)), [main("a100", .7)], dict(one, steps=80, why="one pause of 1.5 s in 40 s, which does not repeat")),
        ("3090", dips(6, .5, (60, 8)), [main("3090", .8)], dict(one)),
        ("v100", dips(10, .5, (20, 6)), [main("v100", .7)], dict(one)),
        ("t4", dips(5, .5, (70, 6)), [main("t4", .4)], dict(one, steps=40)),
        ("h200", dips(12, .5, (10, 4)), [main("h200", .7)], dict(one)),
        ("4090", dips(7.5, .5, (50, 8)), [main("4090", .7)], dict(one)),
        ("2080ti", dips(9, .5, (45, 8)), [main("2080ti", .8)], dict(one, steps=50)),
        ("a10", good((96, 1.5), sent=lambda t: 4e9 if t % 8 < 1 else 2e6), [main("a10", .6, written=lambda t: 8e8 if t % 8 < 2 else 0)], {"interval": 1000, "steps": 30, "why": "checkpoints are written beside the arithmetic"}),
        ("v100pcie", lambda t: good((40, 6)) if 9 < t < 10.1 or 24 < t < 25.1 else good((98, 1)), [main("v100pcie", .7)], {"interval": 1000, "steps": 40, "why": "two short dips in 40 s"}),
    ])

    # too_few_cpus
    near("too_few_cpus", "few CPUs or full ones, and threads wait for them a little, but the device does not", [
        ("a100", good((97, 1)), [main("a100", .7, delay=(.06, .02))] + workers(2, (.4, .05), delay=(.12, .03)), {"cpus": 64, "allowed": 2}),
        ("t4", good((96, 1), power=(.93, .02), clock=(.96, .01)), [main("t4", .4, delay=(.08, .02))] + workers(2, (.5, .06), delay=(.15, .04)), {"cpus": 2}),
        ("h100", good((95, 1.5)), [main("h100", .8, delay=(.1, .02))] + workers(3, (.5, .05), delay=(.15, .03)), {"cpus": 96, "allowed": 4.0}),
        ("3090", good((94, 2)), [main("3090", .8, delay=(.1, .03), involuntary=100)], {"cpus": 16, "host_busy": (90, 3), "why": "the host is full of other jobs"}),
        ("v100", good((98, 1)), [main("v100", .78, state="R", delay=(.03, .01))], {"cpus": 40, "allowed": 1, "why": "one CPU is enough for it"}),
        ("h200", good((97, 1)), [main("h200", .6, delay=(.05, .01))] + workers(2, (.3, .05), delay=(.08, .02)), {"cpus": 128, "allowed": 2.5}),
        ("4090", good((96, 1.5)), [main("4090", .7, delay=(.12, .03), involuntary=90)] + workers(2, (.35, .05), delay=(.18, .04)), {"host_busy": (85, 4)}),
        ("2080ti", good((93, 2)), [main("2080ti", .7, delay=(.1, .03))] + workers(2, (.45, .05), delay=(.2, .04)), {"cpus": 4, "host_busy": (45, 5)}),
        ("a10", good((97, 1)), [main("a10", .3, delay=(.1, .03)), ] + workers(4, (.1, .03), delay=(.1, .03)), {"cpus": 16, "allowed": 1}),
        ("l40s", good((95, 1.5)), [main("l40s", .8, delay=(.07, .02))], {"cpus": 64, "allowed": 1.5}),
    ])

    # shared_with_others
    near("shared_with_others", "others have something on the device, but take next to nothing of its time", [
        ("4090", good((97, 1), others=2, others_percent=0), [main("4090", .8)], {"why": "the desktop"}),
        ("a100", good((98, 1), others=1, others_percent=(1, .7)), [main("a100", .8)], {"why": "somebody's idle notebook"}),
        ("t4", good((96, 1), others=1, others_percent=(2, 1), power=(.93, .02), clock=(.96, .01)), [main("t4", .4)]),
        ("v100", good((97, 1), others=3, others_percent=0), [main("v100", .7)]),
        ("h100", good((98, 1), others=1, others_percent="no permission"), [main("h100", .8, sm_share=1)], {"why": "the other's share may not be read, the job's own is 97 of 98 %"}),
        ("3090", good((96, 1), others=1, others_percent=0, power=(.88, .02)), [main("3090", .8)]),
        ("h200", good((97, 1), others=2, others_percent=(1, .5)), [main("h200", .7)]),
        ("a10", lambda t: good((98, 1), others=1, others_percent=(35, 4)) if 5 < t < 5.6 else good((98, 1), others=1, others_percent=0), [main("a10", .6)], {"steps": 36, "interval": 500, "why": "somebody tries something for half a second"}),
        ("l40s", good((95, 1.5), others=1, others_percent=(2, .8)), [main("l40s", .7)]),
        ("v100pcie", good((97, 1), others=1, others_percent=(1, .6)), [main("v100pcie", .7)], {"framework": "tensorflow"}),
    ])

    # swapping
    near("swapping", "something lies in swap or is swapped in, but not while the device would wait for it", [
        ("3090", good((96, 1.5)), [main("3090", .8, swapped=1800 * MIB)], {"why": "pages of the start-up were swapped out long ago"}),
        ("t4", good((97, 1), power=(.93, .02), clock=(.96, .01)), [main("t4", .4, swapped=600 * MIB, major=(3, 1))], {"swap_in": (2e5, 8e4)}),
        ("2080ti", good((95, 1.5)), [main("2080ti", .8)], {"swap_in": (3e7, 6e6), "iowait": (12, 3), "io_pressure": (50, 8), "why": "another program on the machine swaps"}),
        ("a100", good((98, 1)), [main("a100", .7, swapped=4 * GIB)] + workers(2, (.3, .05), swapped=300 * MIB)),
        ("v100", good((97, 1)), [main("v100", .7, major=(12, 4), swapped=900 * MIB)], {"swap_in": (8e5, 2e5)}),
        ("4090", lambda t: good((60, 6)) if 3 < t < 3.6 else good((97, 1)), [main("4090", .7, swapped=2 * GIB, major=lambda t: 1500 if 3 < t < 3.6 else 0)], {"steps": 36, "interval": 500, "swap_in": lambda t: 6e7 if 3 < t < 3.6 else 0, "why": "half a second of it, once"}),
        ("h100", good((97, 1)), [main("h100", .8, swapped=200 * MIB)], {"swap_in": (5e4, 2e4)}),
        ("1080ti", good((94, 2)), [main("1080ti", .8, swapped=1200 * MIB, major=(20, 6))], {"swap_in": (1.5e6, 4e5), "io_pressure": (6, 2)}),
        ("a6000", good((96, 1)), [main("a6000", .7)] + workers(2, (.4, .05), swapped=700 * MIB, major=(8, 3)), {"swap_in": (1e6, 3e5)}),
        ("v100pcie", good((98, 1)), [main("v100pcie", .6, major=(350, 60), read=0)], {"why": "page faults from a mapped file, nothing from swap"}),
    ])
