"""berth 0.1.0 and this one on one ledger and among one user's records. So it is when a machine is upgraded while its
runs and waiters live. It needs the first release's program: BERTH_LONG builds it, BERTH_0_1_0 names one."""

import json
import signal
import subprocess
import time

import berth_0_1_0
import pytest
import serving
from conftest import BERTH, FakeDriver, Machine, end, many_devices, scenario, wait_until

OLD, REASON = berth_0_1_0.find()
pytestmark = pytest.mark.skipif(OLD is None, reason=REASON)

PROGRAMS = {"old": OLD, "new": BERTH}
BOTH_WAYS = pytest.mark.parametrize(("first", "then"), [("old", "new"), ("new", "old")])
PATIENCE = 90
# Alone on its devices: a folder can be made once. What happens is told in the order in which it happens.
ALONE = """devices=$(echo "$CUDA_VISIBLE_DEVICES" | tr , ' ')
for one in $devices; do mkdir "$0/busy-$one" || echo "$1 is not alone"; done
echo "$1"; sleep 0.1
for one in $devices; do rmdir "$0/busy-$one"; done"""


class Server(FakeDriver):
    """Two equal cards, and either program on them."""

    def __init__(self, directory):
        super().__init__(directory, many_devices(2))
        self.started = []

    def start_by(self, program, *words, env=(), **how):
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | how
        process = subprocess.Popen([PROGRAMS[program], *map(str, words)], env=self.env | dict(env), **how)
        self.started.append(process)
        return process

    def ask(self, program, *words):
        process = self.start_by(program, *words)
        out, said = process.communicate(timeout=PATIENCE)
        return process.returncode, out, said

    def answer(self, program, *words):
        code, out, said = self.ask(program, *words)
        assert code == 0, said
        return json.loads(out)

    def hold(self, program, device):
        """(a run that has the device, what lets it end)"""
        gate, begun = self.directory / f"gate-{device}", self.directory / f"begun-{device}"
        job = f"touch {begun}; until test -e {gate}; do sleep 0.05; done"
        run = self.start_by(program, "run", "-q", "--only", device, "--", "sh", "-c", job)
        wait_until(begun.exists, "the holder has its device", PATIENCE)
        return run, gate

    def queue(self, program="new"):
        return self.answer(program, "leases", "--json")["queue"]

    def wait_in_queue(self, program, name, *options):
        before = len(self.queue(program))
        with open(self.directory / "told", "a", encoding="utf-8") as told:
            run = self.start_by(program, "run", "-q", "--wait", *options, "--", "sh", "-c", ALONE, self.directory, name,
                                stdout=told)
        wait_until(lambda: len(self.queue(program)) > before, f"{name} waits", PATIENCE)
        return run

    def told(self):
        return (self.directory / "told").read_text().split("\n")[:-1]


