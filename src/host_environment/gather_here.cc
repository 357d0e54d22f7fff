#include "host_environment/gather_here.h"

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "host_environment/environment.h"
#include "host_environment/gather.h"
#include "host_environment/machine_side.h"
#include "host_environment/python_environment.h"

namespace berth {

namespace {

std::string first_line(const std::string& path) {
  const auto text = read_file(path, 4096);
  return text ? std::string(trimmed(*text)) : std::string();
}

/// Host and devices with their facts, nobody's processes and leases.
Snapshot facts_alone(const Snapshot& looked) {
  return {.taken = looked.taken,
          .simulated = looked.simulated,
          .host = looked.host,
          .devices = looked.devices,
          .sources = looked.sources,
          .problems = looked.problems};
}

ToolkitFacts toolkit_facts(const HereQuestion& question, const std::string& search_path) {
  std::vector<std::string> library_path;
  const auto folders = value_of(question.environment, "LD_LIBRARY_PATH").value_or("");
  for (const std::string_view folder : split(folders, ':')) {
    if (folder.starts_with('/')) library_path.emplace_back(folder);
  }
  const Libraries libraries = gather_libraries(question.root, library_path, search_path, "");
  ToolkitFacts facts{.nvcc_version = Absent::unsupported};
  if (libraries.nvcc_version) facts.nvcc_version = libraries.nvcc_version->text();
  for (const FoundLibrary& library : libraries.found) {
    // What is found first is what the loader takes.
    const bool is_known =
        std::ranges::any_of(facts.libraries, [&](auto& one) { return one.first == library.name; });
    if (!is_known && !library.version.empty()) {
      facts.libraries.emplace_back(library.name, library.version);
    }
  }
  return facts;
}

}  // namespace

Result<Manifest> gather_here(const HereQuestion& question, const Snapshot& looked, Clock& clock) {
  const auto search_path = value_of(question.environment, "PATH").value_or("/usr/bin:/bin");
  Manifest manifest{.working_directory = question.working_directory,
                    .started = clock.wall_now(),
                    .machine_id = first_line(question.root + "/etc/machine-id"),
                    .boot_id = first_line(question.root + "/proc/sys/kernel/random/boot_id"),
                    .uid = question.uid,
                    .user = question.user,
                    .given = facts_alone(looked)};
  const std::string& root = question.root;
  manifest.machine =
      gather_machine({root + "/proc", root + "/sys", root + "/etc", root + "/.dockerenv"});
  manifest.git = gather_git(question.working_directory);
  if (manifest.git) {
    manifest.git->dirty = is_git_dirty(manifest.git->root, question.environment, clock);
  }
  // The interpreter is found as `berth doctor` finds it and read as that of a run is: so the two
  // compare.
  const auto python = gather_python_environment({.given = question.python,
                                                 .environment = question.environment,
                                                 .search_path = search_path,
                                                 .may_run = false,
                                                 .root = root},
                                                clock);
  if (!python && !question.python.empty()) return std::unexpected(python.error());
  if (python) manifest.python = gather_python({python->interpreter}, search_path);
  manifest.variables = notable_variables(question.environment);
  manifest.toolkit = toolkit_facts(question, search_path);
  manifest.complete = true;
  return manifest;
}

}  // namespace berth
