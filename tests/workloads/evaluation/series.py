"""Series as jobs on real servers look, and how they are written. Every file has a generator seeded with its own name.
So the same ones come out every time."""

import gzip
import io
import json
import math
import os
import random

PLACE = ["series"]  # the folder that they are written to
GIB = 1 << 30
MIB = 1 << 20
NO = "unsupported"

# A row: name, memory bytes, limit W, idle W. Then the highest SM clock, the clock under load without any limit, the
# clock at rest. Then PCIe generation and width, counters of SM/tensor/DRAM, PCIe counters, NVLink. Then process
# utilisation, least/highest, temperatures idle and loaded.
HW = {
    "h100": ("NVIDIA H100 80GB HBM3", 85520809984, 700, 70, 1980, 1980, 345, 5, 16, 1, 1, 1, 1, 1, 30, 66),
    "h100pcie": ("NVIDIA H100 PCIe", 85520809984, 350, 48, 1755, 1755, 345, 5, 16, 1, 1, 0, 1, 1, 33, 68),
    "h200": ("NVIDIA H200", 150754820096, 700, 76, 1980, 1980, 345, 5, 16, 1, 1, 1, 1, 1, 30, 67),
    "b200": ("NVIDIA B200", 192265847808, 1000, 140, 1965, 1965, 120, 5, 16, 1, 1, 1, 1, 1, 31, 62),
    "a100": ("NVIDIA A100-SXM4-40GB", 42949672960, 400, 50, 1410, 1410, 210, 4, 16, 0, 1, 1, 1, 1, 31, 64),
    "a100pcie": ("NVIDIA A100 80GB PCIe", 85899345920, 300, 44, 1410, 1410, 210, 4, 16, 0, 1, 0, 1, 1, 34, 70),
    "l40s": ("NVIDIA L40S", 48305799168, 350, 34, 2520, 2490, 210, 4, 16, 0, 1, 0, 1, 1, 31, 69),
    "a10": ("NVIDIA A10", 24146608128, 150, 17, 1695, 1695, 210, 4, 16, 0, 1, 0, 1, 1, 33, 68),
    "a6000": ("NVIDIA RTX A6000", 51527024640, 300, 22, 2100, 1890, 210, 4, 16, 0, 1, 0, 1, 1, 32, 76),
    "3090": ("NVIDIA GeForce RTX 3090", 25769803776, 350, 24, 2100, 1905, 210, 4, 16, 0, 0, 0, 0, 1, 35, 72),
    "4090": ("NVIDIA GeForce RTX 4090", 25757220864, 450, 20, 3105, 2745, 210, 4, 16, 0, 1, 0, 0, 1, 34, 66),
    "2080ti": ("NVIDIA GeForce RTX 2080 Ti", 11554717696, 250, 14, 2100, 1860, 300, 3, 16, 0, 0, 0, 0, 1, 37, 76),
    "1080ti": ("NVIDIA GeForce GTX 1080 Ti", 11720785920, 250, 12, 1911, 1845, 139, 3, 16, 0, 0, 0, 0, 0, 38, 78),
    "t4": ("Tesla T4", 16106127360, 70, 10, 1590, 1590, 300, 3, 8, 0, 1, 0, 1, 1, 38, 72),
    "v100": ("Tesla V100-SXM2-32GB", 34359738368, 300, 42, 1530, 1530, 135, 3, 16, 0, 1, 1, 1, 1, 34, 62),
    "v100pcie": ("Tesla V100-PCIE-16GB", 17179869184, 250, 26, 1380, 1380, 135, 3, 16, 0, 1, 0, 1, 1, 33, 66),
    "p100": ("Tesla P100-PCIE-16GB", 17179869184, 250, 27, 1328, 1328, 405, 3, 16, 0, 0, 0, 0, 0, 34, 65),
}
KEYS = ("name memory limit idle clock_max clock_load clock_idle gen width prof pcie nvlink psm minmax cold hot").split()
HW = {k: dict(zip(KEYS, v)) for k, v in HW.items()}
LINK = {3: 0.985e9, 4: 1.97e9, 5: 3.94e9}  # bytes per second and lane

INDEX = []


def link(hw):
    return LINK[HW[hw]["gen"]] * HW[hw]["width"]


def clamp(x, low, high):
    return max(low, min(high, x))


