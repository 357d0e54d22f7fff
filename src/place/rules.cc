#include "place/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using Verdict = std::optional<Refusal>;

/// And where the right to know what is used is missing: which right.
Sentence with_right(const Sentence& text, const Device& device) {
  const std::string_view why = used_is_hidden_because(device);
  return why.empty() ? text : sentence("{} ({})", text, Sentence(why));
}

bool any_matches(const std::vector<DevicePattern>& patterns, const Device& device) {
  const auto is_it = [&](const DevicePattern& pattern) { return matches(pattern, device); };
  return std::ranges::any_of(patterns, is_it);
}

/// By its index alone: name and identity are among what a device that was not heard did not say.
bool is_left_out_for_sure(const Refusal& refusal, const Case& asked) {
  if (refusal.rule == Rule::excluded) return true;
  if (refusal.rule != Rule::not_listed) return false;
  return std::ranges::all_of(asked.request.only, [](const DevicePattern& pattern) {
    return parse_unsigned(pattern.text).has_value();
  });
}

Verdict allowed(const Case& asked);

/// A silence is unknown, not never: the next look may hear it.
Verdict silent(const Case& asked) {
  auto verdict = allowed(asked);
  if (verdict && is_left_out_for_sure(*verdict, asked)) return verdict;
  return refuse(asked.device, Rule::unusable, asked.device.unusable_because.said());
}

Verdict usable(const Case& asked) {
  const Device& device = asked.device;
  switch (obstacle_of(device, asked.snapshot)) {
    case Obstacle::silent:
      return silent(asked);
    case Obstacle::lost:
      return refuse(device, Rule::lost,
                    asked.request.allow_failed
                        ? sentence("lost: it no longer answers the driver; --allow-failed gives no "
                                   "lost device")
                        : sentence("lost: it no longer answers the driver"),
                    false);
    case Obstacle::unusable:
      return refuse(device, Rule::unusable, device.unusable_because.said(), false);
    case Obstacle::unsupported:
      return refuse(device, Rule::unusable, sentence("this kind of device is not supported yet"),
                    false);
    case Obstacle::failed:
    case Obstacle::unjudged:  // after what the request itself leaves out: failed()
    case Obstacle::none:
      break;
  }
  return std::nullopt;
}

Verdict divided(const Case& asked) {
  const Device& device = asked.device;
  if (device.parent) {
    const bool may_be_several = facts_of(device.kind).has_numbered_parts;
    if (asked.request.devices == 1 || may_be_several) return std::nullopt;
    return refuse(device, Rule::divided,
                  sentence("a program can use one MIG instance, and {} devices are wanted",
                           asked.request.devices),
                  false);
  }
  switch (division_of(device)) {
    case Division::whole:
      return std::nullopt;
    case Division::divided:
      return refuse(device, Rule::divided,
                    device.partition_mode.get()
                        ? sentence("divided into partitions: these are offered instead")
                        : sentence("divided by MIG: its instances are offered instead"),
                    false);
    case Division::unknown:
      break;
  }
  return refuse(device, Rule::divided,
                facts_of(device.kind).has_numbered_parts
                    ? sentence("whether it is divided could not be read")
                    : sentence("whether MIG divides it could not be read"));
}

Verdict allowed(const Case& asked) {
  const Device& device = asked.device;
  const auto& visible = asked.limits.visible;
  if (visible && !contains(*visible, device.id)) {
    return refuse(
        device, Rule::not_visible,
        asked.limits.visible_by == VisibleBy::variable
            ? sentence("not in {}", hiding_variable(asked.limits, device))
            : sentence("not among the devices of the lease or Slurm job this runs inside of"),
        false);
  }
  if (any_matches(asked.request.except, device)) {
    return refuse(device, Rule::excluded, sentence("excluded by --except"), false);
  }
  if (!asked.request.only.empty() && !any_matches(asked.request.only, device)) {
    return refuse(device, Rule::not_listed, sentence("not in --only"), false);
  }
  if (asked.limits.policy == nullptr) return std::nullopt;
  const auto& permitted = asked.limits.policy->of(asked.limits.uid).devices;
  if (permitted && !any_matches(*permitted, device)) {
    return refuse(device, Rule::not_permitted,
                  sentence("not among the devices that the policy allows this user"), false);
  }
  return std::nullopt;
}

Verdict of_kind(const Case& asked) {
  const Device& device = asked.device;
  const Request& request = asked.request;
  if (!request.kind.empty() && facts_of(device.kind).word != request.kind) {
    return refuse(device, Rule::other_kind, sentence("not of --kind {}", request.kind), false);
  }
  if (!asked.kinds_to_choose.empty() && is_given_unasked(device)) {
    return refuse(device, Rule::kind_not_said,
                  sentence("one of several kinds here ({}): choose with --kind or --only",
                           joined(asked.kinds_to_choose, ", ")),
                  false);
  }
  if (is_given_unasked(device) || !request.only.empty()) return std::nullopt;
  return refuse(device, Rule::not_asked_for,
                device.integrated
                    ? sentence("a part of the processor: given only where --only names it")
                    : sentence("only its presence is known: given only where --only names it"),
                false);
}

