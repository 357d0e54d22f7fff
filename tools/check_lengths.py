"""Holds files to their greatest length: 500 lines, tests 800. Data and catalogues are exempt."""

import sys
from pathlib import Path

import repository

LIMIT = 500
TEST_LIMIT = 800
CODE = {".cc", ".h", ".c", ".S", ".py", ".sh", ".cmake", ".ts", ".mjs", ".css"}


def limit_of(name: Path) -> int:
    is_test = name.stem.endswith("_test") or (name.parts[0] == "tests")
    return TEST_LIMIT if is_test else LIMIT


def findings(root: Path) -> list[str]:
    found = []
    for name in repository.files(root):
        if name.suffix not in CODE and name.name not in {"dev", "CMakeLists.txt"}:
            continue
        if name.parts[:2] == ("tests", "data"):
            continue
        lines = (root / name).read_bytes().count(b"\n")
        if lines > limit_of(name):
            found.append(f"{name}: {lines} lines, at most {limit_of(name)}: split it by subject")
    return found


if __name__ == "__main__":
    sys.exit(repository.finish(findings(repository.root_from_arguments())))
