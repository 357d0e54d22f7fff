#include "host_environment/gather_host_facts.h"

#include <sys/stat.h>

#include <algorithm>
#include <ranges>

#include "base/fd.h"
#include "base/member_count.h"
#include "base/text.h"
#include "base/variables.h"
#include "host_environment/cuda_driver.h"
#include "host_environment/environment.h"
#include "host_environment/gather.h"
#include "host_environment/machine_side.h"
#include "host_environment/python_environment.h"
#include "host_environment/python_files.h"

namespace berth {

namespace {

/// Each is filled here; `containers_left` and `containers_unrecorded` by who asks.
static_assert(all_counted<Members<HostFacts, 16>>);

std::vector<std::string> folders_in(const std::vector<std::string>& environment,
                                    std::string_view name) {
  std::vector<std::string> folders;
  const std::string list = value_of(environment, name).value_or("");
  for (const std::string_view part : split(list, ':')) {
    if (!part.empty()) folders.emplace_back(part);
  }
  return folders;
}

/// The folders to be looked into that do not answer. They are then left alone.
std::vector<std::string> find_silent(const HostFactsQuestion& question, Clock& clock) {
  std::vector<std::string> folders = {question.working_directory};
  for (const char* list : {"LD_LIBRARY_PATH", "PATH", "PYTHONPATH"}) {
    for (std::string& folder : folders_in(question.environment, list)) {
      folders.push_back(std::move(folder));
    }
  }
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "CUDA_HOME", "CUDA_PATH"}) {
    if (auto folder = value_of(question.environment, name)) folders.push_back(std::move(*folder));
  }
  if (!question.python.empty()) folders.push_back(question.python);
  return silent_folders(folders, clock, std::chrono::seconds(2));
}

bool is_below(std::string_view path, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const std::string& folder) {
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
  });
}

void look_at_python(const HostFactsQuestion& question, const std::string& search_path,
                    HostFacts& found, Clock& clock) {
  if (!question.is_own_machine && question.python.empty()) return;
  std::vector<std::string> environment = question.environment;
  std::erase_if(environment, [&](const std::string& entry) {
    const std::size_t at = entry.find('=');
    if (at == entry.npos) return false;
    const std::string_view value = std::string_view(entry).substr(at + 1);
    if (!entry.starts_with("PYTHONPATH=")) return is_below(value, found.silent_folders);
    return std::ranges::any_of(split(value, ':'), [&](std::string_view folder) {
      return is_below(folder, found.silent_folders);
    });
  });
  auto python = gather_python_environment({.given = question.python,
                                           .environment = environment,
                                           .search_path = search_path,
                                           .may_run = question.may_import,
                                           .root = question.root},
                                          clock);
  if (!python) {
    found.python_problem = python.error().said();
    return;
  }
  found.python = std::move(*python);
  // What a simulated server's driver would show a framework cannot be asked here.
  if (!question.may_import || !question.is_own_machine) return;
  // One that did not even say its version would only take its time a second time.
  if (found.python->answer.end != InterpreterEnd::answered) return;
  found.python->said =
      ask_by_import(*found.python, question.environment, clock, question.import_patience);
}

/// CUDA_HOME, else CUDA_PATH, as those who build extensions look.
std::optional<CudaHome> look_at_cuda_home(const HostFactsQuestion& question,
                                          const std::vector<std::string>& silent) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const auto folder = value_of(question.environment, name);
    if (!folder || folder->empty()) continue;
    if (is_below(*folder, silent)) return std::nullopt;
    return gather_cuda_home(name, *folder);
  }
  return std::nullopt;
}

void look_at_machine(const HostFactsQuestion& question, const std::string& search_path,
                     HostFacts& found, Clock& clock) {
  std::vector<std::string> library_path = folders_in(question.environment, "LD_LIBRARY_PATH");
  std::erase_if(library_path, [&](auto& folder) { return is_below(folder, found.silent_folders); });
  const std::string& root = question.root;
  found.kernel = gather_kernel_side(root);
  found.device_files = gather_device_files(
      root, question.driver_answers ? OpenWhich::control : OpenWhich::all, clock);
  found.container =
      gather_machine({root + "/proc", root + "/sys", root + "/etc", root + "/.dockerenv"})
          .container;
  const std::string home = value_of(question.environment, "HOME").value_or("");
  found.container_tools = gather_container_tools(
      root, search_path, is_below(home, found.silent_folders) ? std::string() : home);
  if (root.empty()) ask_engines(question.environment, *found.container_tools, clock);
  found.libraries = gather_libraries(root, library_path, search_path,
                                     value_of(question.environment, "LD_PRELOAD").value_or(""));
  found.libraries->home = look_at_cuda_home(question, found.silent_folders);
  found.limits = gather_limits(root);
  found.cuda = ask_cuda(question.cuda_library, clock, std::chrono::seconds(10));
  if (auto names = list_directory(root + "/sys/class/net")) found.interfaces = std::move(*names);
  if (is_below(question.working_directory, found.silent_folders)) return;
  found.directory = gather_directory(question.working_directory, root, clock);
  if (question.may_read_files) {
    found.directory->read_speed =
        gather_read_speed(question.working_directory, found.directory->file_system, clock);
  }
  for (const char* name : {"torch.py", "tensorflow.py", "jax.py", "numpy.py"}) {
    const std::string path = question.working_directory + "/" + name;
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0) found.shadowing.emplace_back(name);
  }
}

}  // namespace

HostFacts gather_host_facts(const HostFactsQuestion& question, Clock& clock) {
  HostFacts found;
  found.variables = notable_variables(question.environment);
  found.container = Absent::not_sampled;
  found.silent_folders = find_silent(question, clock);
  const auto answers = [&](const std::string& folder) {
    return !is_below(folder, found.silent_folders);
  };
  const auto folders = folders_in(question.environment, "PATH");
  const std::string search_path = joined(folders | std::views::filter(answers), ":");
  if (question.is_own_machine) look_at_machine(question, search_path, found, clock);
  look_at_python(question, search_path, found, clock);
  return found;
}

namespace {

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
  const auto search_path = search_path_in(question.environment);
  Manifest manifest{.working_directory = question.working_directory,
                    .started = clock.wall_now(),
                    .machine_id = first_line_of(question.root + "/etc/machine-id"),
                    .boot_id = first_line_of(question.root + "/proc/sys/kernel/random/boot_id"),
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
