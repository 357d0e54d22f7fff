#pragma once
// Error texts of kernels that fail on the device, and of devices that fail. Included by
// catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Advice sanitize{as_key("let NVIDIA's checker find the access"),
                                           "compute-sanitizer python train.py"};

inline constexpr LogEntry::Advice find_the_kernel_of_amd{find_the_kernel.what,
                                                         "export AMD_SERIALIZE_KERNEL=3"};
inline constexpr LogEntry::Advice ask_kernel_of_amd{as_key("see what AMD's driver says of it"),
                                                    "sudo dmesg -T | grep amdgpu"};

inline constexpr auto kernel_entries = std::to_array<LogEntry>({
    {"device_assert",
     Severity::error,
     LogPart::cause,
     "device-side assert triggered\n"
     "cuda_error_assert\n"
     "cudaerrorassert\n"
     "block: [*], thread: [*] assertion ",
     as_key("a check inside a kernel failed: mostly an index out of range"),
     as_key("Usually a label is not below the number of classes, or a token not below the size of "
            "the embedding. The device is unusable for this process from then on, so later errors "
            "follow from it."),
     {{as_key("look at the smallest and largest label or token of the batch"), ""},
      {as_key("run it once on the CPU: there the error names the line and the index"), ""},
      find_the_kernel}},
    {"ecc_error",
     Severity::error,
     LogPart::cause,
     "uncorrectable ecc error\n"
     "cuda_error_ecc_uncorrectable\n"
     "cudaerroreccuncorrectable\n"
     "double bit ecc error\n"
     "dbe (double bit error)\n"
     "xid (*): {48|94|95|140|171|172}",
     as_key("the device's memory has a fault that could not be corrected"),
     as_key("It is the hardware, not the program. The card replaces such memory at its next reset; "
            "where it comes again the card is to be returned."),
     {ask_health,
      {as_key("start it again on another device"), ""},
      {as_key("have an administrator reset the device when nobody is on it"), ""}}},
    {"device_lost",
     Severity::error,
     LogPart::cause,
     "gpu is lost\n"
     "unable to determine the device handle for gpu\n"
     "fallen off the bus\n"
     "xid (*): 79,",
     as_key("the device answers nobody any more"),
     as_key(
         "It has fallen off the bus: heat, power, its slot or a fault of the card. Every program "
         "on it dies."),
     {ask_health, {as_key("have an administrator restart the machine"), ""}}},
    {"rocm_memory_fault",
     Severity::error,
     LogPart::cause,
     // Before illegal_address, whose tools are NVIDIA's.
     "memory access fault by gpu\n"
     "hip error: an illegal memory access was encountered\n"
     "hiperrorillegaladdress",
     as_key("a kernel touched memory that is not its own"),
     as_key("It is a mistake in a kernel, or an index out of range. The kernel is of your "
            "extension, or the framework's, with shapes it was not made for. The trace names where "
            "it was noticed, not where it happened."),
     {find_the_kernel_of_amd, ask_kernel_of_amd, ask_health}},
    {"rocm_gpu_hang",
     Severity::error,
     LogPart::cause,
     "hw exception by gpu",
     as_key("the card hung"),
     as_key("The driver saw no progress on the card and reset it, or its queues. A kernel, the "
            "driver or a fault of the card can be the reason."),
     {ask_kernel_of_amd, ask_health, find_the_kernel_of_amd}},
    {"xpu_device_lost",
     Severity::error,
     LogPart::cause,
     "ur_result_error_device_lost\n"
     "ze_result_error_device_lost",
     as_key("the card hung"),
     as_key("The driver reset the card, or the work on it. Some versions of the driver say so as "
            "well where its memory is used up."),
     {{as_key("see what Intel's driver says of it"), "sudo dmesg -T | grep -wE 'xe|i915'"},
      smaller_batch,
      ask_health}},
    {"illegal_address",
     Severity::error,
     LogPart::cause,
     "an illegal memory access was encountered\n"
     "cuda_error_illegal_address\n"
     "cudaerrorillegaladdress\n"
     "xid (*): 31,\n"
     "xid (*): 13,*out of range address\n"
     "error code{: |=| }700\n"
     "cuda runtime error (77)\n"
     "cuda runtime error (700)",
     as_key("a kernel touched memory that is not its own"),
     as_key("It is a mistake in a kernel, or an index out of range. The kernel is of your "
            "extension, or the framework's, with shapes it was not made for. The trace names where "
            "it was noticed, not where it happened."),
     {find_the_kernel, sanitize, ask_health}},
    {"misaligned_address",
     Severity::error,
     LogPart::cause,
     "!misaligned address\n"
     "!cuda_error_misaligned_address\n"
     "!cudaerrormisalignedaddress",
     as_key("a kernel read memory at an address that does not fit its type"),
     as_key("It is a mistake in a kernel. Or a tensor's first element is not aligned as a fast "
            "kernel wants it."),
     {find_the_kernel, {as_key("make the tensor contiguous before the operation that fails"), ""}}},
    {"launch_failure",
     Severity::error,
     LogPart::cause,
     "unspecified launch failure\n"
     "hiperrorlaunchfailure\n"
     "cuda_error_launch_failed\n"
     "cudaerrorlaunchfailure\n"
     "cuda runtime error (4)\n"
     "cuda runtime error (719)",
     as_key("a kernel was ended by an error of the device"),
     as_key("Mostly a kernel that touches memory that is not its own; sometimes a fault of the "
            "card."),
     {find_the_kernel, sanitize, ask_health}},
    {"illegal_instruction_on_device",
     Severity::error,
     LogPart::cause,
     "an illegal instruction was encountered\n"
     "cuda_error_illegal_instruction\n"
     "cudaerrorillegalinstruction",
     as_key("a kernel met an instruction that the device does not have"),
     as_key("A kernel of another architecture, or a fault of the card or its clocks."),
     {build_for_card, ask_health}},
    {"launch_timeout",
     Severity::error,
     LogPart::cause,
     "the launch timed out and was terminated\n"
     "cuda_error_launch_timeout\n"
     "cudaerrorlaunchtimeout\n"
     "xid (*): 8,",
     as_key("a kernel ran longer than a card with a display may"),
     as_key("The driver ends kernels of more than some seconds on a card that draws a desktop. "
            "Some cards that hang end so, too."),
     {{as_key("use a card without a display, or split the work into smaller kernels"), ""},
      ask_health}},
    {"no_kernel_image",
     Severity::error,
     LogPart::cause,
     "no kernel image is available for execution\n"
     "cuda error: invalid device function\n"
     "invalid device function\n"
     "device kernel image is invalid\n"
     "cuda_error_no_binary_for_gpu\n"
     "cudaerrornokernelimagefordevice\n"
     "cudaerrorinvaliddevicefunction",
     as_key("the program holds no code for this card"),
     as_key("The framework or an extension was built for other cards. This one is newer than the "
            "build, or too old for it."),
     {build_for_card,
      {as_key("see the card's compute capability or architecture"),
       "berth status --csv index,name,compute_capability,architecture"}}},
    {"ptx_too_new",
     Severity::error,
     LogPart::cause,
     "ptx was compiled with an unsupported toolchain\n"
     "cuda_error_unsupported_ptx_version\n"
     "cudaerrorunsupportedptxversion\n"
     "unsupported .version *; current version is\n"
     "cuda_error_invalid_ptx\n"
     "a ptx jit compilation failed",
     as_key("the driver is older than the CUDA that the code was made with"),
     as_key("Code that is translated for the card at its start needs a driver of the same CUDA "
            "version or newer."),
     {{as_key("install a build for an older CUDA, or have the driver updated"), ""}}},
    {"nvrtc_architecture",
     Severity::error,
     LogPart::cause,
     "nvrtc: error: invalid value for --gpu-architecture\n"
     "nvrtc_error_invalid_option\n"
     "ptxas fatal*value 'sm_{1|9|89}*is not defined for option",
     as_key("the card is newer than the CUDA of the framework"),
     as_key("The compiler in the framework's CUDA does not know this card's architecture."),
     {build_for_card}},
    {"too_many_resources",
     Severity::error,
     LogPart::cause,
     "too many resources requested for launch\n"
     "cuda error: invalid configuration argument\n"
     "cuda_error_launch_out_of_resources\n"
     "cudaerrorlaunchoutofresources",
     as_key("a kernel was started with sizes that the device cannot run"),
     as_key("A kernel of your own has too many threads or registers. Or an operation met a tensor "
            "that is empty or far too large."),
     {find_the_kernel, {as_key("look at the shapes that go into the operation"), ""}}},
    {"triton_out_of_resources",
     Severity::error,
     LogPart::cause,
     "out of resource: {shared memory|registers|tensor memory}\n"
     "outofresources: \n"
     "uses too much shared data",
     as_key("a Triton kernel needs more than this card has"),
     as_key("Not the GPU's memory: the shared memory (or the registers) of its multiprocessors. "
            "The kernel's sizes were chosen for another card."),
     {{as_key("where the kernel is one's own: smaller blocks, fewer num_stages or num_warps"), ""},
      {as_key("else a version of the library that knows this card, or another of its backends"),
       ""},
      {as_key("of torch.compile: leave out mode=\"max-autotune\""), ""}}},
    {"stream_capture",
     Severity::error,
     LogPart::cause,
     "operation not permitted when stream is capturing\n"
     "operation failed due to a previous error during capture\n"
     "cudaerrorstreamcapture",
     as_key("something was done that a CUDA graph cannot hold"),
     as_key("While a graph is recorded nothing may wait for the device or ask for its memory."),
     {{as_key("leave the operation out of the graph, or run without graphs (torch.compile: "
              "mode=\"default\")"),
       ""}}},
    {"cublas_failed",
     Severity::error,
     LogPart::consequence,
     "!cublas_status_{execution_failed|internal_error|invalid_value|mapping_error|not_supported|"
     "arch_mismatch}\n"
     "!cublas library returned\n"
     "failed to run cublas routine\n"
     "blas {gemm|sgemm|xgemm|gemv|dot}* launch failed\n"
     "blas xgemm*launch failed",
     as_key("a matrix product failed on the device"),
     as_key("Mostly an earlier kernel had failed already (an index out of range). Else shapes do "
            "not fit, or libraries have different versions."),
     {find_the_kernel,
      {as_key("run it once on the CPU: there the error names the line and the index"), ""}}},
    {"cudnn_failed",
     Severity::error,
     LogPart::consequence,
     "!cudnn_status_{execution_failed|internal_error|mapping_error|bad_param|not_supported|arch_"
     "mismatch}\n"
     "^cudnn {error|failure}*: "
     "cudnn_status_{execution_failed|internal_error|mapping_error|bad_param|not_supported}\n"
     "^cudnn_status_{execution_failed|internal_error|mapping_error|bad_param|not_supported} at [\n"
     "!unable to find a valid cudnn algorithm\n"
     "!unable to find an engine to execute this computation",
     as_key("a cuDNN operation failed on the device"),
     as_key("Mostly too little memory was left for its workspace, or an earlier kernel had failed. "
            "Else cuDNN and the driver do not fit each other."),
     {{as_key("lower the batch and see whether it goes away"), ""}, find_the_kernel}},
    {"cuda_library_failed",
     Severity::error,
     LogPart::consequence,
     "!cusolver error: cusolver_status_\n"
     "!{cusparse|hipsparse} error: \n"
     "!cufft error: cufft_\n"
     "!curand_status_",
     as_key("an operation of a CUDA library failed on the device"),
     as_key("Mostly too little memory was left for its workspace, or an earlier kernel had failed. "
            "Else the library is older than the card."),
     {who_is_on_it, find_the_kernel, build_for_card}},
    {"cuda_unknown_error",
     Severity::error,
     LogPart::cause,
     "!cuda error: unknown error\n"
     "!cuda runtime error (30) : unknown error\n"
     "!cuda_error_unknown\n"
     "!cudaerrorunknown\n"
     "!cuda error 999\n"
     "!error 999",
     as_key("the driver answers with an error that it does not explain"),
     as_key("It does so after a laptop's sleep, an update of the driver or a fault of the card. "
            "Loading its module again ends that."),
     {ask_health, {as_key("have an administrator restart the machine"), ""}}},
    {"card_too_old",
     Severity::error,
     LogPart::cause,
     "!only supported on gpus with compute capability\n"
     "!requires {a gpu with |}compute capability\n"
     "!compute capability * is not supported\n"
     "!gpu is too old\n"
     "!not supported on {this gpu|compute capability}\n"
     "requires .target sm_",
     as_key("the card is too old for this program"),
     as_key("The program uses what only cards of a newer compute capability have."),
     {{as_key("ask for a newer card"), "berth run --min-compute 8.0 -- python train.py"},
      {as_key("or install a release of the program that still knew this card, or choose another "
              "number format (float16 for bfloat16)"),
       ""}}},
});

}  // namespace berth
