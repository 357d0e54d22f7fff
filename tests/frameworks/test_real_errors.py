"""`berth explain --log` of what PyTorch itself printed, just now: its texts change with each release, ours do not
follow by themselves."""

import json

import pytest

OOM = """
kept = []
while True:
    kept.append(torch.empty(500 << 20, dtype=torch.uint8, device="cuda"))
"""
MIXED = "torch.ones(2, device='cuda') + torch.ones(2, device='cuda:1')"
HERE = "x = torch.ones(2, device='cuda')\n"

# A program, what it is started with, and the finding that its traceback is to lead to.
DEATHS = {
    "native": (OOM, {}, "cuda_out_of_memory"),
    "expandable": (
        OOM,
        {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        "cuda_out_of_memory",
    ),
    "async": (
        OOM,
        {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
        "cuda_out_of_memory_plain",
    ),
    "mixed": (MIXED, {}, "different_devices"),
    "cpu": (HERE + "x + torch.ones(2)", {}, "different_devices"),
    "beyond": ("torch.ones(2, device='cuda:7')", {}, "invalid_device_ordinal"),
    "forked": (
        HERE
        + """
import torch.multiprocessing as mp
worker = mp.get_context("fork").Process(target=torch.ones, args=(2,), kwargs={"device": "cuda"})
worker.start()
worker.join()
sys.exit(worker.exitcode)
""",
        {},
        "cuda_in_fork",
    ),
    "hidden": (HERE, {"CUDA_VISIBLE_DEVICES": ""}, "no_cuda_gpus"),
    "broken": (HERE, {"BERTH_FAKE_CUDA": "error:999"}, "cuda_environment"),
    "to_numpy": (HERE + "x.numpy()", {}, "cuda_tensor_to_numpy"),
}


def explained(machine, text):
    done = machine.run("explain", "--json", "--log", "-", input=text)
    assert done.returncode == 0 and done.stdout, done.stderr
    return [one["rule"] for one in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("death", DEATHS)
def test_a_traceback_leads_to_its_cause(bed, death):
    code, env, rule = DEATHS[death]
    machine = bed()
    ended, _, output = machine.run_python("import torch\n" + code, **env)
    assert ended != 0, output
    assert explained(machine, output)[:1] == [rule], output


# What the driver answers when a kernel has done wrong or a card is gone, and the finding.
DRIVER_ERRORS = {
    214: "ecc_error",
    700: "illegal_address",
    702: "launch_timeout",
    710: "device_assert",
    715: "illegal_instruction_on_device",
    716: "misaligned_address",
    719: "launch_failure",
}


def test_each_error_of_the_driver_leads_to_its_cause(bed):
    machine = bed()
    texts = machine.told_by(f"""
import torch, traceback
torch.ones(2, device="cuda")
for code in {list(DRIVER_ERRORS)}:
    os.environ["BERTH_FAKE_CUDA_FAULT"] = f"cuCtxSynchronize={{code}}"
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        tell(**{{str(code): traceback.format_exc()}})
""")
    assert {int(code): explained(machine, text)[:1] for code, text in texts.items()} == {
        code: [rule] for code, rule in DRIVER_ERRORS.items()
    }
