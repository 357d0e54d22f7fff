"""The largest batch that fits, by trying."""

from __future__ import annotations

import gc
import sys

from .errors import Error
from .memory import is_out_of_memory, memory_table
from .torch_backends import backend_here, started_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Optional

_FITS, _TOO_LARGE, _RAISED = 2, 1, 0  # the least of all ranks counts


def find_batch_size(
    fn: Callable[[int], object],
    *,
    start: int = 1,
    limit: int = 8192,
    margin: float = 0.05,
    steps: int = 3,
    restore: Optional[Callable[[], object]] = None,
) -> int:
    """The largest b, less `margin`, for which fn(b) runs `steps` times without running out of memory.

    >>> def step(batch):
    ...     if batch > 96:
    ...         raise MemoryError
    >>> find_batch_size(step, margin=0), find_batch_size(step)
    (96, 91)

    It doubles from `start`, then bisects. After each try the frames of the error are cleared and
    the caches emptied: nothing of it is left for the next. fn does a whole training step and keeps
    nothing; `restore` undoes what it changed (weights, a data loader's place). Where
    torch.distributed runs all ranks try the same and get the same: fn then communicates with no
    other rank (`no_sync()`, or the module inside DDP). Error if `start` does not fit.
    """
    if not 1 <= start <= limit or not 0 <= margin < 1 or steps < 1:
        raise Error(f"find_batch_size(start={start}, limit={limit}, margin={margin}, steps={steps}) makes no sense")
    if not _fits(fn, start, steps, restore):
        raise Error(f"a batch of {start} does not fit\n{memory_table()}", code="no_memory", remedy="start smaller")
    good, bad = start, limit + 1
    while good * 2 < bad:
        if not _fits(fn, good * 2, steps, restore):
            bad = good * 2
            break
        good *= 2
    while bad - good > 1:
        middle = (good + bad) // 2
        if _fits(fn, middle, steps, restore):
            good = middle
        else:
            bad = middle
    return good if good == limit else max(start, int(good * (1 - margin)))


def _fits(fn: Callable[[int], object], size: int, steps: int, restore: Optional[Callable[[], object]]) -> bool:
    mine, raised = _RAISED, None
    try:
        mine = _outcome(fn, size, steps)
    except Exception as error:
        raised = error
    finally:
        _free_memory()
        if restore is not None:
            restore()
    least = _least_of_all_ranks(mine)
    if raised is not None:
        raise raised
    if least == _RAISED:
        raise Error(f"another rank failed with a batch of {size}", code="invalid")
    return least == _FITS


def _outcome(fn: Callable[[int], object], size: int, steps: int) -> int:
    try:
        for _ in range(steps):
            fn(size)
        return _FITS
    except BaseException as error:
        if not is_out_of_memory(error):
            raise
        traces = _traces_of(error)
    # Only here, after `except`, does nothing hold the error any more; its frames hold the tensors.
    import traceback

    for trace in traces:
        traceback.clear_frames(trace)
    return _TOO_LARGE


def _traces_of(error: Optional[BaseException]) -> List[Any]:
    """Of it and of all that led to it; none of them keeps its own any longer."""
    found, seen = [], set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        if one.__traceback__ is not None:
            found.append(one.__traceback__)
            one.__traceback__ = None
    return found


def _free_memory() -> None:
    gc.collect()
    started = started_backend()
    if started is not None:
        started[1].empty_cache()


def _least_of_all_ranks(mine: int) -> int:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if torch is None or distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return mine
    outcome = torch.tensor([mine], device=_device_of(distributed.get_backend()))
    distributed.all_reduce(outcome, op=distributed.ReduceOp.MIN)
    return int(outcome.item())


def _device_of(backend: str) -> str:
    """Where a tensor has to be that all ranks reduce: the makers' backends (nccl, hccl, xccl) take no CPU's."""
    # "undefined": torch chose one for each kind of device; "cpu:gloo,cuda:nccl": the program did.
    if backend in ("gloo", "mpi", "undefined") or "cpu:" in backend:
        return "cpu"
    found = backend_here()
    return found[0] if found is not None else "cpu"
