"""The metrics page before a real Prometheus: scraped, queried, drawn by dashboards."""

import json
import subprocess

import pytest
from conftest import Machine, scenario, wait_until
from prometheus import (
    DEPLOY,
    MISSING,
    PROMETHEUS,
    PROMTOOL,
    PageServer,
    Prometheus,
    dashboards,
    expressions,
    page,
)
from serving import Server

pytestmark = pytest.mark.skipif(not (PROMETHEUS and PROMTOOL), reason=f"needs {MISSING}")

SCENARIOS = ["server-8xh100", "h100-mig", "lab-4", "desktop", "faults", "no-history", "driver-mismatch"]

# What a look with all details adds, on each card.
DETAILS = {
    "activity_graphics_percent": 71,
    "activity_sm_percent": 63.5,
    "activity_occupancy_percent": 20,
    "activity_tensor_percent": 41,
    "activity_dram_percent": 33,
    "pcie_sent_rate_bytes_per_second": 12_000_000,
    "pcie_received_rate_bytes_per_second": 34_000_000,
    "nvlink_sent_rate_bytes_per_second": 1_000_000_000,
    "nvlink_received_rate_bytes_per_second": 2_000_000_000,
    "remapped_rows_correctable": 1,
    "remapped_rows_uncorrectable": 0,
    "remapped_rows_failed": False,
    "recovery_action": "None",
    "fabric_state": "Completed",
    "clock_video_megahertz": 1545,
    "power_limit_requested_milliwatts": 700_000,
    "ecc_uncorrected_aggregate_total": 0,
    "fan_speed_percent": 30,
    "temperature_slowdown_celsius": 87,
    "temperature_memory_celsius": 60,
    "ecc_corrected_errors": 2,
    "ecc_uncorrected_errors": 0,
    "energy_millijoules": 5_000_000,
    "memory_reserved_bytes": 500_000_000,
    "performance_state": 0,
    "compute_mode": "Default",
    "throttle_reasons_mask": 4,
    "process_count": 1,
}


def busy_server(name):
    """A scenario looked at in full, with leases, somebody waiting and an error in the kernel log."""
    snapshot = scenario(name)
    taken = snapshot["taken_unix_ms"]
    for device in snapshot["devices"]:
        if device.get("kind") == "nvidia-gpu" and not device.get("lost"):
            device.update(DETAILS)
            for key in DETAILS:
                device.get("why", {}).pop(key, None)
    first, second = snapshot["devices"][0], snapshot["devices"][1]
    snapshot["leases"] = [
        {
            "id": f"lease-{number}",
            "run": f"20251009-0810{number}0-k3f9q2",
            "uid": 1000,
            "user": "alice",
            "keeper": {"pid": 4000 + number, "start_ticks": 1},
            "command": "python train.py",
            "since_unix_ms": taken - 3_600_000,
            "devices": [{"device": device["id"], "promised_bytes": 20 << 30}],
        }
        for number, device in enumerate((first, second))
    ]
    snapshot["queue"] = [
        {
            "id": "ticket",
            "uid": 1001,
            "user": "bob",
            "process": {"pid": 4100, "start_ticks": 1},
            "command": "python big.py",
            "wants": "-n 8",
            "request": "",
            "since_unix_ms": taken - 600_000,
            "gathered": [],
        }
    ]
    snapshot["xids"] = [
        {"pci_address": first["pci_address"], "code": 31, "at_unix_ms": taken - 60_000, "text": "MMU Fault"}
    ]
    return snapshot


