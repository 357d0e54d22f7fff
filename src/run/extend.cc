#include "run/extend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/sentence.h"
#include "base/text.h"
#include "base/user_name.h"
#include "place/placement.h"
#include "run/inside.h"

namespace berth {

namespace {

/// Also for the one let in: until it is gone.
constexpr std::int64_t margin_ms = 120'000;

/// The lease that the user was given last, of those that are held.
const Claim* last_of_own(const std::vector<Claim>& claims, uid_t uid) {
  const Claim* last = nullptr;
  for (const Claim& claim : claims) {
    if (claim.uid != uid || claim.run.empty()) continue;
    if (last == nullptr || claim.since >= last->since) last = &claim;
  }
  return last;
}

/// A command of `berth exec` was given what was left of the lease then: it goes on with it.
void extend_begun(const Ledger& ledger, const Claim& outer, std::chrono::milliseconds more,
                  Clock& clock) {
  constexpr std::int64_t rounded_ms = 10'000;
  const auto within = Ledger::open(
      {.directory = inside_directory(ledger, outer.id), .kind = LedgerPlace::Kind::named}, clock);
  const auto view = within ? within->read() : Result<LedgerView>(LedgerView());
  for (const Claim& claim : view ? view->claims : std::vector<Claim>()) {
    const bool ends_with_it =
        claim.ends && std::abs(claim.ends->unix_ms - outer.ends->unix_ms) < rounded_ms;
    if (!ends_with_it || claim.uid != ::geteuid()) continue;
    const std::int64_t limit_ms = claim.ends->unix_ms - claim.since.unix_ms + more.count();
    (void)within->extend(claim.id, std::chrono::milliseconds(limit_ms));
  }
}

}  // namespace

Result<Claim> own_claim(const LedgerView& view, uid_t uid, const std::string& name) {
  if (const Claim* last = name == "last" ? last_of_own(view.claims, uid) : nullptr) return *last;
  std::vector<const Claim*> found;
  for (const Claim& claim : view.claims) {
    if (claim.uid != uid) continue;
    if (claim.id == name || claim.run == name) return claim;
    const bool begins = claim.run.starts_with(name) || claim.id.starts_with(name);
    if (!name.empty() && (begins || claim.run.ends_with(name))) found.push_back(&claim);
  }
  if (found.size() == 1) return *found.front();
  return fail(
      found.empty() ? ErrorCode::not_found : ErrorCode::invalid,
      found.empty()
          ? sentence("you hold no lease that is called \"{}\": see `berth leases`", printable(name))
          : sentence("several of your leases are called \"{}\": write more of the name",
                     printable(name)));
}

Result<void> has_hours_left(const Policy& policy, uid_t uid) {
  if (!policy.hours_used) return {};
  const auto& most = policy.of(uid).hours_at_most;
  const auto own = policy.hours_used->find(uid);
  if (!most || own == policy.hours_used->end() || own->second < *most) return {};
  return fail(ErrorCode::no_permission,
              "this user has used {} of the {} GPU-hours that the policy allows within "
              "30 days",
              fmt::format("{:.0f}", own->second), *most);
}

Result<void> delays_nobody(const LedgerView& view, const Claim& claim,
                           std::chrono::milliseconds more, WallTime now) {
  Snapshot as_it_is{.taken = now, .claims = view.claims};
  Snapshot extended = as_it_is;
  for (Claim& one : extended.claims) {
    if (one.id == claim.id) one.ends = WallTime{claim.ends->unix_ms + more.count() + margin_ms};
  }
  for (const Waiter& waiter : view.waiters) {
    const bool came_before = waiter.since.unix_ms < claim.since.unix_ms;
    const bool is_for_it = std::ranges::any_of(waiter.gathered, [&](const DeviceId& id) {
      return std::ranges::find(claim.devices, id, &ClaimedDevice::device) != claim.devices.end();
    });
    if (!came_before || !is_for_it) continue;
    const auto before = gathered_at(waiter, as_it_is);
    const auto after = gathered_at(waiter, extended);
    if (before && after && after->unix_ms <= before->unix_ms) continue;
    return fail(ErrorCode::busy,
                "it would delay {}, who came first and for whom its devices are gathered; start "
                "it anew with more time",
                local_user_name(waiter.uid));
  }
  return {};
}

Result<Extended> extend_lease(const Ledger& ledger, const std::string& name,
                              std::chrono::milliseconds more,
                              const std::function<Result<std::shared_ptr<const Policy>>()>& policy,
                              Clock& clock) {
  const auto view = ledger.read();
  if (!view) return std::unexpected(view.error());
  const auto claim = own_claim(*view, ::geteuid(), name);
  if (!claim) return std::unexpected(claim.error());
  if (!claim->ends) {
    return fail(ErrorCode::invalid, "run {} has no time limit: nothing ends it",
                printable(claim->run));
  }
  const auto rules = policy();
  if (!rules) return std::unexpected(rules.error());
  const auto allowed = *rules ? has_hours_left(**rules, ::geteuid()) : Result<void>();
  if (!allowed) return std::unexpected(allowed.error());
  if (const auto free = delays_nobody(*view, *claim, more, clock.wall_now()); !free) {
    return std::unexpected(free.error());
  }
  const WallTime ends{claim->ends->unix_ms + more.count()};
  const std::chrono::milliseconds limit(ends.unix_ms - claim->since.unix_ms);
  if (const auto done = ledger.extend(claim->id, limit); !done) {
    return std::unexpected(done.error());
  }
  extend_begun(ledger, *claim, more, clock);
  return Extended{.run = claim->run, .ends = ends};
}

}  // namespace berth
