"""`berth serve` with a bad disk: one that hangs, or gives back something else. Also a server that is killed before it
has written."""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import tempfile
import time

import pytest
from conftest import BERTH, BUILD, Machine, wait_until
from serving import metric
from serving import serve_on  # noqa: F401  pylint: disable=unused-import
from test_two_users import words_as

HUNG_DISK = BUILD / "fakes/preload/libhung_disk.so"


class Disk:
    """The disk of a machine's state, which can hang."""

    def __init__(self, machine):
        if not HUNG_DISK.exists():
            pytest.fail(f"{HUNG_DISK} is missing: ninja preload_hung_disk")
        self.switch = machine.directory / "the disk hangs"
        self.env = {"LD_PRELOAD": str(HUNG_DISK), "BERTH_FAKE_HUNG_WHILE": str(self.switch),
                    "BERTH_FAKE_HUNG_DISK": str(machine.directory / "state")}

    def hang(self):
        self.switch.touch()

    def answer(self):
        self.switch.unlink()


@pytest.fixture
def on_disk(machine_of, serve_on):  # noqa: F811
    """on_disk(hangs=…): a server, and the disk that it keeps its history on."""

    def start(hangs=False, machine=None, **how):
        machine = machine or machine_of("lab-4")
        disk = Disk(machine)
        if hangs:
            disk.hang()
        return serve_on(machine, env=disk.env, **how), disk

    return start


def usage(server):
    return server.get("/api/v1/usage")


# ---------------------------------------------------------------------------- a disk that is full


def test_a_history_that_could_not_be_opened_is_opened_once_it_can_be(machine_of, serve_on):  # noqa: F811
    def nothing_can_be_written():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    server = serve_on(machine_of("lab-4"), preexec_fn=nothing_can_be_written)
    wait_until(lambda: server.says("no history is kept until this is over"), "it says why")
    assert usage(server).status == 503
    wait_until(lambda: metric(server, "berth_history_writing") == 0, "an alert on it can see it")
    wait_until(lambda: metric(server, "berth_samples_dropped_total") > 0, "what is not kept is counted")
    lost = metric(server, "berth_samples_dropped_total")
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_until(lambda: usage(server).status == 200, "it has a history", 30)
    wait_until(lambda: server.says("a history is kept from now on"), "it says so")
    wait_until(lambda: metric(server, "berth_history_writing") == 1, "nothing keeps it from writing")
    assert metric(server, "berth_samples_dropped_total") >= lost, "a counter never falls"
    assert sum("no history is kept" in line for line in server.said) == 1, server.said


# -------------------------------------------------------------------------------- a disk that hangs


def test_a_disk_that_hangs_stops_no_start(on_disk):
    server, disk = on_disk(hangs=True)
    assert server.get("/healthz").status == 200
    for path in ("/api/v1/usage", "/api/v1/timeline", "/api/v1/events-log", "/api/v1/history?device=0&metric=x"):
        refused = server.get(path)
        assert refused.status == 503 and "still being opened" in refused.json["error"]["message"], refused.body
    page = server.get("/metrics").body.decode()
    assert "\nberth_history_writing 0\n" in page and "\nberth_history_size_bytes " not in page
    disk.answer()
    wait_until(lambda: usage(server).status == 200, "the history is open once the disk answers")
    wait_until(lambda: "\nberth_history_writing 1\n" in server.get("/metrics").body.decode(), "it is written")
    assert server.stop() == 0


def test_a_disk_that_hangs_keeps_no_server_from_ending(on_disk):
    server, disk = on_disk()
    wait_until(lambda: usage(server).status == 200, "there is a history")
    disk.hang()
    written = server.machine.directory / "state/berth/history-sim-lab-4.sqlite-wal"
    size = written.stat().st_size
    assert server.stop(signal.SIGTERM, timeout=30) == 0
    wait_until(lambda: server.says("the last seconds of the history could not be written"), "it says so")
    assert written.stat().st_size == size
    disk.answer()
    again, _ = on_disk(machine=server.machine)
    wait_until(lambda: usage(again).status == 200, "what was written before is whole")
    assert not list(server.machine.directory.rglob("*.broken-*"))
    assert again.stop() == 0 and not again.says("could not be written")


def test_a_disk_that_hangs_from_the_start_keeps_no_server_from_ending(on_disk):
    server, _ = on_disk(hangs=True)
    assert server.stop(signal.SIGTERM, timeout=30) == 0
    wait_until(lambda: server.says("the last seconds of the history could not be written"), "it says so")


