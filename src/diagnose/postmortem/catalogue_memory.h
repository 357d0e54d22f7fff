#pragma once
// Error texts of too little memory: the device's, and the machine's. Included by catalogue.cc only.

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Step less_main_memory{
    as_key("load less at once: fewer data loader workers, a memory map or a stream instead of the "
           "whole "
           "data set"),
    ""};

inline constexpr auto memory_entries = std::to_array<LogEntry>({
    {"cuda_out_of_memory",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "CUDA out of memory. Tried to allocate *\nHIP out of memory. Tried to allocate *",
     as_key("the GPU's memory was used up"),
     as_key("PyTorch could not get the memory for one more tensor."),
     {smaller_batch, who_is_on_it}},
    {"cuda_out_of_memory_plain",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "CUDA error: out of memory\ncuda runtime error (2) : out of memory\n"
     "cudaErrorMemoryAllocation: out of memory\nCUDA Error: out of memory\n"
     "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating *\n"
     "OutOfMemoryError: Allocation on device*\nout_of_memory: CUDA error*\n"
     "cudaErrorMemoryAllocation out of memory*",
     as_key("the GPU's memory was used up"),
     as_key("The CUDA runtime itself could not get memory: often another process holds nearly all "
            "of it already, so that not even this one's context fits."),
     {who_is_on_it, smaller_batch}},
    {"tensorflow_out_of_memory",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "OOM when allocating tensor with shape*",
     as_key("the GPU's memory was used up"),
     as_key("TensorFlow could not get the memory for the tensor that it names."),
     {smaller_batch,
      {as_key("let TensorFlow take memory as it needs it instead of all at once"),
       "export TF_FORCE_GPU_ALLOW_GROWTH=true"},
      who_is_on_it}},
    {"xla_out_of_memory",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "RESOURCE_EXHAUSTED: Out of memory*\nResource exhausted: Out of memory*",
     as_key("the GPU's memory was used up"),
     as_key("XLA (JAX or TensorFlow) could not get the memory that its compiled program needs. JAX "
            "takes three quarters of the device at its start, whoever else is on it."),
     {smaller_batch,
      {as_key("let JAX take memory as it needs it instead of most at once"),
       "export XLA_PYTHON_CLIENT_PREALLOCATE=false"},
      who_is_on_it}},
    {"cublas_no_memory",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "CUBLAS_STATUS_ALLOC_FAILED*\nCUBLAS_STATUS_NOT_INITIALIZED*",
     as_key("cuBLAS could not be started"),
     as_key("cuBLAS needs some memory of its own and did not get it: the device is nearly full. "
            "After an index out of range in an earlier kernel it fails in the same way."),
     {who_is_on_it,
      smaller_batch,
      {as_key("run once on the CPU, or with each kernel waited for, to see an index out of range"),
       "export CUDA_LAUNCH_BLOCKING=1"}}},
    {"cudnn_no_memory",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "CUDNN_STATUS_NOT_INITIALIZED*\nCUDNN_STATUS_ALLOC_FAILED*",
     as_key("cuDNN could not be started"),
     as_key("Mostly there is too little memory left on the device for it; else its libraries and "
            "the driver do not fit each other."),
     {who_is_on_it, smaller_batch}},
    {"kernel_out_of_memory",
     Severity::error,
     LogPart::cause,
     LogWhere::anywhere,
     "ut of memory: Killed process *\nut of memory: Kill process *\n"
     "slurmstepd: error: Detected * oom*kill event*\nslurmstepd: error: Detected * oom_kill event*",
     as_key("the kernel killed it: the main memory was used up"),
     as_key("The machine, or the control group of the job (a container's or a scheduler's limit), "
            "had no main memory left. It is not the GPU's memory."),
     {less_main_memory, {as_key("ask the scheduler or the container for more main memory"), ""}}},
    {"killed_line",
     Severity::warning,
     LogPart::cause,
     LogWhere::anywhere,
     "^Killed$\n^*: line *: * Killed *\nSignal 9 (SIGKILL) received by PID *\n"
     "failed (exitcode: -9) local_rank: *",
     as_key("it was killed (SIGKILL)"),
     as_key("Mostly the kernel does this when the main memory is used up; a scheduler or a person "
            "can do it, too. The program itself could say nothing."),
     {{as_key("ask the kernel whether it was for want of memory"),
       "dmesg -T | grep -i 'killed process'"},
      less_main_memory}},
    {"host_out_of_memory",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "DefaultCPUAllocator: can't allocate memory*\nDefaultCPUAllocator: not enough memory*\n"
     "^MemoryError*\nArrayMemoryError: *\n[Errno 12] Cannot allocate memory*",
     as_key("the main memory was used up"),
     as_key("The program asked for more main memory than it may have. It is not the GPU's memory."),
     {less_main_memory}},
});

}  // namespace berth
