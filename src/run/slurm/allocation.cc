#include "run/slurm/allocation.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/variables.h"
#include "place/placement.h"
#include "run/turn.h"
#include "snapshot/process_claims.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

constexpr const char* cuda_variable = "CUDA_VISIBLE_DEVICES";

Sentence device_name(const Choice& choice) {
  return choice.index ? sentence("GPU {}", *choice.index) : Sentence::as_is(choice.device.text());
}

/// The first number in a visible-devices list that Slurm did not give: "3". Nothing: there is none,
/// or it cannot be told. It cannot for UUIDs, nor where other cards are hidden.
std::optional<std::string> not_given(std::string_view list, std::string_view cards,
                                     const Snapshot& snapshot) {
  std::vector<std::uint64_t> given;
  for (const std::string_view word : split(cards, ',')) {
    const auto number = parse_unsigned(trimmed(word));
    const bool is_there = number && std::ranges::any_of(snapshot.devices, [&](const Device& one) {
                            return one.index && std::cmp_equal(*one.index, *number);
                          });
    if (!is_there) return std::nullopt;
    given.push_back(*number);
  }
  for (const std::string_view word : split(list, ',')) {
    const auto number = parse_unsigned(trimmed(word));
    if (number && std::ranges::find(given, *number) == given.end()) return std::to_string(*number);
  }
  return std::nullopt;
}

/// Slurm's numbers as this job's own. ConstrainDevices hides the other cards, and numbers begin
/// with 0 again. A job that sees as many cards as it was given sees these. Else unchanged.
std::string as_seen(const std::string& cards, const Snapshot& snapshot) {
  std::vector<std::string> seen;
  for (const Device& one : snapshot.devices) {
    if (one.index) seen.push_back(std::to_string(*one.index));
  }
  const std::vector<std::string_view> given = split(cards, ',');
  const bool are_numbers = std::ranges::all_of(
      given, [](std::string_view word) { return parse_unsigned(trimmed(word)).has_value(); });
  return are_numbers && given.size() == seen.size() ? joined(seen, ",") : cards;
}

}  // namespace

std::optional<SlurmAllocation> slurm_allocation(
    const std::function<std::optional<std::string>(const char* name)>& variable) {
  const auto job = variable("SLURM_JOB_ID");
  const auto node = variable("SLURMD_NODENAME");
  if (!job || job->empty() || !node || node->empty()) return std::nullopt;
  SlurmAllocation allocation{.job = *job, .cards = variable("SLURM_STEP_GPUS")};
  if (!allocation.cards) allocation.cards = variable("SLURM_JOB_GPUS");
  if (allocation.cards && allocation.cards->empty()) allocation.cards.reset();
  return allocation;
}

