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

    One of bytes is shown in people's units; its value is the number.

    >>> Reading(64 << 30, in_bytes=True)
    64.0 GiB
    """

    __slots__ = ("value", "why", "_in_bytes")

    value: Optional[T]
    why: Optional[str]

    def __init__(self, value: Optional[T], why: Optional[str] = None, in_bytes: bool = False) -> None:
        self.value = value
        self.why = why
        self._in_bytes = in_bytes

    def __bool__(self) -> bool:
        raise TypeError("a Reading is neither true nor false, as 0 is a value too: ask `.value is not None`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and (self.value, self.why) == (other.value, other.why)

    def __hash__(self) -> int:
        return hash((self.value, self.why))

    def __str__(self) -> str:
        if self.value is None:
            return f"– ({self.why})"
        return gib(self.value) if self._in_bytes else str(self.value)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Reading(None, {self.why!r})" if self.value is None else str(self)


def gib(size: Optional[int]) -> str:
    """Bytes for people."""
    if size is None:
        return "–"
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def share_of(memory: str, total: int) -> Optional[float]:
    """What part of `total` bytes "10G", "512M", "1073741824B" or "50%" is, rounded down; None: more than all of it.

    >>> share_of("10G", 80 << 30), share_of("50%", 80 << 30), share_of("96G", 80 << 30)
    (0.125, 0.5, None)
    """
    import re

    found = re.match(r"\s*([\d.]+)\s*([KMGT%]?)", memory, re.IGNORECASE)
    if not found:
        return None
    unit = found[2].upper()
    part = float(found[1]) / 100 if unit == "%" else float(found[1]) * 1024 ** " KMGT".index(unit or " ") / total
    return int(part * 10_000) / 10_000 if 0 < part <= 1 else None


def seconds_of(text: str) -> float:
    """A duration as `berth run --wait` takes it.

    >>> seconds_of("1h30m"), seconds_of("250ms"), seconds_of("90")
    (5400.0, 0.25, 90.0)
    """
    import re

    scales = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
    number, said = r"(\d+\.?\d*|\.\d+)", text.strip().lower()
    if re.fullmatch(number, said):
        return float(said)
    part = number + r"\s*(ms|min|[smhd])\s*"
    if not re.fullmatch(f"(?:{part})+", said):
        raise ValueError(f'"{text}" is not a duration; write 90s, 5m, 2h or 1h30m')
    return float(sum(float(count) * scales[unit] for count, unit in re.findall(part, said)))
