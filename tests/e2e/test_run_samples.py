"""What a run's samples say, from the driver's answers to the file, and what the program makes of them. The end of the
run, the list of runs and the run itself tell these numbers."""

import copy
import json
import pathlib
import re
import statistics

import pytest
from aftermath import show
from conftest import FakeDriver, many_devices, wait_until

GIB = 1 << 30
MIB = 1 << 20

# What jobs here have in common. `play(file)` makes the file the driver's machine, with this process for 424242 and
# `child` for 424243. `wait_for(text, count)` waits for so many more samples in which the text stands.
JOB = """
import json, os, pathlib, subprocess, sys, time

folder = pathlib.Path(sys.argv[1])
samples = pathlib.Path(os.environ["BERTH_MARKS"]).parent / "samples"
child = subprocess.Popen(["sleep", "120"])

def play(file):
    text = (folder / file).read_text().replace("424242", str(os.getpid())).replace("424243", str(child.pid))
    new = folder / "new.json"
    new.write_text(text)
    new.rename(folder / "played.json")

def wait_for(text, count):
    def seen():
        return sum(text in line for line in samples.read_text().splitlines() if line.endswith("}"))
    before = seen() if samples.exists() else 0
    while not samples.exists() or seen() < before + count:
        time.sleep(0.05)
"""


def busy_card(device, **readings):
    """That device with these readings; None: the driver does not have it."""
    why = device.get("why", {}) | {name: "unsupported" for name, value in readings.items() if value is None}
    return device | readings | {"why": why}


def used_by(device, pid, memory):
    return {"device": device["id"], "pid": pid, "type": "C", "memory_used_bytes": memory}


def samples_of(record):
    """Each sample, its devices with the names of their columns."""
    columns, samples = None, []
    for line in pathlib.Path(record["directory"], "samples").read_text(encoding="utf-8").splitlines():
        row = json.loads(line or "{}")
        columns = row.get("device_columns", columns)
        if "t" in row:
            samples.append(row | {"d": [dict(zip(columns, device)) for device in row["d"]]})
    return samples


def last_alive(record):
    """The last sample before the job began to end."""
    return [sample for sample in samples_of(record) if sample["tree"][0] == 2][-1]


