"""Dashboards made for other exporters, and those of deploy/, before running servers. Prometheus scrapes these and is
asked what each panel asks. Its answers must be what `berth status` says of the same machine.

12239 is of dcgm-exporter (in both its shapes: by `instance`, and by `Hostname`). 14574 and 25547 are of
nvidia_gpu_exporter. The panels' expressions are written out here; $gpu and the like are filled in."""

import json
import re
import subprocess

import pytest
from conftest import FakeDriver, Machine, scenario, wait_until
from prometheus import DEPLOY, MISSING, PROMETHEUS, PROMTOOL, Prometheus, dashboards, expressions
from serving import Server
from test_prometheus import DETAILS, busy_server

pytestmark = pytest.mark.skipif(not (PROMETHEUS and PROMTOOL), reason=f"needs {MISSING}")

CONFIG = """
[metrics]
per_process = true
dcgm_hostname_label = "{hostname}"
"""


def divided_server():
    """A card in instances, each with all details."""
    snapshot = scenario("h100-mig")
    for device in snapshot["devices"]:
        device.update(DETAILS)
        for key in DETAILS:
            device.get("why", {}).pop(key, None)
    return snapshot


class Room:
    """Servers that run: of recordings with all details, whole and divided, of a driver, and as `--sim` has both."""

    def __init__(self, directory):
        self.directory = directory
        self.servers, self.machines, self.words = {}, {}, {}
        full = busy_server("server-8xh100")
        self.open("full", Machine, replay=full, hostname="Hostname")
        self.open("divided", Machine, replay=divided_server(), hostname="Hostname")
        self.open("driver", FakeDriver, snapshot=full, hostname="hostname")
        self.open("simulated", Machine, snapshot="server-8xh100", hostname="Hostname")
        self.open("simulated and divided", Machine, snapshot="h100-mig", hostname="Hostname")
        addresses = list(self.addresses.values())
        # One that cannot ask its driver.
        folder = directory / "broken"
        folder.mkdir()
        self.broken = Server(Machine(folder, "driver-mismatch"))
        everybody = [*addresses, f"127.0.0.1:{self.broken.port}"]
        jobs = [("dcgm", "/metrics", "dcgm", addresses), ("gpu", "/metrics", "nvidia_smi", addresses),
                ("berth", "/metrics", "berth", everybody)]
        self.prometheus = Prometheus(directory / "prometheus", jobs)

    def open(self, name, kind, replay=None, snapshot=None, hostname="hostname"):
        folder = self.directory / name
        folder.mkdir()
        machine = kind(folder, None) if replay else kind(folder, snapshot)
        self.words[name] = []
        if replay:
            (folder / "recording.json").write_text(json.dumps(replay), encoding="utf-8")
            self.words[name] = ["--replay", folder / "recording.json"]
        config = folder / "serve.toml"
        config.write_text(CONFIG.format(hostname=hostname), encoding="utf-8")
        self.machines[name] = machine
        self.servers[name] = Server(machine, "--config", config, *self.words[name])

    @property
    def addresses(self):
        return {name: f"127.0.0.1:{server.port}" for name, server in self.servers.items()}

    def status(self, name):
        """The host and {index: device} as `berth status --json` has them of the same machine. Some values it asks no
        driver for, such as the parts of a chip's activity. These are as the server has them."""
        done = self.machines[name].run("status", "--json", *self.words[name])
        assert done.stdout, done.stderr
        told, served = json.loads(done.stdout), self.servers[name].get("/gpu-status", over="unix").json
        devices = {}
        for mine, theirs in zip(told["devices"], served["devices"], strict=True):
            assert mine["uuid"] == theirs["uuid"]
            if not mine["parent"]:
                devices[mine["index"]] = theirs | {key: value for key, value in mine.items() if value is not None}
        return told["host"], devices

    def close(self):
        self.prometheus.close()
        for server in (*self.servers.values(), self.broken):
            server.close()


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    room = Room(tmp_path_factory.mktemp("room"))
    try:
        ready = f"count(count_over_time(up[1m]) >= 3) == {3 * len(room.servers) + 1}"
        wait_until(lambda: room.prometheus.query(ready), "three scrapes of each server", timeout=90)
        # What is made of two looks with details, which are ten seconds apart.
        for metric in ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "nvidia_smi_pcie_throughput_rx_bytes_per_second"):
            slow = f'count({metric}{{instance="{room.addresses["driver"]}"}}) == 8'
            wait_until(lambda slow=slow: room.prometheus.query(slow), "the driver's cards tell what they do", 90)
        assert not room.prometheus.query("up == 0")
        yield room
    finally:
        room.close()


