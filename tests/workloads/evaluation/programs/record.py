#!/usr/bin/env python3
"""Runs each workload on a simulated server and records it with `berth explain --save`: record.py BERTH OUTDIR [RULE…].
RECORD_NICE=-10 (root): the workloads' niceness, where the machine has other things to do than RULE wants."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LOADER = ["loader.py"]
# rule, variant, workload, busy cores, seconds of the recording, other programs beside it, what is explained (None: the process)
WORK = [
    ("nothing_running", "never", None, 0, 10, [], "5"),
    ("nothing_running", "just_ended", ["steady.py", "--ends-after", "2"], 0, 10, [], "5"),
    ("nothing_running", "job_on_the_next_device", ["steady.py", "--device", "6"], 0, 10, [], "5"),
    ("memory_held_idle", "sleep", ["held.py", "--how", "sleep"], 0, 10, [], None),
    ("memory_held_idle", "deadlock", ["held.py", "--how", "deadlock"], 0, 10, [], None),
    ("memory_held_idle", "stopped", ["held.py", "--how", "stopped"], 0, 10, [], None),
    ("loader_storage_bound", "direct", [*LOADER, "--work", "direct", "--workers", "3", "--batch", "0.3", "--kernel", "0.02"], 0.6, 12, [], None),
    ("loader_storage_bound", "pages", [*LOADER, "--work", "pages", "--workers", "2", "--batch", "0.25", "--kernel", "0.03", "--cpus", "32"], 0.6, 12, [], None),
    ("loader_storage_bound", "main_slow_disk", [*LOADER, "--work", "slow_disk", "--workers", "0", "--batch", "0.2", "--kernel", "0.05", "--cpus", "8"], 0.3, 12, [], None),
    ("memory_bound", "decode", ["kernels.py", "--how", "memory_decode"], 0, 10, [], None),
    ("memory_bound", "stencil_jax", ["kernels.py", "--how", "memory_stencil_jax"], 0, 10, [], None),
    ("memory_bound", "elementwise", ["kernels.py", "--how", "memory_elementwise"], 1, 10, [], None),
    ("throttled_power", "limit_60", ["kernels.py", "--how", "power_60"], 0, 10, [], None),
    ("throttled_power", "limit_70", ["kernels.py", "--how", "power_70"], 0, 10, [], None),
    ("throttled_power", "brake", ["kernels.py", "--how", "power_brake"], 0, 10, [], None),
    ("throttled_heat", "clock_55", ["kernels.py", "--how", "heat_55"], 0, 10, [], None),
    ("throttled_heat", "clock_65", ["kernels.py", "--how", "heat_65"], 0, 10, [], None),
    ("throttled_heat", "grows", ["kernels.py", "--how", "heat_grows"], 0, 12, [], None),
    ("shared_with_others", "half", ["steady.py", "--share", "0.48"], 0, 10, [["steady.py", "--share", "0.48", "--shift", "0.5"]], None),
    ("shared_with_others", "other_takes_most", ["steady.py", "--share", "0.28", "--memory", "6e9"], 0, 10, [["steady.py", "--share", "0.68", "--shift", "0.3"]], None),
    ("shared_with_others", "two_others", ["steady.py", "--share", "0.32"], 0, 10, [["steady.py", "--share", "0.32", "--shift", "0.33"], ["steady.py", "--share", "0.3", "--shift", "0.67"]], None),
    ("waiting_for_ranks", "sleeping", ["kernels.py", "--how", "ranks_sleeping"], 0, 12, [], None),
    ("waiting_for_ranks", "half", ["kernels.py", "--how", "ranks_half"], 1, 12, [], None),
    ("waiting_for_ranks", "hang", ["kernels.py", "--how", "ranks_hang"], 1, 10, [], None),
    ("periodic_pauses", "upload", ["pauses.py", "--how", "upload"], 0, 30, [], None),
    ("periodic_pauses", "checkpoint", ["pauses.py", "--how", "checkpoint"], 0.2, 38, [], None),
    ("periodic_pauses", "evaluate", ["pauses.py", "--how", "evaluate"], 0.5, 45, [], None),
    ("host_device_copies", "pinned", ["copies.py", "--how", "pinned"], 0, 10, [], None),
    ("host_device_copies", "offload", ["copies.py", "--how", "offload"], 1, 10, [], None),
    ("host_device_copies", "results_down", ["copies.py", "--how", "results_down"], 1, 10, [], None),
    ("serial_python", "tokenise", ["serial.py", "--how", "tokenise"], 1, 10, [], None),
    ("serial_python", "no_workers", ["serial.py", "--how", "no_workers", "--cpus", "12"], 1, 10, [], None),
    ("serial_python", "environment", ["serial.py", "--how", "environment", "--cpus", "64"], 1, 10, [], None),
    ("small_kernels", "eager", ["kernels.py", "--how", "small_eager"], 1, 10, [], None),
    ("small_kernels", "rnn", ["kernels.py", "--how", "small_rnn"], 1, 10, [], None),
    ("small_kernels", "jax", ["kernels.py", "--how", "small_jax"], 1, 10, [], None),
    ("loader_too_few_workers", "1of16", [*LOADER, "--workers", "1", "--batch", "0.08", "--kernel", "0.03", "--cpus", "16"], 1, 10, [], None),
    ("loader_too_few_workers", "1of4", [*LOADER, "--workers", "1", "--batch", "0.2", "--kernel", "0.05", "--cpus", "4", "--framework", "jax"], 1, 10, [], None),
    ("loader_too_few_workers", "2of32", [*LOADER, "--workers", "2", "--batch", "0.15", "--kernel", "0.02", "--cpus", "32"], 2, 10, [], None),
    ("loader_cpu_bound", "2of2", [*LOADER, "--workers", "2", "--batch", "0.1", "--kernel", "0.01", "--cpus", "2"], 2, 10, [], None),
    ("loader_cpu_bound", "1of1", [*LOADER, "--workers", "1", "--batch", "0.05", "--kernel", "0.02", "--cpus", "1"], 1, 10, [], None),
    ("loader_cpu_bound", "2of64_2allowed", [*LOADER, "--workers", "2", "--batch", "0.3", "--kernel", "0.05", "--cpus", "64", "--allowed", "2", "--framework", "tensorflow"], 2, 12, [], None),
    ("computes_on_cpu", "hash", ["oncpu.py", "--how", "hash"], 2, 10, [], None),
    ("computes_on_cpu", "compress", ["oncpu.py", "--how", "compress", "--cpus", "16"], 2, 10, [], None),
    ("computes_on_cpu", "derive", ["oncpu.py", "--how", "derive", "--cpus", "4"], 2, 10, [], None),
    ("too_few_cpus", "1_cpu_4_workers", [*LOADER, "--workers", "4", "--batch", "0.08", "--kernel", "0.02", "--cpus", "16", "--allowed", "1", "--pin", "1"], 1, 10, [], None),
    ("too_few_cpus", "2_cpus_6_workers", [*LOADER, "--workers", "6", "--batch", "0.1", "--kernel", "0.02", "--cpus", "64", "--allowed", "2", "--pin", "2", "--spin"], 2, 12, [], None),
    ("too_few_cpus", "others_take_them", [*LOADER, "--workers", "2", "--batch", "0.1", "--kernel", "0.02", "--cpus", "2"], 2, 10, [["hog.py", "6"]], None),
]
nice = int(os.environ.get("RECORD_NICE", "0"))


def tenths(entry):
    return round(entry[3] * 10)


def start(argv, env, niceness):
    return subprocess.Popen([sys.executable, os.path.join(HERE, argv[0]), *argv[1:]], env=env, start_new_session=True, stdin=subprocess.DEVNULL,
                            preexec_fn=(lambda: os.nice(niceness)) if niceness else None)


def end(p):
    for s in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(p.pid, s)
        except ProcessLookupError:
            break
        if s == signal.SIGTERM:
            time.sleep(0.3)
    p.wait()


def record(berth, out, entry):
    rule, variant, argv, cores, seconds, others, subject = entry
    folder = tempfile.mkdtemp(prefix=f"{rule}-", dir=out)
    env = dict(os.environ, BERTH_SIM=os.environ.get("BERTH_SIM", "server-8xh100"), BERTH_SIM_WORK=folder, XDG_STATE_HOME=os.path.join(folder, "state"))
    running = []
    path = os.path.join(out, f"{rule}--run-{variant}.jsonl")
    try:
        for more in others:
            running.append(start(more, env, nice if cores < 2 else 0))
        if argv:
            running.append(start(argv, env, nice if rule != "too_few_cpus" else 0))
            for _ in range(150):
                if any(name.startswith(f"{running[-1].pid}-") for name in os.listdir(folder)):
                    break
                time.sleep(0.1)
            time.sleep(2.5)
        target = subject or str(running[-1].pid)
        if os.path.exists(path):
            os.unlink(path)
        done = subprocess.run([berth, "explain", target, "--seconds", str(seconds), "--save", path], env=env, capture_output=True, text=True, timeout=seconds + 60, check=False)
        with open(os.path.join(out, "record.log"), "a", encoding="utf-8") as log:
            # not what the command found: who makes the set is not to see it
            log.write(f"{rule}--run-{variant}: load of the machine {os.getloadavg()[0]:.1f}; stderr: {done.stderr.strip()[-300:]!r}\n")
        print(f"{rule}--run-{variant}: {'recorded' if os.path.exists(path) else 'NO SERIES: ' + done.stderr.strip()[-200:]}", flush=True)
    finally:
        for p in running:
            end(p)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    berth, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    only = set(sys.argv[3:])
    os.makedirs(out, exist_ok=True)
    todo = [e for e in WORK if not only or e[0] in only or f"{e[0]}--run-{e[1]}" in only]
    free, places = [20], [5]  # tenths of a core
    turn = threading.Condition()

    def one(entry):
        try:
            record(berth, out, entry)
        finally:
            with turn:
                free[0] += tenths(entry)
                places[0] += 1
                turn.notify_all()

    threads = []
    for entry in todo:
        # At most five run at a time, with at most two busy cores. A rule about full CPUs has the machine for itself.
        with turn:
            turn.wait_for(lambda entry=entry: places[0] > 0 and free[0] >= tenths(entry) and (entry[3] < 2 or places[0] == 5))
            free[0] -= tenths(entry)
            places[0] -= 1
        t = threading.Thread(target=one, args=(entry,))
        t.start()
        threads.append(t)
    for t in threads:
        t.join()


main()
