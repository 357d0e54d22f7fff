"""`berth service install` under a real systemd: what its unit forbids, and that nothing needed is."""

import json
import re

import booted
import pytest
from conftest import fake_library, many_devices, wait_until

SERVICE = "berth-serve.service"
SOCKET = "/run/berth-serve/serve.sock"
FAKE = {
    "BERTH_NVML": "/usr/local/lib/libfake-nvml.so",
    "BERTH_FAKE_NVML": "/usr/local/lib/played.json",
}
DROP_INS = f"/etc/systemd/system/{SERVICE}.d"
ANNA = booted.Booted.uid
ALERTED = "/usr/local/bin/alerted"

pytestmark = pytest.mark.skipif(
    bool(booted.why_not()), reason=booted.why_not() or "a systemd of its own can be started"
)


class Service:
    """The installed service on its machine."""

    def __init__(self, machine):
        self.machine = machine
        self.run = machine.run
        self.succeed = machine.succeed

    def write(self, path, text, mode=0o644):
        file = self.machine.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    def override(self, name, text):
        """A drop-in, as `systemctl edit` makes them, and a start with it."""
        self.write(f"{DROP_INS}/{name}.conf", f"[Service]\n{text}\n")
        self.succeed("systemctl", "daemon-reload")
        self.succeed("systemctl", "restart", SERVICE)

    def take_back(self, name):
        self.machine.path(f"{DROP_INS}/{name}.conf").unlink()
        self.succeed("systemctl", "daemon-reload")
        self.succeed("systemctl", "restart", SERVICE)

    def property(self, name):
        return self.succeed("systemctl", "show", "--value", f"--property={name}", SERVICE).strip()

    def pid(self):
        return int(self.property("MainPID"))

    def journal(self):
        return self.succeed("journalctl", "--no-pager", "--output=cat", f"--unit={SERVICE}")

    def ask(self, path, *words, uid=0, door=("--unix-socket", SOCKET), host="localhost"):
        """(status, body)"""
        text = self.succeed("curl", "-sS", "--max-time", "30", "-w", "\n%{http_code}", *door, *words,
                            f"http://{host}{path}", uid=uid)
        body, _, status = text.rpartition("\n")
        return int(status), body

    def json(self, path, **how):
        status, body = self.ask(path, **how)
        assert status == 200, body
        return json.loads(body)

    def post(self, path, body, uid):
        words = ("-X", "POST", "-H", "X-Berth: 1", "-H", "Content-Type: application/json")
        return self.ask(path, *words, "-d", json.dumps(body), uid=uid)

    def leases(self):
        return self.json("/api/v1/leases")["leases"]

    def start_run(self, uid):
        """A detached run and its lease, once the service has seen it."""
        said = self.succeed("berth", "run", "--quiet", "--detach", "--", "sleep", "600", uid=uid, env=FAKE)
        run = said.split()[-1]
        return wait_until(lambda: next((x for x in self.leases() if x["run"] == run), None),
                          f"the lease of {run} is seen", 30)

    def is_back(self, killed):
        return self.property("ActiveState") == "active" and self.pid() not in (0, killed)


@pytest.fixture(scope="module", name="machine")
def booted_machine():
    try:
        machine = booted.Booted(fake_library())
    except booted.DidNotBoot as why:
        pytest.skip(str(why))
    yield machine
    machine.close()


