"""The machine's policy for real users of real groups, and its quiet hours at each time of the day.

/etc/passwd and /etc/group are files of the test's own. TZ sets the time by the clock on the wall."""

import json
import subprocess
import time

import pytest

from storm import IS_ROOT, USERS, Storm

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="acting as several users: only root can")
NAMES = dict(zip(("anna", "ben", "eve"), USERS))
NAMED = ["unshare", "--mount", "sh", "-c",
         'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$@"']
POLICY = """
[everybody]
devices_at_most = 1
[group.night]
quiet_hours = "22:00-07:00"
[group.staff]
devices_at_most = 3
highest_priority = "high"
quiet_hours = "12:00-13:00"
[user.eve]
devices_at_most = 2
"""
# Whose group stands first in the policy counts for what it says; for the rest the next one does.
GROUPS = {"staff": ["anna", "ben"], "night": ["ben", "eve"]}


class Lab(Storm):
    def __init__(self):
        super().__init__()
        for name, uid in NAMES.items():
            etc = self.folder / f"etc-{uid}/berth"
            etc.mkdir(parents=True)
            (etc / "berth.toml").write_text(POLICY, encoding="utf-8")
            subprocess.run(["chown", "-R", f"{uid}:{uid}", etc.parent], check=True)
        passwd = [f"{name}:x:{uid}:{uid}::/nonexistent:/bin/sh" for name, uid in NAMES.items()]
        (self.folder / "passwd").write_text("\n".join(["root:x:0:0::/root:/bin/sh", *passwd, ""]), encoding="utf-8")
        self.groups(GROUPS)

    def groups(self, members):
        lines = [f"{name}:x:{487_200 + i}:{','.join(who)}\n" for i, (name, who) in enumerate(members.items())]
        (self.folder / "group").write_text("".join(lines), encoding="utf-8")

    def does(self, name, *words, hour=15, minute=30):
        """As that user, where it is so late."""
        uid, home = NAMES[name], str(self.home(NAMES[name]))
        now = time.gmtime()
        east = (hour * 60 + minute - now.tm_hour * 60 - now.tm_min) % 1440
        env = self.env | {"HOME": home, "XDG_STATE_HOME": f"{home}/state", "BERTH_ETC": str(self.folder / f"etc-{uid}"),
                          "TZ": f"<here>-{east // 60}:{east % 60:02}"}  # fmt: skip
        user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        words = [*NAMED, str(self.folder), *user, self.berth, *map(str, words)]
        return subprocess.run(words, env=env, cwd=home, text=True, capture_output=True, timeout=120, check=False)


@pytest.fixture
def lab():
    made = Lab()
    probe = subprocess.run([*NAMED, str(made.folder), "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        made.remove()
        pytest.skip("whoever runs this may not mount")
    yield made
    made.remove()


def starts(lab, name, *words, **when):
    done = lab.does(name, "run", "-q", *words, "--", "true", **when)
    assert done.returncode in (0, 124), done.stderr
    return done.returncode == 0, " ".join(done.stderr.split())


@pytest.mark.parametrize(("name", "most"), [("anna", 3), ("ben", 3), ("eve", 2)])
def test_so_many_devices_as_ones_group_or_one_oneself_may_have(lab, name, most):
    assert starts(lab, name, "-n", most)[0]
    may, said = starts(lab, name, "-n", most + 1)
    assert not may and f"the policy allows this user {most} at once, {most + 1} are wanted" in said, said


def test_who_is_in_no_group_has_what_everybody_has(lab):
    lab.groups({"staff": ["ben"], "night": []})
    assert starts(lab, "anna")[0] and not starts(lab, "anna", "-n", "2")[0]
    assert starts(lab, "ben", "-n", "3")[0]


@pytest.mark.parametrize(
    ("name", "hour", "minute", "may"),
    [
        ("eve", 21, 58, True), ("eve", 22, 2, False), ("eve", 0, 5, False), ("eve", 6, 55, False), ("eve", 7, 2, True),
        ("anna", 22, 30, True), ("anna", 12, 30, False), ("anna", 13, 2, True),
        # Ben is in both groups: the first one that the policy names counts.
        ("ben", 22, 30, False), ("ben", 12, 30, True),
    ],
)  # fmt: skip
def test_quiet_hours_are_those_of_ones_group_by_the_clock_on_the_wall(lab, name, hour, minute, may):
    started, said = starts(lab, name, hour=hour, minute=minute)
    assert started == may, said
    assert may or "quiet hours of the policy" in said, said
    told = " ".join(lab.does(name, "policy", "test", NAMES[name], "--", hour=hour, minute=minute).stdout.split())
    assert ("It would start now" in told) == may, told


def test_a_priority_counts_where_ones_group_may_have_it(lab):
    for name, counted in (("anna", "high"), ("eve", "normal")):
        done = lab.does(name, "policy", "test", NAMES[name], "--", "--priority", "high")
        assert (f"counts as {counted}" in done.stdout) == (counted == "normal"), done.stdout


def test_what_waits_for_the_end_of_quiet_hours_waits_and_says_so(lab):
    done = lab.does("eve", "run", "--wait=2s", "--", "true", hour=23)
    assert done.returncode == 124 and "quiet hours of the policy" in " ".join(done.stderr.split()), done.stderr
    assert json.loads(lab.does("eve", "queue", "--json").stdout)["queue"] == []


def test_of_who_is_kept_by_quiet_hours_nothing_is_said_of_jobs_in_the_way(lab):
    refused = " ".join(lab.does("eve", "run", "--", "true", hour=23).stderr.split())
    assert "the policy gives this job no device now" in refused and "no device is free" not in refused, refused
    assert lab.does("eve", "run", "-d", "--wait", "--", "true", hour=23).returncode == 0
    try:
        told = " ".join(lab.does("eve", "queue", hour=23).stdout.split())
        assert "jobs start outside 22:00-07:00" in told and "--time" not in told, told
    finally:
        lab.does("eve", "stop", "last", hour=23)
