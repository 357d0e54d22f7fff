"""A run's owner chooses what its record names, and root reads it. `berth serve` does, and the command line with the
owner's HOME. Whatever stands there, root opens nothing for the owner."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from conftest import BERTH, Machine, end, wait_until
from serving import Server
from test_serve_two_users import Asker
from test_two_users import words_as

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="reading for others: only root does")

ALICE, BOB = 487311, 487313
SECRET = "a line that only root may read"
PATIENCE = 60
# Each file of a record, and each folder on the way to it.
FILES = ["manifest.json", "end.json", "events", "marks", "samples", "keeper.lock"]


class Home(Machine):
    """Alice's home with one finished run of a simulated server, and a server of root's that reads it."""

    def __init__(self, directory):
        super().__init__(directory, "lab-4")
        directory.chmod(0o755)
        self.berth = str(shutil.copy(BERTH, directory / "program"))
        self.home = directory / "home/alice"
        self.state = self.home / ".local/state"
        self.home.mkdir(parents=True)
        os.chown(self.home, ALICE, ALICE)
        (directory / "ledger").mkdir()
        (directory / "ledger").chmod(0o1777)
        passwd = f"root:x:0:0::/root:/bin/sh\nalice:x:{ALICE}:{ALICE}::{self.home}:/bin/sh\n"
        (directory / "passwd").write_text(passwd, encoding="utf-8")
        self.secret = directory / "secret"
        self.secret.write_text(SECRET + "\n")
        self.secret.chmod(0o600)
        made = self.as_alice("run", "-q", "--detach", "--", "echo", "hers")
        assert made.returncode == 0, made.stderr
        self.run_id = made.stdout.strip()
        assert self.as_alice("wait", self.run_id).returncode == 0
        self.record = self.state / "berth/runs" / self.run_id
        shown = json.loads((self.record / "manifest.json").read_text())
        wait_until(lambda: not os.path.exists(f"/proc/{shown['keeper']['pid']}"), "its keeper has ended", PATIENCE)
        self.whole = directory / "whole"
        shutil.copytree(self.state, self.whole)

    def command(self, *words):
        bound = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"']
        return [*bound, str(self.directory / "passwd"), self.berth, *map(str, words)]

    def as_alice(self, *words):
        env = self.environment({"HOME": str(self.home), "XDG_STATE_HOME": None})
        return subprocess.run([*words_as(ALICE), self.berth, *map(str, words)], env=env, text=True, timeout=PATIENCE,
                              capture_output=True, stdin=subprocess.DEVNULL, check=False, cwd="/")

    def again(self):
        """Her home as it was."""
        shutil.rmtree(self.state)
        shutil.copytree(self.whole, self.state, symlinks=True)
        for path in (self.state, *self.state.rglob("*")):
            os.lchown(path, ALICE, ALICE)

    def names_as_log(self, path):
        manifest = self.record / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"log": str(path)}))

    def of_alice(self, make, path):
        make(path)
        os.lchown(path, ALICE, ALICE)
        return path


@pytest.fixture(scope="module")
def alices():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-records-"))
    made = Home(directory)
    made.env["BERTH_HOMES"] = ""  # as its own passwd says
    made.server = Server(made)
    made.asks = Asker(made, uid=ALICE)
    try:
        yield made
    finally:
        made.server.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def home(alices):
    alices.again()
    return alices


def hard_link(home, path):
    path.hardlink_to(home.secret)


# What she puts in the place of a file, and words of what must not be shown of it.
TRICKS = {
    "the map of whoever reads": (lambda home, path: path.symlink_to("/proc/self/maps"), "r-xp"),
    "the threads of whoever reads": (lambda home, path: path.symlink_to("/proc/thread-self/status"), "VmRSS"),
    "a file of root's": (lambda home, path: path.symlink_to(home.secret), SECRET),
    "another name of a file of root's": (hard_link, SECRET),
    "a file that all may read": (lambda home, path: path.symlink_to("/etc/os-release"), "ID="),
    "a FIFO": (lambda home, path: os.mkfifo(path), "\0"),
    "zeros without an end": (lambda home, path: path.symlink_to("/dev/zero"), "\0"),
    "a terminal": (lambda home, path: path.symlink_to("/dev/ptmx"), "\0"),
    "a folder": (lambda home, path: path.mkdir(), "\0"),
}
LOGS = {
    "/proc/self/maps": "r-xp", "/proc/thread-self/maps": "r-xp", "/proc/self/mountinfo": "rw,", "/proc/version": "Linux",
    "/sys/kernel/mm/transparent_hugepage/enabled": "never", "/etc/shadow": "root:", "/etc/os-release": "ID=", "/dev/zero": "\0",
}


VERBS = [["logs"], ["show", "--json"], ["explain"], ["report", "--json"], ["runs"]]


def answers_of(home, verbs=VERBS):  # noqa: B006
    """All that the server and root at the command line tell of that run."""
    api = f"/api/v1/runs/{home.run_id}"
    parts = ("log", "samples", "explanation", "report")
    told = {path: home.asks.get(path) for path in ("/api/v1/runs", api, *(f"{api}/{part}" for part in parts))}
    texts = {path: answer.body.decode(errors="replace") for path, answer in told.items()}
    for words in verbs:
        verb = words[:1] if words == ["runs"] else [words[0], home.run_id, *words[1:]]
        done = home.run(*verb, env={"HOME": str(home.home), "XDG_STATE_HOME": None}, timeout=PATIENCE)
        texts[" ".join(words)] = done.stdout
    return told[f"{api}/log"], texts


def test_her_own_log_is_told(home):
    log, texts = answers_of(home)
    assert log.status == 200 and log.json["text"] == "hers\n"
    assert texts["logs"] == "hers\n" and home.run_id in texts["show --json"]


def test_a_log_behind_her_own_link_is_told(home):
    moved = home.of_alice(lambda path: path.write_text("moved\n"), home.home / "moved")
    home.names_as_log(home.of_alice(lambda path: path.symlink_to(moved), home.home / "link"))
    log, texts = answers_of(home)
    assert (log.json["text"], texts["logs"]) == ("moved\n", "moved\n")


@pytest.mark.parametrize("path", LOGS)
def test_what_is_no_file_of_hers_is_no_log(home, path):
    home.names_as_log(path)
    log, texts = answers_of(home)
    assert log.status >= 400, log.body
    shown = {what: text for what, text in texts.items() if what.endswith("log") or what == "logs"}
    assert not [what for what, text in shown.items() if LOGS[path] in text.replace(path, "")], shown


@pytest.mark.parametrize("trick", TRICKS)
def test_what_stands_in_the_place_of_her_log_is_no_log(home, trick):
    make, words = TRICKS[trick]
    make(home, home.home / "log")
    if not (home.home / "log").is_symlink() and trick != "another name of a file of root's":
        os.lchown(home.home / "log", ALICE, ALICE)
    try:
        home.names_as_log(home.home / "log")
        log, texts = answers_of(home)
    finally:
        shutil.rmtree(home.home / "log") if (home.home / "log").is_dir() else (home.home / "log").unlink()
    assert log.status >= 400, log.body
    assert not [what for what, text in texts.items() if words in text], texts


@pytest.mark.parametrize("link", ["middle", "folder of root's"])
def test_a_linked_folder_on_the_way_to_a_log_opens_nothing(home, link):
    to, file = ("/proc/self", "maps") if link == "middle" else (str(home.directory), "secret")
    door = home.home / "door"
    door.symlink_to(to)
    try:
        home.names_as_log(door / file)
        log, texts = answers_of(home)
    finally:
        door.unlink()
    assert log.status >= 400, log.body
    assert not [what for what, text in texts.items() if "r-xp" in text or SECRET in text], texts


@pytest.mark.parametrize("trick", TRICKS)
def test_what_stands_in_the_place_of_a_records_file_is_not_waited_for_nor_told(home, trick):
    make, words = TRICKS[trick]
    for file in FILES:
        home.again()
        (home.record / file).unlink(missing_ok=True)
        make(home, home.record / file)
        if file == "keeper.lock":
            (home.record / "end.json").unlink(missing_ok=True)  # then the lock is asked
        _, texts = answers_of(home, [["explain"]])
        assert not [what for what, text in texts.items() if words in text], (file, texts)
        # The next who asks is answered as well: nothing hangs on it.
        assert home.server.get("/api/v1/runs", over="unix").status == 200, file


def test_a_fifo_that_the_end_would_be_written_through_is_not_waited_for(home):
    (home.record / "end.json").unlink()
    for name in ("end.room", "end.json", f"end.json.new.{home.server.process.pid}"):
        (home.record / name).unlink(missing_ok=True)
        home.of_alice(os.mkfifo, home.record / name)
    _, texts = answers_of(home)
    assert "end unknown" in texts["show --json"], texts


def test_holes_without_an_end_are_not_read_to_it(home):
    for file in ("samples", "marks", "events", "end.json"):
        (home.record / file).touch()
        os.truncate(home.record / file, 1 << 42)
    home.names_as_log(home.home / "holes")
    holes = home.of_alice(lambda path: path.touch(), home.home / "holes")
    os.truncate(holes, 1 << 42)
    for path in ("", "/samples", "/log", "/explanation", "/report"):
        answer = home.asks.get(f"/api/v1/runs/{home.run_id}{path}")
        assert answer.status in (200, 400, 500), (path, answer.body)
    assert home.run("explain", home.run_id, env={"HOME": str(home.home), "XDG_STATE_HOME": None},
                    timeout=PATIENCE).returncode is not None
    holes.unlink()


def test_a_record_in_a_linked_folder_is_nobodys(home):
    """Between two looks its owner could put another's folder in the place of this one."""
    runs = home.record.parent
    runs.rename(runs.parent / "away")
    theirs = home.directory / "theirs"
    shutil.copytree(runs.parent / "away", theirs)
    for path in (theirs, *theirs.rglob("*")):
        os.lchown(path, BOB, BOB)
    runs.symlink_to(theirs)
    try:
        log, texts = answers_of(home)
    finally:
        shutil.rmtree(theirs)
    assert log.status == 404, log.body
    assert home.run_id not in texts["/api/v1/runs"]
    assert not texts["logs"]


