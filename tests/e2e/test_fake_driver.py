"""The fake driver library as other programs see it, by ctypes and the names in nvml.h. It answers with the codes that
real drivers were seen to answer with."""

import json
import os
import subprocess
import sys

import pytest
from conftest import fake_library, scenario

CLIENT = """
import ctypes, json, sys
nvml = ctypes.CDLL(sys.argv[1])
def handle_by(function, *arguments):
    handle = ctypes.c_void_p()
    return getattr(nvml, function)(*arguments, ctypes.byref(handle)), handle
class Memory(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint)] + [
        (name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")]
assert nvml.nvmlInit_v2() == 0
nvml.nvmlErrorString.restype = ctypes.c_char_p
print(json.dumps(eval(sys.argv[2])))
"""


def ask(tmp_path, snapshot, expression):
    played = tmp_path / "played.json"
    played.write_text(json.dumps(snapshot), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(fake_library()), expression],
        env={"PATH": os.environ["PATH"], "BERTH_FAKE_NVML": str(played)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("tag", "code"), [(0x2000028, 0), (2, 13), (0, 13)], ids=["as nvml.h has it", "two", "none"]
)
def test_memory_of_version_2_wants_its_tag(tmp_path, tag, code):
    """A program that writes 2 there is told "function not found". Then it asks version 1, whose `used` contains what
    the driver keeps for itself."""
    asked = (
        f"[nvml.nvmlDeviceGetMemoryInfo_v2(handle_by('nvmlDeviceGetHandleByIndex_v2', 0)[1], "
        f"ctypes.byref(m)) for m in [Memory(version={tag})]]"
    )
    assert ask(tmp_path, scenario("server-8xh100"), asked) == [code]


def test_a_lost_card_gives_no_handle_by_whatever_name(tmp_path):
    snapshot = scenario("faults")
    lost = next(device for device in snapshot["devices"] if device["lost"])
    asked = (
        f"[handle_by('nvmlDeviceGetHandleByUUID', {lost['uuid'].encode()!r})[0], "
        f"handle_by('nvmlDeviceGetHandleByPciBusId_v2', {lost['pci_address'].encode()!r})[0], "
        f"handle_by('nvmlDeviceGetHandleByIndex_v2', {lost['index']})[0]]"
    )
    assert ask(tmp_path, snapshot, asked) == [15, 15, 15]


def test_an_instance_is_found_by_its_uuid(tmp_path):
    snapshot = scenario("h100-mig")
    instance = next(device for device in snapshot["devices"] if device["mig"])
    asked = (
        "[[code, nvml.nvmlDeviceIsMigDeviceHandle(handle, ctypes.byref(is_mig)), is_mig.value] "
        "for is_mig in [ctypes.c_uint(9)] "
        f"for code, handle in [handle_by('nvmlDeviceGetHandleByUUID', {instance['uuid'].encode()!r})]]"
    )
    assert ask(tmp_path, snapshot, asked) == [[0, 0, 1]]


def test_codes_have_the_words_of_the_driver(tmp_path):
    words = ask(
        tmp_path,
        scenario("desktop"),
        "[nvml.nvmlErrorString(code).decode() for code in (3, 13, 15, 16, 999, 12345)]",
    )
    assert words == [
        "Not Supported",
        "Function Not Found",
        "GPU is lost",
        "GPU requires reset",
        "Unknown Error",
        "Unknown Error",
    ]


def test_the_first_version_of_attributes_is_the_smaller_one(tmp_path):
    snapshot = scenario("h100-mig")
    instance = next(device for device in snapshot["devices"] if device["mig"])
    asked = (
        "[[code, nvml.nvmlDeviceGetAttributes(handle, room), room.raw[32:] == bytes(8)] "
        "for room in [ctypes.create_string_buffer(40)] "
        f"for code, handle in [handle_by('nvmlDeviceGetHandleByUUID', {instance['uuid'].encode()!r})]]"
    )
    assert ask(tmp_path, snapshot, asked) == [[0, 0, True]]
