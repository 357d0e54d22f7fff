"""A server of root's for several people: what each sees of another's jobs, and may do to them.

All that is secret about the watched user has "quokka" in it. That is the name, the commands, their arguments,
environment, folder and output. So one word tells whether anything got out."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from conftest import BERTH, FakeDriver, end, fake_library, wait_until
from serving import Events, Server, commands_are_open
from test_top import busy_machine
from test_two_users import words_as

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acting as several users: only root can")

WORD = "quokka"
BOB = "quokkabob"
UIDS = {"alice": 487211, BOB: 487213, "carol": 487217}
ALICE_GPU, BOB_GPU, SPARE_GPU = 0, 1, 2

CONFIG = """
interval = "200ms"
[policy]
others = "{others}"
[metrics]
per_process = true
[alerts.idle_holder]
for = "0s"
"""

# With files of our own in the place of those that name users and groups.
NAMED = ["unshare", "--mount", "sh", "-c",
         'mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$@"']


@contextlib.contextmanager
def as_user(uid):
    """What is connected in here is that user's."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class House(FakeDriver):
    """A machine of four cards where alice and bob, who share a group, each run a job; carol does not."""

    def __init__(self, directory):
        super().__init__(directory, busy_machine([]))
        directory.chmod(0o755)
        # An ordinary user may not reach what root has built where only root may go.
        self.berth = str(shutil.copy(BERTH, directory / "program"))
        self.env["BERTH_NVML"] = str(shutil.copy(fake_library(), directory))
        self.env["BERTH_FAKE_NVML_LIVE"] = "1"
        self.env["BERTH_HOMES"] = ""  # as its own passwd says
        self.config = directory / "serve.toml"
        self.jobs, self.waiting, self.on_devices = [], [], {}
        ledger = directory / "ledger"
        ledger.mkdir()
        ledger.chmod(0o1777)
        (ledger / "host.lock").touch()
        (ledger / "host.lock").chmod(0o666)
        for path in directory.iterdir():
            if path.is_file():
                path.chmod(0o755)
        self.name_people()
        self.others = "owner"
        self.config.write_text(CONFIG.format(others=self.others), encoding="utf-8")
        self.server = Server(self, "--config", self.config)

    def name_people(self):
        passwd, group = ["root:x:0:0::/root:/bin/sh"], [f"lab:x:487200:alice,{BOB}"]
        for name, uid in UIDS.items():
            folder = self.home(name) / f"{name}-folder"
            if name == BOB:
                folder = self.home(name) / f"{WORD}-folder"
            folder.mkdir(parents=True)
            for path in (self.home(name), folder):
                os.chown(path, uid, uid)
                path.chmod(0o700)
            passwd.append(f"{name}:x:{uid}:{uid}::{self.home(name)}:/bin/sh")
            group.append(f"{name}:x:{uid}:")
        (self.directory / "passwd").write_text("\n".join(passwd) + "\n", encoding="utf-8")
        (self.directory / "group").write_text("\n".join(group) + "\n", encoding="utf-8")
        for name in ("passwd", "group"):
            (self.directory / name).chmod(0o644)

    def home(self, name):
        return self.directory / "homes" / name

    def command(self, *words):
        return [*NAMED, str(self.directory), self.berth, *map(str, words)]

    # ------------------------------------------------------------------------------- what people do

    def words_of(self, name, *words):
        return [*NAMED, str(self.directory), *words_as(UIDS[name]), self.berth, *map(str, words)]

    def env_of(self, name, state=None):
        mark = WORD if name == BOB else name
        return self.environment({"HOME": str(self.home(name)), "XDG_STATE_HOME": state and str(state),
                                 "REMARK": f"{mark}-environment", "NCCL_REMARK": f"{mark}-variable"})

    def folder_of(self, name):
        return next(path for path in self.home(name).iterdir() if path.name.endswith("-folder"))

    def does(self, name, *words, state=None):
        """A person at the command line."""
        return subprocess.run(self.words_of(name, *words), env=self.env_of(name, state), timeout=60, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, cwd=self.folder_of(name), check=False)

    def job_words(self, name):
        mark = WORD if name == BOB else name
        program = self.folder_of(name) / f"{mark}-program"
        if not program.exists():
            shutil.copy("/bin/sh", program)
            program.chmod(0o755)
        return [program, "-c", f"echo {mark}-line; while :; do sleep 1; done", f"{mark}-argument"]

    def starts(self, name, device, state=None):
        """A detached run of that person's on that card, which the driver lists; its record."""
        # The driver lists no process that has ended.
        self.on_devices = {at: pid for at, pid in self.on_devices.items() if os.path.exists(f"/proc/{pid}")}
        self.play()
        done = self.does(name, "run", "--detach", "--only", device, "--", *self.job_words(name), state=state)
        assert done.returncode == 0, done.stderr
        # The record is there before the job is.
        wait_until(lambda: self.record(name, "last", state)["job"], "the job is in its record", 20)
        record = self.record(name, "last", state)
        self.jobs.append((name, record["id"], state))
        self.on_devices[device] = record["job"]["pid"]
        self.play()
        pid = record["job"]["pid"]
        wait_until(lambda: any(p["pid"] == pid and p["lease"] for p in self.processes()), "the job is seen", 20)
        return record

    def record(self, name, run, state=None):
        shown = self.does(name, "show", run, "--json", state=state)
        assert shown.returncode == 0, shown.stderr
        return json.loads(shown.stdout)

    def play(self):
        snapshot = busy_machine([])
        snapshot["gpu_processes"] = [
            {"device": snapshot["devices"][device]["id"], "pid": pid, "type": "C", "memory_used_bytes": 1 << 30}
            for device, pid in self.on_devices.items()]
        new = self.directory / "played.new"
        new.write_text(json.dumps(snapshot), encoding="utf-8")
        new.chmod(0o644)
        new.rename(self.env["BERTH_FAKE_NVML"])

    def waits(self, name, device):
        process = subprocess.Popen(self.words_of(name, "run", "--wait", "--only", device, "--", *self.job_words(name)),
                                   env=self.env_of(name), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=self.folder_of(name))
        self.waiting.append(process)

    # ------------------------------------------------------------------------------- what is asked

    def processes(self):
        return self.server.get("/api/v1/processes", over="unix").json["processes"]

    def policy(self, others):
        if others == self.others:
            return
        self.others = others
        self.config.write_text(CONFIG.format(others=others), encoding="utf-8")

        def readings():
            return sum("has been read again" in line for line in self.server.said)

        before = readings()
        self.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: readings() > before, "the configuration is read again", 20)

    def close(self):
        for process in self.waiting:
            end(process)
        for name, run, state in self.jobs:
            self.does(name, "stop", run, state=state)
        self.server.close()


