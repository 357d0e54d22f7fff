"""What a user does with a run while it lives: limits, stop, wait, logs, marks, queue, terminal."""

import fcntl
import os
import re
import shutil
import signal
import struct
import termios
import time

import pytest

from aftermath import leases, ledger_files, parts_of, poll, processes, queue, runs, show, waits_for
from test_run_signals import terminal, wait_until  # noqa: F401  (terminal is a fixture)

JOB_COUNTING_WINDOW_SIZES = """
import os, signal, time
count = 0
def changed(*_):
    global count
    count += 1
signal.signal(signal.SIGWINCH, changed)
print("READY", flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    if count == 1:  # no other comes a moment later
        end = min(end, time.monotonic() + 1)
    time.sleep(0.05)
print("WINDOW", count, os.get_terminal_size().columns, flush=True)
"""


def detach(machine, *words, options=(), **how):
    started = machine.run("run", "-q", "--detach", *options, "--", *words, **how)
    assert started.returncode == 0, started.stderr
    return started.stdout.strip()


def holding(machine, seconds=None, until=None):
    """A run that has device 3 for so long, or until there is such a file."""
    job = waits_for(until) if until else ["sleep", str(seconds)]
    holder = machine.start("run", "-q", "--only", "3", "--", *job)
    poll(lambda: not leases(machine), 30, "the holder has no lease")
    return holder


