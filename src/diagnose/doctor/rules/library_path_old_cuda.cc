#include <algorithm>
#include <cstddef>

#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

/// What a framework was built with or brings in its environment's wheels.
struct Brought {
  std::string library;  // "libcudnn"
  std::string called;   // "cuDNN"
  std::string version;
  Sentence evidence;
};

std::vector<Brought> brought_by(const FrameworkBuild& build, const PythonWorld& python) {
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

/// The one in LD_LIBRARY_PATH that the loader would take in its place; null: none, or it is not
/// older, or its name does not say (wheels have it as libcudart.so.12: which 12 is then not said).
const FoundLibrary* older_in_front(const Brought& brought, const Libraries& libraries) {
  const auto meant = two_part(brought.version);
  for (const FoundLibrary& library : libraries.found) {
    if (library.name != brought.library || library.via != "LD_LIBRARY_PATH") continue;
    const auto version = two_part(library.version);
    // Of another major version it has other names, and the loader passes it over.
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

}  // namespace

Findings library_path_old_cuda(const Examined& host) {
  if (!host.world.libraries || !host.world.python) return {};
  const PythonWorld& python = *host.world.python;
  Findings findings;
  // One older libcudart is one finding, not each framework's.
  std::vector<const FoundLibrary*> named;
  for (const FrameworkBuild& build : python.frameworks) {
    const FrameworkSaid* said = python.said_of(build.name);
    const bool fails = said != nullptr && !said->error.empty();
    for (const Brought& brought : brought_by(build, python)) {
      const FoundLibrary* library = older_in_front(brought, *host.world.libraries);
      if (library == nullptr || std::ranges::find(named, library) != named.end()) continue;
      named.push_back(library);
      findings.push_back(stands_in_front(*library, brought, build, fails));
    }
  }
  return findings;
}

}  // namespace berth::doctor
