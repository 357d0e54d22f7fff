"""Tells of long files: from 400 lines on (tests 800) it warns, at half as much again it fails.

A file is a subject that a reader looks for, of 100 to 400 lines. A table is as long as what it lists:
a file that is mostly one table is exempt, so that no table is cut in two for its length."""

import re
import sys
from pathlib import Path

import repository

LIMIT = 400
TEST_LIMIT = 800
CODE = {".cc", ".h", ".c", ".S", ".py", ".sh", ".cmake", ".ts", ".mjs", ".css"}


def limit_of(name: Path) -> int:
    is_test = name.stem.endswith("_test") or (name.parts[0] == "tests")
    return TEST_LIMIT if is_test else LIMIT


def is_table(text: bytes) -> bool:
    """Whether seven of ten lines are between one `… = {` and its `};`."""
    lines = text.splitlines()
    longest = 0
    begin = None
    for number, line in enumerate(lines):
        if re.search(rb"= \{\{?$", line):
            begin = number
        if re.match(rb"\}\}?;", line) and begin is not None:
            longest = max(longest, number - begin)
            begin = None
    return longest * 10 >= len(lines) * 7


def lengths(root: Path) -> list[tuple[Path, int]]:
    """The files that are longer than their limit, and how long."""
    found = []
    for name in repository.files(root):
        if name.suffix not in CODE and name.name not in {"dev", "CMakeLists.txt"}:
            continue
        if name.parts[:2] == ("tests", "data"):
            continue
        text = (root / name).read_bytes()
        lines = text.count(b"\n")
        if lines > limit_of(name) and not is_table(text):
            found.append((name, lines))
    return found


def warnings(root: Path) -> list[str]:
    return [f"{name}: {lines} lines: is it one subject?" for name, lines in lengths(root)]


def findings(root: Path) -> list[str]:
    return [
        f"{name}: {lines} lines, at most {limit_of(name) * 3 // 2}: split it by subject"
        for name, lines in lengths(root)
        if lines > limit_of(name) * 3 // 2
    ]


if __name__ == "__main__":
    for warning in warnings(repository.root_from_arguments()):
        print("note:", warning)
    sys.exit(repository.finish(findings(repository.root_from_arguments())))
