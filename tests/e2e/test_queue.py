"""The queue's order, who may go ahead meanwhile, and what `berth queue` says of it. Also the machine's policy, and
which users it stops. Each job tells when it runs, outside the ledger."""

import json
import os
import re
import signal
import subprocess

import pytest

from aftermath import leases, poll, show
from conftest import FakeDriver, end, many_devices

LONG = 60  # what is waited for at most; nothing here is to be quick
POLICY = "etc/berth/berth.toml"


class Lab(FakeDriver):
    """Two equal cards, jobs that tell their name and end at a gate."""

    def __init__(self, directory, devices=2):
        super().__init__(directory, many_devices(devices))
        self.started = []
        self.told = directory / "told"
        self.told.touch()

    def begin(self, name, *options, job=None):
        job = job or ["sh", "-c", f"echo {name} >>{self.told}; until test -e {self.gate(name)}; do sleep 0.05; done"]
        run = self.start("run", "-q", *options, "--", *job, stderr=subprocess.PIPE)
        self.started.append(run)
        return run

    def gate(self, name):
        return self.directory / f"gate-{name}"

    def let_end(self, *names):
        for name in names:
            self.gate(name).touch()

    def names(self):
        return self.told.read_text().split()

    def await_start(self, *names):
        poll(lambda: [name for name in names if name not in self.names()], LONG, "they have not started")

    def hold(self, name, *options):
        run = self.begin(name, *options)
        self.await_start(name)
        return run

    def wait(self, name, *options):
        before = {one["id"] for one in self.queue()}
        run = self.begin(name, "--wait", *options)
        poll(lambda: {one["id"] for one in self.queue()} <= before, LONG, f"{name} does not wait")
        return run

    def queue(self):
        done = self.run("queue", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["queue"]

    def policy(self, text, mode=0o644):
        path = self.directory / POLICY
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".tmp")
        beside.write_text(text)
        beside.chmod(mode)
        beside.rename(path)

    def close(self):
        # The last first: who waits is to get nothing that the others let go.
        try:
            for run in reversed(self.started):
                if run.poll() is None:
                    end(run)
        finally:
            # A killed launcher's job goes on, and its heir with it.
            self.run("stop", "--all", "-q", "--grace", "0s", timeout=LONG)


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


def in_one_line(text):
    return " ".join(text.split())


ALLOWS_HIGH = '[everybody]\nhighest_priority = "high"\n'


def test_high_priority_goes_first_where_the_policy_lets_it(lab):
    lab.policy(ALLOWS_HIGH)
    lab.hold("holder", "--only", "0")
    lab.wait("low", "--only", "0", "--priority", "low")
    lab.wait("normal", "--only", "0")
    lab.wait("high", "--only", "0", "--priority", "high")
    assert [one["priority"] for one in lab.queue()] == ["high", "normal", "low"]
    lab.let_end("holder", "low", "normal", "high")
    lab.await_start("low")
    assert lab.names() == ["holder", "high", "normal", "low"]


def test_without_a_policy_nobody_is_before_who_came_earlier(lab):
    lab.hold("holder", "--only", "0")
    lab.wait("first", "--only", "0")
    lab.wait("pushes", "--only", "0", "--priority", "high")
    assert [one["priority"] for one in lab.queue()] == ["normal", "normal"], "it counts as what its owner may"
    lab.let_end("holder", "first", "pushes")
    lab.await_start("pushes")
    assert lab.names() == ["holder", "first", "pushes"]


def test_the_order_survives_killed_waiters(lab):
    lab.policy(ALLOWS_HIGH)
    lab.hold("holder", "--only", "0")
    runs = [lab.wait(name, "--only", "0", *options) for name, options in
            [("a", []), ("b", ["--priority", "high"]), ("c", []), ("d", ["--priority", "high"]), ("e", [])]]
    for killed in (1, 2):
        runs[killed].send_signal(signal.SIGKILL)
        runs[killed].wait(timeout=LONG)
    lab.let_end("holder", *"abcde")
    lab.await_start("e")
    assert lab.names() == ["holder", "d", "a", "e"]


