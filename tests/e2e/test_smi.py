"""berth as nvidia-smi and as gpustat: its links, files, loops and exit codes."""

import json
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from conftest import BERTH, FakeDriver, Terminal, end, many_devices, scenario, wait_until

SURFACES = [
    ["smi"],
    ["smi", "-L"],
    ["smi", "-q"],
    ["smi", "-q", "-x"],
    ["smi", "--query-gpu=name", "--format=csv"],
    ["smi", "--version"],
    ["smi", "topo", "-m"],
    ["smi", "dmon", "-c", "1"],
    ["smi", "pmon", "-c", "1"],
    ["gpustat"],
    ["gpustat", "--json"],
]


def linked(machine, name):
    link = machine.directory / name
    link.symlink_to(pathlib.Path(BERTH).resolve())
    return link


def called(machine, name, *words, **kwargs):
    return subprocess.run(
        [linked(machine, name), *words], env=machine.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=30, check=False, **kwargs,
    )


@pytest.mark.parametrize("words", SURFACES, ids=" ".join)
def test_what_is_simulated_says_so_on_stderr_alone(machine, words):
    done = machine.run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "berth: SIMULATED: server-8xh100\n"
    assert done.stdout and "SIMULATED" not in done.stdout


def test_a_link_named_nvidia_smi_is_nvidia_smi(machine):
    assert called(machine, "nvidia-smi", "-L").stdout == machine.run("smi", "-L").stdout


def test_a_link_named_gpustat_is_gpustat(machine):
    lines = called(machine, "gpustat", "--no-header").stdout.splitlines()
    assert len(lines) == 8 and lines[0].startswith("[0] NVIDIA H100 80GB HBM3 | ")


@pytest.mark.parametrize("words", [("-L",), ("--query-gpu=index,name", "--format=csv,noheader", "-i", "1"), ()], ids=str)
@pytest.mark.parametrize("fault", ["nvmlDeviceGetHandleByIndex_v2@1=hang", "nvmlDeviceGetUUID@1=hang"])
def test_a_card_that_dies_before_its_name_is_known_is_in_the_exit_code(tmp_path, words, fault):
    done = FakeDriver(tmp_path, many_devices(2), faults=fault).run("smi", *words)
    assert done.returncode == 255, done.stdout
    assert "asking GPU 1" in done.stderr


def test_the_library_is_started_once_for_all_rounds_of_a_loop(tmp_path):
    driver = FakeDriver(tmp_path, many_devices(1))
    calls = tmp_path / "calls"
    driver.env["BERTH_FAKE_NVML_CALLS"] = str(calls)
    words = ("smi", "--query-gpu=index", "--format=csv,noheader", "-lms", "100")
    loop = driver.start(*words)
    assert loop.stdout.readline() == "0\n"
    # On a loaded machine the first look may have been late, and its probe begun anew.
    started = calls.read_text(encoding="utf-8").count("nvmlInit")
    assert [loop.stdout.readline() for _ in range(10)] == ["0\n"] * 10
    end(loop)
    assert calls.read_text(encoding="utf-8").count("nvmlInit") == started >= 1


@pytest.mark.parametrize("loop", [["-l", "1"], ["-lms", "200"]], ids=" ".join)
@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["--query-gpu=nosuch", "--format=csv"], "is not a valid field to query", 2),
        (["-i", "99"], "No devices were found", 6),
        (["dmon", "-i", "99"], "No devices were found", 6),
        (["pmon", "-i", "99"], "No devices were found", 6),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_a_loop_ends_with_what_its_first_round_could_not_answer(machine, words, said, code, loop):
    period = ["-d", "1"] if words[0] in ("dmon", "pmon") else loop
    done = machine.run("smi", *words, *period, timeout=60)
    assert (done.returncode, done.stdout.count(said)) == (code, 1), done.stdout


@pytest.mark.parametrize(("fault", "code"), [("nvmlInit_v2=18;nvmlInitWithFlags=18", 18), ("nvmlInit_v2=9;nvmlInitWithFlags=9", 9)])
def test_a_loop_without_a_driver_ends_as_one_answer_does(tmp_path, fault, code):
    driver = FakeDriver(tmp_path, many_devices(1), faults=fault)
    once, looped = (driver.run("smi", *loop, timeout=60) for loop in ([], ["-l", "1"]))
    assert once.returncode == looped.returncode == code
    assert once.stdout == looped.stdout != ""