@pytest.mark.parametrize("rights", [0o1777, 0o755])
def test_root_takes_no_record_for_its_own_that_she_may_have_written(home, rights):
    """Her runs are a link to a folder that is root's, in which a record of hers stands."""
    folder = home.directory / f"everybodys-{rights:o}"
    target = folder / home.run_id
    folder.mkdir()
    target.mkdir()
    for file in home.record.iterdir():
        shutil.copy(file, target / file.name)
    theirs = subprocess.Popen([*words_as(BOB), "sleep", "600"])
    try:
        wait_until(lambda: os.stat(f"/proc/{theirs.pid}").st_uid == BOB, "it is bob's", PATIENCE)
        stat = pathlib.Path(f"/proc/{theirs.pid}/stat").read_text(encoding="utf-8")
        keeper = {"pid": theirs.pid, "start_ticks": int(stat.rpartition(")")[2].split()[19])}
        manifest = target / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"keeper": keeper, "waiting": True}))
        (target / "end.json").unlink()
        (target / "keeper.lock").unlink(missing_ok=True)
        for file in target.iterdir():
            os.chown(file, ALICE, ALICE)
        target.chmod(rights)
        runs = home.record.parent
        runs.rename(runs.parent / "before")
        os.symlink(folder, runs)
        os.lchown(runs, ALICE, ALICE)
        home.run("stop", "--all", "--grace", "0s", env={"HOME": str(home.home), "XDG_STATE_HOME": None}, timeout=PATIENCE)
        assert theirs.poll() is None, "bob's process was ended"
    finally:
        os.kill(theirs.pid, signal.SIGKILL)
        end(theirs)


@pytest.mark.parametrize("waiting", [False, True])
def test_root_stops_nothing_of_others_for_a_record(home, waiting):
    """Her record names a process of bob's as its keeper, and that process has one below it."""
    theirs = subprocess.Popen([*words_as(BOB), "sh", "-c", "sleep 600; :"], start_new_session=True)
    try:
        wait_until(lambda: os.stat(f"/proc/{theirs.pid}").st_uid == BOB, "it is bob's", PATIENCE)
        stat = pathlib.Path(f"/proc/{theirs.pid}/stat").read_text(encoding="utf-8")
        keeper = {"pid": theirs.pid, "start_ticks": int(stat.rpartition(")")[2].split()[19])}
        manifest = home.record / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"keeper": keeper, "waiting": waiting}))
        (home.record / "end.json").unlink()
        (home.record / "keeper.lock").unlink(missing_ok=True)
        stopped = home.run("stop", "--grace", "0s", home.run_id, env={"HOME": str(home.home), "XDG_STATE_HOME": None}, timeout=PATIENCE)
        assert stopped.returncode is not None and theirs.poll() is None, "bob's process was ended"
    finally:
        os.killpg(theirs.pid, signal.SIGKILL)
        end(theirs)
