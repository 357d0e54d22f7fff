"""`berth reserve`, `exec`, `extend`, `release` as somebody types them: by the name `last`, tried with --dry-run, on a
simulated server."""

import datetime
import json
import os
import signal
import subprocess

import pytest

from aftermath import leases, poll, runs, show
from conftest import end
from test_queue import in_one_line
from test_reserve_at import lab, planned  # noqa: F401  (a fixture among them)


def poll_end(machine, run):
    poll(lambda: not show(machine, run)["end"], 60, "it has no end")
    return show(machine, run)


def test_the_last_is_extended_used_and_released_by_that_name(machine):
    machine.run("reserve", "--for", "1h")
    run = machine.run("reserve", "-n", "2", "--for", "1h").stdout.strip()
    lease = next(one for one in leases(machine) if one["run"] == run)
    for _ in range(2):  # a command on it is a run as well, and holds no lease that could be meant
        done = machine.run("exec", "last", "--", "sh", "-c", "echo $BERTH_LEASE")
        assert done.returncode == 0 and done.stdout.startswith(lease["id"]), done.stderr
    assert json.loads(machine.run("show", run, "--json").stdout)["time_limit_ms"] == 3_600_000
    done = machine.run("extend", "last", "--for", "2h")
    assert done.returncode == 0 and f"run {run} ends in" in in_one_line(done.stderr), done.stderr
    later = next(one for one in leases(machine) if one["run"] == run)
    assert abs(later["ends_unix_ms"] - lease["ends_unix_ms"] - 7_200_000) < 10_000
    assert abs(json.loads(machine.run("show", run, "--json").stdout)["time_limit_ms"] - 10_800_000) < 10_000
    assert "time limit 3h" in machine.run("show", run).stdout or "time limit 2h59m" in machine.run("show", run).stdout
    assert machine.run("release", "last").returncode == 0
    poll(lambda: [one for one in leases(machine) if one["run"] == run], 60, "it is held still")
    over = poll_end(machine, run)
    assert abs(over["time_limit_ms"] - 10_800_000) < 10_000, "also of one that is over"
    assert machine.run("release", "last").returncode == 0
    poll(lambda: leases(machine), 60, "the one before is held still")


def test_a_command_that_finds_the_lease_busy_is_not_sent_to_the_queue(machine):
    machine.run("reserve", "--for", "1h")
    busy = machine.start("exec", "last", "--", "sh", "-c", "echo begun; sleep 300")
    assert busy.stdout.readline() == "begun\n"
    done = machine.run("exec", "last", "--", "true")
    end(busy)
    said = in_one_line(done.stderr)
    assert done.returncode == 124 and "no device of this lease is free" in said and "--wait" not in said, said
    assert machine.run("release", "last").returncode == 0


def test_who_holds_nothing_has_no_last(machine):
    for words in (["extend", "last", "--for", "1h"], ["exec", "last", "--", "true"]):
        done = machine.run(*words)
        assert done.returncode == 125 and 'no lease that is called "last"' in in_one_line(done.stderr), done.stderr


def test_a_number_that_is_no_jobs_is_told_as_that(machine):
    done = machine.run("claim", "4194304")
    assert done.returncode == 125 and "there is no process 4194304" in done.stderr, done.stderr
    done = machine.run("claim", "1")
    said = "process 1 is no job: it has started all others" if os.geteuid() == 0 else "process 1 is another user's"
    assert done.returncode == 125 and said in in_one_line(done.stderr), done.stderr