def test_the_second_round_of_a_loop_tells_what_was_since_the_first(tmp_path):
    snapshot = many_devices(1)
    snapshot["devices"][0]["utilization_history_ms_percent"] = [[100 * k, 90] for k in range(1, 100)]
    driver = FakeDriver(tmp_path, snapshot)
    query = "--query-gpu=window_utilization_gpu_count"
    loop = driver.start("smi", query, "--format=csv,noheader", "-lms", "300")
    first, second = (loop.stdout.readline().strip() for _ in range(2))
    end(loop)
    assert int(first) > 50, "all that the driver has"
    assert second == "[N/A]" or int(second) < 20, "those of a third of a second"


@pytest.mark.parametrize("loop", [[], ["-lms", "200"]], ids=["once", "again and again"])
def test_leases_are_those_that_status_tells(tmp_path, loop):
    driver = FakeDriver(tmp_path, many_devices(2))
    done = tmp_path / "done"
    job = driver.start("run", "--only", "1", "--", "sh", "-c", f"until test -e {done}; do sleep 0.05; done")
    fields = "index,state,users,leases"
    wait_until(lambda: "leased" in driver.run("status", "--csv", fields).stdout, "the lease")
    smi = driver.start("smi", f"--query-gpu={fields}", "--format=csv,noheader", *loop)
    rows = [smi.stdout.readline().strip() for _ in range(2)]
    end(smi)
    done.touch()
    assert job.wait(timeout=60) == 0
    assert rows[0] == "0, free, , 0"
    assert re.fullmatch(r"1, leased, \S+, 1", rows[1]), rows


def test_berths_own_options_stand_anywhere(machine_of):
    machine = machine_of(None)
    done = machine.run("smi", "--sim", "desktop", "-L")
    assert done.stdout.startswith("GPU 0: NVIDIA GeForce RTX 3070")
    for words in (
        ["--sim", "desktop", "smi", "-L"],
        ["smi", "-L", "--sim", "desktop"],
        ["smi", "-L", "--sim=desktop", "-i", "0"],
    ):
        assert machine.run(*words).stdout == done.stdout, words
    assert "H100" in machine.run("smi", "-L", "--sim").stdout
    for nothing in (["--replay"], ["--replay", ""], ["--replay="]):
        assert machine.run("smi", "-L", *nothing).returncode == 2, nothing
    listed = machine.run("gpustat", "--no-header", "--sim", "desktop").stdout
    assert listed.startswith("[0] NVIDIA GeForce RTX 3070")


def test_what_a_file_does_not_take_is_said(machine):
    done = machine.run("smi", "-L", "-f", "/dev/full")
    assert done.returncode == 1
    assert "/dev/full could not be written: No space left on device" in done.stderr
    chinese = machine.run("smi", "-L", "-f", "/dev/full", "--lang", "zh_CN").stderr
    assert "/dev/full" in chinese and "could not be written" not in chinese


def test_devices_that_the_driver_leaves_alone_are_listed(machine, driver_of):
    assert machine.run("smi", "-B").stdout == "No excluded devices found.\n"
    played = scenario("server-8xh100")
    assert driver_of(played).run("smi", "-B").stdout == "No excluded devices found.\n"
    uuid = "GPU-b300b300-0000-0000-0000-000000000003"
    played["host"]["excluded_devices"] = [{"pci_address": "00000000:4b:00.0", "uuid": uuid}]
    done = driver_of(played).run("smi", "-B")
    assert done.stdout == f"Excluded GPU 0: 00000000:4B:00.0 (UUID: {uuid})\n"
    assert done.returncode == 0
    broken = driver_of(played, faults="nvmlGetExcludedDeviceCount=999").run("smi", "-B")
    assert broken.returncode == 3 and "not known: failed" in broken.stdout


