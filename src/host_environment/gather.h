#pragma once
// Facts about a run, besides its devices, for a paper or a colleague: the machine, the work tree,
// the interpreter. Gathered by the sampler once the job runs.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "record/run_record.h"

namespace berth {

struct GatherRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string etc = "/etc";
  std::string docker_mark = "/.dockerenv";  // a file that Docker puts into its containers
};

[[nodiscard]] MachineFacts gather_machine(const GatherRoots& roots);

/// The work tree around `directory`; nothing: it is in none. `dirty` is left not sampled.
[[nodiscard]] std::optional<GitFacts> gather_git(const std::string& directory);
/// Asks git itself whether tracked files differ; bounded in time. Nothing that the tree's own
/// configuration names is run: where only its filters could say, unsupported. Of a submodule its
/// commit alone is looked at.
[[nodiscard]] Reading<bool> is_git_dirty(const std::string& root,
                                         const std::vector<std::string>& environment, Clock& clock);

/// Nothing: the command is not Python.
[[nodiscard]] std::optional<PythonFacts> gather_python(const std::vector<std::string>& command,
                                                       const std::string& search_path);

/// "torch-2.3.1+cu121.dist-info": name and version; nothing: not such a name.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> package_from_directory(
    std::string_view name);

}  // namespace berth