def once(found, *labels):
    """{the labels' values: value}, each once."""
    values = {tuple(one.get(label) for label in labels): value for one, value in found}
    assert len(values) == len(found), f"twice the same: {found}"
    return values


# ------------------------------------------------------------------------------------------- 12239

# Panel, metric, the key of `berth status`, how many of the metric's units one of the key's is.
DCGM_PANELS = [
    ("GPU Temperature", "DCGM_FI_DEV_GPU_TEMP", "temperature_celsius", 1),
    ("GPU Power Usage", "DCGM_FI_DEV_POWER_USAGE", "power_draw_milliwatts", 1e-3),
    ("GPU SM Clocks", "DCGM_FI_DEV_SM_CLOCK", "clock_sm_megahertz", 1),
    ("GPU Utilization", "DCGM_FI_DEV_GPU_UTIL", "utilization_gpu_percent", 1),
    ("GPU Utilization by engine", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "activity_graphics_percent", 0.01),
    ("GPU Framebuffer Mem Used", "DCGM_FI_DEV_FB_USED", "memory_used_bytes", 1 / (1 << 20)),
    ("Tensor Core Utilization", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "activity_tensor_percent", 0.01),
]


def dcgm_value(device, key, scale):
    value = device[key]
    assert value is not None, f"{key}: {device.get('why', {}).get(key)}"
    return value // (1 << 20) if key == "memory_used_bytes" else value * scale


@pytest.mark.parametrize(("panel", "metric", "key", "scale"), DCGM_PANELS, ids=[one[1] for one in DCGM_PANELS])
@pytest.mark.parametrize("server", ["full", "driver"])
def test_12239_shows_what_status_says(room, server, panel, metric, key, scale):
    host, devices = room.status(server)
    name = "Hostname" if server == "full" else "hostname"
    wanted = {(str(index),): dcgm_value(device, key, scale) for index, device in devices.items()}
    factor = 1e6 if panel == "GPU SM Clocks" else 1
    gpus = "|".join(str(index) for index in devices)
    series = f'{metric}{{instance=~"{room.addresses[server]}", gpu=~"({gpus})"}}'
    ask = room.prometheus.query
    by_instance = ask(f"{series} * {factor:.0f}") if factor != 1 else ask(series)
    assert once(by_instance, "gpu") == pytest.approx({gpu: value * factor for gpu, value in wanted.items()})
    by_name = ask(f'max({metric}{{{name}=~"{host["name"]}", gpu=~"({gpus})", instance="{room.addresses[server]}"}})'
                  f" by ({name}, gpu, UUID, GPU_I_ID, GPU_I_PROFILE)")
    identities = {(host["name"], str(index), device["uuid"]) for index, device in devices.items()}
    assert set(once(by_name, name, "gpu", "UUID")) == identities
    for aggregate, total in (("sum", sum(wanted.values())), ("avg", sum(wanted.values()) / len(wanted))):
        [(_, value)] = ask(f"{aggregate}({series})")
        assert value == pytest.approx(total)
    for labels, _ in ask(series):
        device = devices[int(labels["gpu"])]
        assert (labels["UUID"], labels["modelName"]) == (device["uuid"], device["name"])
        assert (labels["device"], labels[name]) == (f"nvidia{labels['gpu']}", host["name"])
        assert labels["pci_bus_id"].lower() == device["pci_address"].lower()
        assert labels["DCGM_FI_DRIVER_VERSION"] == host["driver_version"]


