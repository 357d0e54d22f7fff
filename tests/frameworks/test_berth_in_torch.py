"""berth's Python package beside a real CUDA build of PyTorch: too late or not, leases, memory, errors."""

import pytest

UUID = "'GPU-' + str(torch.cuda.get_device_properties(0).uuid)"

# What a program did, and what berth says of CUDA then: as each cell of test_when_it_is_too_late.py.
STATES = {
    "nothing": ("", {}, {"not loaded"}),
    "import": ("import torch", {}, {"not loaded", "not started"}),
    "count_by_nvml": ("import torch; torch.cuda.device_count()", {}, {"not loaded", "not started"}),
    "is_available": ("import torch; torch.cuda.is_available()", {}, {"started"}),
    "is_available_by_nvml": (
        "import torch; torch.cuda.is_available()",
        {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"},
        {"not loaded", "not started"},
    ),
    "tensor": ("import torch; torch.ones(2, device='cuda')", {}, {"started"}),
}


@pytest.mark.parametrize("step", STATES)
def test_whether_cuda_has_begun_is_known_and_asking_begins_nothing(bed, step):
    code, env, wanted = STATES[step]
    told = bed(2).with_berth().told_by(
        code + "\nimport berth\nbefore = cuda()\ntell(state=berth.cuda_state(), same=cuda() == before)\n", **env
    )
    assert told["state"] in wanted and told["same"]


def test_counting_without_nvml_has_begun_it(bed):
    told = bed(2).with_berth().without_nvml().told_by(
        "import torch, berth\ntorch.cuda.device_count()\ntell(state=berth.cuda_state())\n"
    )
    assert told["state"] == "started"


def test_a_child_forked_afterwards_has_inherited_it(bed):
    told = bed(2).with_berth().told_by("""
import torch, berth
torch.ones(2, device="cuda")
before = berth.cuda_state()
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, berth.cuda_state().encode())
    os._exit(0)
os.wait()
tell(before=before, child=os.read(reader, 100).decode())
""")
    assert told == {"before": "started", "child": "inherited"}


def test_a_lease_shows_torch_its_card_alone(bed):
    machine = bed(4, 80).with_berth()
    told = machine.told_by(f"""
import berth, torch
with berth.lease(only=[2]) as lease:
    tell(count=torch.cuda.device_count(), uuid={UUID}, id=lease.devices[0].id, device=str(berth.try_gpu()))
""")
    assert told["count"] == 1 and told["device"] == "cuda:0"
    assert told["uuid"] == told["id"] == machine.cards[2]["uuid"]


def test_after_cuda_has_begun_a_lease_is_refused_with_what_to_do(bed):
    told = bed(4, 80).with_berth().told_by("""
import torch, berth
torch.cuda.is_available()
try:
    berth.lease()
except berth.CudaStarted as error:
    tell(text=str(error), remedy=error.remedy)
with berth.lease(only=[3], after_init="index") as lease:
    tell(ordinal=lease.devices[0].ordinal, variable=os.environ.get("CUDA_VISIBLE_DEVICES"))
""")
    assert told["text"] and told["remedy"]
    assert told["ordinal"] == 3 and told["variable"] is None


def test_memory_is_what_the_real_allocator_has(bed):
    told = bed(1, 4).with_berth().told_by("""
import torch, berth
x = torch.empty(300 << 20, dtype=torch.uint8, device="cuda")
y = torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
del y
now = berth.log_memory()
tell(**{name: getattr(now, name).value for name in ("allocated", "peak", "reserved", "ooms")})
tell(again=berth.log_memory().peak.value)
""")
    assert told["allocated"] == 300 << 20 and told["peak"] == told["reserved"] == 500 << 20 and told["ooms"] == 0
    assert told["again"] in (300 << 20, 500 << 20)  # the peak is set back where it was marked


def test_an_error_of_the_real_allocator_is_told_with_the_card(bed):
    ended, _, output = bed(1, 4).with_berth().run_python("""
import torch, berth
with berth.oom_guard():
    kept = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(5)]
""")
    assert ended != 0
    first, guarded = output.split("OutOfMemoryError: CUDA out of memory.", 1)
    assert "4.0" in guarded.partition("\n")[2], output
