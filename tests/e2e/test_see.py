"""Seeing the machine: the picture on terminals and in pipes, its filters, its formats. Also the real path through the
driver's library."""

import csv
import io
import json
import os
import re
import signal
import unicodedata

import pytest
from conftest import BUILD, Terminal, end, many_devices, scenario, wait_until, without_escapes

SCENARIOS = [
    "server-8xh100",
    "month-8xh100",
    "lab-4",
    "desktop",
    "h100-mig",
    "no-history",
    "faults",
    "driver-mismatch",
    "mi300x-8",
    "mi300x-cpx",
    "arc-mixed",
    "ascend-910b-8",
]
DRIVERS = [
    "real-390.157",
    "real-418.226.00",
    "real-450.248.02",
    "real-470.256.02",
    "real-525.147.05",
    "simulated-535.54.03",
    "real-535.261.03",
    "real-550.163.01",
    "real-555.58.02",
    "header-13",
]


def columns_of(text):
    """Terminal columns that a line takes."""
    wide = ("W", "F")
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in wide else 1
        for c in text
    )


def without_numbers_that_move(text):
    """The picture without its clock and its readings, which differ from look to look."""
    return re.sub(r"[\d.]+|[█▉▊▋▌▍▎▏·#.]+", "#", text)


def test_the_built_in_scenarios_are_those_tested_here(machine):
    listed = [line.split()[0] for line in machine.run("scenarios").stdout.splitlines() if line]
    assert listed == SCENARIOS


@pytest.mark.parametrize("width", [40, 80, 132])
@pytest.mark.parametrize("name", SCENARIOS)
def test_status_fits_the_terminal(machine_of, name, width):
    code, printed = machine_of(name).on_terminal(width, "status")
    assert code == 0, printed
    lines = without_escapes(printed).splitlines()
    too_wide = [line for line in lines if columns_of(line) > width]
    assert not too_wide, f"wider than {width}: {too_wide}"
    assert "SIMULATED" in lines[0]
    assert len(lines) > 2


def test_a_wide_terminal_shows_more_than_a_narrow_one(machine):
    narrow = without_escapes(machine.on_terminal(40)[1])
    wide = without_escapes(machine.on_terminal(132)[1])
    assert "alice" in narrow and "H100" in narrow
    assert len(wide) > len(narrow)


def test_status_on_a_terminal_has_colour_and_in_a_pipe_no_escape_code(machine):
    assert "\x1b[" in machine.on_terminal(80)[1]
    piped = machine.run()
    assert piped.returncode == 0
    assert "\x1b" not in piped.stdout + piped.stderr


def test_colours_in_a_pipe_where_they_are_forced(machine):
    assert "\x1b[" in machine.run(env={"CLICOLOR_FORCE": "1"}).stdout
    for env in ({"CLICOLOR_FORCE": "0"}, {"CLICOLOR": "1"}, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}):
        assert "\x1b" not in machine.run(env=env).stdout, env


@pytest.mark.parametrize(
    "env", [{"NO_COLOR": "1"}, {"CLICOLOR": "0"}, {"TERM": "dumb"}, {"TERM": None}], ids=str
)
def test_no_colour_where_it_is_not_wanted(machine, env):
    code, printed = machine.on_terminal(80, env=env)
    assert code == 0
    assert "\x1b" not in printed


def test_an_unknown_terminal_still_gets_its_picture(machine):
    code, printed = machine.on_terminal(80, env={"TERM": "no-such-terminal"})
    assert code == 0
    assert "H100" in printed