Result<std::optional<VisibleDevices>> devices_of_job(VisibleSettings settings,
                                                     const std::optional<std::string>& cards,
                                                     bool is_inside, const Snapshot& snapshot,
                                                     std::string_view user) {
  if (!cards) return devices_left_by(settings, snapshot, user);
  const std::string typed = settings[cuda_variable];
  if (const auto outside = not_given(typed, *cards, snapshot)) {
    return fail(ErrorCode::invalid,
                "CUDA_VISIBLE_DEVICES={} names GPU {}, and Slurm gave this job GPU {}: name some "
                "of these, or unset CUDA_VISIBLE_DEVICES",
                printable(typed), *outside, printable(*cards));
  }
  // Slurm counts by PCI address.
  settings.try_emplace("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  // A lease that hides all but its own devices shows fewer than the job has: none is widened.
  const auto count = split(*cards, ',').size();
  const bool is_hidden = is_inside && snapshot.devices.size() < count;
  const bool is_cudas = typed.empty() && !is_hidden && has_cudas(snapshot);
  if (is_cudas) {
    settings[cuda_variable] = as_seen(*cards, snapshot);
  } else if (typed.empty()) {
    settings.erase(cuda_variable);
  }
  auto left = devices_left_by(settings, snapshot, user);
  if (!left || is_hidden) return left;
  if (!*left) {
    left->emplace();
    for (const Device& device : snapshot.devices) (*left)->devices.push_back(device.id);
  }
  if (is_cudas && (*left)->devices.size() < count) {
    return fail(ErrorCode::invalid,
                "Slurm gave this job GPU {}, and {} can be seen here: name the job's own in "
                "CUDA_VISIBLE_DEVICES",
                printable(*cards), snapshot.devices.size());
  }
  if ((*left)->devices.empty()) return left;
  (*left)->devices = held_to_numbers(std::move((*left)->devices), *cards, settings, snapshot);
  if (!(*left)->devices.empty()) return left;
  return fail(ErrorCode::invalid,
              "Slurm gave this job GPU {}, and its own variables show none of them",
              printable(*cards));
}

Snapshot as_allocated(Snapshot snapshot, const std::vector<DeviceId>& devices, uid_t uid) {
  snapshot.waiters.clear();
  for (Claim& claim : snapshot.claims) {
    if (claim.uid == uid) continue;
    std::erase_if(claim.devices,
                  [&](const ClaimedDevice& one) { return contains(devices, one.device); });
  }
  std::erase_if(snapshot.claims, [](const Claim& claim) { return claim.devices.empty(); });
  const ProcessClaims runs(snapshot);
  std::erase_if(snapshot.gpu_processes, [&](const GpuProcess& process) {
    return contains(devices, process.device) && runs.of(process.pid) == nullptr;
  });
  for (Device& device : snapshot.devices) {
    if (!contains(devices, device.id)) continue;
    Bytes used;
    for (const GpuProcess& process : snapshot.gpu_processes) {
      if (process.device == device.id) used += process.memory.get().value_or(Bytes{0});
    }
    device.memory_used = used;
    if (device.memory_total.get()) {
      device.memory_free = minus(*device.memory_total.get(), used).value_or(Bytes{0});
    }
    // How much of it is not a leftover's nobody can tell: the process list has to do.
    device.utilization_gpu = Absent::unsupported;
    device.utilization_history = Absent::unsupported;
  }
  return snapshot;
}

std::vector<Sentence> leftovers_on(const std::vector<Choice>& chosen, const Snapshot& snapshot,
                                   uid_t uid) {
  const ProcessClaims runs(snapshot);
  std::vector<Sentence> sentences;
  for (const Choice& choice : chosen) {
    for (const GpuProcess& process : snapshot.gpu_processes) {
      if (process.device != choice.device || is_background(process)) continue;
      const Claim* run = runs.of(process.pid);
      if (run != nullptr && run->uid == uid) continue;
      const HostProcess* known = runs.process(process.pid);
      const std::string user = known != nullptr ? known->user.get().value_or("") : "";
      const std::string command =
          known != nullptr && known->command.get() ? shell_joined(*known->command.get()) : "";
      sentences.push_back(
          sentence("Slurm gave this job {}, and process {} of {} is on it ({}). It is left from an "
                   "earlier job, or its user did not ask Slurm",
                   device_name(choice), process.pid,
                   user.empty() ? sentence("an unknown user") : Sentence::as_is(printable(user)),
                   command.empty() ? sentence("its command cannot be seen")
                                   : Sentence::as_is(printable(command))));
    }
    for (const Claim& claim : snapshot.claims) {
      const bool is_there = std::ranges::any_of(
          claim.devices, [&](const ClaimedDevice& one) { return one.device == choice.device; });
      if (claim.uid == uid || !is_there) continue;
      sentences.push_back(
          sentence("Slurm gave this job {}, and {} has leased it without Slurm (run {})",
                   device_name(choice), printable(claim.user), printable(claim.run)));
    }
  }
  return sentences;
}

Result<std::variant<Acquired, NotAcquired>> claim_allocated(Ledger& ledger,
                                                            const TakeSnapshot& look, Clock& clock,
                                                            const AcquireOptions& options) {
  PlaceLimits limits = options.limits;
  limits.uid = ::geteuid();
  Request request = options.request;
  // Slurm has judged the card, and what others do there is told of, not waited for.
  request.allow_failed = true;
  request.idle_for.reset();
  request.max_utilization.reset();
  auto machine = look();
  if (!machine) return std::unexpected(std::move(machine).error());
  ledger.sweep();
  const auto lock = ledger.lock(patience_for_the_lock, options.interrupted);
  if (!lock) return std::unexpected(lock.error());
  const auto view = ledger.read_with_tickets({});
  if (!view) return std::unexpected(view.error());
  Snapshot whole = with_ledger(*std::move(machine), *view, clock.now(), "");
  Placement placement = place(as_allocated(whole, *limits.visible, limits.uid), request, limits);
  if (!placement.satisfied()) {
    using Why = NotAcquired::Why;
    return NotAcquired{.why = placement.possible ? Why::none_free : Why::never_possible,
                       .placement = std::move(placement),
                       .snapshot = std::move(whole)};
  }
  Claim claim = options.claim;
  claim.devices = taken_by(placement);
  auto lease = ledger.claim(*lock, std::move(claim), options.time_limit);
  if (!lease) return std::unexpected(std::move(lease).error());
  if (options.say) {
    for (const Sentence& leftover : leftovers_on(placement.chosen, whole, limits.uid)) {
      options.say(leftover);
    }
  }
  return Acquired{
      .lease = *std::move(lease), .placement = std::move(placement), .snapshot = std::move(whole)};
}

Result<std::variant<Acquired, NotAcquired>> acquire_or_claim(
    Ledger& ledger, const TakeSnapshot& look, Clock& clock, const AcquireOptions& options,
    const std::vector<std::string>& environment) {
  const auto by_slurm =
      slurm_allocation([&](const char* name) { return value_of(environment, name); });
  const bool is_given = by_slurm && by_slurm->cards && options.limits.visible;
  return is_given ? claim_allocated(ledger, look, clock, options)
                  : acquire(ledger, look, clock, options);
}

}  // namespace berth
