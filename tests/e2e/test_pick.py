"""Picking devices: each flag and format, what refuses and why, and that nothing is ever taken."""

import csv
import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import BERTH, ROOT, many_devices, wait_until


def picked(done):
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], "3"),
        (["-n", "2"], "4,5"),
        (["--devices", "5"], "3,4,5,6,7"),
        (["--only", "5,6", "--prefer", "6,5"], "6"),
        (["--only", "GPU-55"], "4"),
        (["--only", "*H100*", "--except", "3,4"], "5"),
        (["--except", "3"], "4"),
        (["--memory", "10G"], "3"),
        (["--memory", "50%"], "3"),
        (["--min-compute", "9.0"], "3"),
        (["--need", "bf16,fp8"], "3"),
        (["--max-utilization", "10"], "3"),
        (["--idle-for", "5s"], "3"),
        (["--prefer", "7,6"], "7"),
        (["--no-wait"], "3"),
    ],
    ids=" ".join,
)
def test_each_request_flag_chooses_among_what_it_allows(machine, flags, expected):
    assert picked(machine.run("pick", *flags)) == expected


def test_the_busiest_that_a_device_may_be_is_what_was_said(machine_of):
    desktop = machine_of("desktop")  # its card draws the desktop: 20 % busy
    refused = desktop.run("pick", "--max-utilization", "10")
    assert refused.returncode == 124 and "20 % busy, at most 10 % asked for" in refused.stderr
    assert picked(desktop.run("pick", "--max-utilization", "20")) == "0"


def test_shares_are_spread_over_the_cards_where_that_is_asked_for(machine):
    leased, free = machine.directory / "leased", []
    job = machine.start(
        "run", "-q", "--memory", "10G", "--", "sh", "-c", f"echo > {leased}; read line", stdin=subprocess.PIPE
    )
    try:
        wait_until(leased.exists, "the first share is given")
        for preference in (["--prefer", "spread"], ["--prefer", "best-fit"], []):
            free.append(picked(machine.run("pick", "--memory", "10G", *preference)))
    finally:
        job.communicate("\n", timeout=60)
    assert free == ["4", "3", "3"]


def test_the_card_with_fp8_is_the_only_one_that_will_do_in_a_mixed_box(machine_of):
    lab = machine_of("lab-4")
    assert picked(lab.run("pick", "--need", "bf16")) == "3"
    assert picked(lab.run("pick", "--min-compute", "7.5", "--prefer", "best-fit")) == "1"
    assert picked(lab.run("pick", "--prefer", "most-free")) == "3"
    many = lab.run("pick", "-n", "5")
    assert many.returncode == 124 and "at most 4 of the devices here" in many.stderr
    refused = lab.run("pick", "--need", "fp8")
    assert refused.returncode == 124
    assert "this machine can never satisfy it" in refused.stderr


@pytest.mark.parametrize(
    ("format_name", "expected"),
    [
        ("indices", "4,5"),
        ("uuids", "GPU-55a40404-5e1a-4b0c-8d3f-0000b0e2b004,GPU-56a50505-5e1a-4b0c-8d3f-0000b0e2c005"),
        ("env", "export CUDA_DEVICE_ORDER=PCI_BUS_ID\nexport CUDA_VISIBLE_DEVICES=4,5"),
        (
            "docker",
            "--gpus '\"device=GPU-55a40404-5e1a-4b0c-8d3f-0000b0e2b004,"
            "GPU-56a50505-5e1a-4b0c-8d3f-0000b0e2c005\"'",
        ),
        (
            "cdi",
            "--device nvidia.com/gpu=GPU-55a40404-5e1a-4b0c-8d3f-0000b0e2b004 "
            "--device nvidia.com/gpu=GPU-56a50505-5e1a-4b0c-8d3f-0000b0e2c005",
        ),
    ],
)
def test_each_format_is_ready_for_its_reader(machine, format_name, expected):
    done = machine.run("pick", "-n", "2", "--format", format_name)
    assert picked(done) == expected
    assert "not claimed" in done.stderr
    assert "SIMULATED" in done.stderr, "what is picked on a simulated server must say so"


