"""Every surface on the simulated servers of other makers. What the devices have is shown, and what they lack is absent
with its reason. Nothing speaks of NVIDIA where none of its cards is."""

import csv
import io
import json
import re

import pytest
from conftest import Machine, Terminal, end, scenario, wait_until, without_escapes
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
    assert rules(ROCR_VISIBLE_DEVICES="-1") == rules(HIP_VISIBLE_DEVICES="-1") == ["rocm_hidden"]
    assert rules(CUDA_VISIBLE_DEVICES="-1") == ["rocm_hidden"], "HIP reads it"
    assert "rocm_hidden" not in rules(CUDA_VISIBLE_DEVICES=""), "an empty one hides nothing"
    assert rules(HIP_VISIBLE_DEVICES="") == ["empty_hides_nothing"]
    assert rules(CUDA_VISIBLE_DEVICES="1") == ["cuda_variable_is_hips"]
    assert rules(ROCR_VISIBLE_DEVICES="0,9") == ["visible_list_broken"]
    machine = on("mi300x-cpx")
    uuid = devices_of(machine)[1]["uuid"] or "GPU-0cee36ddc4255115"
    assert "rocm_uuid_shared" in rules(ROCR_VISIBLE_DEVICES=uuid[:20])
    assert rules(ROCR_VISIBLE_DEVICES="0") == [], "a number is one partition's"
    machine = on("ascend-910b-8")
    assert rules(ASCEND_RT_VISIBLE_DEVICES="3,1") == ["visible_list_broken"]
    machine = on("arc-mixed")
    assert "empty_hides_nothing" in rules(ZE_AFFINITY_MASK="")
    assert "cuda_variable_is_hips" not in rules(CUDA_VISIBLE_DEVICES="0"), "NVIDIA's card is meant"


def test_doctor_says_which_of_three_variables_counts(on):
    machine = on("mi300x-8")
    env = {"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"}
    [found] = [one for one in json.loads(machine.run("doctor", "--json", env=env).stdout)["findings"]]
    assert (found["rule"], found["severity"]) == ("rocm_variables_disagree", "hint")
    told = json.dumps(found)
    assert "ROCR_VISIBLE_DEVICES comes first" in told and "unset HIP_VISIBLE_DEVICES" in told
    assert "CUDA_VISIBLE_DEVICES" not in told, "HIP reads its own before CUDA's"
    # So reads berth: 3 is number 1 of 2 and 3.
    assert machine.run("pick", env=env).stdout == "3\n"
    assert machine.run("pick", env=env | {"HIP_VISIBLE_DEVICES": ""}).stdout == "2\n"


def test_doctor_says_that_an_mi300as_uuid_is_nothing(tmp_path):
    snapshot = scenario("mi300x-8")
    for device in snapshot["devices"]:
        device |= {"name": "AMD Instinct MI300A", "id": device["pci_address"], "uuid": None}
        device["why"]["uuid"] = "unsupported"
    snapshot["gpu_processes"], snapshot["processes"] = [], []
    file = tmp_path / "mi300a.json"
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    machine = Machine(tmp_path, sim=str(file))
    env = {"ROCR_VISIBLE_DEVICES": "GPU-0000000000000000"}
    found = json.loads(machine.run("doctor", "--json", env=env).stdout)["findings"]
    [zero] = [one for one in found if one["rule"] == "rocm_uuid_shared"]
    assert zero["severity"] == "error" and "an MI300A's is 0" in zero["meaning"]
    refused = machine.run("pick", env=env)
    assert refused.returncode != 0 and refused.stdout == "", "it leaves no device"
    assert machine.run("pick", env={"ROCR_VISIBLE_DEVICES": "5"}).stdout == "5\n"