@pytest.fixture(scope="module", name="installed")
def installed_service(machine):
    """Installed as a user would; a command is told of alerts, and anna has a process on GPU 0."""
    service = Service(machine)
    # In a namespace of its own, a number of the driver's list may be another's. It counts if that has the device's file
    # open.
    service.succeed("mknod", "-m", "666", "/dev/nvidia0", "c", "1", "3")
    job = int(service.succeed("sh", "-c", "sleep 6000 3</dev/nvidia0 >/dev/null 2>&1 & echo $!", uid=ANNA))
    snapshot = many_devices(4)
    snapshot["gpu_processes"] = [{"device": snapshot["devices"][0]["id"], "pid": job, "type": "C",
                                  "memory_used_bytes": 1 << 30}]
    service.job = job
    service.write(FAKE["BERTH_FAKE_NVML"], json.dumps(snapshot))
    environment = " ".join(f"{name}={value}" for name, value in FAKE.items())
    service.write(f"{DROP_INS}/fake.conf", f"[Service]\nEnvironment={environment}\n")
    service.write("/etc/berth/serve.toml", f'[[alerts.command]]\nrun = ["{ALERTED}"]\n')
    service.write(ALERTED, "#!/bin/sh\ncat >/tmp/told && test -s /tmp/told\n", 0o755)
    service.said = service.succeed("berth", "service", "install")
    # Before anything else is done: Type=notify has waited until it serves.
    service.first_answer = service.ask("/gpu-status")
    yield service
    gone = service.run("berth", "service", "uninstall")
    assert gone.returncode == 0 and not machine.path(f"/etc/systemd/system/{SERVICE}").exists()


@pytest.fixture(name="service")
def running_service(installed):
    if not installed.is_back(killed=0):
        installed.succeed("systemctl", "restart", SERVICE)
    wait_until(lambda: installed.json("/gpu-status")["devices"], "the first look", 30)
    return installed


def test_it_serves_as_soon_as_it_is_installed(installed):
    assert f"+ /etc/systemd/system/{SERVICE}\n" in installed.said
    status, body = installed.first_answer
    assert status == 200 and "berth_snapshot" in body
    assert installed.property("UnitFileState") == "enabled"
    assert "ActiveState=active" in installed.succeed("berth", "service", "status")
    assert f"berth: serving at {SOCKET}\n" in installed.journal()


def test_everybody_on_the_machine_may_ask(service):
    for uid in (0, ANNA):
        seen = service.json("/gpu-status", uid=uid)
        assert len(seen["devices"]) == 4 and not seen["problems"], seen["problems"]
    assert service.ask("/", door=(), host="127.0.0.1:9700")[0] == 200
    status, metrics = service.ask("/metrics", door=(), host="127.0.0.1:9700")
    assert status == 200 and re.search(r"^berth_", metrics, re.MULTILINE)


def test_its_state_is_kept_where_only_root_reads_it(service):
    folder = service.machine.path("/var/lib/berth")
    wait_until((folder / "history.sqlite").exists, "the history is there", 30)
    assert folder.stat().st_mode & 0o7777 == 0o711
    assert service.run("ls", "/var/lib/berth", uid=ANNA).returncode != 0
    for file in folder.iterdir():
        is_for_all = file.name == "hours"
        assert is_for_all or file.stat().st_mode & 0o077 == 0, f"{file.name} is for others, too"
        assert (service.run("cat", f"/var/lib/berth/{file.name}", uid=ANNA).returncode == 0) == is_for_all


def test_a_process_is_signalled_by_its_owner_and_by_root(service):
    [seen] = service.json("/api/v1/processes")["processes"]
    assert seen["user"] == "anna" and seen["command"] == "sleep 6000"
    for uid, number in ((ANNA, "STOP"), (0, "CONT")):
        body = {"signal": number, "start_ticks": seen["start_ticks"]}
        status, said = service.post(f"/api/v1/processes/{service.job}/signal", body, uid)
        assert status == 200, f"{number} by {uid}: {said}"


def test_roots_own_run_is_seen_and_ended_without_a_shared_ledger(service):
    service.succeed("rm", "-rf", "/run/berth")  # as where `berth setup` was never run
    lease = service.start_run(uid=0)
    ids = [run["id"] for run in service.json("/api/v1/runs")["runs"]]
    assert lease["run"] in ids, "its record is in root's home"
    status, said = service.post(f"/api/v1/leases/{lease['id']}/release", {}, 0)
    assert status == 200 and json.loads(said)["end"] == "ended", said
    assert "stopped" in service.succeed("berth", "show", lease["run"])


