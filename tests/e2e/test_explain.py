"""Why did it die: `berth explain`, and the line that `berth run` adds when a job has failed."""

import json
import signal
import subprocess

import pytest
from aftermath import runs
from conftest import ROOT, Terminal, end, wait_until

LOGS = ROOT / "tests/data/logs"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of "
    "79.00 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in "
    "use. Of the allocated memory 76.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but "
    "unallocated."
)
NOT_KEPT = "its output was not kept: berth run -d keeps it"
SEGMENTATION = ["sh", "-c", "kill -SEGV $$"]


def explained(machine, *words, **how):
    done = machine.run("explain", "--json", *words, **how)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def rules(answer):
    return [finding["rule"] for finding in answer["findings"]]


def detached(machine, *job):
    started = machine.run("run", "-d", "--", *job)
    assert started.returncode == 0, started.stderr
    run = started.stdout.strip()
    machine.run("wait", run)
    return run


def test_a_job_that_ends_well_is_told_nothing_new(machine):
    done = machine.run("run", "-n", "1", "--", "true")
    assert done.returncode == 0
    assert "why" not in done.stderr and "explain" not in done.stderr
    code, answer = explained(machine, "last")
    assert (code, answer["ended_well"], answer["findings"]) == (0, True, [])
    assert answer["simulated"] == "server-8xh100"
    assert "ended well" in machine.run("explain", "last").stdout


def test_a_segmentation_fault_is_told_in_a_line_and_explained(machine):
    done = machine.run("run", "-n", "1", "--", *SEGMENTATION)
    last = done.stderr.strip().splitlines()[-1]
    name = runs(machine)["runs"][0]["id"]
    assert last.startswith("SIMULATED why: segmentation fault") and last.endswith(f"berth explain {name})"), done.stderr
    code, answer = explained(machine, name)
    assert (code, rules(answer)) == (0, ["segmentation_fault"])
    assert "SIGSEGV (11)" in answer["findings"][0]["evidence"][0]


def test_of_a_free_gpu_nobodys_processes_are_missed(machine):
    said = machine.run("explain", "3", "--seconds", "1").stdout
    assert "no process is on the GPU" in said and "the job's processes" not in said.lower(), said


def test_quiet_says_nothing_of_it(machine):
    done = machine.run("run", "-q", "-n", "1", "--", *SEGMENTATION)
    assert done.stderr == ""


