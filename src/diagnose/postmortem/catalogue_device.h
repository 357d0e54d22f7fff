#pragma once
// Error texts of programs that mix up devices, or that ask for one they do not have. Included by
// catalogue.cc only.

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Step move_both{
    as_key("move the model and every batch to the same device: model.to(device), batch.to(device); "
           "tensors "
           "made inside forward() as well"),
    ""};
inline constexpr LogEntry::Step check_cuda{
    as_key("see what this Python's PyTorch can use"),
    "python -c \"import torch; print(torch.__version__, torch.cuda.is_available())\""};
inline constexpr LogEntry::Step what_was_given{as_key("see the devices and who has them"), "berth"};

inline constexpr auto device_entries = std::to_array<LogEntry>({
    {"different_types",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     // Before different_devices: a type of tensor says both, and only "cuda." tells where it is.
     "Input type (torch.cuda.*) and weight type (torch.cuda.*) should be the same*\n"
     "Input type (torch.HalfTensor) and weight type (torch.FloatTensor) should be the same*\n"
     "Input type (torch.FloatTensor) and weight type (torch.HalfTensor) should be the same*\n"
     "Input type (torch.BFloat16Tensor) and weight type (torch.FloatTensor) should be the same*\n"
     "Input type (torch.FloatTensor) and weight type (torch.BFloat16Tensor) should be the same*\n"
     "Input type (torch.DoubleTensor) and weight type (torch.FloatTensor) should be the same*\n"
     "Input type (torch.ByteTensor) and weight type (torch.FloatTensor) should be the same*\n"
     "Input type (*) and bias type (*) should be the same*\n"
     "mat1 and mat2 must have the same dtype*\nexpected m1 and m2 to have the same dtype*\n"
     "Expected query, key, and value to have the same dtype*\n"
     "RNN input dtype (*) does not match weight dtype (*)*\n"
     "input must have the type torch.*, got type torch.*\n"
     "expected scalar type * but found *\nFound dtype * but expected *\n"
     "expected target dtype to be *, but got *",
     as_key("two tensors hold different types of numbers"),
     as_key("An operation got float16 or bfloat16 together with float32, float64 from NumPy, or "
            "labels that are not whole numbers. They are on the same device."),
     {{as_key("compute under torch.autocast, which brings them together, instead of calling "
              ".half() on the model or the batch alone"),
       ""},
      {as_key("else make them the same: batch.to(model's dtype); array.astype(\"float32\"); "
              "labels.long() for classes"),
       ""}}},
    {"different_devices",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Expected all tensors to be on the same device*\n"
     "Expected object of device type * but got device type *\n"
     "Expected object of backend * but got backend *\n"
     "Input type (*) and weight type (*) should be the same*",
     as_key("two tensors are on different devices"),
     as_key("An operation got one tensor from the GPU and one from the CPU, or from two GPUs."),
     {move_both}},
    {"expected_cuda_device",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Expected a cuda device, but got: *",
     as_key("a function for GPUs was given the CPU as its device"),
     as_key("Functions like torch.cuda.set_device() want a GPU; the program chose the CPU, mostly "
            "because it saw no GPU."),
     {{as_key("leave out torch.cuda calls where the device is the CPU"), ""}, check_cuda}},
    {"device_without_index",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Expected a torch.device with a specified index or an integer, but got*",
     as_key("a function wants to know which GPU and was told \"cuda\" only"),
     as_key("torch.cuda.set_device() needs a number."),
     {{as_key("write \"cuda:0\", or int(os.environ[\"LOCAL_RANK\"]) in a distributed job"), ""}}},
    {"invalid_device_ordinal",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "invalid device ordinal\nCUDA_ERROR_INVALID_DEVICE\n"
     "Attempting to deserialize object on CUDA device * but torch.cuda.device_count() is *",
     as_key("the program asks for a GPU number that it does not have"),
     as_key(
         "A job sees only the GPUs that it was given, numbered from 0, whatever nvidia-smi calls "
         "them. A checkpoint from a machine with more GPUs asks for theirs."),
     {{as_key("count from 0: cuda:0 is the first that the job was given"), ""},
      {as_key("load checkpoints with map_location"), ""},
      {as_key("start as many processes as there are GPUs: with `berth run -n K`, torchrun "
              "--nproc-per-node K"),
       ""}}},
    {"not_compiled_with_cuda",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Torch not compiled with CUDA enabled*\nPyTorch is not linked with support for cuda devices*\n"
     "Not compiled with CUDA support*\nNot compiled with GPU support*\n"
     "Cannot get CUDA generator without ATen_cuda library*\n"
     "Device type CUDA is not supported for torch.Generator()*\n"
     "module 'torch._C' has no attribute '_cuda_*\n"
     "Could not run '*' with arguments from the 'CUDA' backend*\n"
     "torch.cuda.* requires CUDA support*\nTried to instantiate dummy base class CUDAGraph*",
     as_key("the installed build has no GPU support"),
     as_key(
         "This PyTorch, or an extension, is a build for the CPU alone, whatever the machine has."),
     {check_cuda,
      {as_key("install a CUDA build into the same environment (the page \"Get Started\" of "
              "pytorch.org "
              "says which)"),
       ""}}},
    {"checkpoint_from_gpu",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False*",
     as_key("a checkpoint from a GPU is loaded where PyTorch sees none"),
     as_key("The file says that its tensors belong on a GPU, and here is none for this program."),
     {{as_key("torch.load(file, map_location=\"cpu\") where the CPU is meant"), ""}, check_cuda}},
    {"checkpoint_weights_only",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Weights only load failed*",
     as_key("the checkpoint holds more than tensors"),
     as_key("Since 2.6 torch.load() reads tensors alone unless told otherwise: a file with other "
            "objects in it (a whole model, settings) is refused, because loading it could run any "
            "code."),
     {{as_key("save model.state_dict() and load that"), ""},
      {as_key("where you trust whoever made the file: torch.load(file, weights_only=False)"), ""}}},
    {"no_cuda_gpus",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "No CUDA GPUs are available*\nno CUDA-capable device is detected*",
     as_key("the program sees no GPU"),
     as_key("CUDA_VISIBLE_DEVICES is empty or names none that exists, the container was started "
            "without GPUs, or the driver is not there."),
     {what_was_given,
      {as_key("look at the variable as the job has it"), "echo \"$CUDA_VISIBLE_DEVICES\""},
      {as_key("start it by berth run, which sets it"), ""}}},
    {"devices_busy",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "all CUDA-capable devices are busy or unavailable*\n"
     "CUDA-capable device(s) is/are busy or unavailable*\nCUDA_ERROR_DEVICE_UNAVAILABLE*",
     as_key("the device lets nobody in"),
     as_key("It is in exclusive mode and somebody is on it, or it hangs after a fault."),
     {who_is_on_it, ask_health}},
    {"cuda_tensor_to_numpy",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "can't convert cuda:* device type tensor to numpy*\ncan't convert CUDA tensor to numpy*",
     as_key("a tensor on the GPU was given to NumPy"),
     as_key("NumPy reads main memory only."),
     {{as_key("write tensor.detach().cpu().numpy()"), ""}}},
    {"generator_device",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Expected a '*' device type for generator but found '*'",
     as_key("the random generator is on another device than the operation"),
     as_key("With a default device set, a data loader's shuffle wants its generator there."),
     {{as_key("make it there: torch.Generator(device=device)"), ""}}},
    {"cuda_in_fork",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "Cannot re-initialize CUDA in forked subprocess*\nCUDA error: initialization error*",
     as_key("a forked child uses CUDA after its parent did"),
     as_key("CUDA does not survive fork(): a data loader's worker must not touch the GPU, other "
            "children must be spawned."),
     {{as_key("keep GPU calls out of the data set and collate function"), ""},
      {as_key("torch.multiprocessing.set_start_method(\"spawn\") at the program's beginning"),
       ""}}},
    {"half_on_cpu",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "_cpu*\" not implemented for 'Half'*\n\"LayerNormKernelImpl\" not implemented for 'Half'*",
     as_key("half precision was used where only the GPU has it"),
     as_key(
         "The operation ran on the CPU, which lacks it for float16 in this PyTorch: the model or "
         "the input was not moved to a GPU."),
     {move_both, {as_key("use float32 or bfloat16 on the CPU"), ""}, check_cuda}},
    {"flash_attention_card",
     Severity::error,
     LogPart::cause,
     LogWhere::raised,
     "FlashAttention only supports Ampere GPUs or newer*",
     as_key("the card is too old for FlashAttention"),
     as_key("It needs compute capability 8.0 or more."),
     {{as_key("use PyTorch's own attention: attn_implementation=\"sdpa\" or \"eager\""), ""},
      {as_key("ask for a newer card"), "berth run --min-compute 8.0 -- python train.py"}}},
});

}  // namespace berth