def test_a_saved_machine_answers_too(machine, tmp_path):
    saved = tmp_path / "machine.json"
    saved.write_text(machine.run("--json").stdout, encoding="utf-8")
    done = machine.run("smi", "--replay", saved, "--query-gpu=count", "--format=csv,noheader")
    assert done.stdout == "8\n" * 8


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-Q"], 2, "ERROR: Option -Q is not recognized. Please run 'nvidia-smi -h' for help."),
        (["-L", "-q"], 2, "Invalid combination of input arguments"),
        (["-q", "-d", "BOGUS"], 2, '"BOGUS" is not a valid option for --display switch.'),
        (["--query-gpu=colour", "--format=csv"], 2, "colour"),
        (["-i", "99"], 6, "No devices were found"),
        (["-pm", "1"], 4, "sudo /usr/bin/nvidia-smi -pm 1"),
        (["mig", "-lgi"], 4, "/usr/bin/nvidia-smi mig -lgi"),
        (["c2c", "-s"], 3, "/usr/bin/nvidia-smi c2c -s"),
    ],
    ids=str,
)
def test_mistakes_are_said_on_stdout_with_the_vendors_code(machine, words, code, said):
    done = machine.run("smi", *words)
    assert done.returncode == code
    assert said in done.stdout


def test_without_the_library_it_fails_as_the_vendors_tool_does(machine_of):
    machine = machine_of(None)
    machine.env["BERTH_NVML"] = "/nonexistent/libnvidia-ml.so.1"
    done = machine.run("smi")
    assert done.returncode == 12
    assert done.stdout.startswith("NVIDIA-SMI couldn't find libnvidia-ml.so library")
    done = machine.run("gpustat")
    assert done.returncode == 1 and done.stderr.startswith("Error on querying NVIDIA devices.")


def test_a_driver_that_is_not_loaded_is_code_nine(driver_of):
    done = driver_of(many_devices(1), faults="nvmlInit_v2@*=9;nvmlInit@*=9").run("smi", "-L")
    assert done.returncode == 9, done.stdout
    assert "couldn't communicate with the NVIDIA driver" in done.stdout


def test_a_lost_card_is_told_and_the_others_are_shown(driver_of):
    driver = driver_of(many_devices(3), faults="*@1=15")
    done = driver.run("smi")
    assert done.returncode == 15, done.stdout
    assert done.stdout.count("NVIDIA H100 80GB HBM3") >= 2
    assert "ERR!" in done.stdout
    assert driver.run("smi", "-i", "2").returncode == 0
    line = driver.run("gpustat", "--no-header").stdout.splitlines()[1]
    assert line.startswith("[1] ((GPU is lost))"), line


def test_what_is_of_the_driver_does_not_depend_on_its_cards(driver_of):
    driver = driver_of(many_devices(2), faults="*@1=15")
    for words in (["--version"], ["-B"]):
        done = driver.run("smi", *words)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_a_corrupted_inforom_is_said_below_the_table(driver_of):
    driver = driver_of(many_devices(2), faults="nvmlDeviceValidateInforom@1=14")
    done = driver.run("smi")
    assert done.stdout.endswith("-+\nWARNING: infoROM is corrupted at gpu 0000:02:00.0\n")
    assert (done.returncode, done.stderr) == (14, "")
    assert driver.run("smi", "-i", "0").returncode == 0
    assert driver.run("smi", "-q", "-x").returncode == 0  # as microsoft/pai#3756 has it


def test_violations_are_numbers_of_the_time_between_two_rounds(driver_of):
    snapshot = many_devices(1)
    lost = {"throttled_power_cap_microseconds": 5, "throttled_hardware_thermal_microseconds": 5}
    snapshot["devices"][0] |= lost
    done = driver_of(snapshot).run("smi", "dmon", "-s", "v", "-c", "2")
    assert done.stdout.splitlines()[2:] == ["    0      0      0 "] * 2, done.stdout


def test_compute_apps_are_in_the_drivers_order(driver_of):
    snapshot = many_devices(1)
    snapshot["gpu_processes"] = [
        {"device": snapshot["devices"][0]["id"], "pid": pid, "type": "C"} for pid in (5268, 5267)
    ]
    driver = driver_of(snapshot)
    done = driver.run("smi", "--query-compute-apps=pid", "--format=csv,noheader")
    assert done.stdout == "5268\n5267\n"
    table = driver.run("smi").stdout
    assert table.index(" 5267 ") < table.index(" 5268 ")


