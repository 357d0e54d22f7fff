"""A client of MPS, which computes through another process: in each view its type is M+C."""

import json
import re

import pytest
from conftest import many_devices

PID = 5_004_321  # No kernel has a process of such a number.
MEMORY = 2 << 30


@pytest.fixture
def driver(driver_of):
    snapshot = many_devices(1)
    snapshot["gpu_processes"] = [
        {"device": snapshot["devices"][0]["id"], "pid": PID, "type": "M+C", "memory_used_bytes": MEMORY,
         "utilization_sm_percent": 41.0}
    ]  # fmt: skip
    return driver_of(snapshot)


def printed(driver, *words):
    done = driver.run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_table_has_it(driver):
    rows = [line for line in printed(driver, "smi").splitlines() if f" {PID} " in line]
    assert len(rows) == 1
    assert re.fullmatch(rf"\|    0   N/A  N/A +{PID}    M\+C   \S.* 2048MiB \|", rows[0])


def test_the_log_has_it(driver):
    lines = [line.strip() for line in printed(driver, "smi", "-q").splitlines()]
    [at] = [place for place, line in enumerate(lines) if re.fullmatch(rf"Process ID +: {PID}", line)]
    assert re.fullmatch(r"Type +: M\+C", lines[at + 1])
    assert re.fullmatch(r"Used GPU Memory +: 2048 MiB", lines[at + 3])


def test_the_xml_has_it(driver):
    assert printed(driver, "smi", "-q", "-x").count("<type>M+C</type>") == 1


def test_pmon_has_it(driver):
    *_, row = printed(driver, "smi", "pmon", "-c", "1").splitlines()
    assert row.split()[:4] == ["0", str(PID), "M+C", "41"]


def test_it_is_among_those_that_compute(driver):
    rows = printed(driver, "smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader")
    assert rows == f"{PID}, 2048 MiB\n"


def test_the_list_of_processes_has_it(driver):
    head, row = printed(driver, "ps").splitlines()[:2]
    assert head.split()[:3] == ["GPU", "PID", "Type"]
    assert row.split()[:3] == ["0", str(PID), "M+C"]


def test_the_json_has_it(driver):
    [process] = json.loads(printed(driver, "ps", "--json"))["processes"]
    assert (process["pid"], process["type"], process["memory_used_bytes"]) == (PID, "M+C", MEMORY)


def test_one_that_is_told_as_a_client_and_as_computing_is_one_client(driver_of):
    snapshot = many_devices(1)
    device = snapshot["devices"][0]["id"]
    snapshot["gpu_processes"] = [{"device": device, "pid": PID, "type": kind} for kind in ("C", "M+C")]
    driver = driver_of(snapshot)
    rows = [line.split() for line in printed(driver, "smi").splitlines() if f" {PID} " in line]
    assert [row[5] for row in rows] == ["M+C"]