class Asker:
    """Somebody at one of the doors."""

    def __init__(self, house, over="unix", uid=0, headers=None):
        self.house, self.over, self.uid, self.headers = house, over, uid, headers or {}

    def get(self, path):
        with as_user(self.uid):
            return self.house.server.get(path, self.headers, self.over)

    def post(self, path, body):
        with as_user(self.uid):
            return self.house.server.post(path, body, self.headers, self.over)

    def listen(self):
        with as_user(self.uid):
            return Events(self.house.server, "".join(f"{k}: {v}\r\n" for k, v in self.headers.items()), self.over)


@pytest.fixture(scope="module")
def house():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-house-"))
    made = House(directory)
    try:
        made.alices = made.starts("alice", ALICE_GPU)
        made.bobs = made.starts(BOB, BOB_GPU)
        made.waits(BOB, BOB_GPU)

        def is_complete():
            root = made.server
            log = f"/api/v1/runs/{made.bobs['id']}/log"
            ready = {
                "the queue": root.get("/api/v1/queue", over="unix").json["queue"],
                "the log": WORD in root.get(log, over="unix").json.get("text", ""),
                "alerts of both": len(root.get("/api/v1/alerts", over="unix").json["alerts"]) >= 2,
            }
            for by in ("user", "job"):
                answer = root.get(f"/api/v1/usage?by={by}", over="unix")
                ready[f"usage by {by}"] = answer.status == 200 and WORD in answer.body.decode()
            spans = root.get("/api/v1/timeline", over="unix")
            ready["the timeline"] = spans.status == 200 and f"{WORD}-argument" in spans.body.decode()
            made.missing = [what for what, is_there in ready.items() if not is_there]
            return not made.missing

        wait_until(is_complete, "the server has something of each kind", 60)
        yield made
    finally:
        made.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def askers(house):
    """All askers, by name and by the door that they use."""

    tokens = {"alice's token": ("alices", "--user", "alice"), "carol's token": ("carols", "--user", "carol"),
              "bob's token": ("bobs", "--user", BOB), "a public token": ("prometheus", "--public"),
              "an administrator's token": ("boss", "--admin")}
    bearers = {}
    for who, words in tokens.items():
        done = house.run("token", "create", *words)
        assert done.returncode == 0, done.stderr
        bearers[who] = Asker(house, "tcp", headers={"Authorization": f"Bearer {done.stdout.strip()}"})

    def are_taken():
        return all(asker.get("/healthz").status == 200 for asker in bearers.values())

    wait_until(lambda: are_taken(), "the tokens are taken", 30)
    return {
        "root": Asker(house), "alice": Asker(house, uid=UIDS["alice"]), "bob": Asker(house, uid=UIDS[BOB]),
        "carol": Asker(house, uid=UIDS["carol"]), "nobody": Asker(house, "tcp"), **bearers,
    }


