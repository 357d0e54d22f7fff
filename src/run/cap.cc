#include "run/cap.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "guard/account_file.h"
#include "guard/framework_caps.h"
#include "host_environment/environment.h"
#include "host_environment/gather.h"
#include "host_environment/machine_side.h"
#include "host_environment/mps.h"
#include "record/record_writer.h"
#include "snapshot/device_kind.h"

namespace berth {

namespace {

/// A home on a network file system that does not answer must not keep a job from its start.
constexpr Duration packages_patience = std::chrono::milliseconds(300);

/// Of a context, which the shim counts before the driver tells what it takes. The least that one
/// takes: the sampler adds the rest once it lasts.
constexpr std::uint64_t context_bytes = 128 << 20;

constexpr std::string_view no_kernel_yet =
    as_key("this berth does not set limits of the kernel yet");

std::string uuid_of(const Device& device) {
  const auto& uuid = device.uuid.get();
  return uuid ? *uuid : device.id.text();
}

/// Why an account cannot be opened for these devices; empty: it is there.
std::string make_account(const Manifest& manifest, const std::string& directory) {
  if (directory.empty()) return std::string(as_key("this run has no record for its account"));
  std::vector<AccountDevice> devices;
  for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
    const std::optional<Bytes> limit = manifest.promised[at];
    const Bytes context(limit ? std::min(context_bytes, limit->count() / 10) : 0);
    devices.push_back({uuid_of(manifest.given.devices[at]), limit, context});
  }
  const auto made = AccountFile::make(directory + "/" + std::string(record_file::account), devices);
  return made ? "" : made.error().message();
}

/// Why a server of MPS does not hold these devices; empty: it does.
std::string prove_mps(const std::string& pipes, const Manifest& manifest, Clock& clock) {
  MpsQuestion question{.pipes = pipes, .uuids = {}};
  for (const Device& device : manifest.given.devices) question.uuids.push_back(uuid_of(device));
  const auto held = prove_mps_limit(question, clock);
  return held ? "" : held.error().message();
}

/// What changes in the environment when the shim is added.
CapVariables variables_of_shim(const Shim& shim, const std::string& directory,
                               const std::vector<std::string>& environment) {
  const auto with =
      environment_with_shim(environment, shim, directory + "/" + std::string(record_file::account));
  CapVariables set;
  for (const std::string& variable : with) {
    if (std::ranges::find(environment, variable) != environment.end()) continue;
    const std::size_t equals = variable.find('=');
    set.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return set;
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

/// What keeps the frameworks of the job's Python to their share (guard/framework_caps.h). Nothing
/// where its packages cannot be told for sure, or not within a moment.
CapVariables framework_settings(const RunCap& cap, const Manifest& manifest,
                                const RunOptions& options, Clock& clock) {
  std::vector<FrameworkShare> shares;
  for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
    const auto& total = manifest.given.devices[at].memory_total.get();
    if (!manifest.promised[at] || !total) return {};
    shares.push_back({*manifest.promised[at], *total});
  }
  if (cap.tier == CapTier::none) return {};
  return framework_variables(cap.tier, shares, options.environment, packages_of(options, clock));
}

}  // namespace

namespace {
std::expected<Shim, Sentence> shim_for(const RunOptions& options) {
  return prepare_shim({.environment = options.environment,
                       .programs = programs_started_by(options.job.command),
                       .working_directory = options.working_directory,
                       .folders = shim_folders(options.environment, ::getuid()),
                       .shim_template = shim_template(),
                       .root = {}});
}
}  // namespace

CapMeans cap_means(const RunOptions& options, const std::optional<std::string>& simulated) {
  CapMeans means{.facts = {.no_kernel = std::string(no_kernel_yet), .no_mps = {}, .no_shim = {}},
                 .shim = {},
                 .mps_pipes = {}};
  if (options.job.where == RunWhere::cpu || !options.job.request.memory) return means;
  // By name: nothing of the stronger ones is looked at.
  if (options.job.cap && *options.job.cap <= CapTier::watchdog) return means;
  if (simulated) {
    means.facts.no_mps = std::string(as_key("this server is simulated"));
    means.facts.no_shim = means.facts.no_mps;
    return means;
  }
  const auto programs = programs_started_by(options.job.command);
  if (const auto client = container_client_among(programs); !client.empty()) {
    means.facts.no_mps =
        sentence("{} starts containers, and MPS does not go along", client).english();
  } else if (auto pipes = find_mps(options.environment, ::getuid())) {
    means.mps_pipes = *std::move(pipes);
  } else {
    means.facts.no_mps = pipes.error().message();
  }
  if (value_of(options.environment, "BERTH_GUARD_ACCOUNT")) {
    // An account of its own would take it out of the outer one.
    means.facts.no_shim = std::string(as_key("the shim of the run around it holds them both"));
    return means;
  }
  auto shim = shim_for(options);
  if (shim) {
    means.shim = *std::move(shim);
  } else {
    means.facts.no_shim = shim.error().english();
  }
  return means;
}

CapMeans means_for_a_running_program() {
  const std::string why(as_key("the program runs already"));
  return {.facts = {.no_kernel = why, .no_mps = why, .no_shim = why}, .shim = {}, .mps_pipes = {}};
}

/// As hold(), without what is set beside the tier.
static Result<CapVariables> hold_by_tier(RunCap& cap, CapMeans means, const Manifest& manifest,
                                         const std::string& directory, const RunOptions& options,
                                         Clock& clock) {
  std::string why;
  // Both stand before CUDA's driver.
  const bool is_cuda = std::ranges::all_of(
      manifest.given.devices, [](const Device& device) { return is_of(unnamed_vendor, device); });
  if (!is_cuda && (cap.tier == CapTier::mps || cap.tier == CapTier::shim)) {
    why = as_key("it holds devices of NVIDIA alone");
    means.facts.no_mps = means.facts.no_shim = why;
  } else if (cap.tier == CapTier::mps) {
    why = prove_mps(means.mps_pipes, manifest, clock);
    if (!why.empty()) means.facts.no_mps = why;
  }
  if (is_cuda && cap.tier == CapTier::shim) {
    // Days may have passed in the queue: its files are looked at again.
    auto shim = shim_for(options);
    why = shim ? make_account(manifest, directory) : shim.error().english();
    if (shim) means.shim = *std::move(shim);
    if (!why.empty()) means.facts.no_shim = why;
  }
  if (!why.empty()) {
    auto weaker = cap_of(options.job, means.facts);
    if (!weaker) return std::unexpected(std::move(weaker).error());
    cap = **std::move(weaker);
    return hold_by_tier(cap, std::move(means), manifest, directory, options, clock);
  }
  if (cap.tier == CapTier::mps) {
    std::vector<Bytes> shares;
    for (const auto& share : manifest.promised) shares.push_back(share.value_or(Bytes(0)));
    return CapVariables{{mps_limit_variable, mps_limits(shares)}};
  }
  if (cap.tier != CapTier::shim) return CapVariables{};
  cap.image = means.shim->image;
  return variables_of_shim(*means.shim, directory, options.environment);
}

Result<CapVariables> hold(RunCap& cap, CapMeans means, const Manifest& manifest,
                          const std::string& directory, const RunOptions& options, Clock& clock) {
  auto set = hold_by_tier(cap, std::move(means), manifest, directory, options, clock);
  if (!set) return set;
  for (auto& one : framework_settings(cap, manifest, options, clock)) {
    set->push_back(std::move(one));
  }
  return set;
}

Result<std::optional<RunCap>> cap_of(const JobSpec& job, const CapFacts& facts) {
  if (job.where == RunWhere::cpu || !job.request.memory) return std::optional<RunCap>();
  auto choice = choose_cap(job.cap, facts);
  if (!choice) return std::unexpected(std::move(choice).error());
  RunCap cap{.tier = choice->tier, .stops = job.cap_action == CapAction::stop};
  for (auto& [tier, why] : choice->stronger) {
    cap.not_held_by.emplace_back(word_of(tier), std::move(why));
  }
  return std::optional(std::move(cap));
}

}  // namespace berth
