#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/history/span.h"
#include "record/history/usage_meter.h"
#include "snapshot/builder.h"

namespace berth::history {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t start = 1'760'000'000'000;

Snapshot at(Snapshot snapshot, std::int64_t seconds) {
  snapshot.taken = {start + seconds * 1000};
  for (Claim& claim : snapshot.claims) {
    if (claim.since.unix_ms == 0) claim.since = {start};
  }
  return snapshot;
}

Snapshot idle() { return SnapshotBuilder().gpu("A", 24_GiB).build(); }
Snapshot leased_by(const std::string& user, Percent load = 90_percent) {
  return SnapshotBuilder().gpu("A", 24_GiB).utilization(load).claim(user).build();
}
Snapshot used_by(const std::string& user) {
  return SnapshotBuilder()
      .gpu("A", 24_GiB)
      .used(2_GiB)
      .utilization(90_percent)
      .process(7, user, 2_GiB)
      .build();
}

/// "+lease lease-0 0" began, "-state free 0..5" ended; times in seconds from the start.
std::vector<std::string> words(const std::vector<Span>& changes) {
  std::vector<std::string> texts;
  for (const Span& span : changes) {
    std::string text = (span.to_ms ? "-" : "+") + std::string(name_of(span.kind)) + " " + span.key;
    text += " " + std::to_string((span.from_ms - start) / 1000);
    if (span.to_ms) text += ".." + std::to_string((*span.to_ms - start) / 1000);
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> step(SpanTracker& tracker, const Snapshot& snapshot) {
  return words(tracker.changes(SnapshotIndex(snapshot)));
}

TEST(Spans, BeginAndEndWithALease) {
  SpanTracker tracker;
  EXPECT_THAT(step(tracker, at(idle(), 0)), ElementsAre("+state free 0"));
  EXPECT_THAT(step(tracker, at(leased_by("alice"), 5)),
              ElementsAre("-state free 0..5", "+lease lease-0 0", "+state leased 5"));
  EXPECT_THAT(step(tracker, at(leased_by("alice"), 6)), IsEmpty());
  EXPECT_THAT(step(tracker, at(idle(), 7)),
              ElementsAre("-lease lease-0 0..7", "-state leased 5..7", "+state free 7"));
}

TEST(Spans, OfAUserWithoutALease) {
  SpanTracker tracker;
  EXPECT_THAT(step(tracker, at(used_by("bob"), 0)), ElementsAre("+user bob 0", "+state busy 0"));
  EXPECT_THAT(step(tracker, at(idle(), 3)),
              ElementsAre("-user bob 0..3", "-state busy 0..3", "+state free 3"));
}

TEST(Spans, OfStatesEndWithTheLastLookWhereNobodyLookedForLong) {
  SpanTracker tracker;
  step(tracker, at(leased_by("alice"), 0));
  EXPECT_THAT(step(tracker, at(leased_by("alice"), 100)),
              ElementsAre("-state leased 0..0", "+state leased 100"))
      << "the lease lasted meanwhile: it has its name for life";
}

TEST(Spans, GoOnAfterARestart) {
  SpanTracker tracker(
      {Span{.kind = SpanKind::lease, .device = DeviceId("A"), .key = "lease-0", .from_ms = start}},
      start + 1000);
  EXPECT_THAT(step(tracker, at(leased_by("alice"), 300)), ElementsAre("+state leased 300"));
}

TEST(Spans, EndAtTheLastLookWhereTheyEndedDuringAPause) {
  SpanTracker tracker;
  step(tracker, at(leased_by("alice"), 0));
  EXPECT_THAT(step(tracker, at(idle(), 500)),
              ElementsAre("-lease lease-0 0..0", "-state leased 0..0", "+state free 500"));
}

TEST(Spans, NeverEndBeforeTheyBegin) {
  SpanTracker tracker;
  step(tracker, at(used_by("bob"), 1000));
  const Snapshot earlier = at(idle(), -5000);
  for (const Span& span : tracker.changes(SnapshotIndex(earlier))) {
    EXPECT_LE(span.from_ms, span.to_ms.value_or(span.from_ms));
  }
}

TEST(Spans, OfLeasesDoNotEndWhereTheLedgerCannotBeRead) {
  SpanTracker tracker;
  step(tracker, at(leased_by("alice"), 0));
  Snapshot blind = at(idle(), 1);
  blind.problems.push_back({.source = "ledger"});
  EXPECT_THAT(step(tracker, blind), ElementsAre("-state leased 0..1", "+state free 1"));
}

TEST(Spans, OfWaitsBeginWithTheTicket) {
  SpanTracker tracker;
  Snapshot waiting = at(idle(), 10);
  waiting.waiters.push_back(
      {.id = "t1", .uid = 7, .user = "carol", .wants = "-n 2", .since = {start + 4000}});
  const auto changes = tracker.changes(SnapshotIndex(waiting));
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(words(changes).back(), "+wait t1 4");
  EXPECT_EQ(changes.back().user, "carol");
}

Use sum(const UsageMeter& meter, const std::string& user) {
  Use use;
  for (const auto& [place, one] : meter.holders()) {
    if (place.user == user) use += one;
  }
  return use;
}
Use device_sum(const UsageMeter& meter) {
  Use use;
  for (const auto& [place, one] : meter.devices()) use += one;
  return use;
}
void feed(UsageMeter& meter, const Snapshot& snapshot) { meter.add(SnapshotIndex(snapshot)); }

TEST(UsageMeter, GivesTheTimeToWhoHoldsTheLease) {
  UsageMeter meter;
  feed(meter, at(leased_by("alice"), 0));
  feed(meter, at(leased_by("alice"), 1));
  feed(meter, at(leased_by("alice", 0_percent), 3));
  EXPECT_EQ(sum(meter, "alice").held_ms, 3000);
  EXPECT_EQ(sum(meter, "alice").busy_ms, 1000);
  EXPECT_EQ(sum(meter, "alice").idle_ms, 2000);
  EXPECT_EQ(device_sum(meter).watched_ms, 3000);
}

TEST(UsageMeter, GivesTheTimeToWhoseProcessesComputeWithoutALease) {
  UsageMeter meter;
  feed(meter, at(used_by("bob"), 0));
  feed(meter, at(used_by("bob"), 1));
  ASSERT_FALSE(meter.holders().empty());
  EXPECT_EQ(meter.holders().begin()->first.user, "bob");
  EXPECT_EQ(meter.holders().begin()->first.job, "");
}

TEST(UsageMeter, SaysNothingOfTimeInWhichNobodyLooked) {
  UsageMeter meter;
  feed(meter, at(leased_by("alice"), 0));
  feed(meter, at(leased_by("alice"), 3600));
  feed(meter, at(leased_by("alice"), 10));  // the clock was set back
  EXPECT_EQ(device_sum(meter), Use{});
}

TEST(UsageMeter, CallsALoadThatCannotBeReadNeitherBusyNorIdle) {
  UsageMeter meter;
  Snapshot blind = leased_by("alice");
  blind.devices[0].utilization_gpu = Absent::failed;
  blind.devices[0].utilization_history = Absent::unsupported;
  feed(meter, at(blind, 0));
  feed(meter, at(blind, 1));
  EXPECT_EQ(sum(meter, "alice").held_ms, 1000);
  EXPECT_EQ(sum(meter, "alice").busy_ms + sum(meter, "alice").idle_ms, 0);
}

Snapshot with_energy(std::optional<std::uint64_t> counter, std::uint64_t watts) {
  Snapshot snapshot = leased_by("alice");
  if (counter) snapshot.devices[0].energy = Millijoules(*counter);
  snapshot.devices[0].power_draw = Milliwatts(watts * 1000);
  return snapshot;
}

TEST(UsageMeter, TakesEnergyFromTheCounter) {
  UsageMeter meter;
  feed(meter, at(with_energy(5000, 300), 0));
  feed(meter, at(with_energy(9000, 300), 2));
  EXPECT_EQ(sum(meter, "alice").counted_mj, 4000);
  EXPECT_EQ(sum(meter, "alice").integrated_mj, 0);
}

TEST(UsageMeter, IntegratesPowerWhereNoCounterIsOrItWentBack) {
  UsageMeter meter;
  feed(meter, at(with_energy(5000, 300), 0));
  feed(meter, at(with_energy(100, 400), 2));
  EXPECT_EQ(sum(meter, "alice").counted_mj, 0);
  EXPECT_EQ(sum(meter, "alice").integrated_mj, 700'000);
}

TEST(UsageMeter, DividesTheEnergyOfASharedDeviceWithoutLosingAny) {
  UsageMeter meter;
  for (int second = 0; second < 2; ++second) {
    Snapshot shared =
        SnapshotBuilder().gpu("A", 24_GiB).claim("alice", 8_GiB).claim("bob", 8_GiB).build();
    shared.devices[0].energy = Millijoules(1000 + static_cast<std::uint64_t>(second) * 501);
    feed(meter, at(shared, second));
  }
  EXPECT_EQ(sum(meter, "alice").counted_mj + sum(meter, "bob").counted_mj, 501);
  EXPECT_EQ(sum(meter, "alice").held_ms, 1000) << "each has it for all of the time";
  EXPECT_EQ(device_sum(meter).held_ms, 1000) << "the device is had once";
}

TEST(UsageMeter, ThreeJobsOfOneUserHoldTheirDeviceOnce) {
  UsageMeter meter;
  for (int second = 0; second < 2; ++second) {
    Snapshot shared = SnapshotBuilder().gpu("A", 24_GiB).claim("bob", 1_GiB).build();
    for (const char* run : {"one", "two", "three"}) {
      Claim claim = shared.claims.front();
      claim.id = claim.run = run;
      claim.user = "alice";
      claim.uid = 1001;
      shared.claims.push_back(std::move(claim));
    }
    feed(meter, at(shared, second));
  }
  EXPECT_EQ(meter.holders().size(), 4U);
  EXPECT_EQ(sum(meter, "alice").held_ms, 1000);
  EXPECT_EQ(sum(meter, "bob").held_ms, 1000);
  for (const auto& [place, use] : meter.holders()) {
    if (place.user != "alice") continue;
    EXPECT_NEAR(static_cast<double>(use.held_ms), 333.5, 0.5);
  }
}

TEST(UsageMeter, KeepsQuartersOfAnHourApart) {
  UsageMeter meter;
  const std::int64_t to_border = (usage_bucket_ms - start % usage_bucket_ms) / 1000;
  feed(meter, at(leased_by("alice"), to_border - 1));
  feed(meter, at(leased_by("alice"), to_border));
  feed(meter, at(leased_by("alice"), to_border + 1));
  EXPECT_EQ(meter.holders().size(), 2U);
}

}  // namespace
}  // namespace berth::history
