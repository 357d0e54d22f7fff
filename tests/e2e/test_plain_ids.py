"""A shell evaluates what `berth pick` prints. So an id that is no plain word is refused at its source. That is a
recording, a simulated server's file, a dump of nvidia-smi, or the driver."""

import json
import subprocess

import pytest
from conftest import many_devices

FORMATS = ["indices", "uuids", "env", "docker", "cdi"]
WORDS = ["$(touch X)", "`touch X`", "GPU-1;touch X", "GPU-1\ntouch X", "'", '"', "GPU 1", "GPU-1,GPU-2", "-v/:/host", "GPU-é",
         "GPU-1&touch X", "GPU-1|touch X", "GPU-1>X", "*", "~", "!x", "#"]  # fmt: skip
KEYS = ["id", "uuid", "pci_address"]


def evaluated(machine, *words):
    """What a script does with it, and whether anything in it was run."""
    folder = machine.directory / "evaluated"
    folder.mkdir(exist_ok=True)
    command = " ".join(str(word) for word in machine.command("pick", *words))
    script = f'eval "set -- $({command} 2>/dev/null)"; printf "%s\\n" "$@"'
    done = subprocess.run(["sh", "-c", script], env=machine.env, cwd=folder, capture_output=True, text=True, timeout=60)
    assert list(folder.iterdir()) == [], f"something was run: {done.stdout}"
    return done


def snapshot_with(key, word):
    snapshot = many_devices(2)
    device = snapshot["devices"][0]
    snapshot["simulated"] = None
    device[key] = word
    return snapshot


@pytest.mark.parametrize("source", ["--sim", "--replay"])
@pytest.mark.parametrize("word", WORDS)
def test_a_file_with_an_id_that_is_no_plain_word_is_refused(machine_of, source, word):
    machine = machine_of(None)
    file = machine.directory / "file.json"
    for key in KEYS:
        file.write_text(json.dumps(snapshot_with(key, word)), encoding="utf-8")
        refused = machine.run("pick", "--only", "0", "--format", "uuids", source, file)
        assert refused.returncode not in (0, 124) and not refused.stdout, (key, refused)
        assert "no plain word" in refused.stderr, (key, refused.stderr)
    evaluated(machine, "--only", "0", "--format", "cdi", source, file)


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_file_with_plain_words_is_taken(machine_of, form):
    machine = machine_of(None)
    file = machine.directory / "file.json"
    file.write_text(json.dumps(snapshot_with("uuid", "GPU-0-1")), encoding="utf-8")
    assert evaluated(machine, "--only", "0", "--format", form, "--replay", file).stdout.strip()


@pytest.mark.parametrize("word", [word for word in WORDS if ";" not in word and "\n" not in word])
def test_a_driver_that_says_such_a_uuid_has_said_none(driver_of, word):
    machine = driver_of(many_devices(2), faults=f"nvmlDeviceGetUUID@0=lie:{word}")
    shown = json.loads(machine.run("status", "--json").stdout)
    device = next(one for one in shown["devices"] if one["index"] == 0)
    assert device["uuid"] is None and device["why"]["uuid"] == "failed", device
    assert device["id"] == device["pci_address"], "its place tells it from the others"
    assert any("nvmlDeviceGetUUID: what it says is no UUID" in one["message"] for one in shown["problems"]), shown["problems"]
    for form in FORMATS:
        evaluated(machine, "--only", "0", "--format", form)
    assert machine.run("pick", "--only", "0", "--format", "cdi").stdout == f"--device nvidia.com/gpu={device['id']}\n"


@pytest.mark.parametrize("word", ["$(touch X)", "`touch X`", "GPU-1 2"])
def test_a_dump_with_such_a_uuid_is_known_by_its_place(machine_of, word):
    machine = machine_of(None)
    dump = machine.directory / "dump.txt"
    made = machine.run("smi", "-q", "--sim", "lab-4")
    uuid = next(line.split(": ")[1] for line in made.stdout.splitlines() if "GPU UUID" in line)
    dump.write_text(made.stdout.replace(uuid, word), encoding="utf-8")
    shown = json.loads(machine.run("status", "--json", "--replay", dump).stdout)
    assert shown["devices"][0]["uuid"] is None, shown["devices"][0]
    for form in FORMATS:
        evaluated(machine, "--format", form, "--replay", dump)
