"""`berth status` tells what it is asked for: each field in CSV, everything in JSON, rates while it watches. It says
what is wrong with a value that it cannot use."""

import json
import os
import re
import subprocess

import pytest
from conftest import many_devices, scenario

DETAILS = {
    "throttled_power_cap_microseconds": 39595,
    "bar1_total_bytes": 137438953472,
}


@pytest.fixture
def driver(driver_of):
    played = many_devices(2)
    played["devices"][1] |= DETAILS
    return driver_of(played)


def test_a_field_of_csv_is_read_however_deep_it_lies(driver):
    done = driver.run("--csv", ",".join(["index", *DETAILS]), "-i", "1")
    head, row = done.stdout.splitlines()
    assert head.split(",") == ["index", *DETAILS]
    assert row.split(",") == ["1", *map(str, DETAILS.values())]
    alias = driver.run("--csv", "clocks_event_reasons_counters.sw_power_cap", "-i", "1").stdout.splitlines()
    assert alias[1] == "39595"


def test_json_has_each_stored_field_or_why_not(driver):
    device = json.loads(driver.run("--json").stdout)["devices"][1]
    assert device["throttled_power_cap_microseconds"] == 39595
    fields = [line.split()[0] for line in driver.run("--fields").stdout.splitlines()[1:]]
    # Left out is what one look cannot tell, what the history beside it does, and what only dumps have.
    left_out = set(fields) - device.keys()
    assert len(fields) > 300 and all(re.search("^samples_|^window_|^activity_|_rate_|^vgpu_", name) for name in left_out), left_out
    assert [name for name in device.keys() & set(fields) if device[name] is None and name not in device["why"]] == []
    assert set(device["why"].values()) <= {"unsupported", "no permission", "failed", "not sampled"}


def test_a_snapshot_of_one_machine_gives_another_its_details(driver, tmp_path):
    """JSON is what other views are made of elsewhere."""
    saved = tmp_path / "there.json"
    saved.write_text(driver.run("--json").stdout, encoding="utf-8")
    asked = ["smi", "--query-gpu=clocks_event_reasons_counters.sw_power_cap", "--format=csv,noheader", "-i", "1"]
    assert driver.run(*asked, "--replay", saved, env={"BERTH_NVML": "/nonexistent"}).stdout == "39595 us\n"


def test_watching_tells_rates_that_one_look_cannot(driver_of):
    driver = driver_of(many_devices(1))
    words = driver.command("-w", "0.3", "--csv", "index,pcie_received_rate_bytes_per_second")
    env = driver.env | {"BERTH_FAKE_NVML_MOVE": "1"}
    watching = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    try:
        rows = [watching.stdout.readline() for _ in range(16)]
    finally:
        watching.terminate()
        watching.wait()
    assert any(re.fullmatch(r"0,\d+\n", row) for row in rows), rows


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-w", "x"], '-w: "x" is not a duration'),
        (["-w", "２s"], 'try "2s"'),
        (["-w", "“2s”"], 'try "2s"'),
        (["-w=x"], '-w: "x" is not a duration'),
        (["-w", "-1"], '-w: "-1" is not a duration'),
        (["runs", "-n", "５"], 'try "5"'),
        (["-u", ""], "its value is empty"),
        (["-i", ""], "its value is empty"),
        (["--csv", ""], "its value is empty"),
        (["ps", "-u", ""], "its value is empty"),
        (["setup", "--root", ""], "its value is empty"),
        (["top", "-u", ""], "its value is empty"),
    ],
    ids=" ".join,
)
def test_a_value_that_is_none_is_explained(machine, words, says):
    done = machine.run(*words)
    assert done.returncode == 2 and says in done.stderr, done
    assert done.stdout == ""


