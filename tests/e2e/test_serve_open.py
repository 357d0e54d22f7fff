"""`berth serve` opens its page: asked with --open, unasked at a desktop's terminal, and nowhere else. A page that
nobody could open is refused."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from conftest import BERTH, Terminal, end, wait_until
from serving import Server, UnixConnection
from test_two_users import IS_ROOT, VIEWER, words_as

BROWSER = """#!/bin/sh
ls -l /proc/self/fd > "$0.descriptors"
printf '%s\\n' "$@" > "$0.new" && mv "$0.new" "$0.opened"
exec sleep 600
"""


def leads_to(address):
    """Where the file goes on to that a browser was given."""
    assert address.startswith("file:///"), address
    return re.search(r'content="0;url=([^"]+)"', Path(address.removeprefix("file://")).read_text())[1]


def of_environment(words):
    """Processes in whose environment these words are."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and words in (entry / "environ").read_text(errors="replace"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class Desktop:
    """Somebody who is not root, with a browser that notes what it is to show."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="berth-open-"))
        shutil.copy(BERTH, self.folder / "berth")
        self.browser = self.folder / "browser"
        self.browser.write_text(BROWSER, encoding="ascii")
        for path in (self.folder, self.folder / "berth", self.browser):
            path.chmod(0o777)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", "TERM": "xterm",
                    "BERTH_LEDGER": str(self.folder / "ledger"), "BERTH_SIM": "server-8xh100"}  # fmt: skip
        self.started = []
        self.terminals = []

    def opened(self):
        """The words that the browser was given; nothing: it was not begun."""
        told = Path(f"{self.browser}.opened")
        return told.read_text(encoding="utf-8").splitlines() if told.exists() else None

    def serve(self, *words, piped=False, **env):
        """A server at a terminal (its input in a pipe where `piped`)."""
        terminal = Terminal(200)
        self.terminals.append(terminal)
        as_them = words_as(VIEWER) if IS_ROOT else []
        command = [*as_them, str(self.folder / "berth"), "serve", "--listen", "127.0.0.1:0",
                   "--socket", str(self.folder / "sock"), *words]  # fmt: skip
        process = subprocess.Popen(
            command, env=self.env | env, stdin=subprocess.DEVNULL if piped else terminal.slave,
            stdout=terminal.slave, stderr=terminal.slave, start_new_session=True,
        )  # fmt: skip
        self.started.append(process)
        wait_until(lambda: b"SIMULATED" in terminal.read() or process.poll() is not None, "it serves or ends", 20)
        return process, terminal

    def close(self):
        for process in self.started:
            end(process)
        for terminal in self.terminals:
            terminal.close()
        for pid in self.browsers():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def browsers(self):
        started = [process.pid for process in self.started]
        return [pid for pid in of_environment(str(self.folder)) if pid not in started]


@pytest.fixture
def desktop():
    one = Desktop()
    yield one
    one.close()


def test_at_a_desktops_terminal_the_page_opens_by_itself(desktop):
    process, terminal = desktop.serve(BROWSER=str(desktop.browser))
    (address,) = wait_until(desktop.opened, "the browser is begun", 20)
    wait_until(lambda: f"opening it in {desktop.browser} …" in terminal.read().decode(errors="replace"), "it says what it does", 20)
    with urllib.request.urlopen(leads_to(address), timeout=60) as answer:
        assert b"<title>" in answer.read()
    # The browser gets nothing of the server's: neither its door nor its end.
    descriptors = Path(f"{desktop.browser}.descriptors").read_text(encoding="utf-8")
    assert "socket:" not in descriptors and "anon_inode" not in descriptors and "/dev/pts" not in descriptors, descriptors
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert desktop.browsers(), "the browser goes on"
    port = urllib.parse.urlsplit(leads_to(address)).port
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
        again.listen()


def test_the_demonstration_ends_with_the_page_open(desktop):
    terminal = Terminal(100)
    desktop.terminals.append(terminal)
    env = {name: value for name, value in desktop.env.items() if name != "BERTH_SIM"}
    env |= {"BROWSER": str(desktop.browser), "TMPDIR": str(desktop.folder), "BERTH_NVML": "/nonexistent/libnvidia-ml.so.1"}
    command = [*(words_as(VIEWER) if IS_ROOT else []), str(desktop.folder / "berth"), "demo"]
    process = subprocess.Popen(
        command, env=env, stdin=terminal.slave, stdout=terminal.slave, stderr=terminal.slave, start_new_session=True
    )
    desktop.started.append(process)
    said = ""

    def opened():
        nonlocal said
        said = terminal.read().decode(errors="replace")
        assert process.poll() is None, said
        return desktop.opened()

    (address,) = wait_until(opened, "the browser is begun", 120)
    assert "6. A server that has been used for four weeks" in said
    page = leads_to(address)
    with urllib.request.urlopen(page, timeout=60) as answer:
        assert b"<title>" in answer.read()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT, terminal.read()


OURS = {"BROWSER": "{browser}"}
XDG = {"DISPLAY": ":7", "PATH": "{folder}:{path}"}
HOOK = {"VSCODE_IPC_HOOK_CLI": "/run/user/1/vscode-ipc.sock"}


@pytest.mark.parametrize(
    ("words", "env", "piped"),
    [
        (["--no-open"], {"BROWSER": "{browser}"}, False),
        ([], {}, False),
        ([], {"DISPLAY": ":7", "SSH_CONNECTION": "a 1 b 2", "PATH": "{folder}:{path}"}, False),
        ([], {"BROWSER": "{browser}"}, True),
        ([], {"BROWSER": "/nonexistent/browser"}, False),
        ([], OURS | {"TMUX": "/tmp/tmux-1/default,1,0"}, False),
        ([], OURS | {"STY": "1.pts-0.host"}, False),
        ([], OURS | {"SUDO_UID": "1000"}, False),
        ([], OURS | {"CI": "true"}, False),
        ([], OURS | {"SSH_CONNECTION": "a 1 b 2"}, False),
        ([], OURS | {"SSH_TTY": "/dev/pts/0"}, False),
        ([], OURS | {"SSH_CONNECTION": "a 1 b 2", "VSCODE_IPC_HOOK_CLI": ""}, False),
        ([], XDG | HOOK | {"SSH_TTY": "/dev/pts/0"}, False),
        ([], XDG | HOOK | {"SSH_CONNECTION": "a 1 b 2", "BROWSER": " : &"}, False),
    ],
    ids=["not-wanted", "no-desktop", "through-ssh", "no-terminal", "no-browser", "tmux", "screen", "sudo", "ci",
         "ssh-and-browser", "ssh-tty-and-browser", "ssh-and-no-hook", "ssh-and-hook-alone", "ssh-and-no-command"],
)  # fmt: skip
def test_where_nobody_sits_nothing_opens_and_nothing_is_said(desktop, words, env, piped):
    shutil.copy(desktop.browser, desktop.folder / "xdg-open")
    names = {"browser": desktop.browser, "folder": desktop.folder, "path": desktop.env["PATH"]}
    _, terminal = desktop.serve(*words, piped=piped, **{name: value.format(**names) for name, value in env.items()})
    connection = UnixConnection(str(desktop.folder / "sock"))
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    # The process that opens it was begun before the server. It is one of these until it becomes the browser.
    assert desktop.opened() is None and not Path(f"{desktop.folder}/xdg-open.opened").exists()
    said = terminal.read()
    assert b"no page" not in said and b"opening it" not in said and not desktop.browsers()


def test_through_ssh_it_opens_by_itself_where_an_editor_reaches_back(desktop):
    # What is set to nothing is not set.
    desktop.serve(BROWSER=str(desktop.browser), SSH_CONNECTION="a 1 b 2", SSH_TTY="/dev/pts/0",
                  TMUX="", STY="", SUDO_UID="", CI="", **HOOK)  # fmt: skip
    (address,) = wait_until(desktop.opened, "the browser is begun", 20)
    assert address.startswith("http://127.0.0.1:")


def test_a_desktop_without_a_browser_of_ones_own_asks_xdg_open(desktop):
    shutil.copy(desktop.browser, desktop.folder / "xdg-open")
    desktop.serve(WAYLAND_DISPLAY="wayland-0", PATH=f"{desktop.folder}:{desktop.env['PATH']}")
    told = Path(f"{desktop.folder}/xdg-open.opened")
    address = wait_until(lambda: told.exists() and told.read_text(), "it is begun", 20).strip()
    assert leads_to(address).startswith("http://127.0.0.1:")


@pytest.fixture
def browser(tmp_path):
    """A browser that notes what it is to show, and ends."""
    path = tmp_path / "browser"
    path.write_text(BROWSER.replace("sleep 600", "true"), encoding="ascii")
    path.chmod(0o755)
    return path


def opened_by(browser):
    told = Path(f"{browser}.opened")
    wait_until(told.exists, "the browser is begun", 20)
    return told.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("--new-window=%s  -x", ["--new-window={url}", "-x"]),
        ("--app=%s,%s -u %s &", ["--app={url},{url}", "-u", "{url}"]),
        ("-a '%s b' &", ["-a", "'{url}", "b'"]),
        ("-x &", ["-x", "{url}"]),
        ("& -x", ["&", "-x", "{url}"]),
    ],
    ids=["one-place", "every-place", "quotes-are-letters", "no-place", "only-at-the-end"],
)
def test_asked_for_it_opens_without_a_terminal_and_with_the_browsers_own_words(machine, browser, words, given):
    machine.env["BROWSER"] = f"/nonexistent/one:&:{browser} {words}"
    server = Server(machine, "--open")
    try:
        url = f"file://{machine.directory}/state/berth/open-{server.process.pid}.html"
        assert opened_by(browser) == [word.format(url=url) for word in given]
        wait_until(lambda: server.says(f"opening it in {browser} …"), "it says what it does", 20)
        assert not server.says("no page")
    finally:
        server.close()


@contextlib.contextmanager
def served_by_shell(machine, begin, *words, out=subprocess.DEVNULL):
    """A server that a shell begins in this way, once it answers at its socket."""
    path = str(machine.directory / "serve.sock")
    command = machine.command("serve", "--listen", "127.0.0.1:0", "--socket", path, *words)
    with subprocess.Popen(["sh", "-c", begin, "sh", *command], env=machine.env,
                          stdin=subprocess.DEVNULL, stdout=out, stderr=out) as process:  # fmt: skip

        def answers():
            assert process.poll() is None, f"it ended with {process.returncode}"
            connection = UnixConnection(path)
            try:
                connection.request("GET", "/api/v1/overview")
                return connection.getresponse().status == 200
            except OSError:
                return False
            finally:
                connection.close()

        try:
            wait_until(answers, "it serves", 20)
            yield process
        finally:
            end(process)


@pytest.mark.parametrize(
    "begin",
    ['exec "$@" <&-', 'exec "$@" 2>&-', 'exec "$@" <&- >&- 2>&-', "trap '' CHLD; exec \"$@\""],
    ids=["no-input", "no-stderr", "nothing", "children-ignored"],
)
def test_it_opens_however_it_was_begun(machine, browser, begin):
    machine.env["BROWSER"] = str(browser)
    said = machine.directory / "said"
    with said.open("w") as out, served_by_shell(machine, begin, "--open", out=out):
        (address,) = opened_by(browser)
        assert leads_to(address).startswith("http://127.0.0.1:")
        descriptors = Path(f"{browser}.descriptors").read_text(encoding="utf-8")
        assert " 0 -> /dev/null\n" in descriptors and " 2 -> /dev/null\n" in descriptors, descriptors
    assert "no page" not in said.read_text(encoding="utf-8")


@pytest.mark.parametrize("closed", [(0,), (2,), (0, 1, 2)], ids=["no-input", "no-stderr", "nothing"])
def test_no_file_of_the_servers_is_where_a_closed_stream_was(machine, closed):
    given = machine.directory / "given"
    begin = 'exec "$@" <"$GIVEN" ' + " ".join(f"{stream}>&-" for stream in closed)
    machine.env["GIVEN"] = str(given)
    with given.open("a") as out, served_by_shell(machine, begin, out=out) as process:
        found = [os.readlink(f"/proc/{process.pid}/fd/{stream}") for stream in (0, 1, 2)]
        assert found == ["/dev/null" if stream in closed else str(given) for stream in (0, 1, 2)]


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({}, "there is no desktop here ($DISPLAY and $WAYLAND_DISPLAY are not set): open the address yourself"),
        ({"DISPLAY": ":7", "PATH": "/nonexistent"}, "there is no xdg-open here, and $BROWSER is not set: open the"),
        ({"BROWSER": "/nonexistent/one %s:/nonexistent/t\033wo &"},
         "none of the commands in $BROWSER can be found (tried without a shell: /nonexistent/one, "
         "/nonexistent/t\\x1Bwo). Set it to one that is there, or open the address yourself"),
        ({"BROWSER": '"/nonexistent/My Browser/run" %s'}, '(tried without a shell: "/nonexistent/My). Set it'),
        ({"BROWSER": "/nonexistent/" + 500 * "x"}, "/nonexistent/" + 106 * "x" + "…). Set it"),
    ],
    ids=["no-desktop", "no-xdg-open", "each-that-was-tried", "quotes", "long"],
)  # fmt: skip
def test_what_cannot_be_opened_is_said_and_it_serves_all_the_same(machine, env, why):
    server = Server(machine, "--open", env=env)
    try:
        assert [line for line in server.said if "no page is opened: " in line and why in line], server.said
    finally:
        server.close()


def test_mistakes(machine, tmp_path):
    both = machine.run("serve", "--open", "--no-open")
    assert both.returncode == 2 and "one of them" in both.stderr
    browser = tmp_path / "browser"
    browser.write_text(BROWSER, encoding="ascii")
    browser.chmod(0o755)
    # A server that does not begin leaves no browser behind.
    refused = machine.run("serve", "--open", "--listen", "127.0.0.1:0", "--socket", str(tmp_path), env={"BROWSER": str(browser)})
    assert refused.returncode != 0
    # One that was begun would stay.
    wait_until(lambda: not of_environment(str(browser)), "nobody is left who would open it")
    assert not Path(f"{browser}.opened").exists()


@pytest.mark.parametrize("words", [["--listen", ","], ["--listen", ""], ["--listen", " , "],
                                   ["--listen", ",", "--socket", "none"], ["--listen", "none", "--socket", "none"]])
def test_a_server_that_nobody_could_reach_is_refused(machine, words):
    done = machine.run("serve", *words)
    assert done.returncode == 2 and "--listen" in done.stderr, done.stderr
