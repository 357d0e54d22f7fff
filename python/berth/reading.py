"""A measured value, or the reason that there is none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic, Optional, TypeVar

    T = TypeVar("T")

    class _Base(Generic[T]):
        __slots__ = ()

else:  # typing alone would cost a third of `import berth`

    class _Base:
        __slots__ = ()

        def __class_getitem__(cls, item: Any) -> Any:
            return cls

    T = None


class Reading(_Base[T]):
    """`value`, or None with `why`: "unsupported", "no permission", "failed", "not sampled".

    >>> Reading(0)
    0
    >>> print(Reading(None, "unsupported"))
    – (unsupported)
    >>> bool(Reading(0))
    Traceback (most recent call last):
    TypeError: a Reading is neither true nor false, as 0 is a value too: ask `.value is not None`
    """

    __slots__ = ("value", "why")

    value: Optional[T]
    why: Optional[str]

    def __init__(self, value: Optional[T], why: Optional[str] = None) -> None:
        self.value = value
        self.why = why

    def __bool__(self) -> bool:
        raise TypeError("a Reading is neither true nor false, as 0 is a value too: ask `.value is not None`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and (self.value, self.why) == (other.value, other.why)

    def __hash__(self) -> int:
        return hash((self.value, self.why))

    def __str__(self) -> str:
        return f"– ({self.why})" if self.value is None else str(self.value)

    def __repr__(self) -> str:
        return f"Reading(None, {self.why!r})" if self.value is None else repr(self.value)


def gib(size: Optional[int]) -> str:
    """Bytes for people."""
    if size is None:
        return "–"
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
