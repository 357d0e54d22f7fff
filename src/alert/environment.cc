#include "alert/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

/// A device's fact is kept under its id, which no other fact's name begins like.
constexpr std::string_view device_key = "device ";

/// What a driver, or a file that stands for one, says, made safe and short.
std::string fact(const std::string& text) {
  constexpr std::size_t longest = 200;
  return printable(std::string_view(text).substr(0, longest));
}

void add(Environment& environment, const std::string& what, const Reading<std::string>& reading) {
  if (reading.get() && !reading.get()->empty()) {
    environment.facts[what] = fact(*reading.get());
  }
}

/// "GPU 3: NVIDIA H100 80GB HBM3": users who set a job up for it know it by its number.
std::string device_fact(const Device& device) {
  const std::string name = device.name.get() ? fact(*device.name.get()) : std::string("?");
  return device.index ? fmt::format("GPU {}: {}", *device.index, name) : name;
}

}  // namespace

Environment environment_of(const Snapshot& snapshot, const std::optional<std::string>& toolkit) {
  Environment environment;
  for (const Runtime vendor : vendors_asked(snapshot.host)) {
    const DeviceKindFacts& facts = facts_of(vendor);
    const VendorSoftware& software = snapshot.host.software_of(vendor);
    const bool is_named = vendor != unnamed_vendor;
    add(environment, is_named ? std::string(driver_key).append(facts.vendor) : "driver",
        software.driver);
    add(environment,
        is_named ? std::string(runtime_key).append(facts.runtime_name)
                 : "CUDA version of the driver",
        software.runtime);
  }
  add(environment, "kernel", snapshot.host.kernel);
  // "none" rather than nothing: that it was taken away is a change as well.
  if (toolkit) environment.facts["CUDA toolkit"] = toolkit->empty() ? "none" : fact(*toolkit);
  environment.lists_devices = has_driver_answered(snapshot);
  for (const Device& device : snapshot.devices) {
    // MIG instances come and go as somebody divides a card; a lost card has no name to compare.
    // Where the driver does not answer, a card is known by its address alone.
    const bool counts = environment.lists_devices && is_supported(device) && !device.parent;
    if (!counts) continue;
    if (device.lost && !device.uuid.get() && device.index) {
      environment.nameless.push_back(*device.index);
      continue;
    }
    const std::string key = std::string(device_key) + fact(device.id.text());
    if (device.lost || !device.name.get()) {
      environment.facts[key].clear();  // there, and nothing more is known
    } else {
      environment.facts[key] = device_fact(device);
    }
  }
  return environment;
}

std::optional<std::string> toolkit_version(std::string_view text) {
  const auto root = parse_foreign_json(text);
  if (!root.is_object() || !root.contains("cuda") || !root["cuda"].is_object()) return std::nullopt;
  const auto version = root["cuda"].find("version");
  if (version == root["cuda"].end() || !version->is_string()) return std::nullopt;
  return version->get<std::string>();
}

void EnvironmentMemory::restore(std::map<std::string, std::string> facts,
                                std::vector<EnvironmentChange> changes) {
  facts_ = std::move(facts);
  changes_ = std::move(changes);
  knows_devices_ = std::any_of(facts_.begin(), facts_.end(),
                               [](const auto& fact) { return fact.first.starts_with(device_key); });
}

void EnvironmentMemory::weigh(const std::string& what, const std::optional<std::string>& to,
                              Moment when, Duration settling) {
  const auto known = facts_.find(what);
  const bool was_there = known != facts_.end();
  if (was_there == to.has_value() && (!was_there || known->second == *to)) {
    candidates_.erase(what);
    return;
  }
  auto [candidate, is_new] =
      candidates_.try_emplace(what, Candidate{.to = to, .since = when.steady, .at = when.wall});
  if (!is_new && candidate->second.to != to) {
    candidate->second = {.to = to, .since = when.steady, .at = when.wall};
  }
  if (when.steady - candidate->second.since < settling) return;
  EnvironmentChange change{.what = what,
                           .from = was_there ? std::optional(known->second) : std::nullopt,
                           .to = to,
                           .at = candidate->second.at};
  candidates_.erase(candidate);
  std::erase_if(changes_, [&](const EnvironmentChange& one) { return one.what == what; });
  if (changes_.size() >= most_changes) changes_.erase(changes_.begin());
  changes_.push_back(std::move(change));
  if (to) facts_[what] = *to;
  if (!to) facts_.erase(what);
  ++change_;
}

std::map<int, DeviceId> EnvironmentMemory::cards() const {
  constexpr std::string_view number_key = "GPU ";
  std::map<int, DeviceId> cards;
  for (const auto& [what, is] : facts_) {
    if (!what.starts_with(device_key) || !is.starts_with(number_key)) continue;
    const std::string_view behind = std::string_view(is).substr(number_key.size());
    const auto number = parse_unsigned(behind.substr(0, behind.find(':')));
    constexpr std::uint64_t most = 1 << 20;
    if (number && *number < most) {
      cards[static_cast<int>(*number)] = DeviceId(what.substr(device_key.size()));
    }
  }
  return cards;
}

void EnvironmentMemory::see(const Environment& now, Moment when, Duration settling) {
  change_ += std::erase_if(changes_, [&](const EnvironmentChange& one) {
    return when.wall.unix_ms - one.at.unix_ms >= day_ms;
  });
  for (const auto& [what, is] : now.facts) {
    const bool is_device = what.starts_with(device_key);
    if (is_device && is.empty()) {
      candidates_.erase(what);  // lost, and another rule says so
      continue;
    }
    const bool first_ever = !facts_.contains(what) && (!is_device || !knows_devices_);
    if (first_ever && facts_.size() < most_facts) {
      facts_[what] = is;
      ++change_;
    } else if (facts_.contains(what) || facts_.size() < most_facts) {
      weigh(what, is, when, settling);
    }
  }
  if (!now.lists_devices) return;
  const std::map<int, DeviceId> known = cards();
  std::set<std::string> lost;
  for (const int index : now.nameless) {
    const auto card = known.find(index);
    if (card != known.end()) lost.insert(std::string(device_key) + card->second.text());
  }
  std::vector<std::string> gone;
  for (const auto& [what, was] : facts_) {
    const bool is_gone =
        what.starts_with(device_key) && !now.facts.contains(what) && !lost.contains(what);
    if (is_gone) gone.push_back(what);
  }
  for (const std::string& what : gone) weigh(what, std::nullopt, when, settling);
  std::erase_if(candidates_, [&](const auto& one) {
    return one.second.to && !now.facts.contains(one.first);  // it was there for a moment
  });
  knows_devices_ = true;
}

}  // namespace berth
