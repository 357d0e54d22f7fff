"""What a request would get, and why other devices would not do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List


class Placement:
    """The answer to a request: doc/FORMATS.md, Placement, is what `json` has.

    `satisfied`: the devices of `chosen` (their ids) are to be had now. `possible`: they would be on
    the machine at rest. `refused`: the others, each with `rule` (for programs) and `text`.
    """

    json: Dict[str, Any]

    def __init__(self, json: Dict[str, Any]) -> None:
        self.json = json

    @property
    def satisfied(self) -> bool:
        return bool(self.json.get("satisfied"))

    @property
    def possible(self) -> bool:
        return bool(self.json.get("possible"))

    @property
    def chosen(self) -> List[str]:
        return [one["id"] for one in self.json.get("chosen", [])]

    @property
    def refused(self) -> List[Dict[str, Any]]:
        return list(self.json.get("refused", []))

    def lines(self) -> List[str]:
        """A line for each refused device: which, why, who is on it."""
        return [_line(one) for one in self.refused]

    def __str__(self) -> str:
        reasons = [f"{_named(one)}  {one.get('reason', '')}" for one in self.json.get("chosen", [])]
        return "\n".join(reasons + self.lines())

    def __repr__(self) -> str:
        return f"<berth.Placement {self.json.get('asked_for', '')}: {'satisfied' if self.satisfied else 'refused'}>"


def _named(one: Dict[str, Any]) -> str:
    which = f"GPU {one['index']}" if one.get("index") is not None else str(one.get("id"))
    return f"{which}  {one.get('name') or ''}".rstrip()


def _line(one: Dict[str, Any]) -> str:
    holders = ", ".join(
        " ".join(filter(None, [holder.get("user") or "", f"(pid {holder['pid']})" if holder.get("pid") else ""]))
        for holder in one.get("holders", [])
    )
    return f"{_named(one)}  {one.get('text', '')}" + (f": {holders}" if holders else "")
