"""A day of a lab's server: five users, one policy, one queue of mixed jobs. It is judged from outside of berth. The
judges are the marks that the jobs leave on their devices (storm.py), their notes, and what everybody is told."""

import json
import random
import subprocess
import time

import pytest
from aftermath import poll
from conftest import end, fake_library, many_devices, wait_until
from storm import IS_ROOT, USERS, Storm, Watcher, lives

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="acting as several users: only root can")
LONG = 120  # what is waited for at most; nothing here is to be quick
STAFF, STUDENT, GUEST, SPENT, HOARDER = USERS if IS_ROOT else (0,) * 5
ROOT = 0
MOST = {STAFF: 4, STUDENT: 3, GUEST: 3, HOARDER: 3}

def hours_around_now():
    at = [time.strftime("%H:%M", time.localtime(time.time() + hours * 3600)) for hours in (-1, 2)]
    return "-".join(at)


POLICY = f"""
[reap]
notify = ["/bin/true"]
[everybody]
devices_at_most = 3
time = "2h"
[user.{STAFF}]
highest_priority = "high"
devices_at_most = 4
[user.{GUEST}]
devices = ["6", "7"]
[user.{SPENT}]
hours_at_most = 1
[user.{HOARDER}]
idle_after = "1s"
idle_holders = "end"
[user.{ROOT}]
quiet_hours = "{hours_around_now()}"
"""


