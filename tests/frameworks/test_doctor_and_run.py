"""`berth doctor` on a real CUDA build of PyTorch, and what a job of `berth run` sees with it."""

import json

import pytest
from conftest import E2E, PATIENCE, PRELUDE, Bed, cuda_cards, played_cards

TRAIN = """
import torch
one = torch.cuda.get_device_properties(0)
x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda:0")
tell(count=torch.cuda.device_count(), uuid="GPU-" + str(one.uuid), list=os.environ.get("CUDA_VISIBLE_DEVICES"),
     order=os.environ.get("CUDA_DEVICE_ORDER"))
"""


def doctor(machine, *words, **how):
    done = machine.run("doctor", "--json", "--python", machine.python, *words, timeout=PATIENCE, **how)
    assert done.stdout, done.stderr
    answer = json.loads(done.stdout)
    return answer, {one["rule"] for one in answer["findings"]}


def job(machine, *words, code=TRAIN):
    script = machine.directory / "train.py"
    script.write_text(PRELUDE + code, encoding="utf-8")
    done = machine.run("run", *words, "--", machine.python, script, timeout=PATIENCE)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    return done, told[0] if told else None


def test_doctor_asks_the_real_torch_and_has_nothing_to_say(bed):
    machine = bed(2, 80)
    answer, rules = doctor(machine)
    said = json.dumps(answer["python"])
    assert "+cu12" in said and machine.python.parents[1].name in said
    assert not rules & {"torch_cpu_only", "framework_blind", "import_failed", "architecture_missing", "driver_too_old"}
    assert "sees 2" in machine.run("doctor", "--python", machine.python, timeout=PATIENCE).stdout.replace("\n ", "")


def test_doctor_reads_versions_without_running_anything(bed):
    machine = bed(2, 80)
    answer, rules = doctor(machine, "--no-import")
    assert "+cu12" in json.dumps(answer["python"])
    assert not rules & {"torch_cpu_only", "driver_too_old"}


def test_doctor_says_that_torch_is_blind_where_the_driver_refuses_it(bed):
    # NVML answers, CUDA does not: as with nvidia_uvm missing.
    _, rules = doctor(bed(2, 80), env={"BERTH_FAKE_CUDA": "error:999"})
    assert rules & {"cuda_refuses", "framework_blind"}


def test_doctor_finds_a_card_that_the_build_has_no_code_for(tmp_path):
    old = E2E.scenario("server-8xh100")["devices"][7] | {"compute_capability": "3.5", "name": "Tesla K40m"}
    _, rules = doctor(Bed(tmp_path, played_cards(1, 12, old)))
    assert "architecture_missing" in rules


def test_a_job_sees_the_card_that_it_was_given_and_no_other(bed):
    machine = bed(4, 80)
    done, told = job(machine, "--prefer", "2")
    assert done.returncode == 0, done.stderr
    assert told == {"count": 1, "uuid": machine.cards[2]["uuid"], "list": "2", "order": "PCI_BUS_ID"}
    assert "on GPU 2" in done.stderr


def test_a_job_on_two_cards_numbers_them_as_berth_says(bed):
    machine = bed(4, 80)
    done, told = job(machine, "-n", "2", "--except", "0", code="""
import torch
tell(uuids=["GPU-" + str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())],
     list=os.environ["CUDA_VISIBLE_DEVICES"])
""")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert told["uuids"] == [machine.cards[int(index)]["uuid"] for index in told["list"].split(",")]
    assert len(told["uuids"]) == 2 and machine.cards[0]["uuid"] not in told["uuids"]


def test_a_job_that_ran_out_of_memory_is_told_why(bed):
    machine = bed(2, 4)
    script = machine.directory / "train.py"
    script.write_text("import torch\nkept = [torch.empty(1 << 30, dtype=torch.uint8, device='cuda') for _ in range(5)]\n", encoding="utf-8")
    run = machine.run("run", "-d", "--", machine.python, script).stdout.strip()
    assert machine.run("wait", run, timeout=PATIENCE).returncode != 0
    answer = json.loads(machine.run("explain", "--json", run).stdout)
    assert [one["rule"] for one in answer["findings"]][:1] == ["cuda_out_of_memory"], answer


@pytest.mark.parametrize("name", ["server-8xh100", "lab-4"])
def test_on_a_simulated_server_a_job_sees_the_card_of_the_simulation(tmp_path, name):
    snapshot = E2E.scenario(name)
    if any(not one.get("pci_address") or one.get("mig_mode") == "enabled" for one in snapshot["devices"]):
        pytest.skip("its devices have no addresses")
    machine = E2E.Machine(tmp_path, sim=name)
    machine.env |= {
        "BERTH_FAKE_CUDA": cuda_cards(snapshot),
        "LD_LIBRARY_PATH": str(E2E.BUILD / "fakes/cuda"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    machine.python = Bed.python
    done, told = job(machine)
    assert done.returncode == 0, done.stderr
    shown = {str(one["index"]): one["uuid"] for one in snapshot["devices"]}
    assert told["count"] == 1 and told["uuid"] == shown[told["list"]]
