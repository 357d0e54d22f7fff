"""`berth run --memory` holds an unmodified CUDA build of PyTorch to its share, by each of its allocators. The error is
PyTorch's own, and the program goes on after freeing."""

import json

import pytest
from conftest import PATIENCE, PRELUDE

GIB, MIB = 1 << 30, 1 << 20
CAP = 2 * GIB
PIECE = 64 * MIB

FILL = """
import torch

def fill(piece=64 << 20, most=1 << 40):
    # What it got, and the words of the refusal: a plain error where not even a context fits.
    held, said = [], ""
    try:
        while sum(one.numel() for one in held) < most:
            held.append(torch.empty(piece, dtype=torch.uint8, device="cuda:0"))
    except RuntimeError as error:
        said = str(error)
        assert "out of memory" in said or "Allocation on device" in said, said
    return held, said
"""
ONE = FILL + """
held, said = fill()
first = sum(one.numel() for one in held)
free, total = torch.cuda.mem_get_info(0)
held.clear()
torch.cuda.synchronize()
torch.cuda.empty_cache()
held, again = fill()
tell(first=first, said=said, total=total, free=free, second=sum(one.numel() for one in held), again=again)
"""
ALLOCATORS = {"native": "", "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync"}


def job(machine, code, *words, memory="2G", **env):
    script = machine.directory / "train.py"
    script.write_text(PRELUDE + code, encoding="utf-8")
    prefix = ("run", "-q", "--memory", memory, *words, "--") if memory else ("run", "-q", "--")
    done = machine.run(*prefix, machine.python, script, timeout=PATIENCE, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    assert told, done.stdout + done.stderr
    return told


def cap_of(machine):
    return json.loads(machine.run("show", "--json").stdout)["cap"]


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_torch_is_refused_at_its_share_and_goes_on_after_freeing(bed, allocator):
    machine = bed(1, 8)
    conf = {"PYTORCH_CUDA_ALLOC_CONF": ALLOCATORS[allocator] or None}
    [told] = job(machine, ONE, **conf)
    # What its context takes counts, too.
    assert CAP - 512 * MIB < told["first"] <= CAP
    assert told["total"] == CAP and told["free"] < PIECE
    assert "llocat" in told["said"] and told["again"]
    assert told["second"] == told["first"]
    assert cap_of(machine)["tier"] == "shim"


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_the_same_program_without_a_cap_has_the_whole_card(bed, allocator):
    [told] = job(bed(1, 8), ONE, memory=None, PYTORCH_CUDA_ALLOC_CONF=ALLOCATORS[allocator] or None)
    assert told["first"] > 7 * GIB and told["total"] == 8 * GIB


def test_processes_of_one_run_share_its_cap(bed):
    code = FILL + """
import torch.multiprocessing as mp

def child(place, go, results):
    held, _ = fill(most=1 << 30)
    results.put(sum(one.numel() for one in held))
    go.wait(600)

if __name__ == "__main__":
    mp.set_start_method("spawn")
    go, results = mp.Event(), mp.Queue()
    children = [mp.Process(target=child, args=(place, go, results)) for place in range(3)]
    for one in children: one.start()
    got = [results.get(timeout=600) for _ in children]
    go.set()
    for one in children: one.join()
    held, _ = fill()
    tell(got=got, afterwards=sum(one.numel() for one in held))
"""
    [told] = job(bed(1, 8), code)
    assert 0 < sum(told["got"]) <= CAP
    assert sum(told["got"]) > CAP // 2  # contexts count, too
    # What the others had came back with their end.
    assert told["afterwards"] > CAP - 512 * MIB


def test_a_data_loader_with_workers_works_under_a_cap(bed):
    code = FILL + """
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    seen = 0
    loader = DataLoader(TensorDataset(torch.zeros(64, 1024)), batch_size=8, num_workers=2)
    for [batch] in loader:
        seen += batch.to("cuda:0").shape[0]
    held, said = fill()
    tell(seen=seen, refused=bool(said))
"""
    [told] = job(bed(1, 8), code)
    assert told == {"seen": 64, "refused": True}


def test_two_runs_on_one_card_have_each_their_own(bed):
    code = FILL + """
import pathlib, time
held, said = fill()
mine = sum(one.numel() for one in held)
here = pathlib.Path(os.environ["TOGETHER"])
(here / str(os.getpid())).touch()
for _ in range(6000):
    if len(list(here.iterdir())) == 2: break
    time.sleep(0.1)
tell(mine=mine, refused=bool(said), both=len(list(here.iterdir())))
"""
    machine = bed(1, 8)
    together = machine.directory / "together"
    together.mkdir()
    script = machine.directory / "train.py"
    script.write_text(PRELUDE + code, encoding="utf-8")
    words = ("run", "-q", "--memory", "2G", "--", machine.python, script)
    running = [machine.start(*words, env={"TOGETHER": str(together)}) for _ in range(2)]
    for one in running:
        out, err = one.communicate(timeout=PATIENCE)
        assert one.returncode == 0, err
        told = json.loads(next(line for line in out.splitlines() if line.startswith('{"')))
        assert told["both"] == 2 and told["refused"]
        assert CAP - 512 * MIB < told["mine"] <= CAP
