"""Ascend chips through a libdcmi.so that the program loads itself, on an injected machine."""

import json
import os
import re
import shutil
import subprocess

import pytest
from accelerator_trees import Sys, put
from conftest import BUILD, ROOT, Machine, ends_within_patience, scenario

LOOK = BUILD / "tests/accelerators/look_at_tree"
AMD_CARD = ROOT / "tests/data/amdgpu/vega10.tree"
READ = ("memory_total_bytes", "memory_used_bytes", "memory_free_bytes", "utilization_gpu_percent",
        "utilization_memory_percent", "power_draw_milliwatts", "temperature_celsius", "serial",
        "clock_graphics_megahertz", "clock_graphics_max_megahertz", "name", "process_count")  # fmt: skip


class Lines:
    """What a program prints, line by line."""

    def __init__(self, words, env):
        self.program = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
        self.last = None

    def __iter__(self):
        return self

    def __next__(self):
        line = self.program.stdout.readline()
        if not line:
            assert self.program.wait(timeout=60) == 0
            raise StopIteration
        self.last = line
        return line


class Ascend:
    """A machine whose bus has Ascend chips, and whose driver's library plays a snapshot."""

    def __init__(self, directory, snapshot=None, library="all"):
        self.tree = Sys(directory / "root")
        self.directory = directory
        self.snapshot = snapshot or scenario("ascend-910b-8")
        for device in self.snapshot["devices"]:
            address = device["pci_address"][4:]
            self.tree.add_bare(address, "0x19e5", "0xd802", "devdrv_device_driver", "0x120000", render=None)
        if library:
            place = self.tree.sys / "usr/local/dcmi/libdcmi.so"
            place.parent.mkdir(parents=True)
            shutil.copy(BUILD / "fakes/dcmi" / library / "libdcmi.so", place)
        put(self.tree.sys / "usr/local/Ascend/driver/version.info", "Version=25.5.1\n")
        self.machine = Machine(directory, sim=str(directory / "seen.json"))

    def looks(self, faults="", chips=1):
        played = self.directory / "played.json"
        played.write_text(json.dumps(self.snapshot), encoding="utf-8")
        env = {"BERTH_FAKE_DCMI": str(played), "BERTH_FAKE_DCMI_FAULTS": faults, "BERTH_FAKE_DCMI_CHIPS": str(chips)}
        done = subprocess.run(
            [LOOK, self.tree.sys, self.tree.proc], env=env, text=True, capture_output=True, timeout=60, check=True
        )
        # What the program was shown becomes the machine that the verbs below are asked about.
        (self.directory / "seen.json").write_text(done.stdout, encoding="utf-8")
        seen = json.loads(done.stdout)
        self.seen = seen
        return [one for one in seen["devices"] if one["kind"] == "ascend-npu"]

    def looks_again(self, faults, looks=30):
        """The lines of a collector that goes on looking; `last`: the latest."""
        (self.directory / "played.json").write_text(json.dumps(self.snapshot), encoding="utf-8")
        env = {"BERTH_FAKE_DCMI": str(self.directory / "played.json"), "BERTH_FAKE_DCMI_FAULTS": faults}
        return Lines([LOOK, self.tree.sys, self.tree.proc, str(looks)], env)

    def table(self, *words):
        return self.machine.run(*(words or ("status",)), env={"COLUMNS": "180"}).stdout


@pytest.fixture
def ascend(tmp_path):
    return lambda *what, **how: Ascend(tmp_path, *what, **how)


def test_the_program_reads_what_the_library_plays(ascend):
    server = ascend()
    chips = server.looks()
    wanted = sorted(server.snapshot["devices"], key=lambda one: one["index"])
    assert [{key: chip[key] for key in READ} for chip in chips] == [{key: one[key] for key in READ} for one in wanted]
    assert [(chip["index"], chip["minor_number"]) for chip in chips] == [(n, n) for n in range(8)]
    told = [(one["device"], one["pid"], one["memory_used_bytes"]) for one in server.seen["gpu_processes"]]
    assert sorted(told) == [("00000000:01:00.0", 7002, 48 << 30), ("00000000:c1:00.0", 7001, 48 << 30)]
    assert server.seen["host"]["other_vendors"][0]["driver_version"] == "25.5.1"
    text = server.table()
    assert text.count("910B2") >= 8 and re.search(r"51\.3\S*\s*/\s*64", text), text
    assert "88" in text and "301" in text and "25.5.1" in text, text
    listed = server.table("ps")
    assert "7001" in listed and "7002" in listed


