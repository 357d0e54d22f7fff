"""A CUDA build of PyTorch on the stand-ins: what is real of it (memory, devices, errors), and its texts."""

import pytest

GIB = 1 << 30


def test_it_sees_the_cards_that_the_driver_tells(bed):
    machine = bed(3, 4)
    told = machine.told_by("""
import torch
one = torch.cuda.get_device_properties(1)
tell(cuda=torch.version.cuda, count=torch.cuda.device_count(), name=one.name, uuid=str(one.uuid),
     total=one.total_memory, capability=torch.cuda.get_device_capability(1), free=torch.cuda.mem_get_info(1)[0])
""")
    assert told["cuda"].startswith("12.") and told["count"] == 3
    assert told["name"] == machine.cards[1]["name"]
    assert "GPU-" + told["uuid"] == machine.cards[1]["uuid"]
    assert told["total"] == told["free"] == 4 * GIB
    assert told["capability"] == [9, 0]


def test_its_allocator_is_the_real_one_and_knows_each_card(bed):
    told = bed().told_by("""
import torch
x = torch.empty(512 << 20, dtype=torch.uint8, device="cuda:1")
with_x = torch.cuda.memory_stats(1)["allocated_bytes.all.current"], torch.cuda.mem_get_info(1)[0], torch.cuda.mem_get_info(0)[0]
del x
kept = torch.cuda.memory_reserved(1), torch.cuda.memory_allocated(1)
torch.cuda.empty_cache()
tell(with_x=with_x, kept=kept, after=torch.cuda.mem_get_info(1)[0], peak=torch.cuda.max_memory_allocated(1))
""")
    assert told["with_x"] == [GIB // 2, 4 * GIB - GIB // 2, 4 * GIB]
    assert told["kept"] == [GIB // 2, 0]
    assert (told["after"], told["peak"]) == (4 * GIB, GIB // 2)


def test_a_tensor_goes_to_the_card_and_comes_back(bed):
    told = bed().told_by("""
import torch
x = torch.arange(1000, dtype=torch.int32)
tell(same=bool((x.to("cuda:0").to("cuda:1").cpu() == x).all()), zero=int(torch.zeros(10**6, device="cuda").cpu().sum()))
""")
    assert told == {"same": True, "zero": 0}


def test_a_card_is_full_when_it_is_full_and_is_usable_afterwards(bed):
    told = bed().told_by("""
import torch
kept = []
try:
    while len(kept) < 100:
        kept.append(torch.empty(500 << 20, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError as error:
    text = str(error)
fitted = len(kept)
del kept
torch.cuda.empty_cache()
again = torch.empty(4000 << 20, dtype=torch.uint8, device="cuda").numel()
tell(text=text, fitted=fitted, again=again, ooms=torch.cuda.memory_stats()["num_ooms"])
""")
    assert told["fitted"] == 8 and told["again"] == 4000 << 20 and told["ooms"] == 1
    assert told["text"].startswith(
        "CUDA out of memory. Tried to allocate 500.00 MiB. GPU 0 has a total capacity of 4.00 GiB"
    )
    assert "Of the allocated memory 3.91 GiB is allocated by PyTorch" in told["text"]


@pytest.mark.parametrize("settings", ["expandable_segments:True", "backend:cudaMallocAsync"])
def test_its_other_allocators_meet_the_cards_end_too(bed, settings):
    told = bed().told_by("""
import torch
kept = []
try:
    while len(kept) < 100:
        kept.append(torch.empty(500 << 20, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError as error:
    text = str(error)
fitted = len(kept)
del kept
torch.cuda.empty_cache()
tell(text=text, fitted=fitted, free=torch.cuda.mem_get_info()[0])
""", PYTORCH_CUDA_ALLOC_CONF=settings)  # fmt: skip
    # A segment that is being extended holds its 20 MiB pieces until it is given up.
    assert told["fitted"] in (7, 8) and told["text"]
    assert told["free"] == 4 * GIB


def test_mixed_devices_and_a_number_too_many_are_said_in_its_own_words(bed):
    told = bed().told_by("""
import torch
def said(act):
    try:
        act()
    except RuntimeError as error:
        return str(error)
here = torch.ones(2, device="cuda:0")
tell(cards=said(lambda: here + torch.ones(2, device="cuda:1")), cpu=said(lambda: here + torch.ones(2)),
     beyond=said(lambda: torch.ones(2, device="cuda:7")))
""")
    assert told["cards"].endswith("at least two devices, cuda:0 and cuda:1!")
    assert told["cpu"].endswith("at least two devices, cuda:0 and cpu!")
    assert told["beyond"].startswith("CUDA error: invalid device ordinal")


def test_a_forked_child_of_who_began_cuda_cannot(bed):
    told = bed().told_by("""
import torch
torch.ones(2, device="cuda")
before = cuda()
reader, writer = os.pipe()
if os.fork() == 0:
    try:
        torch.ones(2, device="cuda")
    except RuntimeError as error:
        os.write(writer, json.dumps([cuda(), str(error)]).encode())
    os._exit(0)
os.wait()
tell(before=before, child=json.loads(os.read(reader, 4096)), after=cuda())
""")
    assert told["before"] == told["after"] == 2
    state, text = told["child"]
    # The driver of a child answers as if nobody had begun: the state before the fork must be remembered.
    assert state == "not begun"
    assert text.startswith("Cannot re-initialize CUDA in forked subprocess.")


def test_what_a_kernel_did_wrong_comes_up_at_the_next_wait(bed):
    told = bed().told_by("""
import torch
x = torch.ones(2, device="cuda")
os.environ["BERTH_FAKE_CUDA_FAULT"] = "cuCtxSynchronize=700"
try:
    torch.cuda.synchronize()
except RuntimeError as error:
    tell(text=str(error))
""")
    assert told["text"].startswith("CUDA error: an illegal memory access was encountered")


def test_no_memory_of_a_card_is_resident_before_it_is_written_to(bed):
    told = bed(1, 64).told_by("""
import torch
def resident():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS"))) >> 10
torch.ones(2, device="cuda")
before = resident()
x = torch.zeros(60 << 30, dtype=torch.uint8, device="cuda")
tell(grown=resident() - before, allocated=torch.cuda.memory_allocated() >> 30)
""")
    assert told["allocated"] == 60 and told["grown"] < 500, told


def test_a_training_step_runs_through_and_leaves_its_peak(bed):
    told = bed(1, 4).told_by("""
import torch
model = torch.nn.Sequential(torch.nn.Linear(1000, 4000), torch.nn.ReLU(), torch.nn.Linear(4000, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
weights = torch.cuda.memory_allocated()
loss = torch.nn.functional.cross_entropy(model(torch.zeros(32, 1000, device="cuda")), torch.zeros(32, dtype=torch.long, device="cuda"))
loss.backward()
optimizer.step()
tell(weights=weights >> 20, now=torch.cuda.memory_allocated() >> 20, peak=torch.cuda.max_memory_allocated() >> 20)
""")
    # Four bytes each of a weight, its gradient and its two moments; beside them what cuBLAS works in.
    assert told["weights"] in (15, 16) and told["peak"] >= told["now"] >= 4 * 15
