#include "place/placement.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "place/occupancy.h"
#include "place/rules.h"
#include "place/together.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

std::string_view name_of(Rule rule) {
  switch (rule) {
    case Rule::unusable:
      return "unusable";
    case Rule::lost:
      return "lost";
    case Rule::divided:
      return "divided";
    case Rule::not_visible:
      return "not_visible";
    case Rule::excluded:
      return "excluded";
    case Rule::not_listed:
      return "not_listed";
    case Rule::other_kind:
      return "other_kind";
    case Rule::kind_not_said:
      return "kind_not_said";
    case Rule::not_asked_for:
      return "not_asked_for";
    case Rule::not_permitted:
      return "not_permitted";
    case Rule::failed:
      return "failed";
    case Rule::compute_mode:
      return "compute_mode";
    case Rule::too_old:
      return "too_old";
    case Rule::lacks_feature:
      return "lacks_feature";
    case Rule::at_limit:
      return "at_limit";
    case Rule::quiet_hours:
      return "quiet_hours";
    case Rule::leased:
      return "leased";
    case Rule::in_use:
      return "in_use";
    case Rule::memory:
      return "memory";
    case Rule::memory_unknown:
      return "memory_unknown";
    case Rule::utilization:
      return "utilization";
    case Rule::not_idle:
      return "not_idle";
    case Rule::idle_unknown:
      return "idle_unknown";
    case Rule::not_watched_long:
      return "not_watched_long";
    case Rule::apart:
      return "apart";
    case Rule::reserved:
      return "reserved";
  }
  return "unusable";
}

namespace {

/// A device that may be given, and what the preferences compare.
struct Candidate {
  const Device* device = nullptr;
  std::optional<Bytes> promised;  // nothing: whole
  /// Left to promise before this choice; nothing where unknown (a device whose memory is the
  /// CPU's).
  std::optional<Bytes> unpromised;
  std::size_t claims = 0;
  std::size_t strangers = 0;
  bool drawn_on = false;
  bool is_new = true;         // the user's last job was not on it
  std::size_t listed_at = 0;  // place in `preferred`; its size: not in it
  Sentence evidence;          // of being idle
  [[nodiscard]] bool is_shared() const { return claims > 0 || (promised && strangers > 0); }
};

/// The order of last resort.
auto place_of(const Candidate& candidate) {
  const Device& device = *candidate.device;
  const Partition mig = device.partition.value_or(Partition{});
  return std::make_tuple(!device.index.has_value(), device.index.value_or(0), mig.gpu_instance,
                         mig.compute_instance, std::string_view(device.id.text()));
}

/// To the GiB, the smallest first; what has no size is not the smallest.
auto size_of(const Candidate& candidate) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  const auto& total = candidate.device->memory_total.get();
  return std::make_pair(!total.has_value(), total ? (total->count() + gib / 2) / gib : 0);
}

bool fits_better(const Candidate& a, const Candidate& b) {
  if (a.promised && b.promised) {
    // Users of a job without a lease have not agreed to share: their cards come last.
    const auto key = [](const Candidate& c) {
      const auto left_over = c.unpromised ? minus(*c.unpromised, *c.promised) : std::nullopt;
      return std::make_tuple(c.strangers > 0, left_over, c.is_new, place_of(c));
    };
    return key(a) < key(b);
  }
  const auto key = [](const Candidate& c) {
    return std::make_tuple(c.device->parent.has_value(), size_of(c), c.drawn_on, c.is_new,
                           place_of(c));
  };
  return key(a) < key(b);
}

/// Unknown counts as the least.
bool has_more_free(const Candidate& a, const Candidate& b) {
  if (a.unpromised != b.unpromised) return a.unpromised > b.unpromised;
  return std::make_tuple(a.drawn_on, a.is_new, place_of(a)) <
         std::make_tuple(b.drawn_on, b.is_new, place_of(b));
}

bool is_better(Preference preference, const Candidate& a, const Candidate& b) {
  switch (preference) {
    case Preference::best_fit:
      return fits_better(a, b);
    case Preference::most_free:
      return has_more_free(a, b);
    case Preference::spread: {
      const auto load = [](const Candidate& c) { return std::make_pair(c.claims, c.strangers); };
      return load(a) != load(b) ? load(a) < load(b) : has_more_free(a, b);
    }
    case Preference::listed:
      return a.listed_at != b.listed_at ? a.listed_at < b.listed_at : fits_better(a, b);
  }
  return false;
}

