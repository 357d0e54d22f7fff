#pragma once
// Error texts of programs that mix up devices, or that ask for one they do not have. Included by
// catalogue.cc only.

#include <array>

#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Advice move_both{
    as_key("move the model and every batch to the same device: model.to(device), batch.to(device); "
           "tensors "
           "made inside forward() as well"),
    ""};
inline constexpr LogEntry::Advice check_cuda{
    as_key("see what this Python's PyTorch can use"),
    "python -c \"import torch; print(torch.__version__, torch.cuda.is_available())\""};
inline constexpr LogEntry::Advice what_was_given{as_key("see the devices and who has them"),
                                                 "berth"};

inline constexpr LogEntry::Advice list_variables{
    as_key("look at the variables as the job has them"),
    "env | grep -E 'VISIBLE_DEVICES|AFFINITY_MASK|SELECTOR'"};
inline constexpr std::string_view look_at_files =
    as_key("see whether you may open the cards' files: mostly the groups render and video may");

inline constexpr auto device_entries = std::to_array<LogEntry>({
    {"different_types",
     Severity::error,
     LogPart::cause,
     // Before different_devices: a type of tensor says both, and only "cuda." tells where it is.
     "!input type (torch.cuda.*) and weight type (torch.cuda.*) should be the same\n"
     "!input type (torch.{half|float|bfloat16|double|byte}tensor) and weight type "
     "(torch.{half|float|bfloat16|double|byte}tensor) should be the same\n"
     "!input type ({double|float|half|c10::}*) and bias type (\n"
     "!input type (*) and bias type (*) should be the same\n"
     "!must have the same dtype\n"
     "!expected m1 and m2 to have the same dtype\n"
     "!rnn input dtype (*) does not match weight dtype (*)\n"
     "!input must have the type torch.*, got type torch.\n"
     "!expected scalar type * but found\n"
     "!found dtype * but expected \n"
     "!expected target dtype to be *, but got \n"
     "!expected object of scalar type * but got scalar type\n"
     "!expected object of type torch.{floa|doub|long|int|half|byte|shor|char|bool}*but found type "
     "torch.{floa|doub|long|int|half|byte|shor|char|bool}\n"
     "!to have one of the following scalar types\n"
     "!to have the same dtype",
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
     "expected all tensors to be on the same device\n"
     "expected object of device type * but {got|found} device type\n"
     "expected object of backend * but {got|found} backend\n"
     "expected object of type torch.cuda.* but found type "
     "torch.{floa|doub|long|int|half|byte|shor|char|bool}\n"
     "expected object of type torch.{floa|doub|long|int|half|byte|shor|char|bool}* but found type "
     "torch.cuda.\n"
     "input type (*) and weight type (*) should be the same\n"
     "expected device {cuda|cpu}*but got device {cuda|cpu}\n"
     "expected tensor to have {cuda|cpu} device\n"
     "is on cuda*, but expected {them to be on |}cpu\n"
     "tensors must be on the same device\n"
     "arguments are located on different gpus\n"
     "all input tensors must be on the same device\n"
     "indices should be either on cpu or on the same device\n"
     "expected object of type variable[torch.\n"
     "input and parameter tensors are not at the same device\n"
     "must have its parameters and buffers on device\n"
     "cannot be accessed from triton (cpu tensor\n"
     "must be a cuda tensor\n"
     "!must be on cuda\n"
     "!tensor is on cpu",
     as_key("two tensors are on different devices"),
     as_key("An operation got one tensor from the GPU and one from the CPU, or from two GPUs."),
     {move_both}},
    {"expected_cuda_device",
     Severity::error,
     LogPart::cause,
     "expected a cuda device, but got",
     as_key("a function for GPUs was given the CPU as its device"),
     as_key("Functions like torch.cuda.set_device() want a GPU; the program chose the CPU, mostly "
            "because it saw no GPU."),
     {{as_key("leave out torch.cuda calls where the device is the CPU"), ""}, check_cuda}},
    {"device_without_index",
     Severity::error,
     LogPart::cause,
     "!expected a torch.device with a specified index or an integer, but got*",
     as_key("a function wants to know which GPU and was told \"cuda\" only"),
     as_key("torch.cuda.set_device() needs a number."),
     {{as_key("write \"cuda:0\", or int(os.environ[\"LOCAL_RANK\"]) in a distributed job"), ""}}},
    {"invalid_device_ordinal",
     Severity::error,
     LogPart::cause,
     "invalid device ordinal\n"
     "cuda_error_invalid_device\n"
     "cudaerrorinvaliddevice\n"
     "attempting to deserialize object on cuda device * but torch.cuda.device_count() is \n"
     "invalid device id\n"
     "invalid device_ids\n"
     "invalid cuda 'device=",
     as_key("the program asks for a GPU number that it does not have"),
     as_key(
         "A job sees only the GPUs that it was given, numbered from 0, whatever the machine calls "
         "them. A checkpoint from a machine with more GPUs asks for theirs."),
     {{as_key("count from 0: cuda:0 is the first that the job was given"), ""},
      {as_key("load checkpoints with map_location"), ""},
      {as_key("start as many processes as there are GPUs: with `berth run -n K`, torchrun "
              "--nproc-per-node K"),
       ""}}},
    {"not_compiled_with_cuda",
     Severity::error,
     LogPart::cause,
     "!torch not compiled with cuda enabled*\n"
     "!pytorch is not linked with support for cuda devices*\n"
     "!not compiled with cuda support*\n"
     "!not compiled with gpu support*\n"
     "!cannot get cuda generator without aten_cuda library*\n"
     "!device type cuda is not supported for torch.generator()*\n"
     "!module 'torch._c' has no attribute '_cuda_*\n"
     "!could not run '*' with arguments from the 'cuda' backend*\n"
     "!torch.cuda.* requires cuda support*\n"
     "!tried to instantiate dummy base class cudagraph*",
     as_key("the installed build has no CUDA"),
     as_key("This PyTorch, or an extension, is a build for the CPU or another maker's cards, "
            "whatever the machine has."),
     {check_cuda,
      {as_key("install a build for its cards: CUDA's or ROCm's (the page \"Get Started\" of "
              "pytorch.org says which)"),
       ""},
      {as_key("on Ascend's and Intel's cards no build has CUDA: let the program name npu or xpu in "
              "place of cuda. On Ascend this import does so"),
       "from torch_npu.contrib import transfer_to_npu"}}},
    {"checkpoint_from_gpu",
     Severity::error,
     LogPart::cause,
     "!attempting to deserialize object on a cuda device but torch.cuda.is_available() is false*",
     as_key("a checkpoint from a GPU is loaded where PyTorch sees none"),
     as_key("The file says that its tensors belong on a GPU, and here is none for this program."),
     {{as_key("torch.load(file, map_location=\"cpu\") where the CPU is meant"), ""}, check_cuda}},
    {"checkpoint_weights_only",
     Severity::error,
     LogPart::cause,
     "!weights only load failed*",
     as_key("the checkpoint holds more than tensors"),
     as_key("Since 2.6 torch.load() reads tensors alone unless told otherwise. A file with other "
            "objects (a whole model, settings) is refused: loading it could run any code."),
     {{as_key("save model.state_dict() and load that"), ""},
      {as_key("where you trust the file's author: torch.load(file, weights_only=False)"), ""}}},
    {"no_cuda_gpus",
     Severity::error,
     LogPart::cause,
     "no cuda gpus are available\n"
     "no cuda-capable device is detected\n"
     "cuda_error_no_device\n"
     "cudaerrornodevice\n"
     "no gpu devices found\n"
     "no nvidia gpu{ detected| found|s detected|s found}\n"
     "no devices were found\n"
     "cuda unavailable, invalid device\n"
     "!cuda is not available",
     as_key("the program sees no GPU"),
     as_key("CUDA_VISIBLE_DEVICES is empty or names none that exists, the container was started "
            "without GPUs, or the driver is not there."),
     {what_was_given,
      {as_key("look at the variable as the job has it"), "echo \"$CUDA_VISIBLE_DEVICES\""},
      {as_key("start it by berth run, which sets it"), ""}}},
    {"no_rocm_gpus",
     Severity::error,
     LogPart::cause,
     "no hip gpus are available\n"
     "no rocm-capable device is detected\n"
     "hiperrornodevice",
     as_key("the program sees no GPU"),
     as_key("ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES hides every card, the program may not "
            "open /dev/kfd and /dev/dri, or the driver is not there."),
     {what_was_given, list_variables, {look_at_files, "ls -l /dev/kfd /dev/dri"}}},
    {"no_xpu_devices",
     Severity::error,
     LogPart::cause,
     "no xpu devices are available",
     as_key("the program sees no GPU"),
     as_key("ZE_AFFINITY_MASK or ONEAPI_DEVICE_SELECTOR hides every card, the program may not open "
            "/dev/dri, or Level Zero's driver is not installed."),
     {what_was_given, list_variables, {look_at_files, "ls -l /dev/dri"}}},
    {"devices_busy",
     Severity::error,
     LogPart::cause,
     "cuda-capable device{s|(s)} {are|is/are} busy or unavailable\n"
     "cuda_error_device_unavailable\n"
     "cudaerrordevicesunavailable",
     as_key("the device lets nobody in"),
     as_key("It is in exclusive mode and somebody is on it, or it hangs after a fault."),
     {who_is_on_it, ask_health}},
    {"cuda_tensor_to_numpy",
     Severity::error,
     LogPart::cause,
     "can't convert cuda\n"
     "implicit conversion to a numpy array is not allowed\n"
     "cuda device type tensor to numpy",
     as_key("a tensor on the GPU was given to NumPy"),
     as_key("NumPy reads main memory only."),
     {{as_key("write tensor.detach().cpu().numpy()"), ""}}},
    {"generator_device",
     Severity::error,
     LogPart::cause,
     "!expected a '*' device type for generator but found '*'",
     as_key("the random generator is on another device than the operation"),
     as_key("With a default device set, a data loader's shuffle wants its generator there."),
     {{as_key("make it there: torch.Generator(device=device)"), ""}}},
    {"cuda_in_fork",
     Severity::error,
     LogPart::cause,
     "cannot re-initialize cuda in forked subprocess\n"
     "cuda error: initialization error\n"
     "cudaerrorinitializationerror",
     as_key("a forked child uses CUDA after its parent did"),
     as_key("CUDA does not survive fork(): a data loader's worker must not touch the GPU, other "
            "children must be spawned."),
     {{as_key("keep GPU calls out of the data set and collate function"), ""},
      {as_key("torch.multiprocessing.set_start_method(\"spawn\") at the program's beginning"),
       ""}}},
    {"half_on_cpu",
     Severity::error,
     LogPart::cause,
     "not implemented for 'half'",
     as_key("half precision was used where only the GPU has it"),
     as_key("The operation ran on the CPU, which lacks it for float16 in this PyTorch. The model "
            "or the input was not moved to a GPU."),
     {move_both, {as_key("use float32 or bfloat16 on the CPU"), ""}, check_cuda}},
    {"flash_attention_card",
     Severity::error,
     LogPart::cause,
     "!flashattention only supports ampere gpus or newer*",
     as_key("the card is too old for FlashAttention"),
     as_key("It needs compute capability 8.0 or more."),
     {{as_key("use PyTorch's own attention: attn_implementation=\"sdpa\" or \"eager\""), ""},
      {as_key("ask for a newer card"), "berth run --min-compute 8.0 -- python train.py"}}},
    {"python_invalid_character",
     Severity::error,
     LogPart::cause,
     "invalid character '*' (u+\n"
     "invalid non-printable character u+\n"
     "invalid character in identifier",
     as_key("the program has a character that Python does not know"),
     as_key("Mostly quotation marks or blanks that a web page or a word processor has put in place "
            "of plain ones."),
     {{as_key("see every character that is not ASCII"), "grep -nP '[^\\x00-\\x7F]' train.py"},
      {as_key("type it anew in the line that the message names"), ""}}},
});

}  // namespace berth
