#include "view/idle_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "snapshot/builder.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using namespace literals;

constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t now_ms = 1'763'690'000'000;

WallTime ago(std::int64_t minutes) { return WallTime{now_ms - minutes * minute_ms}; }

/// A minute a point, from so long ago until now; `busy` says which minutes ago were busy.
HistorySeries load_of(std::int64_t minutes, const std::function<double(std::int64_t)>& busy) {
  HistorySeries load{.device = DeviceId("A"), .step_ms = minute_ms};
  for (std::int64_t at = minutes; at > 0; --at) {
    load.points.push_back({.at = ago(at), .mean = busy(at), .most = busy(at)});
  }
  return load;
}
HistorySeries calm(std::int64_t minutes) {
  return load_of(minutes, [](std::int64_t) { return 0.0; });
}

Snapshot held(std::int64_t leased_minutes_ago, Percent load = 0_percent) {
  Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).build();
  host.taken = WallTime{now_ms};
  host.devices[0].utilization_gpu = load;
  Claim claim{.id = "lease-1", .run = "run-1", .uid = 1000, .user = "anna"};
  claim.since = ago(leased_minutes_ago);
  claim.devices = {{.device = DeviceId("A"), .promised = {}}};
  host.claims = {claim};
  return host;
}

std::vector<IdleRow> rows(const Snapshot& host, std::vector<HistorySeries> loads,
                          const Policy* policy = nullptr) {
  return idle_rows(host, {.loads = std::move(loads), .why_none = {}}, policy);
}

TEST(Calm, LastsAsFarBackAsNothingWasComputedWithoutAGap) {
  EXPECT_EQ(calm_since(calm(90), ago(0)), ago(90));
  const HistorySeries busy_before =
      load_of(90, [](std::int64_t at) { return at > 40 ? 80.0 : 0.0; });
  EXPECT_EQ(calm_since(busy_before, ago(0)), ago(40));
  HistorySeries gap = calm(90);
  std::erase_if(gap.points, [](const SeriesPoint& point) {
    return point.at.unix_ms >= ago(60).unix_ms && point.at.unix_ms < ago(50).unix_ms;
  });
  EXPECT_EQ(calm_since(gap, ago(0)), ago(50)) << "nobody knows what was in the gap";
  EXPECT_EQ(calm_since(gap, WallTime{now_ms + 20 * minute_ms}), std::nullopt)
      << "nobody has looked since";
}

TEST(Idle, IsALeaseThatComputedNothingForLongEnough) {
  const Snapshot host = held(90);
  const auto found = rows(host, {calm(120)});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, IdleKind::lease);
  EXPECT_EQ(found[0].sure, IdleSure::measured);
  EXPECT_EQ(found[0].since, ago(90)) << "what was before it is not its own";
  EXPECT_THAT(found[0].users, ElementsAre("anna"));
}

TEST(Idle, IsNotOneThatBeganLatelyOrWasBusyLately) {
  EXPECT_THAT(rows(held(10), {calm(120)}), IsEmpty());
  const HistorySeries busy = load_of(120, [](std::int64_t at) { return at > 5 ? 90.0 : 0.0; });
  EXPECT_THAT(rows(held(90), {busy}), IsEmpty());
  EXPECT_THAT(rows(held(90, 60_percent), {calm(120)}), IsEmpty()) << "busy in this look";
}

TEST(Idle, IsAGuessOfOneLookWhereNobodyKeepsAHistory) {
  const Snapshot host = held(90);
  const auto found = rows(host, {});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].sure, IdleSure::seen);
  EXPECT_EQ(found[0].since, std::nullopt);
  const Style style{};
  EXPECT_EQ(idle_lease_lines(found, host, style), "") << "nobody is accused by one look";
}

TEST(Idle, OfTheTimeBeforeAYoungHistoryNothingIsKnown) {
  const auto found = rows(held(90), {calm(3)});
  ASSERT_THAT(found, SizeIs(1)) << "who begins to keep one hides nobody";
  EXPECT_EQ(found[0].sure, IdleSure::seen);
  EXPECT_EQ(found[0].since, std::nullopt);
  const HistorySeries busy = load_of(20, [](std::int64_t at) { return at > 5 ? 90.0 : 0.0; });
  EXPECT_THAT(rows(held(90), {busy}), IsEmpty());
}

TEST(Idle, TheTimeIsThePolicys) {
  Policy policy;
  policy.rules = {{.rules = {.idle_after = std::chrono::hours(2)}}};
  EXPECT_THAT(rows(held(90), {calm(120)}, &policy), IsEmpty());
  policy = {};
  policy.rules = {{.rules = {.idle_after = std::chrono::minutes(5)}}};
  EXPECT_THAT(rows(held(10), {calm(120)}, &policy), SizeIs(1));
}

TEST(Idle, AlsoIsALeaseUnderThirtyPercentForAnHour) {
  const HistorySeries slow = load_of(120, [](std::int64_t) { return 12.0; });
  const Snapshot host = held(90, 12_percent);
  const auto found = rows(host, {slow});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, IdleKind::low_load);
  EXPECT_THAT(rows(held(30, 12_percent), {slow}), IsEmpty()) << "not an hour old";
  HistorySeries unwatched = slow;
  unwatched.points.erase(unwatched.points.begin(), unwatched.points.end() - 20);
  EXPECT_THAT(rows(host, {unwatched}), IsEmpty()) << "of the hour 20 minutes were looked at";
}