def test_a_chip_of_a_card_is_a_device_by_its_logic_and_its_file_number(ascend):
    snapshot = scenario("ascend-910b-8")
    for device in snapshot["devices"]:  # on A3 servers the files are numbered otherwise
        device["minor_number"] = 15 - device["index"]
    snapshot["devices"][1]["power_draw_milliwatts"] = None  # only the first chip of a card tells it
    snapshot["devices"][1].setdefault("why", {})["power_draw_milliwatts"] = "unsupported"
    server = ascend(snapshot)
    chips = server.looks(chips=2)
    assert len(chips) == 8, "the cards' own controllers are none"
    assert [chip["minor_number"] for chip in chips] == [15 - number for number in range(8)]
    assert chips[1]["power_draw_milliwatts"] is None and chips[1]["why"]["power_draw_milliwatts"] == "unsupported"
    assert chips[0]["power_draw_milliwatts"] == 301000
    assert server.machine.run("pick", "-n", "2").stdout == "2,3\n", "by logic id"


def test_a_chip_in_critical_health_is_not_given(ascend):
    server = ascend()
    chips = server.looks("dcmi_get_device_health@2.0=lie:3;dcmi_get_device_health@3.0=lie:1")
    assert "critical" in chips[2]["unusable_because"]
    assert not chips[3].get("unusable_because"), "a minor one works"
    assert server.machine.run("pick").stdout == "3\n"
    assert "critical" in server.table("why") + server.table("status", "-v") + server.table()


def test_a_refused_call_is_absent_with_its_reason(ascend):
    server = ascend()
    chips = server.looks(
        "dcmi_get_device_temperature@0.0=-8255;dcmi_get_device_power_info@0.0=-8012;"
        "dcmi_get_device_hbm_info@1.0=-8255;dcmi_get_device_memory_info_v3@1.0=-8012;"
        "dcmi_get_device_resource_info@1.0=-8013"
    )
    first, second, third = chips[:3]
    assert first["temperature_celsius"] is None and first["why"]["temperature_celsius"] == "unsupported"
    assert first["power_draw_milliwatts"] is None and first["why"]["power_draw_milliwatts"] == "failed"
    for key in ("memory_total_bytes", "memory_used_bytes", "memory_free_bytes", "process_count"):
        assert second[key] is None and second["why"][key] == "failed", key
    assert third["memory_used_bytes"] and third["process_count"] == 0
    row = next(line for line in server.table().splitlines() if re.match(r"\W*0\W", line))
    assert " 0°C" not in row and " 0 W" not in row, row


def test_what_the_library_overstates_is_not_believed(ascend):
    server = ascend()
    [chip, *_] = server.looks(
        "dcmi_get_device_utilization_rate@0.0=lie:255;dcmi_get_device_power_info@0.0=lie:-1;"
        "dcmi_get_device_temperature@0.0=lie:70000"
    )
    for key in ("utilization_gpu_percent", "power_draw_milliwatts", "temperature_celsius"):
        assert chip[key] is None and chip["why"][key] == "failed", key


def test_an_old_library_has_what_it_exports(ascend):
    server = ascend(library="few")
    chips = server.looks()
    assert len(chips) == 8
    for chip, played in zip(chips, sorted(server.snapshot["devices"], key=lambda one: one["index"])):
        for key in ("memory_used_bytes", "utilization_gpu_percent", "power_draw_milliwatts"):
            assert chip[key] == played[key], key
        for key in ("clock_graphics_megahertz", "ecc_mode", "process_count", "minor_number"):
            assert chip[key] is None and chip["why"][key] == "unsupported", key
    assert server.machine.run("pick").stdout == "2\n", "0 and 1 hold memory"