def test_the_list_of_runs_has_the_figures_of_one_that_goes_on_however_long(machine):
    run = machine.run("run", "-d", "-q", "--", "sleep", "600").stdout.strip()
    try:
        record = show(machine, run)
        wait_until(lambda: len(samples_of(record)) > 2, "three samples are taken")
        shown = machine.run("runs").stdout
        [row] = [line for line in shown.splitlines() if line.startswith(run)]
        assert re.search(r"running .*\d+%\s+[\d.]+[MG]\s+sleep 600", row), shown
        # The first line and the end of a file that is too long to be read whole.
        path = pathlib.Path(record["directory"], "samples")
        first, *lines = path.read_text().splitlines(keepends=True)
        idle = re.sub(r'"d": *\[\[.*?\]\]', '"d":[]', lines[0])
        path.write_text(first + idle * (1 + (512 << 10) // len(idle)) + "".join(lines) * 400)
        shown = machine.run("runs").stdout
        assert re.search(rf"^{run} .*running .*\d+%\s+[\d.]+[MG]\s+sleep 600", shown, re.M), shown
    finally:
        machine.run("stop", "-q", run)


class Played:
    """A machine behind the fake driver, and the machines that a job on it has the driver become."""

    def __init__(self, directory, devices, **variables):
        self.host = many_devices(devices)
        self.driver = FakeDriver(directory, self.host)
        self.driver.env |= {"BERTH_FAKE_NVML_LIVE": "1"} | variables

    def later(self, name, change):
        """Writes down what `change` makes of the machine, as `name`."""
        host = copy.deepcopy(self.host)
        change(host)
        (self.driver.directory / name).write_text(json.dumps(host), encoding="utf-8")

    def run(self, options, job):
        """(the run as it ended, its record)"""
        script = self.driver.directory / "job.py"
        script.write_text(JOB + job + "\nchild.kill()\n", encoding="utf-8")
        words = ["run", *options, "--", "/usr/bin/python3", script, self.driver.directory]
        done = self.driver.run(*words, timeout=120)
        assert done.returncode == 0, done.stderr
        return done, show(self.driver)


# --- each reading reaches the file -------------------------------------------------------------------------

FIRST = {
    "utilization_gpu_percent": 73.0,
    "utilization_memory_percent": 41.0,
    "memory_used_bytes": 7 * GIB,
    "power_draw_milliwatts": 512_345,
    "temperature_celsius": 67,
    "clock_sm_megahertz": 1755,
    "clock_memory_megahertz": 2601,
    "pcie_sent_bytes": 123_456_789_012,
    "pcie_received_bytes": 987_654_321_098,
    "energy_millijoules": 3_000_000_123_456,
}
SECOND = {
    "utilization_gpu_percent": 12.0,
    "utilization_memory_percent": 5.0,
    "memory_used_bytes": 4 * GIB,
    "power_draw_milliwatts": 123_456,
    "temperature_celsius": 49,
    "clock_sm_megahertz": 990,
    "clock_memory_megahertz": 1593,
    "pcie_sent_bytes": None,
    "pcie_received_bytes": 55_555,
    "energy_millijoules": 4_000_000_654_321,
}

# Computes and takes 96 MiB. Writes and reads 16 MiB of a file, past the kernel's memory of it. Then tells what the
# kernel has counted of that.
WORKS = """
wait_for('"t"', 1)
ballast = bytearray(os.urandom(1 << 20)) * 96
file = folder / "data"
with open(file, "wb") as out:
    out.write(ballast[: 16 << 20])
    os.fsync(out.fileno())
with open(file, "rb") as back:
    os.posix_fadvise(back.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    back.read()
while time.process_time() < 0.6:
    pass
play("busy.json")
io = dict(line.split(": ") for line in pathlib.Path("/proc/self/io").read_text().splitlines())
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
told = {"job": os.getpid(), "child": child.pid, "cpu_ms": 1000 * time.process_time(),
        "resident": pages * os.sysconf("SC_PAGE_SIZE"),
        "read": int(io["read_bytes"]), "written": int(io["write_bytes"])}
print(json.dumps(told))
wait_for('"t"', 3)
"""


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """(what the job told of itself, its record)"""
    played = Played(tmp_path_factory.mktemp("worked"), 2)

    def busy(host):
        one, other = host["devices"]
        host["devices"] = [busy_card(one, **FIRST), busy_card(other, **SECOND)]
        host["gpu_processes"] = [used_by(one, 424242, 5 * GIB), used_by(other, 424243, 3 * GIB)]

    played.later("busy.json", busy)
    done, record = played.run(["-q", "-n", "2"], WORKS)
    return json.loads(done.stdout), record


def test_samples_have_what_the_driver_said_of_each_device_and_process(worked):
    told, record = worked
    assert [device["index"] for device in record["given"]["devices"]] == [0, 1]
    before, after = samples_of(record)[0], last_alive(record)
    assert before["d"][0]["clock_sm_megahertz"] != FIRST["clock_sm_megahertz"], "it was busy from the start"
    for row, given in zip(after["d"], [FIRST, SECOND]):
        assert row == {name: "unsupported" if value is None else value for name, value in given.items()}
    assert sorted(after["p"]) == [[0, told["job"], 5 * GIB], [1, told["child"], 3 * GIB]]
    first, second = record["summary"]["devices"]
    assert (first["temperature_peak_celsius"], second["temperature_peak_celsius"]) == (67, 49)
    assert (first["memory_peak_bytes"], second["memory_peak_bytes"]) == (5 * GIB, 3 * GIB)
    assert {first["memory_source"], second["memory_source"]} != {"whole device"}


def test_samples_have_what_the_kernel_said_of_the_tree(worked):
    told, record = worked
    processes, cpu_ms, resident, read, written, *_ = last_alive(record)["tree"]
    assert processes == 2, "job and child"
    # The kernel counts in ticks of 10 ms, and the job looks at its samples until it ends.
    assert told["cpu_ms"] - 40 <= cpu_ms <= record["end"]["cpu_milliseconds"] + 40, told
    assert told["resident"] > 96 * MIB
    assert told["resident"] - MIB <= resident <= told["resident"] + 16 * MIB, told
    assert told["written"] <= written <= told["written"] + MIB, told
    assert told["read"] <= read <= told["read"] + 8 * MIB, told
    summary = record["summary"]
    assert cpu_ms <= summary["tree_cpu_milliseconds"] <= record["end"]["cpu_milliseconds"] + 40
    assert summary["tree_memory_peak_bytes"] >= resident


# --- what is told of them ----------------------------------------------------------------------------------

MILLIWATTS = 350_000
BUSY = 60  # percent, and a wave of ten around it
PHASES = {"2.json": 2 * GIB, "6.json": 6 * GIB, "4.json": 4 * GIB}
TAKES_TWO_SIX_AND_FOUR = "\n".join(
    f'play("{name}")\nwait_for(",{memory}]", 2)' for name, memory in PHASES.items()
)
JOULES = {"J": 1, "kJ": 1000}


@pytest.fixture
def moved(tmp_path):
    """(the driver, the run as it ended, its record) of a job. It took 2, 6 and 4 GiB of 10 promised."""
    played = Played(tmp_path, 1, BERTH_FAKE_NVML_MOVE="1")
    readings = {"utilization_gpu_percent": float(BUSY), "power_draw_milliwatts": MILLIWATTS}
    played.host["devices"] = [busy_card(played.host["devices"][0], **readings)]
    played.later("played.json", lambda host: None)
    for name, memory in PHASES.items():

        def with_memory(host, memory=memory):
            host["gpu_processes"] = [used_by(host["devices"][0], 424242, memory)]

        played.later(name, with_memory)
    done, record = played.run(["--memory", "10G"], TAKES_TWO_SIX_AND_FOUR)
    return played.driver, done, record


def expected_of(record):
    """(percent busy, least and most joules) by the samples and the machine that was played."""
    samples = samples_of(record)
    percents = [sample["d"][0]["utilization_gpu_percent"] for sample in samples]
    assert len(set(percents)) > 1, "nothing has moved"
    assert all(BUSY - 10 <= percent <= BUSY + 10 for percent in percents), percents
    watts = MILLIWATTS / 1000
    sampled_ms = samples[-1]["t"] - samples[0]["t"]
    assert sampled_ms >= 3000
    # A second more on either side: the counter goes on between the last sample and the end, and in hops.
    most = watts * (record["end"]["lasted_milliseconds"] + 1000) / 1000
    return statistics.mean(percents), watts * (sampled_ms - 1000) / 1000, most


def test_the_end_and_the_records_tell_how_busy_how_much_memory_and_energy(moved):
    driver, done, record = moved
    busy, least, most = expected_of(record)
    ended = done.stderr.splitlines()[-1]
    told = re.search(
        r"ended with 0 after \d+s on GPU 0 .*; memory peak ([\d.]+) GiB of ([\d.]+) GiB promised; "
        r"GPU busy (\d+)%; ([\d.]+) (k?J)$",
        ended,
    )
    assert told, ended
    assert (told[1], told[2]) == ("6.0", "10.0"), ended
    assert abs(int(told[3]) - busy) <= 4, (ended, busy)
    assert least <= float(told[4]) * JOULES[told[5]] <= most, (ended, least, most)

    [listed] = [line for line in driver.run("runs").stdout.splitlines() if record["id"] in line]
    assert re.search(rf" ended with 0 +0 +{told[3]}% +6\.0G +", listed), listed

    shown = driver.run("show").stdout
    assert "10.0 GiB promised" in shown, shown
    assert re.search(rf"^  Utilisation .* mean of the run {told[3]}%$", shown, re.MULTILINE), shown
    assert re.search(r"^  Memory .* peak 6\.0 GiB$", shown, re.MULTILINE), shown
    assert re.search(rf"^  Energy +{re.escape(told[4])} {told[5]}, hottest \d+°C$", shown, re.MULTILINE), shown