@pytest.mark.parametrize(("uuid", "name"), [("GPU-1061fb5e-99e2-0934-3459-ee4d48630139",) * 2, ("GPU-of-another", "0")])
def test_a_file_of_nvidias_own_toolkit_is_understood(driver_of, tmp_path, uuid, name):
    """As nvidia-ctk 1.20.2 wrote it beside an H200: by UUID. A card that it does not know by UUID stands there by its
    file."""
    snapshot = many_devices(1)
    snapshot["devices"][0] |= {"uuid": uuid, "id": uuid}
    machine = driver_of(snapshot)
    machine.env["BERTH_ROOT"] = str(tmp_path / "root")
    folder = tmp_path / "root/etc/cdi"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tests/data/cdi/toolkit-1.20.2-h200.yaml", folder / "nvidia.yaml")
    assert picked(machine.run("pick", "--format", "cdi")) == f"--device nvidia.com/gpu={name}"
    assert "nvidia.yaml" not in machine.run("doctor").stdout, "it finds fault with it"


def test_the_names_for_cdi_are_those_of_the_file_that_engines_read(driver_of, tmp_path):
    snapshot = many_devices(2)
    machine = driver_of(snapshot)
    machine.env["BERTH_ROOT"] = str(tmp_path / "root")
    words = ("pick", "--only", "0", "--format", "cdi")
    uuid = snapshot["devices"][0]["uuid"]
    assert picked(machine.run(*words)) == f"--device nvidia.com/gpu={uuid}", "no file is there"
    spec = tmp_path / "root/etc/cdi/nvidia.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n"
                    "- name: \"0\"\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n", encoding="utf-8")
    assert picked(machine.run(*words)) == "--device nvidia.com/gpu=0"
    both = picked(machine.run("pick", "-n", "2", "--format", "cdi"))
    assert both.count("nvidia.com/gpu=GPU-") == 2, "the file does not know the other"


WITHOUT_DEVICES = {
    "indices": "-1",
    "uuids": "-1",
    "docker": "-e NVIDIA_VISIBLE_DEVICES=void",
    "cdi": "-e NVIDIA_VISIBLE_DEVICES=void",
}


@pytest.mark.parametrize("flags", [["--cpu"], ["--or-cpu", "--only", "0"], ["--or-cpu", "-n", "9"]], ids=" ".join)
@pytest.mark.parametrize("form", WITHOUT_DEVICES)
def test_the_cpu_is_an_answer_that_names_no_device(machine, flags, form):
    done = machine.run("pick", *flags, "--format", form)
    assert picked(done) == WITHOUT_DEVICES[form]
    assert "picked the CPU" in done.stderr and "SIMULATED" in done.stderr, done.stderr
    assert ("alice" in done.stderr) == (flags != ["--cpu"]), done.stderr


@pytest.mark.parametrize("flags", [["--cpu"], ["--or-cpu", "--only", "0"]], ids=" ".join)
def test_the_cpu_gives_a_script_what_run_gives_its_job(machine, flags):
    env = {"OMP_NUM_THREADS": "3"}
    exports = picked(machine.run("pick", *flags, "--format", "env", env=env))
    job = machine.run("run", "-q", "--cpu", "--", "env", env=env).stdout.splitlines()
    given = {line for line in job if not line.startswith("BERTH_")}
    plain = subprocess.run(["env"], env=machine.env | env, capture_output=True, text=True)
    own = {line for line in plain.stdout.splitlines() if not line.startswith("BERTH_")}
    assert {line.removeprefix("export ") for line in exports.splitlines()} == given - own
    assert "export CUDA_VISIBLE_DEVICES=-1" in exports.splitlines()
    answer = json.loads(picked(machine.run("pick", *flags, "--json", env=env)))
    assert answer["chosen"] == [] and answer["simulated"] == "server-8xh100"
    assert {f"{name}={value}" for name, value in answer["environment"].items()} == given - own


def test_or_cpu_changes_nothing_where_a_device_is_free(machine):
    assert picked(machine.run("pick", "--or-cpu")) == "3"


@pytest.mark.parametrize("flags", [["--wait"], ["--wait=3s"], ["--wait", "3s"], ["--wait=2s", "--or-cpu"],
                                   ["--or-cpu=2s"]], ids=" ".join)  # fmt: skip
