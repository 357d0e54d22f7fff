"""What berth raises, each with a word for programs and a step for people."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from .placement import Placement


# What is the same word here; the program's --min-compute is min_compute= and its -n 2 n=2.
_FLAGS = ("memory", "only", "except", "prefer", "need", "min-compute", "idle-for", "name", "wait", "record", "sim")
# How a way out begins that ends a message of the library.
_WAYS_OUT = ("write", "lease", "ask", "begin", "install", "name", "set", "start", "try", "use")


class Error(Exception):
    """Something that berth was asked for and could not do.

    `code` is a word for programs: "not_found", "io", "none_free" … (berth_code in berth.h).
    `remedy` is what to try next; it also ends the message.
    """

    code: str
    remedy: Optional[str]

    def __init__(self, message: str, *, code: str = "invalid", remedy: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code
        self.remedy = remedy

    def __str__(self) -> str:
        said = str(self.args[0]) if self.args else ""
        return f"{said}; {self.remedy}" if self.remedy else said


class NoneFree(Error):
    """No such device is free now. `placement` says why, device by device."""

    placement: Optional[Placement] = None

    def __str__(self) -> str:
        refused = self.placement.lines() if self.placement else []
        return "\n  ".join([super().__str__(), *refused])


class NeverPossible(NoneFree):
    """This machine has no such devices, not even when nobody uses them."""


class CudaStarted(Error):
    """CUDA has read its variables already: what is set now has no effect on this process."""


_KINDS = {"none_free": NoneFree, "never": NeverPossible, "cuda_started": CudaStarted}


def in_python(text: str) -> str:
    """The program's words for a request, as lease() and pick() call them.

    >>> print(in_python('--memory: "abc" is not a size'), in_python("-n 2 --except 0"), sep=", ")
    memory="abc" is not a size, n=2 except_=0
    """
    import re

    def argument(flag: re.Match[str]) -> str:
        name = (flag[1] or "n").replace("-", "_")
        return f"{'except_' if name == 'except' else name}="

    return re.sub(rf'(?<![\w-])(?:--({"|".join(_FLAGS)})|-n)(?![\w-])(?:: (?=")|[ =])?', argument, text)


def error_of(code: str, message: str, remedy: Optional[str] = None) -> Error:
    """The exception of a code of berth.h; what the message ends with as a way out is its remedy."""
    import re

    unknown = re.search(r'--sim: there is .* no file "(.*?)"; the servers are (.*?), and --sim= ', message, re.S)
    if unknown:
        message = f'there is no simulated server and no file "{unknown[1]}" for sim= or BERTH_SIM'
        remedy = f"one of {unknown[2]}"
    message = in_python(message)
    said, _, step = message.rpartition("; ")
    if code not in ("none_free", "never") and said and step.split(" ")[0] in _WAYS_OUT and not remedy:
        message, remedy = said, step
    return _KINDS.get(code, Error)(message or code.replace("_", " "), code=code, remedy=remedy)


def warn(text: str) -> None:
    """A warning that points at the line outside this package that led to it."""
    import warnings

    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "berth":
        level, frame = level + 1, frame.f_back
    warnings.warn(f"berth: {text}", RuntimeWarning, stacklevel=level)
