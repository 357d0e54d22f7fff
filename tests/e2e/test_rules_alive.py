"""deploy/'s alerts before servers that run. Where something is wrong, the expression for it finds it, on the right
server alone. No expression asks for series that nobody serves."""

import json
import os
import pathlib
import re
import shutil

import pytest
from conftest import FakeDriver, Machine, many_devices, wait_until
from prometheus import DEPLOY, MISSING, PROMETHEUS, PROMTOOL, Prometheus
from serving import Server
from test_prometheus import busy_server

pytestmark = pytest.mark.skipif(not (PROMETHEUS and PROMTOOL), reason=f"needs {MISSING}")

IS_ROOT = os.geteuid() == 0
RULES = DEPLOY / "prometheus"
RULE = re.compile(r"^\s+- alert: (\w+)\n\s+expr: (.*)$", re.MULTILINE)
FILE = (RULES / "berth-alerts.yml").read_text(encoding="utf-8")
ALERTS = {name: text.strip("'") for name, text in RULE.findall(FILE)}


def worn_out_server():
    """Cards with each of the things that a rule looks for, errors of today, and somebody who waits."""
    snapshot = busy_server("faults")
    taken = snapshot["taken_unix_ms"]
    cards = [one for one in snapshot["devices"] if not one.get("lost")]
    assert len(cards) >= 4 and len(cards) < len(snapshot["devices"]), "one of the faults is a lost card"
    wrong = [{"remapped_rows_pending": True}, {"remapped_rows_failed": True}, {"throttle_reasons_mask": 0x40},
             {"memory_used_bytes": 60 << 30, "memory_free_bytes": 1 << 30}]
    for card, readings in zip(cards, wrong, strict=False):
        card.update(readings | {"utilization_gpu_percent": 0})
        for key in readings:
            card.get("why", {}).pop(key, None)
    snapshot["gpu_processes"] = [one for one in snapshot["gpu_processes"] if one["device"] != cards[3]["id"]]
    snapshot["xids"] = [{"pci_address": cards[0]["pci_address"], "code": code, "at_unix_ms": taken - 30_000,
                         "text": "an error"} for code in (79, 94)]
    snapshot["queue"][0]["since_unix_ms"] = taken - 7 * 3_600_000
    return snapshot


class Changing(FakeDriver):
    """Two cards: one is held by somebody who computes nothing, the other is not there after a reboot."""

    def __init__(self, directory):
        snapshot = many_devices(2)
        for device in snapshot["devices"]:
            device.update({"ecc_corrected_errors": 0, "ecc_uncorrected_errors": 0})
        super().__init__(directory, snapshot)
        self.snapshot = snapshot

    def change(self):
        self.snapshot["devices"] = self.snapshot["devices"][:1]
        self.snapshot["devices"][0]["ecc_uncorrected_errors"] = 3
        pathlib.Path(self.env["BERTH_FAKE_NVML"]).write_text(json.dumps(self.snapshot), encoding="utf-8")


class WithoutHistory(Machine):
    """There is a file where the history's folder would be."""

    def __init__(self, directory):
        super().__init__(directory, "lab-4")
        (directory / "file").touch()
        self.env["XDG_STATE_HOME"] = str(directory / "file" / "state")


class Cramped(Machine):
    """Its history is on a disk of 64 MiB, where a test may make one."""

    def __init__(self, directory):
        super().__init__(directory, "lab-4")
        (directory / "state").mkdir()

    def command(self, *words):
        small = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64m tmpfs "$0" && exec "$@"',
                 self.env["XDG_STATE_HOME"]]
        return [*(small if IS_ROOT else []), *super().command(*words)]


class Street:
    """Servers of which each has something else, and one that is well."""

    def __init__(self, directory):
        self.directory = directory
        self.servers = {}
        self.open("well", "lab-4")
        self.open("worn out", None, [worn_out_server()])
        self.open("without a driver", "driver-mismatch")
        self.open("gone", "lab-4")
        self.open("without history", WithoutHistory)
        self.open("cramped", Cramped)
        self.changing = self.open("changing", Changing)
        held = self.changing.run("run", "--detach", "--only", "0", "--", "sleep", "600")
        assert held.returncode == 0, held.stderr
        rules = [RULES / f"berth-{name}.yml" for name in ("recording", "alerts")]
        jobs = [("berth", "/metrics", "berth", list(self.addresses.values()))]
        self.prometheus = Prometheus(directory / "prometheus", jobs, rules)

    def open(self, name, kind, recorded=()):
        folder = self.directory / name.replace(" ", "-")
        folder.mkdir()
        words = []
        if recorded:
            tape = folder / "tape"
            tape.write_text("".join(json.dumps(one) + "\n" for one in recorded), encoding="utf-8")
            words = ["--replay", tape]
        machine = kind(folder) if isinstance(kind, type) else Machine(folder, kind)
        self.servers[name] = Server(machine, *words)
        return machine

    def reboot(self, name):
        address = self.addresses[name]
        self.servers[name].stop()
        self.changing.change()
        self.servers[name] = Server(self.changing, listen=address)

    @property
    def addresses(self):
        return {name: f"127.0.0.1:{server.port}" for name, server in self.servers.items()}

    def where(self, expression):
        """Names of the servers of which the expression finds something."""
        names = {address: name for name, address in self.addresses.items()}
        return {names[labels["instance"]] for labels, _ in self.prometheus.query(expression)}

    def close(self):
        self.changing.run("stop", "--all")
        self.prometheus.close()
        for server in self.servers.values():
            server.close()