Candidate candidate_from(const Case& asked) {
  Candidate candidate;
  candidate.device = &asked.device;
  if (asked.request.memory) candidate.promised = wanted_bytes(*asked.request.memory, asked.device);
  candidate.unpromised = promisable_memory(asked.device, asked.occupancy).get();
  candidate.claims = asked.occupancy.promises.size();
  const auto& last_had = asked.limits.last_had;
  candidate.is_new = std::ranges::find(last_had, asked.device.id) == last_had.end();
  for (const Occupant& occupant : asked.occupancy.occupants) {
    if (is_background(*occupant.use)) {
      candidate.drawn_on = true;
    } else if (occupant.claim == nullptr) {
      ++candidate.strangers;
    }
  }
  const auto& preferred = asked.request.preferred;
  const auto listed = std::find_if(preferred.begin(), preferred.end(), [&](const auto& pattern) {
    return matches(pattern, asked.device);
  });
  candidate.listed_at = static_cast<std::size_t>(listed - preferred.begin());
  if (asked.request.idle_for) candidate.evidence = idleness_of(asked).evidence;
  return candidate;
}

Sentence why_preferred(const Candidate& candidate, const Request& request) {
  switch (request.prefer) {
    case Preference::best_fit:
      return candidate.promised && candidate.is_shared() ? sentence("least left over")
                                                         : sentence("smallest that will do");
    case Preference::most_free:
      return sentence("most memory left");
    case Preference::spread:
      return sentence("fewest leases");
    case Preference::listed:
      if (candidate.listed_at < request.preferred.size()) {
        return sentence("preferred ({})", request.preferred[candidate.listed_at].text);
      }
      return sentence("none of the preferred is left");
  }
  return {};
}

Choice choice_of(const Candidate& candidate, const Request* chosen_for) {
  const Device& device = *candidate.device;
  Sentence reason = candidate.is_shared() ? sentence("shared") : sentence("free");
  const auto add = [&](const Sentence& more) { reason = sentence("{}, {}", reason, more); };
  if (device.memory_total.get()) {
    const std::string all = short_size(*device.memory_total.get());
    add(candidate.promised && candidate.unpromised
            ? sentence("{} of {} left", short_size(*candidate.unpromised), all)
            : Sentence::as_is(all));
  }
  if (!candidate.evidence.empty()) add(candidate.evidence);
  if (chosen_for != nullptr) add(why_preferred(candidate, *chosen_for));
  return {device.id, device.index, candidate.promised, std::move(reason)};
}

/// A kind with enough candidates. Of several, the one with the best candidate. Candidates are
/// sorted, best first.
std::optional<DeviceKind> kind_with(std::size_t wanted, const std::vector<Candidate>& candidates) {
  for (const Candidate& first : candidates) {
    const auto same = std::count_if(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      return c.device->kind == first.device->kind;
    });
    if (static_cast<std::size_t>(same) >= wanted) return first.device->kind;
  }
  return std::nullopt;
}

using Ranked = std::vector<const Candidate*>;

/// Those among which only links decide: as many of the best fits as are needed, and their equals.
Ranked equals_of(const Ranked& ranked, std::size_t wanted) {
  const auto fit = [](const Candidate* one) {
    return std::make_tuple(one->strangers > 0 && one->promised, one->device->parent.has_value(),
                           one->promised ? decltype(size_of(*one)){} : size_of(*one));
  };
  Ranked pool(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(wanted));
  for (std::size_t i = wanted; i < ranked.size() && fit(ranked[i]) == fit(pool.back()); ++i) {
    pool.push_back(ranked[i]);
  }
  return pool;
}

JointTable joints_of(const Ranked& pool, const Snapshot& snapshot) {
  std::vector<const Device*> devices;
  devices.reserve(pool.size());
  for (const Candidate* one : pool) devices.push_back(one->device);
  return JointTable(devices, snapshot.devices);
}

/// `wanted` of the ranked ones, or none where no set is as close as asked for.
Ranked best_linked(const Ranked& ranked, std::size_t wanted, const Request& request,
                   const Snapshot& snapshot) {
  if (ranked.size() < wanted) return {};
  const Ranked first(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(wanted));
  const bool is_strict = request.together != Together::any;
  if (wanted < 2 || (!is_strict && request.prefer != Preference::best_fit)) return first;
  const Ranked pool = is_strict ? ranked : equals_of(ranked, wanted);
  const JointTable joints = joints_of(pool, snapshot);
  if (!is_strict && !joints.knows_anything()) return first;
  Ranked best;
  const auto set = best_set(joints, wanted, request.together);
  for (const std::size_t one : set.value_or(std::vector<std::size_t>())) best.push_back(pool[one]);
  return best;
}

/// Each that is free, where no set of them is close enough.
void refuse_apart(const Ranked& ranked, const Request& request, const Snapshot& snapshot,
                  Placement& placement) {
  const bool is_known = joints_of(ranked, snapshot).knows_anything();
  for (const Candidate* one : ranked) {
    placement.refused.push_back(refuse(
        *one->device, Rule::apart,
        !is_known ? sentence("free, and how the devices are linked could not be read")
        : request.together == Together::nvlink
            ? sentence("free, and not joined by NVLink with enough others that are free")
            : sentence(
                  "free, and not below one PCIe host bridge with enough others that are free")));
  }
}

