"""The shim's own declarations of the driver's functions, held against NVIDIA's headers of CUDA 11, 12 and 13. The
headers are in the folders that BERTH_CUDA_HEADERS names (separated by colons). Or they are in a toolkit, or beside a
CUDA build of PyTorch."""

import glob
import os
import pathlib
import re
import subprocess

import pytest

from driver_programs import ROOT, SHIM

PLACES = ["/usr/local/cuda*/include/cuda.h",
          str(ROOT / "build/frameworks/*/lib/python3*/site-packages/nvidia/c*/include/cuda.h"),
          *(f"{folder}/cuda.h" for folder in os.environ.get("BERTH_CUDA_HEADERS", "").split(":") if folder)]
HEADERS = sorted({path for place in PLACES for path in glob.glob(place)})
TYPES = """
#define __CUDA_API_VERSION_INTERNAL 1 /* the old names, too */
#include <cuda.h>
#include <array>
#include <cstddef>
#define _Static_assert static_assert
extern "C" {
#include "guard/shim/wrappers.h"
#define DECLARE(name, parameters, ...) typedef int name##_ours parameters;
GUARD_WRAPPERS(DECLARE)
GUARD_CALLED(DECLARE)
}
template <class... P> constexpr std::array<std::size_t, 12> sizes(int (*)(P...)) { return {sizeof(P)...}; }
template <class... P> constexpr std::array<std::size_t, 12> sizes(CUresult (*)(P...)) { return {sizeof(P)...}; }
static_assert(sizeof(array) == sizeof(CUDA_ARRAY_DESCRIPTOR) && sizeof(array_3d) == sizeof(CUDA_ARRAY3D_DESCRIPTOR));
static_assert(offsetof(array_3d, flags) == offsetof(CUDA_ARRAY3D_DESCRIPTOR, Flags));
static_assert(sizeof(old_array) == sizeof(CUDA_ARRAY_DESCRIPTOR_v1));
static_assert(sizeof(old_array_3d) == sizeof(CUDA_ARRAY3D_DESCRIPTOR_v1));
static_assert(sizeof(allocation_node) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
static_assert(offsetof(allocation_node, bytes) == offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize));
static_assert(offsetof(located, location) == offsetof(CUmemPoolProps, location.id));
static_assert(offsetof(located, location) == offsetof(CUmemAllocationProp, location.id));
static_assert(location_device == CU_MEM_LOCATION_TYPE_DEVICE && pool_used == CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
static_assert(pool_reserved == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
static_assert(graph_memory_used == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT);
static_assert(graph_memory_reserved == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
static_assert(node_of_graph == CU_GRAPH_NODE_TYPE_GRAPH && node_of_allocation == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
static_assert(array_layered == CUDA_ARRAY3D_LAYERED && array_cubemap == CUDA_ARRAY3D_CUBEMAP);
static_assert(array_sparse == CUDA_ARRAY3D_SPARSE && array_deferred == CUDA_ARRAY3D_DEFERRED_MAPPING);
static_assert((int)success == CUDA_SUCCESS && (int)out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
"""


def names():
    return re.findall(r"X\((cu\w+),", (SHIM / "wrappers.h").read_text())


@pytest.mark.skipif(not HEADERS, reason="no cuda.h here")
@pytest.mark.parametrize("header", HEADERS or ["none"])
def test_what_the_shim_declares_is_what_nvidia_declares(header, tmp_path, record_property):
    include = f"-I{pathlib.Path(header).parent}"
    told = subprocess.run(["g++", "-E", "-x", "c++", include, "-"], input=TYPES.split("#include <array>")[0],
                          capture_output=True, text=True, check=True).stdout
    declared = [name for name in names() if re.search(rf"\b{name}\s*\(", told)]
    assert len(declared) > 60, declared
    record_property("measured", f"{header}: {len(declared)} of {len(names())} functions")
    source = tmp_path / "abi.cc"
    source.write_text(TYPES + "".join(
        f'static_assert(sizes(&{name}) == sizes(static_cast<{name}_ours*>(nullptr)), "{name}");\n' for name in declared))
    done = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-w", include,
                           f"-I{ROOT / 'src'}", str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
