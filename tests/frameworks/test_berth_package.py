"""The Python package with the frameworks themselves: what its own tests show on stand-ins."""

import os

import pytest

from conftest import E2E, HERE

PACKAGE = {
    "PYTHONPATH": f"{E2E.ROOT / 'python'}:{HERE}",
    "BERTH_LIBRARY": str(E2E.BUILD / "libberth.so.0"),
    "BERTH_HELPER": E2E.BERTH,
}


def test_the_largest_batch_is_found_and_nothing_is_left_between_tries(bed):
    told = bed(1, 4).told_by(
        """
import batch_model, berth, torch
model, left = batch_model.Model(), []
def step(batch):
    left.append(model.allocated_beside_weights())
    model.step(batch)
found = berth.find_batch_size(step, margin=0, steps=1)
tell(found=found, tries=len(model.tries), left=max(left), after=model.allocated_beside_weights(),
     reserved=torch.cuda.memory_reserved())
try:
    berth.find_batch_size(step, start=97)
except berth.Error as error:
    tell(code=error.code, text=str(error))
""",
        **PACKAGE,
    )
    assert told["found"] == 96 and told["tries"] == 14
    assert told["left"] == told["after"] == 0
    assert told["reserved"] < 600 << 20, "the cache is emptied"
    assert told["code"] == "no_memory" and "GPU 0" in told["text"]


def test_a_lease_is_in_time_until_cuda_begins(bed):
    told = bed(4, 4).told_by(
        """
import berth, torch
tell(imported=berth.cuda_state())
with berth.lease(2) as lease:
    tell(seen=torch.cuda.device_count(), asked=torch.cuda.is_available(), still=berth.cuda_state(),
         shown=os.environ["CUDA_VISIBLE_DEVICES"])
with berth.lease(only=3) as lease:
    x = torch.empty(4, device=lease.device)
    tell(device=str(x.device), begun=berth.cuda_state(), count=cuda())
try:
    berth.lease()
except berth.CudaStarted as error:
    tell(text=str(error))
""",
        **PACKAGE,
    )
    assert told["imported"] in ("not loaded", "not started")
    assert told["seen"] == 2 and told["asked"] is True and told["shown"] == "0,1"
    assert told["still"] in ("not loaded", "not started"), "torch asked NVML, as the lease told it to"
    assert told["device"] == "cuda:0" and told["begun"] == "started" and told["count"] == 1
    assert "a tensor or a model was moved to it" in told["text"]


def test_is_available_is_named_where_it_was_too_early(bed):
    told = bed(2, 4).told_by(
        """
import berth, torch
torch.cuda.is_available()
try:
    berth.lease()
except berth.CudaStarted as error:
    tell(text=str(error), torch_says=torch.cuda.is_initialized())
with berth.lease(after_init="index") as lease:
    tell(device=str(lease.device), on=str(torch.empty(1, device=lease.device).device))
""",
        **PACKAGE,
    )
    assert told["torch_says"] is False and "torch.cuda.is_available()" in told["text"]
    assert told["device"] == told["on"] == "cuda:0"


def test_a_forked_child_is_told_that_cuda_is_its_parents(bed):
    told = bed(1, 4).told_by(
        """
import berth, torch
torch.empty(1, device="cuda")
inside, outside = os.pipe()
if os.fork() == 0:
    os.write(outside, berth.cuda_state().encode())
    os._exit(0)
tell(child=os.read(inside, 100).decode())
""",
        **PACKAGE,
    )
    assert told["child"] == "inherited"


def test_memory_is_what_torch_says_and_an_error_says_more(bed):
    told = bed(1, 4).told_by(
        """
import berth, torch
berth_before = berth.log_memory()
x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
y = torch.empty(1 << 29, dtype=torch.uint8, device="cuda"); del y
now = berth.log_memory("here")
tell(before=berth_before.peak.why, allocated=now.allocated.value, peak=now.peak.value, reserved=now.reserved.value,
     reset=torch.cuda.max_memory_allocated())
try:
    with berth.oom_guard(snapshot="history.pickle"):
        z = torch.empty(1 << 33, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError as error:
    tell(text="\\n".join(error.__notes__), ooms=berth.log_memory().ooms.value, history=os.path.getsize("history.pickle"))
""",
        BERTH_MARKS=os.devnull,
        **PACKAGE,
    )
    assert told["before"] == "not sampled"
    assert (told["allocated"], told["peak"]) == (1 << 30, (1 << 30) + (1 << 29))
    assert told["reserved"] >= told["peak"]
    assert told["reset"] == 1 << 30, "the next peak counts from here"
    assert "GPU 0" in told["text"] and "1.0 GiB in tensors" in told["text"]
    assert told["ooms"] == 1 and told["history"] > 0


@pytest.mark.parametrize("trainer", ["lightning", "keras", "transformers"])
def test_trainers_mark_their_epochs(bed, tmp_path, trainer):
    marks = tmp_path / "marks"
    marks.touch()
    bed(1, 4).told_by(
        """
import berth, contextlib, trainers
name = sys.argv[1]
with contextlib.redirect_stdout(sys.stderr):
    getattr(trainers, name)([getattr(berth.callbacks, name)()])
tell(done=True)
""",
        trainer,
        BERTH_MARKS=str(marks),
        KERAS_BACKEND="torch",
        KERAS_TORCH_DEVICE="cpu",  # one of its kernels is compiled as it runs, which the stand-in cannot
        **PACKAGE,
    )
    lines = [dict(one.split("=") for one in line.split()[1:]) for line in marks.read_text().splitlines()]
    epochs = [one for one in lines if "seconds" in one]
    assert [one["epoch"] for one in epochs] == ["1", "2"]
    assert len([one for one in lines if any("loss" in name for name in one)]) >= 2, "each epoch's loss"
    peaks = [float(one["cuda_peak_mib"]) for one in lines if "cuda_peak_mib" in one]
    assert len(peaks) == (0 if trainer == "keras" else 2) and all(peaks)


def test_an_out_of_memory_in_lightning_says_more(bed):
    told = bed(1, 4).told_by(
        """
import berth, trainers, torch
class Greedy(torch.nn.Linear):
    def forward(self, x):
        return torch.empty(1 << 33, dtype=torch.uint8, device="cuda")
try:
    trainers.lightning([berth.callbacks.lightning()], Greedy(8, 1))
except torch.OutOfMemoryError as error:
    tell(text="\\n".join(error.__notes__))
""",
        **PACKAGE,
    )
    assert "GPU 0" in told["text"] and "try: a smaller batch" in told["text"]
