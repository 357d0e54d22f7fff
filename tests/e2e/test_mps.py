"""A client of MPS, which computes through another process: in each view its type is M+C."""

import json
import re
import shutil
import subprocess

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


@pytest.fixture
def served(driver_of, tmp_path):
    """A card on which a process of that name holds so much."""
    started = []

    def make(memory, name="nvidia-cuda-mps-server", kind="C"):
        program = tmp_path / name
        shutil.copy(shutil.which("sleep"), program)
        started.append(subprocess.Popen([program, "600"]))
        snapshot = many_devices(1)
        snapshot["devices"][0]["memory_used_bytes"] += memory
        snapshot["gpu_processes"] = [
            {"device": snapshot["devices"][0]["id"], "pid": started[-1].pid, "type": kind, "memory_used_bytes": memory}
        ]  # fmt: skip
        return driver_of(snapshot)

    yield make
    for process in started:
        process.kill()
        process.wait()


def test_the_server_itself_is_nobodys_job(served):
    driver = served(66 << 20)
    assert printed(driver, "pick") == "0\n"
    shown = printed(driver, "status")
    assert "1 of 1 free" in shown and "the driver's own" in shown, shown
    [process] = driver.status_json()["gpu_processes"]
    assert process["server"] is True


@pytest.mark.parametrize("other", [{"memory": 1 << 30}, {"memory": 66 << 20, "name": "nvidia-cuda-server"},
                                   {"memory": 66 << 20, "kind": "M+C"}])  # fmt: skip
def test_what_holds_more_or_is_called_otherwise_or_is_a_client_is_a_job(served, other):
    driver = served(**other)
    assert driver.run("pick").returncode != 0
    assert "server" not in driver.status_json()["gpu_processes"][0]
