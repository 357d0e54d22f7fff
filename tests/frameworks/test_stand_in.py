"""The stand-in libcudart.so.12, held against NVIDIA's own runtimes and headers: names, texts, layouts. How it
behaves can be held against nothing without a card."""

import ctypes
import json
import pathlib
import re
import subprocess

import pytest
from conftest import E2E, ENVIRONMENT, FAKES

LISTS = E2E.ROOT / "tests/data/cudart-symbols"
FRAMEWORKS = pathlib.Path(ENVIRONMENT).parent
STAND_IN = FAKES / "cudart/libcudart.so.12"
UNKNOWN = b"unrecognized error code"


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in done.stdout.splitlines() if line.split()[1] in "TW"]
    assert names and all(name.endswith("@@libcudart.so.12") for name in names), names[:3]
    return {name.partition("@")[0] for name in names}


def real_runtime(version):
    found = list(FRAMEWORKS.glob(f"cudart-{version}/nvidia/cuda_runtime/lib/libcudart.so.12"))
    if not found:
        pytest.skip(f"needs NVIDIA's runtime {version} in build/frameworks")
    return found[0]


@pytest.mark.parametrize("listed", sorted(LISTS.glob("*.syms")), ids=lambda path: path.stem)
def test_every_name_of_a_real_runtime_is_listed_and_exported(listed):
    real = exported(real_runtime(listed.stem.removeprefix("real-")))
    assert set(listed.read_text(encoding="utf-8").split()) == real
    assert exported(STAND_IN) >= real


def test_it_exports_nothing_that_no_real_runtime_has():
    listed = set().union(*(set(path.read_text(encoding="utf-8").split()) for path in LISTS.glob("*.syms")))
    assert exported(STAND_IN) == listed


def test_its_error_texts_are_the_real_ones():
    # The real runtime tells its texts without a driver.
    texts = {}
    for name, path in (("ours", STAND_IN), ("real", real_runtime("12.8.90"))):
        library = ctypes.CDLL(str(path))
        for function in (library.cudaGetErrorName, library.cudaGetErrorString):
            function.restype = ctypes.c_char_p
        texts[name] = {code: (library.cudaGetErrorName(code), library.cudaGetErrorString(code)) for code in range(1001)}
    known = {code: text for code, text in texts["ours"].items() if text != (UNKNOWN, UNKNOWN)}
    assert len(known) > 30
    assert known == {code: texts["real"][code] for code in known}


def test_it_asks_for_nothing_that_is_the_drivers_proof():
    text = STAND_IN.read_bytes() + (FAKES / "cuda/libcuda.so.1").read_bytes()
    asked = set(re.findall(rb"cu[A-Z][A-Za-z0-9_]+", text))
    assert b"cuMemAlloc_v2" in asked
    assert b"cuGetExportTable" not in asked


FIELDS = """
maxThreadsPerBlock MaxThreadsPerBlock|multiProcessorCount MultiProcessorCount|warpSize WarpSize
sharedMemPerBlock MaxSharedMemoryPerBlock|regsPerBlock MaxRegistersPerBlock|clockRate ClockRate
major ComputeCapabilityMajor|minor ComputeCapabilityMinor|textureAlignment TextureAlignment
memoryClockRate MemoryClockRate|memoryBusWidth GlobalMemoryBusWidth|l2CacheSize L2CacheSize
maxThreadsPerMultiProcessor MaxThreadsPerMultiProcessor|asyncEngineCount AsyncEngineCount
unifiedAddressing UnifiedAddressing|concurrentKernels ConcurrentKernels
sharedMemPerMultiprocessor MaxSharedMemoryPerMultiprocessor|memoryPoolsSupported MemoryPoolsSupported
sharedMemPerBlockOptin MaxSharedMemoryPerBlockOptin|totalGlobalMem -|pciBusID -|pciDomainID -
"""
PROGRAM = """
#include <cstdio>
#include <cuda_runtime_api.h>
int main() {
  cudaDeviceProp p;
  int value = 0;
  if (cudaGetDeviceProperties(&p, 1) != cudaSuccess) return 1;
  std::printf("{\\"name\\": \\"%%s\\"", p.name);
%s
  cudaFuncAttributes function;
  void* memory;
  cudaPointerAttributes pointer;
  if (cudaSetDevice(1) || cudaFuncGetAttributes(&function, (void*)main) || cudaMalloc(&memory, 1 << 20) ||
      cudaPointerGetAttributes(&pointer, memory)) return 2;
  std::printf(", \\"binary\\": %%d, \\"type\\": %%d, \\"device\\": %%d}\\n", function.binaryVersion,
              pointer.type == cudaMemoryTypeDevice, pointer.device);
}
"""


def test_a_program_compiled_with_nvidias_headers_finds_each_field_in_its_place(bed, tmp_path):
    machine = bed(2, 4)
    headers = real_runtime("12.4.127").parents[1] / "include"
    others = next(pathlib.Path(ENVIRONMENT).glob("lib/python3*/site-packages/triton/backends/nvidia/include"))
    lines = []
    for field, attribute in (pair.split() for line in FIELDS.split("\n") for pair in line.split("|") if pair):
        if attribute != "-":
            lines.append(f"  cudaDeviceGetAttribute(&value, cudaDevAttr{attribute}, 1);")
        lines.append(f'  std::printf(", \\"{field}\\": [%lld, %d]", (long long)p.{field}, value);')
    (tmp_path / "fields.cc").write_text(PROGRAM % "\n".join(lines), encoding="utf-8")
    subprocess.run(
        ["g++", "-w", f"-I{headers}", f"-I{others}", "fields.cc", "-o", "fields", str(STAND_IN),
         f"-Wl,-rpath,{STAND_IN.parent}"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    done = subprocess.run([tmp_path / "fields"], env=machine.env, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told.pop("name") == machine.cards[1]["name"]
    assert told.pop("totalGlobalMem")[0] == 4 << 30
    assert (told.pop("pciBusID")[0], told.pop("pciDomainID")[0]) == (2, 0)
    assert (told.pop("binary"), told.pop("type"), told.pop("device")) == (90, 1, 1)
    assert len(told) == 19
    for field, (of_struct, of_attribute) in told.items():
        assert of_struct == of_attribute != 0 or field == "minor", (field, of_struct, of_attribute)