@pytest.mark.parametrize(
    ("words", "stream"),
    [
        (["status"], "stdout"),
        (["status", "--json"], "stdout"),
        (["status", "--csv", "index"], "stderr"),
        (["pick"], "stderr"),
        (["pick", "--json"], "stdout"),
        (["leases"], "stdout"),
        (["leases", "--json"], "stdout"),
        (["run", "--", "true"], "stderr"),
        (["run", "--dry-run", "--", "true"], "stdout"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_what_is_simulated_says_so(machine, words, stream):
    done = machine.run(*words)
    assert done.returncode == 0, done.stderr
    text = getattr(done, stream)
    assert "simulated" in text.lower() and "server-8xh100" in text, f"{done.stdout}{done.stderr}"


def test_records_of_simulated_runs_say_so(machine):
    assert machine.run("run", "-q", "--", "true").returncode == 0
    for words in (["runs"], ["runs", "--json"], ["show"], ["show", "--json"]):
        done = machine.run(*words, env={"BERTH_SIM": None})
        assert "simulated" in done.stdout.lower(), f"{words}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("pattern", ["3", "GPU-54", "00000000:52:00.0", "52:00.0"])
def test_one_device_is_shown_by_index_uuid_prefix_or_pci_address(machine, pattern):
    wanted = next(d for d in scenario("server-8xh100")["devices"] if d["index"] == 3)
    if ":" in pattern:
        pattern = pattern.replace("52:00.0", wanted["pci_address"].partition(":")[2])
        pattern = pattern.replace("00000000:00000000", "00000000")
    done = machine.run("status", "-i", pattern, "--json")
    assert done.returncode == 0, done.stderr
    assert [d["uuid"] for d in json.loads(done.stdout)["devices"]] == [wanted["uuid"]]


def test_a_device_that_is_not_there_is_named_with_those_that_are(machine):
    done = machine.run("status", "-i", "99")
    assert done.returncode == 1
    assert '"99"' in done.stderr and "0 1 2 3 4 5 6 7" in done.stderr


def test_one_users_devices_alone_are_shown(machine):
    done = machine.run("-u", "bob")
    assert done.returncode == 0
    assert "bob" in done.stdout and "alice" not in done.stdout


def test_watching_refreshes_in_place_and_ends_on_ctrl_c_with_a_sane_terminal(machine):
    terminal = Terminal(80)
    before = terminal.settings()
    process = machine.start_on(terminal, "-w", "100ms")
    try:
        wait_until(lambda: terminal.read().count(b"SIMULATED") >= 3, "three pictures")
        terminal.type(b"\x03")
        wait_until(lambda: (terminal.read(), process.poll() is not None)[1], "it has ended")
        text = terminal.output.decode()
        assert process.returncode in (0, -signal.SIGINT, 130), process.returncode
        assert "\x1b[" in text, "it must refresh in place"
        assert text.count("\x1b[?25l") <= text.count("\x1b[?25h"), "the cursor stays hidden"
        assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l"), "still on the other screen"
        assert terminal.settings() == before, "terminal settings changed"
    finally:
        end(process)
        terminal.close()


def test_json_replays_to_the_same_picture(machine, tmp_path):
    saved = tmp_path / "machine.json"
    saved.write_text(machine.run("--json").stdout, encoding="utf-8")
    original = json.loads(saved.read_text(encoding="utf-8"))
    again = json.loads(machine.run("--json", "--replay", saved, env={"BERTH_SIM": None}).stdout)
    assert again == original
    first = machine.run("--replay", saved, env={"BERTH_SIM": None})
    second = machine.run("--replay", saved, env={"BERTH_SIM": None})
    assert first.returncode == 0 and "SIMULATED" in first.stdout
    assert first.stdout == second.stdout
    live = without_numbers_that_move(machine.run().stdout)
    assert without_numbers_that_move(first.stdout).splitlines()[2:] == live.splitlines()[2:]


def test_replay_that_was_typed_counts_for_more_than_a_simulation_in_the_environment(
    machine_of, tmp_path
):
    saved = tmp_path / "machine.json"
    saved.write_text(json.dumps(scenario("desktop")), encoding="utf-8")
    shown = machine_of("server-8xh100").run("--replay", saved).stdout
    assert "RTX 3070" in shown and "H100" not in shown


def test_a_recording_shows_its_first_snapshot_and_plays(machine_of, tmp_path):
    first, second = scenario("no-history"), scenario("no-history")
    second["taken_unix_ms"] = first["taken_unix_ms"] + 200
    first["devices"][0]["temperature_celsius"] = 41
    second["devices"][0]["temperature_celsius"] = 77
    tape = tmp_path / "tape.jsonl"
    tape.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n", encoding="utf-8")
    done = machine_of(None).run("--replay", tape)
    assert done.returncode == 0, done.stderr
    assert "41°C" in done.stdout and "77°C" not in done.stdout


def test_csv_takes_the_vendors_names(machine):
    done = machine.run("--csv", "index,name,memory.used,temperature.gpu,utilization.gpu,uuid")
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert len(rows) == 9 and {len(row) for row in rows} == {6}
    assert rows[1][:2] == ["0", "NVIDIA H100 80GB HBM3"]
    assert "\r" not in done.stdout


def test_a_field_that_does_not_exist_is_named(machine):
    done = machine.run("--csv", "index,colour")
    assert done.returncode == 2
    assert '"colour"' in done.stderr and "--fields" in done.stderr


def test_every_listed_field_can_be_asked_for(machine):
    listed = [line.split()[0] for line in machine.run("--fields").stdout.splitlines()[1:] if line]
    listed = [name for name in listed if re.fullmatch(r"[a-z][a-z0-9_]+", name)]
    assert len(listed) > 40
    done = machine.run("--csv", ",".join(listed))
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == listed


@pytest.mark.parametrize("width", [60, 80, 132])
def test_chinese_keeps_the_columns(machine, width):
    code, printed = machine.on_terminal(width, env={"LANG": "zh_CN.UTF-8", "NO_COLOR": "1"})
    assert code == 0
    lines = without_escapes(printed).splitlines()
    assert all(columns_of(line) <= width for line in lines), lines
    devices = [line for line in lines if re.match(r" +\d H100", line)]
    assert len(devices) == 8
    starts = {columns_of(line[: line.index("W") + 1]) for line in devices if "W" in line}
    assert len(starts) <= 1, f"columns are not aligned: {devices}"


def test_ascii_where_the_locale_is_not_utf8(machine):
    done = machine.run("status", env={"LANG": "C"})
    assert done.returncode == 0
    assert done.stdout.isascii(), [c for c in done.stdout if not c.isascii()]


CARDS = [
    # name, compute capability, multiprocessors, CUDA cores
    ("NVIDIA GeForce GTX 1080 Ti", "6.1", 28, 3584),
    ("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, 4352),
    ("NVIDIA GeForce RTX 3090", "8.6", 82, 10496),
    ("NVIDIA A100-SXM4-80GB", "8.0", 108, 6912),
    ("NVIDIA H100 80GB HBM3", "9.0", 132, 16896),
    ("NVIDIA H100 PCIe", "9.0", 114, 14592),
]


def machine_of_cards():
    """One of each card of the table, by PCI ids that the cards really have."""
    ids = ["10de:1b06", "10de:1e07", "10de:2204", "10de:20b2", "10de:2330", "10de:2331"]
    snapshot = many_devices(len(CARDS))
    for device, pci_id, (name, capability, _, cores) in zip(snapshot["devices"], ids, CARDS):
        device |= {"name": name, "compute_capability": capability, "pci_id": pci_id}
        device["cuda_cores"] = cores
    return snapshot


@pytest.mark.parametrize("symbols", ["all", "real-390.157"])
def test_facts_of_known_cards(driver_of, symbols):
    seen = driver_of(machine_of_cards(), symbols=symbols).status_json()["devices"]
    found = [(d["name"], d["compute_capability"], d["cuda_cores"]) for d in seen]
    assert found == [(name, capability, cores) for name, capability, _, cores in CARDS]


@pytest.mark.parametrize("symbols", DRIVERS)
def test_the_same_devices_are_seen_through_the_library_of_each_driver(driver_of, symbols):
    played = scenario("lab-4")
    seen = driver_of(played, symbols=symbols).status_json()
    facts = ("uuid", "name", "pci_address", "memory_total_bytes", "temperature_celsius")
    assert [[d[f] for f in facts] for d in seen["devices"]] == [
        [d[f] for f in facts] for d in played["devices"]
    ]
    assert "simulated" not in seen or seen["simulated"] is None
    assert [p["pid"] for p in seen["gpu_processes"]] == [5120]


def test_each_symbol_list_was_built():
    built = {path.name for path in (BUILD / "fakes/nvml").iterdir() if path.is_dir()}
    assert set(DRIVERS) | {"all"} == built


def test_a_process_seen_by_the_driver_is_described_from_proc(driver_of):
    played = many_devices(1)
    played["gpu_processes"] = [
        {
            "device": played["devices"][0]["id"],
            "pid": os.getpid(),
            "type": "C",
            "memory_used_bytes": 1 << 30,
        }
    ]
    seen = driver_of(played).status_json()
    [process] = [p for p in seen["processes"] if p["pid"] == os.getpid()]
    assert process["uid"] == os.getuid()
    assert any("pytest" in word for word in process["command"]), process


def test_mig_instances_are_seen_through_the_library(driver_of):
    seen = driver_of(scenario("h100-mig")).status_json()["devices"]
    assert [d["uuid"] for d in seen if d["kind"] == "nvidia-mig"] == [
        d["uuid"] for d in scenario("h100-mig")["devices"] if d["kind"] == "nvidia-mig"
    ]


def test_a_run_behind_the_fake_library_gets_the_card_and_is_listed(driver_of):
    driver = driver_of(many_devices(2))
    done = driver.run("run", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 PCI_BUS_ID\n"
    assert "SIMULATED" not in done.stderr


def test_a_user_without_anything_is_told_so_and_not_that_there_is_no_gpu(machine):
    done = machine.run("-u", "nobody-here")
    assert "nobody-here has nothing on any device" in done.stdout, done.stdout
    assert "No GPU found" not in done.stdout, done.stdout


def test_csv_can_be_watched(machine):
    process = machine.start("--csv", "index,state", "-w", "0.2")
    lines = [process.stdout.readline() for _ in range(12)]
    process.terminate()
    process.wait(timeout=30)
    assert lines[0] == "index,state\n" and lines.count("index,state\n") >= 2, lines
