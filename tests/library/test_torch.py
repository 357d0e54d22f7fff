"""berth/torch.h, built against the LibTorch that Debian has (libtorch-dev), which knows no CUDA."""

import pathlib

import pytest

from hosts import HERE, INCLUDE, run, shared

HEADER = pathlib.Path("/usr/include/ATen/core/Tensor.h")

pytestmark = pytest.mark.skipif(not HEADER.exists(), reason="libtorch-dev is not installed")


@pytest.fixture(scope="module")
def torch_host(library, tmp_path_factory):
    program = tmp_path_factory.mktemp("torch") / "host"
    # torch's own headers are not without warnings: they are the system's here.
    done = run(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-o", program,
                HERE / "torch_host.cc", *shared(), "-ltorch", "-ltorch_cpu", "-lc10"])
    assert done.returncode == 0, done.stderr
    return program


def warned_once(done):
    """All went well, and torch warned of the CPU once."""
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the CPU is used") == 1 and "no cuda:0" in done.stderr, done.stderr


def test_devices_tensors_and_memory(torch_host, server):
    warned_once(server.run(torch_host))


def test_what_is_marked_in_a_run(torch_host, server, tmp_path):
    marks = tmp_path / "marks"
    marks.touch()
    warned_once(server.run(torch_host, env={"BERTH_MARKS": marks}))
    texts = [line.partition(" ")[2] for line in marks.read_text().splitlines()]
    # A parameter that two share counts once; the CPU's allocator counts nothing.
    assert texts == ["placed_mib=3.0 device=meta", "epoch=1"], texts


# What Debian's c10 has declared for CUDA, on names of CUDA that only have to be there.
STAND_INS = {
    "c10/cuda/impl/cuda_cmake_macros.h": "#pragma once\n",
    "cuda.h": '#include "cuda_runtime_api.h"\n',
    "cuda_runtime.h": '#include "cuda_runtime_api.h"\n',
    "cuda_runtime_api.h": """#pragma once
typedef struct CUstream_st* cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess, cudaErrorNotReady };
enum cudaMemcpyKind { cudaMemcpyDefault };
int cudaMemcpyAsync(void*, const void*, unsigned long, cudaMemcpyKind, cudaStream_t);
const char* cudaGetErrorString(int);
int cudaGetLastError();
int cudaStreamQuery(cudaStream_t);
int cudaStreamSynchronize(cudaStream_t);
int cudaDeviceGetStreamPriorityRange(int*, int*);
int cudaStreamGetPriority(cudaStream_t, int*);
""",
}


def test_the_allocator_of_cuda_is_asked_by_its_own_names(tmp_path):
    for name, text in STAND_INS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    source = tmp_path / "asks.cc"
    source.write_text("#include <berth/torch.h>\nstatic_assert(BERTH_TORCH_HAS_CUDA);\n"
                      "int main() { return berth::torch_ext::memory(c10::Device(c10::kCUDA, 0)) ? 0 : 1; }\n")
    done = run(["g++", "-std=c++17", "-fsyntax-only", f"-I{tmp_path}", f"-I{INCLUDE}", source])
    assert done.returncode == 0, done.stderr
