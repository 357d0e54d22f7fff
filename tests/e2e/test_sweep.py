"""`berth sweep`: each point once, so many at a time, found again after a kill. Also `--after`, and several devices that
belong together, with the CPUs beside them."""

import csv
import io
import json
import os
import re
import signal
import subprocess

import pytest

from aftermath import leases, poll, runs, show
from conftest import FakeDriver, Terminal, end, many_devices

LONG = 120  # what is waited for at most; nothing here is to be quick


@pytest.fixture
def grid(machine):
    """A sweep of 2 × 3 points whose job notes its point, and waits while there is a file "hold"."""
    out = machine.directory / "out"
    out.mkdir()

    def words(*options, code="0"):
        job = f'until ! test -e {out}/hold; do sleep 0.05; done; echo {{lr}} {{seed}} >>{out}/points; exit {code}'
        return ["sweep", "--set", "lr=0.1,0.01", "--set", "seed=1..3", *options, "--", "sh", "-c", job]

    machine.out = out
    machine.points = lambda: sorted((out / "points").read_text().splitlines()) if (out / "points").exists() else []
    machine.sweep = words
    return machine


ALL = sorted(f"{lr} {seed}" for lr in ("0.1", "0.01") for seed in (1, 2, 3))


def test_its_bar_stays_on_its_line_where_the_terminal_is_narrow(grid):
    terminal = Terminal(20)
    run = grid.start_on(terminal, *grid.sweep("--memory", "1G"))
    try:
        poll(lambda: (terminal.read(), run.poll() is None)[1], LONG, "it goes on")
        drawn = [line.partition(b"\x1b")[0] for line in terminal.read().split(b"\r") if line.startswith(b"[")]
    finally:
        end(run)
        terminal.close()
    assert drawn and all(len(line.decode()) < 20 for line in drawn), drawn


def test_each_point_runs_once_and_the_table_says_how_it_ended(grid):
    done = grid.run(*grid.sweep("--memory", "1G"), timeout=LONG)
    assert done.returncode == 0, done.stderr
    assert grid.points() == ALL
    mark, *lines = done.stdout.splitlines()
    assert mark == "SIMULATED server-8xh100"
    assert re.split(r"\s{2,}", lines[0].strip())[:3] == ["lr", "seed", "Run"]
    assert len(lines) == 7
    assert "6 of 6 ended" in done.stderr
    again = grid.run(*grid.sweep("--memory", "1G"), timeout=LONG)
    assert again.returncode == 0 and grid.points() == ALL and "nothing was left to start" in again.stderr, again.stderr
    assert "nothing was left" not in done.stderr


def test_the_table_is_csv_for_programs(grid):
    done = grid.run(*grid.sweep("--memory", "1G", "--csv"), timeout=LONG)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["lr"], row["seed"]) for row in rows] == [(lr, seed) for lr in ("0.1", "0.01") for seed in "123"]
    assert {row["exit_code"] for row in rows} == {"0"} and len({row["run"] for row in rows}) == 6


def test_the_runs_of_a_sweep_are_compared_by_their_parameters(grid):
    done = grid.run(*grid.sweep("--memory", "1G", "--csv"), timeout=LONG)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    first, last = rows[0], rows[-1]
    told = grid.run("report", "--md", first["run"], last["run"])
    assert told.returncode == 0, told.stderr
    for row in (first, last):
        assert f"echo {row['lr']} {row['seed']}" in told.stdout, "by which it differs from the other"