class Make:
    def __init__(self, name):
        self.r = random.Random("berth blind set 1 " + name)
        self.carry = {}
        self.last = {}

    def v(self, x, t):
        """A number (2 % noise), (mean, deviation), or a function of the time."""
        if callable(x):
            x = x(t)
        if isinstance(x, str):
            return x
        if isinstance(x, tuple):
            return max(0.0, self.r.gauss(*x))
        return max(0.0, x * self.r.gauss(1, 0.02)) if x else 0.0

    def jiffies(self, key, cores, span):
        """CPU time in ms as /proc tells it: whole ticks of 10 ms, the rest carried on."""
        have = self.carry.get(key, self.r.random() * 10) + min(1.0, cores) * span
        ticks = int(have // 10)
        self.carry[key] = have - ticks * 10
        return ticks * 10

    def process(self, p, t, span):
        r = self.r
        seconds = span / 1000
        threads, cpu = [], 0
        if p.get("main_cpu") is not None:
            listed = [(p["pid"], p.get("state", "auto"), p["main_cpu"])]
            listed += [(p["pid"] + 7 + 3 * i, th[0], th[1]) for i, th in enumerate(p.get("threads", []))]
            for tid, state, cores in listed:
                noisy = isinstance(cores, (int, float)) and 0.05 < cores < 0.93
                cores = self.v((cores, 0.08 * cores) if noisy else cores, t)
                ms = self.jiffies(tid, cores, span)
                cpu += ms
                threads.append([tid, self.state(state, cores, t), ms])
        threads = [[tid + self.shift, state, ms] for tid, state, ms in threads]
        out = {"pid": p["pid"] + self.shift, "parent": p["parent"] + self.shift if p["parent"] > 1 else 1, "name": p.get("name", "python"), "state": threads[0][1] if threads else "S"}
        if p.get("devices"):
            out["devices"] = p["devices"]
            out["gpu_memory_bytes"] = p["gpu_memory"]
            if p.get("sm") is not None:
                sm = self.last[p["devices"][0]] * p.get("sm_share", 1) + self.r.gauss(0, 1) if p["sm"] == "as the card" else self.v(p["sm"], t)
                out["sm_percent"] = sm if isinstance(sm, str) else round(clamp(sm, 0, 100))
        out["cpu_ms"] = cpu
        delay = self.v(p.get("delay", 0.004), t) * span
        out["run_delay_ms"] = int(round(delay))
        storage = self.v(p.get("storage", 0), t) * seconds
        out["storage_read_bytes"] = int(storage) // 131072 * 131072
        out["read_bytes"] = out["storage_read_bytes"] + int(self.v(p.get("read", 0), t) * seconds) // 65536 * 65536
        out["written_bytes"] = int(self.v(p.get("written", 0), t) * seconds) // 65536 * 65536
        out["voluntary_switches"] = int(self.v(p.get("voluntary", 40), t) * seconds) // 5 * 5
        out["involuntary_switches"] = int(self.v(p.get("involuntary", 4), t) * seconds) // 5 * 5
        out["major_faults"] = int(self.v(p.get("major", 0), t) * seconds)
        out["swapped_bytes"] = int(self.v(p["swapped"], t)) // MIB * MIB if callable(p.get("swapped")) else p.get("swapped", 0)
        if not p.get("no_threads"):
            out["threads"] = threads
        for key in p.get("without", ()):
            out.pop(key, None)
        out.update(p.get("instead", {}))
        return out

    def state(self, state, cores, t):
        if callable(state):
            state = state(t)
        if state == "auto":
            return "R" if self.r.random() < cores else "S"
        if isinstance(state, dict):
            x = self.r.random()
            for key, share in state.items():
                x -= share
                if x < 0:
                    return key
            return "S"
        return state


def series(name, why, hw="h100", steps=24, interval=500, cpus=32, allowed=None, framework="torch", ranks=1, subject="GPU 0", taken_by="watch",
           dev=None, devs=None, procs=(), host_busy=2.0, iowait=0.2, io_pressure=0.1, swap_in=0, limit=None, flaky=0.0, without=(), bare_start=0, base=None):
    """One file. `dev`: what the device does (below); `devs`: of several; `procs`: the job's processes, or a function of the time."""
    m = Make(name)
    r = m.r
    hardware = HW[hw]
    devs = devs or [dev or {}]
    base = base or {"power": (0.82, 0.02), "sm": (84, 2.5), "tensor": (46, 2.5), "dram": (38, 2.5)}
    m.shift = r.randrange(-40000, 900000) // 7
    limit = limit or hardware["limit"]
    spell = {}  # how this driver says that it has no such reading: a text, or the key is not there

    def absent(key):
        return spell.setdefault(key, r.random() < 0.7)

    devices = []
    for i in range(len(devs)):
        u = "%08x-%04x-%04x-%04x-%012x" % (r.getrandbits(32), r.getrandbits(16), r.getrandbits(16), r.getrandbits(16), r.getrandbits(48))
        devices.append({"id": "GPU-" + u, "index": i, "name": hardware["name"], "memory_total_bytes": hardware["memory"],
                        "power_limit_milliwatts": limit * 1000, "power_limit_default_milliwatts": hardware["limit"] * 1000,
                        "clock_sm_max_megahertz": hardware["clock_max"], "pcie_generation": hardware["gen"], "pcie_width": hardware["width"]})
    head = {"berth_activity": 1, "taken_unix_ms": 1763600000000 + r.randrange(10**8), "taken_by": taken_by, "simulated": None, "subject": subject,
            "framework": framework}
    if ranks is not None:
        head["ranks"] = ranks
    head["host"] = {"cpus": cpus, "cpus_allowed": cpus if allowed is None else allowed}
    head["devices"] = devices
    storage_matters = name.startswith(("loader_storage", "swapping", "periodic", "healthy--near_loader_storage", "healthy--near_swapping", "nothing"))
    if not flaky and r.random() < 0.15:
        flaky = 0.03
    if taken_by == "watch" and r.random() < 0.2:
        bare_start = 1
    other_user = taken_by == "watch" and not storage_matters and r.random() < 0.12  # watched by somebody who may not read /proc/PID/io
    lines = [head]
    power = [None] * len(devs)
    now = 0
    for step in range(steps):
        span = interval - r.choice((0, 0, 0, 1, 1, 2)) if taken_by == "watch" else interval
        now += span
        t = now / 1000
        out = []
        listed = list(procs(t) if callable(procs) else procs)
        if taken_by != "watch":
            listed = [dict(p, no_threads=True) for p in listed]
        for i, d in enumerate(devs):
            d = d(t) if callable(d) else d
            has = any(i in p.get("devices", ()) for p in listed) or d.get("seen", True) and d.get("util", 1) != 0
            u = clamp(m.v(d.get("util", (97, 1.2)), t), 0, 100)
            m.last[i] = u
            spread = d.get("spread")
            if spread == "bursty":
                low, high = 0 if u < 88 else r.choice((0, 0, 12, 31)), clamp(u + r.uniform(25, 60), 0, 100)
            elif u > 94:
                low, high = clamp(u - abs(r.gauss(0, 5)) - 1, 0, 100), 100
            elif u < 3:
                low, high = 0, math.ceil(u * 3)
            else:
                low, high = clamp(u - r.uniform(15, 45), 0, 100), clamp(u + r.uniform(6, 40), 0, 100)
            share = m.v(d.get("power", base["power"]), t)
            watts = hardware["idle"] + (hardware["limit"] - hardware["idle"]) * share
            watts = min(watts, limit * r.uniform(0.985, 1.008))
            lag = 1 - math.exp(-interval / 700)
            power[i] = watts if power[i] is None else power[i] + (watts - power[i]) * lag
            temperature = d.get("temperature")
            if temperature is None:
                load = (power[i] - hardware["idle"]) / (hardware["limit"] - hardware["idle"])
                start = d.get("warm", 1)
                warmth = start + (1 - start) * (1 - math.exp(-t / 40))
                temperature = hardware["cold"] + (hardware["hot"] - hardware["cold"]) * (0.35 * load + 0.65 * clamp(d.get("power_mean", load), 0, 1)) * warmth
                temperature += r.choice((0, 0, 0, 1, -1))
            else:
                temperature = m.v(temperature, t)
            clock = d.get("clock")
            clock = (hardware["clock_load"] if has else hardware["clock_idle"]) if clock is None else m.v(clock, t) * hardware["clock_max"]
            clock = min(int(round(clock / 15)) * 15, hardware["clock_max"]) if has else hardware["clock_idle"]
            throttle = d.get("throttle", [])
            throttle = throttle(t) if callable(throttle) else throttle
            if throttle and isinstance(throttle[0], tuple):  # (what, how often)
                throttle = [w for w, p in throttle if r.random() < p]
            x = {"utilization_percent": round(u, 1) if hardware["minmax"] else round(u)}
            if hardware["minmax"]:
                x["utilization_min_percent"], x["utilization_max_percent"] = int(min(low, u)), int(math.ceil(max(high, u)))
            x["utilization_memory_percent"] = round(clamp(m.v(d.get("umem", lambda t, u=u, d=d: u * 0.01 * d.get("umem_share", 38)), t), 0, 100))
            x["memory_used_bytes"] = int(d.get("memory", 0.72) * hardware["memory"]) // (2 * MIB) * 2 * MIB if has else 3 * MIB
            x["power_milliwatts"] = int(power[i] * 10) * 100
            x["temperature_celsius"] = int(temperature)
            x["clock_sm_megahertz"] = clock
            x["throttle"] = throttle
            for key, field, rest in (("pcie_sent_bytes", "sent", 2e6), ("pcie_received_bytes", "received", 1e7)):
                if hardware["pcie"]:
                    x[key] = int(m.v(d.get(field, rest if has else 3e5), t) * span / 1000) // 16384 * 16384
                elif absent("pcie"):
                    x[key] = NO
            if hardware["nvlink"]:
                x["nvlink_bytes"] = int(m.v(d.get("nvlink", 0), t) * span / 1000) // MIB * MIB
            elif absent("nvlink"):
                x["nvlink_bytes"] = NO
            for key in ("sm", "tensor", "dram"):
                if hardware["prof"]:
                    x[key + "_percent"] = round(clamp(m.v(d.get(key, base[key]), t), 0, 100), 1)
                elif absent("prof"):
                    x[key + "_percent"] = NO
            x["others"] = d.get("others", 0)
            percent = m.v(d.get("others_percent", 0), t)
            x["others_percent"] = percent if isinstance(percent, str) else round(percent)
            for key in without:
                x.pop(key, None)
            if flaky:
                for key in ("utilization_percent", "power_milliwatts", "sm_percent", "pcie_received_bytes"):
                    if key in x and r.random() < flaky:
                        x[key] = r.choice(("failed", "not sampled"))
                        if key == "utilization_percent":
                            x.pop("utilization_min_percent", None)
                            x.pop("utilization_max_percent", None)
            if step < bare_start:  # counters that need two looks
                for key in ("sm_percent", "tensor_percent", "dram_percent", "pcie_sent_bytes", "pcie_received_bytes"):
                    if key in x and x[key] != NO:
                        x[key] = "not sampled"
            out.append(x)
        all_procs = [m.process(p, t, span) for p in listed]
        for p in all_procs:
            if other_user:
                p.update(dict.fromkeys(("storage_read_bytes", "read_bytes", "written_bytes"), "no permission"))
            if taken_by != "watch":  # a run's record has less
                for key in ("state", "sm_percent", "run_delay_ms", "read_bytes", "voluntary_switches", "involuntary_switches", "major_faults", "swapped_bytes"):
                    p.pop(key, None)
        busy = sum(p["cpu_ms"] for p in all_procs if isinstance(p.get("cpu_ms"), int)) / span / cpus * 100 + m.v(host_busy, t)
        lines.append({"t_ms": now, "span_ms": span, "devices": out, "processes": all_procs,
                      "host": {"cpu_busy_percent": round(clamp(busy, 0, 100), 1), "iowait_percent": round(clamp(m.v(iowait, t), 0, 100), 1),
                               "io_pressure_percent": round(clamp(m.v(io_pressure, t), 0, 100), 1), "swap_in_bytes": int(m.v(swap_in, t) * span / 1000) // 4096 * 4096}})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode("ascii")
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as f:
        f.write(text)
    with open(os.path.join(PLACE[0], name + ".jsonl.gz"), "wb") as f:
        f.write(buffer.getvalue())
    INDEX.append((name, why, hardware["name"], steps * interval / 1000, len(buffer.getvalue())))


# ---- the processes of a job

def main(hw="h100", cpu=0.7, threads=None, memory=0.72, pid=48211, sm="as the card", devices=(0,), **more):
    """The process on the device. `threads`: (state, cores) beside the main one: autograd, pin_memory, CUDA's own."""
    hardware = HW[hw]
    if sm == "as the card" and not hardware["psm"]:
        sm = None
    p = {"pid": pid, "parent": more.pop("parent", pid - 37), "name": "python", "devices": list(devices), "gpu_memory": int(memory * hardware["memory"] * 0.97) // MIB * MIB,
         "main_cpu": cpu, "threads": [("S", 0.12), ("S", 0.02)] if threads is None else threads, "sm": sm, "voluntary": 900, "involuntary": 10, "read": 4e5}
    p.update(more)
    return p


def workers(n, cpu, parent=48211, name="pt_data_worker", first=48300, each=None, **more):
    out = []
    for i in range(n):
        p = {"pid": first + 64 * i, "parent": parent, "name": name, "main_cpu": cpu, "threads": [], "voluntary": 30, "involuntary": 12, "read": 3e6}
        p.update(more)
        if each:
            p.update(each(i))
        out.append(p)
    return out


def part(period, share, phase=0.0, step=0.5):
    """Which part of the step that ends at `t` lies in the first `share` of its period."""
    def at(t):
        n = 50
        return sum(((t - step * (i + 0.5) / n + phase) % period) / period < share for i in range(n)) / n
    return at


DEFAULT = {"util": (97, 1.2), "power": (0.82, 0.02), "sm": (84, 2.5), "tensor": (46, 2.5), "dram": (38, 2.5), "received": 1e7, "sent": 2e6, "nvlink": 0}


def mix(a, b, x):
    """A step of which the part x is as `a` says and the rest as `b`."""
    out = dict(a if x >= 0.5 else b)
    for key, default in DEFAULT.items():
        p, q = (v if isinstance(v, tuple) else (v, 0.02 * v) for v in (d.get(key, default) for d in (a, b)))
        out[key] = tuple(x * m + (1 - x) * n for m, n in zip(p, q))
    if 0.02 < x < 0.98:
        out["spread"] = "bursty"
    return out