def test_a_run_is_shown_and_ended_with_the_rights_of_its_owner(service):
    service.succeed("berth", "setup")  # while it runs
    service.machine.path("/home/anna").chmod(0o700)
    lease = service.start_run(uid=ANNA)
    release = f"/api/v1/leases/{lease['id']}/release"
    [run] = [x for x in service.json("/api/v1/runs", uid=ANNA)["runs"] if x["id"] == lease["run"]]
    assert run["user"] == "anna" and run["command"] == ["sleep", "600"]
    assert service.post(release, {}, 54302)[0] == 403
    status, said = service.post(release, {}, ANNA)
    assert status == 200 and json.loads(said)["end"] == "ended", said
    assert "stopped" in service.succeed("berth", "show", lease["run"], uid=ANNA), "it was noted"


def test_root_ends_the_run_of_another(service):
    service.succeed("berth", "setup")
    lease = service.start_run(uid=ANNA)
    status, said = service.post(f"/api/v1/leases/{lease['id']}/release", {}, 0)
    assert status == 200 and json.loads(said)["end"] == "ended", said


def test_a_command_is_told_of_alerts(service):
    told = service.run("berth", "alert", "test")
    assert told.returncode == 0, told.stdout + told.stderr


def test_what_its_processes_may_do(service):
    """Each line: what is tried in its place, and whether it works."""
    read_log = "dd if=/dev/kmsg of=/dev/null bs=64k count=1 iflag=nonblock"
    tried = {
        read_log: service.run("sh", "-c", read_log).returncode == 0,
        "echo x >/dev/kmsg": False,
        "head -c 1 /dev/berth-test 2>&1 | grep -q permitted": True,  # says why not
        "echo x >/etc/berth-test": False,
        "echo x >/usr/berth-test": False,
        "echo x >/var/lib/berth/berth-test": True,
        "echo x >/proc/sys/kernel/hostname": False,
        "mount -t tmpfs tmpfs /mnt": False,
        "unshare --user true": False,
        "setpriv --reuid=54301 --regid=54301 --clear-groups true": True,
    }
    service.succeed("mknod", "/dev/berth-test", "b", "254", "0")
    script = "".join(f"({line}) && echo yes || echo no\n" for line in tried)
    service.write("/usr/local/bin/tried", f"#!/bin/sh\n({script}) >/run/berth-serve/tried 2>/dev/null\n", 0o755)
    service.override("tried", "ExecStartPost=/usr/local/bin/tried")
    words = service.machine.path("/run/berth-serve/tried").read_text(encoding="utf-8").split()
    service.take_back("tried")
    assert dict(zip(tried, (word == "yes" for word in words), strict=True)) == tried


def test_it_reads_its_configuration_again(service):
    pid = service.pid()
    service.succeed("systemctl", "reload", SERVICE)
    wait_until(lambda: "the configuration has been read again" in service.journal(), "it says so", 30)
    assert service.pid() == pid and service.property("ActiveState") == "active"


def test_it_comes_back_after_it_was_killed(service):
    pid = service.pid()
    service.succeed("kill", "-KILL", str(pid))
    wait_until(lambda: service.is_back(pid), "systemd starts it again", 60)
    assert service.ask("/gpu-status")[0] == 200


def test_it_is_started_again_when_it_hangs(service):
    service.override("soon", "WatchdogSec=5\nTimeoutAbortSec=1")
    pid = service.pid()
    service.succeed("kill", "-STOP", str(pid))
    wait_until(lambda: service.is_back(pid), "systemd starts it again", 120)
    assert service.ask("/gpu-status")[0] == 200
    service.take_back("soon")
    assert service.property("WatchdogUSec") == "30s"


def test_it_ends_in_time(service):
    service.succeed("systemctl", "stop", SERVICE)
    assert service.property("Result") == "success" and service.property("ExecMainStatus") == "0"
    assert not service.machine.path(SOCKET).exists()


