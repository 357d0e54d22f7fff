// Whether the frameworks of the environment in use see the GPUs.

#include <algorithm>

#include "base/text.h"
#include "diagnose/doctor/framework_words.h"
#include "diagnose/doctor/rules.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {

namespace {

bool is_cpu_build(const FrameworkBuild& build) {
  return !build.is_rocm && build.cuda.get() && !build.cuda.get()->has_value();
}

/// Nothing that another rule tells better stands between the framework and the GPUs.
bool should_see(const Examined& host) {
  const bool hidden = host.visible && host.visible->devices.empty();
  const bool refused = host.world.cuda && !host.world.cuda->problem.empty();
  return driver_works(host) && !hidden && !refused;
}

}  // namespace

Findings framework_cpu_only(const Examined& host) {
  if (!host.world.python || !driver_works(host)) return {};
  const PythonWorld& python = *host.world.python;
  const bool another_has_cuda = std::ranges::any_of(python.frameworks, [](const auto& build) {
    return build.cuda.get() && build.cuda.get()->has_value();
  });
  Findings findings;
  for (const FrameworkBuild& build : python.frameworks) {
    if (!is_cpu_build(build) && !build.is_rocm) continue;
    Finding finding{
        .rule = build.name + "_cpu_only",
        .severity = another_has_cuda ? Severity::hint : Severity::error,
        .title = sentence("this {} cannot use the GPU: it was built without CUDA", build.name),
        .evidence = {sentence("{} {}: {} names no CUDA", build.name, build.version,
                              build.cuda_source)},
        .meaning = sentence("{} finds nothing although nvidia-smi works; everything runs on the "
                            "CPU.",
                            question_of(build.name)),
        .steps = steps_to_replace(host, build, Wanted::cuda)};
    if (build.is_rocm) {
      finding.title = sentence("this {} cannot use the GPU: it was built for AMD's", build.name);
    }
    if (const FrameworkSaid* said = said_of(python, build.name); said && said->sees_gpu) {
      finding.evidence.push_back(
          sentence("asked in a process of its own it says {}", *said->sees_gpu ? "True" : "False"));
    }
    if (python.index_url.find("/whl/cpu") != std::string::npos) {
      finding.evidence.push_back(
          sentence("{} names an index that has builds without CUDA alone", python.index_source));
    }
    if (finding.steps.empty()) {
      finding.steps.push_back({sentence("no official build fits this driver, card and Python "
                                        "together: have the driver updated, or use another Python"),
                               ""});
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

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
    if (!said.warning.empty()) finding.evidence.push_back(sentence("it wrote: {}", said.warning));
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings import_failed(const Examined& host) {
  if (!host.world.python) return {};
  const ImportAnswer& said = host.world.python->said;
  Findings findings;
  const auto add = [&](Severity severity, Sentence title, Sentence evidence, Sentence meaning) {
    findings.push_back({.rule = "import_failed",
                        .severity = severity,
                        .title = std::move(title),
                        .evidence = {std::move(evidence)},
                        .meaning = std::move(meaning),
                        .steps = {{sentence("see where it stops"),
                                   shell_quoted(host.world.python->interpreter) +
                                       " -X faulthandler -X importtime -c 'import " +
                                       (said.frameworks.empty() ? std::string("torch")
                                                                : said.frameworks.back().name) +
                                       "'"}}});
  };
  const std::string last = said.frameworks.empty() ? "" : said.frameworks.back().name;
  if (said.end == ImportEnd::took_too_long) {
    add(Severity::warning, sentence("importing {} takes too long", last),
        sentence("it had not come to an end after its time limit and was ended"),
        sentence("A slow file system under the environment, or a driver that hangs."));
  }
  if (said.end == ImportEnd::crashed) {
    add(Severity::error, sentence("importing {} crashes the interpreter", last),
        sentence("its process ended by {}", said.detail),
        sentence("Mostly libraries of two installations mixed in one environment."));
  }
  for (const FrameworkSaid& one : said.frameworks) {
    if (one.error.empty()) continue;
    add(Severity::error, sentence("{} cannot be imported", one.name),
        sentence("it wrote: {}", one.error),
        sentence("Until that is cured no program of this environment can use it."));
  }
  return findings;
}

Findings tensorflow_libraries_missing(const Examined& host) {
  if (!host.world.python || !driver_works(host)) return {};
  const PythonWorld& python = *host.world.python;
  const FrameworkBuild* build = python.framework("tensorflow");
  if (build == nullptr || !build->cuda.get().value_or(std::nullopt) || python.is_conda) return {};
  const bool in_wheels = std::ranges::any_of(
      python.packages, [](const auto& one) { return one.first.starts_with("nvidia_cudnn"); });
  const bool on_system =
      host.world.libraries &&
      std::ranges::find(host.world.libraries->found, "libcudnn", &FoundLibrary::name) !=
          host.world.libraries->found.end();
  const FrameworkSaid* said = said_of(python, "tensorflow");
  if (in_wheels || on_system || (said != nullptr && said->sees_gpu.value_or(false))) return {};
  return {{.rule = "tensorflow_libraries_missing",
           .severity = Severity::error,
           .title = sentence("TensorFlow is built for CUDA and finds none of its libraries"),
           .evidence = {sentence("there is neither a package {} nor a {} where the loader looks",
                                 "nvidia-cudnn-cu12", "libcudnn.so")},
           .meaning =
               sentence("It says \"Cannot dlopen some GPU libraries\" and goes on with the CPU."),
           .steps = steps_to_replace(host, *build, Wanted::cuda)}};
}

Findings cudnn_of_another_major(const Examined& host) {
  if (!host.world.python || !host.world.libraries || !driver_works(host)) return {};
  const PythonWorld& python = *host.world.python;
  const FrameworkBuild* build = python.framework("tensorflow");
  if (build == nullptr || !build->cudnn_major || python.is_conda) return {};
  const bool brings_its_own = std::ranges::any_of(
      python.packages, [](const auto& one) { return one.first.starts_with("nvidia_cudnn"); });
  const FrameworkSaid* said = said_of(python, "tensorflow");
  if (brings_its_own || (said != nullptr && said->sees_gpu.value_or(false))) return {};
  std::vector<Sentence> evidence;
  for (const FoundLibrary& library : host.world.libraries->found) {
    if (library.name != "libcudnn") continue;
    const auto version = two_part(library.version);
    if (!version || version->major == *build->cudnn_major) return {};
    evidence.push_back(sentence("there is {}", library.path));
  }
  if (evidence.empty()) return {};
  evidence.insert(evidence.begin(),
                  sentence("{} {} was built with cuDNN {} ({})", build->name, build->version,
                           *build->cudnn_major, build->cuda_source));
  return {{.rule = "cudnn_of_another_major",
           .severity = Severity::error,
           .title = sentence("TensorFlow wants another cuDNN than the one that is here"),
           .evidence = std::move(evidence),
           .meaning =
               sentence("It says \"Cannot dlopen some GPU libraries\" and goes on with the CPU."),
           .steps = steps_to_replace(host, *build, Wanted::cuda)}};
}

Findings shadowed_module(const Examined& host) {
  Findings findings;
  for (const std::string& name : host.world.shadowing) {
    findings.push_back(
        {.rule = "shadowed_module",
         .severity = Severity::warning,
         .title = sentence("{} in the working directory hides the package of that name", name),
         .evidence = {sentence("there is {} in {}", name,
                               host.world.directory ? host.world.directory->path : ".")},
         .meaning =
             sentence("Python looks beside the program first: `import` then brings that file, "
                      "and what the framework has is \"not defined\"."),
         .steps = {{sentence("give the file another name"), "mv " + name + " my_" + name}}});
  }
  return findings;
}

}  // namespace berth::doctor