def test_an_exit_code_alone_is_no_cause(machine):
    done = machine.run("run", "-n", "1", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3 and "why:" not in done.stderr
    code, answer = explained(machine, "last")
    assert (code, answer["findings"]) == (1, [])
    assert "berth explain --log FILE" in machine.run("explain", "last").stdout


def test_a_time_limit_is_named_and_not_said_twice(machine):
    done = machine.run("run", "-n", "1", "--time", "300ms", "--", "sleep", "30")
    assert "time limit" in done.stderr and "why:" not in done.stderr
    code, answer = explained(machine, "last")
    assert (code, rules(answer)) == (0, ["time_limit"])


def test_berth_stop_is_named(machine):
    started = machine.run("run", "-d", "-n", "1", "--", "sleep", "30")
    run = started.stdout.strip()
    assert machine.run("stop", run).returncode == 0
    machine.run("wait", run)
    code, answer = explained(machine, run)
    assert (code, rules(answer)) == (0, ["stopped"])


def test_memory_used_up_is_read_from_a_detached_runs_log(machine):
    run = detached(machine, "sh", "-c", f"echo start; echo '{OOM}' >&2; exit 1", "train", "--batch-size=64")
    code, answer = explained(machine, run)
    assert (code, rules(answer)) == (0, ["cuda_out_of_memory"])
    finding = answer["findings"][0]
    assert "used up by the job itself" in finding["title"]
    assert "a batch of 64 cannot fit, one of at most 62 may" in finding["steps"][0]["what"]
    shown = machine.run("explain", run)
    assert "SIMULATED" in shown.stdout and "4.0 GiB" in shown.stdout
    chinese = machine.run("--lang", "zh_CN", "explain", run)
    assert "显存被任务自己用尽" in chinese.stdout


def test_where_nothing_is_known_the_last_lines_are_shown(machine):
    run = detached(machine, "sh", "-c", "echo one; printf '\\033[31mtwo\\033[0m\\n'; exit 1")
    code, answer = explained(machine, run)
    assert (code, rules(answer)) == (1, ["last_lines"])
    assert answer["findings"][0]["evidence"] == ["one", "two"]


def test_a_pasted_log_is_explained_from_a_file_and_from_stdin(machine, tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"\xff\x00rubbish\r\n 10%|#  | 1/9\r 20%|## | 2/9\r\nValueError: Expected a cuda device, but got: cpu\r\n")
    code, answer = explained(machine, "--log", log)
    assert (code, rules(answer), answer["run"]) == (0, ["expected_cuda_device"], None)
    code, answer = explained(machine, "--log", "-", input=OOM)
    assert (code, rules(answer)) == (0, ["cuda_out_of_memory"])


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_a_log_that_windows_wrote_is_read(machine, tmp_path, order):
    log = tmp_path / "log"
    text = "\ufeffstep 1\r\n" + "显存 " * 3_000_000 + "\r\nRuntimeError: No CUDA GPUs are available\r\n"
    log.write_bytes(text.encode(order))
    code, answer = explained(machine, "--log", log)
    assert (code, rules(answer), answer["log_cut"]) == (0, ["no_cuda_gpus"], True)


@pytest.mark.parametrize("log", sorted((LOGS / "healthy").iterdir()), ids=lambda log: log.stem)
def test_healthy_logs_have_no_findings(machine, log):
    code, answer = explained(machine, "--log", log)
    assert (code, answer["findings"]) == (1, [])


def test_of_a_large_log_the_end_is_read_soon(machine, tmp_path):
    log = tmp_path / "log"
    with open(log, "wb") as file:
        for _ in range(24):
            file.write(b"step 1 loss 0.5 " * (1 << 16))
        file.write(b"\nRuntimeError: No CUDA GPUs are available\n")
    code, answer = explained(machine, "--log", log, timeout=30)
    assert (code, rules(answer), answer["log_cut"]) == (0, ["no_cuda_gpus"], True)


def test_the_command_for_a_curly_quote_finds_its_line(machine, tmp_path):
    (tmp_path / "train.py").write_text("import os\nos.environ[“A”] = '0'\nprint('plain')\n", encoding="utf-8")
    log = tmp_path / "log"
    log.write_text("SyntaxError: invalid character '“' (U+201C)\n", encoding="utf-8")
    finding = explained(machine, "--log", log)[1]["findings"][0]
    command = finding["steps"][0]["command"]
    found = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.stdout == "2:os.environ[“A”] = '0'\n", command


def test_mistakes_are_told_apart(machine, tmp_path):
    assert machine.run("explain", "--log", tmp_path / "none").returncode == 1
    assert machine.run("explain", "--log", "-", "last", input="").returncode == 2
    for what in ("2147483646", "GPU-1a2b"):
        refused = machine.run("explain", what)
        assert refused.returncode == 3 and "there is no" in refused.stderr
    assert machine.run("explain", "nosuchrun").returncode == 1


@pytest.mark.parametrize("endless", ["/dev/zero", "/dev/full", "/"])
def test_what_has_no_end_is_no_log(machine, endless):
    done = machine.run("explain", "--log", endless)
    assert done.returncode == 1 and "is no file that a log could be in" in done.stderr


def test_a_log_comes_from_a_command_too(machine):
    line = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    done = machine.run("explain", "--json", "--log", "/dev/stdin", input=line + "\n")
    assert "no_kernel_image" in done.stdout, done.stdout + done.stderr


def test_on_a_terminal_in_colour_and_in_chinese(machine):
    machine.run("run", "-n", "1", "--", *SEGMENTATION)
    code, text = machine.on_terminal(72, "explain", "last")
    assert code == 0 and "\x1b[31m" in text and "segmentation fault" in text
    code, text = machine.on_terminal(72, "explain", "last", env={"BERTH_LANG": "zh_CN"})
    assert "段错误" in text and "PYTHONFAULTHANDLER=1" in text
    assert "\x1b" not in machine.run("explain", "last").stdout


def test_in_chinese_the_line_at_the_end_is_too(machine):
    done = machine.run("run", "-n", "1", "--", *SEGMENTATION, env={"BERTH_LANG": "zh_CN"})
    assert "原因：段错误" in done.stderr


# --- berth wait, and a foreground run at a terminal ---------------------------------------------------------


def test_wait_ends_with_the_cause_that_stands_in_the_log(machine):
    run = machine.run("run", "-d", "-n", "1", "--", "sh", "-c", f"echo '{OOM}' >&2; exit 7").stdout.strip()
    waited = machine.run("wait", run)
    assert (waited.returncode, waited.stdout) == (7, "")
    (line,) = waited.stderr.splitlines()
    assert line.startswith("SIMULATED why: the GPU's memory was used up") and line.endswith(f"berth explain {run})")
    # For a run that is over it says so again.
    assert machine.run("wait", run).stderr == waited.stderr
    chinese = machine.run("--lang", "zh_CN", "wait", run)
    assert chinese.returncode == 7 and "原因：" in chinese.stderr


def test_wait_says_nothing_if_told_so_or_where_nothing_is_known(machine):
    run = machine.run("run", "-d", "--", "sh", "-c", f"echo '{OOM}'; exit 1").stdout.strip()
    for quiet in ("-q", "--quiet"):
        waited = machine.run("wait", quiet, run)
        assert (waited.returncode, waited.stdout, waited.stderr) == (1, "", "")
    for script, code in (("true", 0), (f"echo '{OOM}'", 0), ("echo mishap; exit 3", 3)):
        run = machine.run("run", "-d", "--", "sh", "-c", script).stdout.strip()
        waited = machine.run("wait", run)
        assert (waited.returncode, waited.stdout, waited.stderr) == (code, "", ""), script


def test_wait_says_nothing_of_a_run_that_was_stopped(machine):
    job = f"trap \"echo '{OOM}'; exit 1\" TERM; echo ready; while :; do sleep 0.05; done"
    run = machine.run("run", "-d", "--", "sh", "-c", job).stdout.strip()
    wait_until(lambda: "ready" in machine.run("logs", run).stdout, "its trap is set", 20)
    assert machine.run("stop", run).returncode == 0
    assert machine.run("wait", run).stderr == ""
    assert "OutOfMemoryError" in machine.run("logs", run).stdout


def test_at_a_terminal_one_line_says_how_the_output_would_be_kept(machine):
    code, printed = machine.on_terminal(120, "run", "-n", "1", "--", "sh", "-c", f"echo '{OOM}' >&2; exit 1")
    assert code == 1 and printed.count("not kept") == 1, printed
    assert printed.strip().splitlines()[-1].startswith(NOT_KEPT) and "--log FILE" in printed
    _, chinese = machine.on_terminal(120, "run", "--", "sh", "-c", "exit 1", env={"BERTH_LANG": "zh_CN"})
    assert "输出未保留" in chinese


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-q", "--", "sh", "-c", "exit 1"),
        ("run", "--", "true"),
        ("run", "--", *SEGMENTATION),
        ("run", "--", "sh", "-c", "kill -9 $$"),
        ("run", "--", "sh", "-c", "exit 130"),
        ("run", "--time", "300ms", "--", "sleep", "30"),
        ("run", "--", "no-such-command"),
        ("run", "-d", "--", "sh", "-c", "exit 1"),
    ],
    ids=lambda words: "_".join(words[1:]).replace(" ", "_"),
)
def test_where_the_end_is_clear_or_silence_was_asked_for_the_output_is_not_spoken_of(machine, words):
    _, printed = machine.on_terminal(120, *words)
    assert "not kept" not in printed


def test_whoever_interrupts_a_job_is_not_told_of_its_output(machine):
    terminal = Terminal(120)
    job = "import sys, time\ntry:\n  print('READY', flush=True); time.sleep(60)\nexcept KeyboardInterrupt:\n  sys.exit(1)"
    run = machine.start_on(terminal, "run", "--", "/usr/bin/python3", "-c", job)
    try:
        wait_until(lambda: b"READY" in terminal.read(), "the job has started")
        terminal.type(b"\x03")
        wait_until(lambda: terminal.read() is not None and run.poll() is not None, "it has ended")
        assert run.returncode == 1
        assert b"ended with 1" in terminal.read() and b"not kept" not in terminal.read()
    finally:
        end(run)
        terminal.close()


def test_a_job_that_aborts_itself_has_said_why_in_its_output(machine):
    code, printed = machine.on_terminal(120, "run", "--", "sh", "-c", "kill -ABRT $$")
    assert code == -signal.SIGABRT and NOT_KEPT in printed


def test_in_a_pipe_a_failed_runs_end_is_one_line(machine):
    done = machine.run("run", "-n", "1", "--", "sh", "-c", "exit 1")
    assert done.returncode == 1 and "not kept" not in done.stderr