@pytest.fixture
def server(tmp_path):
    made = Server(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                end(process)


def assert_ended_well(*runs):
    for run in runs:
        code, said = run.wait(timeout=PATIENCE), run.stderr.read()
        assert (code, said) == (0, "")


@BOTH_WAYS
def test_each_sees_the_others_leases_and_waiters(server, first, then):
    one, gate_0 = server.hold(first, 0)
    other, gate_1 = server.hold(then, 1)
    waiters = [server.wait_in_queue(first, "1", "--only", "0"), server.wait_in_queue(then, "2", "--only", "1")]
    seen = {program: server.answer(program, "leases", "--json") for program in PROGRAMS}
    for said in seen.values():
        assert not said.get("problems")
        assert [len(said["leases"]), len(said["queue"])] == [2, 2]
    keys = set(seen["old"]["leases"][0]), set(seen["old"]["queue"][0])
    for part, known in zip(("leases", "queue"), keys):
        rows = {program: [{key: row.get(key) for key in known if "_ms" not in key and "age" not in key} for row in said[part]]
                for program, said in seen.items()}
        assert rows["old"] == rows["new"], "what the old one tells, the new one tells as well, of both"
    gate_0.touch(), gate_1.touch()
    assert_ended_well(one, other, *waiters)


@BOTH_WAYS
def test_who_waits_across_an_upgrade_gets_its_turn_in_order(server, first, then):
    holder, gate = server.hold(first, 0)
    waiters = [server.wait_in_queue(first, f"{number} {first}", "--only", "0") for number in range(3)]
    waiters += [server.wait_in_queue(then, f"{number} {then}", "--only", "0") for number in range(3, 6)]
    assert server.queue("old") and [one["id"] for one in server.queue("old")] == [one["id"] for one in server.queue("new")]
    gate.touch()
    assert_ended_well(holder, *waiters)
    assert server.told() == [*(f"{number} {first}" for number in range(3)), *(f"{number} {then}" for number in range(3, 6))]


@BOTH_WAYS
def test_both_in_one_crowd_give_no_device_twice(server, first, then):
    runs = []
    with open(server.directory / "told", "a", encoding="utf-8") as told:
        for number in range(20):
            program, devices = (first, then)[number % 2], 2 if number % 5 == 4 else 1
            runs.append(server.start_by(program, "run", "-q", "--wait", "-n", devices, "--", "sh", "-c", ALONE,
                                        server.directory, number, stdout=told))
    assert_ended_well(*runs)
    assert sorted(server.told(), key=int) == [str(number) for number in range(20)]


@BOTH_WAYS
def test_what_one_gathers_the_other_leaves_alone(server, first, then):
    holder, gate = server.hold(first, 0)
    both = server.wait_in_queue(first, "both", "-n", "2")

    def gathers(program):
        # What is free now, and what it hopes for.
        return any(len(one.get("gathered") or one.get("gathering") or []) for one in server.queue(program))

    wait_until(lambda: gathers("old") and gathers("new"), "both tell what is gathered", PATIENCE)
    behind = server.wait_in_queue(then, "behind", "--only", "1")
    began = time.monotonic()
    while time.monotonic() < began + 6:  # longer than somebody who is silent is waited for
        assert behind.poll() is None and server.told() == []
        time.sleep(0.1)
    gate.touch()
    assert_ended_well(holder, both, behind)
    assert server.told() == ["both", "behind"]


def test_where_they_disagree_about_a_turn_everybody_gets_one(server):
    """The old one knows no priorities. The new one's low job stands before its own for the old, and behind it for the
    new."""
    holder, gate = server.hold("new", 0)
    waiters = [server.wait_in_queue("new", "low", "--only", "0", "--priority", "low"),
               server.wait_in_queue("old", "old", "--only", "0"),
               server.wait_in_queue("new", "normal", "--only", "0", "--time", "1h")]
    assert [one["id"] for one in server.queue("old")] != [one["id"] for one in server.queue("new")]
    assert not server.answer("old", "leases", "--json").get("problems")
    gate.touch()
    assert_ended_well(holder, *waiters)
    assert sorted(server.told()) == ["low", "normal", "old"]


@BOTH_WAYS
def test_who_cannot_use_what_is_free_stands_in_nobodys_way(server, first, then):
    holder, gate = server.hold(first, 0)
    other, soon = server.hold(first, 1)
    blocked = [server.wait_in_queue(first, f"blocked {number}", "--only", "0") for number in range(6)]
    behind = server.wait_in_queue(then, "behind", "--only", "1")
    soon.touch()
    assert_ended_well(other, behind)
    assert server.told() == ["behind"]
    gate.touch()
    assert_ended_well(holder, *blocked)


@BOTH_WAYS
def test_who_is_stopped_is_passed_over_by_the_other_and_keeps_its_place(server, first, then):
    holder, gate = server.hold(first, 0)
    stopped = server.wait_in_queue(first, "stopped", "--only", "0")
    behind = server.wait_in_queue(then, "behind", "--only", "0")
    stopped.send_signal(signal.SIGSTOP)
    gate.touch()
    assert_ended_well(holder, behind)
    stopped.send_signal(signal.SIGCONT)
    assert_ended_well(stopped)
    assert server.told() == ["behind", "stopped"]


@BOTH_WAYS
def test_each_stops_and_awaits_the_others_run(server, first, then):
    code, name, said = server.ask(first, "run", "-q", "-d", "--", "sleep", "600")
    assert code == 0, said
    stopped = server.ask(then, "stop", name.strip())
    assert stopped[0] == 0, stopped
    wait_until(lambda: server.answer(then, "show", name.strip(), "--json")["state"] == "ended", "it has ended", PATIENCE)
    assert server.answer(then, "show", name.strip(), "--json")["end"]["because"] == "stopped"
    code, name, said = server.ask(first, "run", "-q", "-d", "--", "sh", "-c", "sleep 0.3; exit 7")
    assert server.ask(then, "wait", name.strip())[0] == 7
    wait_until(lambda: not server.answer(first, "leases", "--json")["leases"], "no lease is left", PATIENCE)


@BOTH_WAYS
def test_each_reads_the_others_records(server, first, then):
    code, _, said = server.ask(first, "run", "-q", "--", "sh", "-c", "exit 3")
    assert code == 3, said
    [mine] = server.answer(first, "runs", "--json")["runs"]
    [theirs] = server.answer(then, "runs", "--json")["runs"]
    for key in ("id", "state", "command"):
        assert mine.get(key) == theirs.get(key), key
    shown = {program: server.answer(program, "show", mine["id"], "--json") for program in PROGRAMS}
    assert shown["old"]["end"]["exit_code"] == shown["new"]["end"]["exit_code"] == 3
    assert shown["old"].keys() <= shown["new"].keys()


class Place:
    """Where a `berth serve` of either program has its socket and its history."""

    def __init__(self, server, program):
        self.server, self.program, self.directory = server, program, server.directory / f"served-{program}"
        self.directory.mkdir()

    def start(self, *words, **how):
        return self.server.start_by(self.program, *words, env={"XDG_STATE_HOME": str(self.directory)}, **how)


@BOTH_WAYS
def test_each_shows_the_others_server_beside_its_own(server, first, then):
    holder, gate = server.hold(first, 0)
    both = server.wait_in_queue(first, "both", "-n", "2")  # the other card is reserved for it
    there = serving.Server(Place(server, first))
    here = serving.Server(Place(server, then), "--join", f"there=http://127.0.0.1:{there.port}")

    def host():
        found = {one["name"]: one for one in here.get("/api/v1/hosts").json["hosts"]}.get("there")
        return found if found and found["state"] == "ok" else None

    shown = wait_until(host, "it is shown", PATIENCE)
    own = there.get("/api/v1/overview").json
    assert [one["id"] for one in shown["devices"]] == [one["id"] for one in own["devices"]] and len(own["devices"]) == 2
    # A state that came since is told as it is, or not at all.
    assert all(shown["counts"].get(state, many) == many for state, many in own["counts"].items())
    for one, other in zip(shown["devices"], own["devices"]):
        assert one["state"] in (other["state"], None), (one, other)
    assert shown["queue"] == len(own["queue"]) == 1
    gate.touch()
    assert_ended_well(holder, both)


def held_by_the_new(tmp_path, machine, *words):
    """(the holder, what lets it end, how 0.1.0 is asked about its ledger)"""
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    job = f"touch {begun}; until test -e {gate}; do sleep 0.05; done"
    holder = machine.start("run", "-q", *words, "--", "sh", "-c", job, stderr=subprocess.PIPE)
    try:
        wait_until(begun.exists, "the holder has its device", PATIENCE)
    except BaseException:
        end(holder)
        raise
    # 0.1.0 has no ledgers of simulated servers.
    [part] = [one.parent for one in (tmp_path / "ledger").rglob("lease-*")]
    env = machine.env | {"BERTH_LEDGER": str(part)}

    def old(*words, **more):
        return subprocess.run([OLD, *words], env=env | more, text=True, capture_output=True, timeout=PATIENCE)

    return holder, gate, old


def test_the_older_gives_no_other_maker_s_device_and_reads_who_has_it(tmp_path):
    """It knew no partitions and no other makers: what it does not know it leaves to those who do."""
    snapshot = scenario("arc-mixed")
    snapshot["leases"] = []
    seen = tmp_path / "seen.json"
    seen.write_text(json.dumps(snapshot), encoding="utf-8")
    machine = Machine(tmp_path, sim=str(seen))
    holder, gate, old = held_by_the_new(tmp_path, machine, "--kind", "amd")
    try:
        [lease] = json.loads(old("leases", "--json").stdout)["leases"]
        amd = next(one for one in snapshot["devices"] if one["kind"] == "amd-gpu")
        assert [part["device"] for part in lease["devices"]] == [amd["id"]]
        given = old("run", "-q", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
        assert (given.returncode, given.stdout) == (0, "0\n"), given.stderr
        assert old("pick", "--only", str(amd["index"])).returncode != 0
        assert "not supported" in old("pick", "-n", "2").stderr
    finally:
        gate.touch()
        holder.wait(timeout=PATIENCE)


def test_the_older_keeps_off_a_card_whose_partitions_are_leased_one_by_one(tmp_path):
    """It sees a divided card as one card, and gives that to nobody. What it reads and sweeps harms no lease."""
    snapshot = scenario("mi300x-cpx")
    snapshot["leases"] = []
    seen, by_the_old = tmp_path / "seen.json", tmp_path / "by-the-old.json"
    seen.write_text(json.dumps(snapshot), encoding="utf-8")
    # As the first release saw such a machine: it read PCI functions, and nothing of the KFD.
    cards = [one for one in snapshot["devices"] if one["kind"] == "amd-gpu"]
    for card in cards:
        card["unusable_because"] = "readings not supported yet"
    parts = [one["id"] for one in snapshot["devices"] if one["kind"] == "amd-partition"]
    ids = {card["id"] for card in cards}
    uses = [one for one in snapshot["gpu_processes"] if one["device"] in ids]
    by_the_old.write_text(json.dumps(snapshot | {"devices": cards, "gpu_processes": uses}), encoding="utf-8")
    machine = Machine(tmp_path, sim=str(seen))
    holder, gate, old = held_by_the_new(tmp_path, machine, "-n", "2")
    sim = {"BERTH_SIM": str(by_the_old)}
    try:
        [lease] = json.loads(old("leases", "--json", **sim).stdout)["leases"]
        held = [part["device"] for part in lease["devices"]]
        assert len(held) == 2 and set(held) <= set(parts) and not set(held) & ids
        for words in (("pick",), ("pick", "--only", "0"), ("run", "-q", "--", "true"), ("run", "-q", "--only", "0", "--", "true")):
            refused = old(*words, **sim)
            assert refused.returncode != 0 and "not supported" in refused.stderr, refused.stderr
        again = json.loads(machine.run("leases", "--json").stdout)["leases"]
        assert [part["device"] for one in again for part in one["devices"]] == held
        free = json.loads(machine.run("pick", "--format", "json").stdout)
        assert free["chosen"] and not set(held) & {one["id"] for one in free["chosen"]}
    finally:
        gate.touch()
        holder.wait(timeout=PATIENCE)
