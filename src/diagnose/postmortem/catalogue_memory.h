#pragma once
// Error texts of too little memory: the device's, and the machine's. Included by catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Advice less_main_memory{
    as_key("load less at once: fewer data loader workers, a memory map or a stream instead of the "
           "whole "
           "data set"),
    ""};

inline constexpr auto memory_entries = std::to_array<LogEntry>({
    {"cuda_out_of_memory",
     Severity::error,
     LogPart::cause,
     "!{cuda|hip|xpu|npu} out of memory. tried to allocate",
     as_key("the GPU's memory was used up"),
     as_key("PyTorch could not get the memory for one more tensor."),
     {smaller_batch, who_is_on_it},
     Tells::gpu_memory_shortage},
    {"tensorflow_out_of_memory",
     Severity::error,
     LogPart::cause,
     "!resourceexhaustederror\n"
     "!unable to allocate output tensor\n"
     "!ran out of memory trying to allocate\n"
     "oom when allocating tensor with shape",
     as_key("the GPU's memory was used up"),
     as_key("TensorFlow could not get the memory for the tensor that it names."),
     {smaller_batch,
      {as_key("let TensorFlow take memory as it needs it instead of all at once"),
       "export TF_FORCE_GPU_ALLOW_GROWTH=true"},
      who_is_on_it},
     Tells::gpu_memory_shortage},
    {"xla_out_of_memory",
     Severity::error,
     LogPart::cause,
     "!resource_exhausted\n"
     "!resource exhausted: out of memory\n"
     "!out of memory while trying to allocate\n"
     "!out of memory allocating * bytes\n"
     "!failed to allocate request for * on device ordinal",
     as_key("the GPU's memory was used up"),
     as_key("XLA (JAX or TensorFlow) could not get the memory that its compiled program needs. JAX "
            "takes three quarters of the device at its start, even if others are on it."),
     {smaller_batch,
      {as_key("let JAX take memory as it needs it instead of most at once"),
       "export XLA_PYTHON_CLIENT_PREALLOCATE=false"},
      who_is_on_it},
     Tells::gpu_memory_shortage},
    {"cublas_no_memory",
     Severity::error,
     LogPart::consequence,
     "!{cublas|hipblas}_status_alloc_failed\n"
     "!{cublas|hipblas}_status_not_initialized\n"
     "!failed to create cublas handle\n"
     "!could not create cublas handle",
     as_key("cuBLAS could not be started"),
     as_key("cuBLAS needs some memory of its own and did not get it: the device is nearly full. "
            "After an index out of range in an earlier kernel it fails in the same way."),
     {who_is_on_it,
      smaller_batch,
      {as_key("run once on the CPU, or with each kernel waited for, to see an index out of range"),
       "export CUDA_LAUNCH_BLOCKING=1"}},
     Tells::gpu_memory_shortage},
    {"cudnn_no_memory",
     Severity::error,
     LogPart::consequence,
     "cudnn_status_not_initialized\n"
     "cudnn_status_alloc_failed\n"
     "could not create cudnn handle\n"
     "failed to get convolution algorithm\n"
     "fail to find the dnn implementation\n"
     "dnn library {initialization failed|is not found}\n"
     "cudnn {failed|launch failure}*initializ",
     as_key("cuDNN could not be started"),
     as_key("Mostly there is too little memory left on the device for it. Else its libraries and "
            "the driver do not fit each other."),
     {who_is_on_it,
      {as_key("let TensorFlow take memory as it needs it instead of all at once"),
       "export TF_FORCE_GPU_ALLOW_GROWTH=true"},
      {as_key("see whether its libraries and the driver fit each other"), "berth doctor"}},
     Tells::gpu_memory_shortage},
    {"kernel_out_of_memory",
     Severity::error,
     LogPart::cause,
     "ut of memory: kill\n"
     "invoked oom-killer\n"
     "oom_reaper: reaped process\n"
     "oomkilled\n"
     "detected*oom*kill event\n"
     "some of the step tasks have been oom killed\n"
     "killed due to memory pressure (oom)\n"
     "exceeded {job |step |}memory limit\n"
     "exceeded memory limit (*), being killed\n"
     "state: out_of_memory\n"
     "memory cgroup out of memory\n"
     "node running low on memory\n"
     "memory low at node * killing\n"
     "srun: error: *: task*: out of memory\n"
     "system-oom\n"
     "been killed by the oom killer\n"
     "out-of-memory (oom) killer",
     as_key("the kernel killed it: the main memory was used up"),
     as_key("The machine, or the control group of the job (a container's or a scheduler's limit), "
            "had no main memory left. It is not the GPU's memory."),
     {less_main_memory, {as_key("ask the scheduler or the container for more main memory"), ""}}},
    {"cuda_out_of_memory_plain",
     Severity::error,
     LogPart::cause,
     "cuda error: out of memory\n"
     "error == cudasuccess (2 vs. 0)\n"
     "error=2 : out of memory\n"
     "cuda runtime error (2) : out of memory\n"
     "{cuda|hip|cudart|nvml} {error|failure|runtime failure}* out of memory\n"
     "cudaerrormemoryallocation\n"
     "cudamalloc failed: out of memory\n"
     "cudamalloc{async|managed|host}*out of memory\n"
     "cuda{malloc|hostalloc|mallochost}* failed*out of memory\n"
     "hiperroroutofmemory\n"
     "!{cuda|hip} out of memory\n"
     "^{cuda|hip} out of memory$\n"
     "^{cuda|hip} out of memory.$\n"
     "erroroutofdevicememory\n"
     "error_out_of_device_memory\n"
     "out of memory error on gpu\n"
     "out of gpu memory\n"
     "!gpu* out of memory\n"
     "!out of memory* on {device|gpu}\n"
     "outofmemoryerror: out of memory {allocating|to allocate}\n"
     "!allocation on device\n"
     "exception message:* allocation on device\n"
     "out_of_memory: cuda error\n"
     "insufficient gpu memory\n"
     "not enough gpu memory\n"
     "unable to allocate {cuda|rocm|vulkan|metal|sycl}* buffer\n"
     "failed to allocate {cuda|rocm|vulkan|metal|sycl}* buffer\n"
     "failed to allocate buffer for kv cache\n"
     "bfc_arena*failed to allocate memory\n"
     "failed to allocate memory for requested buffer of size\n"
     "is less than desired gpu memory utilization\n"
     "no available memory for the cache blocks\n"
     "larger than the available kv cache memory\n"
     "larger than the maximum number of tokens that can be stored in kv cache\n"
     "not enough memory. please try to increase --mem-fraction-static\n"
     "--mem-fraction-static*out of memory\n"
     "out of memory. please {use|reduce|decrease|try}*gpu\n"
     "cuda: out of memory\n"
     "cuda driver error: out of memory\n"
     "cuda_error_out_of_memory\n"
     "enforce allocating <= available failed\n"
     "requested amount of {gpu |}memory (*) could not be allocated\n"
     "unable to allocate backend buffer\n"
     "failed to allocate compute\n"
     "mps backend out of memory\n"
     "cl_mem_object_allocation_failure\n"
     "cl_out_of_resources\n"
     "!outofmemory (\n"
     "outofmemory error in\n"
     "!{gpu|cuda|device|vram|hip}*out of memory\n"
     "!out of memory*{gpu|cuda|device|vram}\n"
     "cudamalloc*out of memory",
     as_key("the GPU's memory was used up"),
     as_key("The runtime itself could not get memory. Often another process holds nearly all "
            "of it, so that not even this one's context fits."),
     {who_is_on_it, smaller_batch},
     Tells::gpu_memory_shortage},
    {"killed_line",
     Severity::warning,
     LogPart::consequence,
     "^killed$\n"
     "^killed: 9\n"
     "^killed  \n"
     "^zsh: killed \n"
     "^*: line *: * killed \n"
     "srun: error: *: task*: killed\n"
     "signal 9 ({sigkill|killed})\n"
     "signal 9: sigkill\n"
     "exit{code: |s with return code = |ed with code |ed with return code |ed with exit code |code "
     "= |_code: |status: }{-9|137}\n"
     "exit {code|status}{ |: |:}{-9|137}\n"
     "exit code:    137\n"
     "returncode: -9\n"
     "return code -9\n"
     "signals.sigkill: 9\n"
     "died with signal 9\n"
     "terminated by signal sigkill\n"
     "killed by signal: 9\n"
     "signal sigkill\n"
     "已杀死\n"
     "退出代码*137\n"
     "退出代码* -9\n"
     "退出码*137\n"
     "exited (137)\n"
     "exitcode={137|-9}\n"
     "exit_code: 137\n"
     "code=137\n"
     "non-zero exit status {137|-9}\n"
     "status=9/kill\n"
     "signal=kill\n"
     "被杀死\n"
     "signal 9 was received\n"
     "terminated with signal 9",
     as_key("it was killed (SIGKILL)"),
     as_key("Mostly the kernel does this when the main memory is used up. A scheduler or a person "
            "can do it, too. The program itself could say nothing."),
     {{as_key("ask the kernel whether it was for want of memory"),
       "dmesg -T | grep -i 'killed process'"},
      less_main_memory}},
    {"host_out_of_memory",
     Severity::error,
     LogPart::cause,
     "defaultcpuallocator: {can't|not}\n"
     "^memoryerror\n"
     "arraymemoryerror: \n"
     "unable to allocate * for an array with shape\n"
     "cannot allocate memory\n"
     "std::bad_alloc\n"
     "not enough memory: you tried to allocate\n"
     "java.lang.outofmemoryerror: {java heap|gc overhead|direct buffer|metaspace}\n"
     "paging file is too small\n"
     "requires more system memory\n"
     "os can't allocate memory\n"
     "failed to allocate * in host memory\n"
     "unable to allocate cpu buffer\n"
     "{ggml|llama}*failed to allocate cpu buffer",
     as_key("the main memory was used up"),
     as_key("The program asked for more main memory than it may have. It is not the GPU's memory."),
     {less_main_memory}},
});

}  // namespace berth
