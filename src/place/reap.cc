#include "place/reap.h"

#include <fmt/format.h>

#include "base/text.h"

namespace berth {

namespace {
ReapStep step_for(const IdleLease& lease, const Policy& policy,
                  const std::map<std::string, WallTime>& told, WallTime now) {
  ReapStep step{.lease = lease};
  const IdleHolders wanted = policy.of(lease.claim.uid).idle_holders.value_or(IdleHolders::nothing);
  if (wanted == IdleHolders::nothing) return step;
  if (policy.notify.empty()) {
    step.act = ReapAct::untold;
    return step;
  }
  const auto found = told.find(lease.claim.id);
  const bool is_told = found != told.end() && found->second >= lease.since && found->second <= now;
  const WallTime told_at = is_told ? found->second : now;
  if (wanted == IdleHolders::end) step.ends = WallTime{told_at.unix_ms + policy.notice.count()};
  if (!is_told) {
    step.act = ReapAct::tell;
  } else if (step.ends) {
    step.act = *step.ends <= now ? ReapAct::end : ReapAct::wait;
  }
  return step;
}
}  // namespace

std::vector<ReapStep> plan_reap(const std::vector<IdleLease>& idle, const Policy& policy,
                                const std::map<std::string, WallTime>& told, WallTime now) {
  std::vector<ReapStep> steps;
  for (const IdleLease& lease : idle) steps.push_back(step_for(lease, policy, told, now));
  return steps;
}

std::map<std::string, WallTime> told_in(std::string_view text) {
  std::map<std::string, WallTime> told;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = split(line, ' ');
    const auto at = parts.size() == 2 ? parse_signed(parts[1]) : std::nullopt;
    if (at) told[std::string(parts[0])] = WallTime{*at};
  }
  return told;
}

std::string told_text(const std::map<std::string, WallTime>& told) {
  std::string text;
  for (const auto& [lease, at] : told) text += fmt::format("{} {}\n", lease, at.unix_ms);
  return text;
}

}  // namespace berth
