"""Counts tests: what passed, what failed and why, what was skipped and why."""

import sys
import threading
from dataclasses import dataclass, field


@dataclass
class Report:
    """Filled by several threads; printed at the end."""

    passed: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)  # name, output
    skipped: list[tuple[str, str]] = field(default_factory=list)  # name, reason
    unsteady: list[str] = field(default_factory=list)  # failed beside other tests, passed alone
    measured: list[str] = field(default_factory=list)  # what tests found out beside passing
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add_passed(self, count: int = 1) -> None:
        with self.guard:
            self.passed += count

    def add_failed(self, name: str, output: str) -> None:
        with self.guard:
            self.failed.append((name, output))
        print(f"FAILED {name}\n{indented(output)}", flush=True)

    def add_skipped(self, name: str, reason: str) -> None:
        with self.guard:
            self.skipped.append((name, reason.strip() or "no reason given"))

    def add_measured(self, line: str) -> None:
        with self.guard:
            self.measured.append(line)

    def passed_alone(self, name: str) -> None:
        """A test that had failed beside others. It counts as passed, and is a defect to be mended."""
        with self.guard:
            self.failed = [one for one in self.failed if one[0] != name]
            self.passed += 1
            self.unsteady.append(name)

    def closing_line(self) -> str:
        return f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"

    def finish(self) -> int:
        """Prints what a reader must know, the closing line last; the exit code."""
        print()
        for line in sorted(self.measured):
            print(f"measured {line}")
        for name, reason in sorted(self.skipped):
            print(f"skipped {name}: {reason}")
        for name in sorted(self.unsteady):
            print(f"unsteady {name}: it failed beside other tests (above), and passed alone")
        for name, _ in sorted(self.failed):
            print(f"failed {name}")
        print(self.closing_line())
        sys.stdout.flush()
        # A run in which nothing passed has tested nothing, unless all of it was skipped by name.
        return 1 if self.failed or (self.passed == 0 and not self.skipped) else 0


def indented(text: str, lines: int = 120) -> str:
    """The end of a long output is where the reason stands."""
    kept = text.rstrip().splitlines()
    if len(kept) > lines:
        kept = [f"… {len(kept) - lines} lines before this", *kept[-lines:]]
    return "\n".join("    " + line for line in kept)
