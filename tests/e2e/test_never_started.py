"""A run that waited and was never started: one truth of it, wherever it is asked for."""

import json
import os
import pwd
import signal

import pytest

from aftermath import poll, queue, show
from test_run_waiting import LONG, awaited, gate, waiting  # noqa: F401  (gate is a fixture)

ME = pwd.getpwuid(os.geteuid()).pw_name
EVERYWHERE = (["runs"], ["show", "{}"], ["explain", "{}"], ["report", "{}", "--md"], ["report", "{}", "-o", "-"])


def said(machine, run, *words):
    """What a command says of the run, on either stream."""
    done = machine.run(*(word.format(run) for word in words), timeout=LONG)
    return done.stdout + done.stderr


def assert_no_job_is_told_of(machine, run):
    for words in EVERYWHERE:
        text = said(machine, run, *words)
        assert "CPU" not in text and "not read" not in text and "Duration" not in text, (words, text)
        assert "after 0s" not in text and "not all in" not in text, (words, text)
    [row] = [line for line in machine.run("runs").stdout.splitlines() if line.startswith(run)]
    assert row.split()[1:3] == ["–", "–"], f"neither a start nor a duration: {row}"
    assert show(machine, run)["end"]["lasted_milliseconds"] is None


def test_a_stopped_waiter_never_started_and_was_stopped_by_somebody(machine, gate):  # noqa: F811
    run = waiting(machine, "--wait")
    stopped = machine.run("stop", run, timeout=LONG)
    assert stopped.returncode == 0 and "has ended" not in stopped.stderr, stopped.stderr
    never = f"never started: waited {{}}s for 1 GPU, stopped by {ME}"
    record = show(machine, run)
    assert (record["end"]["stopped_by"], record["devices_wanted"]) == (ME, 1)
    truth = never.format(record["waited_ms"] // 1000)
    for words in (*EVERYWHERE, ["logs", "{}"], ["stop", "{}"], ["wait", "{}"]):
        assert truth in said(machine, run, *words), words
    assert truth in stopped.stderr
    assert_no_job_is_told_of(machine, run)
    explained = said(machine, run, "explain", "{}")
    assert f"{ME} took it out of the queue with berth stop" in explained
    assert "berth logs" not in explained and "its log" not in explained, "its log is empty"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_waiter_that_a_signal_ended_names_the_signal(machine, gate, number):  # noqa: F811
    run = waiting(machine, "--wait")
    os.kill(show(machine, run)["keeper"]["pid"], number)
    assert awaited(machine, run).returncode == 128 + number
    assert f"for 1 GPU, ended by {number.name} ({int(number)})" in said(machine, run, "show", "{}")
    assert show(machine, run)["end"]["stopped_by"] is None
    assert_no_job_is_told_of(machine, run)


def test_a_waiter_whose_time_is_over_says_how_long_and_for_how_many(machine, gate):  # noqa: F811
    done = machine.run("run", "-d", "--wait=1s", "-n", "5", "--", "true", timeout=LONG)
    run = done.stdout.strip()
    assert awaited(machine, run).returncode == 124
    assert show(machine, run)["waited_ms"] >= 1000, "it waited for all of the time that it was given"
    truth = f"never started: waited {show(machine, run)['waited_ms'] // 1000}s for 5 GPUs, no device came"
    for words in (*EVERYWHERE, ["logs", "{}"], ["stop", "{}"], ["wait", "{}"]):
        assert truth in said(machine, run, *words), words
    assert_no_job_is_told_of(machine, run)
    assert f"berth logs {run}" in said(machine, run, "explain", "{}"), "there the log says why"


def test_a_run_that_waits_says_so_and_for_how_long(machine, gate, tmp_path):  # noqa: F811
    run = waiting(machine, "--wait")
    assert queue(machine)[0]["run"] == run
    for words in (["show", "{}"], ["logs", "{}"]):
        text = said(machine, run, *words)
        assert f"so far for 1 GPU; `berth explain {run}` says why" in text, (words, text)
    explained = machine.run("explain", run)
    assert explained.returncode == 0, explained.stderr
    text = " ".join(explained.stdout.split())
    assert "waiting, next in the queue" in text and "GPU 0" in text and "leased to" in text, text
    assert f"Run {run} has waited" in text, text
    # It never sends to itself, and promises nothing by a policy that it cannot read.
    broken = tmp_path / "broken"
    (broken / "berth").mkdir(parents=True)
    (broken / "berth/berth.toml").write_text("[everybody]\ndevices_at_mst = 1\n", encoding="utf-8")
    for words, env, told in ((["--json"], {}, "berth queue --json"), ([], {"BERTH_ETC": str(broken)}, "berth.toml"),
                             ([], {"BERTH_LEDGER": str(tmp_path / "other")}, "the ledger here does not")):
        silent = machine.run("explain", run, *words, env=env)
        assert (silent.returncode, silent.stdout) == (3, "") and told in silent.stderr, silent.stderr
        assert "berth explain" not in silent.stderr, silent.stderr
    assert f"run {run} has not started" in machine.run("logs", run).stderr
    assert machine.run("logs", run).stdout == "", "of the job there is nothing"
    report = said(machine, run, "report", "{}", "--md")
    assert "none: it has not started" in report and "CPU" not in report, report
    assert "not all in" not in said(machine, run, "show", "{}") + report, "no job: nothing is gathered"


def test_what_an_older_berth_wrote_of_a_waiter_is_read(machine, gate):  # noqa: F811
    run = waiting(machine, "--wait")
    machine.run("stop", run, timeout=LONG)
    for file, keys in (("manifest.json", ["devices_wanted"]), ("end.json", ["stopped_by"])):
        path = machine.directory / "state/berth/runs" / run / file
        told = {key: value for key, value in json.loads(path.read_text()).items() if key not in keys}
        path.write_text(json.dumps(told | ({"lasted_milliseconds": 0} if file == "end.json" else {})))
    text = said(machine, run, "show", "{}")
    assert "for a GPU, ended by SIGTERM (15)" in text and "after 0s" not in text, text


def test_what_is_missing_of_a_run_that_is_over_is_not_awaited_any_more(machine):
    run = machine.run("run", "-d", "-q", "--", "true").stdout.strip()
    assert awaited(machine, run).returncode == 0
    poll(lambda: not show(machine, run)["complete"], LONG, "the sampler has written for the last time")
    path = machine.directory / "state/berth/runs" / run / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"complete": False}))
    for words in (["show", "{}"], ["report", "{}", "--md"]):
        text = said(machine, run, *words)
        assert "the run was over before they were gathered" in " ".join(text.split()), text
        assert "not all in" not in text and "still being gathered" not in text, text


def test_a_stopped_run_says_who_stopped_it(machine):
    run = machine.run("run", "-d", "-q", "--", "sleep", "600").stdout.strip()
    assert machine.run("stop", run, timeout=LONG).returncode == 0
    assert awaited(machine, run).returncode == 128 + signal.SIGTERM
    assert show(machine, run)["end"]["stopped_by"] == ME
    assert f"by berth: stopped by {ME}" in said(machine, run, "show", "{}")
    assert f"{ME} ended it with berth stop" in said(machine, run, "explain", "{}")
