// The frameworks of the environment in use: against driver and card, and as they import.

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "diagnose/doctor/cuda_tables.h"
#include "diagnose/doctor/doctor.h"
#include "diagnose/doctor/torch_choice.h"
#include "snapshot/device_kind.h"

namespace berth::doctor {

namespace {

/// The expression in Python by which it tells whether it sees a GPU.
std::string_view question_of(std::string_view name) {
  if (name == "torch") return "torch.cuda.is_available()";
  if (name == "tensorflow") return "tf.config.list_physical_devices('GPU')";
  return "jax.devices()";
}

/// A libcuda of a compat package makes newer CUDA run on older drivers of data centre cards.
bool has_compat(const Examined& host) {
  const auto& libraries = host.facts.libraries;
  return libraries && std::ranges::any_of(libraries->found, [](const FoundLibrary& library) {
           return library.name == "libcuda" && library.path.find("/compat") != std::string::npos;
         });
}

Findings driver_too_old(const Examined& host) {
  const auto& driver = host.snapshot.host.software_of(Runtime::cuda).driver.get();
  if (!driver) return {};
  Findings findings;
  for (const FrameworkBuild& build : host.facts.python->frameworks) {
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

/// Whether it computes on another maker's devices that this machine has, too.
bool is_for_others(const FrameworkBuild& build, const Examined& host) {
  const auto runtime = other_runtime_of(build);
  return runtime && !devices_of(*runtime, host).empty();
}

bool is_cpu_build(const FrameworkBuild& build) {
  return !build.is_rocm && build.cuda.get() && !build.cuda.get()->has_value();
}

Findings framework_cpu_only(const Examined& host) {
  const PythonEnvironment& python = *host.facts.python;
  const bool another_has_cuda = std::ranges::any_of(python.frameworks, [](const auto& build) {
    return build.cuda.get() && build.cuda.get()->has_value();
  });
  Findings findings;
  for (const FrameworkBuild& build : python.frameworks) {
    if ((!is_cpu_build(build) && !build.is_rocm) || is_for_others(build, host)) continue;
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
    if (const FrameworkSaid* said = python.said_of(build.name); said && said->sees_gpu) {
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

/// What the official builds of this release have, where its files and the child do not say.
struct Known {
  std::vector<ComputeCapability> list;
  bool has_ptx = false;
  bool by_table = false;
};

Known architectures_of(const FrameworkBuild& build, const PythonEnvironment& python) {
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

Findings architecture_missing(const Examined& host) {
  Findings findings;
  for (const FrameworkBuild& build : host.facts.python->frameworks) {
    const Known known = architectures_of(build, *host.facts.python);
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

/// How asking it ended; empty: it was not asked, or it answered.
Sentence end_of_asking(const InterpreterAnswer& answer) {
  switch (answer.end) {
    case InterpreterEnd::not_asked:
    case InterpreterEnd::answered:
      return {};
    case InterpreterEnd::took_too_long:
      return sentence("asked for its version it had not answered after 5 s and was ended");
    case InterpreterEnd::crashed:
      return sentence("asked for its version it ended by signal {}", answer.code);
    case InterpreterEnd::failed:
      return sentence("asked for its version it ended with exit code {}", answer.code);
    case InterpreterEnd::not_python:
      return sentence("asked for its version it ended without saying one, as no Python does");
    case InterpreterEnd::not_started:
      return sentence("it could not be started");
  }
  return {};
}

Findings interpreter_silent(const Examined& host) {
  const PythonEnvironment& python = *host.facts.python;
  Sentence end = end_of_asking(python.answer);
  if (end.empty()) return {};
  std::vector<Sentence> evidence = {std::move(end)};
  if (!python.answer.wrote.empty()) {
    evidence.push_back(sentence("it wrote: {}", python.answer.wrote));
  }
  // --python names one on purpose. The first in PATH may not be meant at all.
  const bool is_named = python.found_by == "--python";
  return {{.rule = "interpreter_silent",
           .severity = is_named ? Severity::error : Severity::warning,
           .title = sentence("{} does not answer as a Python interpreter does", python.interpreter),
           .evidence = std::move(evidence),
           .meaning = sentence("What programs find that are started with it is not known."),
           .steps = {
               {sentence("see what it says"), "timeout 10 " + shell_quoted(python.interpreter) +
                                                  " -c 'import sys; print(sys.version)'"},
               {sentence("name the interpreter or environment that you use with --python"), ""}}}};
}

Findings import_failed(const Examined& host) {
  const ImportAnswer& said = host.facts.python->said;
  Findings findings;
  const auto add = [&](Severity severity, Sentence title, Sentence evidence, Sentence meaning) {
    findings.push_back({.rule = "import_failed",
                        .severity = severity,
                        .title = std::move(title),
                        .evidence = {std::move(evidence)},
                        .meaning = std::move(meaning),
                        .steps = {{sentence("see where it stops"),
                                   shell_quoted(host.facts.python->interpreter) +
                                       " -X faulthandler -X importtime -c 'import " +
                                       (said.frameworks.empty() ? std::string("torch")
                                                                : said.frameworks.back().name) +
                                       "'"}}});
  };
  const std::string last = said.frameworks.empty() ? "" : said.frameworks.back().name;
  if (said.end == ImportEnd::took_too_long) {
    add(Severity::warning,
        last.empty() ? sentence("the Python interpreter does not come back")
                     : sentence("importing {} takes too long", last),
        sentence("it had not come to an end after its time limit and was ended"),
        sentence("A slow file system under the environment, or a driver that hangs."));
  }
  if (said.end == ImportEnd::crashed) {
    add(Severity::error,
        last.empty() ? sentence("the Python interpreter crashes before it imports anything")
                     : sentence("importing {} crashes the interpreter", last),
        sentence("its process ended by {}", said.detail),
        sentence("Mostly libraries of two installations mixed in one environment."));
  }
  for (const FrameworkSaid& one : said.frameworks) {
    if (one.error.empty()) continue;
    add(Severity::error, sentence("{} cannot be imported", one.name),
        sentence("it wrote: {}", masked_text(one.error)),
        sentence("Until that is cured no program of this environment can use it."));
  }
  return findings;
}

/// Nothing that another rule tells better stands between the framework and the GPUs.
bool should_see(const Examined& host) {
  const bool refused = host.facts.cuda && !host.facts.cuda->problem.empty();
  return !hides_all(host) && !refused;
}

Findings framework_blind(const Examined& host) {
  if (!should_see(host)) return {};
  Findings findings;
  for (const FrameworkSaid& said : host.facts.python->said.frameworks) {
    const FrameworkBuild* build = host.facts.python->framework(said.name);
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
            {sentence("read all that it says"), shell_quoted(host.facts.python->interpreter) +
                                                    " -c 'import torch; torch.cuda.init()'"}}};
    if (said.name != "torch") {
      finding.steps[0].command =
          shell_quoted(host.facts.python->interpreter) +
          " -c 'import tensorflow as tf; print(tf.config.list_physical_devices())'";
    }
    if (!said.warning.empty())
      finding.evidence.push_back(sentence("it wrote: {}", masked_text(said.warning)));
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings shadowed_module(const Examined& host) {
  Findings findings;
  for (const std::string& name : host.facts.shadowing) {
    findings.push_back(
        {.rule = "shadowed_module",
         .severity = Severity::warning,
         .title = sentence("{} in the working directory hides the package of that name", name),
         .evidence = {sentence("there is {} in {}", name,
                               host.facts.directory ? host.facts.directory->path : ".")},
         .meaning =
             sentence("Python looks beside the program first: `import` then brings that file, "
                      "and what the framework has is \"not defined\"."),
         .steps = {{sentence("give the file another name"), "mv " + name + " my_" + name}}});
  }
  return findings;
}

}  // namespace

std::span<const DoctorRule> frameworks_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = driver_too_old,
       .needs = HostPart::driver | HostPart::python,
       .reports = {{"driver_too_old", "error",
                    "the CUDA a framework was built for, the driver, the oldest that runs it, the "
                    "toolkit's own",
                    "a build that fits, or a newer driver"}}},
      {.find = framework_cpu_only,
       .needs = HostPart::driver | HostPart::python,
       .reports = {{"torch_cpu_only, tensorflow_cpu_only, jax_cpu_only",
                    "error; hint where another framework of the environment has CUDA",
                    "version.py, build_info.py or the plugin: no CUDA, and the driver answers",
                    "the exact command, through your own package mirror (pip's index, conda's "
                    "channels)"}}},
      {.find = architecture_missing,
       .needs = HostPart::python,
       .reports = {{"architecture_missing", "error",
                    "no card's compute capability is among the build's (a hint where another "
                    "card's is; asked, else by the table of official builds, then with a doubt)",
                    "a build that has it"}}},
      {.find = interpreter_silent,
       .needs = HostPart::python,
       .reports =
           {{"interpreter_silent", "error where `--python` names it, else warning",
             "asked for its version and folders it hung (5 s), crashed, failed, or is no Python",
             "asking it by hand; naming another by `--python`"}}},
      {.find = import_failed,
       .needs = HostPart::python,
       .reports = {{"import_failed", "error; warning where it took too long",
                    "what the import raised, the signal, or the time limit",
                    "importing it with -X faulthandler"}}},
      {.find = framework_blind,
       .needs = HostPart::driver | HostPart::python,
       .reports = {{"framework_blind", "error",
                    "build and driver fit, the framework says it sees nothing, and its last words",
                    "reading all that it says"}}},
      {.find = shadowed_module,
       .reports = {{"shadowed_module", "warning",
                    "torch.py, tensorflow.py, jax.py or numpy.py in the working directory",
                    "another name"}}},
  };
  return rules;
}

}  // namespace berth::doctor