def test_12239_tells_instances_of_a_divided_card_apart(room):
    [(_, of_card)] = room.prometheus.query(
        f'max(DCGM_FI_DEV_FB_USED{{instance="{room.addresses["divided"]}",GPU_I_ID=""}}) by (Hostname, gpu)')
    found = room.prometheus.query(
        f'max(DCGM_FI_DEV_FB_USED{{instance="{room.addresses["divided"]}",GPU_I_ID!=""}})'
        " by (Hostname, gpu, GPU_I_ID, GPU_I_PROFILE)")
    instances = [one for one in room.servers["divided"].get("/gpu-status", over="unix").json["devices"] if one["mig"]]
    wanted = {str(one["mig"]["gpu_instance"]): one["memory_used_bytes"] >> 20 for one in instances}
    assert {gi: value for (gi,), value in once(found, "GPU_I_ID").items()} == wanted and of_card > 0
    assert all(re.fullmatch(r"\d+g\.\d+gb.*", labels["GPU_I_PROFILE"]) for labels, _ in found), found


# ---------------------------------------------------------------------------------- 14574 and 25547

SMI_METRICS = {
    "utilization_gpu_ratio": ("utilization_gpu_percent", 0.01),
    "utilization_memory_ratio": ("utilization_memory_percent", 0.01),
    "memory_used_bytes": ("memory_used_bytes", 1),
    "memory_total_bytes": ("memory_total_bytes", 1),
    "temperature_gpu": ("temperature_celsius", 1),
    "power_draw_watts": ("power_draw_milliwatts", 1e-3),
    "enforced_power_limit_watts": ("power_limit_milliwatts", 1e-3),
    "power_limit_watts": ("power_limit_requested_milliwatts", 1e-3),
    "power_default_limit_watts": ("power_limit_default_milliwatts", 1e-3),
    "fan_speed_ratio": ("fan_speed_percent", 0.01),
    "pstate": ("performance_state", 1),
    "clocks_current_graphics_clock_hz": ("clock_graphics_megahertz", 1e6),
    "clocks_current_sm_clock_hz": ("clock_sm_megahertz", 1e6),
    "clocks_current_memory_clock_hz": ("clock_memory_megahertz", 1e6),
    "clocks_current_video_clock_hz": ("clock_video_megahertz", 1e6),
    "clocks_max_graphics_clock_hz": ("clock_graphics_max_megahertz", 1e6),
    "clocks_max_memory_clock_hz": ("clock_memory_max_megahertz", 1e6),
    "ecc_errors_uncorrected_aggregate_total": ("ecc_uncorrected_aggregate_total", 1),
    "energy_joules_total": ("energy_millijoules", 1e-3),
    "pcie_throughput_tx_bytes_per_second": ("pcie_sent_rate_bytes_per_second", 1),
    "pcie_throughput_rx_bytes_per_second": ("pcie_received_rate_bytes_per_second", 1),
    "index": ("index", 1),
}
# Bits of throttle_reasons_mask.
REASONS = {"gpu_idle": 0, "applications_clocks_setting": 1, "sw_power_cap": 2, "sync_boost": 4,
           "sw_thermal_slowdown": 5, "hw_thermal_slowdown": 6, "hw_power_brake_slowdown": 7}
STATES = {"gpu_recovery_action": ("recovery_action", {"None": 0}), "fabric_state": ("fabric_state", {"Completed": 3}),
          "compute_mode": ("compute_mode", {"Default": 0})}


def short_uuid(device):
    return device["uuid"].lower().removeprefix("gpu-")


