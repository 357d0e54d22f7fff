#pragma once
// Error texts of extensions and engines that cannot be built, or were built for something else.
// Included by catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr auto build_entries = std::to_array<LogEntry>({
    {"cuda_toolkit_mismatch",
     Severity::error,
     LogPart::cause,
     "detected cuda version (*) mismatches\n"
     "cuda version (*) mismatches the version that was used to compile\n"
     "was compiled with cuda * but * cuda",
     as_key("the CUDA toolkit is not the one that PyTorch was built with"),
     as_key("An extension is built with the nvcc found first, and its CUDA must have the major "
            "version of PyTorch's own."),
     {{as_key("see which CUDA PyTorch wants"),
       "python -c \"import torch; print(torch.version.cuda)\""},
      {as_key("point CUDA_HOME to a toolkit of that version, or install a PyTorch of the toolkit's "
              "version"),
       ""}}},
    {"host_compiler_too_new",
     Severity::error,
     LogPart::cause,
     "unsupported gnu version\n"
     "gcc versions later than\n"
     "unsupported microsoft visual studio version\n"
     "unsupported clang version",
     as_key("the C++ compiler is newer than this CUDA takes"),
     as_key("Each CUDA names the newest gcc that its nvcc works with."),
     {{as_key("name an older compiler"), "CUDAHOSTCXX=g++-12 CC=gcc-12 CXX=g++-12 pip install ."},
      {as_key("or install a newer CUDA toolkit"), ""}}},
    {"no_cuda_toolkit",
     Severity::error,
     LogPart::cause,
     "cuda_home environment variable is not set\n"
     "nvcc: command not found\n"
     "nvcc: not found\n"
     "nvcc{' | }was not found\n"
     "could not find nvcc\n"
     "no cuda toolset found\n"
     "cannot find cuda_home\n"
     "cuda_home does not exist\n"
     "bare_metal_version\n"
     "failed to find nvcc\n"
     "could not find cuda\n"
     "cuda_runtime.h: no such file\n"
     "cuda.h: no such file\n"
     "libdevice not found at \n"
     "cublas_v2.h: no such file\n"
     "no cmake_cuda_compiler could be found\n"
     "cuda_toolkit_root_dir not found\n"
     "cuda_nvcc_executable\n"
     "cuda compiler identification is unknown\n"
     "failed to detect a default cuda architecture\n"
     "missing * cuda_toolkit_root_dir",
     as_key("there is no CUDA toolkit to build with"),
     as_key("The driver and PyTorch bring what is needed to run; to build an extension nvcc is "
            "needed."),
     {{as_key("use a package that is built already (a wheel), if there is one for this PyTorch"),
       ""},
      {as_key("or install a toolkit of PyTorch's CUDA version and name it"),
       "export CUDA_HOME=/usr/local/cuda"}}},
    {"nvcc_unsupported_architecture",
     Severity::error,
     LogPart::cause,
     "nvcc fatal*unsupported gpu architecture\n"
     "ptxas fatal*is not defined for option\n"
     "unknown cuda {arch|architecture}\n"
     "unsupported gpu architecture",
     as_key("the CUDA compiler does not know the architecture that it was asked for"),
     as_key("The build's list of architectures names one that is newer than this CUDA, or one that "
            "it has dropped."),
     {{as_key("name only the card's own architecture (its compute capability)"),
       "TORCH_CUDA_ARCH_LIST=9.0 pip install --no-build-isolation ."},
      {as_key("or build with a CUDA that knows it"), ""}}},
    {"tensorrt_engine_version",
     Severity::error,
     LogPart::cause,
     "version tag does not match\n"
     "engine plan file is {generated on an incompatible device|not compatible}\n"
     "serialization assertion stdversionread\n"
     "serialized engine*version\n"
     "stdversionread == ",
     as_key("the TensorRT engine was made by another version or for another card"),
     as_key("An engine file holds code for one version of TensorRT and one kind of card."),
     {{as_key("make the engine again on this machine"),
       "trtexec --onnx=model.onnx --saveEngine=model.plan"}}},
});

}  // namespace berth