Verdict at_limit(const Case& asked) {
  if (asked.limits.policy == nullptr) return std::nullopt;
  const UserRules& rules = asked.limits.policy->of(asked.limits.uid);
  const int wanted = asked.request.devices;
  if (rules.devices_at_most && asked.held + wanted > *rules.devices_at_most) {
    const bool is_too_many = wanted > *rules.devices_at_most;
    return refuse(
        asked.device, Rule::at_limit,
        is_too_many ? sentence("the policy allows this user {} at once, {} are wanted",
                               *rules.devices_at_most, wanted)
                    : sentence("this user has {} of the {} devices that the policy allows at once",
                               asked.held, *rules.devices_at_most),
        !is_too_many);
  }
  const auto& used = asked.limits.policy->hours_used;
  if (!rules.hours_at_most || !used) return std::nullopt;
  const auto own = used->find(asked.limits.uid);
  if (own == used->end() || own->second < *rules.hours_at_most) return std::nullopt;
  return refuse(asked.device, Rule::at_limit,
                sentence("this user has used {} of the {} GPU-hours that the policy allows within "
                         "30 days",
                         fmt::format("{:.0f}", own->second), *rules.hours_at_most));
}

Verdict quiet_hours(const Case& asked) {
  if (asked.limits.policy == nullptr) return std::nullopt;
  const auto& hours = asked.limits.policy->of(asked.limits.uid).quiet_hours;
  if (!hours || !is_quiet(*hours, asked.snapshot.taken, asked.limits.policy->local_offset)) {
    return std::nullopt;
  }
  return refuse(
      asked.device, Rule::quiet_hours,
      sentence("quiet hours of the policy: this user's jobs start outside {}", typed(*hours)));
}

Verdict failed(const Case& asked) {
  const Obstacle obstacle = obstacle_of(asked.device, asked.snapshot);
  if (asked.request.allow_failed) return std::nullopt;
  if (obstacle == Obstacle::failed) {
    const DeviceFault& fault = *fault_of(asked.device.id, asked.snapshot);
    return refuse(asked.device, Rule::failed,
                  sentence("failed: {} (--allow-failed takes it all the same)", fault.evidence),
                  false);
  }
  if (obstacle != Obstacle::unjudged) return std::nullopt;
  return refuse(
      asked.device, Rule::failed,
      sentence("whether it has failed could not be read (--allow-failed takes it all the same)"));
}

Verdict compute_mode(const Case& asked) {
  const auto& mode = asked.device.compute_mode.get();
  if (!mode) return std::nullopt;
  if (is_prohibited(asked.device)) {
    return refuse(asked.device, Rule::compute_mode,
                  sentence("compute mode Prohibited: its administrator lets nobody compute"),
                  false);
  }
  const bool one_only = equals_ignoring_case(*mode, "Exclusive_Process") ||
                        equals_ignoring_case(*mode, "Exclusive_Thread");
  // A device wanted whole is refused by `leased` or `in_use`, which say more.
  if (!one_only || !asked.request.memory) return std::nullopt;
  const auto& occupants = asked.occupancy.occupants;
  const bool taken = !asked.occupancy.promises.empty() ||
                     std::any_of(occupants.begin(), occupants.end(),
                                 [](const Occupant& o) { return !is_background(*o.use); });
  if (!taken) return std::nullopt;
  return refuse(asked.device, Rule::compute_mode,
                sentence("compute mode {}: one process at a time, and somebody is there", *mode));
}

/// More than it has in all, even if it were empty.
Verdict too_small(const Case& asked) {
  const auto& all = asked.device.memory_total.get();
  if (!asked.request.memory || !all) return std::nullopt;
  const Bytes wanted = wanted_bytes(*asked.request.memory, asked.device).value_or(Bytes{0});
  const auto most = minus(*all, asked.device.memory_reserved.get().value_or(Bytes{0}));
  if (most && wanted <= *most) return std::nullopt;
  return refuse(asked.device, Rule::memory,
                sentence("too small: {} in all, {} wanted", short_size(*all), short_size(wanted)),
                false);
}

Holder holder_of(const Claim& claim) {
  return {claim.user, claim.job ? claim.job->pid : 0, claim.command, claim.since};
}

