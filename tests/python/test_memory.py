"""log_memory, oom_guard, mark: with a stand-in for torch's allocator, and a run's real record."""

import json
import sys
import types
import warnings

import pytest

from conftest import PYTHON

import berth
from berth import memory


class Allocator:
    """A torch whose allocator holds what the test says."""

    def __init__(self, fails=False):
        self.fails, self.resets, self.recorded, self.started = fails, 0, [], True
        self.numbers = {"current": 3 << 30, "peak": 5 << 30, "reserved": 8 << 30, "split": 2 << 30}

    def stats(self):
        if self.fails:
            raise RuntimeError("CUDAPluggableAllocator does not yet support getDeviceStats.")
        one = lambda **numbers: {"all": numbers}
        return {
            "allocated_bytes": one(current=self.numbers["current"], peak=self.numbers["peak"]),
            "reserved_bytes": one(current=self.numbers["reserved"]),
            "inactive_split_bytes": one(current=self.numbers["split"]),
            "num_alloc_retries": 2,
            "num_ooms": 1,
        }

    def reset(self):
        self.resets += 1

    def module(self):
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(
            is_initialized=lambda: self.started, memory_stats_as_nested_dict=self.stats, current_device=lambda: 0,
            reset_peak_memory_stats=self.reset, empty_cache=lambda: None,
            memory=types.SimpleNamespace(
                _record_memory_history=lambda **how: self.recorded.append(how),
                _dump_snapshot=lambda path: open(path, "w").close(),
            ),
        )  # fmt: skip
        return torch


@pytest.fixture
def allocator(monkeypatch):
    made = Allocator()
    monkeypatch.setitem(sys.modules, "torch", made.module())
    return made


@pytest.fixture
def marks(tmp_path, monkeypatch):
    file = tmp_path / "marks"
    file.touch()
    monkeypatch.setenv("BERTH_MARKS", str(file))
    return lambda: [line.partition(" ")[2] for line in file.read_text().splitlines()]


def test_what_the_allocator_says_is_told_and_marked(here, allocator, marks):
    now = berth.log_memory("epoch 1")
    told = {name: getattr(now, name).value for name in now.NAMES}
    assert told == {
        "allocated": 3 << 30, "peak": 5 << 30, "reserved": 8 << 30, "split": 2 << 30, "retries": 2, "ooms": 1,
        "process": None,
    }  # fmt: skip
    assert marks() == ["epoch 1 cuda_allocated_mib=3072 cuda_peak_mib=5120 cuda_reserved_mib=8192"]
    assert allocator.resets == 1
    berth.log_memory(reset_peak=False)
    assert allocator.resets == 1 and len(marks()) == 2
    assert "peak 5.0 GiB" in repr(now)


