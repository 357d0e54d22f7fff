"""What real cards said, replayed (tests/data/hardware): each view shows it, and the card table agrees with it."""

import csv
import io
import json

import pytest
from conftest import ROOT, FakeDriver, Machine

SNAPSHOTS = sorted((ROOT / "tests/data/hardware").glob("*.json"))
MIB = 1 << 20


@pytest.fixture(params=SNAPSHOTS, ids=lambda path: path.stem)
def snapshot(request):
    return request.param


def told(snapshot):
    host = json.loads(snapshot.read_text(encoding="utf-8"))
    return host["host"], host["devices"]


def test_there_is_one():
    assert SNAPSHOTS, "python3 tests/gpu/test_hardware.py's page says how one is made"


def test_status_has_each_reading_of_the_card(tmp_path, snapshot):
    host, devices = told(snapshot)
    seen = json.loads(Machine(tmp_path, sim=str(snapshot)).run("status", "--json").stdout)
    assert seen["host"]["driver_version"] == host["driver_version"]
    assert len(seen["devices"]) == len(devices)
    for one, real in zip(seen["devices"], devices, strict=True):
        # A simulated card draws one power, whatever it is averaged over.
        moved = ("taken_unix_ms", "power_draw_average_milliwatts", "power_draw_instant_milliwatts", "why")
        others = {name: (one.get(name), value) for name, value in real.items()
                  if name not in moved and one.get(name) != value}  # fmt: skip
        assert not others, f"(shown, as the card said it): {others}"
        assert real["why"].items() <= one["why"].items(), "a reading that is younger than the recording has a reason, too"


def test_the_whole_path_through_the_driver_gives_the_same_readings(tmp_path, snapshot):
    host, devices = told(snapshot)
    whole = json.loads(snapshot.read_text(encoding="utf-8"))
    seen = FakeDriver(tmp_path, whole).status_json()
    assert seen["host"]["driver_version"] == host["driver_version"]
    keys = """name uuid pci_address pci_id serial vbios_version compute_capability architecture memory_total_bytes
              memory_free_bytes memory_reserved_bytes temperature_celsius power_draw_milliwatts power_limit_milliwatts
              clock_sm_max_megahertz clock_memory_max_megahertz pcie_generation_max pcie_width_max""".split()
    for one, real in zip(seen["devices"], devices, strict=True):
        assert {key: one[key] for key in keys} == {key: real[key] for key in keys}


def test_smi_prints_what_nvidia_smi_would(tmp_path, snapshot):
    host, devices = told(snapshot)
    machine = Machine(tmp_path, sim=str(snapshot))
    page = " ".join(machine.run("smi", "-q").stdout.split())
    assert f"Driver Version : {host['driver_version']}" in page
    fields = ["name", "memory.total", "memory.reserved", "power.limit", "clocks.max.sm", "compute_cap", "vbios_version"]
    printed = machine.run("smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits").stdout
    for row, real in zip(csv.reader(io.StringIO(printed), skipinitialspace=True), devices, strict=True):
        assert row == [real["name"], str(real["memory_total_bytes"] // MIB), str(-(-real["memory_reserved_bytes"] // MIB)),
                       f"{real['power_limit_milliwatts'] / 1000:.2f}", str(real["clock_sm_max_megahertz"]),
                       real["compute_capability"], real["vbios_version"]]  # fmt: skip
        for text in (f"Product Name : {real['name']}", f"GPU UUID : {real['uuid']}", f"Total : {row[1]} MiB"):
            assert text in page, text


def test_the_card_table_knows_the_card_as_it_is(tmp_path, snapshot):
    machine = Machine(tmp_path, sim=str(snapshot))
    for real in told(snapshot)[1]:
        cards = json.loads(machine.run("spec", real["name"], "--json").stdout)["cards"]
        [card] = [one for one in cards if len(cards) == 1 or real["name"].endswith(f" {one['table']['name']}")]
        table = card["table"]
        same = ["architecture", "compute_capability", "multiprocessors", "cuda_cores", "power_limit_milliwatts"]
        assert {key: table[key] for key in same} == {key: real[key] for key in same}
        # An H200 says 6016 where its data sheet has 6144.
        assert table["memory_bus_width_bits"] == pytest.approx(real["memory_bus_width_bits"], rel=0.03)
        assert table["memory_usable_bytes"] == pytest.approx(real["memory_total_bytes"], rel=0.01)
        assert table["memory_bandwidth_bytes_per_second"] == pytest.approx(
            real["memory_bandwidth_bytes_per_second"], rel=0.01)  # fmt: skip
        assert table["clock_boost_megahertz"] == real["clock_sm_max_megahertz"]


def test_fit_answers_by_the_memory_that_the_card_said(tmp_path, snapshot):
    machine = Machine(tmp_path, sim=str(snapshot))
    for real, fits in zip(told(snapshot)[1] * 2, ("fits", "too_small"), strict=False):
        size = "8B" if fits == "fits" else "400B"
        [here] = json.loads(machine.run("fit", size, "--json").stdout)["here"]
        assert (here["memory_total_bytes"], here["if_empty"]) == (real["memory_total_bytes"], fits)
