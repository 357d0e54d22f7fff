"""`berth spec`: cards that are here, and cards that are not."""

import json

import pytest
from conftest import many_devices, without_escapes


def spec(machine, *words, **kwargs):
    done = machine.run("spec", "--json", *words, **kwargs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_card_that_is_not_here_is_told_all_the_same(machine_of):
    machine = machine_of(None)
    (card,) = spec(machine, "rtx 3090")["cards"]
    assert card["here"] is None
    table = card["table"]
    assert table["name"] == "GeForce RTX 3090"
    assert table["cuda_cores"] == 10496
    assert table["memory_bandwidth_bytes_per_second"] == 936_000_000_000
    assert "fp8" in table["lacks"] and "bf16" not in table["lacks"]
    assert table["source"]
    text = machine.run("spec", "3090").stdout
    assert "24 GB GDDR6X" in text and "has no FP8" in text


def test_an_amd_card_is_told_in_its_own_words(machine_of):
    machine = machine_of(None)
    tables = [card["table"] for card in spec(machine, "mi300")["cards"]]
    assert [table["name"] for table in tables] == ["AMD Instinct MI300A", "AMD Instinct MI300X"]
    table = tables[1]
    assert (table["vendor"], table["architecture"], table["compute_units"]) == ("amd", "CDNA 3", 304)
    assert table["memory_usable_bytes"] == 192 << 30
    for name in ("compute_capability", "cuda_cores", "multiprocessors", "tensor_core_generation"):
        assert table[name] is None, name
    assert table["peak_operations_per_second"]["fp64_tensor"] is None
    assert table["peak_operations_per_second"]["fp64_matrix"] == 163_400_000_000_000
    assert not {"mig", "nvlink", "cuda_13", "tensor_cores"} & set(table["lacks"])
    rows, _, words = machine.run("spec", "mi300x").stdout.partition("has no FP4")
    assert "compute units" in rows and "750 W" in rows
    assert "CUDA cores" not in rows and "NVLink" not in rows and "tensor" not in rows
    assert "CUDA programs do not run on it" in " ".join(words.split())


def test_nvlink_of_unknown_speed_is_not_called_none(machine_of):
    machine = machine_of(None)
    (card,) = spec(machine, "Quadro GV100")["cards"]
    assert card["table"]["nvlink_bytes_per_second"] is None
    assert "nvlink" not in card["table"]["lacks"]
    assert "of unknown speed" in machine.run("spec", "Quadro GV100").stdout


def test_workstation_cards_come_with_ecc_switched_off(machine_of):
    workstation, server = (card["table"] for card in spec(machine_of(None), "RTX A6000", "A40")["cards"])
    assert "ecc" not in workstation["lacks"] and "ecc" not in server["lacks"]
    assert workstation["memory_usable_bytes"] == 48 << 30
    assert server["memory_usable_bytes"] == 45 << 30


def test_several_names_stand_side_by_side(machine):
    done = machine.run("spec", "3090", "4090", env={"COLUMNS": "100"})
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert "RTX 3090" in first and "RTX 4090" in first


def test_the_cards_here_show_the_drivers_figures(machine_of):
    found = spec(machine_of("lab-4"))
    assert found["simulated"] == "lab-4"
    here = {card["here"]["name"]: card for card in found["cards"]}
    assert set(here) == {
        "NVIDIA GeForce GTX 1080 Ti",
        "NVIDIA GeForce RTX 2080 Ti",
        "NVIDIA GeForce RTX 3090",
        "NVIDIA A100-PCIE-40GB",
    }
    for card in here.values():
        assert card["here"]["cuda_cores"] == card["table"]["cuda_cores"]
    assert "SIMULATED lab-4" in machine_of("lab-4").run("spec").stdout


def test_where_driver_and_table_differ_both_are_shown(driver_of):
    played = many_devices(1)
    played["devices"][0]["memory_total_bytes"] = 96 << 30
    done = driver_of(played).run("spec")
    assert done.returncode == 0, done.stderr
    assert "96.0 GiB (table: 80.0 GiB)" in done.stdout


def test_the_whole_table_is_listed(machine):
    done = machine.run("spec", "--list")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) > 100
    assert len(spec(machine, "--list")["cards"]) == len(done.stdout.splitlines())


@pytest.mark.parametrize("name", ["rtx 3091", "h10", "Ünsinn", "a" * 500])
def test_an_unknown_name_gets_suggestions_and_exit_code_1(machine, name):
    done = machine.run("spec", name)
    assert done.returncode == 1
    assert "berth spec --list" in done.stderr
    assert not done.stdout


def test_without_a_card_it_says_how_to_ask_for_others(machine_of):
    done = machine_of(None).run("spec", env={"BERTH_NVML": "/nonexistent/libnvidia-ml.so.1"})
    assert done.returncode == 1
    assert "berth spec NAME" in done.stderr


@pytest.mark.parametrize("columns", [40, 60, 100, 200])
def test_no_line_is_wider_than_the_terminal(machine, columns):
    code, text = machine.on_terminal(columns, "spec", "h100", "3090", env={"LANG": "C.UTF-8"})
    assert code == 0
    assert max(len(line) for line in without_escapes(text).splitlines()) <= columns
