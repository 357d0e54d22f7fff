#pragma once
// The manifest of no run: what a program started here and now would meet.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "record/run_record.h"

namespace berth {

struct HereQuestion {
  std::vector<std::string> environment;  // the caller's, NAME=value
  std::string working_directory;
  std::string python;  // an interpreter or an environment's folder; empty: the one in use
  std::string user;
  uid_t uid = 0;
  std::string root;  // before the system's absolute paths; tests
};

/// `looked` is what was seen of host and devices, of which who is on them is left out. not_found:
/// there is no such `python`; where none was asked for and there is none, the manifest has none.
[[nodiscard]] Result<Manifest> gather_here(const HereQuestion& question, const Snapshot& looked,
                                           Clock& clock);

}  // namespace berth