def test_pick_refuses_to_wait_by_the_name_of_the_option(machine, flags):
    """It claims nothing, and so has no place in the queue."""
    refused = machine.run("pick", "--only", "0", *flags)
    assert (refused.returncode, refused.stdout) == (2, ""), refused
    assert refused.stderr.startswith(f"berth: pick: {flags[0].split('=')[0]}") and "berth run" in refused.stderr
    told = machine.run("pick", "--help").stdout
    assert "--wait" not in told.replace("--no-wait", "") and "--or-cpu" in told


def test_cpu_asks_neither_the_driver_nor_the_ledger(driver_of, tmp_path):
    (tmp_path / "ledger").write_text("no directory")
    assert picked(driver_of(many_devices(1)).run("pick", "--cpu")) == "-1"


def words_of(machine, form, count):
    """What docker is given where it is eval'd or pasted, and where it stands in $(…)."""
    pick = shlex.join(str(word) for word in machine.command("pick", "-n", count, "--format", form))
    words = []
    for line in (f'eval "set -- $({pick})"', f"set -- $({pick})"):
        script = f"{line}; printf '%s\\n' \"$@\""
        done = subprocess.run(["sh", "-c", script], env=machine.env, capture_output=True, text=True)
        words.append(done.stdout.splitlines())
    return *words, done.stderr


@pytest.mark.parametrize(("form", "count"), [("docker", 1), ("cdi", 1), ("cdi", 2)])
def test_containers_get_the_same_words_from_a_shell_and_from_a_substitution(machine, form, count):
    pasted, substituted, said = words_of(machine, form, count)
    assert pasted == substituted and len(pasted) == 2 * count
    assert not set("\"'") & set("".join(pasted)) and "eval" not in said


def test_several_devices_for_docker_are_quoted_for_a_shell_and_that_is_said(machine):
    pasted, substituted, said = words_of(machine, "docker", 2)
    [fields] = csv.reader([pasted[1]])  # as docker reads it
    assert pasted[0] == "--gpus" and len(fields) == 1 and fields[0].startswith("device=GPU-55a40404")
    assert substituted != pasted and "eval" in said and "--format cdi" in said


