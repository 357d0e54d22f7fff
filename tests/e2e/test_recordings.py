"""Recordings and what else `--replay` reads: through a pipe, longer than memory, torn, on a full disk."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import threading

import pytest
from conftest import BERTH, Machine, sleeps, wait_until, waiting_in
from test_replay import QUERY
from test_top import terminal_of  # noqa: F401  a fixture


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def tape(machine, tmp_path):
    """A recording of three snapshots."""
    file = tmp_path / "tape.jsonl"
    for _ in range(3):  # one at a time: of those taken in a row one may be late and the last left out
        assert machine.run("record", file, "--append", "-d", "100ms", "--for", "100ms").returncode == 0
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3
    return file


def in_one_line(done):
    return " ".join(done.stderr.split())


# --- through a pipe -------------------------------------------------------------------------------


def written_late(fifo, text):
    """Writes the first half once somebody reads, and the rest once that was read."""

    def write():
        with open(fifo, "w", encoding="utf-8") as out:
            out.write(text[: len(text) // 2])
            out.flush()
            wait_until(lambda: waiting_in(out.fileno()) == 0, "the first half is read")
            out.write(text[len(text) // 2 :])

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    return writer


@pytest.mark.parametrize("words", [("status", "--json"), ("smi", "-q"), ("ps",)], ids=" ".join)
def test_a_fifo_that_is_filled_later_is_waited_for(machine, tmp_path, words):
    fifo, file = tmp_path / "fifo", tmp_path / "file"
    os.mkfifo(fifo)
    file.write_text(QUERY, encoding="utf-8")
    writer = written_late(fifo, QUERY)
    piped = machine.run(*words, "--replay", fifo)
    writer.join()
    expected = machine.run(*words, "--replay", file)
    assert (piped.returncode, piped.stderr) == (expected.returncode, expected.stderr)
    assert piped.stdout == expected.stdout != ""


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "-#2"])
def test_the_standard_input_is_waited_for(machine, tape, name):
    source = subprocess.Popen(["sh", "-c", f"sleep 0.5; cat {tape}"], stdout=subprocess.PIPE)
    done = machine.run("status", "--json", "--replay", name, stdin=source.stdout)
    assert source.wait() == 0
    assert done.returncode == 0, done.stderr
    lines = tape.read_text(encoding="utf-8").splitlines()
    wanted = json.loads(lines[1 if name.endswith("#2") else 0])
    assert json.loads(done.stdout)["taken_unix_ms"] == wanted["taken_unix_ms"]


def test_a_file_called_minus_is_meant_where_there_is_one(machine, tape):
    os.rename(tape, tape.parent / "-")
    done = machine.run("status", "--json", "--replay", "-", cwd=tape.parent)
    assert done.returncode == 0 and json.loads(done.stdout)["devices"]


def test_ctrl_c_ends_the_wait_for_who_writes(machine, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    waiting = machine.start("status", "-w", "--replay", fifo)
    in_kernel = pathlib.Path(f"/proc/{waiting.pid}/wchan")
    wait_until(lambda: sleeps(waiting.pid) and in_kernel.read_text() in ("wait_for_partner", "0", ""), "it waits for who writes")
    assert waiting.poll() is None
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(timeout=60) in (-signal.SIGINT, 130)


# --- what is no longer whole, or too long ------------------------------------------------------------


def test_whoever_watches_is_told_that_it_records(machine, terminal_of, tmp_path):  # noqa: F811
    terminal = terminal_of(machine, 100, 10)
    terminal.shell(f"{BERTH} record {tmp_path}/tape -d 100ms")
    terminal.until(f"recording to {tmp_path}/tape until Ctrl-C")
    wait_until(lambda: (tmp_path / "tape").read_text(encoding="utf-8").count("\n") > 1, "it records")
    terminal.press("C-c")
    terminal.until("snapshots were recorded")
    assert machine.run("record", "-", "--for", "100ms").stderr == "berth: 1 snapshot was recorded\n", "no terminal"


def test_what_could_not_be_read_is_said_once_and_recorded(tmp_path):
    here = Machine(tmp_path, sim=None)
    tape = tmp_path / "tape"
    done = here.run("record", tape, "-d", "100ms", "--for", "1s", env={"BERTH_NVML": "/nonexistent.so"})
    lines = tape.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 2 and f"{len(lines)} snapshots were recorded" in done.stderr
    assert all("nonexistent.so" in line for line in lines)
    assert done.stderr.count("nonexistent.so") == 1, done.stderr


def test_a_recording_longer_than_a_gibibyte_is_played_and_gone_on_with(machine, tape):
    text = tape.read_text(encoding="utf-8")
    with open(tape, "r+", encoding="utf-8") as file:
        file.seek((1 << 30) + 1000)  # a hole between the third line and the next takes no room
        file.write("\n" + text)
    # Each of these reads all of it, for which a busy machine takes a while.
    done = machine.run("status", "--json", "--replay", f"{tape}#7", timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["taken_unix_ms"] == json.loads(text.splitlines()[2])["taken_unix_ms"]
    went_on = machine.run("record", tape, "--append", "-d", "100ms", "--for", "100ms", timeout=120)
    assert went_on.returncode == 0, went_on.stderr
    assert machine.run("status", "--replay", f"{tape}#8", timeout=120).returncode == 0


def test_a_torn_last_line_is_named_and_how_to_go_on(machine, tape):
    whole = tape.read_text(encoding="utf-8")
    tape.write_text(whole[:-50], encoding="utf-8")
    refused = machine.run("record", tape, "--append", "--for", "100ms")
    assert refused.returncode == 1
    assert "breaks off in its last line, 3: nothing was added to it" in in_one_line(refused)
    step = in_one_line(refused).split("cut that line off: ")[1]
    assert subprocess.run(["sh", "-c", step], check=False).returncode == 0
    assert tape.read_text(encoding="utf-8").splitlines() == whole.splitlines()[:2]
    assert machine.run("record", tape, "--append", "-d", "100ms", "--for", "100ms").returncode == 0
    assert len(tape.read_text(encoding="utf-8").splitlines()) == 3


def test_where_the_disk_is_full_the_file_is_named_and_stays_whole(machine, tmp_path):
    tape = tmp_path / "tape.jsonl"
    one = machine.run("record", "-", "-d", "100ms", "--for", "100ms")
    most = len(one.stdout.encode()) * 5 // 2

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = machine.run("record", tape, "-d", "100ms", "--for", "2s", preexec_fn=limit)
    assert done.returncode == 1
    assert str(tape) in done.stderr and "the snapshots before (2) are kept whole" in in_one_line(done)
    assert "--append goes on" in done.stderr
    lines = tape.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 and all(json.loads(line) for line in lines)


def test_where_nothing_could_be_recorded_no_empty_file_refuses_the_next_try(machine, tmp_path):
    tape = tmp_path / "tape.jsonl"

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = machine.run("record", tape, "--for", "2s", preexec_fn=limit)
    assert done.returncode == 1 and "nothing was recorded" in done.stderr, done.stderr
    assert not tape.exists()
    assert machine.run("record", tape, "-d", "100ms", "--for", "100ms").returncode == 0
    tape.write_text("")
    assert machine.run("record", tape, "--append", "--for", "2s", preexec_fn=limit).returncode == 1
    assert tape.exists(), "it was there before"


def test_one_snapshot_is_one(machine, tmp_path):
    done = machine.run("record", tmp_path / "tape", "-d", "100ms", "--for", "100ms")
    assert done.returncode == 0 and "1 snapshot was recorded" in done.stderr


def test_what_nvidia_smi_printed_is_no_recording_to_go_on_with(machine, tmp_path):
    dump = tmp_path / "q.txt"
    dump.write_text(QUERY, encoding="utf-8")
    refused = machine.run("record", dump, "--append", "-d", "100ms", "--for", "100ms")
    assert refused.returncode == 1 and "nothing was added to it" in in_one_line(refused), refused.stderr
    assert dump.read_text(encoding="utf-8") == QUERY


@pytest.mark.parametrize("options", [(), ("--append",)], ids=["new", "append"])
def test_what_is_no_file_is_told_at_once(machine, tmp_path, options):
    os.mkfifo(tmp_path / "fifo")
    for place, said in ((tmp_path, "is a folder"), (tmp_path / "fifo", "is no regular file"),
                        ("/dev/null", "is no regular file")):
        done = machine.run("record", place, *options, "--for", "1s", timeout=20)
        assert done.returncode == 1 and said in in_one_line(done), done.stderr


def test_append_is_proposed_only_where_there_is_a_file(machine, tape):
    nowhere = machine.run("record", "/nonexistent/x", "--for", "100ms")
    assert nowhere.returncode == 1 and "--append" not in nowhere.stderr
    assert "/nonexistent/x" in nowhere.stderr
    assert "--append" in machine.run("record", tape, "--for", "100ms").stderr


# --- what cannot be replayed ---------------------------------------------------------------------------


def test_a_damaged_snapshot_is_told_in_words_with_its_place(machine, tmp_path):
    broken = tmp_path / "broken.json"
    whole = machine.run("record", "-", "-d", "100ms", "--for", "100ms").stdout
    broken.write_text(whole[:3000], encoding="utf-8")
    done = machine.run("status", "--replay", broken)
    assert done.returncode == 1
    assert "line 1: not valid JSON from column 30" in in_one_line(done)
    assert "Have it written again" in in_one_line(done)
    assert "json.exception" not in done.stderr
    gpustat = machine.run("gpustat", "--replay", broken)
    assert gpustat.returncode == 1 and "--debug" not in gpustat.stderr + gpustat.stdout


def test_a_phase_of_what_has_none_is_refused(machine, tmp_path):
    dump = tmp_path / "dump.txt"
    dump.write_text(QUERY, encoding="utf-8")
    done = machine.run("status", "--replay", f"{dump}#nosuch")
    assert done.returncode == 1 and 'has no phase "nosuch"' in in_one_line(done)


@pytest.mark.parametrize("verb", ["smi", "gpustat"])
@pytest.mark.parametrize("words", [("--replay",), ("--replay=",)], ids=" ".join)
def test_an_option_without_its_value_is_told_so(machine, verb, words):
    done = machine.run(verb, *words)
    assert done.returncode != 0 and "--replay needs a value" in done.stderr + done.stdout


def test_a_recording_whose_first_line_was_cut_short_says_so_and_plays_from_the_next(machine, tmp_path):
    whole = tmp_path / "whole.jsonl"
    assert machine.run("record", "--for", "1s", "-d", "200ms", whole).returncode == 0
    lines = whole.read_text().splitlines()
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join([lines[0][:60], *lines[1:]]) + "\n")
    done = machine.run("--replay", cut, "status")
    assert done.returncode == 1 and "line 1" in done.stderr and "FILE#N" in done.stderr, done.stderr
    assert machine.run("--replay", f"{cut}#2", "status").returncode == 0
