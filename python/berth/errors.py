"""What berth raises, each with a word for programs and a step for people."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from .placement import Placement


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


def error_of(code: str, message: str, remedy: Optional[str] = None) -> Error:
    """The exception of a code of berth.h."""
    return _KINDS.get(code, Error)(message or code.replace("_", " "), code=code, remedy=remedy)