def test_a_short_job_goes_ahead_while_devices_gather_and_a_longer_one_does_not(lab):
    lab.hold("holder", "--only", "0", "--time", "1h")
    lab.wait("both", "-n", "2")
    poll(lambda: not lab.queue()[0]["gathered"], LONG, "nothing is gathered")
    lab.wait("long", "--time", "2h")
    lab.wait("endless")
    lab.hold("short", "--time", "10m", "--wait")
    assert "long" not in lab.names() and "endless" not in lab.names()
    told = in_one_line(lab.run("queue").stdout)
    assert re.search(r"GPU 0,1 is gathered for \S+ until .* a job whose --time ends", told), told
    lab.let_end("holder", "short", "both", "long", "endless")
    lab.await_start("both", "long", "endless")
    assert lab.names()[:3] == ["holder", "short", "both"]


def test_queue_says_why_and_when(lab):
    lab.hold("holder", "--only", "0", "--time", "2h")
    lab.wait("first", "--only", "0", "--time", "1h")
    lab.wait("second", "--only", "0")
    first, second = lab.queue()
    user = first["user"]
    assert first["why_not_yet"] == f"leased by {user}"
    ends = leases(lab)[0]["ends_unix_ms"]
    assert first["expected_start_unix_ms"] == ends
    assert second["expected_start_unix_ms"] == ends + 3600_000
    told = lab.run("queue").stdout
    assert re.search(r"in (1h5\dm|2h)", told) and re.search(r"in (2h5\dm|3h)", told), told
    lab.let_end("holder")
    lab.hold("endless", "--only", "1")
    lab.wait("third", "--only", "1")
    assert lab.queue()[-1]["expected_start_unix_ms"] is None
    assert "where all that is in its way has a --time" in in_one_line(lab.run("queue").stdout)


def test_what_the_policy_keeps_for_nobody_is_not_told_as_gathered(lab):
    lab.hold("holder", "--only", "0", "--time", "1h")
    waiter = lab.wait("both", "-n", "2")
    poll(lambda: "is gathered for" not in in_one_line(lab.run("queue").stdout), LONG, "it gathers nothing")
    waiter.send_signal(signal.SIGSTOP)  # its ticket stays as it is
    lab.policy("[everybody]\ndevices_at_most = 1\n")
    try:
        assert lab.queue()[0]["gathered"], "its ticket says so still"
        assert lab.queue()[0]["gathered_complete_unix_ms"] is None
        assert "gathered" not in lab.run("queue").stdout
    finally:
        waiter.send_signal(signal.SIGCONT)


def test_an_empty_queue_says_so(lab):
    assert lab.run("queue").stdout == "Nobody waits.\n"
    assert lab.queue() == []


# --- the policy -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "mode", "said"), [
    ("[everybody]\ndevices_at_mots = 1\n", 0o644, ["berth.toml:2", "devices_at_most"]),
    ("[everybody]\n\ndevices_at_most = \"many\"\n", 0o644, ["berth.toml:3", "many"]),
    ("[evrybody]\n", 0o644, ["berth.toml:1", "everybody"]),
    ("[everybody\n", 0o644, ["line 1"]),
    ("[user.anna]\nquiet_hours = \"22\"\n", 0o644, ["berth.toml:2", "22:00-07:00"]),
    ("[everybody]\n", 0o664, ["chmod go-w"]),
], ids=["key", "value", "table", "syntax", "hours", "group writes"])
def test_a_policy_that_is_broken_lets_no_claim_pass(lab, text, mode, said):
    lab.policy(text, mode)
    done = lab.run("run", "--", "true")
    assert done.returncode == 125
    for words in said:
        assert words in done.stderr, done.stderr
    assert leases(lab) == []
    for verb in ("pick", "topo", "reap"):
        also = lab.run(verb)
        assert also.returncode == 125 and also.stdout == "", (verb, also.stderr)
        assert said[0] in also.stderr, (verb, also.stderr)
    lab.policy("[everybody]\n")
    assert lab.run("run", "-q", "--", "true").returncode == 0


