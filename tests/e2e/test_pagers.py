"""Pagers, in a real terminal (tmux): behind a run, in front of it, and started by the job itself.
Keys reach them, and the terminal is afterwards as it was."""

import re
import shutil
import subprocess
import time

import pytest

from aftermath import leases, poll, show
from conftest import BERTH

needs_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="a real terminal: no tmux")
needs_less = pytest.mark.skipif(not shutil.which("less"), reason="a real pager: no less")
pytestmark = [needs_tmux, needs_less]


class Tmux:
    """A bash in a tmux server of its own, 80 columns by 20 rows."""

    def __init__(self, machine):
        self.base = ["tmux", "-S", str(machine.directory / "tmux"), "-f", "/dev/null"]
        env = machine.env | {"LESS": "", "TERM": "screen", "GIT_PAGER": "less"}
        env |= {"HISTFILE": "", "berth": BERTH}
        self.file = machine.directory / "settings"
        start = machine.directory / "bashrc"
        start.write_text("PS1='ready> '\n")
        shell = ["bash", "--noprofile", "--rcfile", str(start), "-i"]
        window = ["new-session", "-d", "-x", "80", "-y", "20"]
        subprocess.run([*self.base, *window, *shell], env=env, cwd=machine.directory, check=True)
        self.until(r"^ready>$")

    def key(self, *keys):
        subprocess.run([*self.base, "send-keys", *keys], check=True)

    def line(self, text):
        subprocess.run([*self.base, "send-keys", "-l", text], check=True)
        self.key("Enter")

    def screen(self):
        return subprocess.run(
            [*self.base, "capture-pane", "-p"], capture_output=True, text=True, check=True
        ).stdout.rstrip("\n")

    def until(self, pattern, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.screen(), re.MULTILINE)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"no {pattern!r} on the screen:\n{self.screen()}")

    def settings(self):
        """The terminal's settings, as the shell's programs find them."""
        self.file.unlink(missing_ok=True)
        self.line(f"clear; stty -g > {self.file}; echo written")
        self.until(r"^written$")
        return self.file.read_text()

    def close(self):
        subprocess.run([*self.base, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def tmux(machine):
    made = Tmux(machine)
    yield made
    made.close()


def assert_as_before(tmux, machine, before):
    poll(lambda: leases(machine), 30, "a lease outlives its run")
    assert tmux.settings() == before, "the terminal is not as it was"
    tmux.line("clear; echo typed; sleep 0; jobs; echo over")
    tmux.until(r"^typed\nover")


def test_a_run_into_a_pager_takes_its_keys_and_ends_with_it(machine, tmux):
    before = tmux.settings()
    tmux.line("clear; $berth run -q -- sh -c 'seq 100000' | less; echo codes=${PIPESTATUS[*]}=")
    tmux.until(r"^1\n2\n3\n")
    tmux.key("Space")
    tmux.until(r"^20\n21\n")
    tmux.key("q")
    codes = tmux.until(r"^codes=(\d+) (\d+)=$")
    assert codes.group(2) == "0"
    assert codes.group(1) in ("0", "141"), "as by hand: written, or ended by SIGPIPE"
    assert_as_before(tmux, machine, before)
    assert show(machine)["state"] == "ended"


def test_a_reader_that_has_enough_ends_the_run_as_by_hand(machine, tmux):
    before = tmux.settings()
    tmux.line("clear; $berth run -q -- seq 100000000 | head -1; echo codes=${PIPESTATUS[*]}=")
    assert tmux.until(r"^1\ncodes=(\d+) 0=$").group(1) == "141"
    assert_as_before(tmux, machine, before)
    assert show(machine)["end"]["signal"] == 13


def test_a_pager_that_the_job_starts_has_the_terminal(machine, tmux):
    before = tmux.settings()
    tmux.line("clear; $berth run -q -- sh -c 'seq 1000 | less; exit 7'; echo code=$?=")
    tmux.until(r"^1\n2\n3\n")
    tmux.key("G")
    tmux.until(r"^1000$")
    tmux.line("/^500$")
    tmux.key("g")
    tmux.until(r"^1\n2\n3\n")
    tmux.key("q")
    assert tmux.until(r"^code=(\d+)=$").group(1) == "7"
    assert_as_before(tmux, machine, before)


def test_a_stopped_pager_comes_back_with_fg(machine, tmux):
    (machine.directory / "numbers").write_text("".join(f"{n}\n" for n in range(1, 500)))
    before = tmux.settings()
    tmux.line("clear; $berth run -q -- less numbers")
    tmux.until(r"^1\n2\n3\n")
    tmux.key("C-z")
    tmux.until(r"Stopped")
    tmux.line("clear; echo in between")
    tmux.until(r"^in between")
    tmux.line("fg; echo code=$?=")
    tmux.until(r"^1\n2\n3\n")
    tmux.key("q")
    assert tmux.until(r"^code=(\d+)=$").group(1) == "0"
    assert_as_before(tmux, machine, before)


@pytest.mark.skipif(not shutil.which("git"), reason="git -p: no git")
def test_a_pager_that_git_starts_has_the_terminal(machine, tmux):
    (machine.directory / "long").write_text("".join(f"line {n}\n" for n in range(500)))
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    for words in (["init", "-q"], ["add", "long"], ["commit", "-q", "-m", "many lines"]):
        subprocess.run([*git, *words], cwd=machine.directory, env=machine.env, check=True)
    before = tmux.settings()
    tmux.line("clear; $berth run -q -- git -c color.ui=never -p show; echo code=$?=")
    tmux.until(r"many lines")
    tmux.key("Space")
    tmux.until(r"^\+line 1\d$")
    tmux.key("q")
    assert tmux.until(r"^code=(\d+)=$").group(1) in ("0", "141")
    assert_as_before(tmux, machine, before)