def test_what_is_used_of_a_card_of_intels_is_a_bound_or_says_whose_right_it_wants(tmp_path):
    snapshot = scenario("arc-mixed")
    [card] = [one for one in snapshot["devices"] if one["kind"] == "intel-gpu"]
    card |= {"integrated": False, "name": "Arc B580", "memory_total_bytes": 12 << 30, "memory_used_bytes": 3 << 30}
    file = tmp_path / "arc.json"
    machine = Machine(tmp_path, sim=str(file))

    def shows(*words):
        file.write_text(json.dumps(snapshot), encoding="utf-8")
        return machine.run(*words, env=WIDE)

    row = next(line for line in shows("status").stdout.splitlines() if "B580" in line)
    assert re.search(r"≥3\.0\S*\s*/\s*12", row), row
    assert "CAP_PERFMON" not in shows("doctor").stdout
    card |= {"memory_used_bytes": None, "process_count": None}
    card["why"] |= {"memory_used_bytes": "no permission", "process_count": "no permission"}
    assert "≥" not in shows("status").stdout
    assert "CAP_PERFMON" in shows("doctor").stdout
    for words in (["--kind", "intel"], ["--kind", "intel", "--memory", "1G"]):
        refused = shows("pick", *words)
        assert refused.returncode != 0 and "CAP_PERFMON" in refused.stderr, refused.stderr


def test_a_lower_bound_is_told_as_one_to_programs_too(tmp_path):
    snapshot = scenario("arc-mixed")
    [card] = [one for one in snapshot["devices"] if one["kind"] == "intel-gpu"]
    card |= {"integrated": False, "name": "Arc B580", "memory_total_bytes": 12 << 30, "memory_used_bytes": 3 << 30}
    file = tmp_path / "arc.json"
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    machine = Machine(tmp_path, sim=str(file))
    told = {one["kind"]: one for one in devices_of(machine)}
    assert told["intel-gpu"]["memory_used_is_bound"] is True and told["nvidia-gpu"]["memory_used_is_bound"] is False
    assert told["intel-gpu"]["memory_unexplained_bytes"] is None, "of a sum of what processes hold nothing is left"
    server = Server(machine)
    try:
        page = server.get("/metrics", over="unix").body.decode()
        overview = server.get("/api/v1/overview", over="unix").json

        def kept():
            done = machine.run("history", "--json", "--since", "1h")
            return json.loads(done.stdout) if done.returncode == 0 and '"memory_used_bytes"' in done.stdout else None

        kept_of = wait_until(kept, "the history has it")
    finally:
        server.stop()
    bounds = dict(re.findall(r'^berth_device_memory_used_is_bound\{[^}]*uuid="([^"]*)"[^}]*\} (\d)', page, re.M))
    assert bounds[told["intel-gpu"]["id"]] == "1" and bounds[told["nvidia-gpu"]["id"]] == "0"
    assert re.search(r"^# HELP berth_device_memory_used_bytes .*at least so much", page, re.M)
    assert [one["kind"] for one in overview["devices"] if one["memory_used_is_bound"]] == ["intel-gpu"]
    assert [one["id"] for one in kept_of["devices"] if one["memory_used_is_bound"]] == [told["intel-gpu"]["id"]]
    lines = machine.run("history", "--since", "1h", env=WIDE).stdout.splitlines()
    assert [line for line in lines if "B580" in line and "≥3.0" in line], lines
    assert not [line for line in lines if "≥" in line and "B580" not in line]
    terminal = Terminal(160)
    top = machine.start_on(terminal, "top")
    try:
        wait_until(lambda: "≥3.0" in without_escapes(terminal.read().decode(errors="replace")), "top says it")
    finally:
        end(top)
        terminal.close()


@pytest.mark.parametrize("scenario", ALL)
def test_fit_says_of_each_device_whether_it_fits_or_that_nobody_knows(on, scenario):
    machine = on(scenario)
    devices = [one for one in devices_of(machine) if one["state"] != "divided"]
    here = json.loads(machine.run("fit", "7B", "--json").stdout)["here"]
    assert [one["name"] for one in here] == [one["name"] for one in devices]
    for told, device in zip(here, devices):
        assert (told["memory_free_bytes"] is None) == (told["now"] is None), told
        if device["kind"] in ("amd-partition", "intel-gpu"):
            assert told["now"] is None, "how much of it is used is not told"
    text = machine.run("fit", "7B", env=WIDE).stdout
    assert text.count("not known") == sum(told["now"] is None for told in here)
    if scenario in OTHERS:
        assert NVIDIAS.findall(text.split("Anywhere,")[0]) == []