def test_homes_that_hang_keep_nobody_from_the_history_and_are_not_waited_for(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    assert machine.run("run", "-q", "--", "true").returncode == 0
    disk = Disk(machine)
    homes = {"BERTH_FAKE_HUNG_DISK": "/nonexistent", "BERTH_FAKE_HUNG_HOME": str(machine.directory / "state/berth/runs")}
    server = serve_on(machine, env=disk.env | homes)
    wait_until(lambda: usage(server).status == 200, "there is a history")
    assert len(server.get("/api/v1/runs").json["runs"]) == 1
    disk.hang()
    # More than there are threads for homes, and for the history.
    asked = [server.raw() for _ in range(9)]
    try:
        for one in asked:
            one.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(3):
            assert usage(server).status == 200 and server.get("/api/v1/overview").status == 200
        for one in asked:
            one.settimeout(60)
            told = one.recv(65536)
            assert told.startswith(b"HTTP/1.1 503 ") and b'"no_answer"' in told and b"retry-after" in told.lower(), told
        # Once all readers there hang, a new client is told so.
        later = server.get("/api/v1/runs")
        assert later.status == 503 and later.json["error"]["code"] == "no_answer", later.body
    finally:
        for one in asked:
            one.close()
    wait_until(lambda: server.says("nothing has answered for seconds"), "it is said")
    disk.answer()
    wait_until(lambda: server.get("/api/v1/runs").status == 200, "the homes are back", 30)
    assert server.stop() == 0


# ------------------------------------------------------------------- a disk that gives something else


def test_a_store_that_is_damaged_under_the_server_is_set_aside(on_disk):
    # What is in the log beside the file would stand before it: a server that ends empties that.
    first, _ = on_disk()
    wait_until(lambda: usage(first).status == 200, "there is a history")
    assert first.stop() == 0
    server, _ = on_disk(machine=first.machine)
    wait_until(lambda: usage(server).status == 200, "it is read")
    store = server.machine.directory / "state/berth/history-sim-lab-4.sqlite"
    assert store.stat().st_size > 70_000
    with store.open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(4).randbytes(65_536))

    def damaged():
        answer = usage(server)
        assert answer.status in (200, 404, 503), answer.body
        assert str(server.machine.directory) not in answer.body.decode(), "where it is is told to nobody"
        return answer.status == 503

    wait_until(damaged, "a reader meets the damage")
    wait_until(lambda: server.says("set aside as"), "it is said")
    wait_until(lambda: usage(server).status == 200, "a new history has begun")
    assert len(list(store.parent.glob(f"{store.name}.broken-????????-??????"))) == 1
    assert server.stop() == 0


# ------------------------------------------------------------------------- a server that is killed


def history_of(machine):
    done = machine.run("history", "--json", "--since", "2m", "--gpu", "0", "--metric", "power_draw_milliwatts")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def times_in(answer):
    [series] = answer["series"]
    return [point[0] for point in series["points"]]


def test_killed_servers_lose_a_few_seconds_and_no_job(machine_of, serve_on):  # noqa: F811
    machine = machine_of("lab-4")
    assert machine.run("run", "--detach", "--", "sleep", "600").returncode == 0
    moments = random.Random(20261122)
    lives = []
    try:
        # One longer than what may be lost, so that it cannot be all.
        for seconds in (moments.uniform(6, 7), moments.uniform(1, 3), moments.uniform(1, 3)):
            server = serve_on(machine)
            first = server.get("/api/v1/overview").json["taken_unix_ms"]
            # Not before something of it is on the disk: the first look at once.
            wait_until(lambda since=first: max(times_in(history_of(machine)), default=0) >= since - 1000,
                       "its first look is written")
            end = time.monotonic() + seconds
            wait_until(lambda until=end: time.monotonic() >= until, "a moment", seconds + 5)
            before = times_in(history_of(machine))
            last = server.get("/api/v1/overview").json["taken_unix_ms"]
            [lease] = server.get("/api/v1/leases").json["leases"]
            server.stop(signal.SIGKILL)
            lives.append((first, last, before, lease["id"]))
        server = serve_on(machine)
        wait_until(lambda: usage(server).status == 200, "there is a history")
        times = times_in(history_of(machine))
        for first, last, before, _ in lives:
            assert set(before) <= set(times), "what could be read before the kill can be after it"
            kept = [at for at in times if first - 1000 <= at <= last]
            assert kept and last - max(kept) <= 5000, (first, last, times)
        assert len({lease for _, _, _, lease in lives}) == 1, "one lease all the time"
        [lease] = server.get("/api/v1/leases").json["leases"]
        assert lease["id"] == lives[0][3]
        assert json.loads(machine.run("show", "last", "--json").stdout)["state"] == "running"
        assert not list(machine.directory.rglob("*.broken-*"))
    finally:
        machine.run("stop", "last")


# ------------------------------------------------------------------------------- an ordinary user


class SomebodysMachine(Machine):
    """A simulated machine as the user 65534 has it, or as the user that runs the tests."""

    def __init__(self, directory):
        super().__init__(directory, sim="lab-4")
        # An ordinary user may not reach what root has built where only root may go.
        self.berth = shutil.copy(BERTH, directory / "berth")
        self.somebody = [] if os.geteuid() else words_as(65534)
        if self.somebody:
            os.chown(directory, 65534, 65534)

    def command(self, *words):
        return [*self.somebody, self.berth, *map(str, words)]


@pytest.fixture
def somebodys_machine():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-somebody-"))
    yield SomebodysMachine(directory)
    shutil.rmtree(directory)


def test_an_ordinary_users_server_keeps_a_history(somebodys_machine, serve_on):  # noqa: F811
    server = serve_on(somebodys_machine, cwd="/")
    wait_until(lambda: usage(server).status == 200, "there is a history")
    wait_until(lambda: times_in(history_of(somebodys_machine)), "its owner reads it as well")
    store = somebodys_machine.directory / "state/berth/history-sim-lab-4.sqlite"
    assert store.stat().st_mode & 0o777 == 0o600 and store.stat().st_uid == (os.geteuid() or 65534)
    assert "\nberth_history_writing 1\n" in server.get("/metrics").body.decode()
    assert server.stop() == 0
