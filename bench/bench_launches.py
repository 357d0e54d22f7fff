"""500 `berth run` at once for 8 devices of the fake NVML. Each has its probe, its keeper, its sampler and a job.
What all of them cost in processor time, against the same launches eight at a time, of which none waits. With inotify,
and with none.

Each job proves by a lock on a file of its device that it is alone there. BERTH_BENCH_LAUNCHES says how many."""

import ctypes
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from bench_commands import BERTH, LIBRARY, machine_json

LAUNCHES = int(os.environ.get("BERTH_BENCH_LAUNCHES", "500"))
JOB = """exec 9>>"$1/device-$CUDA_VISIBLE_DEVICES"
if flock -n 9; then echo alone >>"$1/told"; else echo shared >>"$1/told"; fi
sleep 0.03"""
# So many after one another, in one of eight lanes.
LANE = 'i=$0; while [ "$i" -lt "$1" ]; do (shift; exec "$@") || exit; i=$((i + 8)); done'
# In a user namespace of its own the limit is ours to set, and nobody else's instances are taken.
WITHOUT_INOTIFY = ["unshare", "--user", "--map-root-user", "sh", "-c",
                   'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"', "sh"]
PR_SET_CHILD_SUBREAPER = 36


def environment(scratch):
    machine = scratch / "machine.json"
    machine.write_text(machine_json([]), encoding="utf-8")
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("BERTH_", "CUDA_VISIBLE_DEVICES"))}
    return env | {
        "BERTH_NVML": str(LIBRARY), "BERTH_FAKE_NVML": str(machine),
        "BERTH_LEDGER": str(scratch / "ledger"), "XDG_STATE_HOME": str(scratch / "state"),
        "HOME": str(scratch), "LANG": "C.UTF-8",
    }


def end_of_all():
    """Exit codes by pid, of the started processes and of their children that we have adopted."""
    codes = {}
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return codes
        codes[pid] = os.waitstatus_to_exitcode(status)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def launch(scratch, commands, env):
    """What these cost together, keepers and samplers included."""
    before, began = cpu_seconds(), time.monotonic()
    with open(scratch / "errors", "ab") as errors:
        started = [subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=errors) for command in commands]
        codes = end_of_all()
    failed = [codes[one.pid] for one in started if codes[one.pid] != 0]
    for one in started:
        one.returncode = codes[one.pid]  # end_of_all() has waited for it
    if failed:
        said = (scratch / "errors").read_text(encoding="utf-8", errors="replace")
        print(f"{len(failed)} of {len(started)} failed ({set(failed)}): {said[-500:]}", file=sys.stderr)
    return {"cpu": cpu_seconds() - before, "wall": time.monotonic() - began, "failed": len(failed)}


def hold_to(expected, scratch):
    """Each job was alone on its device, and nothing is left of them."""
    told = (scratch / "told").read_text(encoding="utf-8").split()
    (scratch / "told").unlink()
    if told != ["alone"] * expected:
        raise SystemExit(f"{len(told)} of {expected} jobs started, {told.count('shared')} beside another")
    left = [file.name for file in (scratch / "ledger").iterdir() if file.name.startswith(("lease", "wait"))]
    if left:
        raise SystemExit(f"the ledger still has {left[:5]}")


def race():
    """In a process of its own: the costs as JSON on stdout."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        env = environment(scratch)
        run = [BERTH, "run", "-q", "--wait=300s", "--", "sh", "-c", JOB, "sh", str(scratch)]
        lanes = launch(scratch, [["sh", "-c", LANE, str(at), str(LAUNCHES), *run] for at in range(8)], env)
        hold_to(LAUNCHES, scratch)
        raced = launch(scratch, [run] * LAUNCHES, env)
        hold_to(LAUNCHES - raced["failed"], scratch)
        print(json.dumps({"lanes": lanes, "all": raced}))


def inotify_can_be_taken_away():
    done = subprocess.run([*WITHOUT_INOTIFY, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"without inotify: not measured: {done.stderr.strip()}", file=sys.stderr)
    return done.returncode == 0


def main():
    kinds = [([], f"{LAUNCHES} `berth run` race for 8 devices, CPU of all, against eight at a time")]
    if inotify_can_be_taken_away():
        kinds.append((WITHOUT_INOTIFY, "the same without inotify"))
    for prefix, name in kinds:
        done = subprocess.run([*prefix, sys.executable, __file__, "race"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, check=True)
        took = json.loads(done.stdout)
        cpu, failed = took["all"]["cpu"], took["all"]["failed"]
        print(f"{name}: {took['all']['wall']:.1f} s on the clock", file=sys.stderr)
        print(json.dumps({"name": name, "unit": "s", "value": cpu, "low": cpu, "high": cpu,
                          "floor": took["lanes"]["cpu"], "limit": 10 * LAUNCHES / 500, "runs": 1}), flush=True)
        print(json.dumps({"name": "of these, launches that failed", "unit": "", "value": failed, "low": failed,
                          "high": failed, "floor": None, "limit": 0, "runs": 1}), flush=True)


if __name__ == "__main__":
    sys.exit(race() if sys.argv[1:] == ["race"] else main())
