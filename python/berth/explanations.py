"""`berth explain`, from Python: why a GPU is not busy, why a run died, what a log's errors mean."""

from __future__ import annotations

import os

from ._context import program
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Union


class Explanation:
    """`print(…)` shows what `berth explain` does; `findings` and `json` are for programs.

    Each finding has "rule", "title", "evidence", "meaning", "steps", "doubt" (doc/EXPLAIN.md).
    """

    text: str
    json: Dict[str, Any]

    def __init__(self, text: str, json: Dict[str, Any]) -> None:
        self.text = text
        self.json = json

    @property
    def findings(self) -> List[Dict[str, Any]]:
        parts = self.json.get("answers", [self.json])
        return [finding for part in parts for finding in part.get("findings", [])]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<berth.Explanation, {len(self.findings)} findings>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)


def explain(
    what: Optional[Union[str, int]] = None,
    *,
    log: Optional[Union[str, "os.PathLike[str]"]] = None,
    seconds: float = 10,
    sim: Optional[str] = None,
) -> Explanation:
    """Explains this process, which it watches for `seconds` (call it in a thread beside the training).

    `what`: a GPU (an index, a UUID), a process id as text, a run's id or "last". `log`: a log file.
    """
    words = ["explain"]
    if log is not None:
        words += ["--log", os.fspath(log)]
    else:
        words += ["--seconds", f"{seconds:g}", str(os.getpid() if what is None else what)]
    words += ["--sim", sim] if sim else []
    import json

    answered = _run(words + ["--json"])
    try:
        parsed = json.loads(answered)
    except ValueError:
        raise Error(f"berth {' '.join(words)} printed no JSON: {answered[:200]}", code="io") from None
    return Explanation(_as_text(parsed), parsed)


def _run(words: List[str]) -> str:
    import subprocess

    done = subprocess.run(
        [program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    said = done.stdout.decode("utf-8", "replace")
    if not said.strip():
        reason = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise Error(f"berth {' '.join(words)}: {reason}", code="not_found")
    return said


def _as_text(explained: Dict[str, Any]) -> str:
    parts = []
    for part in explained.get("answers", [explained]):
        subject = part.get("subject") or part.get("run") or part.get("log")
        lines = [str(subject)] if subject else []
        for finding in part.get("findings", []):
            lines += [f"{finding['title']}: {finding['meaning']}"]
            lines += [f"    {one}" for one in finding["evidence"]]
            lines += [f"    but: {finding['doubt']}"] if finding.get("doubt") else []
            lines += [f"  try: {_step(one)}" for one in finding["steps"]]
        lines += [] if part.get("findings") else ["nothing to find"]
        lines += [f"! {remark}" for remark in part.get("remarks", [])]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _step(step: Dict[str, Any]) -> str:
    return f"{step['what']}: {step['command']}" if step.get("command") else str(step["what"])