def smi_wanted(device):
    known = {metric: one for metric, one in SMI_METRICS.items() if device.get(one[0]) is not None}
    wanted = {metric: device[key] * scale for metric, (key, scale) in known.items()}
    mask = device["throttle_reasons_mask"]
    wanted |= {f"clocks_event_reasons_{reason}": mask >> bit & 1 for reason, bit in REASONS.items()}
    return wanted | {metric: words[device[key]] for metric, (key, words) in STATES.items()}


@pytest.mark.parametrize("server", ["full", "driver"])
def test_14574_and_25547_show_what_status_says(room, server):
    host, devices = room.status(server)
    selector = f'job="gpu",instance="{room.addresses[server]}"'
    for device in devices.values():
        wanted = smi_wanted(device)
        all_of_them = set(SMI_METRICS) | {f"clocks_event_reasons_{reason}" for reason in REASONS} | set(STATES)
        assert set(wanted) == all_of_them
        found = room.prometheus.query(f'{{__name__=~"nvidia_smi_.+",uuid="{short_uuid(device)}",{selector}}}')
        values = {labels["__name__"].removeprefix("nvidia_smi_"): value for labels, value in found}
        wrong = {metric: (values.get(metric), value) for metric, value in wanted.items()
                 if values.get(metric) != pytest.approx(value)}
        assert not wrong, f"(on the page, by status): {wrong}"
        [(info, one)] = room.prometheus.query(f'nvidia_smi_gpu_info{{uuid="{short_uuid(device)}",{selector}}}')
        assert one == 1 and (info["name"], info["index"]) == (device["name"], str(device["index"]))
        assert info["driver_version"] == host["driver_version"]
        assert info["pci_bus_id"].lower() == device["pci_address"].lower()


def old_and_new(reason):
    """As the dashboards ask: under the name of today, else under that of earlier drivers."""
    return f"(of(clocks_event_reasons_{reason}) or of(clocks_throttle_reasons_{reason}))"


def throttling(by):
    slow = [reason for reason in REASONS if reason.startswith(("sw_", "hw_"))]
    none = f"(sum by({by}) (of(gpu_info)) * 0)"
    return " + ".join(f"(sum by({by}) {old_and_new(reason)} or {none})" for reason in slow)


def uncorrected(by):
    return (f"sum by({by}) (of(ecc_errors_uncorrected_aggregate_total)) or "
            f'sum by({by}) (named(nvidia_smi_ecc_errors_uncorrected_aggregate_.+))')


LIMIT = "(of(enforced_power_limit_watts) or of(power_limit_watts) or of(power_default_limit_watts))"
PROCESS_MEMORY = "(of(compute_app_used_memory_bytes) or (of(compute_app_info) * 0))"
PROFILES = ('(max by (uuid, gpu_instance_id, profile) (label_replace(of(mig_info), "profile", "$1", "profile", '
            r'"^[0-9]+c\\.(.*)$")))')


def or_nothing(expression):
    return f"sum({expression}) or sum(of(gpu_info)) * 0 - 1"


