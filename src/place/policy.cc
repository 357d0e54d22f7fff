#include "place/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace berth {

namespace {

constexpr int minutes_of_day = 24 * 60;

/// "7:30", "22:00"; nothing: no time of a day.
std::optional<int> minute_in(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 || parts[1].size() != 2) return std::nullopt;
  const auto hour = parse_unsigned(parts[0]);
  const auto minute = parse_unsigned(parts[1]);
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  return static_cast<int>(*hour * 60 + *minute);
}

template <class Value>
void fill(std::optional<Value>& member, const std::optional<Value>& said) {
  if (!member) member = said;
}

void fill(UserRules& rules, const UserRules& said) {
  const auto& [highest, devices, at_most, hours, quiet, memory, time, prefer, jobs, idle_after,
               holders] = said;
  fill(rules.highest_priority, highest);
  fill(rules.devices, devices);
  fill(rules.devices_at_most, at_most);
  fill(rules.hours_at_most, hours);
  fill(rules.quiet_hours, quiet);
  fill(rules.memory, memory);
  fill(rules.time, time);
  fill(rules.prefer, prefer);
  fill(rules.jobs_per_device, jobs);
  fill(rules.idle_after, idle_after);
  fill(rules.idle_holders, holders);
}

bool is_about(const PolicyRule& rule, uid_t uid, const PolicyUser& user) {
  switch (rule.who) {
    case PolicyRule::For::everybody:
      return true;
    case PolicyRule::For::group:
      return std::ranges::find(user.groups, rule.name) != user.groups.end();
    case PolicyRule::For::user:
      return rule.name == user.name || rule.name == std::to_string(uid);
  }
  return false;
}

}  // namespace

Result<QuietHours> parse_quiet_hours(std::string_view text) {
  const auto parts = split(text, '-');
  const auto from = parts.size() == 2 ? minute_in(trimmed(parts[0])) : std::nullopt;
  const auto to = parts.size() == 2 ? minute_in(trimmed(parts[1])) : std::nullopt;
  if (!from || !to || *from == *to) {
    return fail(ErrorCode::invalid, "\"{}\" is no part of a day; write 22:00-07:00",
                printable(text));
  }
  return QuietHours{*from, *to};
}

std::string typed(QuietHours hours) {
  return fmt::format("{:02}:{:02}-{:02}:{:02}", hours.from / 60, hours.from % 60, hours.to / 60,
                     hours.to % 60);
}

bool is_quiet(QuietHours hours, WallTime now, std::chrono::seconds local_offset) {
  const std::int64_t local = now.unix_ms / 60'000 + local_offset.count() / 60;
  const auto minute = static_cast<int>((local % minutes_of_day + minutes_of_day) % minutes_of_day);
  const bool over_midnight = hours.from > hours.to;
  const bool after = minute >= hours.from;
  const bool before = minute < hours.to;
  return over_midnight ? after || before : after && before;
}

UserRules rules_for(const Policy& policy, uid_t uid, const PolicyUser& user) {
  constexpr std::array nearest_first = {PolicyRule::For::user, PolicyRule::For::group,
                                        PolicyRule::For::everybody};
  UserRules rules;
  for (const auto who : nearest_first) {
    for (const PolicyRule& rule : policy.rules) {
      if (rule.who == who && is_about(rule, uid, user)) fill(rules, rule.rules);
    }
  }
  return rules;
}

const UserRules& Policy::of(uid_t uid) const {
  const auto found = known.find(uid);
  if (found != known.end()) return found->second;
  const PolicyUser user = who ? who(uid) : PolicyUser{};
  return known.emplace(uid, rules_for(*this, uid, user)).first->second;
}

Priority Policy::highest_priority(uid_t uid) const {
  return of(uid).highest_priority.value_or(highest_by_itself);
}

Priority Policy::counted(Priority asked, uid_t uid) const {
  return std::min(asked, highest_priority(uid));
}

std::chrono::milliseconds Policy::later_by_use(uid_t uid) const {
  if (fair_share.count() == 0 || !hours_used) return std::chrono::milliseconds(0);
  const auto own = hours_used->find(uid);
  if (own == hours_used->end()) return std::chrono::milliseconds(0);
  double most = 0;
  for (const auto& [user, hours] : *hours_used) most = std::max(most, hours);
  if (most <= 0) return std::chrono::milliseconds(0);
  const double part = std::clamp(own->second / most, 0.0, 1.0);
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(fair_share.count()) * part));
}

}  // namespace berth