@pytest.mark.parametrize("words", [
    ["reserve", "--for", "1h"],
    ["sweep", "--set", "seed=1", "--", "echo", "{seed}"],
    ["run", "-d", "--", "true"],
    ["run", "--wait", "--", "true"],
], ids=["reserve", "sweep", "run -d", "run --wait"])
def test_no_verb_passes_by_a_policy(lab, words):
    lab.policy("[everybody]\nnonsense = 1\n")
    done = lab.run(*words)
    assert done.returncode == 125 and "berth.toml:2" in done.stderr, done.stderr
    assert leases(lab) == []
    lab.policy("[everybody]\ndevices_at_most = 0\n")
    done = lab.run(*words)
    assert done.returncode == 124 and "the policy allows this user 0 at once" in in_one_line(done.stderr), done.stderr
    assert leases(lab) == []


def test_a_limit_of_the_policy_is_told_before_it_ends_a_job(lab):
    lab.policy('[everybody]\ntime = "24h"\n')
    said = in_one_line(lab.run("run", "--", "true").stderr)
    assert "the policy ends this job after 1d00h" in said and "berth.toml" in said
    for words in (("--time", "2h"), ("--time", "default"), ("-q",)):
        assert "the policy ends" not in lab.run("run", *words, "--", "true").stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: giving a file away")
def test_a_policy_of_another_user_lets_no_claim_pass(lab):
    lab.policy("[everybody]\n")
    os.chown(lab.directory / POLICY, 65534, 65534)
    done = lab.run("run", "--", "true")
    assert done.returncode == 125 and "65534" in done.stderr, done.stderr


def test_who_waits_keeps_its_place_while_the_policy_is_broken(lab):
    lab.policy("[everybody]\n")
    lab.hold("holder", "--only", "0")
    lab.wait("waits", "--only", "0")
    lab.policy("[everybody]\nnonsense = 1\n")
    lab.let_end("holder")
    poll(lambda: leases(lab), LONG, "the holder has not gone")
    assert len(lab.queue()) == 1
    shown = lab.run("status", "-i", "0", "--csv", "state,reserved_for").stdout
    assert shown.splitlines()[1] == "free,", f"nobody is given it: {shown}"
    lab.policy("[everybody]\n")
    lab.await_start("waits")


def test_nobody_has_more_devices_than_the_policy_allows(lab):
    lab.policy("[everybody]\ndevices_at_most = 1\n")
    lab.hold("holder", "--only", "0")
    done = lab.run("run", "--", "true")
    assert done.returncode == 124 and "1 of the 1 devices that the policy allows at once" in in_one_line(done.stderr)
    never = lab.run("run", "--wait", "-n", "2", "--", "true")
    assert never.returncode == 124 and "allows this user 1 at once, 2 are wanted" in in_one_line(never.stderr)
    assert "the policy of this machine does not allow this request" in in_one_line(never.stderr)
    assert "--min-compute" not in never.stderr, "no other request would do"
    waiter = lab.wait("next", "--only", "1")
    [row] = lab.queue()
    assert "policy allows at once" in row["why_not_yet"]
    lab.let_end("holder", "next")
    assert waiter.wait(timeout=LONG) == 0


def test_a_device_that_is_not_allowed_is_never_given(lab):
    lab.policy('[everybody]\ndevices = ["1"]\n')
    done = lab.run("run", "--only", "0", "--", "true")
    assert done.returncode == 124 and "not among the devices that the policy allows" in in_one_line(done.stderr)
    said = lab.run("run", "-q", "--", "sh", "-c", "echo =$CUDA_VISIBLE_DEVICES=").stdout
    assert "=1=" in said


def test_a_job_that_does_not_say_gets_the_policys_memory_and_time(lab):
    lab.policy('[everybody]\nmemory = "1G"\ntime = "3h"\n')
    origin = lab.run("config", "--origin").stdout
    assert POLICY in origin, origin
    lab.hold("job")
    [lease] = leases(lab)
    assert lease["devices"][0]["promised_bytes"] == 1 << 30
    assert lease["ends_unix_ms"] == lease["since_unix_ms"] + 3 * 3600_000
    lab.let_end("job")
    lab.hold("own", "--time", "1h", "--memory", "default")
    [lease] = [one for one in leases(lab) if one["devices"][0]["promised_bytes"] is None]
    assert lease["ends_unix_ms"] == lease["since_unix_ms"] + 3600_000


