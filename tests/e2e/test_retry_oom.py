"""A run that dies for want of a device's memory. It is recorded as that and started again with more, also in a
sweep."""

import json
import os
import pwd

import pytest

from aftermath import leases, runs, show
from conftest import FakeDriver, end, many_devices, wait_until
from test_caps import Shared
from test_run_samples import GIB, JOB

SAYS = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def dies_until(times):
    """A job that wants more memory until it was started again so often."""
    return ["sh", "-c", f'test "${{BERTH_RETRY_OOM:-0}}" -ge {times} && exit 0; echo "{SAYS}" >&2; exit 1']


def lasts(machine, first, starts):
    """The runs that follow from the first, oldest first, once there are so many and all have ended."""

    def all_of_them():
        chain, listed = [first], runs(machine)["runs"]
        while following := [one["id"] for one in listed if one["retry_of"] == chain[-1]]:
            chain += following
        done = [show(machine, one) for one in chain]
        return done if len(done) == starts and all(one["end"] for one in done) else None

    return wait_until(all_of_them, f"{starts} starts", timeout=30)


def test_it_is_recorded_and_started_again_with_more_memory_until_it_has_a_whole_device(machine):
    done = machine.run("run", "-q", "-d", "--memory", "16G", "--retry-oom", "2", "--", *dies_until(2))
    assert done.returncode == 0, done.stderr
    first, second, third = lasts(machine, done.stdout.strip(), 3)
    assert [one["end"]["died_of"] for one in (first, second, third)] == ["out of GPU memory"] * 2 + [None]
    share = first["promised_bytes"][0]
    assert share * 1.5 <= second["promised_bytes"][0] < share * 1.6
    assert third["end"]["exit_code"] == 0
    assert [one["kind"] for one in first["events"]] == ["out_of_gpu_memory"]
    told = machine.run("explain", first["id"]).stdout
    assert first["events"][0]["text"] in told, "who held how much stands beside the cause"
    assert "out of GPU memory" in machine.run("runs").stdout


def test_the_event_names_who_held_how_much(tmp_path):
    shared = Shared(tmp_path)
    shared.later("full.json", lambda host: shared.take(host, 12 * GIB, 60 * GIB))
    script = tmp_path / "job.py"
    script.write_text(f"{JOB}play('full.json')\nwait_for(',12884901888]', 2)\nchild.kill()\nprint({SAYS!r})\nsys.exit(1)\n",
                      encoding="utf-8")
    done = shared.driver.run("run", "-q", "-d", "--memory", "16G", "--", "/usr/bin/python3", script, tmp_path)
    assert done.returncode == 0, done.stderr
    [only] = lasts(shared.driver, done.stdout.strip(), 1)
    assert only["end"]["died_of"] == "out of GPU memory"
    [event] = only["events"]
    neighbour = pwd.getpwuid(os.geteuid()).pw_name
    assert f"72.0 GiB of 79.6 GiB were in use ({only['id']} 12.0 GiB, {neighbour} 60.0 GiB)" in event["text"], event
    assert event["text"] in machine_text(shared.driver.run("explain", only["id"]).stdout)


def machine_text(text):
    return " ".join(text.split())


def test_the_next_start_is_on_the_emptiest_card_whatever_was_preferred(tmp_path):
    machine = FakeDriver(tmp_path, many_devices(2))
    holder = machine.start("run", "-q", "--only", "0", "--memory", "40G", "--", "sleep", "600")
    try:
        wait_until(lambda: len(leases(machine)) == 1, "the first card is shared")
        job = dies_until(1)
        job[2] = f"echo on $CUDA_VISIBLE_DEVICES; {job[2]}"
        for options in (["--memory", "4G"], ["--memory", "4G", "--prefer", "0,1"]):
            done = machine.run("run", "-q", "-d", *options, "--retry-oom", "1", "--", *job)
            assert done.returncode == 0, done.stderr
            first, second = lasts(machine, done.stdout.strip(), 2)
            assert [machine.run("logs", one["id"]).stdout.splitlines()[0] for one in (first, second)] == ["on 0", "on 1"]
            assert second["promised_bytes"][0] >= 6 << 30
    finally:
        machine.run("stop", "--all", "-q", "--grace", "0s")  # its keeper would outlive it
        end(holder)


def test_another_end_is_no_reason(machine):
    done = machine.run("run", "-q", "-d", "--memory", "1G", "--retry-oom", "2", "--", "sh", "-c", "echo no; exit 1")
    machine.run("wait", done.stdout.strip())
    [only] = lasts(machine, done.stdout.strip(), 1)
    assert only["end"]["died_of"] is None and only["events"] == []


def test_what_cannot_be_seen_is_said_before_the_job_begins(machine):
    done = machine.run("run", "--retry-oom", "1", "--", "true")
    assert done.returncode == 0 and "add --detach" in done.stderr


def test_a_point_of_a_sweep_counts_by_its_last_start(machine):
    done = machine.run("sweep", "--set", "seed=1..2", "--memory", "1G", "--retry-oom", "1", "--csv", "--",
                       *dies_until(1)[:2], dies_until(1)[2] + " # {seed}", timeout=120)
    assert done.returncode == 0, done.stderr
    assert "2 of 2 ended" in done.stderr and "badly" not in done.stderr.splitlines()[-1]
    assert len(runs(machine)["runs"]) == 4


# --- --memory auto ----------------------------------------------------------------------------------


def test_auto_has_whole_devices_until_a_run_of_the_command_has_told_its_peak(machine):
    job = ["sh", "-c", "sleep 1.5"]
    first = machine.run("run", "--memory", "auto", "--", *job)
    assert first.returncode == 0 and "gets its devices whole" in first.stderr
    assert show(machine)["promised_bytes"] == [None]
    peak = show(machine)["end"]["summary"]["devices"][0]["own_memory_peak_bytes"]
    again = machine.run("run", "--memory", "auto", "--", *job)
    assert again.returncode == 0
    if peak is None:
        pytest.fail("the simulated server showed no memory of the run")
    share = show(machine)["promised_bytes"][0]
    assert max(peak * 1.1, peak + (512 << 20)) <= share < peak * 1.1 + (513 << 20)
    assert f"as run {runs(machine)['runs'][1]['id']} of this command took" in again.stderr


def test_auto_is_not_for_who_has_no_command(machine):
    done = machine.run("pick", "--memory", "auto")
    assert done.returncode == 2 and "auto" in done.stderr


def test_a_torn_message_of_want_of_memory_costs_no_exit_code(machine):
    """The keeper reads what the job printed. Where a size should stand there is none."""
    torn = ("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; "
            "3 GiB already allocated;  free; 4 GiB reserved)")
    run = machine.run("run", "-d", "--", "sh", "-c", 'echo "$0" >&2; exit 3', torn).stdout.strip()
    assert machine.run("wait", run).returncode == 3
    assert "the GPU's memory was used up" in machine.run("explain", run).stdout
