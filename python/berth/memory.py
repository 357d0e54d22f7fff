"""Memory in numbers: of PyTorch's allocator, of the driver, and in the text of an out-of-memory error."""

from __future__ import annotations

import os

from .errors import Error
from .leases import current_lease
from .looks import look
from .marks import mark
from .reading import Reading, gib
from .torch_backends import started_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, List, Optional, Type, Union

    from .looks import Device


class Memory:
    """Bytes, each a Reading: absent with its reason where torch has no GPU to ask."""

    allocated: Reading[int]  # in tensors now
    peak: Reading[int]  # the most in tensors since the last reset
    reserved: Reading[int]  # what PyTorch holds of the device, tensors or not
    split: Reading[int]  # of that, free pieces of blocks in use: fragmentation
    retries: Reading[int]  # how often the cache was emptied to get memory
    ooms: Reading[int]
    process: Reading[int]  # what the driver says that this process holds

    NAMES = ("allocated", "peak", "reserved", "split", "retries", "ooms", "process")

    def __init__(self, **readings: Reading[int]) -> None:
        for name in self.NAMES:
            setattr(self, name, readings.get(name, Reading(None, "not sampled")))

    def __repr__(self) -> str:
        shown = [f"{name} {getattr(self, name)}" for name in self.NAMES if getattr(self, name).value is not None]
        return f"<berth.Memory {', '.join(shown) or 'not known'}>"


def memory(*, driver: bool = False) -> Memory:
    """This process's memory on torch's current device. Starts none.

    `driver`: also what the driver says that this process holds, which takes a look (1 to 5 ms).
    """
    found = _allocator()
    if driver:
        found["process"] = _of_process()
    return Memory(**found)


def log_memory(label: Optional[str] = None, *, reset_peak: bool = True, driver: bool = False) -> Memory:
    """memory(), also marked in the run's record (MiB), where `berth show` and `report` have it.

    The marks begin with what torch calls the device: cuda_peak_mib, xpu_peak_mib, npu_peak_mib.
    `reset_peak`: the next peak counts from here, so that one call an epoch shows a leak.
    """
    now = memory(driver=driver)
    started = started_backend()
    kind = started[0] if started is not None else "cuda"  # of the driver's number alone
    numbers = {
        f"{kind}_{name}_mib": round(value / 2**20, 1)
        for name in ("allocated", "peak", "reserved", "process")
        for value in [getattr(now, name).value]
        if value is not None
    }
    if numbers:
        mark(label or "", **numbers)
        if reset_peak and now.peak.value is not None and started is not None:
            started[1].reset_peak_memory_stats()
    return now


def _allocator() -> Dict[str, Reading[int]]:
    names = Memory.NAMES[:-1]
    started = started_backend()
    if started is None:
        return {name: Reading(None, "not sampled") for name in names}
    try:
        stats = started[1].memory_stats_as_nested_dict()
    except Exception:  # a pluggable allocator keeps none
        return {name: Reading(None, "unsupported") for name in names}
    return {
        "allocated": _bytes_in(stats, "allocated_bytes", "current"),
        "peak": _bytes_in(stats, "allocated_bytes", "peak"),
        "reserved": _bytes_in(stats, "reserved_bytes", "current"),
        "split": _bytes_in(stats, "inactive_split_bytes", "current"),
        "retries": _told(stats.get("num_alloc_retries")),
        "ooms": _told(stats.get("num_ooms")),
    }


def _told(number: Optional[int], in_bytes: bool = False) -> Reading[int]:
    """torch.xpu's allocator counts fewer things than torch.cuda's."""
    return Reading(None, "unsupported") if number is None else Reading(number, in_bytes=in_bytes)


def _bytes_in(stats: Dict[str, Any], what: str, when: str) -> Reading[int]:
    return _told(stats.get(what, {}).get("all", {}).get(when), in_bytes=True)


def _of_process() -> Reading[int]:
    own = [one.memory for one in look().processes if one.pid == os.getpid()]
    missing = [one for one in own if one.value is None]
    if missing or not own:
        return missing[0] if missing else Reading(None, "not sampled")
    return Reading(sum(one.value or 0 for one in own), in_bytes=True)