# What one sees of bob. "numbers": that a device is in use. "names": bob's name, too. "commands": also what bob runs.
# "whole": all that is kept of it.
HERE = ["alice", "carol"]  # through the Unix socket, as users of this machine
IN_GROUP = ["alice's token"]
ELSE = ["carol's token", "nobody", "a public token"]
OWN = ["bob", "bob's token", "root", "an administrator's token"]
SIGHTS = [
    *[("owner", who, "numbers") for who in HERE + IN_GROUP + ELSE],
    *[("public", who, "names") for who in IN_GROUP + ELSE],
    *[("public", who, "commands") for who in HERE if commands_are_open()],
    *[("group", who, "commands") for who in HERE if commands_are_open()],
    *[("group", who, "commands") for who in IN_GROUP],
    *[("group", who, "names") for who in ELSE],
    *[(others, who, "whole") for others in ("owner", "public", "group") for who in OWN],
]
LEVELS = ["numbers", "names", "commands", "whole"]


def with_pid(rows, pid):
    return next(row for row in rows if row["pid"] == pid)


def words_in(value):
    """A command, as the text that it is in some answers."""
    return " ".join(value) if isinstance(value, list) else value


@pytest.mark.parametrize(("others", "who", "level"), SIGHTS)
def test_of_anothers_job_each_sees_what_the_policy_says(house, askers, others, who, level):
    house.policy(others)
    asker, bobs = askers[who], house.bobs
    names, commands = LEVELS.index(level) >= 1, LEVELS.index(level) >= 2
    events = asker.listen()
    try:
        kind, _, told = events.next()
    finally:
        events.close()
    assert kind == "overview"
    for view in (asker.get("/api/v1/overview").json, told):
        process = with_pid(view["processes"], bobs["job"]["pid"])
        lease = next(one for one in view["leases"] if one["id"] == bobs["lease"])
        [waiter] = view["queue"]
        device = next(one for one in view["devices"] if one["index"] == BOB_GPU)
        for shown in (process, lease, waiter):
            assert shown["user"] == (BOB if names else None), shown
            assert (shown["command"] is not None) == commands, shown
        assert not commands or f"{WORD}-argument" in process["command"]
        assert device["users"] == ([BOB] if names else []) and device["leases"] == [bobs["lease"]]
        assert process["memory_used_bytes"] == 1 << 30, "how much is in use everybody may know"
    raw = with_pid(asker.get("/gpu-status").json["processes"], bobs["job"]["pid"])
    assert (raw["user"], raw["uid"]) == ((BOB, UIDS[BOB]) if names else (None, None))
    assert (raw["command"] is not None, raw["executable_name"] is not None) == (commands, commands)

    listed = {run["id"]: run for run in asker.get("/api/v1/runs").json["runs"]}
    single = asker.get(f"/api/v1/runs/{bobs['id']}")
    log = asker.get(f"/api/v1/runs/{bobs['id']}/log")
    samples = asker.get(f"/api/v1/runs/{bobs['id']}/samples")
    judged = [asker.get(f"/api/v1/runs/{bobs['id']}/{part}").status for part in ("explanation", "report")]
    code = {"numbers": 404, "whole": 200}.get(level, 403)
    assert (bobs["id"] in listed, single.status) == ((True, 200) if names else (False, 404))
    assert (log.status, samples.status, *judged) == (code,) * 4
    if names:
        for run in (listed[bobs["id"]], single.json):
            assert run["user"] == BOB and (run["command"] is not None) == commands
            assert ("working_directory" in run, "log" in run) == ((level == "whole",) * 2)
    assert (f"{WORD}-line" in log.body.decode()) == (level == "whole")

    by_user = {row["key"] for row in asker.get("/api/v1/usage?by=user").json["rows"]}
    assert (BOB in by_user) == names
    by_job = {row["key"]: row["user"] for row in asker.get("/api/v1/usage?by=job").json["rows"]}
    assert (by_job.get(bobs["id"]) == BOB) == commands, by_job
    assert asker.get("/api/v1/usage?by=gpu").json["rows"], "hours of a card are nobody's"
    spans = [one for one in asker.get("/api/v1/timeline").json["spans"]
             if one["device"] == bobs["given"]["devices"][0]["id"] and one["kind"] == "run"]
    assert spans and all(one["user"] == (BOB if names else None) for one in spans)
    assert all((one["title"] is not None, one["id"] is not None) == (commands, names) for one in spans)

    for profile in ("berth", "nvidia_smi"):
        page = asker.get(f"/metrics?profile={profile}").body.decode()
        assert (f"{WORD}-program" in page) == commands, profile
        assert f'pid="{bobs["job"]["pid"]}"' in page, "the series itself is there"
    assert (f'user="{BOB}"' in asker.get("/metrics").body.decode()) == names

    for path in ("/gpu-status", "/api/v1/overview", "/api/v1/runs", f"/api/v1/runs/{bobs['id']}", "/metrics"):
        text = asker.get(path).body.decode()
        assert f"{WORD}-environment" not in text, "the environment is never shown"
        # But for the few variables that a record keeps.
        assert (f"{WORD}-variable" in text) == (level == "whole" and "/runs" in path)


