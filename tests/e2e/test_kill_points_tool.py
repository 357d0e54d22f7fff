"""The tool of the kill points, on trees that are hard to follow."""

import os

import pytest

import kill_points
from kill_points import Tree, traced

pytestmark = pytest.mark.skipif(
    bool(kill_points.reason_to_skip()), reason=f"kill points: {kill_points.reason_to_skip()}"
)

# The child dies with its parent, wherever in its forks it is: one in twenty times inside of one.
FORKS_UNTIL_KILLED = """
import ctypes, os, time
parent = os.getpid()
if os.fork() == 0:
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
    while os.getppid() == parent:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
time.sleep(0.02)
for _ in range(300):
    os.getppid()
os._exit(0)
"""


def test_child_whose_parent_was_killed_in_its_fork_is_let_go():
    command = ["/usr/bin/python3", "-S", "-c", FORKS_UNTIL_KILLED]
    count = Tree(command, os.environ).calls[()]
    orphans = 0
    for at in range(count - 200, count, 2):
        tree = Tree(command, os.environ, victim=(), at=at)
        assert tree.was_killed
        assert traced() == [], f"killed at its system call {at}"
        orphans += any(place[:1] == (kill_points.ORPHAN,) for place in tree.calls)
    print(f"{orphans} children were let go that no parent told of")
