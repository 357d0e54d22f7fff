#include <algorithm>

#include "diagnose/doctor/cuda_tables.h"
#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {

namespace {

/// A libcuda of a compat package makes newer CUDA run on older drivers of data centre cards.
bool has_compat(const Examined& host) {
  const auto& libraries = host.world.libraries;
  return libraries && std::ranges::any_of(libraries->found, [](const FoundLibrary& library) {
           return library.name == "libcuda" && library.path.find("/compat") != std::string::npos;
         });
}

}  // namespace

Findings driver_too_old(const Examined& host) {
  const auto& driver = host.snapshot.host.driver_version.get();
  if (!host.world.python || !driver || !driver_works(host)) return {};
  Findings findings;
  for (const FrameworkBuild& build : host.world.python->frameworks) {
    const auto cuda = build.cuda.get().value_or(std::nullopt);
    const auto needs = cuda ? driver_needs(*cuda) : std::nullopt;
    if (!needs || !is_older_version(*driver, needs->runs)) continue;
    Finding finding{
        .rule = "driver_too_old",
        .severity = Severity::error,
        .title = sentence("the driver is too old for this {}", build.name),
        .evidence = {sentence("{} {} was built for CUDA {} ({})", build.name, build.version,
                              cuda->text(), build.cuda_source),
                     sentence(
                         "the driver is {}; CUDA {} runs from {} on (its toolkit came with {})",
                         *driver, cuda->text(), needs->runs, needs->own)},
        .meaning =
            sentence("It reports \"driver is insufficient\" or finds no GPU. A driver runs every "
                     "CUDA of its own generation and all older ones."),
        .steps = steps_to_replace(host, build, Wanted::other_cuda)};
    finding.steps.push_back(
        {sentence("or have the driver updated to {} or newer", needs->runs), ""});
    if (has_compat(host))
      finding.doubt = sentence("a compat libcuda lies here, which may change that");
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace berth::doctor
