"""What the record of a run says: of the machine, the code and the interpreter, on a GPU and without one."""

import json
import os
import pathlib
import re
import statistics
import subprocess

import pytest
from aftermath import poll, show
from conftest import many_devices, scenario
from test_run_life import holding

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nonexistent",
       "PATH": os.environ["PATH"]}  # fmt: skip
ON_A_GPU = ["--only", "3"]


def git(folder, *words):
    names = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=trunk"]
    done = subprocess.run(["git", *names, *words], cwd=folder, env=GIT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def dirty_folder(tmp_path):
    """A work tree with one commit and a change since."""
    folder = tmp_path / "code"
    folder.mkdir()
    script = folder / "train.py"
    script.write_text("print('trained')\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "train.py")
    git(folder, "commit", "-q", "-m", "first")
    script.write_text("print('trained', 'more')\n", encoding="utf-8")
    return folder


def whole_record(machine):
    """The last run's, once all is gathered: a short job has ended before that."""
    poll(lambda: "" if show(machine)["complete"] else "incomplete", 10, "the record is not complete")
    return show(machine)


def on_the_cpu(machine, how, *command):
    """A run that goes without a device, asked to or because the only one is taken."""
    holder = holding(machine, 2) if how == "--or-cpu" else None
    words = ["--or-cpu", *ON_A_GPU] if how == "--or-cpu" else ["--cpu"]
    done = machine.run("run", "-q", *words, "--", *command)
    assert done.returncode == 0, done.stderr
    if holder:
        assert holder.wait(timeout=10) == 0
    record = whole_record(machine)
    assert record["cpu_only"] is True
    return record


@pytest.mark.parametrize("how", ["--cpu", "--or-cpu"])
def test_a_run_on_the_cpu_of_a_simulated_server_is_marked_everywhere(machine, how):
    record = on_the_cpu(machine, how, "true")
    assert record["given"]["simulated"] == "server-8xh100"
    assert record["given"]["devices"] == []
    host = scenario("server-8xh100")["host"]
    for key in ("name", "kernel", "driver_version"):
        assert record["given"]["host"][key] == host[key], key
    for words in (["runs"], ["runs", "--json"], ["show"], ["manifest", "diff", record["id"], "now"]):
        done = machine.run(*words, env={"BERTH_SIM": None})
        marked = [line for line in done.stdout.splitlines() if "simulated" in line.lower()]
        assert marked, f"{words}: {done.stdout}{done.stderr}"


def test_a_run_on_the_cpu_is_marked_from_its_start(machine):
    process = machine.start("run", "--cpu", "--", "sh", "-c", "cat \"${BERTH_MARKS%/*}/manifest.json\"")
    text, _ = process.communicate(timeout=20)
    assert json.loads(text)["given"]["simulated"] == "server-8xh100"


def instance_type():
    """As the firmware has it; None where this user may not read it or there is none."""
    try:
        names = [pathlib.Path("/sys/class/dmi/id", name).read_text() for name in ("sys_vendor", "product_name")]
    except OSError:
        return None
    return " ".join(name.strip() for name in names)


@pytest.mark.parametrize("where", ["gpu", "cpu"])
def test_the_record_says_what_machine_and_code_it_was(driver_of, dirty_folder, where):
    played = many_devices(1)
    machine = driver_of(played)
    options = ["--cpu"] if where == "cpu" else []
    done = machine.run("run", "-q", *options, "--", "/usr/bin/python3", "train.py", cwd=dirty_folder)
    assert done.stdout == "trained more\n", done.stderr
    record = whole_record(machine)
    uname = os.uname()
    host = record["given"]["host"]
    assert (host["name"], host["kernel"]) == (uname.nodename, uname.release)
    assert host["driver_version"] == played["host"]["driver_version"]
    assert record["given"]["simulated"] is None
    assert record["git"] == {
        "root": str(dirty_folder),
        "commit": git(dirty_folder, "rev-parse", "HEAD"),
        "branch": "trunk",
        "dirty": True,
    }
    version = subprocess.run(["/usr/bin/python3", "-c", "import platform; print(platform.python_version())"],
                             capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    assert record["python"]["version"] in (version, ".".join(version.split(".")[:2]))
    assert record["machine"]["instance_type"] == instance_type()
    assert ("instance_type" in record["machine"].get("why", {})) is (instance_type() is None)
    assert record["machine"]["cpu_count"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert record["cpu_only"] is (where == "cpu")
    assert len(record["given"]["devices"]) == (0 if where == "cpu" else 1)


def test_energy_of_a_simulated_run_is_its_power_over_time_and_never_goes_back(machine):
    done = machine.run("run", "--only", "5", "--", "sleep", "4")
    assert done.returncode == 0, done.stderr
    record = show(machine)
    header, samples = None, []
    for line in (pathlib.Path(record["directory"]) / "samples").read_text(encoding="utf-8").splitlines():
        row = json.loads(line or "{}")
        header = row.get("device_columns", header)
        if "t" in row:
            samples.append(dict(zip(header, row["d"][0])))
    counter = [sample["energy_millijoules"] for sample in samples]
    assert len(counter) >= 4 and counter == sorted(counter), counter
    power = statistics.median_high(sample["power_draw_milliwatts"] for sample in samples)
    expected = power * record["end"]["lasted_milliseconds"] / 1000
    summary = record["end"]["summary"]
    assert summary["energy_source"] == "counter"
    assert abs(summary["energy_millijoules"] - expected) < 0.2 * expected, (summary, expected)
    [told] = re.findall(r"; ([\d.]+) kJ", done.stderr)
    assert abs(float(told) * 1e6 - expected) < 0.2 * expected, done.stderr