# of(x) is nvidia_smi_x{uuid=…, instance=…, job=…}, named(x) the same by a pattern of its name.
PANELS_14574 = {
    **{f"{metric}": f"of({metric})" for metric in (
        "gpu_recovery_action", "pstate", "gpu_info", "compute_mode", "temperature_gpu", "utilization_memory_ratio",
        "utilization_gpu_ratio", "memory_used_bytes", "power_draw_watts", "fan_speed_ratio",
        "clocks_current_graphics_clock_hz", "clocks_current_video_clock_hz", "clocks_current_sm_clock_hz",
        "clocks_current_memory_clock_hz", "compute_app_used_memory_bytes", "fabric_state", "xid_errors_total",
        "pcie_throughput_tx_bytes_per_second", "pcie_throughput_rx_bytes_per_second")},
    **{f"Throttle Reasons: {reason}": old_and_new(reason) for reason in REASONS},
    "Throttling": throttling("uuid"),
    "ECC Errors (uncorrected)": uncorrected("uuid"),
    "ECC Uncorrected (detail)": 'label_replace(named(nvidia_smi_ecc_errors_uncorrected_.+), "kind", "$1", "__name__", '
                                '"nvidia_smi_ecc_errors_uncorrected_(.+)")',
    "GPU Util": or_nothing("of(utilization_gpu_ratio)"),
    "Memory Util": or_nothing("of(utilization_memory_ratio)"),
    "Fan": or_nothing("of(fan_speed_ratio)"),
    "Power": f"of(power_draw_watts) / {LIMIT}",
    "GPU Clock": "of(clocks_current_graphics_clock_hz) / of(clocks_max_graphics_clock_hz)",
    "Memory Clock": "of(clocks_current_memory_clock_hz) / of(clocks_max_memory_clock_hz)",
    "Memory Alloc": "of(memory_used_bytes) / of(memory_total_bytes)",
    "GPU Processes": PROCESS_MEMORY,
    "GPU Processes, share": f"{PROCESS_MEMORY} / on(uuid) group_left() of(memory_total_bytes)",
    "Process Collection": "nvidia_smi_compute_apps_last_collect_success{instance=\"$node\", job=\"gpu\"}",
    "XID Errors": "sum(of(xid_errors_total)) or sum(of(gpu_info)) * 0",
    "Last XID": "time() - max(of(xid_last_timestamp_seconds)) or (sum(of(gpu_info)) * 0 - 1)",
    "Power (energy counter)": "rate(of(energy_joules_total)[1m])",
    "Energy (trailing 24h)": "sum(increase(of(energy_joules_total)[24h])) / 3.6e6",
}


def with_name(expression):
    return f"({expression}) * on(uuid) group_left(index, name) of(gpu_info)"


def in_table(expression):
    return f"({expression}) or (sum by(uuid, instance, job) (of(gpu_info)) * 0 - 1)"


ALL = "uuid, instance, job"
PANELS_25547 = {
    "GPUs": 'label_join(label_replace(label_join(of(gpu_info), "ni", " #", "name", "index"), "us", "($1)", "uuid", '
            '"^(........).*"), "gpu_label", " ", "ni", "us")',
    **{f"GPUs: {name}": in_table(expression) for name, expression in {
        "util": "of(utilization_gpu_ratio)", "memory": "of(memory_used_bytes) / of(memory_total_bytes)",
        "temperature": "of(temperature_gpu)", "power": f"of(power_draw_watts) / ({LIMIT} > 0)", "pstate": "of(pstate)",
        "throttling": throttling(ALL), "ECC": uncorrected(ALL), "recovery": "of(gpu_recovery_action)"}.items()},
    **{name: with_name(expression) for name, expression in {
        "GPU Utilization %": "of(utilization_gpu_ratio)", "Memory Activity %": "of(utilization_memory_ratio)",
        "VRAM Allocated %": "of(memory_used_bytes) / of(memory_total_bytes)",
        "VRAM Allocated": "of(memory_used_bytes)", "Temperature": "of(temperature_gpu)",
        "Power Draw": "of(power_draw_watts)", "Fan Speed %": "of(fan_speed_ratio)",
        "Throttling (history)": throttling(ALL), "P-State (history)": "of(pstate)",
        "Graphics Clock": "of(clocks_current_graphics_clock_hz)",
        "Memory Clock": "of(clocks_current_memory_clock_hz)",
        "ECC Errors (uncorrected)": uncorrected(ALL), "Recovery Action (history)": "of(gpu_recovery_action)",
        "Power Draw (energy counter)": "rate(of(energy_joules_total)[1m])",
        "PCIe TX": "of(pcie_throughput_tx_bytes_per_second)", "PCIe RX": "of(pcie_throughput_rx_bytes_per_second)",
        "XID Errors": "sum by (uuid) (of(xid_errors_total))",
        "Last XID per GPU": "time() - max by (uuid, xid) (of(xid_last_timestamp_seconds))"}.items()},
}
PANELS_OF_INSTANCES = {
    "MIG Instances": "max by (uuid, gpu_instance_id, profile) (of(mig_info))",
    **{name: f"(of({metric})) * on(uuid, gpu_instance_id) group_left(profile) {PROFILES}" for name, metric in {
        "MIG Memory Used": "mig_memory_used_bytes", "MIG SM Activity": "mig_sm_activity_ratio",
        "MIG Tensor Activity": "mig_tensor_activity_ratio"}.items()},
}


