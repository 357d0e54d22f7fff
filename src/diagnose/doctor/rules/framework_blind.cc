#include "base/text.h"
#include "diagnose/doctor/framework_words.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

/// Nothing that another rule tells better stands between the framework and the GPUs.
bool should_see(const Examined& host) {
  const bool refused = host.world.cuda && !host.world.cuda->problem.empty();
  return driver_works(host) && !hides_all(host) && !refused;
}

}  // namespace

Findings framework_blind(const Examined& host) {
  if (!host.world.python || !should_see(host)) return {};
  Findings findings;
  for (const FrameworkSaid& said : host.world.python->said.frameworks) {
    const FrameworkBuild* build = host.world.python->framework(said.name);
    const bool has_cuda = build != nullptr && build->cuda.get().value_or(std::nullopt).has_value();
    if (!has_cuda || said.sees_gpu.value_or(true)) continue;
    Finding finding{
        .rule = "framework_blind",
        .severity = Severity::error,
        .title = sentence("{} sees no GPU although driver and build should do", said.name),
        .evidence = {sentence("{} says there is none (version {}, asked in a process of its own)",
                              question_of(said.name), said.version)},
        .meaning = sentence("What it wrote meanwhile is the best trace there is."),
        .steps = {
            {sentence("read all that it says"), shell_quoted(host.world.python->interpreter) +
                                                    " -c 'import torch; torch.cuda.init()'"}}};
    if (said.name != "torch") {
      finding.steps[0].command =
          shell_quoted(host.world.python->interpreter) +
          " -c 'import tensorflow as tf; print(tf.config.list_physical_devices())'";
    }
    if (!said.warning.empty())
      finding.evidence.push_back(sentence("it wrote: {}", masked_text(said.warning)));
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace berth::doctor
