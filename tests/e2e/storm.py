"""Runs of several users under kills and stops, judged from outside of berth.

Each process of a job puts a mark on each device it was given (tests/stress/device_job.cc). A mark counts as long as the
kernel says that its process lives, whatever descriptors or environment that has. The jobs look at each other's marks,
and so does a watcher beside them."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from aftermath import children
from conftest import BERTH, BUILD

STRESS = BUILD / "tests/stress/lease_stress"
IS_ROOT = os.geteuid() == 0
# Each test program has users of its own: what is left of them is killed at the end.
USERS = tuple(61001 + 5 * (os.getpid() % 700) + i for i in range(5)) if IS_ROOT else (os.geteuid(),)
CARD_GIB = 79
EXITING = 4  # in the flags of /proc/PID/stat: it may have closed its files


def stat_of(pid):
    """The fields of /proc/PID/stat from the third on; nothing: it has gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def lives(pid, start):
    fields = stat_of(pid)
    return bool(fields) and int(fields[19]) == start and fields[0] not in b"ZX" and not int(fields[6]) & EXITING


class Watcher(threading.Thread):
    """Looks at the marks until it is told to end. If a listed mark's process lives afterwards, it lived when the mark
    was listed. So two such marks lived at once."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.found, self.looks = folder, set(), 0
        self._over = threading.Event()

    def run(self):
        while not self._over.wait(0.05):
            for device in self.folder.glob("on-*"):
                self._look(device)
            self.looks += 1

    def _look(self, device):
        listed = [name.split(".") for name in os.listdir(device)]
        alive = {run: int(gib) for pid, start, gib, run in listed if lives(int(pid), int(start))}
        whole = 0 in alive.values()
        if (whole and len(alive) > 1) or sum(alive.values()) > CARD_GIB:
            self.found.add((device.name, tuple(sorted(alive.items()))))

    def end(self):
        self._over.set()
        self.join()


class Storm:
    """A machine of five users (one, where only root can be several) with one ledger, and their runs."""

    def __init__(self, sim="server-8xh100"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="berth-storm-"))
        self.folder.chmod(0o755)
        self.ledger = self.folder / "run/berth"
        if IS_ROOT:
            subprocess.run([STRESS, "make-ledger", self.folder], check=True)
        else:
            self.ledger.mkdir(parents=True, mode=0o700)
        self.berth = str(shutil.copy(BERTH, self.folder / "berth"))
        self.stress = shutil.copy(STRESS, self.folder / "stress")
        self.marks = self.folder / "marks"
        self.marks.mkdir()
        self.marks.chmod(0o1777)
        for name in ("started", "collisions"):
            (self.marks / name).touch()
            (self.marks / name).chmod(0o666)
        self.env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "BERTH_SIM": sim, "BERTH_LEDGER": str(self.ledger)}
        for uid in USERS:
            self.home(uid).mkdir()
            if IS_ROOT:
                os.chown(self.home(uid), uid, uid)

    def home(self, uid):
        return self.folder / f"home-{uid}"

    def start(self, uid, *words, env=(), **how):
        home = str(self.home(uid))
        env = self.env | {"HOME": home, "XDG_STATE_HOME": home + "/state"} | dict(env)
        user = {"user": uid, "group": uid, "extra_groups": []} if IS_ROOT else {}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | how
        return subprocess.Popen([self.berth, *map(str, words)], env=env, cwd=home, text=True, **user, **streams)

    def job(self, kind, milliseconds, gib):
        return [self.stress, "job", str(self.marks), kind, str(milliseconds), str(gib)]

    def lines(self, name):
        return (self.marks / name).read_text().splitlines()

    def ledger_files(self):
        """By owner, what is there besides what the administrator has made."""
        found = {uid: [] for uid in USERS}
        for path in self.ledger.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                if not path.is_dir() and path.name != "host.lock" and path.stat().st_uid in found:
                    found[path.stat().st_uid].append(path.name)
        return found

    def half_records(self):
        """By owner, records of launches that never began."""
        runs = {uid: self.home(uid) / "state/berth/runs" for uid in USERS}
        return {uid: [one.name for one in folder.iterdir() if one.name.startswith(".")]
                for uid, folder in runs.items() if folder.exists()}

    def processes(self):
        """The storm's processes: by its users if these exist nowhere else, or else by their environment and their
        marks."""
        found = {int(mark.name.split(".")[0]) for mark in self.marks.glob("on-*/*")
                 if lives(*map(int, mark.name.split(".")[:2]))}
        for one in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                ours = one.stat().st_uid in USERS if IS_ROOT else str(self.folder).encode() in (one / "environ").read_bytes()
                if ours and int(one.name) != os.getpid() and stat_of(one.name)[:1] not in ([], [b"Z"]):
                    found.add(int(one.name))
        return found

    def holds_the_lock(self, pid):
        """Whether it has a lock on one of the ledger's lock files."""
        with contextlib.suppress(OSError):
            for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                path = os.readlink(fd)
                if path.startswith(str(self.ledger)) and "lock" in os.path.basename(path):
                    if "lock:" in pathlib.Path(f"/proc/{pid}/fdinfo/{fd.name}").read_text():
                        return True
        return False

    def remove(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def leaders_of_berth(launcher, berth):
    """Those of its processes that lead a session, from the launcher down. The last is the keeper, the one before its
    heir."""
    found, pid = [], launcher
    while pid:
        led = (one for one in children(pid) if os.getsid(one) == one and os.readlink(f"/proc/{one}/exe") == berth)
        if pid := next(led, None):
            found.append(pid)
    return found


def part_of(launcher, part, berth):
    """The pid of a part of the run. The parts are launcher, waiter (a launcher without a keeper), heir, keeper,
    sampler, listener, job. Nothing: there is none now."""
    with contextlib.suppress(OSError):
        leaders = leaders_of_berth(launcher, berth)
        if part in ("launcher", "waiter"):
            return launcher if bool(leaders) == (part == "launcher") else None
        if part == "heir" or not leaders:
            return leaders[-2] if part == "heir" and len(leaders) > 1 else None
        if part == "keeper":
            return leaders[-1]
        if part == "listener":
            return next((pid for pid in children(launcher) if pid not in leaders), None)
        # By the session: before it becomes its program, a job is one more process of berth's. The sampler comes after
        # it: who is alone may yet become a keeper.
        mine = {os.getsid(pid) == leaders[-1]: pid for pid in children(leaders[-1])}
        return mine.get(part == "sampler") if False in mine else None
    return None


class Hit:
    """What is done to one run: to which part, how, and how long after the launch and the part's birth."""

    def __init__(self, dice):
        self.part = dice.choice(("launcher", "waiter", "heir", "keeper", "keeper", "sampler", "listener", "job"))
        self.how = dice.choice(("kill", "kill", "kill", "stop", "stop", "stop-kill", "leave"))
        self.after_launch = dice.choice((0, 0, dice.uniform(0, 0.5)))
        self.after_birth = dice.choice((0, 0, dice.uniform(0, 0.1)))
        self.stopped_for = dice.uniform(0.05, 2)
        self.done = "nothing"

    def strike(self, storm, process, left_stopped):
        time.sleep(self.after_launch)
        pid = None
        while process.poll() is None and not (pid := part_of(process.pid, self.part, storm.berth)):
            time.sleep(0.004)
        time.sleep(self.after_birth)
        if pid is None or process.poll() is not None or part_of(process.pid, self.part, storm.berth) != pid:
            return
        with contextlib.suppress(ProcessLookupError):
            self._act(storm, pid, left_stopped)
            self.done = f"{self.how} {self.part}"

    def _act(self, storm, pid, left_stopped):
        if self.how == "kill":
            os.kill(pid, signal.SIGKILL)
            return
        start = int((stat_of(pid) or [0] * 20)[19])
        os.kill(pid, signal.SIGSTOP)
        # At most one stopped process keeps a device to the end, and none keeps the lock. Else the storm would stand
        # still.
        if self.how == "leave" and not storm.holds_the_lock(pid) and left_stopped.take(pid, start, self.part):
            return
        time.sleep(self.stopped_for)
        if lives(pid, start):
            os.kill(pid, signal.SIGKILL if self.how == "stop-kill" else signal.SIGCONT)


class LeftStopped:
    """The processes that stay stopped to the end: some that wait, and one that holds devices."""

    def __init__(self):
        self.room = {"waiter": 4, "holder": 1}
        self.pids = []
        self._lock = threading.Lock()

    def take(self, pid, start, part):
        kind = "waiter" if part in ("waiter", "launcher", "heir", "listener", "sampler") else "holder"
        with self._lock:
            if not self.room[kind]:
                return False
            self.room[kind] -= 1
            self.pids.append((pid, start))
            return True

    def go_on(self):
        for pid, start in self.pids:
            if lives(pid, start):
                os.kill(pid, signal.SIGCONT)
        self.pids = []
        self.room = {"waiter": 0, "holder": 0}


def plan(seed, runs):
    """[(uid, options, kind of job, its milliseconds, its GiB, what is done to it or nothing)]"""
    dice = random.Random(seed)
    planned = []
    for _ in range(runs):
        gib = dice.choice((0, 0, 0, 20, 35))
        options = [f"--memory={gib}G"] if gib else ["-n", str(dice.choice((1, 1, 1, 2)))]
        if dice.random() < 0.1:
            options.append("-d")
        kind = dice.choice(("plain", "child", "bare", "daemon"))
        hit = Hit(dice) if dice.random() < 0.7 else None
        planned.append((dice.choice(USERS), options, kind, dice.randrange(20, 300), gib, hit))
    return planned
