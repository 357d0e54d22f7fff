#pragma once
// One look at the user's surroundings, every part of it bounded in time.

#include <string>
#include <vector>

#include "base/clock.h"
#include "host_environment/host_facts.h"

namespace berth {

struct HostFactsQuestion {
  std::vector<std::string> environment;  // the caller's, NAME=value
  std::string working_directory;
  std::string python;  // --python; empty: the environment in use
  /// False: the devices are a simulated or replayed server's, so this machine's kernel, libraries
  /// and limits say nothing of them; and no Python is looked at that was not asked for.
  bool is_own_machine = true;
  bool may_import = true;       // --no-import: nothing of the environment is run
  bool may_read_files = false;  // --read-test: one file of the working directory is read
  bool driver_answers = true;   // false: the device files are opened one by one to see why
  std::string root;             // before the system's absolute paths; tests
  std::string cuda_library = "libcuda.so.1";
  Duration import_patience = std::chrono::seconds(20);
};

[[nodiscard]] HostFacts gather_host_facts(const HostFactsQuestion& question, Clock& clock);

}  // namespace berth