@pytest.mark.parametrize("name", SCENARIOS)
def test_promtool_finds_nothing_to_say_about_our_page(name):
    for snapshots in ([scenario(name)], [scenario(name)] * 2):
        text = page(snapshots, processes=True)
        assert text.count("\n") > 60
        done = subprocess.run(
            [PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_promtool_finds_nothing_to_say_about_a_full_page():
    text = page([busy_server("server-8xh100")], processes=True)
    done = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


class Fleet:
    """Three servers and a Prometheus that scrapes each in every profile and format."""

    def __init__(self, directory):
        self.snapshots = [busy_server("server-8xh100"), busy_server("lab-4"), busy_server("faults")]
        self.mig = scenario("h100-mig")
        self.servers = [PageServer([snapshot]) for snapshot in [*self.snapshots, self.mig]]
        self.addresses = [server.address for server in self.servers]
        ours = self.addresses[:3]
        self.jobs = [
            ("berth", "/metrics", "berth", ours),
            ("berth_text", "/text/metrics", "berth", ours[:1]),
            ("dcgm", "/metrics", "dcgm", self.addresses),
            ("nvidia_gpu", "/metrics", "nvidia_smi", self.addresses),
            ("all", "/metrics", "'berth,dcgm,nvidia_smi'", ours[:1]),
        ]
        rules = [DEPLOY / "prometheus" / f"berth-{name}.yml" for name in ("recording", "alerts")]
        self.prometheus = Prometheus(directory, self.jobs, rules)

    def close(self):
        self.prometheus.close()
        for server in self.servers:
            server.close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    fleet = Fleet(tmp_path_factory.mktemp("fleet") / "prometheus")
    try:
        wanted = sum(len(addresses) for _, _, _, addresses in fleet.jobs)
        # Three scrapes of each, so that there is a rate.
        ready = f"count(count_over_time(up[1m]) >= 3) == {wanted}"
        wait_until(lambda: fleet.prometheus.query(ready), "three scrapes of each server", timeout=90)
        yield fleet
    finally:
        fleet.close()


def test_every_server_is_scraped_in_every_format(fleet):
    down = fleet.prometheus.query("up == 0")
    errors = [
        (target["labels"], target["lastError"])
        for target in fleet.prometheus.get("targets")["data"]["activeTargets"]
        if target["lastError"]
    ]
    assert (down, errors) == ([], [])
    assert "openmetrics" in fleet.servers[0].accepts[0]


def test_both_formats_say_the_same(fleet):
    server = fleet.addresses[0]
    counted = 'count({{__name__=~"berth_.+",job="{}",instance="{}"}})'
    (_, openmetrics), = fleet.prometheus.query(counted.format("berth", server))
    (_, text), = fleet.prometheus.query(counted.format("berth_text", server))
    assert openmetrics == text > 900


def test_what_is_scraped_is_what_was_looked_at(fleet):
    snapshot, server = fleet.snapshots[0], fleet.addresses[0]
    found = fleet.prometheus.query(f'berth_device_memory_used_bytes{{job="berth",instance="{server}"}}')
    wanted = {device["uuid"]: device["memory_used_bytes"] for device in snapshot["devices"]}
    assert {labels["uuid"]: value for labels, value in found} == wanted
    found = fleet.prometheus.query(f'berth_device_utilization_ratio{{job="berth",instance="{server}"}}')
    for labels, value in found:
        device = snapshot["devices"][int(labels["device"])]
        assert value == pytest.approx(device["utilization_gpu_percent"] / 100)


def test_an_absent_reading_is_no_series(fleet):
    server = fleet.addresses[2]
    lost = [d["index"] for d in fleet.snapshots[2]["devices"] if d.get("lost")]
    assert lost
    for index in lost:
        labels = f'job="berth",instance="{server}",device="{index}"'
        assert not fleet.prometheus.query(f"berth_device_temperature_celsius{{{labels}}}")
        assert fleet.prometheus.query(f'berth_device_state{{{labels},state="lost"}} == 1')


# Panels that are empty where all is well.
EMPTY_WHEN_WELL = {"Sources that fail", "Looks older than 10 s", "XID errors of the last hour"}


@pytest.mark.parametrize("dashboard", dashboards(), ids=lambda path: path.stem)
def test_dashboards_have_data(fleet, dashboard):
    asked = expressions(dashboard, instance=fleet.addresses[0] + ".*", job="berth", device="0")
    if dashboard.stem == "berth-fleet":
        asked = expressions(dashboard, job="berth")
    empty = [
        (panel, text)
        for panel, text in asked
        if panel not in EMPTY_WHEN_WELL and panel != "What is not well" and not fleet.prometheus.query(text)
    ]
    assert empty == []


def test_findings_are_seen_in_the_fleet(fleet):
    codes = {labels["code"] for labels, _ in fleet.prometheus.query('berth_device_finding{job="berth"}')}
    assert codes


def test_a_fleet_is_summed_up_by_the_recorded_rules(fleet):
    wait_until(lambda: fleet.prometheus.query("job_state:berth_devices:sum"), "recorded", timeout=30)
    groups = fleet.prometheus.get("rules")["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}
    recorded = fleet.prometheus.query('sum(instance:berth_devices:sum{job="berth"})')
    assert recorded[0][1] == sum(len(snapshot["devices"]) for snapshot in fleet.snapshots)


# The metrics that the public dashboards draw.
DCGM_12239 = [
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
]
EXPORTER_14574_25547 = """
    utilization_gpu_ratio utilization_memory_ratio memory_used_bytes memory_total_bytes power_draw_watts
    power_limit_watts enforced_power_limit_watts power_default_limit_watts temperature_gpu fan_speed_ratio pstate
    clocks_current_graphics_clock_hz clocks_current_sm_clock_hz clocks_current_memory_clock_hz
    clocks_current_video_clock_hz clocks_max_graphics_clock_hz clocks_max_memory_clock_hz
    clocks_event_reasons_gpu_idle clocks_event_reasons_applications_clocks_setting
    clocks_event_reasons_sw_power_cap clocks_event_reasons_sw_thermal_slowdown
    clocks_event_reasons_hw_thermal_slowdown clocks_event_reasons_hw_power_brake_slowdown
    clocks_event_reasons_sync_boost ecc_errors_uncorrected_aggregate_total gpu_recovery_action fabric_state
    compute_mode index energy_joules_total pcie_throughput_tx_bytes_per_second
    pcie_throughput_rx_bytes_per_second xid_errors_total xid_last_timestamp_seconds gpu_info
    compute_app_used_memory_bytes compute_app_info compute_apps
""".split()


@pytest.mark.parametrize("metric", DCGM_12239)
def test_dashboard_12239_has_data(fleet, metric):
    server = fleet.addresses[0]
    found = fleet.prometheus.query(f'{metric}{{instance=~"{server}", gpu=~"[0-7]"}}')
    assert {labels["gpu"] for labels, _ in found if labels["job"] == "dcgm"} == set("01234567")
    assert fleet.prometheus.query(f'avg({metric}{{instance=~"{server}"}})')


@pytest.mark.parametrize("metric", EXPORTER_14574_25547)
def test_dashboards_14574_and_25547_have_data(fleet, metric):
    snapshot, server = fleet.snapshots[0], fleet.addresses[0]
    uuid = snapshot["devices"][0]["uuid"].lower().removeprefix("gpu-")
    selector = f'uuid="{uuid}", instance="{server}", job="nvidia_gpu"'
    assert fleet.prometheus.query(f"nvidia_smi_{metric}{{{selector}}}")
    # As the overview joins them with the names of the GPUs.
    joined = f"max by (uuid) (nvidia_smi_{metric}{{{selector}}}) * on(uuid) group_left(index, name) "
    found = fleet.prometheus.query(joined + f"nvidia_smi_gpu_info{{{selector}}}")
    assert found[0][0]["index"] == "0"


@pytest.mark.parametrize("metric", ["mig_info", "mig_memory_used_bytes"])
def test_the_dashboards_instances_have_data(fleet, metric):
    selector = f'instance="{fleet.addresses[3]}", job="nvidia_gpu"'
    assert len(fleet.prometheus.query(f"nvidia_smi_{metric}{{{selector}}}")) > 1


class RealFleet:
    """Three `berth serve`, of which the first has joined the others, and a Prometheus that scrapes all."""

    sims = ("server-8xh100", "lab-4", "h100-mig")

    def __init__(self, directory):
        self.directory = directory
        self.servers = []
        for number, sim in reversed(list(enumerate(self.sims))):
            folder = directory / str(number)
            folder.mkdir()
            others = ",".join(f"gpu{n}=127.0.0.1:{server.port}" for n, server in self.servers)
            join = ["--join", others] if number == 0 else []
            self.servers.append((number, Server(Machine(folder, sim), *join)))
        self.servers = [server for _, server in sorted(self.servers)]
        self.addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        jobs = [("berth", "/metrics", "berth", self.addresses)]
        rules = [DEPLOY / "prometheus" / f"berth-{name}.yml" for name in ("recording", "alerts")]
        self.prometheus = Prometheus(directory / "prometheus", jobs, rules)

    def close(self):
        self.prometheus.close()
        for server in self.servers:
            server.close()


@pytest.fixture(scope="module")
def real_fleet(tmp_path_factory):
    fleet = RealFleet(tmp_path_factory.mktemp("servers"))
    try:
        ready = "count(count_over_time(up[1m]) >= 3) == 3"
        wait_until(lambda: fleet.prometheus.query(ready), "three scrapes of each server", timeout=90)
        yield fleet
    finally:
        fleet.close()


def test_servers_themselves_are_scraped_and_summed_up(real_fleet):
    ask = real_fleet.prometheus.query
    assert not ask("up == 0")
    overviews = [server.get("/api/v1/overview").json for server in real_fleet.servers]
    for address, overview in zip(real_fleet.addresses, overviews, strict=True):
        found = ask(f'count(berth_device_memory_total_bytes{{instance="{address}"}})')
        assert found[0][1] == len(overview["devices"])
    wait_until(lambda: ask("job_state:berth_devices:sum"), "recorded", timeout=30)
    recorded = ask("sum(instance:berth_devices:sum)")
    assert recorded[0][1] == sum(ask(f'sum(berth_devices{{instance="{a}"}})')[0][1] for a in real_fleet.addresses)
    assert ask("sum(berth_simulated)")[0][1] == 3


def test_a_server_that_ends_is_missed_and_not_counted_on(real_fleet):
    ask = real_fleet.prometheus.query
    wait_until(lambda: len(ask("berth_join_up == 1")) == 2, "both are joined", timeout=30)
    gone = real_fleet.addresses[1]
    real_fleet.servers[1].stop()
    wait_until(lambda: [labels["instance"] for labels, _ in ask("up == 0")] == [gone], "it is down", timeout=30)
    wait_until(lambda: [labels["host"] for labels, _ in ask("berth_join_up == 0")] == ["gpu1"], "and missed", 60)
    assert not ask(f'berth_devices{{instance="{gone}"}}')
    wait_until(lambda: not ask(f'instance:berth_devices:sum{{instance="{gone}"}}'), "no longer recorded", 30)
    [(_, age)] = ask('berth_join_age_seconds{host="gpu1"}')
    assert age > 1


def test_a_look_that_fails_is_seen(fleet):
    del fleet
    snapshot = json.loads(json.dumps(scenario("driver-mismatch")))
    text = page([snapshot], "berth,nvidia_smi")
    assert 'berth_probe_success{probe="nvml"} 0\n' in text
    assert "\nnvidia_smi_last_collect_success 0\n" in text
