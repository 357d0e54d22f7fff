#pragma once
// Error texts of drivers and libraries that are missing, too old, or of different versions, and
// what frameworks say when they do without the GPU for it. Included by catalogue.cc only.

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Step update_driver{as_key("have an administrator update the driver"),
                                              ""};
inline constexpr LogEntry::Step older_build{
    as_key("or install a build of the framework for an older CUDA"), ""};
inline constexpr LogEntry::Step unset_library_path{
    as_key("run it without the variable: the framework's own packages bring their libraries"),
    "env -u LD_LIBRARY_PATH python train.py"};
inline constexpr LogEntry::Step jax_with_cuda{as_key("install JAX with its CUDA packages"),
                                              "pip install -U \"jax[cuda12]\""};
inline constexpr LogEntry::Step tensorflow_with_cuda{
    as_key("install TensorFlow with its CUDA packages"), "pip install -U \"tensorflow[and-cuda]\""};
inline constexpr LogEntry::Step torch_sees{
    as_key("see what this Python's PyTorch can use"),
    "python -c \"import torch; print(torch.__version__, torch.cuda.is_available())\""};
inline constexpr LogEntry::Step driver_there{as_key("see whether the driver is there at all"),
                                             "berth"};

inline constexpr auto driver_entries = std::to_array<LogEntry>({
    {"driver_too_old",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "The NVIDIA driver on your system is too old (found version *)\n"
     "CUDA driver version is insufficient for CUDA runtime version",
     as_key("the driver is too old for the CUDA of the framework"),
     as_key("A driver runs programs of its own CUDA's major version and older ones."),
     {update_driver, older_build}},
    {"no_driver",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "Found no NVIDIA driver on your system*\n"
     "ImportError: libcuda.so.1: cannot open shared object file*\n"
     "OSError: libcuda.so.1: cannot open shared object file*",
     as_key("there is no NVIDIA driver for this program"),
     as_key("The machine has none, its module is not loaded, or the container was started without "
            "GPUs."),
     {driver_there, {as_key("start the container with its GPUs"), "docker run --gpus all …"}}},
    {"driver_library_mismatch",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "Failed to initialize NVML: Driver/library version mismatch\n"
     "nvml error: driver/library version mismatch",
     as_key("the driver's module and its library are of different versions"),
     as_key("The driver was updated while its old module was in use; it stays until the module is "
            "loaded again."),
     {{as_key("have an administrator restart the machine"), ""}}},
    {"nvml_unknown_error",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "Failed to initialize NVML: Unknown Error",
     as_key("the container has lost its GPUs"),
     as_key("A container's right to its devices goes when systemd is reloaded on the host."),
     {{as_key("start the container again"), ""},
      {as_key("have the container toolkit set up with CDI or without systemd's cgroups"), ""}}},
    // Start scripts call nvidia-smi on nodes without a GPU as well, and go on.
    {"driver_unreachable",
     Severity::warning,
     LogPart::remark,
     LogWhere::anywhere,
     "NVIDIA-SMI has failed because it couldn*t communicate with the NVIDIA driver",
     as_key("nvidia-smi does not reach the driver"),
     as_key("Its module is not loaded: mostly it was not built for the kernel that runs since the "
            "last update, or nouveau has the card."),
     {{as_key("let berth say why"), "berth doctor"},
      {as_key("see whether the module was built for this kernel"), "dkms status; uname -r"},
      {as_key("have an administrator load the module"), "sudo modprobe nvidia"}}},
    {"container_without_driver",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "nvidia-container-cli: initialization error: *driver not loaded*\n"
     "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: *",
     as_key("the container could not be given GPUs: its host has no driver that runs"),
     as_key("A container uses the driver of its host. There it is not installed or its module is "
            "not loaded, whatever the image brings."),
     {{as_key("on the host, not in the container: let berth say why"), "berth doctor"},
      {as_key("have an administrator load the module"), "sudo modprobe nvidia"}}},
    {"container_toolkit_missing",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "could not select device driver * with capabilities: [[*gpu",
     as_key("Docker does not know how to give a container GPUs"),
     as_key("NVIDIA's container toolkit is not installed on the host, or this Docker was not told "
            "of it (one from snap and Docker Desktop are others than the system's)."),
     {{as_key("see whether Docker knows it"), "docker info | grep -i -E 'runtimes|cdi'"},
      {as_key("have an administrator install the package nvidia-container-toolkit, then"),
       "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"}}},
    {"driver_combination",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "Error 803: system has unsupported display driver / cuda driver combination\n"
     "CUDA error: system has unsupported display driver / cuda driver combination",
     as_key("libcuda and the driver's module are of different versions"),
     as_key("Often a container brings a libcuda of its own that does not fit the host's driver, or "
            "the driver was updated and the machine not restarted."),
     {unset_library_path, {as_key("have an administrator restart the machine"), ""}}},
    {"forward_compatibility",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "forward compatibility was attempted on non supported HW",
     as_key("a newer libcuda is used with an old driver on a card that cannot do so"),
     as_key("NVIDIA's compatibility package (cuda-compat) works with data centre cards alone."),
     {update_driver, unset_library_path}},
    {"fabric_not_ready",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "Error 802: system not yet initialized\nCUDA error: system not yet initialized",
     as_key("the machine's NVSwitches are not set up"),
     as_key("Cards that are joined by NVSwitch do nothing until the fabric manager of the driver's "
            "own version runs."),
     {{as_key("have an administrator start it"), "sudo systemctl status nvidia-fabricmanager"}}},
    {"cuda_environment",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "CUDA unknown error - this may be due to an incorrectly set up environment*",
     as_key("CUDA could not be started"),
     as_key("CUDA_VISIBLE_DEVICES was changed after the program had begun, or the driver's module "
            "nvidia_uvm is not loaded."),
     {{as_key("set CUDA_VISIBLE_DEVICES before the program starts: berth run does"), ""},
      {as_key("see whether the device file of CUDA is there"), "ls -l /dev/nvidia-uvm"}}},
    {"cudnn_mismatch",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "cuDNN version incompatibility: PyTorch was compiled*\n"
     "Loaded runtime CuDNN library: * but source was compiled with*",
     as_key("another cuDNN is loaded than the framework was built with"),
     as_key("A cuDNN of the system or of LD_LIBRARY_PATH comes before the framework's own, or two "
            "frameworks in one environment want different ones."),
     {unset_library_path,
      {as_key("keep PyTorch, JAX and TensorFlow in environments of their own"), ""}}},
    {"cudnn_parts_mixed",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH*",
     as_key("parts of two versions of cuDNN are loaded together"),
     as_key("cuDNN is several libraries that must be of one version. Some were found in the "
            "environment, others in the system, in LD_LIBRARY_PATH or in another package of the "
            "environment."),
     {unset_library_path,
      {as_key("see where each part comes from"),
       "LD_DEBUG=libs python train.py 2>&1 | grep 'calling init.*cudnn'"},
      {as_key("install the framework again into a fresh environment"), ""}}},
    {"cuda_undefined_symbol",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "libcu*.so*: undefined symbol: *\nlibnv*.so*: undefined symbol: *\n"
     "libnccl*.so*: undefined symbol: *\nundefined symbol: __nvJitLink*\nundefined symbol: nccl*",
     as_key("two CUDA libraries of different versions are mixed"),
     as_key("One was found in LD_LIBRARY_PATH or in the system, the other in the environment."),
     {unset_library_path, {as_key("install the framework again into a fresh environment"), ""}}},
    {"extension_for_other_torch",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     ".so: undefined symbol: _ZN*c10*\n.so: undefined symbol: _ZN*torch*\n"
     ".so: undefined symbol: _ZN2at*",
     as_key("an extension was built for another PyTorch"),
     as_key("Its names are not those of the PyTorch that is installed (flash-attn, mmcv and their "
            "like are built for one version each)."),
     {{as_key("build it again for this PyTorch"),
       "pip install --force-reinstall --no-build-isolation --no-cache-dir PACKAGE"}}},
    {"cuda_library_missing",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "libcu*.so*: cannot open shared object file*\nlibnccl.so*: cannot open shared object file*\n"
     "libnv*.so*: cannot open shared object file*",
     as_key("a CUDA library is not found"),
     as_key("What was installed was built for a CUDA (the number in its name) that is not on this "
            "machine."),
     {{as_key("install a build for the CUDA that is there, or the package that brings the library"),
       ""},
      {as_key("see which CUDA libraries the loader knows"),
       "ldconfig -p | grep -E 'libcudart|libcudnn|libnccl'"}}},
    {"jax_on_cpu",
     Severity::warning,
     LogPart::remark,
     LogWhere::anywhere,
     "No GPU/TPU found, falling back to CPU*\n"
     "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed*\n"
     "CUDA backend failed to initialize: *",
     as_key("JAX runs on the CPU"),
     as_key("It found no GPU that it can use: mostly jaxlib is the build for the CPU alone."),
     {jax_with_cuda, driver_there}},
    {"torch_on_cpu",
     Severity::warning,
     LogPart::remark,
     LogWhere::anywhere,
     "Warning: torch.cuda.amp.GradScaler is enabled, but CUDA is not available. *\n"
     "Warning: User provided device_type of 'cuda', but CUDA is not available. Disabling*\n"
     "Warning: CUDA is not available or torch_xla is imported. Disabling autocast*",
     as_key("PyTorch runs on the CPU"),
     as_key("Mixed precision for the GPU was asked for and PyTorch sees none; it goes on without."),
     {torch_sees, driver_there}},
    {"tensorflow_on_cpu",
     Severity::warning,
     LogPart::remark,
     LogWhere::anywhere,
     "Could not find cuda drivers on your machine, GPU will not be used*\n"
     "Cannot dlopen some GPU libraries*\nCould not load dynamic library 'libcu*'*\n"
     "failed call to cuInit: *",
     as_key("TensorFlow runs on the CPU"),
     as_key("It found no driver or not all of its CUDA libraries."),
     {tensorflow_with_cuda, driver_there}},
    {"card_not_in_build",
     Severity::warning,
     LogPart::remark,
     LogWhere::anywhere,
     "with CUDA capability sm_* is not compatible with the current PyTorch installation*\n"
     "which is of cuda capability *",
     as_key("this PyTorch was not built for this card"),
     as_key("It warns only; the first kernel will fail."),
     {build_for_card}},
    {"tensorflow_1_call",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "module 'tensorflow' has no attribute 'ConfigProto'\n"
     "module 'tensorflow' has no attribute 'GPUOptions'\n"
     "module 'tensorflow' has no attribute 'Session'\n"
     "module 'tensorflow' has no attribute 'placeholder'\n"
     "module 'tensorflow' has no attribute 'get_default_graph'\n"
     "module 'tensorflow' has no attribute 'global_variables_initializer'\n"
     "No module named 'tensorflow.contrib'",
     as_key("the program calls TensorFlow 1 and TensorFlow 2 is installed"),
     as_key("Sessions, placeholders and ConfigProto are gone since 2.0; most of the rest lives on "
            "in tf.compat.v1. What ConfigProto said about GPU memory is "
            "tf.config.experimental.set_memory_growth now."),
     {{as_key("let TensorFlow's own script rewrite the calls"),
       "tf_upgrade_v2 --infile train.py --outfile train_v2.py"},
      {as_key("or take the old names: import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()"),
       ""}}},
    {"nvprof_gone",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "nvprof is not supported on devices with compute capability *\n"
     "nvprof: command not found\nnvprof: not found\ncannot run nvprof: *",
     as_key("nvprof does not work with this card or is not there any more"),
     as_key("From compute capability 8.0 on (A100, RTX 30) it refuses, and CUDA 13 comes without "
            "it: Nsight Systems and Nsight Compute are in its place."),
     {{as_key("profile the whole program"), "nsys profile python train.py"},
      {as_key("or single kernels"), "ncu python train.py"}}},
});

}  // namespace berth