def filled(expression, node, uuid):
    selector = f'{uuid}, instance="{node}", job="gpu"'
    expression = re.sub(r"\bof\((\w+)\)", rf"nvidia_smi_\1{{{selector}}}", expression)
    expression = re.sub(r"\bnamed\(([^)]+)\)", rf'{{__name__=~"\1", {selector}}}', expression)
    return expression.replace("$node", node)


@pytest.mark.parametrize("panel", PANELS_14574)
def test_each_panel_of_14574_has_data(room, panel):
    for server in ("full", "driver"):
        if server == "driver" and panel == "xid_errors_total":
            continue  # it reports none
        _, devices = room.status(server)
        # An XID error and processes are on the first card.
        expression = filled(PANELS_14574[panel], room.addresses[server], f'uuid="{short_uuid(devices[0])}"')
        assert room.prometheus.query(expression), f"{server}: {expression}"


@pytest.mark.parametrize("panel", PANELS_25547)
def test_each_panel_of_25547_has_data_of_every_card(room, panel):
    _, devices = room.status("full")
    found = room.prometheus.query(filled(PANELS_25547[panel], room.addresses["full"], 'uuid=~".*"'))
    cards = {labels["uuid"] for labels, _ in found}
    of_one = panel in ("XID Errors", "Last XID per GPU")
    assert cards == ({short_uuid(devices[0])} if of_one else {short_uuid(device) for device in devices.values()})
    # What a table fills in where there is nothing.
    assert not panel.startswith("GPUs: ") or -1 not in {value for _, value in found}, found


def test_the_numbers_of_panels_are_right(room):
    _, devices = room.status("full")
    device, node = devices[0], room.addresses["full"]
    uuid = f'uuid="{short_uuid(device)}"'

    def value_of(panels, panel):
        [(_, value)] = room.prometheus.query(filled(panels[panel], node, uuid))
        return value

    assert value_of(PANELS_14574, "Power") == pytest.approx(
        device["power_draw_milliwatts"] / device["power_limit_milliwatts"])
    assert value_of(PANELS_14574, "Memory Alloc") == pytest.approx(
        device["memory_used_bytes"] / device["memory_total_bytes"])
    assert value_of(PANELS_14574, "Throttling") == 1, "by the power limit alone"
    assert value_of(PANELS_14574, "XID Errors") == 1
    assert 60 <= value_of(PANELS_14574, "Last XID") < 900
    [(labels, _)] = room.prometheus.query(filled(PANELS_25547["GPUs"], node, uuid))
    assert labels["gpu_label"] == f"{device['name']} #0 ({short_uuid(device)[:8]})"