# By name, so that nothing is imported: torch and cupy; TensorFlow; Python and numpy.
_TYPES = {"OutOfMemoryError", "ResourceExhaustedError", "MemoryError", "_ArrayMemoryError"}
# Older torch, JAX, cuBLAS and the CPU's allocator say it in words.
_WORDS = (
    "out of memory",
    "RESOURCE_EXHAUSTED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "not enough memory: you tried to allocate",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it says that memory did not suffice, whichever framework raised it."""
    if any(kind.__name__ in _TYPES for kind in type(error).__mro__):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _WORDS)


def memory_table() -> str:
    """Who holds what of this process's device, and what to try. Never raises."""
    now = memory()
    lines: List[str] = []
    device: Optional[Device] = None
    try:
        device = _own_device()
    except Error as error:
        lines.append(f"  others: not known ({error})")
    if device:
        free, total = gib(device.memory_free.value), gib(device.memory_total.value)
        lines.append(f"berth: {device} ({device.name}): {free} of {total} free")
    else:
        lines.insert(0, "berth: memory")
    if now.peak.value is not None:
        pieces = f", {gib(now.split.value)} of it in pieces" if now.split.value is not None else ""
        lines.append(
            f"  this process: {gib(now.allocated.value)} in tensors, {gib(now.peak.value)} at the peak,"
            f" {gib(now.reserved.value)} reserved{pieces}"
        )
    others = [one for one in device.processes if not one.mine] if device else []
    for one in others:
        lines.append(f"  {one.user or '?'} holds {gib(one.memory.value)}: pid {one.pid} {one.command or ''}".rstrip())
    return "\n".join(lines + [f"  try: {step}" for step in _steps_to_try(now, bool(others))])


def _own_device() -> Optional[Device]:
    """The one that torch computes on now, as a fresh look sees it."""
    lease = current_lease()
    started = started_backend()
    if started is None and (lease is None or not lease.devices):
        return None
    kind, ordinal = (started[0], started[1].current_device()) if started is not None else ("cuda", 0)
    seen = {one.id: one for one in look(sim=lease.sim if lease else None).devices}
    if lease is not None and ordinal < len(lease.devices):
        return seen.get(lease.devices[ordinal].id)
    return next((one for one in seen.values() if one.ordinal == ordinal and one.torch_type == kind), None)


def _steps_to_try(now: Memory, has_others: bool) -> List[str]:
    found = []
    if has_others:
        found.append("a GPU of your own: berth.lease(wait=True)")
    reserved, split = now.reserved.value, now.split.value
    if reserved and split and split * 10 > reserved:
        started = started_backend()
        kind = "" if started is None else started[0]
        name = {"cuda": "PYTORCH_CUDA_ALLOC_CONF", "npu": "PYTORCH_NPU_ALLOC_CONF"}.get(kind)
        if name is not None:  # torch.xpu has none
            found.append(f"{name}=expandable_segments:True, against memory in pieces")
    found.append("a smaller batch: berth.find_batch_size(); the same in pieces: `berth recipes show accumulate`")
    found.append("half the bytes: `berth recipes show mixed_precision`")
    return found


class oom_guard:
    """Adds to an out-of-memory error who holds the memory and what to try, and lets it go on.

        with berth.oom_guard():
            train()

    `snapshot`: a file for torch's memory history (torch 2.1 and newer, docs.pytorch.org/memory_viz).
    """

    def __init__(self, *, snapshot: Optional[Union[str, "os.PathLike[str]"]] = None) -> None:
        self._snapshot = snapshot

    def __enter__(self) -> "oom_guard":
        if self._snapshot is not None:
            self._record(True)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if error is not None and is_out_of_memory(error):
            told = memory_table()
            if self._snapshot is not None and self._dump():
                told += f"\n  memory's history: {os.fspath(self._snapshot)}"
            add_note(error, told)
        if self._snapshot is not None:
            self._record(False)

    def _record(self, begin: bool) -> None:
        history = _history("_record_memory_history")
        if history:
            history(max_entries=100_000) if begin else history(enabled=None)

    def _dump(self) -> bool:
        dump = _history("_dump_snapshot")
        if dump is None or self._snapshot is None:
            return False
        dump(os.fspath(self._snapshot))
        return True


def _history(name: str) -> Any:
    started = started_backend()
    return getattr(getattr(started[1], "memory", None), name, None) if started is not None else None


def add_note(error: BaseException, text: str) -> None:
    """As Python 3.11 has it; before, the note joins the message."""
    if hasattr(error, "add_note"):
        error.add_note(text)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