def test_all_is_the_whole_log(machine):
    assert "    Product Name" in machine.run("smi", "-a").stdout
    assert machine.run("smi", "-a", "-q", "-d", "MEMORY").stdout.count("FB Memory Usage") == 8


@pytest.mark.parametrize("words", [(), ("-L",), ("-q",), ("--query-gpu=index,name", "--format=csv")], ids=" ".join)
@pytest.mark.parametrize(
    ("faults", "code", "said"),
    [
        ("nvmlDeviceGetName@1=hang", 255, ["GPU 1", "given up", "kernel log"]),
        ("*@1=16", 255, ["GPU requires reset (16)", "nvidia-smi --gpu-reset"]),
        ("*@1=999", 255, ["Unknown Error (999)", "journalctl -k"]),
        ("nvmlDeviceGetHandleByIndex_v2@1=17", 4, ["blocked by the operating system (17)", "start it with access"]),
        ("nvmlDeviceGetHandleByIndex_v2@1=4", 4, ["Insufficient Permissions (4)"]),
        ("nvmlDeviceGetHandleByIndex_v2@1=8", 8, ["Insufficient External Power (8)", "power cables"]),
        ("nvmlDeviceGetHandleByIndex_v2@1=11", 10, ["Interrupt Request Issue (11)", "journalctl -k"]),
    ],
)
def test_a_card_that_cannot_be_asked_has_a_code_and_a_word_on_stderr(driver_of, faults, code, said, words):
    driver = driver_of(many_devices(3), faults=faults)
    done = driver.run("smi", *words)
    assert done.returncode == code, done.stdout + done.stderr
    for part in said:
        assert part in done.stderr
    assert "Traceback" not in done.stderr and "GPU 1" not in done.stdout.replace("GPU 1:", "")
    others = driver.run("smi", "-i", "0,2", *words)
    assert (others.returncode, others.stderr) == (0, "")
    assert others.stdout.strip(), "the others are shown"


def test_one_reading_that_fails_is_its_cells_affair(driver_of):
    driver = driver_of(many_devices(2), faults="nvmlDeviceGetPowerUsage@1=999")
    done = driver.run("smi", "--query-gpu=power.draw,index", "--format=csv,noheader")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == "[Unknown Error], 1"


@pytest.mark.parametrize(
    "faults", ["nvmlDeviceGetPowerUsage@0=16", "*@0=16", "nvmlDeviceGetHandleByIndex_v2@0=16"], ids=str
)
def test_a_card_that_must_be_reset_says_so_in_the_same_words(driver_of, faults):
    driver = driver_of(many_devices(1), faults=faults)
    done = driver.run("smi", "--query-gpu=power.draw", "--format=csv,noheader")
    assert done.stdout == "[GPU requires reset]\n"
    assert done.returncode == 255 and "GPU requires reset (16)" in done.stderr
    assert "it must be reset first" in driver.run("status").stdout


@pytest.mark.parametrize(
    ("faults", "code", "said"),
    [
        ("nvmlInit_v2=18;nvmlInit=18", 18, "Failed to initialize NVML: Driver/library version mismatch"),
        ("nvmlInit_v2=999;nvmlInit=999", 255, "Failed to initialize NVML: "),
        ("nvmlDeviceGetCount_v2=999", 255, "Unknown Error (999)"),
    ],
)
def test_a_library_that_fails_has_the_code_of_its_failure(driver_of, faults, code, said):
    for words in ((), ("-L",), ("--query-gpu=name", "--format=csv")):
        done = driver_of(many_devices(1), faults=faults).run("smi", *words)
        assert done.returncode == code, done.stdout
        assert said in done.stdout


def test_the_layout_is_that_of_the_loaded_driver(driver_of):
    snapshot = many_devices(1)
    for version, mark in (("535.104.05", 89), ("595.71.05", 91)):
        snapshot["host"]["driver_version"] = version
        driver = driver_of(snapshot)
        assert len(driver.run("smi").stdout.splitlines()[1]) == mark
        (driver.directory / "played.json").unlink()


