"""Other makers' devices on every surface, and jobs on them, on simulated servers."""

import json

import pytest
from conftest import BERTH, Machine, many_devices, wait_until
from serving import Server

SCENARIOS = ["mi300x-8", "mi300x-cpx", "arc-mixed", "ascend-910b-8"]


@pytest.fixture
def on(tmp_path):
    return lambda scenario: Machine(tmp_path, sim=scenario)


def job_sees(machine, *words, env=None):
    """The variables of a job that speak of devices."""
    script = "env | grep -E 'VISIBLE|AFFINITY|HIERARCHY|ORDINAL|SELECTOR|DEVICE_ORDER' | sort; true"
    done = machine.run("run", *words, "--", "sh", "-c", script, env=env or {})
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines()), done.stderr


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_surface_shows_them(on, scenario):
    machine = on(scenario)
    told = json.loads(machine.run("status", "--json").stdout)
    names = {device["name"] for device in told["devices"]}
    wide = {"COLUMNS": "200"}
    text = machine.run("status", env=wide).stdout
    short = {"mi300x-8": "MI300X", "mi300x-cpx": "MI300X", "arc-mixed": "RX 6650", "ascend-910b-8": "910B2"}[scenario]
    assert any(short in name for name in names) and short in text
    listed = machine.run("ps", env=wide).stdout
    for process in told["gpu_processes"]:
        assert str(process["pid"]) in listed
    assert machine.run("health", env=wide).returncode == 0
    server = Server(machine)
    try:
        metrics = server.get("/metrics", over="unix").body.decode()
        overview = server.get("/api/v1/overview", over="unix").json
    finally:
        server.close()
    assert short in metrics
    assert {device["id"] for device in overview["devices"]} == {device["id"] for device in told["devices"]}


def test_a_job_gets_numbers_of_rocm_and_nothing_that_numbers_them_anew(on):
    machine = on("mi300x-8")
    inherited = {"ROCR_VISIBLE_DEVICES": "3,4,5,6,7", "HIP_VISIBLE_DEVICES": "0,2,3", "GPU_DEVICE_ORDINAL": "0"}
    sees, said = job_sees(machine, "-n", "2", env=inherited)
    # ROCr leaves 3 to 7; of those HIP leaves 3, 5 and 6. All are free, and the last two are on one NUMA node.
    assert sees == {"ROCR_VISIBLE_DEVICES": "5,6"}
    assert "HIP_VISIBLE_DEVICES is taken from the job" in said
    assert "GPU_DEVICE_ORDINAL is taken from the job" in said
    assert "CUDA_VISIBLE_DEVICES is taken" not in said


def test_pick_writes_what_run_would_set(on):
    machine = on("mi300x-8")
    assert machine.run("pick", "-n", "2").stdout == "2,3\n"
    lines = machine.run("pick", "--format", "env").stdout.splitlines()
    assert lines == [
        "export ROCR_VISIBLE_DEVICES=2",
        "unset HIP_VISIBLE_DEVICES",
        "unset CUDA_VISIBLE_DEVICES",
        "unset GPU_DEVICE_ORDINAL",
    ]


def test_without_devices_each_maker_s_are_hidden(on):
    sees, _ = job_sees(on("mi300x-8"), "--cpu")
    for name in ("ROCR", "HIP", "CUDA", "MUSA", "MLU", "ASCEND_RT"):
        assert sees[f"{name}_VISIBLE_DEVICES"] == "-1"
    assert sees["ZE_AFFINITY_MASK"] == "-1"


def test_partitions_are_devices_with_ids_of_their_own(on):
    machine = on("mi300x-cpx")
    sees, _ = job_sees(machine, "-n", "3")
    assert sees == {"ROCR_VISIBLE_DEVICES": "0,1,3"}, "2 is alice's"
    # A lease of a partition keeps the others of the card free.
    held = machine.start("run", "-n", "1", "--", "sleep", "30")
    try:
        def leased():
            devices = json.loads(machine.run("status", "--json").stdout)["devices"]
            return [one["id"] for one in devices if one["state"] == "leased"] or None

        [one] = wait_until(leased, "a partition is leased")
        [lease] = json.loads(machine.run("leases", "--json").stdout)["leases"]
        assert [part["device"] for part in lease["devices"]] == [one] == ["GPU-0cee36ddc4255115-p0"]
        assert machine.run("pick").stdout == "1\n"
    finally:
        held.terminate()
        held.wait(timeout=30)


