"""The first moments of `berth run`: signals that come before the job is there, and a lock that another process holds.
Also limits of the process, and runs in runs in runs."""

import contextlib
import fcntl
import os
import shlex
import signal
import subprocess
import time

import pytest
from conftest import BERTH, ROOT, end, many_devices, wait_until


def test_no_signal_is_lost_while_the_job_is_started(machine, tmp_path):
    """Sent as soon as the job shows itself: earlier than its keeper can have told of it."""
    for attempt in range(20):
        here = tmp_path / f"job-{attempt}"
        running = machine.start("run", "-q", "--", "sh", "-c", f": > {here}; exec sleep 60")
        try:
            while not here.exists():
                assert running.poll() is None
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=60) == -signal.SIGTERM, f"attempt {attempt}"
        finally:
            end(running)


@contextlib.contextmanager
def held_lock(machine):
    assert machine.run("run", "-q", "--", "true").returncode == 0
    with open(machine.ledger / "host.lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


@pytest.mark.clock
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("wait", ["--no-wait", "--wait"])
def test_whoever_waits_for_the_ledgers_lock_can_be_ended(machine, number, wait):
    with held_lock(machine):
        running = machine.start("run", wait, "--", "touch", machine.directory / "ran")
        try:
            caught = f"/proc/{running.pid}/status"
            wait_until(lambda: signal_mask(caught, "SigCgt") & (1 << (number - 1)), "it notes signals")
            running.send_signal(number)
            began = time.monotonic()
            assert running.wait(timeout=60) == -number
            assert time.monotonic() - began < 8, "it waits 10 s for the lock"
        finally:
            end(running)
    assert not (machine.directory / "ran").exists()


def signal_mask(path, name):
    with open(path, encoding="ascii") as lines:
        return int(next(line for line in lines if line.startswith(name)).split()[1], 16)


def test_runs_in_runs_in_runs_share_the_outermost_lease(machine):
    outermost = ["run", "-q", "--wait=20s", "--only", "3", "--"]  # the one before may be ending
    inner = [BERTH, "run", "-q", "--no-wait", "--"]
    job = ["sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES $BERTH_LEASE"']
    done = machine.run(*outermost, *inner, *inner, *inner, *job)
    assert done.returncode == 0, done.stderr
    device, lease = done.stdout.split()
    assert device == "3" and len(set(lease.split("/"))) == 4
    share = [BERTH, "run", "-q", "--no-wait", "--memory", "10G", "--"]
    done = machine.run(*outermost, *inner, *share, *job)
    assert done.returncode == 0, done.stderr
    more = [BERTH, "run", "-q", "--no-wait", "--memory", "20G", "--"]
    done = machine.run(*outermost, *share, *more, *job)
    assert done.returncode == 125 and "10.0 GiB" in done.stderr and "20.0 GiB" in done.stderr, done.stderr
    inside = machine.ledger.with_name(f"{machine.ledger.name}-inside")
    wait_until(lambda: not any(inside.iterdir()), "nothing is left of the ledgers inside")


def test_a_job_starts_where_files_may_not_grow(machine):
    """The record does not fit; the job is more than its record. SIGXFSZ ends a process that does not look out."""
    small = f"ulimit -f 1; exec {shlex.join(machine.command('run', '--', 'sh', '-c', 'echo ran; kill -XFSZ $$'))}"
    done = subprocess.run(["bash", "-c", small], env=machine.env, capture_output=True, text=True, timeout=30)
    assert done.stdout == "ran\n", done.stderr
    assert done.returncode == -signal.SIGXFSZ, "the job has the signal as it was"
    assert "record" in done.stderr


def test_a_relative_ledger_is_refused(machine, tmp_path):
    for words in (["run", "--", "true"], ["pick"], ["leases"]):
        done = machine.run(*words, env={"BERTH_LEDGER": "here"}, cwd=tmp_path)
        assert "BERTH_LEDGER" in done.stderr + done.stdout, done
    assert machine.run("run", "--", "true", env={"BERTH_LEDGER": "here"}, cwd=tmp_path).returncode == 125
    assert not (tmp_path / "here").exists()


def test_a_pasted_program_is_warned_of_before_it_starts(machine, tmp_path):
    program = tmp_path / "pasted.py"
    program.write_text("import os\nos.environ[“A”] = '0'\n", encoding="utf-8")
    lines = machine.run("run", "--", "python3", program).stderr.splitlines()
    [warned] = [at for at, line in enumerate(lines) if "has “ (U+201C) in the code of line 2" in line]
    [started] = [at for at, line in enumerate(lines) if line.startswith("berth: run ")]
    assert warned < started < lines.index("SyntaxError: invalid character '“' (U+201C)"), lines
    program.write_text("# “A”\nprint('“a”')\n", encoding="utf-8")
    assert "U+201C" not in machine.run("run", "--", "python3", program).stderr, "Python knows it there"


def test_a_job_on_the_cpu_gets_as_many_threads_as_it_may_use(machine):
    one = min(os.sched_getaffinity(0))
    words = machine.command("run", "-q", "--cpu", "--", "sh", "-c", "echo $OMP_NUM_THREADS")
    done = subprocess.run(["taskset", "-c", str(one), *words], env=machine.env, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
    picked = machine.command("pick", "--cpu", "--format", "env")
    done = subprocess.run(["taskset", "-c", str(one), *picked], env=machine.env, capture_output=True, text=True)
    assert "OMP_NUM_THREADS=1" in done.stdout, done


def test_the_tests_for_hardware_run_through_on_a_fake(driver_of, tmp_path):
    """They are run where there are GPUs alone: here both sides are berth, and what they ask of it holds."""
    driver = driver_of(many_devices(2))
    vendor = tmp_path / "nvidia-smi"
    vendor.symlink_to(BERTH)
    env = driver.env | {"PATH": f"{tmp_path}:{driver.env['PATH']}", "BERTH": str(BERTH)}
    done = subprocess.run(["python3", str(ROOT / "tests/gpu/test_hardware.py"), "-v"], env=env, capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if " ... " in line]
    assert len(told) >= 11 and sum("ok" in line for line in told) >= 9, done.stderr