@pytest.mark.parametrize("panel", PANELS_OF_INSTANCES)
@pytest.mark.parametrize("server", ["divided", "simulated and divided"])
def test_panels_of_instances_have_data(room, server, panel):
    node = room.addresses[server]
    instances = [one for one in room.servers[server].get("/gpu-status", over="unix").json["devices"] if one["mig"]]
    found = room.prometheus.query(filled(PANELS_OF_INSTANCES[panel], node, 'uuid=~".*"'))
    assert {labels["gpu_instance_id"] for labels, _ in found} == {str(one["mig"]["gpu_instance"]) for one in instances}
    assert all(re.fullmatch(r"\d+g\.\d+gb.*", labels["profile"]) for labels, _ in found), found
    keys = {"MIG Memory Used": ("memory_used_bytes", 1), "MIG SM Activity": ("activity_sm_percent", 0.01),
            "MIG Tensor Activity": ("activity_tensor_percent", 0.01)}
    if panel in keys:
        key, scale = keys[panel]
        wanted = {str(one["mig"]["gpu_instance"]): one[key] * scale for one in instances}
        assert {gi: value for (gi,), value in once(found, "gpu_instance_id").items()} == pytest.approx(wanted)


# What a server without a GPU has nothing for: its boards have no fans, and its first card no error.
NOT_SIMULATED = {"fan_speed_ratio", "Fan", "Fan Speed %", "xid_errors_total", "Last XID", "XID Errors", "Last XID per GPU"}
PANELS_12239 = {panel: f"{metric}{{$selector}}" for panel, metric, _, _ in DCGM_PANELS}


@pytest.mark.parametrize(("dashboard", "panels"), [("12239", PANELS_12239), ("14574", PANELS_14574), ("25547", PANELS_25547)])
def test_a_simulated_server_fills_each_panel_that_its_cards_could(room, dashboard, panels):
    node = room.addresses["simulated"]
    [first, *_] = room.servers["simulated"].get("/gpu-status", over="unix").json["devices"]
    uuid = f'uuid="{short_uuid(first)}"'
    empty = []
    for panel in panels.keys() - NOT_SIMULATED:
        text = panels[panel].replace("$selector", f'instance="{node}",gpu="0"')
        values = [value for _, value in room.prometheus.query(filled(text, node, uuid))]
        if not values or -1 in values:
            empty.append(panel)
    assert sorted(empty) == []


def test_processes_are_listed_by_name(room):
    node = room.addresses["full"]
    told = room.servers["full"].get("/gpu-status", over="unix").json
    first = told["devices"][0]
    on_it = [one for one in told["gpu_processes"] if one["device"] == first["id"]]
    wanted = {str(one["pid"]): one["memory_used_bytes"] for one in on_it}
    uuid = f'uuid="{short_uuid(first)}"'
    found = room.prometheus.query(filled(PANELS_14574["compute_app_used_memory_bytes"], node, uuid))
    assert wanted and {pid: value for (pid,), value in once(found, "pid").items()} == wanted
    assert all(labels["process_name"] for labels, _ in found)


# ------------------------------------------------------------------------------------------ our own

FLEET, GPU, SERVER, USERS = (DEPLOY / f"grafana/berth-{name}.json" for name in ("fleet", "gpu", "server", "users"))


def asked_of_full(room, dashboard):
    """[(panel, expression)] as who looks at the busy server asks; of the fleet, at all of them."""
    instance = ".*" if dashboard == FLEET else room.addresses["full"]
    return expressions(dashboard, job="berth", instance=instance, device="0")


# Looks go on while a driver hangs, so no server that answers has one so old. What is compared must be there.
COMPARED = {"Looks older than 10 s": " > 10"}


@pytest.mark.parametrize("dashboard", dashboards(), ids=lambda path: path.stem)
def test_each_panel_of_ours_has_data(room, dashboard):
    asked = asked_of_full(room, dashboard)
    assert len(asked) >= 19
    empty = []
    for panel, text in asked:
        if panel in COMPARED:
            text = text.removesuffix(COMPARED[panel])
        if not room.prometheus.query(text):
            empty.append((panel, text))
    assert empty == []


def values_of(room, dashboard, panel):
    """[{labels, value}] of each expression of a panel."""
    return [room.prometheus.query(text) for name, text in asked_of_full(room, dashboard) if name == panel]


def one_value(room, dashboard, panel):
    [[(_, value)]] = values_of(room, dashboard, panel)
    return value


