#include "run/cap.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/variables.h"
#include "guard/account_file.h"
#include "guard/context_sizes.h"
#include "guard/framework_caps.h"
#include "host_environment/gather.h"
#include "host_environment/machine_side.h"
#include "host_environment/mps.h"
#include "record/record_writer.h"
#include "run/command_words.h"
#include "run/container/command.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_name.h"

namespace berth {

namespace {

/// A home on a network file system that does not answer must not keep a job from its start.
constexpr Duration packages_patience = std::chrono::milliseconds(300);

std::string uuid_of(const Device& device) {
  const auto& uuid = device.uuid.get();
  return uuid ? *uuid : device.id.text();
}

/// Why an account cannot be opened for these devices; empty: it is there.
Sentence make_account(const Manifest& manifest, const std::string& directory) {
  if (directory.empty()) return sentence("this run has no record for its account");
  const ContextSizes measured = ContextSizes::load(state_directory_of(directory));
  std::vector<AccountDevice> devices;
  for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
    const Device& device = manifest.given.devices[at];
    const std::optional<Bytes> limit = manifest.promised[at];
    const auto known = measured.of(device, manifest.given.host.software_of(device).driver);
    const Bytes context = !limit  ? Bytes(0)
                          : known ? std::min(*known, *limit)
                                  : context_within(*limit, least_of_a_context);
    devices.push_back({uuid_of(device), limit, context});
  }
  const auto made = AccountFile::make(directory + "/" + std::string(record_file::account), devices);
  return made ? Sentence() : made.error().said();
}

/// Why the kernel does not hold the devices to their shares; empty: it does. Its limit is for all
/// of the control group, so that the run may be refused sooner.
Sentence no_kernel_limit(const std::map<std::string, Bytes>& limits, const Manifest& manifest) {
  for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
    const Device& device = manifest.given.devices[at];
    const auto limit = limits.find(uuid_of(device));
    const auto& promised = manifest.promised[at];
    if (limit == limits.end() || !promised) {
      return sentence("the kernel sets no limit on {}", name_for_people(device));
    }
    if (limit->second > *promised) {
      return sentence("the kernel's limit on {} is {}, above the share", name_for_people(device),
                      short_size(limit->second));
    }
  }
  return {};
}

/// The same after root's service was asked where nobody had set one.
Sentence set_kernel_limit(CapMeans& means, const Manifest& manifest, const RunServices& services) {
  if (manifest.isolated_by == "systemd") {
    return sentence("its scope of systemd is another control group");
  }
  if (means.kernel_limits.empty()) {
    std::map<std::string, Bytes> shares;
    for (std::size_t at = 0; at < manifest.given.devices.size(); ++at) {
      if (manifest.promised[at]) {
        shares.emplace(uuid_of(manifest.given.devices[at]), *manifest.promised[at]);
      }
    }
    if (const auto set = services.set_kernel_limits(shares); !set) return set.error().said();
    auto limits = services.kernel_limits();
    if (!limits) return limits.error().said();
    means.kernel_limits = *std::move(limits);
  }
  return no_kernel_limit(means.kernel_limits, manifest);
}

/// Why a server of MPS does not hold these devices; empty: it does.
Sentence prove_mps(const std::string& pipes, const Manifest& manifest, Clock& clock) {
  MpsQuestion question{.pipes = pipes};
  for (const Device& device : manifest.given.devices) {
    question.uuids.push_back(uuid_of(device));
    question.free.push_back(device.memory_free);
  }
  const auto held = prove_mps_limit(question, clock);
  return held ? Sentence() : held.error().said();
}

/// Whether Python may search another place before the folders that were looked at. Then the version
/// that the job gets is not known.
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
  const auto python = gather_python(options.job.command, search_path_in(options.environment));
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

/// The variables that keep the frameworks of the job's Python to their share
/// (guard/framework_caps.h). None where its packages cannot be told for sure, or not within a
/// moment.
std::vector<Variable> framework_settings(const RunCap& cap, const Manifest& manifest,
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
                       .shim_template = shim_template()});
}
}  // namespace

namespace {
/// The first of its programs that does so; null: none.
const StartsElsewhere* starter_elsewhere(const std::vector<std::string>& command) {
  for (const std::string& program : programs_started_by(command)) {
    if (const StartsElsewhere* one = starts_elsewhere(program)) return one;
  }
  return nullptr;
}

Sentence said_of(const StartsElsewhere& one, const std::vector<std::string>& command) {
  const auto container = read_container_command(command);
  if (one.descends || (container && *container)) {
    return sentence("{} starts a container, and no cap goes along: the watchdog alone looks at it",
                    one.name);
  }
  if (one.takes_gpus) {
    return sentence(
        "what {} starts is not seen by this run: nothing limits its memory. Start a container by "
        "itself: berth run -- {} run …",
        one.name, one.name);
  }
  return sentence(
      "what {} starts is not seen by this run: nothing limits its memory. Let it start berth: {} "
      "berth run …",
      one.name, one.name);
}

/// Why no tier that goes with the job's processes holds those of this program.
void go_without(const StartsElsewhere& one, CapFacts& facts) {
  const Sentence why =
      one.containers ? sentence("{} starts containers, and it does not go along", one.name)
                     : sentence("{} starts programs elsewhere, and it does not go along", one.name);
  // A child is in its parent's control group.
  if (!one.descends) facts.no_kernel = why;
  facts.no_mps = facts.no_shim = why;
}

void find_kernel_limits(const RunServices& services, CapMeans& means) {
  if (!services.kernel_limits) {
    means.facts.no_kernel = sentence("nobody asks the driver here");
  } else if (auto limits = services.kernel_limits()) {
    means.kernel_limits = *std::move(limits);
  } else if (limits.error().code() != ErrorCode::not_found || !services.set_kernel_limits) {
    means.facts.no_kernel = limits.error().said();
  }
}
}  // namespace

