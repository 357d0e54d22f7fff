"""Which part of PyTorch computes here: torch.cuda (NVIDIA, AMD), torch.xpu (Intel) or torch.npu (Ascend)."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional, Tuple

# As torch.accelerator chooses: what a package adds to torch goes first.
_KINDS = ("npu", "cuda", "xpu")
# What hides devices from each; of torch.cuda where it is AMD's, too.
_VARIABLES = {
    "npu": ("ASCEND_RT_VISIBLE_DEVICES",),
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "hip": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    "xpu": ("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
}
# What the kinds of their devices begin with.
_MAKERS = {"npu": ("ascend",), "cuda": ("nvidia",), "hip": ("amd", "hygon"), "xpu": ("intel",)}


def backend_here() -> Optional[Tuple[str, Any]]:
    """("cuda", torch.cuda) and the like, the first that sees a device; None: the CPU computes."""
    for kind, module in _backends():
        if module.device_count() > 0:
            return kind, module
    return None


def started_backend() -> Optional[Tuple[str, Any]]:
    """The one that computes in this process already; None: none has started. It imports and starts nothing."""
    for kind, module in _backends():
        if module.is_initialized():
            return kind, module
    return None


def built_for() -> Optional[str]:
    """The kind of devices that the torch here could compute on; None: the CPU alone."""
    torch = sys.modules.get("torch")
    if hasattr(torch, "npu"):
        return "npu"
    version = getattr(torch, "version", None)
    if getattr(version, "cuda", None) is not None or getattr(version, "hip", None) is not None:
        return "cuda"
    is_xpus = getattr(version, "xpu", None) is not None or "+xpu" in str(getattr(torch, "__version__", ""))
    return "xpu" if is_xpus else None


def hiding_variables(kind: str) -> str:
    """Those that are set: "CUDA_VISIBLE_DEVICES=5,6"."""
    return ", ".join(f"{name}={os.environ[name]}" for name in _VARIABLES[_row(kind)] if name in os.environ)


def reads_other_variables(kind: str) -> bool:
    """False where the driver's library tells that it has started: CUDA has one that does."""
    return _row(kind) != "cuda"


def is_of_backend(kind: str, kind_of_device: str) -> bool:
    """Whether torch computes by it on devices of this kind ("amd-gpu")."""
    return kind_of_device.startswith(_MAKERS[_row(kind)])


def _row(kind: str) -> str:
    version = getattr(sys.modules.get("torch"), "version", None)
    return "hip" if kind == "cuda" and getattr(version, "hip", None) is not None else kind


def _backends() -> Iterator[Tuple[str, Any]]:
    torch = sys.modules.get("torch")
    for kind in _KINDS:
        module = getattr(torch, kind, None)
        if module is not None:
            yield kind, module
