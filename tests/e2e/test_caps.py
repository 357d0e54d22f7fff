"""A share of a device's memory, and what holds a job to it. It tests what is said, done and recorded."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from aftermath import poll, processes, runs, show
from conftest import BERTH, BUILD, ROOT, Machine, end, wait_until
from test_run_samples import GIB, JOB, Played, used_by

OVER = "GPU 0: this run uses 12.0 GiB there and was promised 10.0 GiB"


def events(record):
    return [event["kind"] for event in record["events"]]


class Shared(Played):
    """One card on which a job takes what the test says, when the job says so."""

    def __init__(self, directory, **variables):
        super().__init__(directory, 1, **{"BERTH_GUARD": "off"} | variables)  # the watchdog alone
        for name, size in {"1.json": GIB, "12.json": 12 * GIB, "untold.json": None}.items():
            self.later(name, lambda host, size=size: self.take(host, size))

    @staticmethod
    def take(host, size, others=0):
        device = host["devices"][0]
        own = used_by(device, 424242, size)
        if size is None:
            own["why"] = {"memory_used_bytes": "unsupported"}
        host["gpu_processes"] = [own] + ([used_by(device, os.getpid(), others)] if others else [])
        used = (size or GIB) + others
        device |= {"memory_used_bytes": used, "memory_free_bytes": device["memory_total_bytes"] - used}

    def start(self, options, job, **how):
        script = self.driver.directory / "job.py"
        script.write_text(JOB + job + "\nchild.kill()\n", encoding="utf-8")
        return self.driver.start("run", *options, "--", "/usr/bin/python3", script, self.driver.directory, **how)


def test_a_run_above_its_share_is_warned_once_and_goes_on(tmp_path):
    shared = Shared(tmp_path)
    done, record = shared.run(
        ["--memory", "10G"], "play('12.json')\nwait_for(',12884901888]', 6)\nplay('1.json')\nwait_for(',1073741824]', 1)"
    )
    assert "10.0 GiB, limited by the watchdog: it warns" in done.stderr.splitlines()[0], done.stderr
    assert done.stderr.count(OVER) == 1, done.stderr
    assert events(record) == ["memory_over_cap"]
    cap = record["cap"]
    assert (cap["tier"], cap["action"], cap["proved"], cap["proved_why"]) == ("watchdog", "warn", "yes", None)
    assert set(cap["not_held_by"]) == {"kernel", "mps", "shim"}
    [device] = cap["devices"]
    assert (device["limit_bytes"], device["highest_measured_bytes"]) == (10 * GIB, 12 * GIB)
    assert (device["highest_charge_bytes"], device["why"]["highest_charge_bytes"]) == (None, "unsupported")
    shown = shared.driver.run("show", env={"COLUMNS": "200"}).stdout
    assert "limited by the watchdog: it warns" in shown and re.search(r"Proved +yes", shown) and OVER in shown, shown


def test_a_run_within_its_share_hears_nothing(tmp_path):
    done, record = Shared(tmp_path).run(["--memory", "10G"], "play('1.json')\nwait_for(',1073741824]', 5)")
    assert events(record) == [] and "uses" not in done.stderr, done.stderr


def test_a_stubborn_run_above_its_share_is_stopped_and_nobody_else(tmp_path):
    shared = Shared(tmp_path)
    bystander = shared.driver.start("run", "-q", "--memory", "10G", "--", "sleep", "60")
    try:
        wait_until(lambda: [run for run in runs(shared.driver)["runs"] if run["state"] == "running"], "it runs")
        run = shared.start(
            ["--memory", "10G", "--cap-action", "stop"],
            "import signal\nsignal.signal(signal.SIGTERM, lambda *_: pathlib.Path(folder, 'asked').touch())\n"
            "play('12.json')\nwhile True:\n    time.sleep(1)",
        )
        said = run.communicate(timeout=60)[1]
        assert (tmp_path / "asked").exists(), "SIGTERM comes first"
        assert run.returncode == -signal.SIGKILL, said
        assert bystander.poll() is None, "another run on the same card"
        record = show(shared.driver)
        assert record["end"]["because"] == "memory cap" and record["end"]["died_of"] == "out of GPU memory"
        assert events(record) == ["memory_over_cap", "cap_action", "out_of_gpu_memory"]
        assert record["cap"]["action"] == "stop"
        assert OVER in said and "asked to end for it, as its cap_action says" in said, said
        assert "killed by SIGKILL (9) by berth: above its share of memory" in said, said
    finally:
        shared.driver.run("stop", "--all", "-q")
        end(bystander)
    poll(lambda: processes(shared.driver), 15, "processes of ended runs")


def test_the_administrators_file_may_make_it_stop(tmp_path):
    shared = Shared(tmp_path)
    file = pathlib.Path(shared.driver.env["BERTH_ETC"], "berth/config.toml")
    file.parent.mkdir(parents=True)
    file.write_text('[request]\ncap_action = "stop"\n', encoding="utf-8")
    run = shared.start(["--memory", "10G"], "play('12.json')\ntime.sleep(60)")
    said = run.communicate(timeout=30)[1]
    assert run.returncode == -signal.SIGTERM, said
    assert "limited by the watchdog: it stops the job" in said, said


def test_memory_that_the_driver_does_not_tell_is_said_once_and_nothing_is_proved(tmp_path):
    done, record = Shared(tmp_path).run(
        ["--memory", "10G", "--cap-action", "stop"], "play('untold.json')\nwait_for('\"p\":[[0,', 6)"
    )
    assert done.stderr.count("cannot be watched: not supported by this device") == 1, done.stderr
    assert events(record) == ["memory_not_watched"]
    assert record["cap"]["proved"] == "no" and "not supported" in record["cap"]["proved_why"]
    assert record["cap"]["devices"][0]["highest_measured_bytes"] is None


def test_a_neighbour_in_promised_memory_is_told_to_the_run_and_shown_at_its_process(tmp_path):
    shared = Shared(tmp_path)
    shared.later("full.json", lambda host: shared.take(host, GIB, others=75 * GIB))
    gate = tmp_path / "gate"
    run = shared.start(
        ["--memory", "10G"], "play('full.json')\nwait_for(',1073741824]', 5)\n"
        "(folder / 'seen').touch()\nwhile not (folder / 'gate').exists():\n    time.sleep(0.05)"
    )
    try:
        wait_until((tmp_path / "seen").exists, "the run has seen its neighbour", 30)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        listed = shared.driver.run("ps", env={"COLUMNS": "200"}).stdout
        assert f"promised to {user} are used without a lease ({user} 75.0 GiB)" in " ".join(listed.split()), listed
        [taken] = json.loads(shared.driver.run("ps", "--json").stdout)["promises_taken"]
        assert taken["by"] == [{"user": user, "memory_bytes": 75 * GIB}]
        table = shared.driver.on_terminal(200)[1]
        assert f"uses memory promised to {user}" in table, table
    finally:
        gate.touch()
        said = run.communicate(timeout=30)[1]
    record = show(shared.driver)
    assert events(record) == ["neighbour_in_promised_memory"], said
    assert f"without a lease ({user} 75.0 GiB)" in record["events"][0]["text"]
    assert said.count("promised to leases there are used without a lease") == 1, said


# --- tiers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", ["kernel", "mps", "shim"])
def test_a_tier_that_cannot_be_had_is_refused_before_anything_starts(machine, tier):
    for options in (["--wait"], ["--dry-run"], ["--detach"]):
        got = machine.run("run", "--memory", "10G", "--cap", tier, *options, "--", "touch", machine.directory / "ran")
        assert got.returncode == 125 and f"--cap {tier}: this " in got.stderr, got.stderr
    assert not (machine.directory / "ran").exists() and runs(machine)["runs"] == []


def test_what_holds_a_share_is_said_in_the_lease_too(machine):
    holder = machine.start("run", "--memory", "10G", "--cap", "none", "-v", "--", "sleep", "60")
    try:
        poll(lambda: len(json.loads(machine.run("leases", "--json").stdout)["leases"]) != 1, 30, "no lease")
        [lease] = json.loads(machine.run("leases", "--json").stdout)["leases"]
        assert lease["held_by"] == "none"
        assert "10.0 GiB (none)" in machine.run("leases", env={"COLUMNS": "200"}).stdout
        [claim] = [one for one in json.loads(machine.run("status", "--json").stdout)["leases"] if one["id"] == lease["id"]]
        assert claim["held_by"] == "none"
    finally:
        machine.run("stop", "--all", "-q")
        said = holder.communicate(timeout=30)[1]
    assert "10.0 GiB, limited by nothing" in said, said
    assert "watchdog: a weaker tier was asked for" in said, said


def test_whole_devices_have_no_cap(machine):
    got = machine.run("run", "--", "true")
    assert "limited by" not in got.stderr and show(machine)["cap"] is None


# --- simulated ---------------------------------------------------------------------------------------------


def test_simulated_figures_are_called_so_and_stop_a_run_that_asks_for_it(tmp_path):
    machine = Machine(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    machine.env |= {"BERTH_SIM_WORK": str(work), "PYTHONPATH": str(ROOT / "tests/workloads")}
    job = "import os, time\nfrom simulated_gpu import Gpu\ngpu = Gpu()\ngpu.memory(30e9)\ngpu.kernel(0.01, sm=10)\ntime.sleep(60)"
    got = machine.run("run", "--memory", "10G", "--cap-action", "stop", "--", sys.executable, "-c", job, timeout=60)
    assert got.returncode == -signal.SIGTERM, got.stderr
    assert "these figures are simulated" in " ".join(got.stderr.split()), got.stderr
    record = show(machine)
    assert events(record) == ["memory_over_cap", "cap_action", "out_of_gpu_memory"]
    assert (record["cap"]["proved"], record["cap"]["proved_why"]) == ("unknown", "the figures are simulated")


# --- the library -------------------------------------------------------------------------------------------


def test_a_program_that_leased_by_itself_is_watched_and_never_ended(tmp_path):
    shared = Shared(tmp_path)
    environment = {
        "PYTHONPATH": str(ROOT / "python"),
        "BERTH_LIBRARY": str(BUILD / "libberth.so.0"),
        "BERTH_HELPER": BERTH,
    }
    file = pathlib.Path(shared.driver.env["BERTH_ETC"], "berth/config.toml")
    file.parent.mkdir(parents=True)
    file.write_text('[request]\ncap = "shim"\ncap_action = "stop"\n', encoding="utf-8")
    program = JOB.replace('os.environ["BERTH_MARKS"]', "marks").replace(
        "samples =", 'import berth\nlease = berth.lease(memory="10G", record=True)\nmarks = os.environ["BERTH_MARKS"]\nsamples ='
    )
    script = tmp_path / "program.py"
    script.write_text(program + "play('12.json')\nwait_for(',12884901888]', 5)\nlease.release()\nchild.kill()\nprint('well')\n")
    done = subprocess.run(
        ["/usr/bin/python3", script, tmp_path],
        env=shared.driver.environment(environment), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    record = show(shared.driver)
    assert events(record) == ["memory_over_cap"]
    assert (record["cap"]["tier"], record["cap"]["action"], record["cap"]["proved"]) == ("watchdog", "warn", "yes")


# --- frameworks --------------------------------------------------------------------------------------------

NAMES = "PYTORCH_ALLOC_CONF XLA_CLIENT_MEM_FRACTION TF_FORCE_GPU_ALLOW_GROWTH".split()


def environment_with(directory, *packages):
    """The interpreter of an environment that has these packages, as far as their folders say."""
    venv = directory / "venv"
    version = "{}.{}".format(*sys.version_info[:2])
    folder = venv / "lib" / f"python{version}" / "site-packages"
    folder.mkdir(parents=True)
    (venv / "bin").mkdir()
    (venv / "bin/python").symlink_to(f"/usr/bin/python{version}")
    (venv / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}.2\n")
    for package in packages:
        (folder / f"{package}.dist-info").mkdir()
    return venv / "bin/python"


def test_frameworks_are_told_their_share_where_the_version_knows_the_words(machine):
    python = environment_with(machine.directory, "torch-2.10.0+cu128", "jax-0.9.0", "tensorflow-2.16.1")
    code = f"import os; print([os.environ.get(name) for name in {NAMES}])"
    got = machine.run("run", "-v", "--memory", "10G", "--", python, "-c", code)
    fraction = eval(got.stdout)[1]  # noqa: S307
    assert 0 < float(fraction) < 10 / 80, got.stdout
    assert eval(got.stdout) == [f"per_process_memory_fraction:{fraction}", fraction, "true"]  # noqa: S307
    assert f"XLA_CLIENT_MEM_FRACTION={fraction}" in got.stderr, got.stderr
    assert show(machine)["variables_set"]["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    for changes in ({"PYTHONPATH": "/nowhere"}, dict.fromkeys(NAMES, "mine")):
        again = machine.run("run", "--memory", "10G", "--", python, "-c", code, env=changes)
        assert eval(again.stdout) == [changes.get(name) for name in NAMES], changes  # noqa: S307
    assert eval(machine.run("run", "--", python, "-c", code).stdout) == [None] * 3  # noqa: S307


