"""Programs and libraries of others, as Debian packs them (build/peers), with the shim before the fake driver."""

import os
import pathlib
import subprocess

import pytest

from driver_programs import BUILD, GIB, MIB, OUT_OF_MEMORY, compiled

PEERS = BUILD.parent / "peers"
PYCUDA = ["python3-pycuda-2022", "python3-pytools-2022", "python3-decorator-5", "python3-appdirs-1",
          "python3-platformdirs-2", "python3-typing-extensions-4"]  # fmt: skip
BOOST = ["libboost-python1.74.0-1.74", "libboost-thread1.74.0-1.74"]
# pycuda takes numbers from it alone that nobody here asks for.
CURAND = "\n".join(f"int {name}(void) {{ return 1; }}" for name in [
    "curandGetVersion", "curandGetDirectionVectors32", "curandGetDirectionVectors64", "curandGetScrambleConstants32",
    "curandGetScrambleConstants64"])  # fmt: skip
PROGRAM = """
import pycuda.driver as cuda
cuda.init()
context = cuda.Device(0).make_context()
held = []
def fill():
    try:
        while True: held.append(cuda.mem_alloc(64 << 20))
    except cuda.MemoryError:
        return len(held) * 64
first = fill()
free, total = cuda.mem_get_info()
held.clear()
print(first, fill(), free >> 20, total >> 20)
held.clear()
context.pop()
"""


@pytest.fixture
def pycuda(card, tmp_path):
    missing = [one for one in PYCUDA + BOOST if not (PEERS / one).is_dir()]
    has_numpy = subprocess.run(["/usr/bin/python3.11", "-c", "import numpy"], capture_output=True, check=False)
    if missing or has_numpy.returncode:
        pytest.skip(f"not in build/peers: {missing}; numpy for python3.11: {has_numpy.returncode == 0}")
    (tmp_path / "curand.c").write_text(CURAND)
    (tmp_path / "curand.map").write_text("libcurand.so.10 { global: *; };")
    compiled(tmp_path / "libcurand.so.10", tmp_path / "curand.c", "-shared", "-fPIC", "-Wl,-soname,libcurand.so.10",
             f"-Wl,--version-script={tmp_path / 'curand.map'}")  # fmt: skip
    one = card(1 * GIB, bytes_each="4G")
    libraries = [str(path) for package in BOOST for path in (PEERS / package).glob("usr/lib/*-linux-gnu")]
    one.env["LD_LIBRARY_PATH"] = ":".join([one.env["LD_LIBRARY_PATH"], str(tmp_path), *libraries])
    one.env["PYTHONPATH"] = ":".join(str(PEERS / package / "usr/lib/python3/dist-packages") for package in PYCUDA)
    return one


def test_pycuda_is_refused_at_the_limit_and_goes_on_after_freeing(pycuda):
    done = pycuda.run(["/usr/bin/python3.11", "-c", PROGRAM])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1024", "1024", "0", "1024"]
    assert pycuda.account.result()[1] >= 2, "refusals: pycuda collects garbage and asks once more"


def test_pycuda_without_the_shim_has_the_whole_card(pycuda):
    folders = pycuda.env["LD_LIBRARY_PATH"].split(":")[1:]
    done = pycuda.run(["/usr/bin/python3.11", "-c", PROGRAM],
                      env={"LD_PRELOAD": None, "LD_LIBRARY_PATH": ":".join(folders)})  # fmt: skip
    assert done.returncode == 0 and done.stdout.split()[0] == "4096", done.stderr


@pytest.fixture
def tcmalloc():
    found = sorted((PEERS / "libtcmalloc-minimal4").glob("usr/lib/*/libtcmalloc_minimal.so.4"))
    found += [path for path in pathlib.Path("/usr/lib").glob("*/libtcmalloc_minimal.so.4")]
    if not found:
        pytest.skip("Debian's libtcmalloc-minimal4 is not in build/peers")
    return found[0]


@pytest.mark.parametrize("how", ["needed", "opened", "asked"])
def test_a_program_with_another_malloc_before_the_shim_is_held(card, tcmalloc, how):
    one = card(1 * GIB)
    one.env["LD_PRELOAD"] = f"{tcmalloc}:{one.env['LD_PRELOAD']}"
    talk = one.start(how)
    maps = pathlib.Path(f"/proc/{talk.process.pid}/maps").read_text()
    assert os.path.basename(os.path.realpath(tcmalloc)) in maps, "it is there"
    talk.all_well("cuMemAlloc_v2 a 700M")
    assert talk("cuMemAlloc_v2 b 400M") == OUT_OF_MEMORY
    talk.all_well("cuMemFree_v2 a", "cuMemAlloc_v2 b 1G")
    assert one.account.charged() == 1024 * MIB