def test_a_chip_that_hangs_costs_its_own_row_alone(ascend):
    server = ascend()
    server.tree.add(AMD_CARD, address="0000:05:00.0")
    with ends_within_patience("the chip hangs for ever"):
        chips = server.looks("dcmi_get_device_hbm_info@3.0=hang")
    assert len(chips) == 8
    assert chips[3]["memory_used_bytes"] is None and chips[3]["why"]["memory_used_bytes"] == "failed"
    assert all(chip["memory_used_bytes"] for chip in [*chips[:3], *chips[4:]])
    assert len({chip["id"] for chip in chips}) == 8
    [amd] = [one for one in server.seen["devices"] if one["kind"] == "amd-gpu"]
    assert amd["utilization_gpu_percent"] == 4.0 and amd["memory_used_bytes"]
    [problem] = [one for one in server.seen["problems"] if one["source"] == "dcmi"]
    assert problem["device"] == chips[3]["id"] and "no answer" in problem["message"]


def test_what_changes_between_looks_and_a_chip_that_is_pulled_out(ascend):
    server = ascend()
    faults = server.directory / "faults"

    def tells(text):
        (server.directory / "faults.new").write_text(text, encoding="utf-8")
        os.replace(server.directory / "faults.new", faults)

    tells("")
    lines = server.looks_again(faults=f"@{faults}")
    first = json.loads(next(lines))["devices"]
    assert first[3]["utilization_gpu_percent"] == 0 and first[3]["process_count"] == 0
    changing = ["=lie:7", "=-8255", "=lie:99999", "=lie:12"]
    for number, line in zip(range(12), lines):
        tells("dcmi_get_device_utilization_rate@3.0" + changing[number % len(changing)])
        devices = json.loads(line)["devices"]
        assert devices[3]["utilization_gpu_percent"] in (0, 7, 12, None)
        assert [one["id"] for one in devices] == [one["id"] for one in first]
    tells("*@3.0=-8009")
    shutil.rmtree(server.tree.folder(first[3]["pci_address"][4:]))
    last = json.loads([*lines][-1])["devices"]
    assert len(last) == 8
    assert [one["lost"] for one in last] == [number == 3 for number in range(8)]
    for key in ("memory_used_bytes", "utilization_gpu_percent", "process_count"):
        assert last[3][key] is None and last[3]["why"][key] == "failed", key
        assert all(one[key] is not None for one in [*last[:3], *last[4:]])
    (server.directory / "seen.json").write_text(lines.last, encoding="utf-8")
    refused = server.machine.run("pick", "--only", "3")
    assert refused.returncode != 0 and refused.stdout == "", "what does not answer is not given"
    assert [one["state"] for one in json.loads(server.machine.run("status", "--json").stdout)["devices"]][3] == "lost"


def test_a_chip_that_the_driver_calls_not_ready_is_lost_and_no_other(ascend):
    server = ascend()
    chips = server.looks("dcmi_get_device_health@2.0=-8012;dcmi_get_device_health@4.0=-8006")
    assert [chip["lost"] for chip in chips] == [number == 2 for number in range(8)]
    assert "fell off the bus" in chips[2]["unusable_because"] and chips[2]["memory_used_bytes"] is None
    assert chips[4]["memory_used_bytes"] is not None, "a call that fails for a moment"


def test_a_library_that_never_starts_leaves_other_makers_alone(ascend):
    server = ascend()
    server.tree.add(AMD_CARD, address="0000:05:00.0")
    chips = server.looks("dcmi_init@*=-8005")
    assert len(chips) == 8, "the bus has them"
    assert {(chip["memory_used_bytes"], bool(chip["unusable_because"])) for chip in chips} == {(None, True)}
    assert any(one["code"] == "init_failed" and "-8005" in one["message"] for one in server.seen["problems"])
    [amd] = [one for one in server.seen["devices"] if one["kind"] == "amd-gpu"]
    assert amd["memory_used_bytes"]


def test_without_the_library_its_absence_is_the_reason(ascend):
    server = ascend(library=None)
    chips = server.looks()
    assert {chip["pci_address"] for chip in chips} == {one["pci_address"] for one in server.snapshot["devices"]}
    for chip in chips:
        assert chip["memory_used_bytes"] is None and chip["unusable_because"]
    [problem] = [one for one in server.seen["problems"] if one["source"] == "dcmi"]
    assert problem["code"] == "library_not_found" and "libdcmi.so" in problem["message"]
    assert "libdcmi.so" in server.table()
