"""find_batch_size: the number, what is left between tries, and that ranks agree."""

import gc
import sys
import types
import weakref

import pytest

from conftest import PYTHON

import berth


class OutOfMemoryError(RuntimeError):
    pass


class Card:
    """Memory for so many samples, which tensors hold until they die."""

    def __init__(self, room):
        self.room, self.tensors, self.tried, self.left = room, [], [], []

    def alive(self):
        self.tensors = [one for one in self.tensors if one() is not None]
        return sum(one().size for one in self.tensors)

    def allocate(self, size):
        class Tensor:
            pass

        tensor = Tensor()
        tensor.size = size
        self.tensors.append(weakref.ref(tensor))
        if self.alive() > self.room:
            raise OutOfMemoryError(f"Tried to allocate {size}")
        return tensor

    def step(self, batch):
        if not self.tried or self.tried[-1] != batch:
            self.left.append(self.alive())
        self.tried.append(batch)
        activations = self.allocate(batch)
        try:
            gradients = self.allocate(batch)
        except OutOfMemoryError as error:
            raise OutOfMemoryError("in backward") from error  # a chain, each with its frames
        return activations, gradients


@pytest.mark.parametrize("fits", [1, 2, 3, 64, 96, 97, 511])
def test_it_is_the_largest_that_fits(fits):
    card = Card(2 * fits + 1)
    gc.disable()  # nothing but clearing may free what a cycle does not hold
    try:
        assert berth.find_batch_size(card.step, margin=0) == fits
    finally:
        gc.enable()
    assert set(card.left) == {0}, "a try began with what another had left"


def test_nothing_is_left_where_somebody_keeps_the_traceback():
    """As reporters of errors do: it holds the frames, and these hold tensors."""
    card, kept = Card(20), []

    def step(batch):
        try:
            card.step(batch)
        except OutOfMemoryError:
            kept.append(sys.exc_info()[2])
            raise

    assert berth.find_batch_size(step, margin=0) == 10
    assert kept and set(card.left) == {0}


def test_torchs_cache_is_emptied_after_each_try(monkeypatch):
    emptied, tried = [], []
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, empty_cache=lambda: emptied.append(len(tried)))
    monkeypatch.setitem(sys.modules, "torch", torch)
    berth.find_batch_size(tried.append, limit=4, steps=1)
    assert emptied == [1, 2, 3]


@pytest.mark.parametrize("kind", ["xpu", "npu"])
def test_the_cache_that_is_emptied_is_that_of_the_device(monkeypatch, kind):
    emptied = []
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: False)
    setattr(torch, kind, types.SimpleNamespace(is_initialized=lambda: True, empty_cache=lambda: emptied.append(1)))
    monkeypatch.setitem(sys.modules, "torch", torch)
    berth.find_batch_size(lambda batch: None, limit=4, steps=1)
    assert emptied == [1, 1, 1]


@pytest.mark.parametrize(
    ("backend", "device"),
    [("gloo", "cpu"), ("mpi", "cpu"), ("undefined", "cpu"), ("cpu:gloo,npu:hccl", "cpu"), ("hccl", "npu"), ("flagcx", "npu")],
)
def test_ranks_reduce_a_tensor_that_their_backend_takes(monkeypatch, backend, device):
    made = []

    def tensor(numbers, device):
        made.append(device)
        return types.SimpleNamespace(item=lambda: numbers[0])

    torch = types.ModuleType("torch")
    torch.tensor = tensor
    torch.npu = types.SimpleNamespace(is_initialized=lambda: False, device_count=lambda: 1)
    torch.distributed = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_backend=lambda: backend,
        all_reduce=lambda tensor, op: None, ReduceOp=types.SimpleNamespace(MIN="min"),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert berth.find_batch_size(lambda batch: None, limit=1, steps=1) == 1
    assert made == [device]


def test_tries_double_then_bisect():
    card = Card(2 * 96)
    assert berth.find_batch_size(card.step, margin=0, steps=1) == 96
    assert card.tried == [1, 2, 4, 8, 16, 32, 64, 128, 96, 112, 104, 100, 98, 97]


def test_margin_limit_and_steps():
    assert berth.find_batch_size(Card(200).step) == 95
    assert berth.find_batch_size(Card(2).step) == 1, "never below the start"
    assert berth.find_batch_size(Card(10**9).step, limit=100) == 100
    calls = []
    assert berth.find_batch_size(calls.append, limit=4, steps=2) == 4
    assert calls == [1, 1, 2, 2, 4, 4]


def test_a_later_step_counts():
    def step(batch, seen=[]):
        seen.append(batch)
        if batch > 7 and seen.count(batch) == 3:
            raise MemoryError

    assert berth.find_batch_size(step, margin=0) == 7


def test_restore_runs_after_each_try():
    log = []
    berth.find_batch_size(log.append, limit=2, steps=2, restore=lambda: log.append("restored"))
    assert log == [1, 1, "restored", 2, 2, "restored"]


def test_a_start_that_does_not_fit_is_an_error_with_the_memory(here):
    with pytest.raises(berth.Error, match=r"(?s)a batch of 8 does not fit.*try: a smaller batch.*start smaller") as raised:
        berth.find_batch_size(Card(10).step, start=8)
    assert raised.value.code == "no_memory"


def test_other_errors_go_through_and_what_was_changed_is_restored():
    restored = []

    def step(batch):
        raise ValueError("a shape is wrong")

    with pytest.raises(ValueError, match="a shape is wrong"):
        berth.find_batch_size(step, restore=lambda: restored.append(1))
    assert restored == [1]


@pytest.mark.parametrize("how", [{"start": 0}, {"start": 9, "limit": 8}, {"margin": 1}, {"steps": 0}])
def test_nonsense_is_refused(how):
    with pytest.raises(berth.Error, match="makes no sense"):
        berth.find_batch_size(lambda batch: None, **how)


RANK = """
import os, sys, torch, berth
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[1], world_size=2, rank=int(sys.argv[2]))
room, tried = int(sys.argv[3]), []
def step(batch):
    tried.append(batch)
    if batch > room and room > 0: raise MemoryError
    if batch > -room and room < 0: raise ValueError("wrong here")
try:
    print(berth.find_batch_size(step, margin=0, steps=1), len(tried))
except (berth.Error, ValueError) as error:
    print(error)
"""


@pytest.mark.parametrize(("rooms", "said"), [((40, 23), ["23 10", "23 10"]), ((40, -3), ["another rank failed", "wrong here"])])
def test_all_ranks_get_the_least(desk, rooms, said):
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    if not torch.distributed.is_available():
        pytest.skip("this torch has no torch.distributed")
    meeting = desk.directory / "meeting"
    ranks = [desk.start_python(RANK, meeting, rank, room) for rank, room in enumerate(rooms)]
    for rank, wanted in zip(ranks, said):
        output, errors = rank.communicate(timeout=100)
        assert wanted in output, errors
