#pragma once
// The Python environment in use, with its frameworks: learned from their files, and from the
// interpreter alone, which is asked in a process of its own where its packages lie. No framework is
// imported here (python_import.h does that, bounded, where it may).

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "world/surroundings.h"

namespace berth {

struct PythonQuestion {
  std::string given;                     // an interpreter or an environment's folder; empty: in use
  std::vector<std::string> environment;  // the caller's
  std::string search_path;               // PATH, without folders that do not answer
  bool may_run = true;                   // false: the interpreter is not even asked for its folders
  std::string root;                      // before absolute paths that the system owns (tests)
};

/// not_found: there is no interpreter, or the one given is none.
[[nodiscard]] Result<PythonWorld> gather_python_world(const PythonQuestion& question, Clock& clock);

/// The frameworks in these folders; `packages` gets the names and versions that matter.
[[nodiscard]] std::vector<FrameworkBuild> frameworks_in(
    const std::vector<std::string>& folders,
    std::vector<std::pair<std::string, std::string>>& packages);

/// Imports what was found in a child of the interpreter and asks it what it sees: no more than
/// is_available, device_count and the architectures. Nothing is computed on a device.
[[nodiscard]] ImportAnswer ask_by_import(const PythonWorld& python,
                                         const std::vector<std::string>& environment, Clock& clock,
                                         Duration patience);
/// What that child printed: lines "framework<TAB>key<TAB>value".
[[nodiscard]] std::vector<FrameworkSaid> parse_import_answer(std::string_view text);

}  // namespace berth