CapMeans cap_means(const RunOptions& options, const RunServices& services) {
  CapMeans means;
  if (services.set_kernel_limits && !options.retry_of.empty()) {
    (void)services.set_kernel_limits({});
  }
  if (options.job.where == RunWhere::cpu || !options.job.request.memory) return means;
  if (options.job.cap == CapTier::none) return means;
  const StartsElsewhere* elsewhere = starter_elsewhere(options.job.command);
  if (elsewhere != nullptr) means.not_gone_along = said_of(*elsewhere, options.job.command);
  // By name: nothing of the stronger ones is looked at.
  if (options.job.cap == CapTier::watchdog) return means;
  if (services.simulated) {
    const Sentence why = sentence("this server is simulated");
    means.facts = {.no_kernel = why, .no_mps = why, .no_shim = why};
    return means;
  }
  find_kernel_limits(services, means);
  if (elsewhere != nullptr) {
    go_without(*elsewhere, means.facts);
    return means;
  }
  if (auto pipes = find_mps(options.environment, ::getuid())) {
    means.mps_pipes = *std::move(pipes);
  } else {
    means.facts.no_mps = pipes.error().said();
  }
  if (value_of(options.environment, "BERTH_GUARD_ACCOUNT")) {
    // An account of its own would take it out of the outer one.
    means.facts.no_shim = sentence("the shim of the run around it limits them both");
    return means;
  }
  auto shim = shim_for(options);
  if (shim) {
    means.shim = *std::move(shim);
  } else {
    means.facts.no_shim = shim.error();
  }
  return means;
}

Sentence not_gone_along(const RunCap& cap, const CapMeans& means) {
  return cap.tier == CapTier::kernel ? Sentence() : means.not_gone_along;
}

/// As hold(), without what is set beside the tier.
static Result<std::vector<Variable>> hold_by_tier(RunCap& cap, CapMeans means,
                                                  const Manifest& manifest,
                                                  const std::string& directory,
                                                  const RunOptions& options,
                                                  const RunServices& services) {
  Sentence why;
  // These stand before CUDA's driver, or are set through it.
  const bool is_cuda = std::ranges::all_of(
      manifest.given.devices, [](const Device& device) { return is_of(unnamed_vendor, device); });
  const bool is_of_cuda =
      cap.tier == CapTier::kernel || cap.tier == CapTier::mps || cap.tier == CapTier::shim;
  if (!is_cuda && is_of_cuda) {
    why = sentence("it holds devices of {} alone", facts_of(unnamed_vendor).vendor);
    means.facts.no_kernel = means.facts.no_mps = means.facts.no_shim = why;
  } else if (cap.tier == CapTier::kernel) {
    why = set_kernel_limit(means, manifest, services);
    if (!why.empty()) means.facts.no_kernel = why;
  } else if (cap.tier == CapTier::mps) {
    why = prove_mps(means.mps_pipes, manifest, services.clock);
    if (!why.empty()) means.facts.no_mps = why;
  }
  if (is_cuda && cap.tier == CapTier::shim) {
    // Days may have passed in the queue: its files are looked at again.
    auto shim = shim_for(options);
    why = shim ? make_account(manifest, directory) : shim.error();
    if (shim) {
      for (Sentence& one : means.shim->said) {  // what was mended then is whole now
        if (std::ranges::find(shim->said, one) == shim->said.end()) shim->said.push_back(one);
      }
      means.shim = *std::move(shim);
    }
    if (!why.empty()) means.facts.no_shim = why;
  }
  if (!why.empty()) {
    auto weaker = cap_of(options.job, means.facts);
    if (!weaker) return std::unexpected(std::move(weaker).error());
    cap = **std::move(weaker);
    return hold_by_tier(cap, std::move(means), manifest, directory, options, services);
  }
  if (cap.tier == CapTier::mps) {
    std::vector<Bytes> shares;
    for (const auto& share : manifest.promised) shares.push_back(share.value_or(Bytes(0)));
    return std::vector<Variable>{{mps_limit_variable, mps_limits(shares)}};
  }
  if (cap.tier != CapTier::shim) return std::vector<Variable>{};
  cap.image = means.shim->image;
  cap.said.insert(cap.said.end(), means.shim->said.begin(), means.shim->said.end());
  return shim_variables(options.environment, *means.shim,
                        directory + "/" + std::string(record_file::account));
}

Result<std::vector<Variable>> hold(RunCap& cap, CapMeans means, const Manifest& manifest,
                                   const std::string& directory, const RunOptions& options,
                                   const RunServices& services) {
  const CapMeans asked = means;
  auto set = hold_by_tier(cap, std::move(means), manifest, directory, options, services);
  if (!set) return set;
  if (const Sentence one = not_gone_along(cap, asked); !one.empty()) {
    cap.said.push_back(one);
  }
  for (auto& one : framework_settings(cap, manifest, options, services.clock)) {
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
    cap.not_held_by.emplace_back(word_of(tier), why.english());
  }
  return std::optional(std::move(cap));
}

Result<std::optional<RunCap>> cap_of_running_program(const JobSpec& job) {
  const Sentence why = sentence("the program runs already");
  auto cap = cap_of(job, {.no_kernel = why, .no_mps = why, .no_shim = why});
  if (cap && *cap) (*cap)->stops = false;
  return cap;
}

}  // namespace berth