@pytest.mark.parametrize("name", ["alice", "carol"])
def test_of_leases_and_the_queue_the_command_line_and_the_server_tell_a_user_the_same(house, askers, name):
    """One policy: each user of the machine may read the ledger and /proc, and the server knows no more."""
    house.policy("public")
    told = json.loads(house.does(name, "leases", "--json").stdout)
    served = askers[name].get("/api/v1/overview").json
    for mine, its in ((told["leases"], served["leases"]), (told["queue"], served["queue"])):
        own, other = ({one["id"]: (one["user"], one["command"] or None) for one in rows} for rows in (mine, its))
        assert own == other and own
    [bobs] = [one for one in told["leases"] if one["id"] == house.bobs["lease"]]
    assert (f"{WORD}-argument" in bobs["command"]) == commands_are_open()


def test_ones_own_jobs_are_seen_whole(house, askers):
    house.policy("owner")
    for who in ("alice", "alice's token"):
        view = askers[who].get("/api/v1/overview").json
        own = with_pid(view["processes"], house.alices["job"]["pid"])
        assert own["user"] == "alice" and "alice-argument" in own["command"]
        [run] = askers[who].get("/api/v1/runs").json["runs"]
        assert run["id"] == house.alices["id"] and run["working_directory"].endswith("alice-folder")
        wait_until(lambda who=who: "alice-line" in askers[who].get(f"/api/v1/runs/{run['id']}/log").body.decode(),
                   "her log is hers to read")


def test_who_leaves_a_group_sees_its_commands_no_more(house, askers):
    group = house.directory / "group"
    before = group.read_text(encoding="utf-8")

    def sees_commands():
        processes = askers["alice's token"].get("/api/v1/processes").json["processes"]
        return with_pid(processes, house.bobs["job"]["pid"])["command"] is not None

    house.policy("group")
    assert sees_commands()
    try:
        group.write_text(before.replace(f":alice,{BOB}", f":{BOB}"), encoding="utf-8")
        house.policy("public")
        house.policy("group")  # read again, with all that it goes by
        assert not sees_commands()
    finally:
        group.write_text(before, encoding="utf-8")
        house.policy("public")