def test_no_more_than_asked_for_are_under_way(grid):
    (grid.out / "hold").touch()
    sweep = grid.start(*grid.sweep("--memory", "1G", "-j", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        poll(lambda: len(runs(grid)["runs"]) < 2, LONG, "two are not there")
        listed = json.loads(grid.run("runs", "--json").stdout)["runs"]
        assert len(listed) == 2
        (grid.out / "hold").unlink()
        assert sweep.wait(timeout=LONG) == 0
    finally:
        end(sweep)
    assert grid.points() == ALL


def devices_at_once(machine, points, *options):
    """For each point that runs at once, the device that it has, while all wait for a gate."""
    told, gate = machine.directory / "told", machine.directory / "gate"
    told.touch()
    job = f"echo {{seed}} $CUDA_VISIBLE_DEVICES >>{told}; until test -e {gate}; do sleep 0.05; done"
    sweep = machine.start("sweep", "--set", f"seed=1..{points}", *options, "--", "sh", "-c", job)
    try:
        poll(lambda: len(told.read_text().splitlines()) < points - 1, LONG, "not as many run as there is room for")
        devices = [line.split()[1] for line in told.read_text().splitlines()]
        assert len(leases(machine)) == len(runs(machine)["runs"]) == points - 1, "the last one is not started yet"
        gate.touch()
        assert sweep.wait(timeout=LONG) == 0
    finally:
        gate.touch()
        end(sweep)
    assert len(told.read_text().splitlines()) == points
    return devices


def test_without_a_number_there_is_one_point_on_each_device(driver_of):
    assert sorted(devices_at_once(driver_of(many_devices(8)), 9)) == sorted("01234567")


def test_points_that_say_what_they_take_share_a_device(driver_of):
    assert devices_at_once(driver_of(many_devices(1)), 3, "--memory", "30G") == ["0", "0"]


def test_the_table_has_last_marks_and_bad_ends_and_a_report_what_differs(machine):
    job = 'echo epoch=1 loss={lr} >>"$BERTH_MARKS"; test {lr} != 0.5 || exit 3'
    words = ["sweep", "--set", "lr=0.1,0.5", "--memory", "1G", "--", "sh", "-c", job]
    done = machine.run(*words, timeout=LONG)
    assert done.returncode == 1, done.stderr
    header, *lines = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()[1:]]
    rows = [dict(zip(header, line)) for line in lines]
    assert [(row["lr"], row["End"], row["Last mark"]) for row in rows] == [
        ("0.1", "ended with 0", "epoch=1 loss=0.1"), ("0.5", "ended with 3", "epoch=1 loss=0.5")], done.stdout
    done = machine.run(words[0], "--csv", *words[1:], timeout=LONG)
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["run"], row["exit_code"], row["last_mark"]) for row in found] == [
        (rows[0]["Run"], "0", "epoch=1 loss=0.1"), (rows[1]["Run"], "3", "epoch=1 loss=0.5")], done.stdout
    told = machine.run("report", "--md", *(row["run"] for row in found)).stdout
    [differs] = [line.split(" | ") for line in told.splitlines() if line.startswith("| command |")]
    assert "loss=0.1" in differs[1] and "loss=0.5" in differs[2], differs


def test_on_a_terminal_a_bar_goes_on_in_its_line(machine):
    gates = {lr: machine.directory / f"gate-{lr}" for lr in ("0.1", "0.5")}
    job = f"until test -e {machine.directory}/gate-{{lr}}; do sleep 0.05; done; test {{lr}} != 0.5 || exit 3"
    terminal = Terminal(100)
    sweep = machine.start_on(terminal, "sweep", "--set", "lr=0.1,0.5", "--memory", "1G", "-j", "1", "--", "sh", "-c", job)
    none, half = (b"[" + b"#" * n + b"." * (20 - n) + b"] " for n in (0, 10))
    try:
        poll(lambda: none + b"0 of 2 ended, 1 running" not in terminal.read(), LONG, "it does not say that one runs")
        gates["0.1"].touch()
        poll(lambda: half + b"1 of 2 ended, 1 running" not in terminal.read(), LONG, "it does not say that one has ended")
        gates["0.5"].touch()
        poll(lambda: (terminal.read(), sweep.poll())[1] is None, LONG, "it does not end")
        told = terminal.read().decode()
    finally:
        for gate in gates.values():
            gate.touch()
        end(sweep)
        terminal.close()
    assert sweep.returncode == 1, told
    shown = [line for line in told.split("\r") if line.startswith("[")]
    assert shown[-1].startswith("[" + "#" * 20 + "] 2 of 2 ended (1 badly)"), shown
    assert all("\033[K" in line for line in shown) and not any("\n" in line for line in shown[:-1]), shown


