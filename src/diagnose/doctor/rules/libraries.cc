// CUDA's libraries: those that a framework lacks, and those that conflict.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/text.h"
#include "diagnose/doctor/doctor.h"
#include "diagnose/doctor/torch_choice.h"

namespace berth::doctor {

namespace {

Findings tensorflow_libraries_missing(const Examined& host) {
  const PythonEnvironment& python = *host.facts.python;
  const FrameworkBuild* build = python.framework("tensorflow");
  if (build == nullptr || python.is_conda) return {};
  const std::optional<TwoPart> cuda = build->cuda.get().value_or(std::nullopt);
  if (!cuda) return {};
  const bool in_wheels = std::ranges::any_of(
      python.packages, [](const auto& one) { return one.first.starts_with("nvidia_cudnn"); });
  const bool on_system =
      std::ranges::find(host.facts.libraries->found, "libcudnn", &FoundLibrary::name) !=
      host.facts.libraries->found.end();
  const FrameworkSaid* said = python.said_of("tensorflow");
  if (in_wheels || on_system || (said != nullptr && said->sees_gpu.value_or(false))) return {};
  return {{.rule = "tensorflow_libraries_missing",
           .severity = Severity::error,
           .title = sentence("TensorFlow is built for CUDA and finds none of its libraries"),
           .evidence = {sentence("there is neither a package {} nor a {} where the loader looks",
                                 fmt::format("nvidia-cudnn-cu{}", cuda->major), "libcudnn.so")},
           .meaning =
               sentence("It says \"Cannot dlopen some GPU libraries\" and goes on with the CPU."),
           .steps = steps_to_replace(host, *build, Wanted::cuda)}};
}

Findings cudnn_of_another_major(const Examined& host) {
  const PythonEnvironment& python = *host.facts.python;
  const FrameworkBuild* build = python.framework("tensorflow");
  if (build == nullptr || !build->cudnn_major || python.is_conda) return {};
  const bool brings_its_own = std::ranges::any_of(
      python.packages, [](const auto& one) { return one.first.starts_with("nvidia_cudnn"); });
  const FrameworkSaid* said = python.said_of("tensorflow");
  if (brings_its_own || (said != nullptr && said->sees_gpu.value_or(false))) return {};
  std::vector<Sentence> evidence;
  for (const FoundLibrary& library : host.facts.libraries->found) {
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

bool is_stub(const FoundLibrary& library) {
  return library.path.find("/stubs") != std::string::npos ||
         library.behind.find("/stubs") != std::string::npos;
}

/// The path, and the file behind its links.
std::string whole_path(const FoundLibrary& library) {
  return library.path + (library.behind.empty() ? "" : " -> " + library.behind);
}

Findings library_path_stubs(const Examined& host) {
  Findings findings;
  for (const FoundLibrary& library : host.facts.libraries->found) {
    if (!is_of_driver(library) || !is_stub(library)) continue;
    const bool is_asked_for = library.via == "LD_LIBRARY_PATH";
    // Under the linker's name the loader passes it over.
    if (!is_asked_for && (library.via != "loader" || library.path.ends_with(".so"))) continue;
    findings.push_back(
        {.rule = "library_path_stubs",
         .severity = Severity::error,
         .title = sentence("a stub stands in the driver's place"),
         .evidence = {is_asked_for
                          ? sentence("LD_LIBRARY_PATH leads to {}", whole_path(library))
                          : sentence("the loader's own folders have {}", whole_path(library))},
         .meaning = sentence("Stubs are for compiling on machines without a driver. A program that "
                             "loads one fails with \"CUDA driver is a stub library\" (34)."),
         .steps = {is_asked_for ? Finding::Step{sentence("take that folder out of it"),
                                                "echo $LD_LIBRARY_PATH"}
                                : Finding::Step{sentence("take that file away, then have the "
                                                         "loader look again"),
                                                "sudo ldconfig"}}});
  }
  return findings;
}

/// "535.104.05" of libcuda.so.535.104.05 or the file that libcuda.so.1 leads to; empty: neither
/// name says. WSL's libcuda.so.1.1 is no driver's version.
std::string driver_version_of(const FoundLibrary& library) {
  for (const std::string& path : {library.path, library.behind}) {
    const std::size_t at = path.rfind(".so.");
    if (at == path.npos) continue;
    const auto version = two_part(std::string_view(path).substr(at + 4));
    if (version && version->major >= 100) return path.substr(at + 4);
  }
  return "";
}

/// The driver's version by its library, else by the loaded module; nothing: no driver is loaded.
std::optional<std::string> driver_of(const Examined& host) {
  const auto& told = host.snapshot.host.software_of(Runtime::cuda).driver.get();
  if (told) return *told;
  const auto& kernel = host.facts.kernel;
  return kernel ? kernel->module_version.get() : std::nullopt;
}

Findings library_path_other_driver(const Examined& host) {
  // Windows' driver puts its libcuda elsewhere, and it has no kernel module here.
  if (host.facts.kernel->is_wsl) return {};
  for (const FoundLibrary& library : host.facts.libraries->found) {
    if (library.name != "libcuda" || library.via != "LD_LIBRARY_PATH" || is_stub(library)) continue;
    // Those of a compat package are newer on purpose.
    if (library.path.find("/compat") != std::string::npos) continue;
    const auto driver = driver_of(host);
    const std::string version = driver_version_of(library);
    if (driver && (version.empty() || version == *driver)) return {};
    Finding finding{
        .rule = "library_path_other_driver",
        .severity = driver ? Severity::warning : Severity::hint,
        .title = sentence("LD_LIBRARY_PATH leads to a libcuda that is not the driver's"),
        .evidence = {sentence("LD_LIBRARY_PATH leads to {}", whole_path(library)),
                     driver ? sentence("the driver is {}", *driver)
                            : sentence("no NVIDIA driver is loaded here")},
        .meaning = sentence("Programs load it first; only the driver's own libcuda "
                            "reaches the GPUs."),
        .steps = {{sentence("take that folder out of it"), "echo $LD_LIBRARY_PATH"}}};
    return {std::move(finding)};
  }
  return {};
}

/// Whether the loader takes one for the other: it goes by the soname. For these that is the name
/// and the first number (of CUDA 11's runtime the first two).
bool is_same_soname(const FoundLibrary& one, const FoundLibrary& other) {
  const auto first = two_part(one.version);
  const auto second = two_part(other.version);
  if (!first || !second || first->major != second->major) return false;
  return one.name != "libcudart" || first->major > 11 || first->minor == second->minor;
}

Findings library_twice(const Examined& host) {
  Findings findings;
  const auto& found = host.facts.libraries->found;
  for (const FoundLibrary& library : found) {
    if (library.via != "LD_LIBRARY_PATH" || is_of_driver(library)) continue;
    // The same library a second time, of another version, further behind in the same list.
    for (const FoundLibrary& other : found) {
      const bool behind = &other > &library && other.via == "LD_LIBRARY_PATH";
      if (!behind || other.name != library.name || other.version == library.version) continue;
      if (!is_same_soname(library, other)) continue;
      findings.push_back(
          {.rule = "library_twice",
           .severity = Severity::hint,
           .title = sentence("LD_LIBRARY_PATH leads to two versions of {}", library.name),
           .evidence = {sentence("{} comes first", library.path), sentence("then {}", other.path)},
           .meaning = sentence("Programs get the first, whichever they were built for."),
           .steps = {{sentence("keep the one that is meant"), "echo $LD_LIBRARY_PATH"}},
           .doubt = sentence("packages that bring their own libraries do not look there first")});
    }
  }
  return findings;
}

/// What a framework was built with or brings in its environment's wheels.
struct Brought {
  std::string library;  // "libcudnn"
  std::string called;   // "cuDNN"
  std::string version;
  Sentence evidence;
};

std::vector<Brought> brought_by(const FrameworkBuild& build, const PythonEnvironment& python) {
  const auto cuda = build.cuda.get().value_or(std::nullopt);
  if (!cuda) return {};
  std::vector<Brought> all = {{"libcudart", "CUDA", cuda->text(),
                               sentence("{} {} was built for CUDA {} ({})", build.name,
                                        build.version, cuda->text(), build.cuda_source)}};
  // The others have plugins of their own that name the wheels' files by their whole paths.
  if (build.name != "torch") return all;
  const std::string generation = "_cu" + std::to_string(cuda->major);
  for (const auto& [name, version] : python.packages) {
    const bool is_cudnn = name == "nvidia_cudnn" + generation;
    if (!is_cudnn && name != "nvidia_nccl" + generation) continue;
    all.push_back({is_cudnn ? "libcudnn" : "libnccl", is_cudnn ? "cuDNN" : "NCCL", version,
                   sentence("the environment brings {} {}", name, version)});
  }
  return all;
}

std::string first_parts(const std::string& version, std::ptrdiff_t parts) {
  std::size_t end = 0;
  while (end < version.size() && (version[end] != '.' || --parts > 0)) ++end;
  return version.substr(0, end);
}

/// By the parts that both have: the file of cuDNN 9.10.2.21 is libcudnn.so.9.10.2.
bool is_older_where_both_say(const std::string& one, const std::string& other) {
  const std::ptrdiff_t parts =
      1 + std::min(std::ranges::count(one, '.'), std::ranges::count(other, '.'));
  return is_older_version(first_parts(one, parts), first_parts(other, parts));
}

/// The library in LD_LIBRARY_PATH that the loader would take in its place. Null: there is none, it
/// is not older, or its name does not say. (Wheels have it as libcudart.so.12, which names no minor
/// version.)
const FoundLibrary* older_in_front(const Brought& brought, const Libraries& libraries) {
  const auto meant = two_part(brought.version);
  for (const FoundLibrary& library : libraries.found) {
    if (library.name != brought.library || library.via != "LD_LIBRARY_PATH") continue;
    const auto version = two_part(library.version);
    // A library of another major version has other names, and the loader passes it over.
    if (!version || !meant || version->major != meant->major) continue;
    const bool says = std::ranges::count(library.version, '.') >= 2;
    const bool is_older = says && is_older_where_both_say(library.version, brought.version);
    return is_older ? &library : nullptr;
  }
  return nullptr;
}

Finding stands_in_front(const FoundLibrary& library, const Brought& brought,
                        const FrameworkBuild& build, bool fails) {
  Finding finding{
      .rule = "library_path_old_cuda",
      .severity = fails ? Severity::warning : Severity::hint,
      .title = sentence("LD_LIBRARY_PATH puts an older {} in front of that of {}", brought.called,
                        build.name),
      .evidence = {sentence("LD_LIBRARY_PATH leads to {}", library.path), brought.evidence},
      .meaning = sentence("What the framework's libraries load themselves may come from there: "
                          "symbols are then undefined, or parts of two versions meet."),
      .steps = {{sentence("take that folder out of it"), "echo $LD_LIBRARY_PATH"}}};
  if (!fails) {
    finding.doubt = sentence("packages that bring their own libraries do not look there first");
  }
  return finding;
}

Findings library_path_old_cuda(const Examined& host) {
  const PythonEnvironment& python = *host.facts.python;
  Findings findings;
  // One older libcudart is one finding, not each framework's.
  std::vector<const FoundLibrary*> named;
  for (const FrameworkBuild& build : python.frameworks) {
    const FrameworkSaid* said = python.said_of(build.name);
    const bool fails = said != nullptr && !said->error.empty();
    for (const Brought& brought : brought_by(build, python)) {
      const FoundLibrary* library = older_in_front(brought, *host.facts.libraries);
      if (library == nullptr || std::ranges::find(named, library) != named.end()) continue;
      named.push_back(library);
      findings.push_back(stands_in_front(*library, brought, build, fails));
    }
  }
  return findings;
}

/// "11" of nvidia_cudnn_cu11; empty: no such package.
std::string_view generation_of(std::string_view name) {
  const std::size_t at = name.rfind("_cu");
  if (!name.starts_with("nvidia_") || at == std::string_view::npos) return {};
  const std::string_view digits = name.substr(at + 3);
  return digits.size() == 2 && parse_unsigned(digits) ? digits : std::string_view{};
}

std::string_view without(std::string_view name, std::string_view generation) {
  return name.substr(0, name.size() - generation.size());
}

Findings wheels_of_two_majors(const Examined& host) {
  const auto& packages = host.facts.python->packages;
  std::vector<Sentence> evidence;
  for (const auto& [name, version] : packages) {
    // nvidia_cudnn_cu12 and nvidia_cudnn_cu13 both write to nvidia/cudnn.
    const std::string_view of = generation_of(name);
    if (of.empty()) continue;
    for (const auto& [second, second_version] : packages) {
      const std::string_view other = generation_of(second);
      if (other <= of || without(second, other) != without(name, of)) continue;
      evidence.push_back(sentence("{} {} and {} {} lie in the same folder", name, version, second,
                                  second_version));
    }
  }
  if (evidence.empty()) return {};
  return {{.rule = "wheels_of_two_majors",
           .severity = Severity::warning,
           .title = sentence("CUDA libraries of two generations in one environment"),
           .evidence = std::move(evidence),
           .meaning =
               sentence("What was installed last has overwritten the other: symbols are missing, "
                        "or cuDNN does not initialise."),
           .steps = {{sentence("a fresh environment is quicker than sorting them out"),
                      "python -m venv ~/fresh"}}}};
}

Findings preload_missing(const Examined& host) {
  if (host.facts.libraries->preload_missing.empty()) return {};
  std::vector<Sentence> evidence;
  for (const std::string& path : host.facts.libraries->preload_missing) {
    evidence.push_back(sentence("LD_PRELOAD names {}, and there is no such file", path));
  }
  return {{.rule = "preload_missing",
           .severity = Severity::hint,
           .title = sentence("LD_PRELOAD names a file that is not there"),
           .evidence = std::move(evidence),
           .meaning =
               sentence("Every program says so when it starts, and what was to be loaded is not."),
           .steps = {{sentence("leave it out"), "unset LD_PRELOAD"}}}};
}

/// Whether it is not the driver's own: a stub, or of another version than the driver's. Those of a
/// compat package are newer on purpose.
bool is_foreign(const FoundLibrary& library, const Examined& host) {
  if (is_stub(library)) return true;
  const auto& driver = host.snapshot.host.software_of(Runtime::cuda).driver.get();
  // WSL's is libcuda.so.1.1: that is no driver's version.
  const auto version = two_part(library.version);
  const bool says = version && version->major >= 100;
  return driver && says && library.version != *driver &&
         library.path.find("/compat") == std::string::npos;
}

Findings preload_stands_in(const Examined& host) {
  Findings findings;
  for (const FoundLibrary& library : host.facts.libraries->preloaded) {
    const bool is_driver = is_of_driver(library);
    if (is_driver && !is_foreign(library, host)) continue;
    Finding finding{.rule = "preload_stands_in",
                    .severity = is_driver ? Severity::error : Severity::hint,
                    .title = sentence("LD_PRELOAD gives every program its own {}", library.name),
                    .evidence = {sentence("LD_PRELOAD names {}", library.path)},
                    .meaning = sentence("Programs get the first, whichever they were built for."),
                    .steps = {{sentence("leave it out"), "unset LD_PRELOAD"}}};
    if (is_driver) {
      finding.evidence.push_back(
          sentence("the driver is {}",
                   host.snapshot.host.software_of(Runtime::cuda).driver.get().value_or("?")));
      finding.meaning = sentence("It stands before the driver's own, which alone fits the driver.");
    } else {
      finding.doubt = sentence("it may be meant: a newer one is sometimes tried like that");
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

std::span<const DoctorRule> libraries_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = tensorflow_libraries_missing,
       .needs = HostPart::driver | HostPart::python | HostPart::libraries,
       .reports = {{"tensorflow_libraries_missing", "error",
                    "a CUDA build, no cuDNN in the environment or where the loader looks",
                    "`tensorflow[and-cuda]`"}}},
      {.find = cudnn_of_another_major,
       .needs = HostPart::driver | HostPart::python | HostPart::libraries,
       .reports = {{"cudnn_of_another_major", "error",
                    "the cuDNN that TensorFlow's build names, and those where the loader looks; "
                    "none in the environment",
                    "`tensorflow[and-cuda]`"}}},
      {.find = library_path_stubs,
       .needs = HostPart::libraries,
       .reports = {{"library_path_stubs", "error",
                    "LD_LIBRARY_PATH or the loader's own folders lead to a stub of libcuda or "
                    "NVML, also by a link; also without a card",
                    "take the folder out"}}},
      {.find = library_path_other_driver,
       .needs = HostPart::kernel | HostPart::libraries,
       .reports = {{"library_path_other_driver", "warning; hint where no driver is loaded",
                    "LD_LIBRARY_PATH leads to a libcuda of another version than the driver's, or "
                    "no driver is loaded; not WSL's, nor of a compat package",
                    "take the folder out"}}},
      {.find = library_twice,
       .needs = HostPart::libraries,
       .reports = {{"library_twice", "hint",
                    "two versions of one library (of the same soname) in LD_LIBRARY_PATH",
                    "keep one"}}},
      {.find = library_path_old_cuda,
       .needs = HostPart::python | HostPart::libraries,
       .reports = {{"library_path_old_cuda",
                    "hint, with a doubt; warning where the framework cannot be imported",
                    "a libcudart in LD_LIBRARY_PATH of the framework's major version and older; "
                    "for torch also a libcudnn or libnccl older than the environment's "
                    "nvidia_cudnn_cu* or nvidia_nccl_cu* of its CUDA, of the same major version, "
                    "if it is the first of its name",
                    "take the folder out"}}},
      {.find = wheels_of_two_majors,
       .needs = HostPart::python,
       .reports = {{"wheels_of_two_majors", "warning",
                    "nvidia_x_cu11 and nvidia_x_cu12 in one environment", "a fresh environment"}}},
      {.find = preload_missing,
       .needs = HostPart::libraries,
       .reports = {{"preload_missing", "hint", "LD_PRELOAD names a file that is not there",
                    "leave it out"}}},
      {.find = preload_stands_in,
       .needs = HostPart::libraries,
       .reports = {{"preload_stands_in",
                    "error for a stub of the driver's libraries or one of another version; hint, "
                    "with a doubt, for CUDA's libraries and NCCL",
                    "LD_PRELOAD", "leave it out"}}},
  };
  return rules;
}

}  // namespace berth::doctor
