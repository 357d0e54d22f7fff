"""A scene as the lines of a series. Some quirks take readings away: no_minmax, no_process_sm, no_pcie, no_counters,
no_pressure. ticks: CPU time in clock ticks. flaky: a reading fails now and then. lean: few keys of a process."""

import random
import zlib

from processes import Job
from scene import GIB
from timeline import Timeline

SAMPLE = 1 / 6
FLAKY = ("utilization_percent", "power_milliwatts", "temperature_celsius", "pcie_received_bytes",
         "clock_sm_megahertz")


def clamp(value, low, high):
    """The value within its bounds."""
    return max(low, min(high, value))


class Device:
    """One device's readings."""

    def __init__(self, scene, timeline, rng):
        self.scene, self.card, self.timeline, self.rng = scene, scene.card, timeline, rng
        self.watts = None
        self.degrees = None
        self.quiet = 0.0

    def noisy(self, value, share=0.02):
        """The value with a little noise, never negative."""
        return max(0.0, value * self.rng.gauss(1.0, share))

    def percent(self, value, share=0.015):
        """A percentage with noise."""
        return round(clamp(self.noisy(value, share), 0, 100), 2)

    def power(self, mean, present):
        """Milliwatts, lagging behind a little. A context costs some watts more than nothing."""
        rest = self.card.rest[0] * (1.0 if not present or self.card.consumer else 1.25)
        limit = self.card.limit * self.scene.limit
        goal = rest + mean["power"] * (limit - rest)
        self.watts = goal if self.watts is None else self.watts + 0.7 * (goal - self.watts)
        return int(1000 * clamp(self.noisy(self.watts, 0.012), 5, limit * 1.015))

    def temperature(self, mean):
        """Degrees that follow the power slowly."""
        warm = 33 + (44 if self.card.consumer else 33) * mean["power"] * self.scene.limit
        goal = mean["temp"] or warm
        if self.degrees is None:
            self.degrees = goal if mean["power"] > 0.1 or mean["temp"] else warm + self.rng.uniform(-3, 6)
        self.degrees += 0.08 * (goal - self.degrees)
        return round(self.degrees)

    def clock(self, mean, last, span, present):
        """Megahertz at the step's end."""
        self.quiet = 0.0 if mean["busy"] > 0.01 else self.quiet + span
        if not present or (self.card.consumer and self.quiet > 3):
            return self.card.rest[1]
        top = self.card.clock * self.card.boost * last.clock
        return int(round(self.noisy(top, 0.006) / 15) * 15) if last.clock < 1 else int(top // 15 * 15)

    def utilisation(self, begin, end, mean):
        """Mean, least and highest."""
        if not self.card.history or "no_minmax" in self.scene.quirks:
            return {"utilization_percent": self.percent(100 * mean["busy"], 0.01)}
        samples = []
        while begin + SAMPLE <= end + 0.02:
            samples.append(round(clamp(self.noisy(self.timeline.busy(begin, begin + SAMPLE), 0.01), 0, 100)))
            begin += SAMPLE
        names = {"utilization_min_percent": min(samples), "utilization_max_percent": max(samples)}
        return {"utilization_percent": round(sum(samples) / len(samples), 2)} | names

    def traffic(self, mean, span):
        """PCIe and NVLink in the step."""
        out = {}
        for key, name in (("pcie_sent_bytes", "tx"), ("pcie_received_bytes", "rx")):
            out[key] = "unsupported" if "no_pcie" in self.scene.quirks else int(self.noisy(mean[name]) * 1e6 * span)
        out["nvlink_bytes"] = int(self.noisy(mean["link"]) * 1e6 * span) if self.card.nvlink else "unsupported"
        return out

    def counters(self, mean):
        """What Hopper counts of its SMs, tensor cores and memory."""
        names = {"sm_percent": "sm", "tensor_percent": "tensor", "dram_percent": "dram"}
        if not self.card.counters:
            return dict.fromkeys(names, "unsupported")
        if "no_counters" in self.scene.quirks:
            return dict.fromkeys(names, "no permission")
        return {key: self.percent(mean[name], 0.025) for key, name in names.items()}

    def memory(self, present):
        """Bytes in use."""
        own = self.scene.memory if present and self.scene.holds else 0
        return int((own + (0.15 * self.scene.others)) * self.card.memory * GIB * 0.98)

    def read(self, begin, end, present):
        """One step's readings."""
        span, last = end - begin, self.timeline.last(end)
        mean = self.timeline.mean(begin, end)
        out = self.utilisation(begin, end, mean)
        out |= {
            "utilization_memory_percent": round(self.percent(clamp(mean["dram"] * 1.04, 0, 100))),
            "memory_used_bytes": self.memory(present),
            "power_milliwatts": self.power(mean, present and self.scene.holds),
            "temperature_celsius": self.temperature(mean),
            "clock_sm_megahertz": self.clock(mean, last, span, present and self.scene.holds),
            "throttle": list(last.throttle),
        }
        out |= self.traffic(mean, span) | self.counters(mean)
        out |= {"others": self.scene.others, "others_percent": self.percent(mean["others_share"], 0.05)}
        if "flaky" in self.scene.quirks and self.rng.random() < 0.06:
            out[self.rng.choice(FLAKY)] = "failed"
        return out


RECORD_KEYS = (
    "utilization_percent", "utilization_memory_percent", "memory_used_bytes", "power_milliwatts",
    "temperature_celsius", "clock_sm_megahertz", "pcie_sent_bytes", "pcie_received_bytes",
)


def header(scene, seed, pid):
    """The first line."""
    card, rng = scene.card, random.Random(seed)
    devices = [
        {
            "id": f"GPU-{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4{rng.getrandbits(12):03x}"
                  f"-9{rng.getrandbits(12):03x}-{rng.getrandbits(48):012x}",
            "index": index,
            "name": card.name,
            "memory_total_bytes": int(card.memory * GIB),
            "power_limit_milliwatts": int(card.limit * 1000 * scene.limit),
            "power_limit_default_milliwatts": card.limit * 1000,
            "clock_sm_max_megahertz": card.clock,
            "pcie_generation": card.pcie,
            "pcie_width": scene.width,
        }
        for index in range(scene.gpus)
    ]
    host = {"cpus": scene.cpus, "cpus_allowed": scene.allowed or scene.cpus}
    subject = f"process {pid}" if scene.process and (scene.gpus > 1 or not scene.holds) else "GPU 0"
    out = {
        "berth_activity": 1, "taken_unix_ms": 1_760_000_000_000 + seed % 10**9,
        "taken_by": "watch", "simulated": None, "subject": subject, "framework": scene.framework,
    }
    if scene.by == "run_samples":
        out |= {"taken_by": scene.by, "subject": f"run 20260{seed % 9 + 1}11-101500-{seed % 46656:06d}",
                "framework": None}
        host.pop("cpus_allowed")
    elif scene.ranks:
        out["ranks"] = scene.ranks
    return out | {"host": host, "devices": devices}


def lines(name, scene):
    """Header and steps. The same name gives the same lines."""
    seed = zlib.crc32(name.encode())
    rng = random.Random(seed)
    watch = scene.by == "watch"
    length = scene.steps * (0.5 if watch else 1.0)
    cycles = scene.cycles or (scene.cycle,) * scene.gpus
    timelines = [Timeline(scene, phases, length + 2, random.Random(seed)) for phases in cycles]  # ranks keep step
    devices = [Device(scene, timeline, rng) for timeline in timelines]
    job = Job(scene, timelines, rng)
    yield header(scene, seed, job.first)
    now = 0
    for _ in range(scene.steps):
        span = round((500 if watch else 1000) + abs(rng.gauss(0, 2)))
        begin, end, now = now / 1000, (now + span) / 1000, now + span
        present = scene.process and begin >= scene.absent
        readings = [device.read(begin, end, present) for device in devices]
        if not watch:
            readings = [{key: one[key] for key in RECORD_KEYS} for one in readings]
        processes, host = job.read(begin, end, present)
        yield {"t_ms": now, "span_ms": span, "devices": readings, "processes": processes, "host": host}
