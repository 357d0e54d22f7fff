"""A run's account while it goes on, as the host sees its processes. It tests what memory comes back, and which
processes are not counted."""

import json
import subprocess

import pytest
from aftermath import poll, show
from test_cap_later import LONG, RUNTIME, OwnFolders
from test_run_samples import GIB, used_by

# The other process runs in a mode of its own. It takes 1.5 GiB and waits for what happens to it. Then the first one
# takes what it can, again and again, until as much fits as the other gave back.
PROGRAM = """
import ctypes, os, subprocess, sys, time
runtime, how = sys.argv[1:3]
PIECE = 64 << 20

def fill(most):
    held, cuda = [], ctypes.CDLL(runtime)
    while len(held) * PIECE < most:
        memory = ctypes.c_void_p()
        if cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(PIECE)): break
        held.append(memory)
    for memory in held if most > 2 << 30 else []: cuda.cudaFree(memory)
    return len(held) * PIECE

if how == "other":
    print(fill(3 << 29), flush=True)
    if sys.stdin.readline() == "exec\\n": os.execvp("sleep", ["sleep", "300"])
    time.sleep(300)
else:
    before = ["unshare", "--pid", "--fork", "--kill-child"] if how == "namespace" else []
    other = subprocess.Popen([*before, sys.executable, __file__, runtime, "other"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    assert int(other.stdout.readline()) == 3 << 29
    first = fill(4 << 30)
    if how == "namespace": other.kill(), other.wait()
    else: other.stdin.write("exec\\n"), other.stdin.flush()
    end = time.monotonic() + 60
    while (last := fill(4 << 30)) < 3 << 29 and time.monotonic() < end: time.sleep(0.2)
    other.kill()
    print(first >> 20, last >> 20)
"""


@pytest.fixture
def card(tmp_path):
    card = OwnFolders(tmp_path)
    card.env["BERTH_FAKE_NVML_LIVE"] = "1"
    card.program.write_text(PROGRAM, encoding="utf-8")
    return card


@pytest.mark.parametrize("how", ["namespace", "exec"])
def test_what_a_process_had_comes_back_while_the_run_goes_on(card, how):
    if how == "namespace" and subprocess.run(["unshare", "--pid", "--fork", "true"], check=False).returncode:
        pytest.skip("needs unshare --pid (root)")
    done = card.run("run", "-q", "--memory", "2G", "--", "/usr/bin/python3", card.program, RUNTIME, how, timeout=150)
    assert done.returncode == 0, done.stderr
    first, last = map(int, done.stdout.split())
    assert first < 512, "the other has 1.5 GiB"
    assert last >= 1536, "they came back"


# It opens the driver by its absolute path, which no shim stands before, and takes 6 GiB of it.
ESCAPES = """
import ctypes, os, pathlib, sys, time
cuda, folder = ctypes.CDLL(sys.argv[1]), pathlib.Path(sys.argv[2])
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
took = cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(6 << 30))
(folder / "new").write_text(f"{os.getpid()} {took}")
(folder / "new").rename(folder / "took")
time.sleep(300)
"""


def test_a_program_that_opens_the_driver_by_its_absolute_path_is_named_once(card):
    [device] = json.loads(card.directory.joinpath("played.json").read_text())["devices"]
    took = card.directory / "took"
    run = card.start("run", "--memory", "4G", "--", "/usr/bin/python3", "-c", ESCAPES,
                     card.driver_folder / "libcuda.so.1", card.directory)  # fmt: skip
    try:
        poll(lambda: not took.exists(), LONG, "the job has not begun")
        pid, code = map(int, took.read_text().split())
        assert code == 0, "it was refused: the shim does stand before it"
        host = json.loads(card.directory.joinpath("played.json").read_text())
        host["gpu_processes"] = [used_by(device, pid, 6 * GIB)]
        new = card.directory / "new.json"
        new.write_text(json.dumps(host))
        new.rename(card.directory / "played.json")
        awaited = {"memory_not_counted", "memory_over_cap"}
        poll(lambda: awaited - {event["kind"] for event in show(card)["events"]}, LONG, "not said")
    finally:
        card.run("stop", "--all", "-q")
        said = run.communicate(timeout=LONG)[1]
    [event] = [one for one in show(card)["events"] if one["kind"] == "memory_not_counted"]
    assert "has 6.0 GiB of GPU 0 that the shim does not count; the watchdog alone holds it" in event["text"], event
    assert said.count("the watchdog alone holds it") == 1 and "uses 6.0 GiB there and was promised 4.0 GiB" in said, said
    record = show(card)["cap"]
    assert record["proved"] == "no" and "does not count" in record["proved_why"]