def test_answers_go_into_a_file(machine, tmp_path):
    log = tmp_path / "gpu.txt"
    done = machine.run("smi", "-L", "-f", log)
    assert done.returncode == 0 and done.stdout == ""
    assert log.read_text(encoding="utf-8").count("GPU ") == 8
    done = machine.run("smi", "-L", "-f", tmp_path / "no" / "folder")
    assert done.returncode == 2 and "Failed to open file" in done.stdout


def test_a_loop_prints_its_header_once_and_ends_with_ctrl_c(machine):
    process = machine.start(
        "smi", "--query-gpu=index,temperature.gpu", "--format=csv", "-i", "0", "-lms", "50"
    )
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
    finally:
        end(process)
    assert lines[0] == "index, temperature.gpu\n"
    assert all(re.fullmatch(r"0, \d+\n", line) for line in lines[1:])


def test_dmon_ends_after_the_count_asked_for(machine):
    done = machine.run("smi", "dmon", "-c", "2", "-i", "0,1", "-s", "pc")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2 + 4


def test_gpustat_refreshes_in_place_on_a_terminal(machine):
    terminal = Terminal(120)
    process = machine.start_on(terminal, "gpustat", "-i", "0.1")
    try:
        wait_until(lambda: b"[7]" in terminal.read(), "a picture")
        first = len(terminal.read())
        wait_until(lambda: len(terminal.read()) > first, "the picture moves")  # only what changed
        terminal.type(b"\x03")
        wait_until(lambda: (terminal.read(), process.poll() is not None)[1], "it has ended")
        assert process.returncode == 0
    finally:
        end(process)
        terminal.close()


def test_instances_stand_between_cards_and_processes(driver_of):
    text = driver_of(scenario("h100-mig")).run("smi").stdout
    assert text.index("| GPU  Name") < text.index("| MIG devices:") < text.index("| Processes:")


@pytest.mark.parametrize("words", [["-i", "0"], ["--interval=0"], ["--json", "-i", "0"]])
def test_gpustat_with_an_interval_of_none_prints_once(machine, words):
    done = machine.run("gpustat", *words, timeout=60)  # theirs loops only from more than 0 on
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("NVIDIA H100") == 8


@pytest.mark.parametrize("shell", ["bash", "tcsh"])
def test_gpustats_completion_is_taken_by_the_shell(machine, tmp_path, shell):
    done = machine.run("gpustat", "--print-completion", shell)
    assert done.returncode == 0, done.stderr
    script = tmp_path / "completion"
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    asks = {"bash": "complete -p gpustat", "tcsh": "complete gpustat"}[shell]
    script.write_text(f"{done.stdout}{asks}\n", encoding="utf-8")
    taken = subprocess.run([shell, str(script)], capture_output=True, text=True, check=False)
    assert taken.returncode == 0 and not taken.stderr, taken.stderr
    assert "--show-full-cmd" in taken.stdout


def test_gpustats_json_is_json(machine):
    answer = json.loads(machine.run("gpustat", "--json").stdout)
    assert len(answer["gpus"]) == 8
    assert answer["gpus"][0]["memory.total"] == 81559


def test_gpustat_counts_the_cpu_of_a_process_over_a_moment(driver_of):
    sleeps = subprocess.Popen(["sleep", "600"])
    try:
        snapshot = many_devices(1)
        snapshot["gpu_processes"] = [{"device": snapshot["devices"][0]["id"], "pid": sleeps.pid, "type": "C"}]
        driver = driver_of(snapshot)
        [one] = json.loads(driver.run("gpustat", "--json").stdout)["gpus"][0]["processes"]
        assert one["cpu_percent"] == 0.0 and one["cpu_memory_usage"] > 1000
        assert "(   0%, " in driver.run("gpustat", "-f").stdout
    finally:
        end(sleeps)


def test_the_heading_of_topo_is_underlined_and_nothing_else_passes(machine):
    text = machine.run("smi", "topo", "-m").stdout
    assert text.startswith("\t\x1b[4mGPU0\t") and "NUMA ID\x1b[0m\n" in text
    assert text.count("\x1b") == 2 and "\\x1b" not in text.lower()
