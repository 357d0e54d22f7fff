"""Tells of long files: above 400 lines it warns, above 500 (tests 800) it fails.

A file is a subject that a reader looks for, of 100 to 400 lines. A table is as long as its content:
a file that is mostly one table is exempt, so that no table is cut in two. So is what ./dev docs
makes."""

import re
import sys
from pathlib import Path

import repository

LONG = 400
LIMIT = 500
TEST_LIMIT = 800
CODE = {".cc", ".h", ".hpp", ".c", ".S", ".py", ".sh", ".cmake", ".ts", ".mjs", ".css"}


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
    """The long files, and how long they are."""
    found = []
    for name in repository.files(root):
        if name.suffix not in CODE and name.name not in {"dev", "CMakeLists.txt"}:
            continue
        if name.parts[:2] == ("tests", "data"):
            continue
        text = (root / name).read_bytes()
        lines = text.count(b"\n")
        if lines > LONG and not is_table(text) and not text.startswith(b"// Made by ./dev docs"):
            found.append((name, lines))
    return found


def warnings(root: Path) -> list[str]:
    return [
        f"{name}: {lines} lines: is it one subject?"
        for name, lines in lengths(root)
        if limit_of(name) == LIMIT and lines <= LIMIT
    ]


def findings(root: Path) -> list[str]:
    return [
        f"{name}: {lines} lines, at most {limit_of(name)}: split it by subject"
        for name, lines in lengths(root)
        if lines > limit_of(name)
    ]


if __name__ == "__main__":
    for warning in warnings(repository.root_from_arguments()):
        print("note:", warning)
    sys.exit(repository.finish(findings(repository.root_from_arguments())))