void choose(std::vector<Candidate> candidates, const Request& request, const Snapshot& snapshot,
            Placement& placement) {
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    return is_better(request.prefer, a, b);
  });
  const auto wanted = static_cast<std::size_t>(std::max(request.devices, 0));
  const auto kind = kind_with(wanted, candidates);
  Ranked ranked;
  for (const Candidate& candidate : candidates) {
    if (kind == candidate.device->kind) ranked.push_back(&candidate);
  }
  Ranked chosen = best_linked(ranked, wanted, request, snapshot);
  const bool is_apart = chosen.empty() && ranked.size() >= wanted && wanted > 0;
  if (is_apart) refuse_apart(ranked, request, snapshot, placement);
  for (const Candidate& candidate : candidates) {
    const bool is_refused = is_apart && kind == candidate.device->kind;
    if (!is_refused && std::ranges::find(chosen, &candidate) == chosen.end()) {
      placement.available.push_back(choice_of(candidate, nullptr));
    }
  }
  if (request.prefer != Preference::listed) {
    std::sort(chosen.begin(), chosen.end(),
              [](const auto* a, const auto* b) { return place_of(*a) < place_of(*b); });
  }
  for (const Candidate* candidate : chosen) {
    placement.chosen.push_back(choice_of(*candidate, &request));
  }
}

/// Whether enough devices of one kind could one day do.
bool is_possible(const Snapshot& snapshot, const std::vector<bool>& may_serve, int wanted) {
  for (const Device& sample : snapshot.devices) {
    int enough = 0;
    for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
      if (may_serve[i] && snapshot.devices[i].kind == sample.kind) ++enough;
    }
    if (enough >= wanted) return true;
  }
  return false;
}

/// Whether enough of them are close enough, or may be: what cannot be read may be some day.
bool can_be_together(const Snapshot& snapshot, const std::vector<bool>& may_serve,
                     const Request& request) {
  if (request.together == Together::any || request.devices < 2) return true;
  std::vector<const Device*> devices;
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    if (may_serve[i]) devices.push_back(&snapshot.devices[i]);
  }
  const JointTable joints(devices, snapshot.devices);
  return !joints.knows_anything() ||
         best_set(joints, static_cast<std::size_t>(request.devices), request.together);
}

}  // namespace

bool is_held_by_policy(const Placement& placement) {
  return std::ranges::any_of(placement.refused, [](const Refusal& refusal) {
    return refusal.rule == Rule::at_limit || refusal.rule == Rule::quiet_hours;
  });
}

static void add_name(std::vector<std::string_view>& names, std::string_view name) {
  if (!contains(names, name)) names.push_back(name);
}

Placement place(const Snapshot& snapshot, const Request& request, const PlaceLimits& limits) {
  Placement placement;
  placement.kinds_to_choose = kinds_to_choose(snapshot, request, limits);
  const Occupancy occupancy(snapshot);
  const int held = held_under_limit(snapshot, limits);
  std::vector<Candidate> candidates;
  std::vector<bool> may_serve;
  for (const Device& device : snapshot.devices) {
    const DeviceOccupancy here = occupancy.of(device);
    const Case asked{snapshot, device, here, request, limits, placement.kinds_to_choose, held};
    auto refusal = refusal_of(asked);
    may_serve.push_back(!refusal || refusal->may_change);
    if (refusal) {
      if (refusal->rule == Rule::not_visible && limits.visible_by == VisibleBy::variable) {
        ++placement.hidden_by_variable;
        add_name(placement.hiding_variables, hiding_variable(limits, device));
      }
      placement.refused.push_back(std::move(*refusal));
    } else {
      candidates.push_back(candidate_from(asked));
    }
  }
  placement.variable_hides_all =
      limits.visible && limits.visible->empty() && limits.visible_by == VisibleBy::variable;
  if (placement.variable_hides_all) {
    // Also of devices that are refused for more than that.
    for (const auto& [id, name] : limits.hidden_by) add_name(placement.hiding_variables, name);
    // Where there is no device, CUDA's variable alone is read.
    if (placement.hiding_variables.empty()) {
      placement.hiding_variables = {facts_of(unnamed_vendor).visible_variable};
    }
  }
  placement.possible = request.devices > 0 && is_possible(snapshot, may_serve, request.devices) &&
                       can_be_together(snapshot, may_serve, request);
  choose(std::move(candidates), request, snapshot, placement);
  return placement;
}

std::vector<DeviceId> devices_of(const std::vector<Choice>& chosen) {
  std::vector<DeviceId> devices;
  for (const Choice& choice : chosen) devices.push_back(choice.device);
  return devices;
}

std::vector<ClaimedDevice> taken_by(const Placement& placement) {
  std::vector<ClaimedDevice> devices;
  for (const Choice& choice : placement.chosen) devices.push_back({choice.device, choice.promised});
  return devices;
}

}  // namespace berth
