#include <algorithm>

#include "diagnose/doctor/cuda_tables.h"
#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {

namespace {

/// What the official builds of this release have, where its files and the child do not say.
struct Known {
  std::vector<ComputeCapability> list;
  bool has_ptx = false;
  bool by_table = false;
};

Known architectures_of(const FrameworkBuild& build, const PythonWorld& python) {
  if (!build.architectures.empty()) return {build.architectures, build.has_ptx, false};
  const FrameworkSaid* said = python.said_of(build.name);
  if (said != nullptr && !said->architectures.empty()) {
    return {said->architectures, said->has_ptx, false};
  }
  const auto cuda = build.cuda.get().value_or(std::nullopt);
  const auto release = two_part(build.version);
  // Official builds alone are in the table: "2.9.1", "2.9.1+cu128", not "2.9.0a0+nv25.1".
  const bool official = build.name == "torch" &&
                        build.version.find_first_not_of("0123456789.") >=
                            std::min(build.version.find("+cu"), build.version.size()) &&
                        build.installer != "conda";
  if (!cuda || !release || !official) return {};
  return {torch_architectures(*release, *cuda), cuda->major >= 13, true};
}

std::string list_text(const std::vector<ComputeCapability>& list) {
  std::string text;
  for (const ComputeCapability one : list) {
    text += (text.empty() ? "" : ", ") + capability_text(one);
  }
  return text;
}

}  // namespace

Findings architecture_missing(const Examined& host) {
  if (!host.world.python) return {};
  Findings findings;
  for (const FrameworkBuild& build : host.world.python->frameworks) {
    const Known known = architectures_of(build, *host.world.python);
    if (known.list.empty()) continue;
    std::vector<const Device*> without;
    for (const Device* device : working_gpus(host)) {
      const auto& capability = device->compute_capability.get();
      if (capability && !runs_on(*capability, known.list, known.has_ptx)) without.push_back(device);
    }
    if (without.empty()) continue;
    // An old card beside a good one, a display's as often as not, stops nothing.
    const bool all = without.size() == working_gpus(host).size();
    const ComputeCapability capability = *without.front()->compute_capability.get();
    Finding finding{
        .rule = "architecture_missing",
        .severity = all ? Severity::error : Severity::hint,
        .title = sentence("this {} has no code for GPU {}", build.name, names_of(without)),
        .evidence = {sentence("its compute capability is {}", capability_text(capability)),
                     sentence("{} {} has code for {}", build.name, build.version,
                              list_text(known.list))},
        .meaning = sentence("It fails with \"no kernel image is available for execution on the "
                            "device\". CUDA 13 has nothing for cards before Turing (7.5).")};
    if (all) finding.steps = steps_to_replace(host, build, Wanted::other_cuda);
    if (finding.steps.empty()) {
      finding.steps.push_back(
          {sentence(
               "work on a card that it has code for, or take a build that has it for this one"),
           ""});
    }
    if (known.by_table)
      finding.doubt = sentence("by the table of official builds; this one was not asked");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace berth::doctor