@pytest.fixture(name="anna")
def annas_manager(machine):
    """Anna's words run where a systemd of her own is; returns how to run them."""
    env = {"XDG_RUNTIME_DIR": f"/run/user/{ANNA}", "BERTH_SIM": "server-8xh100"}
    machine.succeed("install", "-d", "-o", "anna", "-g", "anna", "-m", "0700", f"/run/user/{ANNA}")
    machine.succeed("install", "-d", "-o", "anna", "-g", "anna", "-m", "0700", "/home/anna")
    settings = ["Type=notify", "User=anna", "Delegate=yes", "KillMode=mixed",
                *(f"Environment={name}={value}" for name, value in env.items())]
    machine.succeed("systemd-run", "--unit=annas", *(f"--property={one}" for one in settings),
                    booted.SYSTEMD, "--user", "--unit=basic.target")
    yield lambda *words: machine.run(*words, uid=ANNA, env=env)
    machine.succeed("systemctl", "stop", "annas.service")


def test_a_users_own_service_runs(installed, anna):
    installed.succeed("systemctl", "stop", SERVICE)  # its port is the same
    done = anna("berth", "service", "install", "--user")
    assert done.returncode == 0, done.stdout + done.stderr
    door = ("--unix-socket", f"/run/user/{ANNA}/berth/serve-simulated.sock")
    assert installed.ask("/gpu-status", door=door, uid=ANNA)[0] == 200
    assert "ActiveState=active" in anna("berth", "service", "status", "--user").stdout
    assert anna("systemctl", "--user", "reload", SERVICE).returncode == 0
    assert installed.machine.path("/home/anna/.local/state/berth").is_dir()
    gone = anna("berth", "service", "uninstall", "--user")
    assert gone.returncode == 0, gone.stdout + gone.stderr
    assert not installed.machine.path(f"/home/anna/.config/systemd/user/{SERVICE}").exists()


def test_a_reservation_of_anna_s_begins_as_hers_and_outlives_a_restart(service):
    service.succeed("berth", "setup")
    service.succeed("systemctl", "restart", SERVICE)
    wait_until(service.machine.path("/run/berth/.new-planned/service.lock").exists, "the service looks", 30)
    name = service.succeed("berth", "reserve", "--at", "2s", "--for", "30m", uid=ANNA, env=FAKE).strip()
    assert name in service.succeed("berth", "queue", env=FAKE)

    def hers():
        listed = json.loads(service.succeed("berth", "leases", "--json", env=FAKE))["leases"]
        return next((one for one in listed if one["uid"] == ANNA), None)

    lease = wait_until(hers, "it begins", 60)
    service.succeed("systemctl", "restart", SERVICE)
    assert hers()["id"] == lease["id"], "it is no part of the service"
    service.succeed("berth", "release", lease["run"], uid=ANNA)
    wait_until(lambda: not hers(), "it is over", 60)


def test_the_hours_that_it_writes_down_hold_for_everybody(service):
    used = service.start_run(ANNA)
    hours = service.machine.path("/var/lib/berth/hours")

    def is_counted():
        # The history's steps are written after a while, the hours once a minute and at a start.
        service.succeed("systemctl", "restart", SERVICE)
        wait_until(hours.exists, "hours are written down", 30)
        return any(line.startswith(f"{ANNA} ") for line in hours.read_text(encoding="utf-8").splitlines())

    wait_until(is_counted, "what anna used is written down", 60)
    service.write("/etc/berth/berth.toml", "[everybody]\nhours_at_most = 0\n")
    try:
        for named in ({}, {"BERTH_ETC": "/home/anna"}, {"BERTH_ETC": "/home/anna", "BERTH_LEDGER": "/run/../run/berth"}):
            refused = service.run("berth", "run", "--", "true", uid=ANNA, env=FAKE | named)
            assert refused.returncode == 124 and "of the 0 GPU-hours" in " ".join(refused.stderr.split()), refused
    finally:
        service.machine.path("/etc/berth/berth.toml").unlink()
    service.succeed("berth", "stop", used["run"], uid=ANNA)