@pytest.mark.parametrize("words", [[], ["--sim", "lab-4"], ["--replay", "/dev/null"]], ids=" ".join)
def test_setup_does_not_set_up_this_machine_in_place_of_a_simulated_one(machine, words):
    # Runs as an ordinary user, whom setup refuses anyhow. So if the test is red, nothing is set up.
    somebody = 65534 if os.geteuid() == 0 else None
    done = machine.run("setup", *words, user=somebody)
    assert done.returncode == 2 and "setup changes this machine" in done.stderr, done


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sets up a ledger")
def test_setup_tells_what_it_did_from_what_is_still_to_be_done(machine, tmp_path):
    done = machine.run("setup", "--root", tmp_path / "image", env={"BERTH_SIM": None})
    assert done.returncode == 0, done
    did, _, to_do = done.stdout.partition("Still to be run, unless you already have:\n")
    assert all(line.startswith(("+ ", "= ")) for line in did.splitlines()), done.stdout
    assert to_do == "    systemctl daemon-reload\n    systemctl enable run-berth.mount\n"


def test_the_last_time_of_an_error_is_told(machine_of, tmp_path):
    snapshot = scenario("desktop")
    address = snapshot["devices"][0]["pci_address"]
    first, last = 1_795_000_000_000, 1_795_100_000_000
    event = {"pci_address": address, "code": 31, "text": "MMU Fault", "pid": 8, "process": "python"}
    snapshot["xids"] = [event | {"at_unix_ms": last}, event | {"at_unix_ms": first, "pid": 9}]
    saved = tmp_path / "ill.json"
    saved.write_text(json.dumps(snapshot), encoding="utf-8")
    plain = machine_of(None)
    told = json.loads(plain.run("health", "--json", "--replay", saved).stdout)
    [found] = [one for one in told["devices"][0]["findings"] if one["code"] == "xid_31"]
    assert (found["times"], found["last_unix_ms"], found["last_pid"], found["last_process"]) == (2, last, 8, "python")
    text = plain.run("health", "--replay", saved, env={"TZ": "UTC"}).stdout
    assert re.search(r"last at .*11-19 \d\d:\d\d", text), text


def test_what_is_too_hot_for_any_card_is_no_reading(driver_of):
    lies = ";".join(f"nvmlDeviceGetTemperature{version}@0=lie:300" for version in ("", "V"))
    device = driver_of(many_devices(1), faults=lies).status_json()["devices"][0]
    assert device["temperature_celsius"] is None and device["why"]["temperature_celsius"] == "failed"


def test_a_hung_card_comes_with_what_to_do(driver_of):
    done = driver_of(many_devices(2), faults="nvmlDeviceGetPowerUsage@1=hang").run("health", "--json")
    [finding] = json.loads(done.stdout)["devices"][1]["findings"]
    assert finding["code"] == "unusable" and "dmesg" in finding["advice"], finding


def test_the_cores_of_a_card_in_a_dump_come_from_the_table_of_cards(machine_of, tmp_path):
    dump = tmp_path / "dump.xml"
    dump.write_text(
        '<?xml version="1.0" ?>\n<nvidia_smi_log><driver_version>590.48.01</driver_version><attached_gpus>1</attached_gpus>'
        '<gpu id="00000000:01:00.0"><product_name>NVIDIA H100 80GB HBM3</product_name><uuid>GPU-1</uuid></gpu>'
        "</nvidia_smi_log>", encoding="utf-8")  # fmt: skip
    asked = ["smi", "--query-gpu=cuda_cores", "--format=csv,noheader", "--replay", dump]
    assert machine_of(None).run(*asked).stdout == "16896\n"


def test_no_json_holds_what_a_terminal_would_obey(driver_of):
    """U+009B is an escape of one character, U+202E turns the line round; DEL is a control, too."""
    evil = "py\x9b31mEV\u202eIL\x7f"
    played = many_devices(1)
    played["devices"][0]["name"] = evil
    driver = driver_of(played)
    driver.run("run", "-q", "--", "bash", "-c", "true", evil)
    for words in (["--json"], ["ps", "--json"], ["pick", "--json"], ["doctor", "--json", "--no-import"],
                  ["spec", "--json"], ["health", "--json"], ["leases", "--json"], ["runs", "--json"],
                  ["show", "last", "--json"], ["manifest"]):  # fmt: skip
        printed = driver.run(*words).stdout
        assert not set(printed) & {"\x9b", "\u202e", "\x7f"}, words
    assert json.loads(driver.run("--json").stdout)["devices"][0]["name"] == evil