@pytest.fixture(scope="module")
def street(tmp_path_factory):
    street = Street(tmp_path_factory.mktemp("street"))
    try:
        ready = f"count(count_over_time(up[1m]) >= 3) == {len(street.servers)}"
        wait_until(lambda: street.prometheus.query(ready), "three scrapes of each server", timeout=90)
        wait_until(lambda: street.where("berth_history_writing") >= {"well"}, "its history is open", timeout=60)
        ecc = "berth_device_ecc_uncorrected_errors_total"
        wait_until(lambda: street.where(f"{ecc} == 0") >= {"changing"}, "its errors are counted", timeout=60)
        wait_until(lambda: "changing" in street.where("instance:berth_devices:sum"), "it is summed up", timeout=60)
        street.reboot("changing")
        street.servers["gone"].stop()
        wait_until(lambda: street.where("up == 0") == {"gone"}, "it is missed", timeout=60)
        yield street
    finally:
        street.close()


# The alerts that must be found, and where. For all others the compared series must be there.
FOUND = {
    "BerthDeviceLost": {"worn out"},
    "BerthDeviceFailed": {"worn out", "without a driver"},
    "BerthXidCritical": {"worn out"},
    "BerthXidWarning": {"worn out"},
    "BerthRepairPending": {"worn out"},
    "BerthMemoryBroken": {"worn out"},
    "BerthThrottledLong": {"worn out"},
    "BerthGhostMemory": {"worn out"},
    "BerthQueueLong": {"worn out"},
    "BerthEccUncorrected": {"changing"},
    "BerthDeviceMissing": {"changing"},
    "BerthProbeFailing": {"without a driver"},
    "BerthDown": {"gone"},
    "BerthHistoryNotWritten": {"without history"},
}
COMPARED = {
    "BerthIdleHolder": "berth_user_idle_devices",
    "BerthStale": "berth_snapshot_age_seconds",
    "BerthDiskNearlyFull": "berth_history_disk_free_bytes",
}


def test_every_alert_is_held_against_a_server():
    assert set(FOUND) | set(COMPARED) == set(ALERTS) and not set(FOUND) & set(COMPARED)
    assert all(part in ALERTS[name] for name, part in COMPARED.items())


@pytest.mark.parametrize("alert", FOUND)
def test_an_alert_finds_what_is_wrong_where_it_is(street, alert):
    assert wait_until(lambda: street.where(ALERTS[alert]), alert, 30) == FOUND[alert]


def test_an_idle_holder_is_named(street):
    expression = ALERTS["BerthIdleHolder"]
    wait_until(lambda: "changing" in street.where(expression), "who holds a card and computes nothing", 30)


@pytest.mark.skipif(not IS_ROOT, reason="a small disk for the history: only root can mount one")
def test_a_small_disk_is_nearly_full(street):
    found = wait_until(lambda: street.where(ALERTS["BerthDiskNearlyFull"]), "a disk of 64 MiB", 30)
    # The test's own disk, where the others are, may be nearly full as well.
    own_is_full = shutil.disk_usage(street.directory).free < 2e9
    assert found == {"cramped"} or own_is_full and "cramped" in found


@pytest.mark.parametrize("alert", COMPARED)
def test_an_alert_has_something_to_compare(street, alert):
    wait_until(lambda: "well" in street.where(COMPARED[alert]), f"{COMPARED[alert]} of the one that is well", 30)
    # Some of its simulated users do nothing; the disk is the test's.
    of_itself = alert not in ("BerthIdleHolder", "BerthDiskNearlyFull")
    assert "well" not in street.where(ALERTS[alert]) or not of_itself, "nothing is wrong with it"


def test_what_is_wrong_goes_on_as_an_alert(street):
    def going_on():
        found = street.prometheus.query('ALERTS{alertstate=~"pending|firing"}')
        return {labels["alertname"] for labels, _ in found if labels["instance"] == street.addresses["worn out"]}

    wanted = {name for name, where in FOUND.items() if "worn out" in where}
    wait_until(lambda: wanted <= going_on(), f"{wanted - going_on()}", 30)
    health = {rule["health"] for group in street.prometheus.get("rules")["data"]["groups"] for rule in group["rules"]}
    assert health == {"ok"}


def test_alerts_of_simulated_servers_say_so(street):
    wait_until(lambda: street.prometheus.get("alerts")["data"]["alerts"], "alerts", 30)
    told = street.prometheus.get("alerts")["data"]["alerts"]
    simulated = [one for one in told if one["labels"]["instance"] == street.addresses["without a driver"]]
    assert simulated and all(one["annotations"]["summary"].startswith("SIMULATED: ") for one in simulated)
