"""Runs each workload of bottlenecks.py for real under `berth run --sim`: record_series.py BERTH FOLDER [NAME…]. Keeps
the series that `berth explain` saves of it."""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = [
    "loader_cpu_bound", "loader_too_few_workers", "loader_storage_bound", "serial_python",
    "host_device_copies", "small_kernels", "memory_bound", "throttled_power", "throttled_heat",
    "waiting_for_ranks", "periodic_pauses", "memory_held_idle", "nothing_running",
    "computes_on_cpu", "too_few_cpus", "shared_with_others", "healthy",
]  # fmt: skip


def record(berth, name, variant, folder):
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch, "work")
        work.mkdir()
        environment = os.environ | {
            "BERTH_SIM": "server-8xh100",
            "BERTH_SIM_WORK": str(work),
            "BERTH_LEDGER": f"{scratch}/ledger",
            "XDG_STATE_HOME": f"{scratch}/state",
            "PYTHONPATH": str(HERE),
        }
        seconds = 14 if name == "periodic_pauses" else 5
        command = [sys.executable, str(HERE / "bottlenecks.py"), name, str(variant), str(seconds + 6)]
        run = {"env": environment, "cwd": scratch, "capture_output": True, "text": True, "check": False}
        started = subprocess.run([berth, "run", "-d", "--", *command], **run)
        assert started.returncode == 0, started.stderr
        subprocess.run(["sleep", "1.5"], check=True)  # until it computes
        if name == "shared_with_others":
            mine = next(work.glob("*.work")).stem.split("-")[1]
            beside = environment | {"BERTH_OTHER_DEVICE": mine}
            other = [sys.executable, str(HERE / "bottlenecks.py"), "somebody_else", str(variant), str(seconds + 3)]
            subprocess.Popen(other, env=beside, cwd=scratch)
        saved = Path(scratch, "series.jsonl")
        done = subprocess.run(
            [berth, "explain", "last", "--seconds", str(seconds), "--save", str(saved), "--json"], **run
        )
        subprocess.run([berth, "stop", "last"], **run)
        if not saved.exists():
            sys.exit(f"{name} {variant}: {done.stderr}")
        answer = "healthy--near_loader_cpu_bound" if name == "healthy" else name
        dash = "-" if name == "healthy" else "--"
        target = folder / f"{answer}{dash}{variant}.jsonl.gz"
        target.write_bytes(gzip.compress(saved.read_bytes(), 9, mtime=0))
        print(target, done.returncode, flush=True)


if __name__ == "__main__":
    into = Path(sys.argv[2])
    into.mkdir(parents=True, exist_ok=True)
    for one in sys.argv[3:] or NAMES:
        for number in range(3):
            record(str(Path(sys.argv[1]).resolve()), one, number, into)