def test_who_comes_while_it_runs_has_runs_as_well(house, askers):
    """No restart and no reload: the tool that makes the account knows nothing of berth."""
    name, uid = "dora", 487219
    home = house.directory / "homes" / name
    home.mkdir()
    os.chown(home, uid, uid)
    passwd = house.directory / "passwd"
    before = passwd.read_text(encoding="utf-8")
    try:
        passwd.write_text(f"{before}{name}:x:{uid}:{uid}::{home}:/bin/sh\n", encoding="utf-8")
        command = [*NAMED, str(house.directory), *words_as(uid), house.berth, "run", "-q", "--cpu", "--", "true"]
        env = house.environment({"HOME": str(home)})
        env.pop("XDG_STATE_HOME", None)
        done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=60, check=False, cwd="/")
        assert done.returncode == 0, done.stderr

        def shown():
            return [run["user"] for run in askers["root"].get("/api/v1/runs").json["runs"] if run["uid"] == uid]

        assert wait_until(shown, "the run is shown", 20) == [name]
    finally:
        passwd.write_text(before, encoding="utf-8")
    wait_until(lambda: not shown(), "who has gone has none", 20)


def numbers_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return {number for part in value for number in numbers_in(part)}
    return {value} if isinstance(value, int) else set()


def paths_of(house, document):
    """Every GET of the document, for each thing that can be named there."""
    devices = [one["id"] for one in house.server.get("/api/v1/devices", over="unix").json["devices"]]
    runs = [house.bobs["id"], house.alices["id"]]
    queries = {
        "/api/v1/history": [f"?device={device}&metric={metric}" for device in devices
                            for metric in ("memory_used_bytes", "utilization_gpu_percent")],
        "/api/v1/recent": ["?metric=memory_used_bytes"],
        "/api/v1/usage": [f"?by={by}" for by in ("user", "job", "gpu", "day")],
        "/api/v1/processes": ["", f"?user={BOB}", *[f"?device={device}" for device in devices]],
        "/metrics": ["", "?profile=berth", "?profile=dcgm", "?profile=nvidia_smi", "?profile=berth,dcgm,nvidia_smi"],
    }
    paths = []
    for template, operations in document["paths"].items():
        if "get" not in operations or template in ("/api/v1/events", "/login"):
            continue
        for run in runs if "{run}" in template else [""]:
            for device in devices if "{device}" in template else [""]:
                path = template.replace("{run}", run).replace("{device}", device)
                paths += [path + query for query in queries.get(template, [""])]
    assert len(paths) > 30 and not [path for path in paths if "{" in path]
    return paths


SECRETIVE = {"/gpu-status", "/metrics", "/api/v1/overview", "/api/v1/processes", "/api/v1/leases", "/api/v1/alerts",
             "/api/v1/queue", "/api/v1/runs", "/api/v1/usage?by=user", "/api/v1/usage?by=job", "/api/v1/timeline"}


@pytest.mark.parametrize("who", IN_GROUP + ELSE)
def test_where_only_owners_see_nothing_of_another_gets_out(house, askers, who):
    house.policy("owner")
    asker = askers[who]
    paths = paths_of(house, asker.get("/api/v1/openapi.json").json)
    told = {path for path in paths if WORD in askers["root"].get(path).body.decode()}
    assert SECRETIVE <= told and f"/api/v1/runs/{house.bobs['id']}/log" in told, "root is told all of it"
    for path in paths:
        answer = asker.get(path)
        is_of_bobs_run = house.bobs["id"] in path
        is_of_alices = house.alices["id"] in path and who not in IN_GROUP
        assert answer.status == (404 if is_of_bobs_run or is_of_alices else 200), (path, answer.body[:300])
        text = answer.body.decode()
        assert WORD not in text.replace(f"user={BOB}", ""), (path, text[max(0, text.find(WORD) - 300):][:600])
        if "json" in answer.headers["content-type"]:
            assert UIDS[BOB] not in numbers_in(answer.json), path