class Lab(Storm):
    """Eight equal cards of root's, one ledger of all, and the policy as each of its readers finds it."""

    def __init__(self):
        super().__init__()
        del self.env["BERTH_SIM"]
        played = self.folder / "played.json"
        played.write_text(json.dumps(many_devices(8)), encoding="utf-8")
        self.env |= {"BERTH_NVML": str(fake_library()), "BERTH_FAKE_NVML": str(played)}
        self.home(ROOT).mkdir()
        self.notes = self.folder / "notes"
        self.notes.mkdir()
        self.notes.chmod(0o1777)
        for name in ("turns", "points", "chain"):
            (self.notes / name).touch()
            (self.notes / name).chmod(0o666)

    def policy(self, text, seconds_used):
        """A test's policy is its reader's own: each has the same."""
        now = json.loads(self.ask(ROOT, "status", "--json")[1])["taken_unix_ms"]
        hours = "\n".join([f"berth-hours 1 {now}", *(f"{uid} {used}" for uid, used in seconds_used.items())]) + "\n"
        for uid in (ROOT, *USERS):
            etc = self.etc(uid) / "berth"
            etc.mkdir(parents=True)
            for name, content in (("berth.toml", text), ("hours", hours)):
                (etc / name).write_text(content)
            subprocess.run(["chown", "-R", f"{uid}:{uid}", self.etc(uid)], check=True)

    def etc(self, uid):
        return self.folder / f"etc-{uid}"

    def start(self, uid, *words, env=(), **how):
        return super().start(uid, *words, env={"BERTH_ETC": str(self.etc(uid))} | dict(env), **how)

    def ask(self, uid, *words, patience=LONG):
        done = self.start(uid, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, said = done.communicate(timeout=patience)
        return done.returncode, out, " ".join(said.split())

    def serve(self):
        return self.start(ROOT, "serve", "--socket", self.folder / "serve.socket", "--listen", "none")

    def queue(self):
        return json.loads(self.ask(ROOT, "queue", "--json")[1])["queue"]

    def leases(self, uid):
        return [one for one in json.loads(self.ask(ROOT, "leases", "--json")[1])["leases"] if one["uid"] == uid]

    def noted(self, name):
        return (self.notes / name).read_text().splitlines()

    def in_turn(self, uid, name, *options):
        """A run that notes its name when it starts, once it waits."""
        before = {one["id"] for one in self.queue()}
        run = self.start(uid, "run", "-q", "--wait", "--only", "1", *options, "--", "sh", "-c",
                         f"echo {name} >>{self.notes}/turns")
        poll(lambda: {one["id"] for one in self.queue()} <= before, LONG, f"{name} does not wait")
        return run


class Owners(Watcher):
    """Also how many devices each user had at once, over all their runs, and which ones."""

    def __init__(self, folder):
        super().__init__(folder)
        self.most, self.on = {}, {}

    def _look(self, device):
        super()._look(device)
        listed = []
        for mark in self.folder.glob("on-*/*"):
            try:
                listed.append((mark, mark.stat().st_uid))
            except FileNotFoundError:
                continue
        # Whoever was listed and lives now lived with all the others that do.
        held = {uid: set() for uid in USERS}
        for mark, uid in listed:
            pid, start, _, run = mark.name.split(".")
            if uid in held and lives(int(pid), int(start)):
                held[uid].add((mark.parent.name, run))
        for uid, devices in held.items():
            self.most[uid] = max(self.most.get(uid, 0), len(devices))
            self.on.setdefault(uid, set()).update(device for device, _ in devices)


@pytest.fixture
def lab():
    made = Lab()
    made.policy(POLICY, {SPENT: 7200})
    watcher = Owners(made.marks)
    watcher.start()
    server = made.serve()
    yield made, watcher
    end(server)
    watcher.end()
    made.remove()


def test_a_day_of_mixed_jobs_of_five_users_under_a_policy(lab):
    lab, watcher = lab
    hoarder = lab.start(HOARDER, "run", "-q", "--only", "0", "--", "sleep", "3000")
    wait_until(lambda: lab.leases(HOARDER), "somebody holds GPU 0")
    the_order_is_that_of_the_policy(lab)
    what_the_policy_forbids_is_refused(lab)
    reserved = a_reservation(lab)
    crowd = a_crowd(lab)
    points, chain = a_sweep(lab), a_chain(lab)
    failed = [(words, code, said) for words, code, said in map(how_it_ended, crowd) if code != 0]
    assert not failed, failed[:3]
    assert points.wait(timeout=LONG) == 0
    assert sorted(lab.noted("points")) == ["0.01 1", "0.01 2", "0.1 1", "0.1 2"], "each point once"
    assert lab.ask(STUDENT, "wait", chain)[0] == 0
    assert lab.noted("chain") == ["begin a", "end a", "begin b", "end b", "begin c", "end c"]
    assert lab.ask(STAFF, "release", reserved)[0] == 0
    told = " ".join(lab.ask(ROOT, "reap")[1].split())
    assert str(HOARDER) in told and not any(str(uid) in told for uid in (STAFF, STUDENT, GUEST)), told
    assert hoarder.poll() is None and lab.leases(HOARDER), "who is idle is named, and nothing more"
    nothing_was_had_twice_and_nobody_had_more_than_allowed(lab, watcher, len(crowd))


def the_order_is_that_of_the_policy(lab):
    """On one card, which somebody has until all of them wait."""
    gate = lab.notes / "gate"
    holder = lab.start(STUDENT, "run", "-q", "--only", "1", "--", "sh", "-c", f"until test -e {gate}; do sleep 0.05; done")
    wait_until(lambda: lab.leases(STUDENT), "somebody holds GPU 1")
    [lease] = lab.leases(STUDENT)
    assert lease["ends_unix_ms"] - lease["since_unix_ms"] == 7_200_000, "the policy's time where none is asked for"
    runs = [lab.in_turn(STUDENT, "low", "--priority", "low"), lab.in_turn(STUDENT, "first"), lab.in_turn(HOARDER, "second"),
            lab.in_turn(HOARDER, "pushes", "--priority", "high"), lab.in_turn(STAFF, "high", "--priority", "high")]
    assert [one["priority"] for one in lab.queue()] == ["high", "normal", "normal", "normal", "low"]
    told = f"GPU 0 is held by {HOARDER}, and nothing was computed on it for"
    poll(lambda: told not in " ".join(lab.ask(ROOT, "queue")[1].split()), LONG, "who waits is not told who is idle")
    gate.touch()
    assert [run.wait(timeout=LONG) for run in (holder, *runs)] == [0] * 6
    assert lab.noted("turns") == ["high", "first", "second", "pushes", "low"]


def what_the_policy_forbids_is_refused(lab):
    for uid, options, words in (
        (SPENT, [], "this user has used 2 of the 1 GPU-hours that the policy allows"),
        (GUEST, ["--only", "2"], "not among the devices that the policy allows this user"),
        (ROOT, [], "quiet hours of the policy"),
        (STUDENT, ["-n", "4"], "the policy allows this user 3 at once, 4 are wanted"),
    ):
        code, _, said = lab.ask(uid, "run", "--wait=1s", *options, "--", "touch", lab.notes / "forbidden")
        assert code == 124 and words in said, (uid, code, said)
    assert not (lab.notes / "forbidden").exists()


def a_reservation(lab):
    """Held while all others run, and used by its owner alone."""
    code, out, said = lab.ask(STAFF, "reserve", "--only", "5", "--for", "1h")
    assert code == 0, said
    assert lab.ask(STAFF, "exec", "last", "--", "true")[0] == 0
    assert lab.ask(STUDENT, "exec", out.strip(), "--", "true")[0] == 125
    return out.strip()


def a_crowd(lab):
    """[(what was asked for, the run)] of three users, all at once: whole cards and shares, one and several."""
    dice = random.Random(7)
    runs = []
    for number in range(30):
        uid = (STAFF, STUDENT, GUEST)[number % 3]
        gib = dice.choice((0, 0, 20, 35))
        options = [f"--memory={gib}G"] if gib else ["-n", str(dice.choice((1, 1, 2)))]
        options += ["--priority", dice.choice(("low", "normal", "high"))]
        # Where a limit of all others is known, short ones may go ahead.
        options += dice.choice(([], ["--time", "10m"]))
        job = lab.job(dice.choice(("plain", "child", "bare", "daemon")), dice.randrange(100, 500), gib)
        run = lab.start(uid, "run", "-q", "--wait", *options, "--", *job, stderr=subprocess.PIPE)
        runs.append(((uid, *options), run))
    return runs


def how_it_ended(one):
    words, run = one
    said = run.communicate(timeout=LONG)[1]
    return words, run.returncode, said


def a_sweep(lab):
    job = " ".join(map(str, lab.job("plain", 200, 20)))
    return lab.start(STAFF, "sweep", "--set", "lr=0.1,0.01", "--set", "seed=1..2", "--memory", "20G", "--", "sh", "-c",
                     f"echo {{lr}} {{seed}} >>{lab.notes}/points; exec {job}")


def a_chain(lab):
    """The last of three runs, each after the one before."""
    last = None
    for name in "abc":
        after = ["--after", last] if last else []
        code, out, said = lab.ask(STUDENT, "run", "-d", "-q", "--wait", "--memory", "5G", *after, "--", "sh", "-c",
                                  f"echo begin {name} >>{lab.notes}/chain; sleep 0.3; echo end {name} >>{lab.notes}/chain")
        assert code == 0, said
        last = out.strip()
    return last


def nothing_was_had_twice_and_nobody_had_more_than_allowed(lab, watcher, crowd):
    poll(lambda: [one for uid in (STAFF, STUDENT, GUEST) for one in lab.leases(uid)], LONG, "leases are left")
    watcher.end()
    started = lab.lines("started")
    assert len(started) == len({line.split()[0] for line in started}) == crowd + 4, "each run once"
    assert not watcher.found and not lab.lines("collisions"), (watcher.found, lab.lines("collisions"))
    assert watcher.looks > 0 and all(watcher.most[uid] > 0 for uid in (STAFF, STUDENT, GUEST)), watcher.most
    assert all(watcher.most.get(uid, 0) <= most for uid, most in MOST.items()), watcher.most
    assert watcher.on[GUEST] <= {"on-6", "on-7"}, watcher.on
    assert watcher.most.get(SPENT, 0) == 0