VARIABLE = {"amd": "ROCR_VISIBLE_DEVICES", "ascend": "ASCEND_RT_VISIBLE_DEVICES"}


@pytest.mark.parametrize("scenario", ALL)
def test_pick_and_run_agree_and_without_a_device_it_is_the_cpu(on, scenario):
    machine = on(scenario)
    kind = "ascend" if scenario.startswith("ascend") else "amd"
    picked = machine.run("pick", "--kind", kind)
    assert picked.returncode == 0, picked.stderr
    printed = machine.run("run", "-q", "--kind", kind, "--", "printenv", VARIABLE[kind])
    assert printed.stdout == picked.stdout, printed.stderr
    cpu = machine.run("run", "-q", "--kind", kind, "-n", "99", "--or-cpu", "--", "printenv", VARIABLE[kind])
    assert (cpu.returncode, cpu.stdout) == (0, "-1\n"), cpu.stderr
    said = machine.run("pick", "--kind", kind, "-n", "99", "--or-cpu")
    assert (said.returncode, said.stdout) == (0, "-1\n") and "CPU" in said.stderr
    refused = machine.run("pick", "--kind", kind, "-n", "99")
    assert refused.returncode != 0 and refused.stdout == ""


@pytest.mark.parametrize("scenario", ALL)
def test_explain_of_a_device_leaves_out_what_it_lacks(on, scenario):
    machine = on(scenario)
    device = next(one for one in devices_of(machine) if one["state"] == "free" and not one["parent"] and one["kind"] != "nvidia-gpu") \
        if scenario != "mi300x-cpx" else next(one for one in devices_of(machine) if one["parent"])
    done = machine.run("explain", device["id"], "--seconds", "1", "--json")
    [answer] = json.loads(done.stdout)["answers"]
    [told] = answer["devices"]
    assert told["id"] == device["id"] and told["busy_ratio"] is not None
    assert told["sm_ratio"] is None and told["tensor_ratio"] is None, "nobody tells them of such a device"
    if device["power_draw_milliwatts"] is None:
        assert told["power_ratio"] is None
    if scenario in OTHERS:
        assert NVIDIAS.findall(machine.run("explain", device["id"], "--seconds", "1", env=WIDE).stdout) == []


@pytest.mark.parametrize("scenario", ALL)
def test_a_recording_of_them_is_played_back_as_they_were(on, scenario, tmp_path):
    machine = on(scenario)
    tape = tmp_path / "tape.jsonl"
    assert machine.run("record", "--for", "1s", "-d", "500ms", tape).returncode == 0
    played = json.loads(machine.run("status", "--json", "--replay", tape).stdout)["devices"]
    for was, then in zip(devices_of(machine), played, strict=True):
        assert (then["id"], then["kind"]) == (was["id"], was["kind"])
        absent = {key: why for key, why in was["why"].items() if key in then and was[key] is None}
        for key in ("power_draw_milliwatts", "memory_used_bytes", "temperature_celsius"):
            assert then["why"].get(key) == absent.get(key), f"{was['id']}: {key}"


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
    watts = {one["device"] for one in kept_of["series"] if one["metric"] == "power_draw_milliwatts" and one["points"]}
    assert watts == {one["id"] for one in devices if one["power_draw_milliwatts"] is not None}, "none is no curve of 0"
    usage = machine.run("usage", "--since", "1h", env=WIDE)
    assert usage.returncode == 0, usage.stderr
    if scenario in OTHERS:
        assert NVIDIAS.findall(text + usage.stdout) == []
        assert NVIDIAS.findall(json.dumps([one for one in alerts.get("alerts", [])])) == []
    held = json.loads(machine.run("usage", "--since", "1h", "--json").stdout)
    for row in held.get("rows", []):
        assert row["energy_joules"] is None or scenario != "mi300x-cpx", "a partition's power is its card's"
