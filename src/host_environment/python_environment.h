#pragma once
// The Python environment in use, with its frameworks. It is learned from their files. The
// interpreter is asked, in a process of its own, where its packages lie. No framework is imported
// here (python_import.h does that, bounded, where it may).

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "host_environment/host_facts.h"

namespace berth {

/// How long the interpreter may take to say where its packages lie.
inline constexpr std::chrono::seconds interpreter_patience{5};

struct PythonQuestion {
  std::string given;                     // an interpreter or an environment's folder; empty: in use
  std::vector<std::string> environment;  // the caller's
  std::string search_path;               // PATH, without folders that do not answer
  bool may_run = true;                   // false: the interpreter is not even asked for its folders
  std::string root;                      // before absolute paths that the system owns (tests)
};

/// not_found: there is no interpreter, or the one given is none.
[[nodiscard]] Result<PythonEnvironment> gather_python_environment(const PythonQuestion& question,
                                                                  Clock& clock);

/// The frameworks in these folders; `packages` gets the names and versions that matter.
[[nodiscard]] std::vector<FrameworkBuild> frameworks_in(
    const std::vector<std::string>& folders,
    std::vector<std::pair<std::string, std::string>>& packages);

}  // namespace berth
