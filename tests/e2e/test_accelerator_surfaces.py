"""Every surface on the simulated servers of other makers: what the devices have is shown, what they
lack is absent with its reason, and nothing speaks of NVIDIA where none of its cards is."""

import csv
import io
import json
import re

import pytest
from conftest import Machine, Terminal, end, wait_until, without_escapes
from serving import Server

OTHERS = ["mi300x-8", "mi300x-cpx", "ascend-910b-8"]
ALL = [*OTHERS, "arc-mixed"]
NVIDIAS = re.compile(r"nvidia|cuda|\bnvml\b|nvlink|\bmig\b", re.I)
WIDE = {"COLUMNS": "200"}


@pytest.fixture
def on(tmp_path):
    return lambda scenario: Machine(tmp_path, sim=scenario)


def devices_of(machine):
    return json.loads(machine.run("status", "--json").stdout)["devices"]


@pytest.mark.parametrize("scenario", OTHERS)
@pytest.mark.parametrize(
    "words", [["status"], ["ps"], ["health"], ["doctor"], ["manifest"], ["topo"]], ids=" ".join
)
def test_no_word_of_nvidias_where_there_is_none(on, scenario, words):
    machine = on(scenario)
    # A manifest's other sections are this machine's own software.
    text = machine.run(*words, env=WIDE).stdout.split("\nMachine")[0]
    assert "910B2" in text or "MI300X" in text or words[0] in ("doctor", "ps", "topo")
    assert NVIDIAS.findall(text) == []


@pytest.mark.parametrize("scenario", ALL)
def test_what_is_absent_says_why_and_is_no_zero(on, scenario):
    machine = on(scenario)
    for device in devices_of(machine):
        for key, value in device.items():
            if value is None and key not in ("parent", "mig", "reserved_for", "failed_because", "runtime_index"):
                assert device["why"].get(key), f"{device['id']}: {key}"
        if device["kind"] in ("amd-partition", "intel-gpu"):
            assert device["power_draw_milliwatts"] is None, "a partition's is its card's"
            assert device["why"]["power_draw_milliwatts"] == "unsupported"


@pytest.mark.parametrize("scenario", ALL)
def test_csv_and_top_show_the_same_devices(on, scenario):
    machine = on(scenario)
    devices = devices_of(machine)
    fields = ["name", "power_draw_milliwatts", "memory_used_bytes"]
    rows = list(csv.reader(io.StringIO(machine.run("status", "--csv", ",".join(fields)).stdout)))[1:]
    assert len(rows) == len(devices)
    for row, device in zip(rows, devices):
        for told, field in zip(row, fields):
            # A simulated server's figures move from look to look.
            assert told == device[field] if field == "name" else bool(re.search(r"\d", told)) == (device[field] is not None), row
    terminal = Terminal(160)
    top = machine.start_on(terminal, "top")
    try:
        short = {"arc-mixed": "RX 6650", "ascend-910b-8": "910B2"}.get(scenario, "MI300X")
        wait_until(lambda: short in without_escapes(terminal.read().decode(errors="replace")), "top shows the devices")
    finally:
        end(top)
        terminal.close()


@pytest.mark.parametrize("scenario", ALL)
def test_metrics_have_what_a_device_has_and_leave_out_the_rest(on, scenario):
    machine = on(scenario)
    devices = devices_of(machine)
    server = Server(machine)
    try:
        text = server.get("/metrics", over="unix").body.decode()
        overview = server.get("/api/v1/overview", over="unix").json
    finally:
        server.close()
    watts = re.findall(r"^berth_device_power_watts\{", text, re.M)
    told = [one for one in devices if one["power_draw_milliwatts"] is not None]
    assert len(watts) == len(told), "no line for what is not told"
    assert {one["id"]: one["name"] for one in overview["devices"]} == {one["id"]: one["name"] for one in devices}
    if scenario in OTHERS:
        lines = [line for line in text.splitlines() if not line.startswith("#") and NVIDIAS.search(line)]
        assert lines == []


@pytest.mark.parametrize("scenario", ALL)
def test_a_run_is_recorded_shown_and_reported(on, scenario, tmp_path):
    machine = on(scenario)
    kind = ["--kind", "amd"] if scenario == "arc-mixed" else []
    assert machine.run("run", "-q", *kind, "--", "sleep", "1").returncode == 0
    [run] = json.loads(machine.run("runs", "--json").stdout)["runs"]
    record = wait_until(
        lambda: (lambda told: told if told["complete"] else None)(json.loads(machine.run("show", run["id"], "--json").stdout)),
        "the record is complete",
    )
    [device] = record["given"]["devices"] if len(record["given"]["devices"]) == 1 else record["given"]["devices"][:1]
    assert device["kind"] in ("amd-gpu", "amd-partition", "ascend-npu")
    page = tmp_path / "report.html"
    done = machine.run("report", run["id"], "-o", page)
    text = page.read_text(encoding="utf-8") if page.exists() else done.stdout
    assert device["name"] in text or device["name"].split("[")[-1].rstrip("]") in text
    for told in (machine.run("show", run["id"], env=WIDE).stdout, machine.run("explain", run["id"], env=WIDE).stdout):
        assert told
        if scenario in OTHERS:
            assert NVIDIAS.findall(told) == []