Holder holder_of(const Occupant& occupant) {
  Holder holder;
  holder.pid = occupant.use->pid;
  if (occupant.process == nullptr) return holder;
  const HostProcess& process = *occupant.process;
  if (process.user.get()) {
    holder.user = *process.user.get();
  } else if (process.uid.get()) {
    holder.user = std::to_string(*process.uid.get());
  }
  if (process.command.get() && !process.command.get()->empty()) {
    holder.command = shell_joined(*process.command.get());
  } else if (process.executable_name.get()) {
    holder.command = *process.executable_name.get();
  }
  if (process.started.get()) holder.since = *process.started.get();
  return holder;
}

Refusal with_claims(Refusal refusal, const Case& asked) {
  for (const Promise& promise : asked.occupancy.promises) {
    refusal.holders.push_back(holder_of(*promise.claim));
  }
  return refusal;
}

/// Strangers that compute: nobody's lease covers them.
std::vector<const Occupant*> strangers(const Case& asked) {
  std::vector<const Occupant*> found;
  for (const Occupant& occupant : asked.occupancy.occupants) {
    if (occupant.claim == nullptr && !is_background(*occupant.use)) found.push_back(&occupant);
  }
  return found;
}

/// As many leases as the policy lets share a device.
Verdict crowded(const Case& asked) {
  if (asked.limits.policy == nullptr) return std::nullopt;
  const auto& most = asked.limits.policy->of(asked.limits.uid).jobs_per_device;
  const std::size_t jobs = asked.occupancy.promises.size();
  if (!most || jobs < static_cast<std::size_t>(std::max(*most, 1))) return std::nullopt;
  return with_claims(
      refuse(asked.device, Rule::leased,
             sentence("shared by {} jobs, and the policy allows no more than {}", jobs, *most)),
      asked);
}

Verdict leased(const Case& asked) {
  if (is_ledger_unread(asked.snapshot)) {
    return refuse(asked.device, Rule::leased, sentence("who has leased it could not be read"));
  }
  const auto& promises = asked.occupancy.promises;
  if (promises.empty()) return std::nullopt;
  const bool whole = std::any_of(promises.begin(), promises.end(),
                                 [](const Promise& promise) { return !promise.promised; });
  if (!whole && asked.request.memory) return crowded(asked);
  if (whole) {
    Refusal refusal = refuse(asked.device, Rule::leased, sentence("leased whole"));
    refusal.is_leased_whole = true;
    return with_claims(std::move(refusal), asked);
  }
  Bytes promised;
  for (const Promise& promise : promises) promised += *promise.promised;
  return with_claims(
      refuse(asked.device, Rule::leased,
             sentence("leased: {} promised, and it is wanted whole", short_size(promised))),
      asked);
}

/// Memory that no process seen on the device explains, where the device is wanted whole.
Verdict ghost_memory(const Case& asked) {
  std::vector<const GpuProcess*> seen;
  for (const Occupant& occupant : asked.occupancy.occupants) seen.push_back(occupant.use);
  const Reading<Bytes> memory = memory_of_nobody(asked.device, seen);
  if (!memory.get()) {
    return refuse(asked.device, Rule::memory_unknown,
                  with_right(sentence("whether somebody holds memory on it cannot be told: {}",
                                      Sentence(reason_of(memory.why()))),
                             asked.device));
  }
  if (*memory.get() == Bytes{0}) return std::nullopt;
  return refuse(asked.device, Rule::in_use,
                sentence("{} in use by nobody that can be seen", short_size(*memory.get())));
}

Verdict in_use(const Case& asked) {
  if (asked.request.memory) return std::nullopt;
  const auto others = strangers(asked);
  const auto& listed = asked.device.process_count;
  // If it tells no memory used either, nothing would show a user on it.
  const bool is_unread = is_list_unread(asked.device) &&
                         (listed.why() == Absent::failed || !asked.device.memory_used.get());
  if (others.empty() && is_unread) {
    return refuse(asked.device, Rule::idle_unknown,
                  with_right(sentence("who is on it could not be read"), asked.device));
  }
  if (others.empty()) return ghost_memory(asked);
  Refusal refusal =
      others.size() == 1
          ? refuse(asked.device, Rule::in_use, sentence("in use by a process without a lease"))
          : refuse(asked.device, Rule::in_use,
                   sentence("in use by {} processes without a lease", others.size()));
  for (const Occupant* other : others) refusal.holders.push_back(holder_of(*other));
  return refusal;
}

Verdict memory(const Case& asked) {
  if (!asked.request.memory) return std::nullopt;
  const Device& device = asked.device;
  const Reading<Bytes> left = promisable_memory(device, asked.occupancy);
  const auto wanted = wanted_bytes(*asked.request.memory, device);
  if (!left.get() || !wanted) {
    return refuse(
        device, Rule::memory_unknown,
        with_right(sentence("free memory unknown: {}", Sentence(reason_of(left.why()))), device));
  }
  if (*wanted <= *left.get()) return std::nullopt;
  const Bytes all = *device.memory_total.get();
  Refusal refusal = refuse(device, Rule::memory,
                           sentence("holds {}, {} of {} left to promise",
                                    short_size(minus(all, *left.get()).value_or(Bytes{0})),
                                    short_size(*left.get()), short_size(all)));
  for (const Occupant* other : strangers(asked)) refusal.holders.push_back(holder_of(*other));
  return with_claims(std::move(refusal), asked);
}