@pytest.mark.parametrize("who", ["alice", "nobody"])
def test_events_keep_names_as_well(house, askers, who):
    house.policy("owner")
    events = askers[who].listen()
    heard = []

    def hears_alert_of(device):
        kind, _, data = events.next()
        heard.append(json.dumps(data))
        return kind == "alert" and data["rule"] == "idle_holder" and data["index"] == device

    try:
        record = house.starts(BOB, SPARE_GPU)
        wait_until(lambda: hears_alert_of(SPARE_GPU), "that somebody holds a card and does nothing", 30)
    finally:
        events.close()
    assert len(heard) > 1 and not [one for one in heard if WORD in one]
    seen = askers["root"].get("/api/v1/alerts").json["alerts"]
    assert any(BOB in one["summary"] and one["index"] == SPARE_GPU for one in seen), "root is told whose it is"
    assert house.does(BOB, "stop", record["id"]).returncode == 0
    wait_until(lambda: record["lease"] not in leases_of(house), "it has ended", 20)


# ------------------------------------------------------------------------------------------- acting


def leases_of(house):
    return [one["id"] for one in house.server.get("/api/v1/leases", over="unix").json["leases"]]


def closed(house, record, state=None):
    """Bob's record of that run, once it says how it ended."""
    return wait_until(lambda: (now := house.record(BOB, record["id"], state))["end"] and now, "its end is recorded", 30)


def is_running(pid):
    return os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("others", ["owner", "group"])
def test_nobody_releases_anothers_lease(house, askers, others):
    house.policy(others)
    path = f"/api/v1/leases/{house.bobs['lease']}/release"
    for who in ("alice", "alice's token", "carol"):
        refused = askers[who].post(path, {})
        assert refused.status == 403 and refused.json["error"]["code"] == "not_yours", refused.body
        assert WORD not in refused.body.decode()
    for who in ("nobody", "a public token"):
        assert askers[who].post(path, {}).status == 401, who
    assert house.bobs["lease"] in leases_of(house) and is_running(house.bobs["job"]["pid"])
    assert house.record(BOB, house.bobs["id"])["state"] == "running"


@pytest.mark.parametrize("who", ["bob", "bob's token", "root", "an administrator's token"])
@pytest.mark.parametrize("where", ["in his home", "elsewhere"])
def test_a_lease_is_released_by_its_owner_and_by_root(house, askers, who, where):
    """Also where its record lies in a folder that only the job's own environment names."""
    house.policy("owner")
    state = house.home(BOB) / "other-state" if where == "elsewhere" else None
    record = house.starts(BOB, SPARE_GPU, state)
    root_of_records = state or house.home(BOB) / ".local/state"
    assert record["directory"].startswith(str(root_of_records))
    done = askers[who].post(f"/api/v1/leases/{record['lease']}/release", {})
    assert done.status == 200, done.body
    assert done.json == {"lease": record["lease"], "run": record["id"], "end": "ended"}
    wait_until(lambda: record["lease"] not in leases_of(house), "the lease has gone", 20)
    assert not is_running(record["job"]["pid"])
    after = closed(house, record, state)
    assert (after["state"], after["end"]["because"], after["end"]["signal"]) == ("ended", "stopped", signal.SIGTERM)
    assert after["end"]["released_unix_ms"] is not None
    strangers = [path for path in root_of_records.rglob("*") if path.stat().st_uid != UIDS[BOB]]
    assert not strangers, "nothing of his has become another's"
    assert house.bobs["lease"] in leases_of(house), "the other one is as it was"


def test_nobody_signals_anothers_process(house, askers):
    house.policy("group")
    pid = house.bobs["job"]["pid"]
    ticks = with_pid(house.processes(), pid)["start_ticks"]
    path, body = f"/api/v1/processes/{pid}/signal", {"signal": "KILL", "start_ticks": ticks}
    for who in ("alice", "alice's token", "carol"):
        refused = askers[who].post(path, body)
        assert refused.status == 403 and refused.json["error"]["code"] == "not_yours", refused.body
    for who in ("nobody", "a public token"):
        assert askers[who].post(path, body).status == 401, who
    assert is_running(pid)
    assert house.record(BOB, house.bobs["id"])["state"] == "running"


