#!/usr/bin/env python3
"""Checks series against the description of their format: check_series.py FILE..., .jsonl or .jsonl.gz."""

import gzip
import json
import sys

REASONS = {"unsupported", "no permission", "failed", "not sampled"}
HEADER = {"berth_activity", "taken_unix_ms", "taken_by", "simulated", "subject", "framework", "ranks", "host",
          "devices"}
DEVICE_HEADER = {
    "id", "index", "name", "memory_total_bytes", "power_limit_milliwatts", "power_limit_default_milliwatts",
    "clock_sm_max_megahertz", "pcie_generation", "pcie_width",
}
PERCENTS = {
    "utilization_percent", "utilization_min_percent", "utilization_max_percent", "utilization_memory_percent",
    "sm_percent", "tensor_percent", "dram_percent", "others_percent",
}
DEVICE = PERCENTS | {
    "memory_used_bytes", "power_milliwatts", "temperature_celsius", "clock_sm_megahertz", "throttle",
    "pcie_sent_bytes",
    "pcie_received_bytes", "nvlink_bytes", "others", "lost",
}
PROCESS = {
    "pid", "parent", "name", "state", "devices", "gpu_memory_bytes", "sm_percent", "cpu_ms", "run_delay_ms",
    "storage_read_bytes", "read_bytes", "written_bytes", "voluntary_switches", "involuntary_switches", "major_faults",
    "swapped_bytes", "threads",
}
HOST = {"cpu_busy_percent", "iowait_percent", "io_pressure_percent", "swap_in_bytes"}
TEXTS = {"name", "state", "throttle", "devices", "threads", "lost"}
NOISE_MS = 15


def readings(what, where, keys):
    """Keys known, each a number that is not negative or a reason."""
    for key, value in what.items():
        if key not in keys:
            yield f"{where}: unknown key {key}"
        elif key in TEXTS:
            continue
        elif isinstance(value, str):
            if value not in REASONS:
                yield f"{where}: {key} is {value!r}"
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            yield f"{where}: {key} is {value!r}"
        elif key.endswith("_percent") and value > 100:
            yield f"{where}: {key} is over 100"


def number(value):
    """The reading as a number, nothing else."""
    return value if isinstance(value, (int, float)) else None


def span_bytes(span, generation):
    """What 16 lanes carry in so many milliseconds, and a tenth more."""
    return 1.1 * 15.75e6 * span * 2 ** (generation - 3)


def device_problems(header, device, step, where):
    """One device in one step."""
    yield from readings(device, where, DEVICE)
    mean, low, high = (number(device.get(f"utilization_{key}percent")) for key in ("", "min_", "max_"))
    if low is not None and mean is not None and not low - 3 <= mean <= high + 3:
        yield f"{where}: utilisation {mean} not between {low} and {high}"
    if (number(device.get("memory_used_bytes")) or 0) > header["memory_total_bytes"]:
        yield f"{where}: more memory than there is"
    if not set(device.get("throttle", [])) <= {"power", "heat", "other"}:
        yield f"{where}: throttle {device['throttle']}"
    lanes = header["pcie_width"] / 16
    most = span_bytes(step["span_ms"], header["pcie_generation"]) * lanes
    for key in ("pcie_sent_bytes", "pcie_received_bytes"):
        if (number(device.get(key)) or 0) > most:
            yield f"{where}: {key} is more than the link carries"


def process_problems(process, step, where):
    """One process in one step."""
    span = step["span_ms"]
    yield from readings(process, where, PROCESS)
    if process.get("state", "S") not in "RSDTZI":
        yield f"{where}: state {process['state']}"
    rows = process.get("threads")
    if rows is None:
        return
    for _, _, cpu in rows:
        if not 0 <= cpu <= span + NOISE_MS:
            yield f"{where}: a thread ran {cpu} of {span} ms"
    if abs(sum(row[2] for row in rows) - process["cpu_ms"]) > NOISE_MS * (1 + len(rows)):
        yield f"{where}: the threads' CPU time is not the process's"


def step_problems(header, step, where):
    """One step."""
    if len(step["devices"]) != len(header["devices"]):
        yield f"{where}: {len(step['devices'])} devices"
    for one, device in zip(header["devices"], step["devices"], strict=False):
        yield from device_problems(one, device, step, where)
    for process in step["processes"]:
        yield from process_problems(process, step, f"{where}, process {process['pid']}")
        if any(index >= len(header["devices"]) for index in process.get("devices", [])):
            yield f"{where}: a device that is not there"
    if len({process["pid"] for process in step["processes"]}) != len(step["processes"]):
        yield f"{where}: a process twice"
    yield from readings(step["host"], where + ", host", HOST)
    allowed = header["host"].get("cpus_allowed") or header["host"]["cpus"]
    used = sum(process["cpu_ms"] for process in step["processes"])
    real = header["simulated"] is None
    if real and used > 1.04 * allowed * step["span_ms"] + NOISE_MS:
        yield f"{where}: {used} ms of CPU time on {allowed} CPUs"
    host = number(step["host"].get("cpu_busy_percent"))
    if real and host is not None and host * header["host"]["cpus"] * step["span_ms"] / 100 < 0.98 * used - 2 * NOISE_MS:
        yield f"{where}: the host is less busy than the job"


def header_problems(header):
    """The first line."""
    if header.get("berth_activity") != 1 or header.get("taken_by") not in ("watch", "run_samples"):
        yield "header: no series of version 1"
    for key in set(header) - HEADER:
        yield f"header: unknown key {key}"
    if header.get("framework") not in (None, "torch", "tensorflow", "jax"):
        yield "header: framework"
    for device in header["devices"]:
        if set(device) != DEVICE_HEADER:
            yield f"header: a device's keys {sorted(set(device) ^ DEVICE_HEADER)}"


def problems(text):
    """What is wrong with a series."""
    header, *steps = [json.loads(line) for line in text.splitlines()]
    out, end = list(header_problems(header)), 0
    most = 1000 if header["taken_by"] == "watch" else 2500
    for index, step in enumerate(steps):
        where = f"step {index}"
        end += step["span_ms"]
        if not 0 < step["span_ms"] <= most or abs(end - step["t_ms"]) > 50:
            out.append(f"{where}: times")
        out += step_problems(header, step, where)
    return out if steps else ["no steps"]


def main():
    """Checks the files named."""
    wrong = 0
    for path in sys.argv[1:]:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            found = problems(file.read())
        wrong += bool(found)
        print(*[f"{path}: {problem}" for problem in found[:5]], sep="\n", end="\n" if found else "")
    print(f"{len(sys.argv) - 1} checked, {wrong} with problems")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