def test_a_killed_sweep_goes_on_where_it_was(grid):
    (grid.out / "hold").touch()
    sweep = grid.start(*grid.sweep("--memory", "1G", "-j", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    poll(lambda: len(runs(grid)["runs"]) < 2, LONG, "two are not there")
    sweep.send_signal(signal.SIGKILL)
    sweep.wait(timeout=LONG)
    (grid.out / "hold").unlink()
    done = grid.run(*grid.sweep("--memory", "1G", "-j", "2"), timeout=LONG)
    assert done.returncode == 0, done.stderr
    assert grid.points() == ALL, "none twice"
    again = grid.run(*grid.sweep("--memory", "1G", "-j", "2"), timeout=LONG)
    assert again.returncode == 0 and grid.points() == ALL, "all have their end: nothing is left to do"
    assert grid.run(*grid.sweep("--memory", "1G", "-j", "2", "--again"), timeout=LONG).returncode == 0
    assert grid.points() == sorted(ALL * 2)


def test_the_same_sweep_at_once_is_told_that_it_is_under_way_already(grid):
    (grid.out / "hold").touch()
    sweep = grid.start(*grid.sweep("--memory", "1G", "-j", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        poll(lambda: len(runs(grid)["runs"]) < 2, LONG, "two are not there")
        for options in ([], ["--again"], ["--failed", "-j", "1"]):
            second = grid.run(*grid.sweep("--memory", "1G", *options), timeout=LONG)
            said = " ".join(second.stderr.split())
            assert second.returncode == 125 and "is under way already" in said, second.stderr
        other = grid.run("sweep", "--set", "a=1,2", "--memory", "1G", "--", "echo", "{a}", timeout=LONG)
        assert other.returncode == 0, "another sweep is its own"
        (grid.out / "hold").unlink()
        assert sweep.wait(timeout=LONG) == 0
    finally:
        end(sweep)
    assert grid.points() == ALL, "none twice"
    assert grid.run(*grid.sweep("--memory", "1G", "-j", "2"), timeout=LONG).returncode == 0, "nothing holds up the next"


def test_points_that_ended_badly_are_told_and_started_again_on_request(grid):
    command = grid.sweep("--memory", "1G", code=f"$(test -e {grid.out}/fixed && echo 0 || echo 3)")
    done = grid.run(*command, timeout=LONG)
    assert done.returncode == 1 and "6 badly" in done.stderr, done.stderr
    (grid.out / "fixed").touch()
    assert grid.run(*command, timeout=LONG).returncode == 1, "an end of its own is a result"
    command.insert(1, "--failed")
    done = grid.run(*command, timeout=LONG)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("words", "said"), [
    (["--set", "a=1..1000", "--set", "b=1..1000", "--", "echo", "{a}{b}"], "1000000 points"),
    (["--set", "a=1,2", "--", "echo"], "does not use a"),
    (["--set", "a=1", "--", "echo", "{a}", "{lr}"], "--set lr="),
    (["--", "true"], "--set"),
])
def test_what_cannot_be_meant_is_refused_before_anything_runs(machine, words, said):
    done = machine.run("sweep", *words)
    assert done.returncode == 125 and said in done.stderr, done.stderr
    assert runs(machine)["runs"] == []


def test_points_are_shown_without_running_them(machine):
    done = machine.run("sweep", "--dry-run", "--set", "a=1,2", "--", "echo", "x {a}")
    assert done.stdout.splitlines() == ["echo 'x 1'", "echo 'x 2'"]


# --- after ------------------------------------------------------------------------------------------


def test_a_run_waits_until_those_before_it_have_ended_well(machine):
    gate = machine.directory / "gate"
    first = machine.run("run", "-d", "-q", "--memory", "1G", "--", "sh", "-c",
                        f"until test -e {gate}; do sleep 0.05; done; echo first").stdout.strip()
    second = machine.run("run", "-d", "-q", "--memory", "1G", "--after", first, "--", "echo", "second")
    assert second.returncode == 0 and f"waits until {first} has ended well" in second.stderr, second.stderr
    second = second.stdout.strip()
    assert show(machine, second)["waiting"]
    told = machine.run("queue").stdout
    assert f"Not in the queue yet: run {second} waits until {first} has ended well" in told, told
    [row] = json.loads(machine.run("queue", "--json").stdout)["not_queued"]
    assert row["run"] == second and f"waits until {first} has ended well" in row["why_not_yet"], row
    gate.touch()
    assert machine.run("wait", second, timeout=LONG).returncode == 0
    assert machine.run("logs", second).stdout.endswith("second\n")


def test_after_one_that_failed_nothing_starts(machine):
    assert machine.run("run", "-q", "--memory", "1G", "--", "sh", "-c", "exit 4").returncode == 4
    failed = show(machine)["id"]
    done = machine.run("run", "--memory", "1G", "--after", failed, "--", "echo", "never")
    assert done.returncode == 125 and done.stdout == "", done.stdout
    assert f"{failed}: that run ended with 4" in done.stderr, done.stderr


def test_no_circle_can_be_asked_for(machine):
    """Only what is there already can be named, and nobody names a run that is to come."""
    gate = machine.directory / "gate"
    first = machine.run("run", "-d", "-q", "--memory", "1G", "--", "sh", "-c", f"until test -e {gate}; do sleep 0.05; done")
    first = first.stdout.strip()
    second = machine.run("run", "-d", "-q", "--memory", "1G", "--after", first, "--", "true").stdout.strip()
    beginning, random = second.rsplit("-", 1)
    for itself in (beginning + "-" + random[::-1] + "x", "next", ""):
        done = machine.run("run", f"--after={itself}", "--", "echo", "never")
        assert done.returncode == 125 and done.stdout == "", (itself, done)
    third = machine.run("run", "-d", "-q", "--memory", "1G", "--after", f"{second},{first}", "--", "true")
    gate.touch()
    assert third.returncode == 0 and machine.run("wait", third.stdout.strip(), timeout=LONG).returncode == 0


def test_after_an_unknown_run_is_refused(machine):
    done = machine.run("run", "--after", "20200101-000000-aaaaaa", "--", "echo", "never")
    assert done.returncode == 125 and "20200101-000000-aaaaaa" in done.stderr and done.stdout == ""


# --- together ---------------------------------------------------------------------------------------


def test_topo_shows_the_links_and_what_would_be_chosen(machine):
    told = machine.run("topo", "-n", "2").stdout
    lines = [line for line in told.splitlines() if re.match(r"\s+\d+ ", line)]
    assert len(lines) == 8, told
    chosen = machine.run("pick", "-n", "2").stdout.strip()
    assert f"-n 2 would be given GPU {chosen} now." in told and re.fullmatch(r"\d,\d", chosen), told
    assert lines[0].split()[1:4] == ["X", "NV18", "NV18"], told
    answer = json.loads(machine.run("topo", "--json").stdout)
    assert len(answer["links"]) == 28 and len(answer["devices"]) == 8
    assert ",".join(str(one["index"]) for one in answer["chosen"]) == chosen
    assert {one["link"] for one in answer["links"]} == {"NV18"}


def test_a_set_that_is_not_linked_as_asked_is_refused_with_the_reason(machine_of):
    done = machine_of("lab-4").run("run", "--wait", "-n", "2", "--together", "nvlink", "--", "true")
    told = " ".join(done.stderr.split())
    assert done.returncode == 124 and "not joined by NVLink with enough others" in told, told
    assert "no devices of this machine are linked as --together asks" in told, told


@pytest.fixture
def two_nodes(tmp_path):
    """Two cards, each beside a CPU of its own of those that this process may use."""
    own = sorted(os.sched_getaffinity(0))
    if len(own) < 2:
        pytest.skip("one CPU alone may be used here: nothing can be told apart")
    played = many_devices(2)
    for card, cpu in zip(played["devices"], own[:2]):
        card |= {"cpu_affinity": str(cpu), "numa_node": 0}
    return FakeDriver(tmp_path, played), own


def bound(machine, *options):
    """The CPUs of a job, and the policies of its memory."""
    job = "grep Cpus_allowed_list: /proc/self/status; cut -d' ' -f2 /proc/self/numa_maps | sort -u"
    done = machine.run("run", *options, "--", "sh", "-c", job)
    assert done.returncode == 0, done.stderr
    cpus, *policies = done.stdout.splitlines()
    return parse_cpus(cpus.split(":")[1].strip()), policies, " ".join(done.stderr.split())


def parse_cpus(text):
    parts = [part.split("-") for part in text.split(",")]
    return [cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)]


@pytest.mark.parametrize("card", [0, 1])
def test_a_bound_job_has_the_cpus_and_the_memory_beside_its_device(two_nodes, card):
    machine, own = two_nodes
    cpus, policies, _ = bound(machine, "--only", str(card), "--bind")
    assert cpus == [own[card]]
    assert "prefer:0" in policies, policies
    both, _, _ = bound(machine, "-n", "2", "--bind")
    assert both == own[:2], "of several devices the CPUs of all"


@pytest.mark.parametrize("options", [[], ["--no-bind"], ["--bind", "--no-bind"]])
def test_a_job_that_is_not_bound_keeps_cpus_and_memory(two_nodes, options):
    machine, own = two_nodes
    cpus, policies, _ = bound(machine, "--only", "1", *options)
    assert cpus == own and not [one for one in policies if one.startswith("prefer")], policies


def test_a_job_beside_unknown_or_absent_cpus_starts_unbound_and_is_told(tmp_path):
    played = many_devices(2)
    played["devices"][0] |= {"cpu_affinity": None, "numa_node": None}
    played["devices"][1] |= {"cpu_affinity": "1023", "numa_node": 63}
    machine = FakeDriver(tmp_path, played)
    own = sorted(os.sched_getaffinity(0))
    cpus, _, said = bound(machine, "--only", "0", "--bind")
    assert cpus == own and "not bound: which CPUs are close to device" in said, said
    cpus, policies, _ = bound(machine, "--only", "1", "--bind")
    assert cpus == own and "prefer:63" not in policies
