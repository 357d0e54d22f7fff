#pragma once
// What a job can do once it is isolated, and what it cannot. Each thing is tried outside of
// isolation first, then inside. So a thing that never worked here is not blamed on the isolation.

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/sentence.h"
#include "run/isolate.h"

namespace berth {

struct IsolationCheck {
  enum class Answer { yes, no, unknown } answer = Answer::unknown;
  std::string name;   // for programs: "move_files"
  std::string title;  // through tr()
  Sentence detail;    // on what it was tried, or why it went wrong or cannot be shown
};
/// "yes", "no", "unknown".
[[nodiscard]] std::string_view name_of(IsolationCheck::Answer answer);

struct IsolationQuestion {
  Snapshot snapshot;                 // the machine's devices
  std::vector<std::string> folders;  // in which jobs write
  std::string program;               // ourselves: asked, inside, which devices NVML shows
  std::vector<std::string> environment;
  std::string cuda_library = "libcuda.so.1";
};

struct IsolationReport {
  std::vector<IsolationCheck> checks;
  std::vector<Sentence> costs;  // costs_of(), where a job can be isolated
  /// Nothing that was tried went wrong, and something was tried.
  [[nodiscard]] bool is_well() const;
};

/// Writes into a new folder in each of the folders, and removes it.
[[nodiscard]] IsolationReport check_isolation(const IsolationQuestion& question, Clock& clock);

}  // namespace berth