def test_json_says_why_each_device_was_chosen_or_refused(machine):
    placement = json.loads(picked(machine.run("pick", "-n", "2", "--format", "json")))
    assert [choice["index"] for choice in placement["chosen"]] == [4, 5]
    assert placement["simulated"] == "server-8xh100"
    assert placement["claimed"] is False
    refused = json.loads(machine.run("pick", "-n", "8", "--json").stdout)
    assert refused["satisfied"] is False
    assert "alice" in json.dumps(refused["refused"])


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ([], 0),
        (["-n", "6"], 124),
        (["-n", "9"], 124),
        (["--only", "0"], 124),
        (["-n", "0"], 2),
        (["-n", "two"], 2),
        (["--memory", "10x"], 2),
        (["--memory", "0"], 2),
        (["--memory", "101%"], 2),
        (["--only", "1,,2"], 2),
        (["--need", "fp16"], 2),
        (["--min-compute", "eight"], 2),
        (["--max-utilization", "200"], 2),
        (["--idle-for", "5parsec"], 2),
        (["--wait=5x"], 2),
        (["--or-cpu=5x"], 2),
        (["--wait", "--no-wait"], 2),
        (["--prefer", "bestfit"], 2),
        (["--format", "yaml"], 2),
        (["--frobnicate"], 2),
        (["python"], 2),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else str(value),
)
def test_exit_codes(machine, flags, code):
    done = machine.run("pick", *flags)
    assert done.returncode == code, f"stdout {done.stdout!r}, stderr {done.stderr!r}"
    if code == 2:
        assert done.stderr.startswith("berth: "), done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["--memory", "１０G"], "10G"),
        (["--only", "3，4"], "3,4"),
        (["--except", "３"], "3"),
        (["--min-compute", "8。0"], "8.0"),
        (["--need", "bf16，fp8"], "bf16,fp8"),
        (["--prefer", "３，4"], "3,4"),
        (["--max-utilization", "１０％"], "10%"),
        (["--idle-for", "５s"], "5s"),
        (["-n", "２"], "2"),
        (["--only", "“3,4”"], "3,4"),
        (["--only", "‘3,4’"], "3,4"),
        (["--except", "“3，4”"], "3,4"),
        (["--prefer", "“4,3”"], "4,3"),
        (["--prefer", "“best-fit”"], "best-fit"),
        (["--memory", "“10G”"], "10G"),
        (["--memory", "“50%”"], "50%"),
        (["--min-compute", "“8.0”"], "8.0"),
        (["--need", "“bf16,fp8”"], "bf16,fp8"),
        (["--max-utilization", "“10”"], "10"),
        (["--idle-for", "“5s”"], "5s"),
        (["-n", "“2”"], "2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_a_word_processor_typed_is_named_with_the_right_line(machine, words, right):
    done = machine.run("pick", *words)
    assert done.returncode == 2
    said, suggested = re.fullmatch(r"berth: (.*ASCII.*): (?:write|try) (.*)\n", done.stderr).groups()
    bare = suggested.removeprefix('"').removesuffix('"') if suggested.startswith('"') else suggested
    assert shlex.split(bare) == [right], done.stderr
    assert '""' not in suggested and "'" not in suggested and words[-1].split("=")[-1] in said
    flag = [words[0].split("=")[0]]
    again = [f"{flag[0]}={bare}"] if len(words) == 1 else [*flag, bare]
    assert machine.run("pick", *again).returncode == 0, "the suggestion, typed as it stands, is refused"


@pytest.mark.parametrize("written", ["4，5", "“4”", "‘4,5’", "４"])
def test_full_width_characters_in_an_inherited_list_are_named(machine, written):
    done = machine.run("pick", env={"CUDA_VISIBLE_DEVICES": written})
    assert done.stdout.strip() in ("", "4"), "wider than what CUDA itself would read"
    assert "CUDA_VISIBLE_DEVICES" in done.stderr, done.stderr
    assert "export CUDA_VISIBLE_DEVICES=4" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("inherited", "flags", "code", "answer"),
    [
        ("4,5", [], 0, "4"),
        ("5,4", ["-n", "2"], 0, None),
        ("4,5", ["-n", "3"], 124, ""),
        ("4,5", ["--only", "3"], 124, ""),
        ("", [], 124, ""),
        ("-1", [], 124, ""),
        ("4,4", [], 124, ""),
        ("99,4", [], 124, ""),
        ("6,99,7", ["-n", "2"], 124, ""),
        ("GPU-55,GPU-56", ["-n", "2"], 0, "4,5"),
    ],
)
def test_an_inherited_list_is_never_widened(machine, inherited, flags, code, answer):
    done = machine.run("pick", *flags, env={"CUDA_VISIBLE_DEVICES": inherited})
    assert done.returncode == code, f"picked {done.stdout!r}: {done.stderr}"
    if answer is None:
        assert set(done.stdout.strip().split(",")) == set(inherited.split(","))
    else:
        assert done.stdout.strip() == answer