def given(lab, *options):
    return lab.run("run", "-q", *options, "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES").stdout.strip()


def test_of_equal_devices_a_job_has_those_of_its_users_last(lab):
    assert given(lab) == "0", "of those that nobody had the first"
    assert given(lab, "--only", "1") == "1" and given(lab) == "1"
    assert "GPU 1" in lab.run("run", "--dry-run", "--", "true").stdout, "it is told beforehand"
    assert given(lab, "--prefer", "0") == "0" and given(lab) == "0"
    lab.hold("holder", "--only", "0")
    assert given(lab) == "1", "where it is free"


def test_a_policys_preference_is_what_is_tried_first(lab):
    lab.policy('[everybody]\nprefer = ["1", "0"]\n')
    assert given(lab) == "1" and given(lab, "--prefer", "0") == "0" and given(lab) == "1"
    lab.hold("holder")
    assert given(lab) == "0", "a preference forbids nothing"


def test_no_more_jobs_share_a_device_than_the_policy_allows(lab):
    lab.policy("[everybody]\njobs_per_device = 2\n")
    for name in ("one", "two"):
        lab.hold(name, "--only", "0", "--memory", "1G")
    refused = lab.run("run", "--only", "0", "--memory", "1G", "--", "true")
    assert refused.returncode == 124 and "allows no more than 2" in in_one_line(refused.stderr), refused.stderr
    third = lab.wait("third", "--only", "0", "--memory", "1G")
    lab.let_end("one", "third")
    assert third.wait(timeout=LONG) == 0


def test_policy_remarks_on_what_this_server_does_not_have(lab):
    lab.policy('[reap]\nnotify = ["/no/such"]\n[everybody]\ndevices = ["0", "99"]\nmemory = "999T"\n')
    done = lab.run("policy", "show")
    said = in_one_line(done.stderr)
    assert done.returncode == 0 and "only these devices: 0,99" in done.stdout
    for words in ("/no/such cannot be run here", "this server has no device 99", "no device of this server has 999T"):
        assert words in said, said
    lab.policy("[everybody]\njobs_per_device = 0\n")
    done = lab.run("run", "--", "true")
    assert done.returncode == 125 and "berth.toml:2" in done.stderr and "1 lets none share" in in_one_line(done.stderr)


def test_a_share_that_no_card_has_is_refused_at_once_and_what_is_free_is_told(lab):
    lab.hold("holder", "--only", "0")
    done = lab.run("run", "--memory", "999G", "--wait", "--", "true")
    assert done.returncode == 124 and "the largest has" in in_one_line(done.stderr), done.stderr
    done = lab.run("run", "-n", "2", "--", "true")
    assert done.returncode == 124 and "would do, 1 of 2 wanted" in in_one_line(done.stderr), done.stderr
    assert leases(lab) and lab.queue() == []


def test_a_fair_share_that_nobody_counts_is_told_where_it_is_looked_for(lab):
    lab.policy('[queue]\nfair_share = "8h"\n')
    lab.hold("holder", "-n", "2")
    lab.wait("waits")
    for words in (["queue"], ["policy", "show"]):
        assert "cannot be enforced" in in_one_line(lab.run(*words).stdout), words


def test_config_installs_a_policy_that_is_right_and_no_other(lab):
    file = lab.directory / "mine.toml"
    file.write_text("[everybody]\ndevices_at_most = 1\n")
    (lab.directory / "etc").mkdir(exist_ok=True)
    done = lab.run("config", "--install", file)
    assert done.returncode == 0, done.stderr
    assert "one device at once at most" in done.stdout
    installed = lab.directory / POLICY
    assert installed.read_text() == file.read_text() and installed.stat().st_mode & 0o777 == 0o644
    file.write_text("[everybody]\ndevice_at_most = 2\n")
    done = lab.run("config", "--install", file)
    assert done.returncode == 125 and "mine.toml:2" in done.stderr and "devices_at_most" in done.stderr
    assert "at_most = 1" in installed.read_text()
    assert [path.name for path in installed.parent.iterdir()] == ["berth.toml"]


