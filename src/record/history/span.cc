#include "record/history/span.h"

#include <algorithm>
#include <array>
#include <utility>

#include "record/history/rollup.h"
#include "snapshot/questions.h"

namespace berth::history {

namespace {

using Key = std::tuple<SpanKind, DeviceId, std::string>;
using Spans = std::map<Key, Span>;

constexpr auto kind_names = std::to_array<std::pair<SpanKind, std::string_view>>({
    {SpanKind::lease, "lease"},
    {SpanKind::user, "user"},
    {SpanKind::state, "state"},
    {SpanKind::wait, "wait"},
});

void put(Spans& into, Span span) {
  into.emplace(Key(span.kind, span.device, span.key), std::move(span));
}

void put_leases(Spans& into, const Snapshot& snapshot) {
  for (const Claim& claim : snapshot.claims) {
    for (const ClaimedDevice& part : claim.devices) {
      put(into, {.kind = SpanKind::lease,
                 .device = part.device,
                 .key = claim.id,
                 .run = claim.run,
                 .user = claim.user,
                 .uid = static_cast<std::int64_t>(claim.uid),
                 .title = claim.command,
                 .from_ms = std::min(claim.since.unix_ms, snapshot.taken.unix_ms),
                 .to_ms = std::nullopt});
    }
  }
  for (const Waiter& waiter : snapshot.waiters) {
    put(into, {.kind = SpanKind::wait,
               .device = DeviceId(),
               .key = waiter.id,
               .user = waiter.user,
               .uid = static_cast<std::int64_t>(waiter.uid),
               .title = waiter.wants,
               .from_ms = std::min(waiter.since.unix_ms, snapshot.taken.unix_ms),
               .to_ms = std::nullopt});
  }
}

void put_users(Spans& into, const Device& device, const SnapshotIndex& index) {
  if (!index.claims_on(device.id).empty()) return;
  if (device.parent && !index.claims_on(*device.parent).empty()) return;
  for (const GpuProcess* use : index.processes_itself(device.id)) {
    if (is_background(*use)) continue;
    const HostProcess* process = index.process(use->pid);
    Span span{.kind = SpanKind::user, .device = device.id};
    span.from_ms = index.snapshot().taken.unix_ms;
    if (process != nullptr) {
      span.user = process->user.get().value_or("");
      if (const auto uid = process->uid.get()) span.uid = static_cast<std::int64_t>(*uid);
      span.title = process->executable_name.get().value_or("");
    }
    span.key = span.user;
    put(into, std::move(span));
  }
}

Spans spans_in(const SnapshotIndex& index) {
  Spans now;
  const Snapshot& snapshot = index.snapshot();
  put_leases(now, snapshot);
  for (const Device& device : snapshot.devices) {
    put_users(now, device, index);
    put(now, {.kind = SpanKind::state,
              .device = device.id,
              .key = std::string(name_of(state_of(device, index))),
              .uid = std::nullopt,
              .from_ms = snapshot.taken.unix_ms,
              .to_ms = std::nullopt});
  }
  return now;
}

/// What could not be looked at has not ended for that.
bool is_hidden(const Span& span, const SnapshotIndex& index) {
  const Snapshot& snapshot = index.snapshot();
  switch (span.kind) {
    case SpanKind::lease:
    case SpanKind::wait:
      return std::any_of(snapshot.problems.begin(), snapshot.problems.end(),
                         [](const Problem& problem) { return problem.source == "ledger"; });
    case SpanKind::user: {
      const Device* device = index.device(span.device);
      return device != nullptr && index.claims_on(span.device).empty() && is_list_unread(*device);
    }
    case SpanKind::state:
      return false;
  }
  return false;
}

bool outlasts_gaps(SpanKind kind) { return kind == SpanKind::lease || kind == SpanKind::wait; }

}  // namespace

std::string_view name_of(SpanKind kind) {
  for (const auto& [value, name] : kind_names) {
    if (value == kind) return name;
  }
  return "state";
}

std::optional<SpanKind> span_kind_from_name(std::string_view name) {
  for (const auto& [value, known] : kind_names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

SpanTracker::SpanTracker(const std::vector<Span>& open, std::int64_t last_ms) : last_ms_(last_ms) {
  for (const Span& span : open) put(open_, span);
}

std::vector<Span> SpanTracker::changes(const SnapshotIndex& index) {
  std::vector<Span> changed;
  const std::int64_t now = index.snapshot().taken.unix_ms;
  const std::int64_t last = last_ms_.value_or(now);
  const bool is_gap = now < last || now - last > longest_ms_;
  Spans seen = spans_in(index);
  for (auto at = open_.begin(); at != open_.end();) {
    Span& span = at->second;
    const bool goes_on = !is_gap || outlasts_gaps(span.kind);
    if (goes_on && (seen.contains(at->first) || is_hidden(span, index))) {
      ++at;
      continue;
    }
    span.to_ms = std::max(span.from_ms, is_gap ? last : now);
    changed.push_back(std::move(span));
    at = open_.erase(at);
  }
  for (auto& [key, span] : seen) {
    const auto [place, is_new] = open_.emplace(key, span);
    if (is_new) changed.push_back(std::move(span));
  }
  last_ms_ = now;
  return changed;
}

}  // namespace berth::history