def test_an_inherited_index_on_a_box_of_different_cards_needs_the_order(machine_of):
    lab = machine_of("lab-4")
    unclear = lab.run("pick", env={"CUDA_VISIBLE_DEVICES": "1"})
    assert unclear.returncode == 2
    assert "export CUDA_DEVICE_ORDER=PCI_BUS_ID" in unclear.stderr
    order = {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert picked(lab.run("pick", env=order)) == "1"


def ledger_entries(machine):
    ledger = machine.ledger
    return sorted(p.name for p in ledger.iterdir()) if ledger.exists() else []


@pytest.mark.parametrize("verb", [["pick"], ["pick", "--dry-run"], ["run", "--dry-run", "--", "true"]])
def test_picking_and_dry_runs_take_nothing(machine, verb):
    before = ledger_entries(machine)
    done = machine.run(*verb)
    assert done.returncode == 0, done.stderr
    assert [name for name in ledger_entries(machine) if name != "host.lock"] == before
    assert not (machine.directory / "state").exists(), "a record was left behind"
    if "--dry-run" in verb:
        assert "Nothing was taken" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("flags", "says", "code"),
    [
        (["--cpu"], "Would run on the CPU: --cpu asks for no device.", 0),
        (["--or-cpu", "--only", "0"], "Would run on the CPU, as --or-cpu says.", 0),
        (["--or-cpu=10m", "--only", "0"], "Would wait 10m00s for a device, then run on the CPU, as --or-cpu says.", 124),
        (["--or-cpu=10m", "-n", "9"], "Would run on the CPU, as --or-cpu says.", 0),  # waiting would not help
        (["--or-cpu"], "Would get:", 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_dry_run_says_what_becomes_of_a_job_that_may_go_without_a_device(machine, flags, says, code):
    done = machine.run("run", "--dry-run", *flags, "--", "true")
    assert done.returncode == code, done.stderr
    assert says in done.stdout and "SIMULATED server-8xh100" in done.stdout, done.stdout
    assert ("alice" in done.stdout) == (flags != ["--cpu"]), "who holds the others"
    asked = machine.run("run", "--dry-run", "--json", *flags, "--", "true")
    answer = json.loads(asked.stdout)
    assert asked.returncode == code and answer["simulated"] == "server-8xh100"
    assert (answer["environment"].get("CUDA_VISIBLE_DEVICES") == "-1") == ("run on the CPU" in says and code == 0)


def test_a_refusal_names_who_what_and_since_when(machine):
    done = machine.run("pick", "--only", "0,2")
    assert done.returncode == 124
    text = " ".join(done.stderr.split())
    assert "alice since" in text and "python -u train.py" in text and "pid 21871" in text, text
    assert "bob since" in text and "ipykernel_launcher" in text, text
    for name in ("GPU 0 ", "GPU 2 ", "GPU 3-7 "):
        assert name in done.stderr, "each device once, several with one reason together"


def test_a_refusal_names_the_holder_of_a_lease(machine_of, tmp_path):
    desktop = machine_of("desktop")
    started = tmp_path / "started"
    job = desktop.start("run", "--", "sh", "-c", f"echo > {started}; read line", stdin=subprocess.PIPE)
    try:
        wait_until(started.exists, "the job has started")
        done = desktop.run("pick")
        assert done.returncode == 124, done.stdout
        text = " ".join(done.stderr.split())
        assert "since" in text and "sh -c" in text, text
        waiting = desktop.run("run", "--no-wait", "--", "true")
        assert waiting.returncode == 124, waiting.stderr
        assert "sh -c" in " ".join(waiting.stderr.split()), waiting.stderr
    finally:
        job.communicate("\n", timeout=60)
    assert job.returncode == 0


def test_a_desktop_that_draws_on_the_card_does_not_block_it(machine_of):
    assert picked(machine_of("desktop").run("pick")) == "0"
    shared = machine_of("desktop").run("pick", "--memory", "7.5G")
    assert shared.returncode == 124, "what the desktop uses is not free"


def test_mig_instances_are_offered(machine_of):
    mig = machine_of("h100-mig")
    assert picked(mig.run("pick")).startswith("MIG-")
    all_three = json.loads(mig.run("pick", "-n", "3", "--json").stdout)
    assert all_three["satisfied"] is False, "CUDA uses one MIG device only"


def test_cards_without_a_history_are_offered(machine_of):
    plain = machine_of("no-history")
    assert picked(plain.run("pick")) == "0"
    assert plain.run("pick", "-n", "2").returncode == 124


def test_lost_and_unexplained_cards_are_not_chosen(machine_of):
    done = machine_of("faults").run("pick")
    assert done.returncode == 124
    assert "lost: it no longer answers the driver" in done.stderr
    assert "in use by nobody that can be seen" in " ".join(done.stderr.split())


def test_a_lost_card_is_not_given_to_who_allows_failed_ones_and_that_is_said(machine_of):
    done = machine_of("faults").run("pick", "-n", "2", "--allow-failed")
    assert done.returncode == 124
    assert "--allow-failed gives no lost device" in " ".join(done.stderr.split())


def test_a_broken_card_is_refused_until_it_is_allowed(machine_of):
    faults = machine_of("faults")
    done = faults.run("pick")
    assert done.returncode == 124
    said = " ".join(done.stderr.split())
    assert "failed: a broken row of memory could not be replaced: no spare is left" in said
    assert picked(faults.run("pick", "--allow-failed")) == "4"
    refused = json.loads(faults.run("run", "--dry-run", "--json", "--", "true").stdout)["refused"]
    assert {one["index"]: one["rule"] for one in refused}[4] == "failed"
    assert "--allow-failed" in faults.run("run", "--dry-run", "--", "true").stdout
    ran = faults.run("run", "--", "true")
    assert ran.returncode == 124 and "failed: " in ran.stderr
    assert faults.run("run", "--allow-failed", "--", "true").returncode == 0
    chinese = faults.run("pick", "--lang", "zh_CN", env={"LC_ALL": "C.UTF-8"}).stderr
    assert "故障：" in chinese and "failed" not in chinese.replace("--allow-failed", "")


def test_a_run_inside_the_lease_of_a_broken_card_has_it_too(machine_of):
    script = f"{BERTH} run -q -- sh -c 'echo $CUDA_VISIBLE_DEVICES'"
    done = machine_of("faults").run("run", "-q", "--allow-failed", "--", "sh", "-c", script)
    assert done.stdout.strip() == "4", done.stderr


@pytest.mark.parametrize(
    ("field", "value", "evidence"),
    [
        ("remapped_rows_failed", True, "could not be replaced"),
        ("recovery_action", "Reset", "the driver asks for: Reset"),
        ("unrepairable_memory", True, "cannot be repaired"),
    ],
)
def test_what_the_driver_says_is_broken_is_passed_over(driver_of, field, value, evidence):
    played = many_devices(2)
    played["devices"][0][field] = value
    machine = driver_of(played)
    assert picked(machine.run("pick")) == "1"
    refused = json.loads(machine.run("pick", "-n", "2", "--json").stdout)["refused"]
    assert [(one["index"], one["rule"]) for one in refused] == [(0, "failed")]
    assert evidence in refused[0]["text"]
    assert picked(machine.run("pick", "-n", "2", "--allow-failed")) == "0,1"


@pytest.mark.parametrize("verdict", ["nvmlDeviceGetFieldValues", "nvmlDeviceGetUnrepairableMemoryFlag_v1"])
def test_a_card_whose_verdict_could_not_be_read_is_neither_free_nor_given(driver_of, verdict):
    machine = driver_of(many_devices(2), faults=f"{verdict}@0=999")
    rows = machine.run("status", "--csv", "index,state,failed_because").stdout.split()
    assert rows[1:] == ["0,unknown,", "1,free,"]
    assert picked(machine.run("pick")) == "1"
    alone = machine.run("pick", "--only", "0")
    assert (alone.returncode, alone.stdout) == (124, "")
    assert picked(machine.run("pick", "--only", "0", "--allow-failed")) == "0"
    refused = json.loads(machine.run("pick", "-n", "2", "--json").stdout)["refused"]
    assert [(one["index"], one["rule"]) for one in refused] == [(0, "failed")]
    assert "whether it has failed could not be read" in refused[0]["text"]


def test_a_broken_card_is_not_given_where_the_quick_look_cannot_read_that(driver_of):
    played = many_devices(1)
    played["devices"][0] |= {"remapped_rows_failed": True, "remapped_rows_pending": False}
    played["devices"][0] |= {"remapped_rows_correctable": 0, "remapped_rows_uncorrectable": 8}
    machine = driver_of(played, faults="nvmlDeviceGetFieldValues@0=999")
    assert "no spare is left" in machine.run("health").stdout
    assert machine.run("pick").returncode == 124


def test_a_card_without_any_verdict_is_given(driver_of):
    machine = driver_of(many_devices(1), faults="nvmlDeviceGetFieldValues@0=3;nvmlDeviceGetUnrepairableMemoryFlag_v1@0=3")
    assert picked(machine.run("pick")) == "0"


def test_a_worn_card_is_offered_and_a_well_server_refuses_nothing(driver_of):
    played = many_devices(2)
    played["devices"][0]["remapped_rows_pending"] = True
    for card in played["devices"]:
        card |= {"recovery_action": "None", "remapped_rows_failed": False, "unrepairable_memory": False}
    answer = json.loads(driver_of(played).run("pick", "-n", "2", "--json").stdout)
    assert [one["index"] for one in answer["chosen"]] == [0, 1]
    assert answer["refused"] == []


def test_a_card_lost_behind_the_driver_is_passed_over(driver_of):
    done = driver_of(many_devices(2), faults="*@0=15").run("pick")
    assert picked(done) == "1"
    assert "SIMULATED" not in done.stderr


def test_a_card_that_cannot_tell_its_processes_but_holds_memory_is_refused(driver_of):
    faults = ";".join(
        f"nvmlDeviceGet{kind}RunningProcesses{version}@0=999"
        for kind in ("Compute", "Graphics", "MPSCompute")
        for version in ("", "_v2", "_v3")
    )
    played = many_devices(2)
    played["devices"][0]["memory_used_bytes"] = 20 << 30
    played["devices"][0]["memory_free_bytes"] -= 20 << 30
    assert picked(driver_of(played, faults=faults).run("pick")) == "1"


@pytest.mark.parametrize("inherited, seen", [("5", "5"), ("6,4", "4")])
def test_run_stays_inside_an_inherited_list_as_the_dry_run_says(machine, inherited, seen):
    env = {"CUDA_VISIBLE_DEVICES": inherited, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    done = machine.run("run", "-q", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", env=env)
    assert done.stdout.strip() == seen, done.stdout + done.stderr
    dry = machine.run("run", "--dry-run", "--json", "--", "true", env=env)
    assert f'"index": {seen}' in dry.stdout or f'"index":{seen}' in dry.stdout, dry.stdout


def test_run_gets_nothing_out_of_an_empty_inherited_list(machine):
    done = machine.run("run", "--", "true", env={"CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 124, done.stdout + done.stderr


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles", "none"])
@pytest.mark.parametrize("words", [["run", "--wait"], ["run", "--dry-run"], ["pick"]], ids=" ".join)
def test_who_has_hidden_every_gpu_is_told_how_to_get_one_and_how_to_go_without(machine, words, value):
    command = [] if words == ["pick"] else ["--", "true"]
    done = machine.run(*words, *command, env={"CUDA_VISIBLE_DEVICES": value})
    assert done.returncode == 124, done
    said = " ".join((done.stdout + done.stderr).split())
    assert (
        "CUDA_VISIBLE_DEVICES hides every GPU. For a GPU: unset CUDA_VISIBLE_DEVICES. "
        "To run on the CPU on purpose: `berth run --cpu`"
    ) in said, said
    assert "Ask for less" not in said and "entry 1" not in said and "waiting will not help" not in said, said


@pytest.mark.parametrize("value", ["", "-1"])
def test_where_there_is_no_gpu_to_hide_the_way_without_one_is_named(driver_of, value):
    done = driver_of(many_devices(0)).run("run", "--", "true", env={"CUDA_VISIBLE_DEVICES": value})
    said = " ".join(done.stderr.split())
    assert done.returncode == 124 and "to run on the CPU on purpose: `berth run --cpu`" in said, said
    assert "unset" not in said and "entry 1" not in said, said


@pytest.mark.parametrize("words", [["run"], ["run", "--dry-run"], ["pick"]], ids=" ".join)
def test_a_list_that_keeps_devices_out_is_named_with_how_to_lift_it(machine, words):
    command = [] if words == ["pick"] else ["--", "true"]
    pick = shlex.join(str(word) for word in machine.command("pick", "--format", "env"))
    asked = shlex.join(str(word) for word in machine.command(*words, "-n", "2", *command))
    done = subprocess.run(["sh", "-c", f'eval "$({pick})"; {asked}'], env=machine.env, capture_output=True, text=True)
    assert done.returncode == 124, done
    said = " ".join((done.stdout + done.stderr).split())
    assert "GPU 4-7 H100 80GB HBM3 not in CUDA_VISIBLE_DEVICES" in said, said
    assert "CUDA_VISIBLE_DEVICES is set and keeps 7 of the devices out" in said, said
    assert "unset CUDA_VISIBLE_DEVICES" in said and "too few GPUs" not in said, said
    inside = machine.run(*words, "-n", "2", *command, env={"CUDA_VISIBLE_DEVICES": "3", "BERTH_LEASE": "a-lease"})
    assert "unset CUDA_VISIBLE_DEVICES" not in inside.stdout + inside.stderr, "there the lease is the limit"


@pytest.mark.parametrize(("asked", "ends_with"), [([], "CUDA_VISIBLE_DEVICES=3\n"), (["-n", "8"], "")])
def test_the_readmes_recipe_for_scripts_goes_on_with_a_device_alone(machine, asked, ends_with):
    readme = (pathlib.Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    recipe = 'gpu=$(berth pick --format env) && eval "$gpu"'
    assert f"`{recipe}`" in readme
    pick = shlex.join(str(word) for word in machine.command("pick", *asked, "--format", "env"))
    script = recipe.replace("berth pick --format env", pick) + " && env | grep ^CUDA_VISIBLE_DEVICES"
    done = subprocess.run(["sh", "-c", script], env=machine.env, capture_output=True, text=True)
    assert done.stdout == ends_with
    assert (done.returncode == 0) == bool(ends_with)
