"""include/berth/berth.h for ctypes: its structures, its functions, how its errors become exceptions.

The one place that knows the C interface; tests/python/test_abi.py holds it to the header.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

from .errors import Error, error_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple, Type, TypeVar

    Struct = TypeVar("Struct", bound=ctypes.Structure)

SONAME = "libberth.so.0"
HERE = os.path.dirname(os.path.abspath(__file__))

# The enumerations, in the header's order.
CODES = (
    "ok", "not_found", "unsupported", "no_permission", "busy", "invalid", "timeout", "io", "none_free", "never",
    "cuda_started", "no_memory", "bug",
)  # fmt: skip
ABSENT = ("", "unsupported", "no permission", "failed", "not sampled")
DEPTHS = ("state", "everything", "details", "lists")
STATES = ("free", "reserved", "leased", "busy", "held", "unknown", "failed", "divided", "lost", "unusable")
CUDA = ("not loaded", "not started", "started", "inherited")
FROM_SERVE, FROM_HELPER = 1, 2

OK = 0


class U64(ctypes.Structure):
    _fields_ = [("value", c_uint64), ("absent", c_int32), ("zero", c_uint32)]


class F64(ctypes.Structure):
    _fields_ = [("value", c_double), ("absent", c_int32), ("zero", c_uint32)]


ON_NOTE = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("sim", c_char_p),
        ("replay", c_char_p),
        ("ledger", c_char_p),
        ("helper", c_char_p),
        ("max_age_ms", c_uint32),
        ("sources", c_uint32),
        ("on_note", ON_NOTE),
        ("user", c_void_p),
    ]


class DeviceStruct(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("index", c_int32),
        ("state", c_int32),
        ("id", c_char_p),
        ("name", c_char_p),
        ("pci", c_char_p),
        ("state_why", c_char_p),
        ("users", c_char_p),
        ("memory_total_bytes", U64),
        ("memory_used_bytes", U64),
        ("memory_free_bytes", U64),
        ("power_draw_milliwatts", U64),
        ("temperature_celsius", U64),
        ("utilization_percent", F64),
        ("compute_major", c_int32),
        ("compute_minor", c_int32),
        ("cuda_cores", c_uint64),
        ("visible_ordinal", c_int32),
        ("memory_used_is_bound", c_int32),
        ("kind", c_char_p),
        ("torch_type", c_char_p),
    ]


class ProcessStruct(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_int32),
        ("pid", c_int32),
        ("user", c_char_p),
        ("command", c_char_p),
        ("run", c_char_p),
        ("container", c_char_p),
        ("memory_bytes", U64),
        ("mine", c_int32),
        ("zero", c_int32),
    ]


class RequestStruct(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("devices", c_int32),
        ("after_init", c_int32),
        ("memory", c_char_p),
        ("only", c_char_p),
        ("except", c_char_p),
        ("prefer", c_char_p),
        ("min_compute", c_char_p),
        ("need", c_char_p),
        ("idle_for", c_char_p),
        ("name", c_char_p),
        ("record", c_int32),
        ("zero", c_int32),
        ("kind", c_char_p),
    ]


_handle = c_void_p  # berth_context*, berth_look*, …
_out = POINTER(c_void_p)  # where the library puts a handle
_error = POINTER(c_void_p)

# Name → (what it returns, what it takes), in the header's order.
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "berth_error_message": (c_char_p, [_handle]),
    "berth_error_code": (c_int, [_handle]),
    "berth_error_free": (None, [_handle]),
    "berth_version": (c_uint32, []),
    "berth_version_text": (c_char_p, []),
    "berth_open": (c_int, [POINTER(Options), _out, _error]),
    "berth_close": (None, [_handle]),
    "berth_program": (c_char_p, [_handle]),
    "berth_serve_connect": (c_int, [_handle, POINTER(c_int), _error]),
    "berth_look_now": (c_int, [_handle, c_uint32, _out, _error]),
    "berth_look_begin": (c_int, [_handle, c_uint32, POINTER(c_int), POINTER(c_int), _error]),
    "berth_look_advance": (c_int, [_handle, _out, POINTER(c_int), _error]),
    "berth_look_devices": (c_size_t, [_handle]),
    "berth_look_device": (c_int, [_handle, c_size_t, POINTER(DeviceStruct)]),
    "berth_look_processes": (c_size_t, [_handle]),
    "berth_look_process": (c_int, [_handle, c_size_t, POINTER(ProcessStruct)]),
    "berth_look_column": (c_int, [_handle, c_char_p, POINTER(c_double), POINTER(c_uint8), c_size_t, _error]),
    "berth_look_taken_unix_ms": (c_int64, [_handle]),
    "berth_look_json": (c_char_p, [_handle]),
    "berth_look_free": (None, [_handle]),
    "berth_pick": (c_int, [_handle, POINTER(RequestStruct), _out, _error]),
    "berth_pick_begin": (c_int, [_handle, POINTER(RequestStruct), POINTER(c_int), POINTER(c_int), _error]),
    "berth_pick_advance": (c_int, [_handle, _out, POINTER(c_int), _error]),
    "berth_answer_satisfied": (c_int, [_handle]),
    "berth_answer_possible": (c_int, [_handle]),
    "berth_answer_json": (c_char_p, [_handle]),
    "berth_answer_free": (None, [_handle]),
    "berth_acquire": (c_int, [_handle, POINTER(RequestStruct), _out, _out, _error]),
    "berth_wait_begin": (c_int, [_handle, POINTER(RequestStruct), c_int64, _out, _error]),
    "berth_wait_fd": (c_int, [_handle]),
    "berth_wait_step": (c_int, [_handle, _out, _error]),
    "berth_wait_news_json": (c_char_p, [_handle]),
    "berth_wait_free": (None, [_handle]),
    "berth_wait_leave": (c_int, [_handle, _error]),
    "berth_lease_id": (c_char_p, [_handle]),
    "berth_lease_run": (c_char_p, [_handle]),
    "berth_lease_devices": (c_size_t, [_handle]),
    "berth_lease_device": (c_int, [_handle, c_size_t, POINTER(DeviceStruct)]),
    "berth_lease_variables": (c_size_t, [_handle]),
    "berth_lease_variable": (c_char_p, [_handle, c_size_t, POINTER(c_char_p)]),
    "berth_lease_apply": (c_int, [_handle, _error]),
    "berth_lease_fd": (c_int, [_handle]),
    "berth_lease_free": (c_int, [_handle, _error]),
    "berth_lease_let_go": (c_int, [_handle, _error]),
    "berth_cuda_state": (c_int, []),
    "berth_mark": (c_int, [c_char_p, _error]),
}

_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """The library: what BERTH_LIBRARY names, else the wheel's own, else the system's."""
    global _loaded
    if _loaded is None:
        beside = os.path.join(HERE, "_lib", SONAME)
        path = os.environ.get("BERTH_LIBRARY") or (beside if os.path.exists(beside) else SONAME)
        try:
            found = ctypes.CDLL(path)
            for name, (result, arguments) in FUNCTIONS.items():
                function = getattr(found, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise Error(
                f"berth's library could not be loaded from {path}: {error}",
                code="not_found",
                remedy="install berth's wheel, or name the library in BERTH_LIBRARY",
            ) from None
        _loaded = found
    return _loaded


def text(raw: Optional[bytes]) -> str:
    return raw.decode("utf-8", "replace") if raw else ""


def raw(value: Optional[object]) -> Optional[bytes]:
    return None if value is None else str(value).encode("utf-8", "surrogateescape")


def sized(kind: Type[Struct]) -> Struct:
    """A structure of the header, empty but for its size."""
    made = kind()
    made.struct_size = ctypes.sizeof(kind)
    return made


def code_name(code: int) -> str:
    return CODES[code] if 0 <= code < len(CODES) else f"code {code}"


def failure(code: int, error: c_void_p) -> Error:
    """The exception for what a call answered; frees `error`."""
    said = text(library().berth_error_message(error))
    if error.value:
        library().berth_error_free(error)
    return error_of(code_name(code), said)


def call(name: str, *arguments: Any) -> None:
    """Calls a function whose last argument is a berth_error**; raises what it answers."""
    error = c_void_p()
    code = getattr(library(), name)(*arguments, ctypes.byref(error))
    if code != OK:
        raise failure(code, error)
