"""The tutorials' functions for choosing a torch.device, with what they get wrong mended."""

from __future__ import annotations

import importlib.util
import os
import sys

from .errors import Error, warn
from .leases import current_lease
from .looks import devices
from .torch_backends import backend_here, built_for, hiding_variables, is_of_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Set, Tuple

    import torch

_said: Set[str] = set()


def try_gpu(i: int = 0) -> torch.device:
    """cuda:i (Intel's xpu:i, Ascend's npu:i), or the CPU where there is no such device, which it says once.

    In a lease it is the lease's i-th. Without one it claims nothing, and warns once, naming them,
    if others compute there.
    """
    import torch

    lease = current_lease()
    if lease is not None:
        if i < len(lease.devices):
            return lease.devices[i].torch()
        _say(f"the lease has {len(lease.devices)} GPUs, so number {i} is the CPU")
        return torch.device("cpu")
    kind, count = _kind_and_count()
    if i >= count:
        _say(f"{kind}:{i} is the CPU: {_why_not(count)}")
        return torch.device("cpu")
    _warn_of_others(kind, i)
    return torch.device(kind, i)


def try_all_gpus() -> List[torch.device]:
    """Every GPU or NPU that this process sees, those of its lease where it has one; else [cpu]."""
    lease = current_lease()
    count = len(lease.devices) if lease is not None else _kind_and_count()[1]
    return [try_gpu(i) for i in range(count)] or [try_gpu()]


def local_device() -> torch.device:
    """This rank's device, already set as torch's current one: for torchrun, and for one process too.

    It is number LOCAL_RANK of those that this process sees. Where a scheduler shows each task its
    own GPU alone, it is that one.
    """
    import torch

    named, rank = _local_rank()
    found = backend_here()
    if found is None:
        _say(f"this rank computes on the CPU: {_why_not(0)}")
        return torch.device("cpu")
    kind, backend = found
    count = backend.device_count()
    if rank >= count:
        if count == 1 and named == "SLURM_LOCALID":
            rank = 0
        else:
            hidden = hiding_variables(kind)
            raise Error(
                f"{named} is {rank}, and this process sees {count} GPUs" + (f" ({hidden})" if hidden else ""),
                code="not_found",
                remedy=f"start {count} here, or lease more: berth run -n {rank + 1} -- torchrun …",
            )
    device = torch.device(kind, rank)
    backend.set_device(device)
    return device


def same_device(*tensors: Any, **named: Any) -> Any:
    """The device that all of them are on; an Error names two that are not together, and a remedy.

        berth.same_device(weight=layer.weight, x=x)

    Tensors, and modules, whose parameters all count. Names come from the keywords.
    """
    things = [(f"argument {number}", one) for number, one in enumerate(tensors, 1)] + list(named.items())
    first: Optional[Tuple[str, Any]] = None
    for name, tensor in (pair for thing in things for pair in _tensors_of(*thing)):
        if first is None:
            first = (name, tensor)
        elif tensor.device != first[1].device:
            raise Error(
                f"{_described(*first)}, but {_described(name, tensor)}",
                remedy=f"move one: {name} = {name}.to({first[0]}.device)",
            )
    if first is None:
        raise Error("same_device() was given no tensor", remedy="give it two: same_device(weight=weight, x=x)")
    return first[1].device


def _tensors_of(name: str, thing: Any) -> List[Tuple[str, Any]]:
    if hasattr(thing, "named_parameters"):
        return [(f"{name}.{inner}", one) for inner, one in thing.named_parameters()]
    if hasattr(thing, "device"):
        return [(name, thing)]
    raise Error(f"{name} is a {type(thing).__name__}, which is on no device", remedy="give tensors or modules")


def _described(name: str, tensor: Any) -> str:
    shape = list(tensor.shape) if hasattr(tensor, "shape") else ""
    return f"{name} {shape} is on {tensor.device}"


def _local_rank() -> Tuple[str, int]:
    for name in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"):
        if os.environ.get(name, "").isdigit():
            return name, int(os.environ[name])
    if int(os.environ.get("WORLD_SIZE", "1") or 1) > 1:
        raise Error(
            "WORLD_SIZE is set and LOCAL_RANK is not, so this rank's device is not known",
            code="not_found",
            remedy="start it with torchrun, or set LOCAL_RANK",
        )
    return "LOCAL_RANK", 0


def _kind_and_count() -> Tuple[str, int]:
    """What torch calls the devices here, and how many it sees."""
    import torch  # noqa: F401  # backend_here() asks what is imported

    found = backend_here()
    return (found[0], found[1].device_count()) if found else (built_for() or "cuda", 0)


def _why_not(count: int) -> str:
    import torch

    kind = built_for()
    if kind is None:
        cpu_alone = f"this torch {torch.__version__} was built for the CPU alone"
        is_left_out = "torch_npu" not in sys.modules and importlib.util.find_spec("torch_npu") is not None
        return cpu_alone + ("; import torch_npu adds Ascend's devices to it" if is_left_out else "")
    hidden = hiding_variables(kind)
    if hidden:
        return f"torch sees {count} GPUs with {hidden}"
    return f"torch sees {count} GPUs; `berth doctor` says why"


def _warn_of_others(kind: str, i: int) -> None:
    try:
        visible = [one for one in devices(visible=True) if is_of_backend(kind, one.kind)]
    except Error:
        return  # the tutorials' function works without berth's program, too
    if i >= len(visible):
        return
    others = [one for one in visible[i].processes if not one.mine]
    if others:
        who = ", ".join(f"{one.user or '?'} (pid {one.pid})" for one in others)
        _say(f"{kind}:{i} is {visible[i]}, where others compute: {who}; berth.lease() claims one for you alone")


def _say(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warn(text)