def test_of_intel_it_is_what_its_allocator_counts(here, monkeypatch, marks):
    one = lambda **numbers: {"all": numbers}
    stats = {"allocated_bytes": one(current=3 << 30, peak=5 << 30), "reserved_bytes": one(current=8 << 30)}
    resets = []
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: False)
    torch.xpu = types.SimpleNamespace(
        is_initialized=lambda: True, memory_stats_as_nested_dict=lambda: stats, current_device=lambda: 0,
        reset_peak_memory_stats=lambda: resets.append(1),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", torch)
    now = berth.log_memory()
    assert marks() == ["xpu_allocated_mib=3072 xpu_peak_mib=5120 xpu_reserved_mib=8192"] and resets == [1]
    assert (now.split.why, now.ooms.why) == ("unsupported", "unsupported")
    table = memory.memory_table()
    assert "8.0 GiB reserved\n" in table and "GPU 0" not in table, "that is no xpu:0"
    with pytest.raises(MemoryError), berth.oom_guard(snapshot="none"):
        raise MemoryError("full")


def test_ascends_allocator_has_a_variable_of_its_own(here, allocator):
    torch = sys.modules["torch"]
    torch.npu, torch.cuda = torch.cuda, types.SimpleNamespace(is_initialized=lambda: False)
    assert "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True" in memory.memory_table()


def test_where_nobody_can_say_it_is_absent_with_its_reason(here, allocator, marks):
    allocator.fails = True
    assert berth.log_memory().peak.why == "unsupported"
    allocator.started = False
    assert berth.log_memory().peak.why == "not sampled"
    assert marks() == [] and allocator.resets == 0


def test_what_the_driver_says_of_this_process(here, allocator, monkeypatch):
    assert berth.log_memory(driver=True).process.why == "not sampled", "it is on no device"
    pid = berth.look().processes[0].pid
    monkeypatch.setattr("os.getpid", lambda: pid)
    assert memory._of_process().value == berth.look().processes[0].memory.value > 1 << 30


def test_torchs_own_statistics_have_these_names():
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    assert callable(torch.cuda.memory_stats_as_nested_dict) and callable(torch.cuda.reset_peak_memory_stats)
    assert torch.cuda.memory_stats_as_nested_dict() == {}, "before CUDA starts"


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (MemoryError(), True),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (type("ResourceExhaustedError", (Exception,), {})("OOM when allocating tensor"), True),
        (type("XlaRuntimeError", (RuntimeError,), {})("RESOURCE_EXHAUSTED: Out of memory allocating"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_out_of_memory_is_told_by_name(error, is_one):
    assert memory.is_out_of_memory(error) is is_one


def notes(raised):
    return "\n".join(getattr(raised.value, "__notes__", [])) or str(raised.value)


def test_the_guard_says_who_holds_the_memory_and_what_to_try(here, allocator):
    error = type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory")
    with pytest.raises(RuntimeError, match="CUDA out of memory") as raised, berth.oom_guard():
        raise error
    told = notes(raised)
    assert "GPU 0 (NVIDIA H100 80GB HBM3)" in told
    assert "alice holds" in told and "pid 21871" in told
    assert "5.0 GiB at the peak, 8.0 GiB reserved, 2.0 GiB of it in pieces" in told
    assert "expandable_segments" in told and "a GPU of your own" in told


def test_in_a_lease_of_its_own_others_and_pieces_are_no_cause(here, allocator):
    allocator.numbers["split"] = 0
    with berth.lease(), pytest.raises(MemoryError) as raised, berth.oom_guard():
        raise MemoryError("full")
    told = notes(raised)
    assert "GPU 3" in told and "find_batch_size" in told
    assert "expandable_segments" not in told and "a GPU of your own" not in told


def test_the_guard_leaves_other_errors_alone_and_needs_no_program(here, allocator, monkeypatch):
    with pytest.raises(ValueError) as raised, berth.oom_guard():
        raise ValueError("wrong")
    assert not hasattr(raised.value, "__notes__")
    monkeypatch.setenv("BERTH_HELPER", "/nonexistent/berth")
    with pytest.raises(MemoryError) as raised, berth.oom_guard():
        raise MemoryError("full")
    assert "others: not known" in notes(raised) and "5.0 GiB at the peak" in notes(raised)


def test_the_guard_keeps_memorys_history(here, allocator, tmp_path):
    history = tmp_path / "history.pickle"
    with pytest.raises(MemoryError) as raised, berth.oom_guard(snapshot=history):
        raise MemoryError("full")
    assert history.exists() and str(history) in notes(raised)
    assert [sorted(how) for how in allocator.recorded] == [["max_entries"], ["enabled"]]


def test_before_python_3_11_the_note_joins_the_message():
    class Old(Exception):
        add_note = property(lambda self: (_ for _ in ()).throw(AttributeError("add_note")))

    error = Old("full", 2)
    memory.add_note(error, "more")
    assert error.args == ("full\nmore", 2)


def test_a_mark_is_in_the_runs_record(desk):
    code = """
import berth
class Tensor:
    def __float__(self): return 0.123456789
berth.mark("begin of\\n two", epoch=3, loss=Tensor(), rate=1e-4)
"""
    assert desk.run("run", "-q", "--", PYTHON, "-c", code).returncode == 0
    [mark] = json.loads(desk.run("show", "last", "--json").stdout)["marks"]
    assert mark["text"] == "begin of two epoch=3 loss=0.123457 rate=0.0001"


def test_a_mark_outside_a_run_is_silent_and_one_that_cannot_be_written_is_warned_of_once(here, monkeypatch, tmp_path):
    monkeypatch.setattr("berth.marks._warned", False)
    monkeypatch.delenv("BERTH_MARKS", raising=False)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        berth.mark(epoch=1)
        assert warned == []
        monkeypatch.setenv("BERTH_MARKS", str(tmp_path / "gone" / "marks"))
        berth.mark(epoch=2)
        berth.mark(epoch=3)
    assert len(warned) == 1 and "gone" in str(warned[0].message)
