#include "run/cap.h"

#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "guard/framework_caps.h"
#include "host_environment/environment.h"
#include "host_environment/gather.h"
#include "host_environment/machine_side.h"

namespace berth {

namespace {

/// A home on a network file system that does not answer must not keep a job from its start.
constexpr Duration packages_patience = std::chrono::milliseconds(300);

// Why a tier cannot be had here; nothing: it can.

std::optional<std::string> kernel_facts() {
  return std::string(as_key("this berth does not set limits of the kernel yet"));
}
std::optional<std::string> mps_facts() {
  return std::string(as_key("this berth does not set limits of MPS yet"));
}
std::optional<std::string> shim_facts(const RunOptions&, CapOf whose) {
  if (whose == CapOf::running_program) {
    return std::string(as_key("the program runs already, without it"));
  }
  return std::string(as_key("this berth has no shim yet"));
}

/// Whether another place may come before the folders that were looked at: then the version that the
/// job meets is not known.
bool may_have_other_packages(const PythonFacts& python, const RunOptions& options) {
  const auto& environment = options.environment;
  if (value_of(environment, "PYTHONPATH")) return true;
  std::error_code unknown;
  namespace fs = std::filesystem;
  if (!python.environment.empty() && fs::exists(python.environment + "/pyvenv.cfg", unknown)) {
    return false;
  }
  const auto home = value_of(environment, "HOME");
  const bool sees_users_own = !value_of(environment, "PYTHONNOUSERSITE");
  return !home || (sees_users_own && fs::exists(*home + "/.local/lib", unknown));
}

/// One "name version" a line.
int write_packages(const RunOptions& options) {
  const auto python = gather_python(
      options.job.command, value_of(options.environment, "PATH").value_or(default_search_path));
  if (!python || may_have_other_packages(*python, options)) return 0;
  for (const auto& [name, version] : python->packages) {
    if (!write_all(STDOUT_FILENO, name + " " + version + "\n")) return 1;
  }
  return 0;
}

std::vector<std::pair<std::string, std::string>> packages_of(const RunOptions& options,
                                                             Clock& clock) {
  const auto answer = ask_child([&] { return write_packages(options); }, clock, packages_patience);
  std::vector<std::pair<std::string, std::string>> packages;
  if (!answer || !answer->exit || *answer->exit != Exit{} || answer->is_cut) return packages;
  for (const std::string_view line : split(answer->out, '\n')) {
    const std::size_t space = line.find(' ');
    if (space == line.npos) continue;
    packages.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return packages;
}

}  // namespace

Result<std::optional<RunCap>> cap_of(const RunOptions& options, CapOf whose) {
  const JobSpec& job = options.job;
  if (job.where == RunWhere::cpu || !job.request.memory) return std::optional<RunCap>();
  // What a file asks of jobs must not refuse the programs that can only be watched.
  const bool is_out_of_reach = whose == CapOf::running_program && job.cap > CapTier::watchdog;
  auto choice = choose_cap(
      is_out_of_reach ? std::nullopt : job.cap,
      {.no_kernel = kernel_facts(), .no_mps = mps_facts(), .no_shim = shim_facts(options, whose)});
  if (!choice) return std::unexpected(std::move(choice).error());
  RunCap cap{.tier = choice->tier,
             .stops = whose == CapOf::job && job.cap_action == CapAction::stop};
  for (auto& [tier, why] : choice->stronger) {
    cap.not_held_by.emplace_back(word_of(tier), std::move(why));
  }
  return std::optional(std::move(cap));
}

std::vector<std::pair<std::string, std::string>> framework_settings(const RunCap& cap,
                                                                    const Manifest& manifest,
                                                                    const RunOptions& options,
                                                                    Clock& clock) {
  std::vector<FrameworkShare> shares;
  for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
    const auto& total = manifest.given.devices[at].memory_total.get();
    if (!manifest.promised[at] || !total) return {};
    shares.push_back({*manifest.promised[at], *total});
  }
  if (cap.tier == CapTier::none) return {};
  return framework_variables(cap.tier, shares, options.environment, packages_of(options, clock));
}

}  // namespace berth
