#!/usr/bin/env python3
"""Holds series (.jsonl, .jsonl.gz; files or folders) against "Activity (JSON Lines), version 1" of doc/FORMATS.md."""

import gzip
import json
import os
import re
import sys

REASONS = {"unsupported", "no permission", "failed", "not sampled"}
RULES = ("nothing_running memory_held_idle computes_on_cpu loader_cpu_bound loader_too_few_workers loader_storage_bound serial_python host_device_copies small_kernels "
         "memory_bound throttled_power throttled_heat waiting_for_ranks periodic_pauses too_few_cpus shared_with_others swapping").split()
HEAD = "berth_activity taken_unix_ms taken_by simulated subject framework ranks host devices".split()
HEAD_DEVICE = "id index name memory_total_bytes power_limit_milliwatts power_limit_default_milliwatts clock_sm_max_megahertz pcie_generation pcie_width".split()
PERCENT = {"utilization_percent", "utilization_min_percent", "utilization_max_percent", "utilization_memory_percent", "sm_percent", "tensor_percent", "dram_percent", "others_percent"}
DEVICE = PERCENT | set("memory_used_bytes power_milliwatts temperature_celsius clock_sm_megahertz throttle pcie_sent_bytes pcie_received_bytes nvlink_bytes others lost".split())
PROCESS_READINGS = set("gpu_memory_bytes sm_percent cpu_ms run_delay_ms storage_read_bytes read_bytes written_bytes voluntary_switches involuntary_switches major_faults swapped_bytes".split())
PROCESS = PROCESS_READINGS | {"pid", "parent", "name", "state", "devices", "threads"}
HOST = set("cpu_busy_percent iowait_percent io_pressure_percent swap_in_bytes".split())