def test_of_several_kinds_one_has_to_be_said(on):
    machine = on("arc-mixed")
    refused = machine.run("run", "--", "true")
    assert refused.returncode != 0
    assert "nvidia, amd" in refused.stderr and "--kind" in refused.stderr
    assert machine.run("pick").returncode != 0
    sees, _ = job_sees(machine, "--kind", "amd")
    # NVIDIA's is hidden, and HIP, which would read that list, has its own.
    assert sees == {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0"}
    sees, _ = job_sees(machine, "--kind", "NVIDIA")
    assert sees == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"}
    unknown = machine.run("pick", "--kind", "voodoo")
    assert unknown.returncode == 2 and "nvidia, amd, intel" in unknown.stderr


def test_what_is_integrated_is_given_only_by_name(on):
    machine = on("arc-mixed")
    refused = machine.run("pick", "--kind", "intel")
    assert refused.returncode != 0 and "a part of the processor" in refused.stderr
    sees, _ = job_sees(machine, "--only", "2")
    assert sees == {"ZE_AFFINITY_MASK": "0", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"}


PLAIN = {
    "cambricon-mlu": "MLU_VISIBLE_DEVICES", "mthreads-gpu": "MUSA_VISIBLE_DEVICES", "metax-gpu": "CUDA_VISIBLE_DEVICES",
    "iluvatar-gpu": "CUDA_VISIBLE_DEVICES", "habana-gaudi": "HABANA_VISIBLE_MODULES", "google-tpu": "TPU_VISIBLE_CHIPS",
    "tenstorrent": "TT_VISIBLE_DEVICES",
}  # fmt: skip


def three_present(directory, kind):
    """A machine with three devices of a kind of which nothing is read; nobody is on them."""
    snapshot = many_devices(1) | {"gpu_processes": [], "processes": []}
    snapshot["devices"] = [
        {"kind": kind, "id": f"00000000:{bus}:00.0", "pci_address": f"00000000:{bus}:00.0", "index": number, "runtime_index": number,
         "name": "some card", "process_count": 0,
         "why": dict.fromkeys(("memory_total_bytes", "memory_used_bytes", "memory_free_bytes", "utilization_gpu_percent"), "unsupported")}
        for number, bus in enumerate(("21", "41", "61"))
    ]  # fmt: skip
    file = directory / "three.json"
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    return Machine(directory, sim=str(file))


@pytest.mark.parametrize(("kind", "variable"), PLAIN.items())
def test_a_list_that_was_inherited_is_never_widened(tmp_path, kind, variable):
    machine = three_present(tmp_path, kind)
    everything = ["--only", "0,1,2"]
    sees, _ = job_sees(machine, *everything)
    assert sees == {variable: "0"}
    sees, _ = job_sees(machine, *everything, env={variable: "2"})
    assert sees == {variable: "2"}
    refused = machine.run("pick", "-n", "2", *everything, env={variable: "2"})
    assert refused.returncode != 0 and variable in refused.stderr, refused.stderr
    assert machine.run("pick", *everything, env={variable: ""}).returncode != 0
    broken = machine.run("pick", *everything, env={variable: "1,9,0"})
    assert broken.stdout == "1\n" and f'{variable}: entry 2 ("9") is no device' in broken.stderr
    # And inside a run: what a job starts stays on what the job was given.
    inner = machine.run("run", *everything, "--", "sh", "-c", f"{BERTH} run --only 0,1,2 -- printenv {variable}", env={variable: "1"})
    assert inner.stdout == "1\n", inner.stderr


def test_the_first_name_of_a_tpus_list_counts_and_does_not_stay(tmp_path):
    machine = three_present(tmp_path, "google-tpu")
    sees, said = job_sees(machine, "--only", "0,1,2", env={"TPU_VISIBLE_DEVICES": "1"})
    assert sees == {"TPU_VISIBLE_CHIPS": "1"} and "TPU_VISIBLE_DEVICES is taken from the job" in said


def test_a_list_for_ascend_ascends(on):
    machine = on("ascend-910b-8")
    sees, _ = job_sees(machine, "-n", "2", "--prefer", "5,3")
    assert sees == {"ASCEND_RT_VISIBLE_DEVICES": "3,5"}


def test_features_are_those_of_the_chip(on):
    machine = on("mi300x-8")
    assert machine.run("pick", "--need", "bf16,fp8").returncode == 0
    laptop = on("arc-mixed")
    refused = laptop.run("pick", "--kind", "amd", "--need", "bf16")
    assert refused.returncode != 0 and "gfx1032 has no bf16" in refused.stderr