def test_last_is_the_last_run_for_stop_and_the_last_lease_for_what_asks_for_one(machine):
    reserved = machine.run("reserve", "--for", "1h").stdout.strip()
    assert [one["command"] for one in leases(machine)] == ["berth reserve"]
    begun = machine.start("exec", "last", "--", "sleep", "300", stderr=subprocess.DEVNULL)
    poll(lambda: all(one["id"] == reserved for one in runs(machine)["runs"]), 60, "it has not begun")
    assert machine.run("stop", "last").returncode == 0
    assert begun.wait(60) == -signal.SIGTERM and [one["run"] for one in leases(machine)] == [reserved]
    job = machine.run("run", "-d", "-q", "--time", "1h", "--", "sleep", "300").stdout.strip()
    done = machine.run("extend", "last", "--for", "1h")
    assert done.returncode == 0 and f"run {job} ends in" in in_one_line(done.stderr), done.stderr
    done = machine.run("release", "last")
    assert done.returncode == 125 and f"run {job} is no reservation" in in_one_line(done.stderr), done.stderr
    assert machine.run("stop", "last", "-q").returncode == 0
    poll(lambda: [one["run"] for one in leases(machine)] != [reserved], 60, "its lease is still there")
    assert machine.run("release", "last").returncode == 0
    poll(lambda: leases(machine), 60, "it is held still")


@pytest.mark.parametrize("at", ["25:00", "18:61", "soon", "0s", "2001-01-01"])
def test_a_time_that_is_none_is_refused_also_where_nothing_is_taken(lab, at):  # noqa: F811
    real = lab.run("reserve", "--for", "1h", "--at", at)
    tried = lab.run("reserve", "--for", "1h", "--at", at, "--dry-run")
    assert real.returncode == tried.returncode == 125, (real, tried)
    assert f'--at "{at}"' in tried.stderr and tried.stderr == real.stderr, (tried.stderr, real.stderr)


def test_a_dry_run_says_when_it_would_begin_and_plans_nothing(lab):  # noqa: F811
    done = lab.run("reserve", "--for", "1h", "--at", "2h", "--dry-run")
    assert done.returncode == 0 and "Nothing was taken." in done.stdout, done
    year = datetime.datetime.now().year
    assert "it would begin at " in done.stderr and (str(year) in done.stderr or str(year + 1) in done.stderr), done.stderr
    assert planned(lab) == []
    end(lab.service)
    done = lab.run("reserve", "--for", "1h", "--at", "2h", "--dry-run")
    assert done.returncode == 125 and "a `berth serve` of root's" in in_one_line(done.stderr), "as without it"


def test_the_server_and_the_language_that_are_typed_go_on_to_what_it_becomes(machine):
    server = machine.env.pop("BERTH_SIM")
    typed = ("--sim", server, "--lang", "zh_CN")
    reserved = machine.run("reserve", *typed, "--for", "5m")
    assert reserved.returncode == 0 and f"SIMULATED：{server}" in reserved.stderr, reserved.stderr
    tried = machine.run("exec", *typed, "last", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert (tried.returncode, tried.stdout.strip().isdigit()) == (0, True), tried.stderr
    released = machine.run("release", *typed, "last")
    assert released.returncode == 0, released.stderr


def test_on_a_simulated_server_each_says_so(machine):
    mark = "SIMULATED: server-8xh100"
    done = machine.run("reserve", "--for", "1h")
    try:
        assert done.returncode == 0 and mark in done.stderr, done.stderr
        words_of_each = (["extend", "last", "--for", "1h"], ["exec", "last", "--", "true"],
                         ["logs", done.stdout.strip()])
        for words in words_of_each:
            used = machine.run(*words)
            assert used.returncode == 0 and mark in used.stderr, (words, used.stderr)
    finally:
        assert machine.run("stop", "--all", "-q").returncode == 0
    nobody = machine.run("release", "")
    assert nobody.returncode == 125 and "the name of a run is empty" in nobody.stderr, nobody.stderr
    done = machine.run("reserve", "-n", "9", "--for", "1h")
    assert done.returncode == 124 and done.stderr.count("SIMULATED") == 1, done.stderr
    words = ["sweep", "--set", "a=1,2", "--memory", "1G", "--", "echo", "{a}"]
    assert machine.run(*words, timeout=120).stdout.startswith("SIMULATED server-8xh100\n")
    done = machine.run(*words[:1], "--csv", *words[1:], timeout=120)
    assert mark in done.stderr and done.stdout.startswith("a,run,"), done
    done = machine.run("policy", "test", "0", "--", "-n", "1")
    assert done.stdout.startswith("SIMULATED server-8xh100\n"), done.stdout
    real = json.loads(machine.run("runs", "--json").stdout)["runs"]
    assert all(run["given"]["simulated"] for run in real)
