"""No two jobs are alike: seeded differences between scenes that do not touch what a scene is about."""

import random
import zlib
from dataclasses import replace

CPUS = {"T4": (4, 8, 16), "GeForce": (8, 12, 16, 24), "": (32, 48, 64, 96, 128, 192)}
QUIRKS = {"flaky": 0.1, "ticks": 0.15, "no_pressure": 0.1, "no_minmax": 0.07, "no_process_sm": 0.08, "lean": 0.1}
FULL = 0.9
AS_RUN = ("computes_on_cpu", "host_device_copies", "memory_bound", "loader_storage_bound", "serial_python",
          "throttled_power")
UNTOUCHED = ("small_kernels", "memory_bound", "throttled_power", "throttled_heat", "waiting_for_ranks")


def host_cpus(rule, scene, rng):
    """As many CPUs as such a card's host has, where the scene does not care."""
    if scene.cpus != 32 or scene.allowed or rule.startswith("loader"):
        return scene.cpus
    return rng.choice(next(counts for part, counts in CPUS.items() if part in scene.card.name))


def depth(rng):
    """How well a job's kernels fill the chip: factors that go with each other."""
    tensor = rng.uniform(0.45, 1.2)
    return {
        "tensor": tensor, "sm": rng.uniform(0.88, 1.09), "dram": rng.uniform(0.6, 1.25),
        "power": 0.72 + 0.3 * tensor * rng.uniform(0.85, 1.05),
    }


def other_kernels(phase, factors, pool, worker):
    """The same phase of another job."""
    if phase.busy <= FULL:
        return replace(phase, worker=phase.worker or worker)
    deeper = {key: getattr(phase, key) * factor for key, factor in factors.items()}
    if factors:
        deeper["power"] = min(deeper["power"], 0.97)
    return replace(phase, **deeper, pool=phase.pool or pool, worker=phase.worker or worker)


def taken(rule, near, scene, rng):
    """How long somebody looked; of what is healthy also a run's record."""
    short = sum(phase.seconds for phase in scene.cycle) <= 1.5 and not scene.before
    steps = rng.choice((20, 20, 24, 40, 60)) if scene.steps == 40 and short else scene.steps
    if near and rule in AS_RUN and rng.random() < 0.25:
        return {"by": "run_samples", "steps": max(90, steps)}
    return {"steps": steps}


def varied(name, scene):
    """The scene with differences drawn from its name."""
    rng = random.Random(zlib.crc32(name.encode()) + 1)
    rule = name.removeprefix("healthy--near_").split("--")[0].rsplit("-", 1)[0]
    phases = [phase for one in (scene.cycles or (scene.cycle,)) for phase in one]
    runs = any(phase.busy > 0.3 for phase in phases)
    factors = depth(rng) if rule not in UNTOUCHED else {}
    pool = rng.uniform(0, 0.3) if scene.framework == "torch" and scene.pool_threads and not scene.allowed else 0.0
    rests = not any(phase.worker or phase.worker_stall for phase in phases)
    worker = rng.uniform(0.05, 0.35) if scene.workers and runs and rests else 0.0
    quirks = tuple(quirk for quirk, chance in QUIRKS.items() if rng.random() < chance)
    cycle = tuple(other_kernels(phase, factors, pool, worker) for phase in scene.cycle)
    near = name.startswith("healthy")
    more = taken(rule, near, scene, rng) | ({"cpus": host_cpus(rule, scene, rng)} if near else {})
    return replace(scene, cycle=cycle, quirks=tuple(dict.fromkeys(scene.quirks + quirks)), **more)