def notes(process, number):
    """Whether this signal would not just end it: it catches the signal, or has it kept for itself to read."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        fields = dict(line.split(":\t", 1) for line in status if line.startswith("Sig"))
    return any(int(fields[field], 16) & (1 << (number - 1)) for field in ("SigCgt", "SigBlk"))


def samples_of(record):
    with open(f"{record['directory']}/samples", encoding="utf-8") as file:
        return [line for line in file if line.startswith('{"t"')]


# --- its end ---------------------------------------------------------------------------------------


def test_time_limit_warns_then_stops_and_the_record_says_so(machine):
    said = machine.directory / "said"
    script = (f"trap 'echo warned >> {said}' USR1; trap 'echo asked >> {said}; exit 9' TERM;"
              "while :; do sleep 0.02; done")
    got = machine.run("run", "--time", "1s", "--warn-signal", "USR1", "--", "sh", "-c", script)
    assert said.read_text() == "warned\nasked\n"
    assert got.returncode == 9
    assert show(machine)["end"]["because"] == "time limit"
    assert "time limit" in got.stderr


def test_the_warning_of_a_time_limit_is_named_where_it_ends_the_job(machine):
    got = machine.run("run", "--time", "5s", "--warn-signal", "USR1", "--", "sleep", "30")
    assert got.returncode == -signal.SIGUSR1
    assert "killed by SIGUSR1 (10) by berth: warning before its time limit after" in got.stderr
    assert show(machine)["end"]["because"] == "time limit"
    assert "by berth: warning before its time limit" in machine.run("show").stdout


def test_a_job_that_ends_by_itself_after_the_warning_is_said_to_have_been_warned(machine):
    script = "trap 'exit 4' USR1; while :; do sleep 0.02; done"
    got = machine.run("run", "--time", "1s", "--warn-signal", "USR1", "--", "sh", "-c", script)
    assert got.returncode == 4
    assert "ended with 4, warned of its time limit after" in got.stderr
    assert show(machine)["end"]["because"] == "warned of the time limit"
    assert "ended with 4, warned of its time limit" in machine.run("show").stdout


def test_stop_ends_the_whole_tree_also_what_ignores_term_or_left_the_session(machine):
    ready = machine.directory / "ready"
    script = (f"setsid sh -c 'trap \"\" TERM; touch {ready}; while :; do sleep 0.1; done' &"
              "setsid sleep 300 & wait")
    name = detach(machine, "sh", "-c", script)
    wait_until(ready.exists)
    stopped = machine.run("stop", name, "--grace", "500ms")
    assert stopped.returncode == 0
    assert "was killed" in stopped.stderr
    poll(lambda: processes(machine), 5, "processes of a stopped run")
    poll(lambda: leases(machine), 5, "leases of a stopped run")
    assert show(machine, name)["end"]["because"] == "stopped"
    assert "had ended already" in machine.run("stop", name).stderr


@pytest.mark.parametrize("script, code", [("sleep 0.2", 0), ("sleep 0.2; exit 7", 7), ("kill -9 $$", 137)])
def test_wait_exits_as_the_run_did(machine, script, code):
    name = detach(machine, "sh", "-c", script)
    assert machine.run("wait", name).returncode == code


def test_wait_is_left_by_a_signal_and_the_run_goes_on(machine):
    over = machine.directory / "over"
    name = detach(machine, *waits_for(over))
    waiting = machine.start("wait", name)
    wait_until(lambda: notes(waiting, signal.SIGINT))
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(timeout=60) == 130
    assert show(machine, name)["state"] == "running"
    over.touch()
    assert machine.run("wait", name).returncode == 0


# --- its output --------------------------------------------------------------------------------------


def test_logs_follow_until_the_run_has_ended(machine):
    name = detach(machine, "sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.3; done; echo err >&2")
    followed = machine.run("logs", "-f", name)
    assert followed.stdout == "line 1\nline 2\nline 3\nerr\n"
    assert show(machine, name)["state"] == "ended"


def test_a_log_is_named_from_where_the_run_was_started(machine):
    name = detach(machine, "echo", "hello", options=("--log", "log"), cwd=machine.directory)
    machine.run("wait", name)
    assert (machine.directory / "log").read_text() == "hello\n"
    assert machine.run("logs", name, cwd="/").stdout == "hello\n"


def test_log_names_the_file_and_appends(machine):
    log = machine.directory / "log"
    log.write_text("before\n")
    name = detach(machine, "echo", "hello", options=("--log", log))
    machine.run("wait", name)
    assert log.read_text() == "before\nhello\n"
    assert machine.run("logs", name).stdout == "hello\n", "what was there before is not this run's"


def test_detached_run_survives_its_terminal(machine, terminal):  # noqa: F811
    done = machine.directory / "done"
    command = " ".join(machine.command("run", "--detach", "--", "sh", "-c", f"'sleep 1; echo $? > {done}'"))
    terminal.type(command + "; echo code=$?\n")
    terminal.until(r"code=0")
    terminal.close()
    wait_until(done.exists)
    poll(lambda: show(machine)["state"] != "ended", 5, "the run has not ended")
    assert show(machine)["end"]["exit_code"] == 0


def test_marks_of_the_command_and_raw_lines_reach_the_record(machine, berth_binary):
    script = f"{berth_binary} mark epoch=1 loss=0.5; echo step=2 >> $BERTH_MARKS; sleep 0.2"
    assert machine.run("run", "--", "sh", "-c", script).returncode == 0
    record = show(machine)
    assert [mark["text"] for mark in record["marks"]] == ["epoch=1 loss=0.5", "step=2"]
    for mark in record["marks"]:
        assert record["started_unix_ms"] <= mark["at_unix_ms"] <= record["end"]["at_unix_ms"]


# --- its terminal ------------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("less"), reason="pager: less is not installed")
def test_output_can_be_read_in_a_pager(machine, terminal):  # noqa: F811
    terminal.type(" ".join(machine.command("run", "-q", "--", "seq", "1", "5000")) + " | less\n")
    terminal.until(r"\b12\b")
    terminal.type("G")
    terminal.until(r"\b5000\b")
    terminal.type("q")
    terminal.type("echo back=$?\n")
    terminal.until(r"back=0")
    assert "Stopped" not in terminal.text


def test_window_size_reaches_the_job_once(machine, terminal):  # noqa: F811
    (machine.directory / "window.py").write_text(JOB_COUNTING_WINDOW_SIZES)
    terminal.type(" ".join(machine.command("run", "-q", "--", "/usr/bin/python3", "window.py")) + "\n")
    terminal.until("READY")
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    assert terminal.until(r"WINDOW (\d+) (\d+)").groups() == ("1", "77")


def test_ctrl_c_while_waiting_leaves_the_queue(machine, terminal):  # noqa: F811
    holder = holding(machine, 30)
    terminal.type(" ".join(machine.command("run", "--wait", "--only", "3", "--", "true")) + "\n")
    poll(lambda: not queue(machine), 30, "nobody waits")
    terminal.type("\x03")
    poll(lambda: queue(machine), 30, "it waits on")
    terminal.type("echo code=$?\n")
    assert terminal.until(r"code=(\d+)").group(1) == "130"
    assert not [name for name in ledger_files(machine) if "ticket" in name]
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=30)


def test_on_a_terminal_the_line_of_who_waits_counts_the_seconds(machine, terminal):  # noqa: F811
    holder = holding(machine, 30)
    terminal.type(" ".join(machine.command("run", "--wait=1h", "--only", "3", "--", "true")) + "\n")
    terminal.until(r"waiting 0s")
    terminal.until(r"waiting [2-9]s")  # nothing else has changed meanwhile
    terminal.type("\x03")
    holder.send_signal(signal.SIGTERM)
    holder.wait(timeout=30)


# --- its place in the queue ----------------------------------------------------------------------------


def test_waiters_start_in_the_order_in_which_they_came(machine):
    order = machine.directory / "order"
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate)
    waiters = []
    for number in (1, 2):
        waiters.append(machine.start("run", "-q", "--wait=30s", "--only", "3", "--", "sh", "-c",
                                     f"echo {number} >> {order}; sleep 0.2"))
        poll(lambda: len(queue(machine)) < number, 10, f"waiter {number} is not in the queue")
    assert not order.exists()
    gate.touch()
    for process in [holder, *waiters]:
        assert process.wait(timeout=60) == 0
    assert order.read_text() == "1\n2\n"


# --- one that is not there ---------------------------------------------------------------------------


QUOTED = r"""`[^`]*`|"[^"]*"|'[^']*'|“[^”]*”"""
ELSE = re.compile(QUOTED + r"|[!-~]*/[!-~]*|(?<![!-~])--?[a-z-]+|\bberth( runs)?\b", re.ASCII)


def latin_words(text):
    """Words in Latin letters, but for what is quoted, paths, options, and the program and what to call it with."""
    return re.findall(r"[A-Za-z]+", ELSE.sub(" ", text))


@pytest.mark.parametrize("recorded", [False, True], ids=["without records", "among others"])
@pytest.mark.parametrize(("verb", "code"), [("show", 1), ("logs", 1), ("stop", 1), ("wait", 125)])
def test_a_run_that_is_not_there_is_named_in_the_language_asked_for_alone(machine, verb, code, recorded):
    if recorded:
        assert machine.run("run", "-q", "--", "true").returncode == 0
    english = machine.run(verb, "nope")
    chinese = machine.run(verb, "nope", env={"BERTH_LANG": "zh_CN"})
    for said in (english, chinese):
        assert (said.returncode, said.stdout) == (code, ""), said.stderr
        assert "nope" in said.stderr and "berth runs" in said.stderr, said.stderr
    assert len(latin_words(english.stderr)) >= 4, f"what is looked for is not found in English: {english.stderr}"
    assert re.search("[\u4e00-\u9fff]", chinese.stderr), chinese.stderr
    assert latin_words(chinese.stderr) == [], chinese.stderr


# --- its record --------------------------------------------------------------------------------------


@pytest.mark.clock
def test_samples_once_a_second_with_what_the_job_used(machine):
    assert machine.run("run", "-q", "--", "sleep", "3.2").returncode == 0
    record = show(machine)
    times = [int(re.match(r'{"t":(\d+)', line)[1]) for line in samples_of(record)]
    assert len(times) >= 4
    assert all(700 < later - earlier < 1800 for earlier, later in zip(times[:3], times[1:4])), times
    [device] = record["summary"]["devices"]
    assert device["mean_utilization_percent"] > 0
    assert device["memory_peak_bytes"] > 1 << 30
    assert record["summary"]["energy_millijoules"] > 0


def test_a_killed_sampler_is_started_again_and_the_record_says_so(machine):
    over = machine.directory / "over"
    launcher = machine.start("run", "-q", "--", *waits_for(over))
    poll(lambda: "sampler" not in parts_of(launcher.pid), 30, "there is no sampler")
    poll(lambda: not samples_of(show(machine)), 30, "it takes no samples")
    first = parts_of(launcher.pid)["sampler"]
    os.kill(first, signal.SIGKILL)
    poll(lambda: parts_of(launcher.pid).get("sampler", first) == first, 30, "there is no other sampler")
    seen = len(samples_of(show(machine)))
    poll(lambda: len(samples_of(show(machine))) < seen + 2, 30, "it takes no samples")
    over.touch()
    assert launcher.wait(timeout=60) == 0
    record = show(machine)
    assert [event["kind"] for event in record["events"]] == ["sampler_restarted"]
    assert len(samples_of(record)) >= 3
    assert record["state"] == "ended"


def test_secrets_of_arguments_and_variables_are_written_nowhere(machine):
    secret = "hunter2hunter2"
    launcher = machine.start("run", "-q", "--", "sh", "-c", "sleep 1", "x", f"--api-key={secret}",
                             "--token", secret, env={"HF_TOKEN": secret, "NVIDIA_API_KEY": secret})
    poll(lambda: not leases(machine), 30, "there is no lease")
    texts = [machine.run(*words).stdout for words in (["leases"], ["leases", "--json"], [])]
    assert launcher.wait(timeout=30) == 0
    texts += [machine.run(*words).stdout for words in (["runs"], ["runs", "--json"], ["show", "--json"], ["show"])]
    files = [path for path in machine.directory.rglob("*") if path.is_file()]
    assert any(path.name == "manifest.json" for path in files)
    texts += [path.read_text(errors="replace") for path in files]
    assert not [text for text in texts if secret in text]
    assert any("--api-key=***" in text for text in texts)


def test_state_directory_deleted_under_way_never_stops_the_job(machine):
    gone = machine.directory / "state"
    deleted = machine.directory / "deleted"
    job = f"until test -e {deleted}; do sleep 0.02; done; sleep 1.5; echo still; exit 4"
    launcher = machine.start("run", "--", "sh", "-c", job)
    wait_until(lambda: list(gone.glob("berth/runs/2*/samples")))
    while gone.exists():  # what is written meanwhile goes with it
        shutil.rmtree(gone, ignore_errors=True)
    deleted.touch()
    out, err = launcher.communicate(timeout=60)
    assert (out, launcher.returncode) == ("still\n", 4)
    assert err.count("can no longer be written") == 1
    assert leases(machine) == []


# --- without a device ----------------------------------------------------------------------------------

SHOW_ENVIRONMENT = "env | grep -E 'VISIBLE_DEVICES|_NUM_THREADS|BERTH_LEASE' | sort"
UNTIL_LOOKED_AT = """until grep -q '"t"' "${BERTH_MARKS%/*}/samples"; do sleep 0.1; done"""


def environment_of(machine, *options, env=None):
    job = f"{SHOW_ENVIRONMENT}; {UNTIL_LOOKED_AT}"
    got = machine.run("run", "-q", *options, "--", "sh", "-c", job, env=env or {})
    assert got.returncode == 0, got.stderr
    return dict(line.split("=", 1) for line in got.stdout.split())


def test_cpu_job_sees_no_device_and_gets_threads_only_where_unset(machine):
    seen = environment_of(machine, "--cpu", env={"OMP_NUM_THREADS": "3"})
    assert seen["CUDA_VISIBLE_DEVICES"] in ("", "-1")
    assert seen["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in seen, "the number was chosen"
    assert "BERTH_LEASE" not in seen
    record = show(machine)
    assert record["cpu_only"] is True
    assert record["summary"]["device_files_open"] == 0


def test_or_cpu_takes_a_device_where_one_is_free_and_goes_without_where_none_is(machine):
    seen = environment_of(machine, "--or-cpu", "--only", "3")
    assert seen["CUDA_VISIBLE_DEVICES"] == "3"
    assert "MKL_NUM_THREADS" not in seen
    gate = machine.directory / "gate"
    holder = holding(machine, until=gate)
    assert environment_of(machine, "--or-cpu", "--only", "3")["CUDA_VISIBLE_DEVICES"] in ("", "-1")
    gate.touch()
    assert holder.wait(timeout=30) == 0


def test_runs_of_one_second_are_listed_the_newest_first(machine):
    for code in range(6):
        machine.run("run", "-q", "--", "sh", "-c", f"exit {code}")
        assert show(machine, "last")["end"]["exit_code"] == code
    assert [run["end"]["exit_code"] for run in runs(machine)["runs"]] == [5, 4, 3, 2, 1, 0]


def test_of_a_log_that_was_there_only_what_the_run_wrote_is_its_own(machine, tmp_path):
    log = tmp_path / "train.log"
    died = "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 1"
    for script in (died, "echo 'KeyError: lr'; exit 1"):
        detach(machine, "sh", "-c", script, options=("--log", log, "--retry-oom", "1") if script != died else ("--log", log))
        machine.run("wait", "last")
    assert "OutOfMemoryError" in log.read_text() and "KeyError" in log.read_text()
    assert machine.run("logs", "last").stdout == "KeyError: lr\n"
    told = machine.run("explain", "last").stdout
    assert "KeyError" in told and "OutOfMemory" not in told, told
    ended = [run for run in runs(machine)["runs"] if run["state"] == "ended"]
    assert len(ended) == 2, "it was started again for an earlier run's words"
    assert [run["end"].get("died_of") for run in ended if "KeyError" in " ".join(run["command"])] in ([None], [""])


def test_release_ends_no_job(machine):
    name = detach(machine, "sleep", "1000")
    for called in (name, "last"):
        done = machine.run("release", called)
        assert done.returncode == 125 and "reservation" in done.stderr, done
    assert show(machine, name)["state"] == "running"
    machine.run("stop", name)
