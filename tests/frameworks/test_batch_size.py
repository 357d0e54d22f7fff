"""Looking for the largest batch on real PyTorch: batch_model.py knows the answer."""

from conftest import E2E, HERE

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