TEST(Idle, WhoWaitsIsToldOfThoseThatAreMeasured) {
  const Snapshot host = held(90);
  EXPECT_THAT(idle_lease_lines(rows(host, {calm(120)}), host, Style{}),
              HasSubstr("GPU 0 is held by anna, and nothing was computed on it for 1h30m."));
}

TEST(Idle, IsMemoryThatSomebodyHoldsWithoutALease) {
  const auto seen = [](Percent load) {
    Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).build();
    host.taken = WallTime{now_ms};
    host.devices[0].utilization_gpu = load;
    host.devices[0].process_count = std::uint64_t{1};
    host.gpu_processes = {{.device = DeviceId("A"), .pid = 42, .memory = 14_GiB}};
    HostProcess process{.id = {.pid = 42}};
    process.uid = uid_t{1000};
    process.user = std::string("anna");
    process.started = ago(300);
    host.processes = {process};
    return rows(host, {});
  };
  const auto idle = seen(0_percent);
  ASSERT_THAT(idle, SizeIs(1));
  EXPECT_EQ(idle[0].kind, IdleKind::memory);
  EXPECT_EQ(idle[0].sure, IdleSure::seen);
  EXPECT_THAT(idle[0].users, ElementsAre("anna"));
  EXPECT_EQ(idle[0].held, 14_GiB);
  EXPECT_THAT(seen(60_percent), IsEmpty());
}

TEST(Idle, IsMemoryThatNoProcessExplains) {
  const Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).gpu("B", 24_GiB).used(10_GiB).build();
  const auto found = rows(host, {});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, IdleKind::nobody);
  EXPECT_EQ(found[0].device, &host.devices[1]);
  EXPECT_EQ(found[0].held, 10_GiB);
  EXPECT_THAT(found[0].users, IsEmpty());
  EXPECT_THAT(idle_json(found, {}, host), HasSubstr("\"nobody\""));
  const Snapshot explained = SnapshotBuilder()
                                 .gpu("B", 24_GiB)
                                 .used(10_GiB)
                                 .utilization(90_percent)
                                 .process(42, "anna", 10_GiB)
                                 .build();
  EXPECT_THAT(rows(explained, {}), IsEmpty());
}

TEST(Idle, AProcessThatHasEndedAndOneWithoutAParentAreNamed) {
  Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).build();
  host.taken = WallTime{now_ms};
  host.devices[0].utilization_gpu = Percent(90);
  host.gpu_processes = {{.device = DeviceId("A"), .pid = 41, .memory = 2_GiB},
                        {.device = DeviceId("A"), .pid = 42, .memory = 3_GiB},
                        {.device = DeviceId("A"), .pid = 43, .memory = 3_GiB}};
  HostProcess zombie{.id = {.pid = 41}};
  zombie.user = std::string("bob");
  zombie.state = std::string("Z");
  HostProcess orphan{.id = {.pid = 42}, .ancestors = {1}};
  orphan.user = std::string("bob");
  orphan.state = std::string("R");
  HostProcess child = orphan;
  child.id.pid = 43;
  child.ancestors = {700, 1};
  host.processes = {zombie, orphan, child};
  const auto found = rows(host, {});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].kind, IdleKind::ended);
  EXPECT_EQ(found[0].held, Bytes(2_GiB));
  EXPECT_EQ(found[1].kind, IdleKind::orphan);
  EXPECT_EQ(found[1].pid, 42);
  EXPECT_EQ(found[1].sure, IdleSure::perhaps) << "nohup looks the same";
  const std::string text = render_idle(found, {}, host, Style{});
  EXPECT_THAT(text, HasSubstr("process 41 has ended"));
  EXPECT_THAT(text, Not(HasSubstr("43")));
}

TEST(Idle, WhatATerminalControlsOrAProgramStartedHasLostNothing) {
  Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).build();
  host.devices[0].utilization_gpu = Percent(90);
  host.gpu_processes = {{.device = DeviceId("A"), .pid = 42, .memory = 3_GiB}};
  HostProcess manager{.id = {.pid = 900}, .ancestors = {1}};
  manager.executable_name = std::string("systemd");
  HostProcess job{.id = {.pid = 42}};
  job.user = std::string("bob");
  job.state = std::string("R");
  const auto found = [&](std::vector<pid_t> ancestors, std::optional<bool> has_terminal) {
    job.ancestors = std::move(ancestors);
    job.has_terminal = has_terminal;
    host.processes = {job, manager};
    const auto all = rows(host, {});
    return all.empty() ? "" : render_idle(all, {}, host, {.width = 120});
  };
  EXPECT_THAT(found({1}, false), HasSubstr("process 42 has neither parent nor terminal"));
  EXPECT_THAT(found({1}, {}), HasSubstr("process 42 has lost its parent"));
  EXPECT_EQ(found({1}, true), "") << "somebody can still end it by ^C";
  EXPECT_THAT(found({900, 1}, false), HasSubstr("a guess")) << "a user's systemd adopts as init";
  manager.executable_name = std::string("supervisord");
  EXPECT_EQ(found({900, 1}, false), "") << "it may have started it";
  manager.executable_name = std::string("systemd");
  EXPECT_EQ(found({901, 900, 1}, false), "");
}

}  // namespace
}  // namespace berth
