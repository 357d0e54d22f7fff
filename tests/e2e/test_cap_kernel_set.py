"""A share that the kernel holds because a run asks root's `berth serve` to set it. The limit is in a control group of
the run's own and lasts as long as the run. It never gives anybody more. On the fake driver, in real control groups."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import end, wait_until
from test_cap_kernel import GIB, GROUP
from test_reap import OTHER, OWNER, Shared
from test_reserve_at import write_as
from test_retry_oom import SAYS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acting as several users: only root can")
SLEEP = ["sleep", "600"]


def mounted():
    """Where this machine's control groups of version 2 are for us, or nothing."""
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[2] == "cgroup2":
            return Path(words[1])
    return None


class Site(Shared):
    """Root's service and users' runs, each in a group of control groups of version 2, as a session is."""

    def __init__(self):
        super().__init__()
        self.directory = self.folder
        (self.folder / "limits").touch()
        self.env |= {"BERTH_FAKE_NVML_LIMITS_FILE": str(self.folder / "limits")}
        self.groups = (mounted() or pytest.skip("control groups of version 2 are not mounted")) / f"berth-test-{os.getpid()}"
        self.groups.mkdir()
        self.service = None
        self.began = []
        self.card = json.loads((self.folder / "played.json").read_text(encoding="utf-8"))["devices"][0]["uuid"]

    def within(self, uid, name, words):
        group = self.groups / name
        group.mkdir(exist_ok=True)
        (group / "cgroup.procs").stat()
        script = f'echo $$ >"$1" && mount -t cgroup2 none {GROUP} && shift && exec "$@"'
        user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
        return ["unshare", "--mount", "sh", "-c", script, "sh", group / "cgroup.procs", *user, *words]

    def begin(self, uid, name, words, **how):
        home = self.folder / f"home{uid}"
        if not home.exists():
            home.mkdir()
            os.chown(home, uid, uid)
        env = self.environment({"HOME": str(home), "XDG_STATE_HOME": str(home / "state"),
                                "BERTH_ETC": str(self.folder / "none")} if uid else {})
        made = subprocess.Popen(self.within(uid, name, words), env=env, stdin=subprocess.DEVNULL,
                                **({"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | how))
        self.began.append(made)
        return made

    def serve(self):
        words = [self.berth, "serve", "--socket", self.folder / "serve.socket", "--listen", "none"]
        self.service = self.begin(0, "service", words)
        wait_until(self.place.joinpath("service.lock").exists, "the service looks")

    @property
    def place(self):
        return self.folder / "ledger/.new-planned"

    def run_for(self, uid, *options, job=("true",), name="session", **how):
        return self.begin(uid, name, [self.berth, "run", "--only", "0", "--memory", "2G", *options, "--", *job],
                          stderr=subprocess.PIPE, text=True, **how)

    def limits(self):
        """What the driver was told last: {group: bytes, or nothing for a limit that was taken off}."""
        told = {}
        for line in (self.folder / "limits").read_text(encoding="utf-8").splitlines():
            group, uuid, size = line.split("=")
            assert uuid == self.card
            told[group.removeprefix(f"{GROUP}/{self.groups.name}/")] = int(size) if int(size) < 2**64 - 1 else None
        return told

    def answers(self):
        return sorted(self.place.glob("limit-*"))

    def held_groups(self):
        return sorted(path.name for path in self.groups.rglob("berth-limit-*"))

    def is_empty(self):
        """Kills the processes in its groups, and a process that takes a killed one's place."""
        for listed in self.groups.rglob("cgroup.procs"):
            for pid in listed.read_text(encoding="utf-8").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        return "populated 0" in (self.groups / "cgroup.events").read_text(encoding="utf-8")

    def close(self):
        wait_until(self.is_empty, "all have ended")
        for one in self.began:
            end(one)
        for group in sorted(self.groups.rglob("*"), reverse=True):
            if group.is_dir():
                group.rmdir()
        self.groups.rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def site():
    made = Site()
    yield made
    made.close()


def names_in(group):
    """The names of the processes in there. A process that has ended meanwhile has none."""
    pids = (group / "cgroup.procs").read_text(encoding="utf-8").split()
    return [path.read_text(encoding="utf-8").strip() for path in (Path(f"/proc/{pid}/comm") for pid in pids) if path.exists()]


def first_line(run):
    return run.stderr.readline()


def test_the_service_holds_a_run_of_another_user_to_its_share_for_as_long_as_it_lives(site):
    site.serve()
    run = site.run_for(OWNER, job=SLEEP)
    said = first_line(run)
    assert "2.0 GiB, limited by the kernel" in said, said
    [group] = site.held_groups()
    assert site.limits() == {f"session/{group}": 2 * GIB}
    wait_until(lambda: "sleep" in names_in(site.groups / "session" / group), "its job is in there")
    assert names_in(site.groups / "session") == []
    [lease] = json.loads(site.run("leases", "--json").stdout)["leases"]
    assert (lease["uid"], lease["held_by"]) == (OWNER, "kernel")
    [answer] = site.answers()
    assert answer.stat().st_uid == 0
    run.terminate()
    run.wait(60)
    wait_until(lambda: not site.held_groups() and not site.answers(), "it is taken off")
    assert site.limits() == {f"session/{group}": None}


def test_without_such_a_service_the_shim_or_the_watchdog_holds(site):
    run = site.run_for(OWNER)
    assert run.wait(60) == 0
    said = run.stderr.read()
    assert "2.0 GiB, limited by" in said and "limited by the kernel" not in said and site.limits() == {}
    refused = site.run_for(OWNER, "--cap", "kernel")
    assert refused.wait(60) == 125 and "no limit of the kernel is set" in refused.stderr.read()


def test_what_the_driver_refuses_leaves_the_run_where_it_was_and_the_next_tier_holds(site):
    del site.env["BERTH_FAKE_NVML_LIMITS_FILE"]  # as where the group has no dmem
    site.serve()
    run = site.run_for(OWNER, "--cap", "kernel")
    assert run.wait(60) == 125
    assert "nvmlDeviceSetMemoryLimits_v1" in run.stderr.read()
    assert site.held_groups() == []
    run = site.run_for(OWNER, job=SLEEP)
    said = first_line(run)
    assert "2.0 GiB, limited by" in said and "kernel" not in said
    assert (site.groups / "session/cgroup.procs").read_text()
    wait_until(lambda: len(site.answers()) == 1, "of what has ended nothing is left")


def test_a_driver_that_says_yes_and_holds_nothing_is_not_believed(site):
    site.env["BERTH_FAKE_NVML_LIMITS_FILE"] = "/dev/null"
    site.serve()
    run = site.run_for(OWNER, "--cap", "kernel")
    assert run.wait(60) == 125 and "no limit of the kernel is set" in run.stderr.read()
    run = site.run_for(OWNER)
    assert run.wait(60) == 0
    said = run.stderr.read()
    assert "2.0 GiB, limited by" in said and "limited by the kernel" not in said, said
    wait_until(lambda: not site.held_groups() and not site.answers(), "nothing is left")


def test_a_limit_that_is_there_is_never_widened(site):
    site.serve()
    (site.groups / "session").mkdir()
    with open(site.folder / "limits", "a", encoding="utf-8") as file:
        file.write(f"{GROUP}/{site.groups.name}={site.card}={GIB * 4}\n")
    sleeper = site.begin(OWNER, "session", SLEEP)
    process = wait_until(lambda: process_of(sleeper, OWNER), "it sleeps")
    ask(site, OWNER, process, site.card, 8 * GIB)
    wait_until(lambda: failed(site) == ["a limit is set for its control group already"], "it is refused")
    assert site.held_groups() == [] and len(site.limits()) == 1


def test_who_asks_anew_is_held_to_that_and_one_that_it_started_widens_nothing(site):
    site.serve()
    os.mkfifo(site.folder / "go")
    os.chown(site.folder / "go", OWNER, OWNER)
    shell = site.begin(OWNER, "session", ["sh", "-c", f"read go <{site.folder}/go; sleep 600 & exec sleep 601"])
    process = wait_until(lambda: process_of(shell, OWNER, "sh"), "it waits")
    ask(site, OWNER, process, site.card, 2 * GIB)
    wait_until(lambda: "held=1" in answer_in(site, "limit-0000000a"), "it is held")
    [group] = site.held_groups()
    (site.folder / "go").write_text("go\n", encoding="utf-8")
    leaf = site.groups / "session" / group
    wait_until(lambda: names_in(leaf) == ["sleep", "sleep"], "both are in there")
    [other] = [int(pid) for pid in (leaf / "cgroup.procs").read_text(encoding="utf-8").split() if int(pid) != process[0]]
    ask(site, OWNER, (other, start_of(other)), site.card, 8 * GIB, name="limit-0000000b")
    wait_until(lambda: failed(site) == ["a limit is set for its control group already"], "it is refused")
    ask(site, OWNER, process, site.card, 4 * GIB, name="limit-0000000c", more="instead_of=limit-0000000a\n")
    wait_until(lambda: "held=1" in answer_in(site, "limit-0000000c"), "it is held anew")
    assert site.limits() == {f"session/{group}": 4 * GIB}
    wait_until(lambda: not (site.place / "limit-0000000a").exists(), "one answer is left")


def answer_in(site, name):
    path = site.place / name
    return path.read_text(encoding="utf-8") if path.exists() and path.stat().st_uid == 0 else ""


def start_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(") ", 1)[1].split()[19])


def process_of(started, uid, name="sleep"):
    """(pid, when it started) of what the shell has become."""
    status = Path(f"/proc/{started.pid}/status").read_text(encoding="utf-8")
    if f"Uid:\t{uid}\t" not in status or f"Name:\t{name}\n" not in status:
        return None
    return started.pid, start_of(started.pid)


def ask(site, uid, process, uuid, size, name="limit-0000000a", more="", mode=0o644):
    text = f"berth-limit 1 {process[0]} {process[1]}\nlimit={size} {uuid}\n{more}"
    assert write_as(uid, site.place / name, text, mode).returncode == 0


def failed(site):
    return [line.removeprefix("failed=") for path in site.answers() for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("failed=")]


def test_nobody_is_held_by_anothers_word_and_a_forged_answer_is_none(site):
    site.serve()
    theirs = site.begin(OWNER, "session", SLEEP)
    roots = site.begin(0, "service", SLEEP)
    process = wait_until(lambda: process_of(theirs, OWNER), "it sleeps")
    of_root = wait_until(lambda: process_of(roots, 0), "it sleeps")
    ask(site, OTHER, process, site.card, 1, name="limit-0000000a")
    ask(site, OTHER, of_root, site.card, 1, name="limit-0000000b")
    ask(site, OTHER, (process[0], process[1] + 1), site.card, 1, name="limit-0000000c")
    # A word of root's in a file of others: its group is neither limited nor removed.
    ask(site, OTHER, process, site.card, 1, name="limit-0000000d", more=f"group={GROUP}/{site.groups.name}/session\nheld=1\n")
    # Open to others, a link, no device.
    ask(site, OWNER, process, site.card, 1, name="limit-0000000e", mode=0o666)
    (site.folder / "elsewhere").write_text(f"berth-limit 1 {process[0]} {process[1]}\nlimit=1 {site.card}\n")
    os.symlink(site.folder / "elsewhere", site.place / "limit-00000010")
    wait_until(lambda: len(failed(site)) == 3, "the others' are refused")
    assert set(failed(site)) == {"the process that asks is not its user's, or has ended"}
    assert not (site.place / "limit-0000000c").exists() and site.limits() == {} and site.held_groups() == []
    ask(site, OWNER, process, "GPU-none", GIB, name="limit-00000011")
    wait_until(lambda: any("there is no device GPU-none" in one for one in failed(site)), "it is refused")
    assert site.held_groups() == [] and str(process[0]) in (site.groups / "session/cgroup.procs").read_text().split()
    # Nobody takes another's answer away.
    gone = subprocess.run(["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "rm", "-f",
                           site.place / "limit-00000011"], capture_output=True, check=False)
    assert gone.returncode != 0


def test_a_service_that_begins_anew_takes_off_what_the_one_before_had_set(site):
    site.serve()
    run = site.run_for(OWNER, job=SLEEP)
    assert "limited by the kernel" in first_line(run)
    site.service.kill()
    site.service.wait(60)
    run.terminate()
    run.wait(60)
    assert site.held_groups() and site.answers()
    site.serve()
    wait_until(lambda: not site.held_groups() and not site.answers(), "it is taken off")


def test_a_job_that_starts_again_is_held_to_its_new_share_and_with_a_whole_card_to_none(site):
    site.serve()
    # Each start tells its own limit first; the last has the whole card.
    job = (f"tail -n1 {site.folder}/limits >>{site.told}/told; "
           f'test "${{BERTH_RETRY_OOM:-0}}" -ge 2 && exit 0; echo "{SAYS}" >&2; exit 1')
    run = site.begin(OWNER, "session", [site.berth, "run", "-q", "-d", "--only", "0", "--memory", "40G", "--retry-oom", "2", "--",
                                        "sh", "-c", job])  # fmt: skip
    assert run.wait(60) == 0
    told = site.told / "told"
    wait_until(lambda: told.exists() and len(told.read_text().splitlines()) == 3, "three starts")
    sizes = [int(line.split("=")[2]) for line in told.read_text(encoding="utf-8").splitlines()]
    assert sizes[0] == 40 * GIB and 60 * GIB <= sizes[1] < 61 * GIB and sizes[2] == 2**64 - 1, sizes
    wait_until(lambda: not site.held_groups() and not site.answers(), "it is taken off")