Holder holder_of(const Waiter& waiter) { return {waiter.user, 0, waiter.command, waiter.since}; }

Verdict reserved(const Case& asked) {
  Verdict refusal;
  for (const Kept& kept : asked.limits.reserved) {
    if (kept.part.device != asked.device.id) continue;
    if (!refusal) {
      refusal = refuse(asked.device, Rule::reserved,
                       sentence("reserved for an earlier request in the queue"));
    }
    const auto& waiters = asked.snapshot.waiters;
    if (kept.waiter < waiters.size()) refusal->holders.push_back(holder_of(waiters[kept.waiter]));
  }
  return refusal;
}

Verdict utilization(const Case& asked) {
  const Device& device = asked.device;
  const auto& limit = asked.request.max_utilization;
  const bool nobody_seen = asked.occupancy.occupants.empty();
  if (!limit && (asked.request.memory || !nobody_seen)) return std::nullopt;
  const Reading<Percent> load = load_now(device);
  if (!load.get()) {
    if (load.why() != Absent::failed) return std::nullopt;  // the process list has to do
    return refuse(device, Rule::idle_unknown, sentence("how busy it is could not be read"));
  }
  if (limit) {
    if (*load.get() <= *limit) return std::nullopt;
    return refuse(device, Rule::utilization,
                  sentence("{} % busy, at most {} % asked for", whole_number(*load.get()),
                           whole_number(*limit)));
  }
  if (!is_load_of_nobody(device, load)) return std::nullopt;
  return refuse(device, Rule::utilization,
                sentence("{} % busy by nobody that can be seen", whole_number(*load.get())));
}

Verdict idle(const Case& asked) {
  return asked.request.idle_for ? idleness_of(asked).refusal : std::nullopt;
}

}  // namespace

std::vector<std::string_view> kinds_to_choose(const Snapshot& snapshot, const Request& request,
                                              const PlaceLimits& limits) {
  std::vector<std::string_view> kinds;
  if (!request.kind.empty() || !request.only.empty()) return kinds;
  for (const Device& device : snapshot.devices) {
    const Obstacle obstacle = obstacle_of(device, snapshot);
    const std::string_view word = facts_of(device.kind).word;
    const bool could_be_given = obstacle != Obstacle::unusable && obstacle != Obstacle::lost &&
                                obstacle != Obstacle::unsupported && is_given_unasked(device);
    const bool is_visible = !limits.visible || contains(*limits.visible, device.id);
    const bool is_new = std::ranges::find(kinds, word) == kinds.end();
    const bool is_left = !any_matches(request.except, device);
    if (could_be_given && is_visible && is_left && is_new && !word.empty()) kinds.push_back(word);
  }
  if (kinds.size() < 2) kinds.clear();
  return kinds;
}

Refusal refuse(const Device& device, Rule rule, Sentence text, bool may_change) {
  return {device.id, device.index, rule, std::move(text), {}, may_change, false};
}

int held_under_limit(const Snapshot& snapshot, const PlaceLimits& limits) {
  if (limits.policy == nullptr || !limits.policy->of(limits.uid).devices_at_most) return 0;
  std::size_t held = 0;
  for (const Claim& claim : snapshot.claims) {
    if (claim.uid == limits.uid) held += claim.devices.size();
  }
  return static_cast<int>(held);
}

std::optional<Bytes> wanted_bytes(const MemoryShare& share, const Device& device) {
  if (const auto* bytes = std::get_if<Bytes>(&share)) return *bytes;
  if (!device.memory_total.get()) return std::nullopt;
  const Bytes kept = device.memory_reserved.get().value_or(Bytes{0});
  const auto all =
      static_cast<double>(minus(*device.memory_total.get(), kept).value_or(Bytes{0}).count());
  return Bytes(static_cast<std::uint64_t>(all * std::get<Percent>(share).count() / 100.0));
}

std::optional<Refusal> refusal_of(const Case& asked) {
  // First what no waiting changes, then the users there, then how busy it is.
  constexpr std::array rules = {usable,       divided,   allowed,     of_kind,     failed, lacking,
                                compute_mode, too_small, at_limit,    quiet_hours, leased, in_use,
                                memory,       reserved,  utilization, idle};
  for (const auto rule : rules) {
    if (auto verdict = rule(asked)) return verdict;
  }
  return std::nullopt;
}

}  // namespace berth
