#pragma once
// Error texts of drivers and libraries that are missing, too old, or of different versions. Also
// what frameworks say when they do without the GPU for that. Included by catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Advice update_driver{as_key("have an administrator update the driver"),
                                                ""};
inline constexpr LogEntry::Advice older_build{
    as_key("or install a build of the framework for an older CUDA"), ""};
inline constexpr LogEntry::Advice unset_library_path{
    as_key("run it without the variable: the framework's own packages bring their libraries"),
    "env -u LD_LIBRARY_PATH python train.py"};
inline constexpr LogEntry::Advice jax_with_cuda{as_key("install JAX with its CUDA packages"),
                                                "pip install -U \"jax[cuda12]\""};
inline constexpr LogEntry::Advice tensorflow_with_cuda{
    as_key("install TensorFlow with its CUDA packages"), "pip install -U \"tensorflow[and-cuda]\""};
inline constexpr LogEntry::Advice torch_sees{
    as_key("see what this Python's PyTorch can use"),
    "python -c \"import torch; print(torch.__version__, torch.cuda.is_available())\""};
inline constexpr LogEntry::Advice driver_there{as_key("see whether the driver is there at all"),
                                               "berth"};

inline constexpr auto driver_entries = std::to_array<LogEntry>({
    {"driver_too_old",
     Severity::error,
     LogPart::cause,
     "nvidia driver on your system is too old\n"
     "driver version is insufficient\n"
     "cudaerrorinsufficientdriver\n"
     "insufficient driver version\n"
     "unsatisfied condition: {cuda|driver|brand}\n"
     "driver is too old\n"
     "installed driver * does not support\n"
     "requires a driver * or newer\n"
     "requires nvidia driver *, but",
     as_key("the driver is too old for the CUDA of the framework"),
     as_key("A driver runs programs of its own CUDA's major version and older ones."),
     {update_driver, older_build}},
    {"no_driver",
     Severity::error,
     LogPart::cause,
     "found no nvidia driver on your system\n"
     "!libcuda.so{.1|}*cannot open shared object file\n"
     "nvml{: | }shared library not found\n"
     "nvml library couldn't be found\n"
     "nvmlerror_librarynotfound\n"
     "could not find libcuda\n"
     "couldn't find libnvidia-ml.so library\n"
     "nvidia-smi: command not found\n"
     "nvidia-smi: not found\n"
     "nvidia-smi: no such file\n"
     "nvidia-smi{:|：| :}*{未找到命令|找不到命令|没有那个文件或目录}\n"
     "command not found: nvidia-smi\n"
     "command 'nvidia-smi' not found\n"
     "'nvidia-smi' is not recognized\n"
     "no such file or directory: 'nvidia-smi'\n"
     "{importerror|oserror}: libcuda.so.1: cannot open shared object file",
     as_key("there is no NVIDIA driver for this program"),
     as_key("The machine has none, its module is not loaded, or the container was started without "
            "GPUs."),
     {driver_there, {as_key("start the container with its GPUs"), "docker run --gpus all …"}}},
    {"driver_library_mismatch",
     Severity::error,
     LogPart::cause,
     "driver/library version mismatch\n"
     "api mismatch: the client has\n"
     "api mismatch: this client has\n"
     "nvmlerror_libraryversionmismatch\n"
     "nvml_error_lib_rm_version_mismatch\n"
     "kernel module has the version",
     as_key("the driver's module and its library are of different versions"),
     as_key("The driver was updated while its old module was in use; it stays until the module is "
            "loaded again."),
     {{as_key("have an administrator restart the machine"), ""}}},
    {"nvml_unknown_error",
     Severity::error,
     LogPart::cause,
     "failed to initialize nvml: unknown error\n"
     "nvml{:| error:} unknown error\n"
     "nvmlerror_unknown",
     as_key("the container has lost its GPUs"),
     as_key("A container's right to its devices goes when systemd is reloaded on the host."),
     {{as_key("start the container again"), ""},
      {as_key("have the container toolkit set up with CDI or without systemd's cgroups"), ""}}},
    // Start scripts call nvidia-smi on nodes without a GPU as well, and go on.
    {"driver_unreachable",
     Severity::warning,
     LogPart::remark,
     "nvidia-smi has failed because it couldn*t communicate with the nvidia driver\n"
     "failed to initialize nvml: driver not loaded\n"
     "nvml: driver not loaded",
     as_key("nvidia-smi does not reach the driver"),
     as_key("Its module is not loaded. Mostly it was not built for the kernel that runs since the "
            "last update, or nouveau has the card."),
     {{as_key("let berth say why"), "berth doctor"},
      {as_key("see whether the module was built for this kernel"), "dkms status; uname -r"},
      {as_key("have an administrator load the module"), "sudo modprobe nvidia"}}},
    {"driver_combination",
     Severity::error,
     LogPart::cause,
     "unsupported display driver / cuda driver combination\n"
     "cudaerrorsystemdrivermismatch\n"
     "cuda_error_system_driver_mismatch\n"
     "error 803\n"
     "cuda error 803",
     as_key("libcuda and the driver's module are of different versions"),
     as_key("Often a container brings a libcuda of its own that does not fit the host's driver. Or "
            "the driver was updated and the machine not restarted."),
     {unset_library_path, {as_key("have an administrator restart the machine"), ""}}},
    {"forward_compatibility",
     Severity::error,
     LogPart::cause,
     "forward compatibility was attempted on non supported hw\n"
     "cudaerrorcompatnotsupportedondevice\n"
     "cuda_error_compat_not_supported_on_device\n"
     "error 804",
     as_key("a newer libcuda is used with an old driver on a card that cannot do so"),
     as_key("NVIDIA's compatibility package (cuda-compat) works with data centre cards alone."),
     {update_driver, unset_library_path}},
    {"fabric_not_ready",
     Severity::error,
     LogPart::cause,
     "system not yet initialized\n"
     "cudaerrorsystemnotready\n"
     "cuda_error_system_not_ready\n"
     "error 802\n"
     "fabric manager*{not running|not ready|failed to start|in progress}",
     as_key("the machine's NVSwitches are not set up"),
     as_key("Cards that are joined by NVSwitch do nothing until the fabric manager of the driver's "
            "own version runs."),
     {{as_key("have an administrator start it"), "sudo systemctl status nvidia-fabricmanager"}}},
    {"cuda_environment",
     Severity::error,
     LogPart::cause,
     "cuda unknown error - this may be due to an incorrectly set up environment*\n"
     "cuda driver initialization failed\n"
     "cuinit({0|flags}) * 999\n"
     "cuda initialization: unexpected error from cuda",
     as_key("CUDA could not be started"),
     as_key("CUDA_VISIBLE_DEVICES was changed after the program had begun, or the driver's module "
            "nvidia_uvm is not loaded."),
     {{as_key("set CUDA_VISIBLE_DEVICES before the program starts: berth run does"), ""},
      {as_key("see whether the device file of CUDA is there"), "ls -l /dev/nvidia-uvm"}}},
    {"cudnn_mismatch",
     Severity::error,
     LogPart::cause,
     "cudnn version incompatibility\n"
     "loaded runtime cudnn library: * but source was compiled with\n"
     "cudnn version * incompatible\n"
     "cudnn*version mismatch\n"
     "linked against cudnn * but * found",
     as_key("another cuDNN is loaded than the framework was built with"),
     as_key("A cuDNN of the system or of LD_LIBRARY_PATH comes before the framework's own. Or two "
            "frameworks in one environment want different ones."),
     {unset_library_path,
      {as_key("keep PyTorch, JAX and TensorFlow in environments of their own"), ""}}},
    {"cudnn_parts_mixed",
     Severity::error,
     LogPart::cause,
     "!cudnn_status_sublibrary_version_mismatch\n"
     "!sublibrary_version_mismatch\n"
     "sublibrary_loading_failed\n"
     "libcudnn*undefined symbol\n"
     "could not load symbol cudnn",
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
     "!libcu*.so*: undefined symbol: \n"
     "!libnv*.so*: undefined symbol: \n"
     "!libnccl*.so*: undefined symbol: \n"
     "symbol lookup error: *libcu\n"
     "version `libcu*' not found\n"
     "!undefined symbol: cu\n"
     "undefined symbol: {__nvjitlink|nvjitlink|nccl}\n"
     "not defined in file libcu",
     as_key("two CUDA libraries of different versions are mixed"),
     as_key("One was found in LD_LIBRARY_PATH or in the system, the other in the environment."),
     {unset_library_path, {as_key("install the framework again into a fresh environment"), ""}}},
    {"extension_for_other_torch",
     Severity::error,
     LogPart::cause,
     "!undefined symbol: _zn{3c10|2at|5torch|k3c10|k2at|k5torch|r3c10|8c10}\n"
     "!undefined symbol: _z*{c10|torch}\n"
     "couldn't load custom c++ ops\n"
     "dll load failed while importing "
     "{flash_attn|_c|_ext|causal_conv|mamba|selective|deform|xformers|gptq|awq}\n"
     "operator torchvision::nms does not exist\n"
     "no such operator torchvision\n"
     "xformers wasn't build\n"
     "xformers was built for:\n"
     "libtorch*.so*: cannot open shared object\n"
     "libc10*.so*: cannot open shared object\n"
     "were compiled with different\n"
     "compiled with a different version of\n"
     "abi mismatch\n"
     "thc/thc.h: no such file\n"
     "identifier \"at_check\" is undefined\n"
     "no module named '{flash_attn_2_cuda|flash_attn_cuda|selective_scan_cuda|causal_conv1d_cuda}",
     as_key("an extension was built for another PyTorch"),
     as_key("Its names are not those of the PyTorch that is installed. Flash-attn, mmcv and their "
            "like are built for one version each."),
     {{as_key("build it again for this PyTorch"),
       "pip install --force-reinstall --no-build-isolation --no-cache-dir PACKAGE"}}},
    {"cuda_library_missing",
     Severity::error,
     LogPart::cause,
     "!libcu*.so*: cannot open shared object file\n"
     "!libnccl.so*: cannot open shared object file\n"
     "!libnv*.so*: cannot open shared object file\n"
     "!libcu{blas|dnn|dart|solver|sparse|fft|rand|pti}*{not found|cannot be loaded|could not be "
     "loaded|no such file}\n"
     "!libn{vrtc|ccl}.so*{not found|cannot be loaded|could not be loaded|no such file}\n"
     "cuda setup failed despite gpu being available\n"
     "no libcudart.so found! install\n"
     "unable to load any of *libcu\n"
     "could not load library {libcu|cudnn|cublas}\n"
     "failed to load library libonnxruntime_providers_{cuda|tensorrt}\n"
     "onnxruntime_providers_{cuda|tensorrt}.dll\n"
     "{cudart64|cublas64|cudnn64|cufft64|cusolver64|cublaslt64|cudnn_}*.dll\n"
     "cuda_path is set but cuda wasn't able to be loaded\n"
     "library {cublas|cudnn|libcu|cudart|nvrtc}*is not found\n"
     "failed to create cudaexecutionprovider\n"
     "dynamic library (lib{cu|nccl}\n"
     "could not find the bitsandbytes cuda binary\n"
     "required library version not found: libbitsandbytes\n"
     "could not load bitsandbytes native library\n"
     "'nonetype' object has no attribute 'c{quantize|dequantize|adam|get_managed|igemm}\n"
     "failed to load lib{cu|nv}\n"
     "dll load failed while importing onnxruntime\n"
     "error while loading shared libraries: lib{cu|nv|nccl}",
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
     "no gpu/tpu found, falling back to cpu\n"
     "a cuda-enabled jaxlib is not installed\n"
     "cuda backend failed to initialize\n"
     "unable to initialize backend '{cuda|gpu}'",
     as_key("JAX runs on the CPU"),
     as_key("It found no GPU that it can use: mostly jaxlib is the build for the CPU alone."),
     {jax_with_cuda, driver_there}},
    {"torch_on_cpu",
     Severity::warning,
     LogPart::remark,
     "warning: torch.cuda.amp.gradscaler is enabled, but cuda is not available. *\n"
     "warning: user provided device_type of 'cuda', but cuda is not available. disabling*\n"
     "warning: cuda is not available or torch_xla is imported. disabling autocast*",
     as_key("PyTorch runs on the CPU"),
     as_key("Mixed precision for the GPU was asked for and PyTorch sees none; it goes on without."),
     {torch_sees, driver_there}},
    {"tensorflow_on_cpu",
     Severity::warning,
     LogPart::remark,
     "could not find cuda drivers on your machine, gpu will not be used\n"
     "cannot dlopen some gpu libraries\n"
     "could not load dynamic library 'libcu\n"
     "could not load dynamic library 'cu\n"
     "failed call to cuinit",
     as_key("TensorFlow runs on the CPU"),
     as_key("It found no driver or not all of its CUDA libraries."),
     {tensorflow_with_cuda, driver_there}},
    {"card_not_in_build",
     Severity::warning,
     LogPart::remark,
     "is not compatible with the current pytorch installation\n"
     "pytorch no longer supports this gpu\n"
     "which is of cuda capability ",
     as_key("this PyTorch was not built for this card"),
     as_key("It warns only; the first kernel will fail."),
     {build_for_card}},
    {"tensorflow_1_call",
     Severity::error,
     LogPart::cause,
     "!module 'tensorflow' has no attribute 'configproto'\n"
     "!module 'tensorflow' has no attribute 'gpuoptions'\n"
     "!module 'tensorflow' has no attribute 'session'\n"
     "!module 'tensorflow' has no attribute 'placeholder'\n"
     "!module 'tensorflow' has no attribute 'get_default_graph'\n"
     "!module 'tensorflow' has no attribute 'global_variables_initializer'\n"
     "!no module named 'tensorflow.contrib'",
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
     "nvprof is not supported on devices with compute capability *\n"
     "nvprof: command not found\n"
     "nvprof: not found\n"
     "cannot run nvprof: *",
     as_key("nvprof does not work with this card or is not there any more"),
     as_key("From compute capability 8.0 on (A100, RTX 30) it refuses, and CUDA 13 comes without "
            "it. Nsight Systems and Nsight Compute are in its place."),
     {{as_key("profile the whole program"), "nsys profile python train.py"},
      {as_key("or single kernels"), "ncu python train.py"}}},
    {"mkl_mismatch",
     Severity::error,
     LogPart::cause,
     "undefined symbol: {ijit_|mkl_}",
     as_key("another MKL is loaded than PyTorch was built with"),
     as_key("The symbol belongs to Intel's MKL and has nothing to do with the GPU."),
     {{as_key("install the MKL that fits"), "pip install \"mkl<2024.1\""},
      {as_key("or install the framework again into a fresh environment"), ""}}},
    {"openmp_twice",
     Severity::error,
     LogPart::cause,
     "omp: error #15\n"
     "mkl_threading_layer=intel is incompatible with",
     as_key("two OpenMP libraries meet in one program"),
     as_key("numpy and the framework each brought one, Intel's and GNU's or LLVM's."),
     {{as_key("have MKL take the one that is loaded"), "export MKL_THREADING_LAYER=GNU"},
      {as_key("or have one installer bring numpy and the framework into a fresh environment"),
       ""}}},
    {"device_init_failed",
     Severity::error,
     LogPart::cause,
     "rminitadapter failed\n"
     "rm_init_adapter failed\n"
     "unable to initialize the gpu\n"
     "installed in this system requires use of the nvidia open kernel modules\n"
     "kgspinitialize_ghgb\n"
     "nvidia: probe of * failed with error\n"
     "none of the nvidia devices were initialized\n"
     "assigned to your nvidia device is invalid",
     as_key("the driver is loaded and could not start the card"),
     as_key("The card does not answer as it should, or lacks power or memory addresses. Or it "
            "needs the open kernel modules."),
     {{as_key("let berth say what the driver says"), "berth doctor"},
      {as_key("have an administrator look at the lines of NVRM around it"),
       "sudo dmesg | grep NVRM"}}},
    {"device_bound_elsewhere",
     Severity::error,
     LogPart::cause,
     "nvrm: gpu * is already bound to\n"
     "nvidia probe routine was not called\n"
     "obtained ownership of the nvidia device",
     as_key("another driver has the card"),
     as_key("vfio-pci (a card given to a virtual machine) or nouveau holds it, so that NVIDIA's "
            "driver cannot."),
     {{as_key("see which driver has it"), "lspci -k -d 10de:"},
      {as_key("have an administrator give it back to the nvidia driver"), ""}}},
    {"driver_module_not_loaded",
     Severity::error,
     LogPart::cause,
     "modprobe: {error|fatal}*nvidia\n"
     "could not insert 'nvidia\n"
     "insmod*nvidia*.ko\n"
     "nvrm: no nvidia {gpu found|devices probed|graphics adapter found}\n"
     "required key not available\n"
     "nvrm: the nvidia*supported through the nvidia * legacy drivers\n"
     "module nvidia not found\n"
     "nvidia: unknown symbol\n"
     "nvidia: disagrees about version of symbol\n"
     "nvidia: version magic\n"
     "key was rejected by service\n"
     "installed in this system is not supported by\n"
     "loading of unsigned module is rejected\n"
     "unable to load the {'|\"|}nvidia",
     as_key("the driver's kernel module could not be loaded"),
     as_key("Secure Boot refuses a module without a known key, or the module was built for another "
            "kernel. Or the driver does not know the card."),
     {{as_key("let berth say why"), "berth doctor"},
      {as_key("see whether the module was built for this kernel"), "dkms status; uname -r"}}},
    {"nvswitch_error",
     Severity::error,
     LogPart::cause,
     "nvidia-nvswitch*sxid\n"
     "sxid (pci\n"
     "nvswitch*fatal",
     as_key("an NVSwitch reported an error"),
     as_key("The switch that joins the cards had an error: what runs over several cards may fail "
            "or hang."),
     {{as_key("see how the devices are now"), "berth health"},
      {as_key("have an administrator look at the fabric manager"),
       "sudo systemctl status nvidia-fabricmanager"}}},
});

}  // namespace berth
