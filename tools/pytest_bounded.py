"""pytest, where a test that hangs fails by its name and tells what hung; its file goes on.

The bound is BERTH_TEST_PATIENCE_S seconds for each of a test's three parts.
"""

import os
import signal
import sys
from pathlib import Path

import pytest


def processes_below(parent: int) -> list[str]:
    """Its descendants as a person would look at them: state, what it waits in, command line."""
    children: dict[int, list[int]] = {}
    said: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            waits_in = (entry / "wchan").read_text()
        except OSError:
            continue  # it has ended
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        said[int(entry.name)] = f"{entry.name} {fields[0]} {waits_in} {command}"
    lines: list[str] = []
    todo = [(child, 1) for child in children.get(parent, [])]
    while todo:
        one, depth = todo.pop()
        lines.append("  " * depth + said[one])
        todo += [(child, depth + 1) for child in children.get(one, [])]
    return lines


class TestHangs(BaseException):
    """Not an Exception: a test that retries on errors must not swallow it."""


def bounded(what: str):
    patience = int(os.environ["BERTH_TEST_PATIENCE_S"])

    def give_up(_number, _frame):
        below = "\n".join(processes_below(os.getpid())) or "  none"
        raise TestHangs(f"{what} did not end within {patience} s; processes below it:\n{below}")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(patience)
    try:
        yield
    finally:
        signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    yield from bounded(f"what {item.name} stands on")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from bounded(item.name)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    yield from bounded(f"what clears up after {item.name}")


if __name__ == "__main__":
    sys.path[0] = ""  # as `python -m pytest` has it
    # A file of tests that each of 140 processes reads is compiled once: 0.1 s of CPU each (AMD EPYC, 2026-11-28). What
    # they start is not told: torch is compiled already.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).resolve().parents[1] / "build/pycache")
    sys.exit(pytest.main(sys.argv[1:], plugins=[sys.modules[__name__]]))