@pytest.mark.parametrize("who", ["bob", "root"])
def test_a_process_is_signalled_by_its_owner_and_by_root(house, askers, who):
    house.policy("owner")
    record = house.starts(BOB, SPARE_GPU)
    pid = record["job"]["pid"]
    ticks = with_pid(house.processes(), pid)["start_ticks"]
    done = askers[who].post(f"/api/v1/processes/{pid}/signal", {"signal": "KILL", "start_ticks": ticks})
    assert done.status == 200 and done.json == {"pid": pid, "sent": True}, done.body
    after = closed(house, record)
    assert after["end"]["signal"] == signal.SIGKILL
    wait_until(lambda: record["lease"] not in leases_of(house), "the lease has gone", 20)


@pytest.mark.parametrize(("others", "who", "level"), SIGHTS)
def test_why_a_card_is_not_to_be_had_names_nobody_who_is_hidden(house, askers, others, who, level):
    house.policy(others)
    asked = {"devices": 1, "only": str(BOB_GPU), "command": ["true"]}
    answer = askers[who].post("/api/v1/compose", asked)
    assert answer.status == 200, answer.body
    text = answer.body.decode()
    assert (BOB in text) == (level != "numbers"), text
    assert (f"{WORD}-" in text) == (level in ("commands", "whole")), text


@pytest.mark.parametrize("who", ["alice", "carol", "nobody"])
def test_pages_of_runs_do_not_tell_of_hidden_ones(house, askers, who):
    house.policy("owner")
    record = house.starts(BOB, SPARE_GPU)  # the newest of all
    try:
        after, told = "", []
        while after is not None:
            page = askers[who].get(f"/api/v1/runs?limit=1&after={after}").json
            after = page["next"]
            told += [run["id"] for run in page["runs"]] + ([after] if after else [])
        assert set(told) == ({house.alices["id"]} if who == "alice" else set())
    finally:
        house.does(BOB, "stop", record["id"])
        wait_until(lambda: record["lease"] not in leases_of(house), "it has ended", 20)


@contextlib.contextmanager
def copied_runs(house):
    """The id of a run that alice has made and bob has a copy of. Also the name of a folder of hers that holds it once
    more. Both copies are gone at the end."""
    assert house.does("alice", "run", "--quiet", "--cpu", "--", "true").returncode == 0
    record = house.record("alice", "last")
    wait_until(lambda: not is_running(record["keeper"]["pid"]), "its keeper has written all of it", 20)
    made = pathlib.Path(record["directory"])
    renamed = made.with_name(f"{record['id']}-copy")
    bobs = pathlib.Path(house.bobs["directory"]).with_name(record["id"])
    try:
        for uid, copy in ((UIDS["alice"], renamed), (UIDS[BOB], bobs)):
            shutil.copytree(made, copy)
            for path in (copy, *copy.rglob("*")):
                os.chown(path, uid, uid)
        yield record["id"], renamed.name
    finally:
        for folder in (made, renamed, bobs):
            shutil.rmtree(folder, ignore_errors=True)


def test_runs_of_one_id_of_two_people_are_each_seen_once(house, askers):
    house.policy("public")
    with copied_runs(house) as (run, renamed):
        for who in ("root", "alice", "carol"):
            whole = [(one["id"], one["uid"]) for one in askers[who].get("/api/v1/runs?limit=500").json["runs"]]
            assert {(run, UIDS["alice"]), (run, UIDS[BOB])} <= set(whole)
            assert len(whole) == len(set(whole)) and renamed not in dict(whole)
            for limit in (1, 2):
                told, after = [], ""
                while after is not None and len(told) <= len(whole):
                    page = askers[who].get(f"/api/v1/runs?limit={limit}&after={after}").json
                    told += [(one["id"], one["uid"]) for one in page["runs"]]
                    after = page["next"]
                assert told == whole, f"{who}, {limit} a page"
        older = [one["id"] for one in askers["root"].get(f"/api/v1/runs?after={run}").json["runs"]]
        assert run not in older and house.bobs["id"] in older, "an id alone, as pages told it before"


