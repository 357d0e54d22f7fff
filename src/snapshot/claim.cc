// What the ledger's types name their members.

#include "snapshot/claim.h"

#include "snapshot/walk.h"

namespace berth {

void walk(Archive& archive, ClaimedDevice& claimed) {
  archive.member("device", claimed.device, Form::required);
  archive.derived("exclusive", !claimed.promised.has_value());
  archive.member("promised_bytes", claimed.promised);
}

template <class ClaimOrWaiter>
static void walk_owner(Archive& archive, ClaimOrWaiter& promise, Form hidden) {
  if (hidden == Form::nullable && promise.user.empty()) {
    archive.derived("uid", std::optional<uid_t>());
  } else {
    archive.member("uid", promise.uid);
  }
  archive.member("user", promise.user, hidden);
}

/// 0 is no process: berth 0.1.0 wrote it for one that is not known.
static void walk_process(Archive& archive, std::string_view key, std::optional<ProcessId>& id) {
  archive.member(key, id);
  if (archive.is_reading() && id && id->pid <= 0) id.reset();
}

void walk_said(Archive& archive, Claim& claim, Form hidden) {
  archive.member("run", claim.run);
  walk_process(archive, "keeper", claim.keeper);
  walk_process(archive, "job", claim.job);
  archive.member("container", claim.container, Form::sparse);
  archive.member("command", claim.command, hidden);
  std::optional<std::string> held_by;
  if (claim.held_by) held_by = std::string(word_of(*claim.held_by));
  archive.member("held_by", held_by);
  if (held_by) claim.held_by = cap_tier_in(*held_by);
  archive.member("isolated_by", claim.isolated_by, Form::nullable);
}

void walk(Archive& archive, Claim& claim, Form hidden) {
  archive.member("id", claim.id);
  walk_owner(archive, claim, hidden);
  walk_said(archive, claim, hidden);
  archive.member("since_unix_ms", claim.since);
  archive.member("ends_unix_ms", claim.ends);
  archive.member("understood", claim.parsed);
  archive.member("devices", claim.devices);
}

void walk(Archive& archive, Claim& claim) { walk(archive, claim, Form::plain); }

void walk_said(Archive& archive, Waiter& waiter, Form hidden) {
  archive.member("run", waiter.run);
  std::optional process(waiter.process);
  walk_process(archive, "process", process);
  waiter.process = process.value_or(ProcessId{});
  archive.member("command", waiter.command, hidden);
  archive.member("wants", waiter.wants);
  archive.member("request", waiter.request);
}

void walk(Archive& archive, Waiter& waiter, Form hidden) {
  archive.member("id", waiter.id);
  walk_owner(archive, waiter, hidden);
  walk_said(archive, waiter, hidden);
  archive.member("since_unix_ms", waiter.since);
  std::string priority(word_of(waiter.priority));
  archive.member("priority", priority);
  waiter.priority = priority_in(priority).value_or(Priority::normal);
  std::optional<std::int64_t> time_limit;
  if (waiter.time_limit) time_limit = waiter.time_limit->count();
  archive.member("time_limit_ms", time_limit);
  if (time_limit) waiter.time_limit = std::chrono::milliseconds(*time_limit);
  archive.member("gathered", waiter.gathered);
  archive.member("gathers_until_unix_ms", waiter.gathers_until);
  archive.member("stuck", waiter.stuck);
  archive.member("reserved", waiter.reserved);
}
void walk(Archive& archive, Waiter& waiter) { walk(archive, waiter, Form::plain); }

}  // namespace berth
