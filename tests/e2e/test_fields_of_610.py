"""Fields of --query-gpu that no capture at hand lists, as only driver 610 has them."""

import re

import pytest
from conftest import ROOT, scenario

LISTED = (ROOT / "tests/data/query-gpu-610.txt").read_text(encoding="utf-8").splitlines()
FIELDS = [line for line in LISTED if line and not line.startswith("#")]
SMOOTHING_FIELDS_OF_610 = 31  # their names are not at hand, only how many there are


def fields_in_help(machine):
    text = machine.run("smi", "--help-query-gpu").stdout
    return [name for line in re.findall(r'^"[\w."\s]+"$', text, re.M) for name in re.findall(r'"([\w.]+)"', line)]


def machine_of(driver_of, version):
    snapshot = scenario("server-8xh100")
    snapshot["host"]["driver_version"] = version
    return driver_of(snapshot), len(snapshot["devices"])


def test_there_are_fields_to_ask_for():
    assert len(FIELDS) == len(set(FIELDS)) == 6


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_610_is_in_the_help(machine, field):
    assert fields_in_help(machine).count(field) == 1


@pytest.mark.parametrize("version", ["590.48.01", "610.43.02"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_610_is_a_cell_of_every_card(driver_of, field, version):
    driver, cards = machine_of(driver_of, version)
    done = driver.run("smi", f"--query-gpu={field}", "--format=csv,noheader")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["[N/A]"] * cards


def test_what_the_driver_tells_stands_in_the_cells(driver_of):
    snapshot = scenario("server-8xh100")
    names = ["current", "requested", "default", "min", "max"]
    told = {f"base_power_{name}_milliwatts": 100_000 + 10 * place for place, name in enumerate(names)}
    snapshot["devices"][0] |= told | {"black_box_time_run_seconds": 86_400}
    done = driver_of(snapshot).run("smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,nounits", "-i", "0")
    header, cells = (line.split(", ") for line in done.stdout.splitlines())
    assert header == [f"gpu.base.{name} [W]" for name in names] + ["bbx.time_run [seconds]"]
    assert cells == ["100.00", "100.01", "100.02", "100.03", "100.04", "86400"]


def test_every_field_of_power_smoothing_is_a_cell(driver_of):
    driver, cards = machine_of(driver_of, "610.43.02")
    smoothing = [field for field in fields_in_help(driver) if field.startswith("power_smoothing.")]
    assert len(smoothing) >= SMOOTHING_FIELDS_OF_610
    done = driver.run("smi", f"--query-gpu={','.join(smoothing)}", "--format=csv,noheader")
    assert (done.returncode, done.stderr) == (0, "")
    assert [len(row.split(", ")) for row in done.stdout.splitlines()] == [len(smoothing)] * cards
