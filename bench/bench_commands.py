"""Times whole commands against the least that any program would have to do, in the same run.

Plain `berth` with 8 devices, 16 real processes and 2 leases on the fake NVML, probe process included.
It stands against loading, initialising and shutting down the same library; so do `ps` and `status --json`.
`berth smi` by turns with the real nvidia-smi on the same library, where that can be had (build/peers).
`berth run -- true` against fork and exec of true. What the sampler costs per second and per further
process."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BERTH = os.environ["BERTH"]
BUILD = pathlib.Path(os.environ["BERTH_BUILD"])
SPAWN = BUILD / "bench/floor_spawn"
LIBRARY = BUILD / "fakes/nvml/all/libnvidia-ml.so.1"
ROUNDS = 200
# The newest of Debian's nvidia-smi that the fake library has a table for, and the driver it belongs to.
PEER, DRIVER = "nvidia-smi-550", "550.163.01"
FIELDS = (
    "name,serial,uuid,pci.bus_id,driver_version,pstate,memory.total,memory.used,memory.free,utilization.gpu,"
    "utilization.memory,temperature.gpu,temperature.memory,power.draw,power.limit,fan.speed,clocks.sm,clocks.mem,"
    "clocks.gr,clocks.max.sm,clocks.max.mem,pcie.link.gen.current,pcie.link.width.current,ecc.mode.current,"
    "ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total,compute_mode,persistence_mode,"
    "mig.mode.current,clocks_event_reasons.active"
)


def machine_json(pids):
    """8 H100-like devices, two processes on each."""
    uuids = [f"GPU-{i:08x}-5e1a-4b0c-8d3f-0000b0e2a003" for i in range(8)]
    devices = [
        {
            "kind": "nvidia-gpu", "id": uuid, "uuid": uuid, "index": i, "minor_number": i,
            "name": "NVIDIA H100 80GB HBM3", "pci_address": f"00000000:{i + 16:02x}:00.0",
            "compute_capability": "9.0", "memory_total_bytes": 85520809984,
            "memory_used_bytes": (40 << 30) if pids else 0,
            "memory_free_bytes": 85520809984 - ((40 << 30) if pids else 0),
            "memory_reserved_bytes": 0, "utilization_gpu_percent": 90 if pids else 0,
            "utilization_memory_percent": 40, "temperature_celsius": 60,
            "power_draw_milliwatts": 600000, "power_limit_milliwatts": 700000,
            "utilization_history_ms_percent": [[100 * k, 90 if pids else 0] for k in range(100)],
        }
        for i, uuid in enumerate(uuids)
    ]
    processes = [
        {"device": uuids[i % 8], "pid": pid, "type": "C", "memory_used_bytes": 20 << 30}
        for i, pid in enumerate(pids)
    ]
    return json.dumps({
        "berth_snapshot": 1, "taken_unix_ms": int(time.time() * 1000),
        "host": {"name": "bench", "driver_version": DRIVER, "nvml_version": f"12.{DRIVER}",
                 "cuda_version_supported": "12.4"},
        "devices": devices, "gpu_processes": processes,
    })


def spawn(rounds, *commands, env):
    """Per command a list of (microseconds, peak KiB); every command must exit with 0."""
    line = []
    for command in commands:
        line += ([":"] if line else []) + [str(word) for word in command]
    done = subprocess.run([SPAWN, str(rounds), *line], env=env, text=True, stdout=subprocess.PIPE,
                          check=True)
    results = []
    for printed in done.stdout.splitlines():
        rows = [cell.split(":") for cell in printed.split()]
        assert all(row[2] == "0" for row in rows), f"a command failed: {printed[:200]}"
        results.append([(float(row[0]), int(row[1])) for row in rows])
    return results


def tell(name, unit, values, floor, limit):
    quarters = statistics.quantiles(values, n=4)
    print(json.dumps({
        "name": name, "unit": unit, "value": statistics.median(values), "low": quarters[0],
        "high": quarters[2], "floor": floor, "limit": limit, "runs": len(values),
    }), flush=True)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        # Of four ordinary users where this one may start theirs, as on a shared server.
        users = range(1, 5) if os.geteuid() == 0 else [os.geteuid()]
        sleepers = [subprocess.Popen(["sleep", "600"], user=users[i % len(users)])
                    for i in range(16)]
        env = {
            "PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8", "COLUMNS": "120",
            "XDG_STATE_HOME": scratch + "/state", "BERTH_LEDGER": scratch + "/ledger",
            "BERTH_NVML": str(LIBRARY), "BERTH_FAKE_NVML": scratch + "/machine.json",
        }
        machine = pathlib.Path(scratch, "machine.json")
        try:
            machine.write_text(machine_json([]))
            # Two leases, held while the status is timed.
            for _ in range(2):
                subprocess.run([BERTH, "run", "-q", "--detach", "--memory", "10G", "--", "sleep", "600"],
                               env=env, check=True, stdout=subprocess.DEVNULL)
            machine.write_text(machine_json([p.pid for p in sleepers]))
            status(env)
            one_shots(env)
            beside_nvidia_smi(env)
            subprocess.run([BERTH, "stop", "--all", "-q", "--grace", "0s"], env=env, check=True)
            machine.write_text(machine_json([]))
            run_true(env)
            sampler(env)
            long_log(env, pathlib.Path(scratch, "log"))
        finally:
            for sleeper in sleepers:
                sleeper.kill()


def status(env):
    floor, berth = spawn(ROUNDS, [BUILD / "bench/floor_nvml", LIBRARY], [BERTH], env=env)
    floor_ms = statistics.median(us for us, _ in floor) / 1000
    tell("plain `berth`, 8 GPUs, 16 processes, 2 leases", "ms", [us / 1000 for us, _ in berth],
         floor_ms, 2)
    tell("plain `berth`, peak memory of the largest of its processes", "MiB", [kib / 1024 for _, kib in berth],
         statistics.median(kib for _, kib in floor) / 1024, 6)


def one_shots(env):
    """What else is asked in loops."""
    for words in (["ps"], ["status", "--json"]):
        floor, berth = spawn(50, [BUILD / "bench/floor_nvml", LIBRARY], [BERTH, *words], env=env)
        tell(f"`berth {' '.join(words)}`, 8 GPUs, 16 processes", "ms", [us / 1000 for us, _ in berth],
             statistics.median(us for us, _ in floor) / 1000, None)


def beside_nvidia_smi(env):
    """By turns in the same run: each command of `berth smi` takes at most what nvidia-smi's takes."""
    env = env | {"LD_LIBRARY_PATH": str(LIBRARY.parent)}
    theirs = next(BUILD.parent.glob(f"peers/{PEER}/usr/lib/nvidia/*/nvidia-smi"), None)
    # Its -q sleeps while it measures PCIe.
    for rounds, words in ((100, []), (100, ["-L"]), (10, ["-q"]), (10, ["-q", "-x"]),
                          (100, [f"--query-gpu={FIELDS}", "--format=csv"])):
        shown = "--query-gpu of 30 fields" if "--format=csv" in words else " ".join(words)
        commands = [[BERTH, "smi", *words]] + ([[theirs, *words]] if theirs else [])
        ours, *others = [[us / 1000 for us, _ in times] for times in spawn(rounds, *commands, env=env)]
        limit = statistics.median(others[0]) if others else None
        if others:
            tell(f"{f'nvidia-smi {shown}'.strip()} ({DRIVER})", "ms", others[0], None, None)
        else:
            print(json.dumps({"name": f"nvidia-smi {DRIVER} {shown}: not to be had (no {PEER} in build/peers)",
                              "unit": "", "value": None, "limit": None}), flush=True)
        tell(f"`{' '.join(['berth smi', shown]).strip()}`, by turns with it", "ms", ours, None, limit)