def test_of_two_peoples_runs_of_one_id_each_is_shown_his_own(house, askers):
    with copied_runs(house) as (run, renamed):
        for others in ("owner", "public"):
            house.policy(others)
            for who, uid in (("alice", UIDS["alice"]), ("alice's token", UIDS["alice"]), ("bob", UIDS[BOB]),
                             ("bob's token", UIDS[BOB])):
                told = askers[who].get(f"/api/v1/runs/{run}")
                assert (told.status, told.json.get("uid")) == (200, uid), f"{who}: {told.body}"
                assert "working_directory" in told.json, "his own, whole"
                assert askers[who].get(f"/api/v1/runs/{run}/samples").status == 200, who
            # An asker that may see both chooses. An asker that may not see the other does not learn of it.
            for uid in (UIDS["alice"], UIDS[BOB]):
                told = askers["root"].get(f"/api/v1/runs/{run}@{uid}")
                assert (told.status, told.json["uid"]) == (200, uid), told.body
            told = askers["alice"].get(f"/api/v1/runs/{run}@{UIDS[BOB]}")
            assert told.status == (200 if others == "public" else 404), told.body
            assert askers["root"].get(f"/api/v1/runs/{run}@{UIDS[BOB] + 50}").status == 404
        house.policy("owner")
        refused = askers["alice"].get(f"/api/v1/runs/{renamed}")
        assert refused.status == 404 and "record of another run" in refused.json["error"]["message"]
        hidden, absent = (askers["carol"].get(f"/api/v1/runs/{name}") for name in (renamed, "20200101-000000-none"))
        assert hidden.status == absent.status == 404
        assert hidden.body.decode().replace(renamed, "X") == absent.body.decode().replace("20200101-000000-none", "X")


# ----------------------------------------------------------------------- a server without root's rights


class Private(House):
    """The same machine, asked by a server that alice runs for herself."""

    def __init__(self, house):  # pylint: disable=super-init-not-called
        self.__dict__.update(house.__dict__)
        self.house = house
        self.directory = house.directory / "alices-server"
        self.directory.mkdir()
        os.chown(self.directory, UIDS["alice"], UIDS["alice"])
        self.directory.chmod(0o755)
        self.env = house.env_of("alice")
        self.server = Server(self)

    def command(self, *words):
        return self.house.words_of("alice", *words)

    def close(self):
        self.server.close()


@pytest.fixture(scope="module")
def private(house):
    made = Private(house)
    yield made
    made.close()


def test_a_server_without_rights_acts_for_its_user_alone_and_says_so(house, private):
    alice, bob = Asker(private, uid=UIDS["alice"]), Asker(private, uid=UIDS[BOB])
    assert alice.get("/api/v1/overview").json["asker"]["admin"] is True
    assert bob.get("/api/v1/overview").json["asker"] == {"user": BOB, "admin": False, "sees": "owner"}
    lease, pid = house.bobs["lease"], house.bobs["job"]["pid"]
    ticks = with_pid(private.processes(), pid)["start_ticks"]
    for asker in (alice, bob):
        refused = asker.post(f"/api/v1/leases/{lease}/release", {})
        assert refused.status == 403 and refused.json["error"]["code"] == "no_permission", refused.body
        assert "berth serve runs as alice and cannot act for" in refused.json["error"]["message"]
        refused = asker.post(f"/api/v1/processes/{pid}/signal", {"signal": "KILL", "start_ticks": ticks})
        assert refused.status == 403 and refused.json["error"]["code"] == "no_permission", refused.body
    assert lease in leases_of(private) and is_running(pid)
    runs = {run["id"] for run in alice.get("/api/v1/runs").json["runs"]}
    assert runs == {house.alices["id"]}, "records of others lie where only root and they can read"
    record = house.starts("alice", SPARE_GPU)
    wait_until(lambda: record["lease"] in leases_of(private), "her lease is seen", 20)
    done = alice.post(f"/api/v1/leases/{record['lease']}/release", {})
    assert done.status == 200 and done.json["end"] == "ended", done.body
    wait_until(lambda: record["lease"] not in leases_of(private), "it has gone", 20)