def test_the_numbers_of_our_panels_are_right(room):
    told = room.servers["full"].get("/gpu-status", over="unix").json
    states = [one["state"] for one in room.servers["full"].get("/api/v1/overview").json["devices"]]
    for panel, state in {"Free": "free", "Leased": "leased", "Busy, no lease": "busy", "Held, nothing runs": "held",
                         "Lost": "lost"}.items():
        assert one_value(room, SERVER, panel) == states.count(state), panel
    assert one_value(room, SERVER, "Waiting") == len(told["queue"]) == 1
    assert one_value(room, USERS, "Leases") == len(told["leases"]) == 2
    [used] = values_of(room, SERVER, "Memory used")
    wanted = {str(one["index"]): one["memory_used_bytes"] / one["memory_total_bytes"] for one in told["devices"]}
    assert {index: value for (index,), value in once(used, "device").items()} == pytest.approx(wanted)
    first = told["devices"][0]
    assert one_value(room, GPU, "Power") == pytest.approx(first["power_draw_milliwatts"] / 1000)
    [state] = values_of(room, GPU, "State")
    assert [(labels["state"], value) for labels, value in state] == [(states[0], 1)]
    # The fleet: of the server that is broken and of it alone.
    broken = f"127.0.0.1:{room.broken.port}"
    assert one_value(room, FLEET, "Not answering") == 0
    [failing] = values_of(room, FLEET, "Sources that fail")
    assert {(labels["instance"], labels["probe"]) for labels, _ in failing} == {(broken, "nvml")}
    [errors] = values_of(room, FLEET, "XID errors of the last hour")
    assert [(labels["instance"], labels["device"], labels["xid"]) for labels, _ in errors] == [
        (room.addresses["full"], "0", "31")]
    hosts = {labels["instance"] for labels, _ in values_of(room, FLEET, "Servers")[1]}
    assert hosts == {*room.addresses.values(), broken}


# ----------------------------------------------------------------------------------------- promtool

# What promtool dislikes of names that are not ours to choose.
CAMEL = "label names should be written in 'snake_case' not 'camelCase'"  # modelName
NO_TOTAL = 'counter metrics should have "_total" suffix'
NOT_OURS = {
    "berth": set(),
    "dcgm": {
        ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "metric name should not include type 'counter'"),
        *[(f"DCGM_FI_DEV_{name}", NO_TOTAL) for name in (
            "TOTAL_ENERGY_CONSUMPTION", "PCIE_REPLAY_COUNTER", "UNCORRECTABLE_REMAPPED_ROWS",
            "CORRECTABLE_REMAPPED_ROWS")],
    },
    "nvidia_smi": {
        ("nvidia_smi_count", 'non-histogram and non-summary metrics should not have "_count" suffix'),
        *[(f"nvidia_smi_ecc_errors_{name}_total", 'non-counter metrics should not have "_total" suffix') for name in (
            "corrected_volatile", "corrected_aggregate", "uncorrected_volatile", "uncorrected_aggregate")],
        *[(f"nvidia_smi_remapped_rows_histogram_{name}", "metric name should not include type 'histogram'") for name in (
            "max", "high", "partial", "low", "none")],
    },
}


def disliked(text):
    """{(metric, what promtool says of it)}"""
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    said = {tuple(line.split(" ", 1)) for line in (done.stdout + done.stderr).splitlines() if line}
    return {one for one in said if one[1] != CAMEL or not one[0].startswith("DCGM_")}


@pytest.mark.parametrize("profile", NOT_OURS)
def test_promtool_dislikes_only_what_others_have_named(room, profile):
    pages = [server.get(f"/metrics?profile={profile}").body.decode() for server in room.servers.values()]
    assert all(page.count("\n") > 50 for page in pages)
    assert set().union(*map(disliked, pages)) == NOT_OURS[profile]