def run_true(env):
    floor, berth = spawn(50, ["true"], [BERTH, "run", "-q", "--", "true"], env=env)
    tell("`berth run -- true`", "ms", [us / 1000 for us, _ in berth],
         statistics.median(us for us, _ in floor) / 1000, 10)


def sampler_cpu(env, processes, seconds):
    """CPU seconds that the sampler of a run with so many processes and its probe process used within
    `seconds`."""
    job = f"for i in $(seq {processes - 1}); do sleep {seconds + 6} & done; sleep {seconds + 6}"
    run = subprocess.Popen([BERTH, "run", "-q", "-n", "8", "--", "sh", "-c", job], env=env,
                           stdin=subprocess.DEVNULL)
    try:
        time.sleep(3)  # the manifest is gathered in the first seconds, once
        both = sampler_of(run.pid)
        began = sum(map(cpu_nanoseconds, both))
        time.sleep(seconds)
        return (sum(map(cpu_nanoseconds, both)) - began) / 1e9
    finally:
        # All of its tree: what survives keeps the lease for a while.
        subprocess.run([BERTH, "stop", "--all", "-q", "--grace", "0s"], env=env, check=True)
        run.wait()


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def sampler_of(launcher):
    """Below the launcher, its heir and the keeper: the one whose own child, its probe process, has the NVML library
    mapped. Both."""
    below = children_of(launcher)
    for process in below:  # it grows meanwhile
        for child in children_of(process):
            below.append(child)
            if "libnvidia-ml" in pathlib.Path(f"/proc/{child}/maps").read_text():
                return process, child
    raise SystemExit("the sampler was not found")


def cpu_nanoseconds(pid):
    """Of all of its threads, as clock_getcpuclockid(3) names the clock."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def sampler(env):
    seconds = 20
    few, many = sampler_cpu(env, 8, seconds), sampler_cpu(env, 72, seconds)
    tell("sampler: 8 GPUs, 8 processes at 1 Hz, the library's own time included", "% of a core",
         [100 * few / seconds] * 2, None, 0.2)
    tell("sampler: each further process, per sample", "µs", [(many - few) / 64 / seconds * 1e6] * 2,
         None, 30)


def long_log(env, log):
    """All of it comes through a pipe, which has no end to begin at."""
    lines = b"epoch 3 step 12345 loss 0.1234 accuracy 0.99 it/s 12.3\n" * 20_000
    with open(log, "wb") as file:
        while file.tell() < 1_000_000_000:
            file.write(lines)
        file.write(b"RuntimeError: No CUDA GPUs are available\n")
    cpu, memory = [], []
    for _ in range(5):
        feed = subprocess.Popen(["cat", log], stdout=subprocess.PIPE)
        reader = subprocess.Popen([BERTH, "explain", "--log", "-"], env=env, stdin=feed.stdout,
                                  stdout=subprocess.DEVNULL)
        feed.stdout.close()
        _, status, used = os.wait4(reader.pid, 0)
        reader.returncode = os.waitstatus_to_exitcode(status)
        feed.wait()
        assert reader.returncode == 0, "the error at its end was not found"
        cpu.append(used.ru_utime + used.ru_stime)
        memory.append(used.ru_maxrss / 1024)
    tell("`berth explain --log -`, a log of 1 GB, CPU", "s", cpu, None, 3)
    tell("the same, peak memory", "MiB", memory, None, 50)


if __name__ == "__main__":
    sys.exit(main())
