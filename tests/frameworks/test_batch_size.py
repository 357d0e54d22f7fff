"""Looking for the largest batch on real PyTorch: batch_model.py knows the answer."""

import pytest
from conftest import HERE

MODEL = f"""
sys.path.insert(0, {str(HERE)!r})
import batch_model, gc, torch
model = batch_model.Model()
"""


def test_the_model_is_as_large_as_it_says(bed):
    told = bed(1, 4).told_by(MODEL + """
model.step(batch_model.FITS)
torch.cuda.empty_cache()
try:
    model.step(batch_model.FITS + 1)
    tell(refused=False)
except torch.OutOfMemoryError as error:
    torch.cuda.empty_cache()
    held = model.allocated_beside_weights()  # by the frame that the traceback keeps
    tell(refused=True, held=held >> 20)
gc.collect()
tell(fits=batch_model.FITS, left=model.allocated_beside_weights())
""")
    assert told == {"refused": True, "held": 97 * 20, "fits": 96, "left": 0}


@pytest.mark.parametrize(("margin", "wanted"), [(0, 96), (0.05, 91)])
def test_it_is_found_and_nothing_is_left_allocated(bed, margin, wanted):
    told = bed(1, 4).with_berth().told_by(MODEL + f"""
import berth
found = berth.find_batch_size(model.step, margin={margin}, steps=1)
tell(found=found, left=model.allocated_beside_weights(), tries=model.tries, reserved=torch.cuda.memory_reserved() >> 20)
""")
    assert (told["found"], told["left"]) == (wanted, 0)
    assert len(told["tries"]) == len(set(told["tries"])) <= 15, told["tries"]
    assert told["reserved"] == 512


def test_what_does_not_fit_at_all_is_an_error_with_the_memory(bed):
    told = bed(1, 4).with_berth().told_by(MODEL + """
import berth
try:
    berth.find_batch_size(model.step, start=200)
except berth.Error as error:
    tell(code=error.code, text=str(error), left=model.allocated_beside_weights())
""")
    assert (told["code"], told["left"]) == ("no_memory", 0)
    assert "a batch of 200 does not fit" in told["text"]


def test_two_ranks_agree_on_what_both_have_room_for(bed):
    # The second card has 1 GiB less: 69 samples fit beside it.
    told = bed(2, 4).with_berth().told_by(f"""
sys.path.insert(0, {str(HERE)!r})
rank = 0 if os.fork() else 1
import torch, torch.distributed, batch_model, berth
torch.distributed.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting"), rank=rank, world_size=2)
torch.cuda.set_device(rank)
model = batch_model.Model(f"cuda:{{rank}}")
ballast = torch.empty(rank << 30, dtype=torch.uint8, device=model.device)
found = berth.find_batch_size(model.step, margin=0, steps=1)
both = [None, None]
torch.distributed.all_gather_object(both, [found, model.allocated_beside_weights() - ballast.numel(), model.tries])
torch.distributed.destroy_process_group()
if rank == 1:
    os._exit(0)
os.wait()
tell(both=both)
""")
    first, second = told["both"]
    assert first == second and first[:2] == [69, 0]
