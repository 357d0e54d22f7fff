"""Alerts of AMD's, Huawei's and Intel's devices. Each rule whose reading the maker's driver tells fires on bad values.
A reading that cannot be had ends no alert, and one that the driver never has fires nothing."""

import copy
import json

import pytest
from conftest import Machine, scenario, wait_until
from serving import Server

GIB = 1 << 30
TOO_HOT, NO_MEMORY, HELD = 1, 2, 3  # 0 is lost
# What each maker's driver tells, as its sources read it (doc/ACCELERATORS.md).
FIRES = {
    "amd": {("gpu_lost", 0), ("throttled_long", TOO_HOT), ("ghost_memory", NO_MEMORY), ("idle_holder", HELD)},
    "ascend": {("gpu_lost", 0), ("ghost_memory", NO_MEMORY), ("idle_holder", HELD)},
    "intel": {("gpu_lost", 0), ("throttled_long", TOO_HOT), ("idle_holder", HELD)},
}
SOURCES = {"amd": "amdgpu", "ascend": "dcmi", "intel": "intel"}
IDLE = {"amd": 1 << 28, "ascend": 3 * GIB, "intel": 0}  # what the driver itself holds
READINGS = {"throttled_long": "throttle_reasons_mask", "ghost_memory": "memory_used_bytes", "idle_holder": "utilization_gpu_percent"}
CONFIG = "".join(f'[alerts.{rule}]\nfor = "0s"\nhold = "1s"\n' for rule in
                 ("gpu_lost", "gpu_failed", "xid", "ecc_pending", "throttled_long", "ghost_memory", "idle_holder", "probe_failing"))
PATIENCE = 60


def four_of(maker):
    """Four devices on which nobody is, as that maker's are read."""
    snapshot = scenario({"amd": "mi300x-8", "ascend": "ascend-910b-8", "intel": "arc-mixed"}[maker])
    own = [one for one in snapshot["devices"] if one["kind"].startswith(maker) and not one["parent"]]
    if maker == "intel":
        arc = own[0] | {"integrated": False, "name": "Arc B580", "memory_total_bytes": 12 * GIB, "memory_used_bytes": 0}
        own = [copy.deepcopy(arc) | {"id": f"00000000:{bus:02x}:00.0", "pci_address": f"00000000:{bus:02x}:00.0"} for bus in range(3, 7)]
    for index, device in enumerate(own[:4]):
        device |= {"index": index, "runtime_index": index, "minor_number": 128 + index, "lost": False, "unusable_because": "",
                   "process_count": 0, "utilization_gpu_percent": 0.0, "memory_used_bytes": IDLE[maker]}
        for key in ("process_count", "utilization_gpu_percent", "memory_used_bytes", "memory_total_bytes"):
            device["why"].pop(key, None)
        if device["throttle_reasons_mask"] is not None or maker in ("amd", "intel"):
            device["throttle_reasons_mask"] = 0
            device["why"].pop("throttle_reasons_mask", None)
    snapshot |= {"devices": own[:4], "gpu_processes": [], "processes": [], "leases": [], "queue": [], "problems": [],
                 "sources": [{"source": SOURCES[maker], "succeeded": True}, {"source": "procfs", "succeeded": True}]}
    snapshot.pop("simulation", None)
    return snapshot


def gone_bad(maker):
    snapshot = four_of(maker)
    lost, hot, ghostly, held = snapshot["devices"]
    lost |= {"lost": True, "unusable_because": "it fell off the bus"}
    for key in ("memory_used_bytes", "utilization_gpu_percent", "throttle_reasons_mask", "process_count"):
        absent(lost, key, "failed")
    if hot["throttle_reasons_mask"] is not None:
        hot["throttle_reasons_mask"] = 0x40
    ghostly["memory_used_bytes"] = 8 * GIB
    held |= {"memory_used_bytes": 6 * GIB, "process_count": 1}
    snapshot["gpu_processes"] = [{"device": held["id"], "pid": 4711, "type": "C", "mig": None, "memory_used_bytes": 6 * GIB,
                                  "utilization_sm_percent": None, "why": {"utilization_sm_percent": "unsupported"}}]  # fmt: skip
    snapshot["processes"] = [{"pid": 4711, "start_ticks": 1, "ancestors": [], "uid": 1000, "user": "anna", "command": ["python"],
                              "executable_name": "python", "container": "", "state": "S"}]
    return snapshot