def number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def check(path):
    bad = []

    def want(ok, *what):
        if not ok:
            bad.append(" ".join(str(w) for w in what))

    def reading(where, key, x, top=None):
        if isinstance(x, str):
            want(x in REASONS, where, key, "reason", x)
        else:
            want(number(x) and x >= 0 and (top is None or x <= top), where, key, x)
        return number(x)

    name = os.path.basename(path)
    stem = re.fullmatch(r"([a-z_]+)--([A-Za-z0-9_]+(-[A-Za-z0-9_]+)*)\.jsonl(\.gz)?", name)
    want(stem, "name")
    if stem and stem[1] == "healthy":
        near = re.fullmatch(r"near_([a-z_]+)-\d+", stem[2])
        want(near and near[1] in RULES, "name")
    elif stem:
        want(stem[1] in RULES, "rule")
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        lines = f.read().split(b"\n")
    want(lines.pop() == b"", "last line without its end")
    want(all(len(line) <= 4 << 20 for line in lines), "line too long")
    head, *steps = [json.loads(line) for line in lines]
    want(head.get("berth_activity") == 1, "version")
    want(set(head) <= set(HEAD), "header keys", set(head) - set(HEAD))
    want(head["taken_by"] in ("watch", "run_samples"), "taken_by")
    want(head["framework"] in ("torch", "tensorflow", "jax", None), "framework")
    want("ranks" not in head or isinstance(head["ranks"], int) and head["ranks"] >= 1, "ranks")
    allowed = head["host"].get("cpus_allowed", head["host"]["cpus"])
    want(0 < allowed <= head["host"]["cpus"], "cpus")
    n = len(head["devices"])
    want(1 <= n <= 64, "devices")
    for d in head["devices"]:
        want(set(d) <= set(HEAD_DEVICE), "device keys", set(d) - set(HEAD_DEVICE))
        for key in HEAD_DEVICE[3:]:
            if key in d:
                reading("header", key, d[key])
    want(3 <= len(steps) <= 100000, "steps", len(steps))
    before = 0
    for k, s in enumerate(steps):
        at = f"step {k}:"
        want(set(s) <= {"t_ms", "span_ms", "devices", "processes", "host"}, at, "keys")
        want(s["t_ms"] > before, at, "t_ms does not grow")
        want(0 < s["span_ms"] <= s["t_ms"] - before + 2, at, "span", s["span_ms"])
        want(s["span_ms"] <= (1000 if "--run-" not in name else 1100), at, "span")
        before = s["t_ms"]
        want(len(s["devices"]) == n, at, "devices")
        for i, d in enumerate(s["devices"]):
            want(set(d) <= DEVICE, at, "device keys", set(d) - DEVICE)
            for key, x in d.items():
                if key == "throttle":
                    want(isinstance(x, str) and x in REASONS or isinstance(x, list) and set(x) <= {"power", "heat", "other"}, at, key, x)
                elif key != "lost":
                    reading(at, key, x, 100 if key in PERCENT else None)
            low, mean, high = (d.get(f"utilization{m}_percent") for m in ("_min", "", "_max"))
            if number(low) and number(mean) and number(high):
                want(low <= mean <= high, at, "utilisation", low, mean, high)
            h = head["devices"][i]
            for key, top in (("memory_used_bytes", "memory_total_bytes"), ("clock_sm_megahertz", "clock_sm_max_megahertz")):
                if number(d.get(key)) and number(h.get(top)):
                    want(d[key] <= h[top], at, key, d[key])
            if number(d.get("power_milliwatts")) and number(h.get("power_limit_milliwatts")):
                want(d["power_milliwatts"] <= 1.1 * h["power_limit_milliwatts"], at, "power")
            lane = {1: .25e9, 2: .5e9, 3: .985e9, 4: 1.97e9, 5: 3.94e9, 6: 7.9e9}
            for key in ("pcie_sent_bytes", "pcie_received_bytes"):
                if number(d.get(key)) and number(h.get("pcie_generation")) and number(h.get("pcie_width")):
                    want(d[key] <= lane[h["pcie_generation"]] * h["pcie_width"] * s["span_ms"] / 1000, at, key, "more than the link can")
        seen, tids = set(), set()
        for p in s.get("processes", []):
            want(set(p) <= PROCESS, at, "process keys", set(p) - PROCESS)
            want(isinstance(p["pid"], int) and p["pid"] > 0 and p["pid"] not in seen, at, "pid", p["pid"])
            seen.add(p["pid"])
            want("state" not in p or p["state"] in REASONS or re.fullmatch("[RSDTtZXI]", p["state"]), at, "state", p.get("state"))
            want(all(isinstance(i, int) and 0 <= i < n for i in p.get("devices", [])), at, "devices of", p["pid"])
            for key in PROCESS_READINGS & set(p):
                reading(at, key, p[key])
            threads = p.get("threads", [])
            want(head["taken_by"] == "watch" or not threads, at, "threads in a run's samples")
            total = 0
            for tid, state, ms in threads:
                want(tid not in tids, at, "thread twice", tid)
                tids.add(tid)
                want(re.fullmatch("[RSDTtZXI]", state), at, "thread state", state)
                want(0 <= ms <= s["span_ms"] + 20, at, "thread time", ms)
                total += ms
            if threads and isinstance(p.get("cpu_ms"), int) and "--run-" not in name:
                want(threads[0][0] == p["pid"], at, "main thread")
                want(total == p["cpu_ms"], at, "threads' times", total, p["cpu_ms"])
        want(not tids & seen - {t for t in tids if t in seen and any(p["pid"] == t and p.get("threads", [[0]])[0][0] == t for p in s["processes"])}, at, "a thread with another's pid")
        busy = sum(p["cpu_ms"] for p in s.get("processes", []) if isinstance(p.get("cpu_ms"), int)) / s["span_ms"]
        if "--run-" not in name:
            want(busy <= allowed * 1.1 + .1, at, "more CPU time than CPUs", round(busy, 2))
        want(set(s.get("host", {})) <= HOST, at, "host keys")
        for key, x in s.get("host", {}).items():
            reading(at, key, x, 100 if key.endswith("percent") else None)
    return bad


def main():
    files = []
    for arg in sys.argv[1:] or ["series"]:
        files += [os.path.join(arg, f) for f in sorted(os.listdir(arg)) if ".jsonl" in f] if os.path.isdir(arg) else [arg]
    wrong = 0
    for path in files:
        bad = check(path)
        wrong += bool(bad)
        for line in bad[:5]:
            print(path, line)
    print(len(files), "files,", wrong, "of them wrong,", sum(os.path.getsize(f) for f in files), "bytes")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
