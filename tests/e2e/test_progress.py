"""What takes more than a second shows how far it is. It shows so in place, on a terminal only, and is gone at the
end."""

import os
import pathlib
import re
import signal
import socket
import time

import pytest
from aftermath import poll, runs
from conftest import FakeDriver, Terminal, end, scenario, wait_until

BAR = re.compile(rb"\[#*\.*\]")
GONE = b"\r\x1b[K"


def ended(process, terminal):
    """Everything that the terminal was sent, once the process has ended."""
    wait_until(lambda: (terminal.read(), process.poll() is not None)[1], "it ends")
    return terminal.read()


def shown_by(machine, *words, what, go_on=lambda: None):
    """All that it wrote on a terminal; it goes on when it has said how long `what` takes."""
    terminal = Terminal(100)
    process = machine.start_on(terminal, *words)
    try:
        wait_until(lambda: what in terminal.read() or process.poll() is not None, f"it says: {what}")
        go_on()
        shown = ended(process, terminal)
    finally:
        end(process)
        terminal.close()
    assert what in shown and what not in shown.rpartition(GONE)[2], shown
    return shown


@pytest.mark.parametrize("words", [["status"], ["fit", "7B"]], ids=" ".join)
def test_a_look_at_a_slow_driver_shows_that_it_looks(tmp_path, words):
    machine = FakeDriver(tmp_path, scenario("lab-4"), faults="nvmlInit_v2=sleep:1800ms")
    assert b"1080 Ti" in shown_by(machine, *words, what=b"looking at the GPUs: 1 s")


def test_who_asks_other_servers_is_told_that_it_asks(machine):
    with socket.create_server(("127.0.0.1", 0)) as slow:
        shown = shown_by(machine, "status", "--all", "--join", f"slow=http://127.0.0.1:{slow.getsockname()[1]}",
                         what=b"asking the other servers", go_on=lambda: slow.accept()[0].close())
    assert BAR.search(shown) and b"slow" in shown.rpartition(GONE)[2], shown


def test_a_file_for_support_shows_that_its_parts_are_gathered(tmp_path):
    machine = FakeDriver(tmp_path, scenario("lab-4"))
    gate, journal = tmp_path / "go-on", tmp_path / "bin" / "journalctl"
    journal.parent.mkdir()
    journal.write_text(f"#!/bin/sh\nuntil test -e '{gate}'; do sleep 0.05; done\n", encoding="utf-8")
    journal.chmod(0o755)
    machine.env["PATH"] = f"{journal.parent}:{machine.env['PATH']}"
    file = tmp_path / "support.txt"
    shown_by(machine, "support", "--yes", "-o", file, what=b"gathering the parts of the file", go_on=gate.touch)
    assert "journalctl" in file.read_text(encoding="utf-8")


def stubborn(machine):
    """A run of a job that does not end on TERM."""
    machine.run("run", "--detach", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    poll(lambda: runs(machine)["runs"][0]["state"] != "running", 60, "it does not run")


def test_a_stop_that_waits_shows_for_how_long(machine):
    stubborn(machine)
    terminal = Terminal(100)
    stop = machine.start_on(terminal, "stop", "--grace", "4s", "last")
    try:
        shown = ended(stop, terminal)
    finally:
        end(stop)
        terminal.close()
    assert BAR.search(shown) and b"waiting for run" in shown, shown
    assert shown.rindex(GONE) > max(bar.start() for bar in BAR.finditer(shown)), "the bar stays behind"
    assert b"was killed" in shown.rpartition(GONE)[2], shown


def test_nothing_of_it_is_in_a_pipe(machine):
    stubborn(machine)
    done = machine.run("stop", "--grace", "3s", "last")
    assert "was killed" in done.stderr
    assert not BAR.search(done.stderr.encode()) and "\r" not in done.stderr and "\x1b" not in done.stderr


def test_who_reads_a_slow_log_is_told_that_it_reads(machine):
    """A log that comes through a pipe has no known end: how long it took until now is told."""
    read, write = os.pipe()
    terminal = Terminal(100)
    explain = machine.start_on(terminal, "explain", "--log", "-", stdin=read)
    try:
        os.close(read)

        def told():
            os.write(write, b"step 1\n")
            return re.search(rb"reading stdin: \d+ s", terminal.read())

        wait_until(told, "it says that it reads")
        os.write(write, b"torch.OutOfMemoryError: CUDA out of memory.\n")
        os.close(write)
        shown = ended(explain, terminal)
    finally:
        end(explain)
        terminal.close()
    assert b"reading" not in shown.rpartition(GONE)[2], shown


def of_many_seconds(machine, count):
    """A run whose record has that many samples."""
    machine.run("run", "--", "sleep", "2")
    record = pathlib.Path(runs(machine)["runs"][0]["directory"])
    lines = (record / "samples").read_text().splitlines()
    sample = next(line for line in lines if line.startswith('{"t":'))
    begin, began = re.match(r'\{"t":(\d+)', sample).group(0, 1)
    rest = sample[len(begin):]
    header = next(line for line in lines if "device_columns" in line)
    with (record / "samples").open("w") as file:
        file.write(header + "\n")
        file.writelines(f'{{"t":{int(began) + second * 1000}{rest}\n' for second in range(count))
    return record


def test_a_report_of_a_long_run_shows_how_much_of_it_is_read(machine):
    record = of_many_seconds(machine, 200_000)
    terminal = Terminal(100)
    report = machine.start_on(terminal, "report", "-o", machine.directory / "report.html", "last")

    def reads():
        try:
            return any(os.readlink(fd) == str(record / "samples")
                       for fd in pathlib.Path(f"/proc/{report.pid}/fd").iterdir())  # fmt: skip
        except OSError:
            return False

    try:
        # However fast the machine is: it is held up for more than a second while it reads.
        wait_until(lambda: reads() or report.poll() is not None, "it reads the samples")
        report.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        wait_until(lambda: time.monotonic() > stopped + 1.2, "so long")
        report.send_signal(signal.SIGCONT)
        shown = ended(report, terminal)
    finally:
        end(report)
        terminal.close()
    assert report.returncode == 0
    assert BAR.search(shown) and b"reading the record of run" in shown, shown
    assert shown.rpartition(GONE)[2].strip().endswith(b"report.html")
