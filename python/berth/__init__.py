"""berth for Python: which GPUs there are, and one of them for this process, which nobody else is given.

    import berth

    with berth.lease(memory="10G", wait=True) as lease:
        model.to(lease.device)

Imports neither torch nor numpy, and starts no CUDA. Asks the driver in a helper process, so a card
that hangs never hangs yours. doc/LIBRARY.md leads through it.
"""

from __future__ import annotations

from .errors import CudaStarted, Error, NeverPossible, NoneFree
from .leases import AsyncLease, Lease, News, async_lease, cuda_state, lease
from .looks import Device, Look, Process, Watch, devices, look, watch
from .marks import mark
from .placement import Placement
from .reading import Reading
from .request import pick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List

    __version__: str
    from . import callbacks
    from .batch import find_batch_size
    from .explanations import Explanation, explain
    from .memory import Memory, log_memory, oom_guard
    from .torch_devices import local_device, same_device, try_all_gpus, try_gpu

__all__ = [
    "AsyncLease", "CudaStarted", "Device", "Error", "Explanation", "Lease", "Look", "Memory", "NeverPossible",
    "News", "NoneFree", "Placement", "Process", "Reading", "Watch", "async_lease", "callbacks", "cuda_state",
    "devices", "explain", "find_batch_size", "lease", "local_device", "log_memory", "look", "mark",
    "oom_guard", "pick", "same_device", "try_all_gpus", "try_gpu", "watch",
]  # fmt: skip

# Loaded where they are asked for.
_LATER = {
    "find_batch_size": "batch",
    "Explanation": "explanations",
    "explain": "explanations",
    "Memory": "memory",
    "log_memory": "memory",
    "oom_guard": "memory",
    "local_device": "torch_devices",
    "same_device": "torch_devices",
    "try_all_gpus": "torch_devices",
    "try_gpu": "torch_devices",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        return _version()
    if name == "callbacks":
        return import_module(".callbacks", __name__)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def _version() -> str:
    """The library's."""
    from ._abi import library, text

    try:
        return text(library().berth_version_text())
    except Error as error:
        raise AttributeError(f"berth.__version__ is the library's: {error}") from None


def __dir__() -> List[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext berth`."""
    from .magic import register

    register(shell)
