"""What the extension tells of Jupyter's kernels. In Jupyter itself: tests/jupyter."""

import ast
import asyncio

import pytest

from conftest import E2E, PACKAGE

from berth.jupyter import _jupyter_server_extension_points, _load_jupyter_server_extension
from berth.jupyter.kernels import Kernel, KernelList, overview

GIB = 1 << 30


def kernel(id, pid, state="idle"):
    return Kernel(id, f"{id}.ipynb", f"work/{id}.ipynb", state, 1000 if state == "idle" else None, pid)


def snapshot(*uses, leases=()):
    """`uses`: (device, pid, its ancestors, memory)."""
    said = E2E.scenario("server-8xh100")
    ids = [device["id"] for device in said["devices"]]
    said["gpu_processes"] = [{"device": ids[at], "pid": pid, "memory_used_bytes": memory} for at, pid, _, memory in uses]
    said["processes"] = [{"pid": pid, "ancestors": above, "user": "ana", "command": ["python"]} for _, pid, above, _ in uses]
    said["leases"] = list(leases)
    return said, ids


def told(said, *kernels):
    return {one["id"]: one for one in overview(said, list(kernels))["kernels"]}


def test_a_kernels_memory_is_that_of_its_tree():
    said, ids = snapshot((0, 100, [1], 4 * GIB), (1, 120, [110, 100, 1], GIB), (2, 300, [1], GIB))
    found = told(said, kernel("train", 100), kernel("other", 50))
    assert found["train"]["memory_used_bytes"] == 5 * GIB and found["train"]["devices"] == ids[:2]
    assert found["other"]["memory_used_bytes"] == 0 and found["other"]["devices"] == []
    whose = [one["kernel"] for one in overview(said, [kernel("train", 100)])["holders"]]
    assert whose == ["train", "train", None]


def test_the_nearest_kernel_is_the_one():
    """A kernel that another kernel started."""
    said, _ = snapshot((0, 120, [110, 100, 1], GIB))
    found = told(said, kernel("outer", 100), kernel("inner", 110))
    assert (found["outer"]["memory_used_bytes"], found["inner"]["memory_used_bytes"]) == (0, GIB)


def test_what_is_not_known_is_not_zero():
    said, ids = snapshot((0, 100, [], None), (1, 101, [100], GIB))
    found = told(said, kernel("silent", 100), kernel("remote", None))
    assert found["silent"]["memory_used_bytes"] is None and found["silent"]["devices"] == ids[:2]
    assert found["remote"]["memory_used_bytes"] is None


def test_a_leased_device_is_the_kernels_before_it_computes():
    said, ids = snapshot()
    said["leases"] = [{"job": {"pid": 100}, "keeper": {"pid": 100}, "devices": [{"device": ids[3]}]}]
    found = told(said, kernel("train", 100))["train"]
    assert found["devices"] == found["leased"] == [ids[3]] and found["memory_used_bytes"] == 0


def test_it_tells_the_same_while_nothing_happens():
    said, _ = snapshot((0, 100, [1], GIB))
    later = {**said, "taken_unix_ms": said["taken_unix_ms"] + 5000}
    assert overview(said, [kernel("a", 100)]) == overview(later, [kernel("a", 100)])


class Managers:
    """Jupyter's kernel and session managers, with 200 kernels; every second method is a coroutine."""

    def __init__(self, count=200):
        self.models = [
            {"id": f"k{at}", "name": "python3", "last_activity": "2026-01-02T03:04:05.678901Z", "execution_state": "idle"}
            for at in range(count)
        ]

    def list_kernels(self):
        return self.models

    async def list_sessions(self):
        return [{"path": "work/<b>train.ipynb", "kernel": {"id": "k7"}}, {"path": "gone", "kernel": None}]

    def get_kernel(self, id):
        if id == "k9":
            raise KeyError(id)
        return type("Manager", (), {"provisioner": type("Provisioner", (), {"pid": 1000 + int(id[1:])})})


def test_two_hundred_kernels_and_one_that_ended_meanwhile():
    managers = Managers()
    settings = {"kernel_manager": managers, "session_manager": managers}
    found = {one.id: one for one in asyncio.run(KernelList(settings).list())}
    assert len(found) == 200
    assert (found["k7"].name, found["k7"].pid) == ("<b>train.ipynb", 1007)
    assert found["k7"].idle_since_unix_ms == 1767323045678
    assert found["k9"].pid is None and found["k8"].name == "python3"
    assert asyncio.run(KernelList({}).list()) == []


def test_what_goes_wrong_at_the_start_is_said_and_not_raised():
    warned = []
    log = type("Log", (), {"warning": lambda _, *words, **how: warned.append(words), "debug": lambda *_, **how: None})()
    _load_jupyter_server_extension(type("App", (), {"log": log, "web_app": None})())
    assert len(warned) == 1 and "not to be had" in warned[0][0]
    assert _jupyter_server_extension_points() == [{"module": "berth.jupyter"}]


@pytest.mark.parametrize("module", sorted(path.stem for path in (PACKAGE / "berth" / "jupyter").glob("*.py")))
def test_it_is_python_3_8(module):
    source = (PACKAGE / "berth" / "jupyter" / f"{module}.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))
    assert "from __future__ import annotations" in source, "annotations are newer than 3.8"