def test_memory_that_the_driver_holds_itself_is_nobodys_fault(on):
    machine = on("ascend-910b-8")
    assert "held by no" not in machine.run("ps").stdout + machine.run("status", env=WIDE).stdout
    assert "notice" not in machine.run("health").stdout
    assert machine.run("doctor").returncode == 0


def test_a_device_is_called_as_it_is_sold(on):
    text = on("arc-mixed").run("status", env=WIDE).stdout
    assert "Radeon RX 6650 XT" in text and "Iris Xe Graphics" in text and "Advanced Micro" not in text


def test_spec_knows_them(on):
    text = on("mi300x-8").run("spec", env=WIDE).stdout
    assert "not in berth's table" not in text and "304" in text
    assert "RX 6650 XT" in on("arc-mixed").run("spec", env=WIDE).stdout
    # A chip of Huawei's is the card of that name; what nothing of Huawei's own says is null.
    told = json.loads(on("ascend-910b-8").run("spec", "--json").stdout)["cards"]
    [table] = [one["table"] for one in told]
    assert (table["name"], table["ai_cores"], table["memory_sold_bytes"]) == ("Huawei Ascend 910B2", 24, 64 << 30)
    assert table["memory_bandwidth_bytes_per_second"] is None and table["memory_kind"] is None


def test_doctor_explains_each_variable(on):
    machine = on("mi300x-8")

    def rules(**env):
        return [one["rule"] for one in json.loads(machine.run("doctor", "--json", env=env).stdout)["findings"]]

    assert rules() == []
    assert rules(ROCR_VISIBLE_DEVICES="2,3", HIP_VISIBLE_DEVICES="2,3") == ["rocm_variables_disagree", "visible_list_broken"]
    assert rules(ROCR_VISIBLE_DEVICES="") == ["rocm_hidden"]
    assert rules(HIP_VISIBLE_DEVICES="-1") == ["rocm_hidden"]
    assert rules(HIP_VISIBLE_DEVICES="") == ["empty_hides_nothing"]
    assert rules(CUDA_VISIBLE_DEVICES="1") == ["cuda_variable_is_hips"]
    assert rules(ROCR_VISIBLE_DEVICES="0,9") == ["visible_list_broken"]
    machine = on("mi300x-cpx")
    uuid = devices_of(machine)[1]["uuid"] or "GPU-0cee36ddc4255115"
    assert "rocm_uuid_shared" in rules(ROCR_VISIBLE_DEVICES=uuid[:20])
    machine = on("ascend-910b-8")
    assert rules(ASCEND_RT_VISIBLE_DEVICES="3,1") == ["visible_list_broken"]
    machine = on("arc-mixed")
    assert "empty_hides_nothing" in rules(ZE_AFFINITY_MASK="")
    assert "cuda_variable_is_hips" not in rules(CUDA_VISIBLE_DEVICES="0"), "NVIDIA's card is meant"


@pytest.mark.parametrize(
    ("scenario", "words", "printed"),
    [
        ("mi300x-8", ["-n", "2"], "--device /dev/kfd --device /dev/dri/renderD130 --device /dev/dri/renderD131"),
        ("arc-mixed", ["--only", "2"], "--device /dev/dri/renderD128"),
        (
            "ascend-910b-8",
            ["-n", "2"],
            "--device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc --device /dev/davinci2 --device /dev/davinci3",
        ),
    ],
)
def test_docker_is_given_the_files(on, scenario, words, printed):
    machine = on(scenario)
    done = machine.run("pick", "--format", "docker", *words)
    assert re.sub(r"renderD\d+", "renderD", done.stdout.strip()) == re.sub(r"renderD\d+", "renderD", printed), done.stderr
    assert "quotes" not in done.stderr
    refused = machine.run("pick", "--format", "cdi", *words)
    assert refused.returncode != 0 and refused.stdout == "" and "--format docker" in refused.stderr


@pytest.mark.parametrize("scenario", ALL)
def test_history_usage_and_alerts_have_them(on, scenario):
    machine = on(scenario)
    devices = devices_of(machine)
    server = Server(machine)
    try:
        def kept():
            done = machine.run("history", "--json", "--since", "1h")
            told = json.loads(done.stdout) if done.returncode == 0 else {"devices": []}
            return told if len(told.get("devices", [])) == len(devices) else None

        kept_of = wait_until(kept, "the history has every device")
        alerts = server.get("/api/v1/alerts", over="unix").json
    finally:
        server.stop()
    assert {one["id"] for one in kept_of["devices"]} == {one["id"] for one in devices}
    text = machine.run("history", "--since", "1h", env=WIDE).stdout
    for device in devices:
        assert device["name"].split(" [")[0][:20] in text or device["name"][:12] in text, text
    usage = machine.run("usage", "--since", "1h", env=WIDE)
    assert usage.returncode == 0, usage.stderr
    if scenario in OTHERS:
        assert NVIDIAS.findall(text + usage.stdout) == []
        assert NVIDIAS.findall(json.dumps([one for one in alerts.get("alerts", [])])) == []
