// NVLink: links that are down, and errors on those that are up.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/tr.h"
#include "health/rules.h"
#include "health/xid.h"
#include "snapshot/questions.h"

namespace berth::health {

namespace {

Sentence link_advice() { return Sentence(advice_for(XidAction::check_link)); }

std::optional<std::uint64_t> number(const Device& device, Detail detail) {
  return device.details.get<std::uint64_t>(detail).get();
}

/// How many links the best connected card of its model has up. Which links should be up no function
/// tells: a card with bridges has as many as somebody mounted.
std::uint64_t most_among_its_kind(const Device& device, const Snapshot& snapshot) {
  std::uint64_t most = 0;
  for (const Device& other : snapshot.devices) {
    if (!device.name.get() || !(other.name == device.name) || other.parent) continue;
    most = std::max(most, number(other, Detail::nvlink_active).value_or(0));
  }
  return most;
}

/// True for a board whose links all lead to switches or to its other cards: none may be down.
bool is_in_a_fabric(const Device& device) {
  const auto state = device.details.get<std::string>(Detail::fabric_state);
  return state.get() && (*state.get() == "Completed" || *state.get() == "In Progress");
}

Findings nvlink_down(const Device& device, const Snapshot& snapshot) {
  const auto all = number(device, Detail::nvlink_count);
  const auto active = number(device, Detail::nvlink_active);
  // Divided by MIG, a card may have its links switched off.
  if (!all || !active || *active >= *all || division_of(device) != Division::whole) return {};
  const std::uint64_t most = most_among_its_kind(device, snapshot);
  if (is_in_a_fabric(device) || (*active > 0 && *active < most)) {
    return {found(Severity::warning, "nvlink_down",
                  sentence("{} of its {} NVLinks are down", *all - *active, *all), link_advice())};
  }
  if (*active == 0 && most > 0) {
    return {found(Severity::hint, "nvlink_unused",
                  sentence("none of its NVLinks is up, and other cards of its kind have some"),
                  sentence("normal where no bridge is mounted on it; else look at the bridge"))};
  }
  if (*active == 0) return {};  // no bridge is mounted anywhere
  return {
      found(Severity::hint, "nvlink_partly_used",
            sentence("{} of its {} NVLinks are up, on each card of its kind alike", *active, *all),
            sentence("normal where fewer bridges are mounted than would fit"))};
}

/// `alarming`: this many more since the look before, or `a_second` of them, say that something is
/// wrong now. A link resends what arrived damaged, so a few are nothing. Links are built for one
/// wrong bit in 10^12: at 300 GB/s that is two or three resends a second under full load. DCGM
/// warns from 100 in all. Errors that resending did not cure are told from the first: a link set up
/// anew, an error in the data path's memory.
struct ErrorRow {
  Detail count;
  Detail growth;
  std::uint64_t alarming;
  double a_second;
};
constexpr auto error_rows = std::to_array<ErrorRow>({
    {Detail::nvlink_flit_errors, Detail::window_nvlink_flit_errors, 100, 10},
    {Detail::nvlink_data_errors, Detail::window_nvlink_data_errors, 100, 10},
    {Detail::nvlink_replays, Detail::window_nvlink_replays, 100, 10},
    {Detail::nvlink_recoveries, Detail::window_nvlink_recoveries, 1, 0},
    {Detail::nvlink_ecc_errors, Detail::window_nvlink_ecc_errors, 1, 0},
});

Sentence error_words(Detail count, std::uint64_t errors, bool lately) {
  switch (count) {
    case Detail::nvlink_flit_errors:
    case Detail::nvlink_data_errors:
      return lately ? sentence("{} checksum errors on its NVLinks since the look before", errors)
                    : sentence("{} checksum errors on its NVLinks since the driver loaded", errors);
    case Detail::nvlink_replays:
      return lately
                 ? sentence("{} NVLink packets had to be sent again since the look before", errors)
                 : sentence("{} NVLink packets had to be sent again since the driver loaded",
                            errors);
    case Detail::nvlink_recoveries:
      return lately
                 ? sentence("its NVLinks had to be set up again {} times since the look before",
                            errors)
                 : sentence("its NVLinks had to be set up again {} times since the driver loaded",
                            errors);
    default:
      return lately ? sentence("{} memory errors in its NVLinks since the look before", errors)
                    : sentence("{} memory errors in its NVLinks since the driver loaded", errors);
  }
}

/// How many a second; nothing: how long the look before is ago is not known.
std::optional<double> rate_of(std::uint64_t growth, const Device& device) {
  const auto span = device.details.get<Milliseconds>(Detail::window_span);
  if (!span.get() || span.get()->count() <= 0) return std::nullopt;
  constexpr double ms_per_second = 1000;
  return static_cast<double>(growth) * ms_per_second / static_cast<double>(span.get()->count());
}

Sentence words_of_now(Detail count, std::uint64_t growth, std::optional<double> rate) {
  Sentence words = error_words(count, growth, true);
  if (!rate) return words;
  return sentence("{}: {}", words, sentence("{} a second", fmt::format("{:.0f}", *rate)));
}

Findings nvlink_errors(const Device& device, const Snapshot&) {
  Findings findings;
  for (const ErrorRow& row : error_rows) {
    const std::uint64_t growth = number(device, row.growth).value_or(0);
    const std::uint64_t count = number(device, row.count).value_or(0);
    const std::optional<double> rate = rate_of(growth, device);
    if (growth >= row.alarming || (growth > 0 && rate && *rate >= row.a_second)) {
      findings.push_back(found(Severity::warning, "nvlink_errors_now",
                               words_of_now(row.count, growth, rate), link_advice()));
    } else if (count > 0) {
      findings.push_back(found(Severity::hint, "nvlink_errors",
                               error_words(row.count, count, false),
                               sentence("nothing to do while they do not become more")));
    }
  }
  return findings;
}

}  // namespace

std::span<const HealthRule> nvlink_rules() {
  static constexpr HealthRule rules[] = {
      {.find = nvlink_down,
       .reads = {{as_key("NVLinks"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::nvlink_active));
                  }}},
       .reports = {{"nvlink_down", "degraded",
                    "some links are down, and by its fabric or by other cards of its kind they "
                    "should be up",
                    "what the links lead to"},
                   {"nvlink_unused", "notice", "none is up, and other cards of its kind have some",
                    "the bridge, where one is mounted"},
                   {"nvlink_partly_used", "notice", "some are up, on each card of its kind alike",
                    "–"}}},
      {.find = nvlink_errors,
       .reads = {{as_key("NVLink errors"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::nvlink_recoveries));
                  }}},
       .reports = {{"nvlink_errors_now", "degraded",
                    "since the look before 100 checksum errors or packets sent again, or 10 a "
                    "second, or one link set up anew or memory error",
                    "what the links lead to"},
                   {"nvlink_errors", "notice", "fewer, or of earlier", "–"}}},
  };
  return rules;
}

}  // namespace berth::health