def absent(device, key, why):
    device[key] = None
    device["why"][key] = why


class Watched:
    """A server of `berth serve` whose devices are another file's each time it starts."""

    def __init__(self, directory):
        self.file = directory / "devices.json"
        self.config = directory / "serve.toml"
        self.config.write_text(CONFIG, encoding="utf-8")
        self.machine = Machine(directory, sim=str(self.file))
        self.server = None

    def show(self, snapshot):
        if self.server:
            self.server.stop()
        self.file.write_text(json.dumps(snapshot), encoding="utf-8")
        self.server = Server(self.machine, "--config", self.config, "--interval", "100ms")

    def alerts(self):
        return self.server.get("/api/v1/alerts", over="unix").json["alerts"]

    def firing(self):
        return {(one["rule"], one["index"]) for one in self.alerts() if one["resolved_unix_ms"] is None and one["device"]}

    def looks_on(self, count=20):
        until = self.sequence() + count
        wait_until(lambda: self.sequence() >= until, "more looks", PATIENCE)

    def sequence(self):
        return self.server.get("/api/v1/overview", over="unix").json["sequence"]


@pytest.fixture
def watched(tmp_path):
    made = Watched(tmp_path)
    yield made
    if made.server:
        made.server.stop()


@pytest.mark.parametrize("maker", FIRES)
def test_each_rule_fires_that_the_makers_readings_allow_and_ends_when_all_is_well(watched, maker):
    watched.show(gone_bad(maker))
    wait_until(lambda: watched.firing() >= FIRES[maker], f"{FIRES[maker]}", PATIENCE)
    watched.looks_on()
    assert watched.firing() == FIRES[maker], "no other"
    page = watched.server.get("/metrics", over="unix").body.decode()
    for rule, _ in FIRES[maker]:
        assert f'berth_alerts{{rule="{rule}",' in page
    watched.show(four_of(maker))
    wait_until(lambda: not watched.firing(), "all are over", PATIENCE)
    assert {one["ending"] for one in watched.alerts() if one["device"]} == {"resolved"}


@pytest.mark.parametrize("why", ["failed", "no permission"])
@pytest.mark.parametrize("maker", FIRES)
def test_a_reading_that_cannot_be_had_neither_fires_nor_says_that_all_is_well(watched, maker, why):
    watched.show(gone_bad(maker))
    wait_until(lambda: watched.firing() >= FIRES[maker], f"{FIRES[maker]}", PATIENCE)
    unread = gone_bad(maker)
    for rule, index in FIRES[maker]:
        if rule in READINGS:
            absent(unread["devices"][index], READINGS[rule], why)
    watched.show(unread)
    watched.looks_on(30)  # three times its hold
    assert watched.firing() == FIRES[maker]


@pytest.mark.parametrize("maker", FIRES)
def test_what_a_driver_never_tells_fires_nothing(watched, maker):
    snapshot = gone_bad(maker)
    for device in snapshot["devices"][1:]:
        for key in READINGS.values():
            absent(device, key, "unsupported")
    watched.show(snapshot)
    wait_until(lambda: ("gpu_lost", 0) in watched.firing(), "it looks", PATIENCE)
    watched.looks_on()
    assert watched.firing() == {("gpu_lost", 0)}


@pytest.mark.parametrize("maker", FIRES)
def test_a_driver_that_cannot_be_asked_is_an_alert_and_ends_no_other(watched, maker):
    watched.show(gone_bad(maker))
    wait_until(lambda: watched.firing() >= FIRES[maker], f"{FIRES[maker]}", PATIENCE)
    silent = four_of(maker) | {"devices": []}
    silent["sources"][0]["succeeded"] = False
    silent["problems"] = [{"source": SOURCES[maker], "device": None, "code": "init_failed", "message": "it does not answer",
                           "remedy": "look at the kernel log"}]
    watched.show(silent)

    def failing():
        return [one for one in watched.alerts() if one["rule"] == "probe_failing" and one["resolved_unix_ms"] is None]

    [one] = wait_until(failing, "it cannot be asked", PATIENCE)
    assert one["summary"].startswith(f"{SOURCES[maker]} cannot be asked")
    watched.looks_on(30)
    assert watched.firing() == FIRES[maker]
