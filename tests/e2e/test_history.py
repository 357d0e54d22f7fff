"""The history store under real processes, and what `berth history` and `berth usage` say of it.

BERTH_HISTORY_WRITER names the program (default: the release build's); BERTH_HISTORY_KILLS how often
the writer is killed (default 25)."""

import csv
import io
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import time

import pytest

from conftest import BERTH, BUILD, ROOT, wait_until
from test_two_users import words_as

PROGRAM = os.environ.get("BERTH_HISTORY_WRITER", str(BUILD / "tests/history/history_writer"))
KILLS = int(os.environ.get("BERTH_HISTORY_KILLS", "25"))


def writer(*words, **kwargs):
    if not pathlib.Path(PROGRAM).exists():
        pytest.fail(f"{PROGRAM} is not built: `ninja history_writer`, or set BERTH_HISTORY_WRITER")
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120,
                          check=False, **kwargs)


def killed_after(seconds, store):
    """The last second that a writer reported before it was killed; -1: none."""
    process = subprocess.Popen([PROGRAM, "write", str(store), "next", "100000000"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    said, complaint = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, complaint
    whole = [int(line) for line in said.splitlines(keepends=True) if line.endswith("\n")]
    return max(whole, default=-1)


def test_a_killed_writer_has_lost_nothing_that_it_reported(tmp_path):
    store = tmp_path / "history.sqlite"
    moments = random.Random(20261121)
    done = -1
    for _ in range(KILLS):
        done = max(done, killed_after(moments.uniform(0.02, 0.35), store))
        if done < 0:
            continue
        checked = writer("check", store, 0, done + 1)
        assert checked.returncode == 0, f"after {done}: {checked.stderr}"
    assert done > 1300, "the writer got further than two chunks"


def test_a_second_writer_is_refused_by_name(tmp_path):
    store = tmp_path / "history.sqlite"
    first = subprocess.Popen([PROGRAM, "write", str(store), "0", "100000000"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert first.stdout.readline()
        second = writer("write", store, 0, 10)
    finally:
        first.kill()
        first.communicate(timeout=60)
    assert second.returncode == 1
    assert "already writes the history" in second.stderr


def test_a_full_disk_costs_samples_but_neither_the_writer_nor_the_file(tmp_path):
    store = tmp_path / "history.sqlite"
    assert writer("write", store, 0, 700).returncode == 0

    def small_files():
        # As a disk that is full: what is written beyond this fails.
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    full = writer("write", store, 700, 6000, preexec_fn=small_files)
    assert full.returncode == 3, full.stderr
    assert "samples wait in memory" in full.stderr
    assert "lost" in full.stderr
    assert writer("write", store, 6000, 6010).returncode == 0, "it goes on where there is room again"
    checked = writer("check", store, 0, 700)
    assert checked.returncode == 0, checked.stderr
    assert not list(tmp_path.glob("*.broken-*")), "a full disk is no damage"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_set_aside(tmp_path):
    store = tmp_path / "history.sqlite"
    assert writer("write", store, 0, 10).returncode == 0
    store.chmod(0o400)
    assert "set aside as" in writer("write", store, 10, 20).stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Forty minutes of eight GPUs up to now; one is leased, 64 processes have no lease."""
    store = tmp_path_factory.mktemp("history") / "history.sqlite"
    done = writer("load", store, 2400)
    assert done.returncode == 0, done.stderr
    return store


def test_history_shows_each_gpu_and_who_had_it(machine, kept):
    said = machine.run("history", "--store", str(kept), "--since", "1h")
    assert said.returncode == 0, said.stderr
    assert "SIMULATED (example)" in said.stdout
    assert "known since" in said.stdout
    assert "20251121-014946-k3f9q2" in said.stdout
    assert said.stdout.count("NVIDIA H100") == 8


def test_history_of_one_gpu_has_its_readings(machine, kept):
    said = machine.run("history", "--store", str(kept), "--since", "1h", "--gpu", "0")
    for title in ["Utilisation", "Memory", "Power", "Temperature", "SM clock", "PCIe sent"]:
        assert title in said.stdout, said.stdout


def test_history_of_one_user_is_what_he_had_and_no_table_of_all(machine, kept):
    said = machine.run("history", "--store", str(kept), "--since", "1h", "--user", "alice")
    assert said.returncode == 0, said.stderr
    assert "20251121-014946-k3f9q2" in said.stdout
    assert "NVIDIA H100" not in said.stdout and "without a lease" not in said.stdout, said.stdout
    nobody = machine.run("history", "--store", str(kept), "--since", "1h", "--user", "nobody-known")
    assert nobody.returncode == 0 and "nobody-known had no device" in nobody.stdout, nobody.stdout
    # His readings of one kind are a device's: they come with it.
    chart = machine.run("history", "--store", str(kept), "--since", "1h", "--user", "alice", "--gpu", "0",
                        "--metric", "power_draw_milliwatts")
    assert "NVIDIA H100" in chart.stdout and "Power" in chart.stdout, chart.stdout


def test_history_json_has_points_with_least_mean_p95_most(machine, kept):
    said = machine.run("history", "--store", str(kept), "--since", "40m", "--json", "--gpu", "0",
                       "--metric", "power_draw_milliwatts")
    answer = json.loads(said.stdout)
    assert answer["berth_history"] == 1
    assert answer["simulated"] == "example"
    [series] = answer["series"]
    assert series["unit"] == "milliwatts"
    assert len(series["points"]) > 400
    for _, least, mean, p95, most in series["points"]:
        assert least <= mean <= most and least <= p95 <= most


def test_history_csv_has_a_line_per_point(machine, kept):
    said = machine.run("history", "--store", str(kept), "--csv", "--gpu", "1",
                       "--metric", "temperature_celsius")
    rows = list(csv.DictReader(io.StringIO(said.stdout)))
    assert rows and all(row["unit"] == "celsius" for row in rows)
    assert sum(int(row["samples"]) for row in rows) == 2400


def test_usage_adds_up(machine, kept):
    said = machine.run("usage", "--store", str(kept), "--since", "1h", "--json", "--price", "0.30",
                       "--currency", "EUR")
    answer = json.loads(said.stdout)
    users = {row["key"]: row for row in answer["rows"]}
    alice = users["alice"]
    assert alice["gpu_hours"] == pytest.approx(2400 / 3600, rel=0.01)
    assert alice["busy_gpu_hours"] + alice["idle_held_hours"] == pytest.approx(alice["gpu_hours"])
    assert alice["cost"] == pytest.approx(alice["energy_joules"] / 3.6e6 * 0.30)
    assert alice["runs"] == 1
    by_gpu = json.loads(machine.run("usage", "--store", str(kept), "--since", "1h", "--by", "gpu",
                                    "--json").stdout)
    assert sum(row["gpu_hours"] for row in by_gpu["rows"]) == pytest.approx(8 * 2400 / 3600, rel=0.01)


def test_usage_draws_each_share_of_the_most(machine, kept):
    words = ["usage", "--store", str(kept), "--since", "1h"]
    rows = json.loads(machine.run(*words, "--json").stdout)["rows"]
    most = max(row["gpu_hours"] for row in rows)
    assert most > 0 and len(rows) > 1
    said = machine.run(*words, env={"LANG": "C", "LC_ALL": "C"}).stdout
    drawn = [line.count("#") for line in said.splitlines() if re.search("[#.]{10}", line)]
    assert drawn == pytest.approx([10 * row["gpu_hours"] / most for row in rows], abs=0.51), said
    assert max(drawn) == 10


def test_usage_table_names_the_currency(machine, kept):
    said = machine.run("usage", "--store", str(kept), "--price", "0.30", "--currency", "EUR")
    assert "EUR" in said.stdout and "alice" in said.stdout and "SIMULATED" in said.stdout


def test_times_are_those_of_the_clocks_of_that_day(machine, kept):
    """Berlin's clocks are an hour apart in summer and winter; the history itself need not reach so far."""
    for month, other in (("07", "11:00:00"), ("01", "13:00:00")):
        said = machine.run("history", "--store", str(kept), "--since", f"2026-{month}-01 12:00",
                           env={"TZ": "Europe/Berlin"})
        assert f"2026-{month}-01 12:00:00" in said.stdout and other not in said.stdout, said.stdout[:300]


def test_without_a_store_it_says_what_to_do(machine):
    # The name is its own: a service of this machine may keep a history of any other.
    nobodys = machine.directory / "of-which-nobody-keeps-a-history.json"
    nobodys.write_text((ROOT / "src/probe/sim/scenarios/lab-4.json").read_text())
    for verb in ["history", "usage"]:
        said = machine.run(verb, "--sim", nobodys)
        assert said.returncode == 1
        assert "berth serve" in said.stderr


@pytest.mark.skipif(os.path.exists("/var/lib/berth/history.sqlite"), reason="this machine keeps a history of its own")
def test_a_simulated_servers_history_is_pointed_at(machine):
    state = machine.directory / "state/berth"
    state.mkdir(parents=True)
    (state / "history-sim-lab-4.sqlite").write_bytes(b"")
    said = machine.run("history", env={"BERTH_SIM": ""})
    assert said.returncode == 1 and "--sim lab-4" in said.stderr, said.stderr


def test_mistakes_are_usage_errors(machine, kept):
    for words in [["--since", "soon"], ["--since", "2026-02-31"], ["--since", "2026-03-01 24:59"], ["--gpu", "77"], ["--metric", "happiness"],
                  ["--since", "1h", "--until", "2h"]]:
        said = machine.run("history", "--store", str(kept), *words)
        assert said.returncode == 2, (words, said.stdout, said.stderr)
        assert said.stderr
    assert machine.run("usage", "--store", str(kept), "--price", "cheap").returncode == 2


def test_a_damaged_store_is_named_and_no_crash(machine, tmp_path):
    store = tmp_path / "history.sqlite"
    store.write_bytes(random.Random(1).randbytes(40_000))
    said = machine.run("history", "--store", str(store))
    assert said.returncode == 1
    assert str(store) in said.stderr


def test_two_read_while_one_writes(machine, tmp_path):
    store = tmp_path / "history.sqlite"
    reported = tmp_path / "reported"  # a file: a pipe that nobody empties would stop the writer
    with reported.open("w") as out:
        process = subprocess.Popen([PROGRAM, "write", str(store), "0", "100000000"], stdout=out, stderr=out)
    try:
        wait_until(lambda: reported.stat().st_size > 0, "the first second is written")
        for _ in range(5):
            before = reported.stat().st_size
            readers = [machine.start("history", "--store", str(store), "--since", "2025-10-09",
                                     "--until", "2025-11-09", "--csv") for _ in range(2)]
            for reader in readers:
                said, complaint = reader.communicate(timeout=60)
                assert reader.returncode == 0, complaint
                assert said.startswith("device,metric")
            wait_until(lambda size=before: reported.stat().st_size > size, "the writer goes on")
            assert process.poll() is None, reported.read_text()
    finally:
        process.kill()
        process.wait(20)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can keep the machine's history")
def test_who_may_not_read_the_machines_history_is_told_that_there_is_one():
    hidden = "mount -t tmpfs none /var/lib && mkdir -m 700 /var/lib/berth && touch /var/lib/berth/history.sqlite"
    if subprocess.run(["unshare", "-m", "sh", "-c", hidden], check=False, capture_output=True).returncode:
        pytest.skip("this root may not mount")
    asked = " ".join(["exec", *words_as(65534), BERTH, "history"])
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"{hidden} && {asked}"], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, timeout=60, check=False)
    assert done.returncode == 1 and "sudo berth history" in done.stderr, done.stderr
