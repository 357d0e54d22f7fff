// The words of libcuda itself.

#include <algorithm>
#include <array>

#include "base/sentence.h"
#include "diagnose/doctor/doctor.h"

namespace berth::doctor {

namespace {

struct Code {
  int code;
  std::string_view meaning;
  std::string_view step;
  std::string_view command;
};

// CUresult of cuda.h, CUDA 13; meanings in our words.
constexpr auto codes = std::to_array<Code>({
    {2, "CUDA could not get the memory that it starts with, mostly the host's",
     "see what is left, and what this shell may have", "free -h; ulimit -v"},
    {3, "the driver could not be started for a program; mostly its module nvidia_uvm is missing",
     "load it and have its device files made", "sudo nvidia-modprobe -c 0 -u"},
    {34, "a stub of libcuda was loaded, which is for compiling only",
     "take the folder with stubs out of the library path", "echo $LD_LIBRARY_PATH"},
    {35, "the driver is older than the libcuda that was loaded",
     "take a compat folder out of the library path, or update the driver", ""},
    {46, "a GPU is used by somebody who keeps others out (compute mode)", "see who has it",
     "berth ps"},
    {100, "CUDA finds no device", "see what CUDA_VISIBLE_DEVICES says below", ""},
    {101,
     "what CUDA counts as a device is none that it can use: gone, divided anew, or shown in part",
     "see which devices the driver lists", "nvidia-smi -L"},
    {304, "a call of the operating system failed: a device file, a limit, or memory",
     "see the limits, and what the kernel says", "ulimit -a; sudo dmesg | tail"},
    {802,
     "the NVSwitches are not set up: the fabric manager does not run, or is of another version",
     "start it; its version must be the driver's", "sudo systemctl restart nvidia-fabricmanager"},
    {803, "the kernel module and libcuda are of different versions",
     "reboot, or reload the driver's modules", "sudo reboot"},
    {804, "a compat libcuda was loaded, which this GPU does not support",
     "take the compat folder out of the library path, or use an image for an older CUDA",
     "ldconfig -p | grep libcuda"},
    {805, "programs started here are sent to an MPS server, and none answers",
     "see whether it runs, and start it or have programs do without",
     "pgrep -a nvidia-cuda-mps; echo $CUDA_MPS_PIPE_DIRECTORY"},
    {999,
     "the driver gives no reason; mostly its module nvidia_uvm is missing or stuck, as after sleep",
     "load that module anew, with every program off the GPUs",
     "sudo rmmod nvidia_uvm; sudo modprobe nvidia_uvm && sudo nvidia-modprobe -c 0 -u"},
});

/// Starting all of a large server's cards may take long; nothing is known to be broken.
void tell_slow(Finding& finding) {
  finding.severity = Severity::warning;
  finding.title = sentence("CUDA's own library had not answered after some seconds");
  finding.meaning = sentence("Programs wait as long when they start.");
  finding.doubt = sentence("the machine may only be busy: ask again");
  finding.steps.push_back(
      {sentence("without persistence mode each start wakes all cards"), "berth health"});
}

void tell_absent(Finding& finding) {
  finding.rule = "libcuda_missing";
  finding.title = sentence("CUDA's own library cannot be asked");
  finding.meaning = sentence(
      "The driver's monitoring library is there and libcuda.so.1 is not: programs then find no "
      "GPU.");
  finding.steps.push_back(
      {sentence("see where the loader finds it; it comes with the driver (package libcuda1, "
                "libnvidia-compute-… or nvidia-driver-cuda-libs)"),
       "ldconfig -p | grep libcuda.so.1"});
}

Findings cuda_refuses(const Examined& host) {
  const auto& cuda = host.facts.cuda;
  if (cuda->problem.empty()) return {};
  if (cuda->code == 100 && hides_all(host)) return {};  // visible_devices says why
  Finding finding{.rule = "cuda_refuses",
                  .severity = Severity::error,
                  .title = sentence("CUDA itself cannot use the GPUs although the driver answers"),
                  .evidence = {Sentence(cuda->problem)},
                  .meaning = sentence("Every framework fails in the same place.")};
  if (const auto at = std::ranges::find(codes, cuda->code, &Code::code); at != codes.end()) {
    finding.evidence.emplace_back(at->meaning);
    finding.steps.push_back({Sentence(at->step), std::string(at->command)});
  } else if (cuda->took_too_long) {
    tell_slow(finding);
  } else if (cuda->is_absent) {
    tell_absent(finding);
  } else {
    finding.steps.push_back(
        {sentence("see what the kernel says of it"), "sudo dmesg | grep -i -e nvrm -e segfault"});
  }
  return {finding};
}

}  // namespace

std::span<const DoctorRule> cuda_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = cuda_refuses,
       .needs = HostPart::driver | HostPart::cuda,
       .reports = {{"cuda_refuses", "error",
                    "libcuda's own error code, asked in a process of its own",
                    "by the code: stub, compat library, fabric manager, nvidia_uvm, MPS, limits, "
                    "…; else the kernel log"},
                   {"libcuda_missing", "error", "NVML answers; libcuda.so.1 cannot be loaded",
                    "where the loader finds it"}}},
  };
  return rules;
}

}  // namespace berth::doctor