def test_config_checks_without_passing_by_an_option(lab):
    file = lab.directory / "mine.toml"
    file.write_text("[everybody]\ndevices_at_most = 1\n")
    for option in ("--json", "--origin"):
        done = lab.run("config", "--check", file, option)
        assert done.returncode == 2 and "--json" in done.stderr and done.stdout == "", done.stderr
    file.chmod(0o666)
    done = lab.run("config", "--check", file)
    assert done.returncode == 125 and "chmod o-w" in done.stderr, done.stderr
    file.chmod(0o644)
    assert lab.run("config", "--check", file).returncode == 0


@pytest.mark.parametrize(("words", "right"), [
    (["run", "--time", "24", "--", "true"], "write 24m (so sbatch means it), 24h or 24s"),
    (["run", "--dry-run", "--time", "1.5", "--", "true"], "1.5m"),
    (["reserve", "--for", "4"], "4m"),
    (["reserve", "--for", "4h", "--at", "18"], "18m"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_a_time_without_a_unit_is_asked_about(lab, words, right):
    done = lab.run(*words)
    assert done.returncode in (2, 125) and right in done.stderr, done.stderr
    assert leases(lab) == []


def test_policy_is_told_in_plain_words(lab):
    lab.policy('[queue]\npriority_step = "6h"\n[everybody]\ndevices_at_most = 2\nhours_at_most = 100\n'
               '[group.staff]\nhighest_priority = "high"\n[user.nobody]\nquiet_hours = "22:00-07:00"\n')
    told = " ".join(lab.run("policy", "show").stdout.split())
    for words in ["worth 6h00m of waiting", "2 devices at once at most", "100 GPU-hours within 30 days at most, which cannot be "
                  "enforced", "group staff", "no job starts between 22:00-07:00"]:
        assert words in told, told
    chinese = lab.run("--lang", "zh_CN", "policy", "show").stdout
    assert "每个人" in chinese and "devices at once" not in chinese, chinese


def test_policy_tells_what_would_happen_to_somebody(lab):
    lab.policy('[user.nobody]\ndevices_at_most = 1\n')
    told = lab.run("policy", "test", "nobody", "--", "-n", "2", "--priority", "high").stdout
    assert "could never start" in told and "counts as normal" in told and "2 are wanted" in told, told
    told = lab.run("policy", "test", "nobody", "--", "-n", "1").stdout
    assert "It would start now, on GPU 0." in told, told
    never = " ".join(lab.run("policy", "test", "root", "--", "-n", "9").stdout.split())
    assert "It could never start: this machine has too few GPUs for this request" in never, never
    for words, said in ((["--cpu"], "It would run on the CPU"), (["--or-cpu", "-n", "9"], "or run on the CPU:")):
        told = lab.run("policy", "test", "root", "--", *words).stdout
        assert said in told and "never" not in told, told
    wrong = lab.run("policy", "test", "nobody", "--", "--gpus", "1")
    assert wrong.returncode == 2 and "--gpus" in wrong.stderr


def test_policy_judges_somebody_by_their_own_rules_and_not_by_the_askers(lab):
    lab.policy('[everybody]\nmemory = "10G"\n[user.nobody]\nmemory = "4T"\n')
    assert "could never start" in lab.run("policy", "test", "nobody", "--", "-n", "1").stdout
    assert "It would start now" in lab.run("policy", "test", "root", "--", "-n", "1").stdout
    assert "It would start now" in lab.run("policy", "test", "nobody", "--", "--memory", "default").stdout


def test_under_a_policy_that_cannot_be_read_the_queue_promises_nobody_a_start(lab):
    lab.hold("holder", "-n", "2", "--time", "10m")
    lab.wait("later")
    [place] = lab.queue()
    assert place["expected_start_unix_ms"] is not None, place
    lab.policy("[everybody]\ndevices_at_mst = 1\n")
    [place] = lab.queue()
    assert place["expected_start_unix_ms"] is None, place
    assert place["why_not_yet"] == "the policy of this machine cannot be read"
    done = lab.run("queue")
    assert place["why_not_yet"] in done.stdout and "When one starts is known" not in done.stdout, done.stdout
    assert "devices_at_mst" in done.stderr and not re.search(r"in \d+m", done.stdout), (done.stdout, done.stderr)


def test_without_a_policy_that_is_told(lab):
    assert "No policy" in lab.run("policy", "show").stdout


def test_topo_says_what_a_machine_can_never_give(driver_of):
    said = driver_of(many_devices(1)).run("topo")
    assert said.returncode == 0 and "-n 2 is more than this machine can give." in said.stdout, said.stdout


# --- who holds a device and computes nothing --------------------------------------------------------


def idle_rows(lab):
    done = lab.run("idle", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["idle"]


def test_an_idle_lease_is_listed_and_who_waits_is_told_once_a_history_knows_it(lab):
    lab.hold("holder", "-n", "2")
    assert idle_rows(lab) == [], "it has only just begun"
    lab.policy('[everybody]\nidle_after = "1s"\n')
    poll(lambda: len(idle_rows(lab)) < 2, LONG, "it is not idle")
    first = idle_rows(lab)[0]
    assert (first["kind"], first["sure"], first["since_unix_ms"]) == ("lease", "seen", None)
    lab.wait("waits")
    assert "nothing was computed" not in in_one_line(lab.run("queue").stdout), "one look accuses nobody"
    serve = lab.start("serve", "--socket", lab.directory / "serve.socket", "--listen", "none", stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL)
    try:
        told = f"GPU 0 is held by {first['users'][0]}, and nothing was computed on it for"
        poll(lambda: "measured" not in [row["sure"] for row in idle_rows(lab)], LONG, "the history does not tell")
        poll(lambda: told not in in_one_line(lab.run("queue").stdout), LONG, "who waits is not told")
    finally:
        end(serve)


def test_memory_held_without_a_lease_is_listed_as_of_one_look(machine_of):
    """A notebook of two days that computes nothing, on a card of its own."""
    done = machine_of("server-8xh100").run("idle", "--json")
    rows = json.loads(done.stdout)["idle"]
    assert [(row["kind"], row["sure"], row["index"], row["users"]) for row in rows] == [("memory", "seen", 2, ["bob"])]


# --- reservations -----------------------------------------------------------------------------------


def test_a_reservation_holds_its_devices_for_its_owner_until_it_is_stopped(lab):
    done = lab.run("reserve", "-n", "2", "--for", "3m")
    assert done.returncode == 0, done.stderr
    run = done.stdout.strip()
    [lease] = leases(lab)
    assert lease["command"] == "berth reserve" and len(lease["devices"]) == 2
    assert re.search(r"Ends", lab.run("leases").stdout), "who looks sees when it ends"
    assert lab.run("run", "--", "true").returncode == 124
    used = lab.run("exec", run, "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert (used.returncode, used.stdout) == (0, "0,1\n"), used.stderr
    assert 0 < show(lab)["time_limit_ms"] <= 180_000, "no longer than the reservation"
    assert lab.run("exec", "-n", "1", run, "--", "sh", "-c", "exit 7").returncode == 7
    assert lab.run("stop", run).returncode == 0
    poll(lambda: leases(lab), LONG, "it is still held")
    late = lab.run("exec", run, "--", "true")
    assert late.returncode == 125 and "you hold no lease" in in_one_line(late.stderr)


def test_a_reservation_ends_by_the_clock(lab):
    assert lab.run("reserve", "--for", "2s").returncode == 0
    poll(lambda: show(lab)["end"] is None, LONG, "it is still held")
    assert show(lab)["end"]["because"] == "time limit"
    poll(lambda: leases(lab), LONG, "its lease is left")


def test_a_reservation_without_an_end_is_none(lab):
    done = lab.run("reserve", "-n", "2")
    assert done.returncode == 125 and "--for 4h" in done.stderr and leases(lab) == []


@pytest.mark.parametrize("flags", [["--cpu"], ["--or-cpu"], ["--or-cpu=10m", "-n", "2"]], ids=" ".join)
def test_a_reservation_of_nothing_is_none(lab, flags):
    done = lab.run("reserve", "--for", "4h", *flags)
    assert done.returncode == 125 and "nothing to hold" in done.stderr and done.stdout == ""
    assert json.loads(lab.run("runs", "--json").stdout)["runs"] == []
