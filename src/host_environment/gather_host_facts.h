#pragma once
// One look at the user's environment on this host, every part of it bounded in time.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "host_environment/host_facts.h"
#include "record/run_record.h"

namespace berth {

struct HostFactsQuestion {
  std::vector<std::string> environment;  // the caller's, NAME=value
  std::string working_directory;
  std::string python;  // --python; empty: the environment in use
  /// False: the devices are a simulated or replayed server's. This machine's kernel, libraries and
  /// limits say nothing of them. Then only a Python that was asked for is looked at.
  bool is_own_machine = true;
  bool may_import = true;       // --no-import: nothing of the environment is run
  bool may_read_files = false;  // --read-test: one file of the working directory is read
  bool driver_answers = true;   // false: the device files are opened one by one to see why
  std::string root;             // before the system's absolute paths; tests
  std::string cuda_library = "libcuda.so.1";
  Duration import_patience = std::chrono::seconds(20);
};

[[nodiscard]] HostFacts gather_host_facts(const HostFactsQuestion& question, Clock& clock);

// The manifest of no run: what a program started here and now would meet.

struct HereQuestion {
  std::vector<std::string> environment;  // the caller's, NAME=value
  std::string working_directory;
  std::string python;  // an interpreter or an environment's folder; empty: the one in use
  std::string user;
  uid_t uid = 0;
  std::string root;  // before the system's absolute paths; tests
};

/// `looked` is what was seen of host and devices, without the processes on them. not_found: there
/// is no such `python`; where none was asked for and there is none, the manifest has none.
[[nodiscard]] Result<Manifest> gather_here(const HereQuestion& question, const Snapshot& looked,
                                           Clock& clock);

}  // namespace berth
