"""Marks: a job's progress in its run's record."""

from __future__ import annotations

import ctypes
import os

from . import _abi
from .errors import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_warned = False


def mark(text: str = "", **numbers: Any) -> None:
    """Notes progress, "epoch=3 loss=0.12", where `berth show` and `report` have it beside the curves.

    Numbers may be tensors of one element. Silent outside a run. Ends no training: what cannot be
    written is warned of, once.
    """
    if not os.environ.get("BERTH_MARKS"):
        return
    words = [" ".join(text.split())] if text else []
    words += [f"{name}={_short(value)}" for name, value in numbers.items()]
    error = ctypes.c_void_p()
    code = _abi.library().berth_mark(" ".join(words).encode("utf-8", "replace"), ctypes.byref(error))
    if code != _abi.OK:
        _warn_once(str(_abi.failure(code, error)))


def _warn_once(text: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warn(text)


def _short(value: Any) -> str:
    if isinstance(value, (int, str)):
        return str(value)
    return f"{float(value):.6g}"
