// The queue's order, and weeks of it.

#include "place/order.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "place/queue_lab.h"

namespace berth {
namespace {

using namespace literals;
using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t hour_ns = 3'600'000'000'000;
constexpr std::int64_t hour_ms = 3'600'000;
constexpr hours hours_of_share(8);

TicketFacts ticket(std::string name, std::int64_t hours_in, Priority asked = Priority::normal,
                   uid_t uid = 1000) {
  return {.uid = uid,
          .asked = asked,
          .place = hours_in * hour_ns,
          .arrived = hours_in * hour_ns,
          .name = std::move(name)};
}

std::vector<std::string> in_order(const std::vector<TicketFacts>& tickets, const Policy& policy) {
  std::vector<std::string> names;
  for (const QueueTurn& turn : order(tickets, policy)) names.push_back(tickets[turn.ticket].name);
  return names;
}

Policy allows(Priority highest, UserRules rules = {}) {
  rules.highest_priority = highest;
  return {.rules = {{.rules = rules}}};
}

TEST(Order, WhoCameFirstGoesFirst) {
  EXPECT_THAT(in_order({ticket("b", 2), ticket("a", 1), ticket("c", 3)}, {}),
              ElementsAre("a", "b", "c"));
}

TEST(Order, AStepOfPriorityIsWorthSoMuchWaiting) {
  const Policy policy = allows(Priority::high);
  EXPECT_THAT(in_order({ticket("early", 0), ticket("late", 11, Priority::high)}, policy),
              ElementsAre("late", "early"));
  EXPECT_THAT(in_order({ticket("early", 0), ticket("late", 13, Priority::high)}, policy),
              ElementsAre("early", "late"))
      << "who has waited longer is overtaken no more";
  EXPECT_THAT(in_order({ticket("low", 0, Priority::low), ticket("later", 11)}, policy),
              ElementsAre("later", "low"));
}

TEST(Order, ATicketThatClaimsMoreThanItsOwnerMayGainsNothing) {
  const std::vector<TicketFacts> tickets = {ticket("early", 0), ticket("liar", 1, Priority::high)};
  EXPECT_THAT(in_order(tickets, {}), ElementsAre("early", "liar"));
  EXPECT_EQ(order(tickets, {})[1].counted, Priority::normal);
  const Policy of_one = {.rules = {{.who = PolicyRule::For::user,
                                    .name = "7",
                                    .rules = {.highest_priority = Priority::high}}}};
  EXPECT_THAT(in_order(tickets, of_one), ElementsAre("early", "liar"));
  EXPECT_THAT(in_order({ticket("early", 0), ticket("boss", 1, Priority::high, 7)}, of_one),
              ElementsAre("boss", "early"));
}

Policy with_use(std::map<uid_t, double> hours) {
  return {.fair_share = hours_of_share, .hours_used = std::move(hours)};
}

TEST(Order, WhoHasUsedMoreStandsFurtherBackAndIsOvertakenByNobodyWhoComesMuchLater) {
  const Policy policy = with_use({{1, 200.0}, {2, 50.0}});
  const auto of = [](std::string name, std::int64_t hours_in, uid_t uid) {
    return ticket(std::move(name), hours_in, Priority::normal, uid);
  };
  EXPECT_THAT(in_order({of("most", 0, 1), of("some", 1, 2), of("none", 2, 3)}, policy),
              ElementsAre("none", "some", "most"));
  EXPECT_THAT(in_order({of("most", 0, 1), of("none", 9, 3)}, policy), ElementsAre("most", "none"));
  const std::vector<TicketFacts> one = {of("some", 0, 2)};
  EXPECT_EQ(order(one, policy)[0].stands_at - one[0].place,
            std::chrono::duration_cast<std::chrono::nanoseconds>(hours(2)).count())
      << "a quarter of what the first has used";
}

TEST(Order, WithoutCountedHoursTheShareMovesNobody) {
  Policy policy = with_use({{1, 200.0}});
  policy.hours_used.reset();
  EXPECT_THAT(in_order({ticket("a", 0, Priority::normal, 1), ticket("b", 1)}, policy),
              ElementsAre("a", "b"));
  policy = with_use({{1, 200.0}});
  policy.fair_share = hours(0);
  EXPECT_THAT(in_order({ticket("a", 0, Priority::normal, 1), ticket("b", 1)}, policy),
              ElementsAre("a", "b"));
}

/// Where this fails, the order has changed. Then raise `order_rule`: by it an older berth knows
/// that another order counts. Write the new order down here.
TEST(Order, AnotherOrderHasAnotherNumber) {
  std::vector<TicketFacts> tickets;
  for (int i = 0; i < 12; ++i) {
    const auto asked = static_cast<Priority>(static_cast<int>(Priority::low) + i % 3);
    tickets.push_back(ticket(std::string(1, static_cast<char>('a' + i)), i, asked,
                             static_cast<uid_t>(1 + i % 4)));
  }
  Policy policy = allows(Priority::high);
  policy.priority_step = hours(3);
  policy.fair_share = hours(6);
  policy.hours_used = std::map<uid_t, double>{{1, 100.0}, {2, 50.0}, {3, 25.0}};
  std::string names;
  for (const std::string& name : in_order(tickets, policy)) names += name;
  EXPECT_EQ(fmt::format("{} {}", order_rule, names), "2 cbfdhlaegikj");
}

TEST(Policy, TheUsersOwnTableCountsBeforeThoseOfGroupsAndOfAll) {
  const Policy policy = {
      .rules = {{.rules = {.devices_at_most = 1, .time = "1h"}},
                {.who = PolicyRule::For::group, .name = "staff", .rules = {.devices_at_most = 4}},
                {.who = PolicyRule::For::group, .name = "all", .rules = {.devices_at_most = 2}},
                {.who = PolicyRule::For::user, .name = "anna", .rules = {.devices_at_most = 8}}}};
  EXPECT_EQ(rules_for(policy, 1, {"anna", {"staff"}}).devices_at_most, 8);
  EXPECT_EQ(rules_for(policy, 2, {"ben", {"all", "staff"}}).devices_at_most, 4);
  EXPECT_EQ(rules_for(policy, 3, {"eve", {}}).devices_at_most, 1);
  EXPECT_EQ(rules_for(policy, 1, {"anna", {"staff"}}).time, "1h");
}

TEST(Policy, QuietHoursGoOverMidnight) {
  const QuietHours night = parse_quiet_hours("22:00-07:00").value();
  const auto at = [&](int hour) { return is_quiet(night, WallTime{hour * hour_ms}, {}); };
  EXPECT_TRUE(at(22) && at(23) && at(0) && at(6));
  EXPECT_FALSE(at(7) || at(12) || at(21));
  EXPECT_TRUE(is_quiet(night, WallTime{21 * hour_ms}, hours(1))) << "by the local time";
  EXPECT_EQ(typed(night), "22:00-07:00");
  for (const char* wrong : {"22-07", "22:00", "22:00-22:00", "24:00-07:00", "22:60-07:00", ""}) {
    EXPECT_FALSE(parse_quiet_hours(wrong)) << wrong;
  }
}

TEST(Policy, InQuietHoursNoJobOfTheirsStartsAndOthersDo) {
  Policy policy = {.rules = {{.who = PolicyRule::For::user,
                              .name = "eve",
                              .rules = {.quiet_hours = parse_quiet_hours("22:00-07:00").value()}}}};
  policy.who = [](uid_t uid) {
    return PolicyUser{.name = uid == 3 ? "eve" : "anna", .groups = {}};
  };
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).build();
  const auto starts = [&](uid_t uid, int hour) {
    host.taken = WallTime{hour * hour_ms};
    return place_newcomer(host, {}, {.policy = &policy, .uid = uid});
  };
  EXPECT_TRUE(starts(3, 21).satisfied() && starts(3, 7).satisfied());
  EXPECT_TRUE(starts(1, 23).satisfied()) << "they are another's hours";
  const Placement refused = starts(3, 23);
  EXPECT_FALSE(refused.satisfied());
  EXPECT_TRUE(refused.possible) << "who waits is given it later";
  ASSERT_EQ(refused.refused.size(), 1U);
  EXPECT_EQ(refused.refused[0].rule, Rule::quiet_hours);
}

// --- who may start, and when ---------------------------------------------------------------

Waiter waiter(int devices, std::vector<DeviceId> gathered = {},
              std::optional<std::chrono::milliseconds> limit = {}, uid_t uid = 1000) {
  Waiter one;
  one.uid = uid;
  one.request = to_json(Request{.devices = devices});
  one.time_limit = limit;
  one.gathered = std::move(gathered);
  return one;
}

/// A is free, B is leased for another hour; the head wants both and gathers them.
Snapshot gathering() {
  Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).claim("x").build();
  host.claims[0].ends = WallTime{host.taken.unix_ms + hour_ms};
  host.waiters = {waiter(2, {DeviceId("A"), DeviceId("B")})};
  return host;
}

TEST(Backfill, AShortJobMayHaveWhatIsGatheredWhileItSurelyEndsBefore) {
  const Snapshot host = gathering();
  const auto placed = [&](std::optional<std::chrono::milliseconds> limit) {
    return place_newcomer(host, Request{}, {.time_limit = limit}).satisfied();
  };
  EXPECT_TRUE(placed(minutes(30)));
  EXPECT_FALSE(placed(minutes(59))) << "it is stopped, and lets go, within two minutes";
  EXPECT_FALSE(placed(minutes(61)));
  EXPECT_FALSE(placed({})) << "it may run for ever";
}

TEST(Backfill, NobodyIsLetInWhereTheGatheringHasNoKnownEnd) {
  const PlaceLimits a_minute{.time_limit = minutes(1)};
  Snapshot host = gathering();
  host.claims[0].ends.reset();
  EXPECT_FALSE(place_newcomer(host, Request{}, a_minute).satisfied());
  host.claims[0].ends = WallTime{host.taken.unix_ms - 1};
  EXPECT_FALSE(place_newcomer(host, Request{}, a_minute).satisfied()) << "overdue";
}

TEST(Backfill, WhoEndsInTimeDelaysNobodyWhoWaitsBehindTheHead) {
  Snapshot host = gathering();
  host.waiters.push_back(waiter(1, {}, minutes(20)));
  EXPECT_FALSE(place_newcomer(host, Request{}, {.time_limit = minutes(10)}).satisfied())
      << "the second in the queue may have it, and came before";
}

TEST(Limit, ATicketBeyondItsUsersLimitGathersNothing) {
  const Policy policy = allows(Priority::normal, {.devices_at_most = 1});
  Snapshot host = gathering();
  host.claims[0].uid = 1000;
  const PlaceLimits other{.policy = &policy, .uid = 1001};
  EXPECT_TRUE(place_newcomer(host, Request{}, other).satisfied());
  EXPECT_FALSE(place_newcomer(host, Request{}, {.policy = &policy, .uid = 1000}).satisfied());
}

constexpr const char* not_understood = "{\"berth_request\": 1, \"devices\": {}}";

TEST(Limit, ATicketThatIsNotUnderstoodGathersForTenMinutesAndThenTheNextDoes) {
  Snapshot host = gathering();
  host.waiters.push_back(host.waiters[0]);
  host.waiters[0].request = not_understood;
  const auto of_whom = [&](std::chrono::milliseconds age) {
    host.waiters[0].since = WallTime{host.taken.unix_ms - age.count()};
    const std::vector<Kept> kept = reserved_before(host, 2, Request{});
    return kept.empty() ? -1 : static_cast<int>(kept[0].waiter);
  };
  EXPECT_EQ(of_whom(minutes(9)), 0);
  EXPECT_EQ(of_whom(gather_limit), 1) << "however long its process lives";
  EXPECT_EQ(of_whom(-hours(1)), 1) << "where the date was set back it has no age";
  host.waiters.pop_back();
  EXPECT_EQ(of_whom(gather_limit), -1);
}

TEST(Limit, ATicketThatCanNeverStartGathersNothing) {
  Snapshot host = gathering();
  EXPECT_FALSE(place_newcomer(host, Request{}, {}).satisfied());
  host.waiters[0].request =
      to_json(Request{.devices = 2, .memory = MemoryShare(Bytes{std::uint64_t{1} << 50U})});
  EXPECT_TRUE(place_newcomer(host, Request{}, {}).satisfied());
}

TEST(Limit, ATicketThatIsNotUnderstoodGathersWhatItsOwnerMayHave) {
  const Policy policy = allows(Priority::normal, {.devices_at_most = 1});
  Snapshot host = gathering();
  host.waiters[0].request = not_understood;
  host.waiters[0].since = host.taken;
  const PlaceLimits other{.policy = &policy, .uid = 1001};
  EXPECT_FALSE(place_newcomer(host, Request{}, other).satisfied()) << "one it may have: A";
  host.waiters[0].gathered = {DeviceId("B"), DeviceId("A")};
  EXPECT_TRUE(place_newcomer(host, Request{}, other).satisfied()) << "not both";
  host.claims[0].uid = 1000;
  host.waiters[0].gathered = {DeviceId("A")};
  EXPECT_TRUE(place_newcomer(host, Request{}, other).satisfied()) << "it has what it may have";
}

TEST(Limit, SoManyJobsShareADeviceAndNoMore) {
  const Policy policy = allows(Priority::normal, {.jobs_per_device = 2});
  const PlaceLimits limits{.policy = &policy, .uid = 1000};
  const Request share{.memory = MemoryShare(1_GiB)};
  Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).claim("x", 1_GiB).build();
  EXPECT_TRUE(place(host, share, limits).satisfied());
  host.claims.push_back(host.claims[0]);
  const Placement third = place(host, share, limits);
  ASSERT_EQ(third.refused.size(), 1U);
  EXPECT_EQ(third.refused[0].rule, Rule::leased);
  EXPECT_EQ(third.refused[0].text.english(),
            "shared by 2 jobs, and the policy allows no more than 2");
  EXPECT_TRUE(third.refused[0].may_change) << "one of them ends one day";
  EXPECT_TRUE(place(host, share, {.uid = 1000}).satisfied()) << "without a policy";
}

TEST(Limit, ATicketGathersNoMoreThanItWants) {
  Snapshot host = gathering();
  host.waiters = {waiter(1, {DeviceId("B"), DeviceId("A")})};
  host.waiters[0].request = to_json(Request{.only = {{"B"}}});
  EXPECT_TRUE(place_newcomer(host, Request{}, {}).satisfied());
}

TEST(Limit, OnlyTheFirstWhoHasToWaitGathers) {
  Snapshot host = gathering();
  host.waiters = {waiter(2), waiter(2, {DeviceId("A"), DeviceId("B")})};
  EXPECT_TRUE(place_newcomer(host, Request{}, {}).satisfied());
}

TEST(Forecast, TellsWhenEachStartsAtTheLatest) {
  Snapshot host = gathering();
  host.waiters = {waiter(2, {}, hours(2)), waiter(1, {}, minutes(30)), waiter(1)};
  const WallTime now = host.taken;
  EXPECT_THAT(expected_starts(host, nullptr), ElementsAre(WallTime{now.unix_ms + hour_ms}, now,
                                                          WallTime{now.unix_ms + 3 * hour_ms}));
  host.claims[0].ends.reset();
  EXPECT_THAT(expected_starts(host, nullptr)[0], std::nullopt);
}

TEST(GatherPhase, HoldsTwiceAsLongEachTimeAndLetsGoInBetween) {
  EXPECT_TRUE(gather_phase(minutes(0)).gathers);
  EXPECT_EQ(gather_phase(minutes(0)).until, minutes(10));
  EXPECT_FALSE(gather_phase(minutes(10)).gathers);
  EXPECT_EQ(gather_phase(minutes(25)).until, minutes(40));
  EXPECT_EQ(gather_phase(minutes(50)).until, minutes(90));
  EXPECT_GT(gather_phase(hours(24 * 365)).until, hours(24 * 365));
}

// --- weeks of it ----------------------------------------------------------------------------

constexpr std::int64_t week_ms = 7 * 24 * hour_ms;

TEST(QueueWeeks, NobodyStarvesNoLimitIsPassedNoDeviceIsGivenTwiceAndOrderIsKept) {
  Policy policy = allows(Priority::normal, {.devices_at_most = 6});
  policy.rules.push_back({.who = PolicyRule::For::user,
                          .name = "1001",
                          .rules = {.highest_priority = Priority::high, .devices_at_most = 8}});
  auto jobs = lab_jobs(16, 3 * week_ms, 0.85, 7);
  std::erase_if(jobs, [](const LabJob& job) { return job.devices > 6; });
  QueueLab lab(16, policy, std::move(jobs));
  lab.run(5 * week_ms);
  EXPECT_THAT(lab.faults, IsEmpty());
  EXPECT_EQ(lab.waiting(), 0U) << "somebody starves";
  // A user's equal jobs start in the order in which they came.
  std::map<std::tuple<uid_t, int, std::optional<std::int64_t>, Priority>, std::int64_t> last;
  std::int64_t longest = 0;
  for (const LabJob& job : lab.jobs()) {
    ASSERT_TRUE(job.started_ms);
    longest = std::max(longest, *job.started_ms - job.arrives_ms);
    if (job.limit_ms) continue;
    auto& before = last[{job.uid, job.devices, job.limit_ms, policy.counted(job.asked, job.uid)}];
    EXPECT_GE(*job.started_ms, before);
    before = std::max(before, *job.started_ms);
  }
  EXPECT_LT(longest, 5 * 24 * hour_ms);
  EXPECT_GT(lab.jobs().size(), 300U);
}

TEST(QueueWeeks, InAMonthNobodyStartsInQuietHoursOrHasMoreHoursThanAllowedByOneRound) {
  Policy policy{.hours_used = std::map<uid_t, double>{}};
  const QuietHours night = parse_quiet_hours("22:00-07:00").value();
  policy.rules = {{.who = PolicyRule::For::user, .name = "1001", .rules = {.quiet_hours = night}},
                  {.who = PolicyRule::For::user, .name = "1002", .rules = {.hours_at_most = 200}},
                  {.rules = {.devices_at_most = 2}}};
  auto jobs = lab_jobs(4, 4 * week_ms, 0.5, 11);
  std::erase_if(jobs, [](const LabJob& job) { return job.devices > 2; });
  for (LabJob& job : jobs) job.uid = 1001 + job.uid % 3;
  QueueLab lab(4, policy, std::move(jobs));
  lab.run(4 * week_ms);
  EXPECT_THAT(lab.faults, IsEmpty());
  double used = 0;
  int of_quiet = 0;
  for (const LabJob& job : lab.jobs()) {
    if (!job.started_ms) continue;
    if (job.uid == 1001) {
      ++of_quiet;
      EXPECT_FALSE(is_quiet(night, WallTime{*job.started_ms}, {})) << *job.started_ms;
    }
    if (job.uid == 1002) used += static_cast<double>(job.devices * job.lasts_ms) / hour_ms;
  }
  EXPECT_GT(of_quiet, 20);
  // The last round may begin below the limit: 2 devices for a day at most.
  EXPECT_GE(used, 200);
  EXPECT_LE(used, 200 + 2 * 24);
}

TEST(QueueWeeks, InAMonthNoMoreJobsShareADeviceThanThePolicyAllows) {
  std::vector<LabJob> jobs;
  for (int i = 0; i < 28 * 24; ++i) {
    jobs.push_back({.arrives_ms = i * hour_ms, .lasts_ms = 5 * hour_ms, .gib = 10});
  }
  const auto most_at_once = [&](UserRules rules) {
    QueueLab lab(2, allows(Priority::normal, rules), jobs);
    lab.run(4 * week_ms);
    EXPECT_THAT(lab.faults, IsEmpty());
    EXPECT_EQ(lab.waiting(), 0U);
    return lab.most_on_a_device();
  };
  EXPECT_EQ(most_at_once({.jobs_per_device = 3}), 3);
  EXPECT_GT(most_at_once({}), 3) << "nothing is shown where it is so by itself";
}

/// One after the other, always one more than fits.
std::vector<LabJob> endless_small_jobs_and_a_large_one() {
  std::vector<LabJob> jobs;
  for (int i = 0; i < 4 * 7 * 24; ++i) {
    jobs.push_back({.uid = 1001, .arrives_ms = i * hour_ms / 4, .lasts_ms = 3 * hour_ms});
  }
  jobs.push_back({.uid = 1000, .devices = 8, .arrives_ms = 10 * hour_ms, .lasts_ms = hour_ms});
  return jobs;
}

std::optional<std::int64_t> start_of_the_large_one(bool is_gathering) {
  QueueLab lab(8, {}, endless_small_jobs_and_a_large_one());
  lab.is_gathering = is_gathering;
  lab.run(week_ms);
  for (const LabJob& job : lab.jobs()) {
    if (job.devices == 8) return job.started_ms;
  }
  return std::nullopt;
}

TEST(QueueWeeks, ALargeJobAmongEndlessSmallOnesStarts) {
  EXPECT_FALSE(start_of_the_large_one(false)) << "nothing is shown where it starts by itself";
  const auto started = start_of_the_large_one(true);
  ASSERT_TRUE(started);
  EXPECT_LT(*started, 34 * hour_ms) << "within a day of coming";
}

/// One user asks for much, all at once. Another asks now and then.
std::vector<LabJob> a_heap_and_a_few() {
  std::vector<LabJob> jobs;
  for (int i = 0; i < 240; ++i) {
    jobs.push_back({.uid = 1001, .arrives_ms = i * hour_ms / 20, .lasts_ms = 4 * hour_ms});
  }
  for (int i = 0; i < 24; ++i) {
    jobs.push_back({.uid = 1002, .arrives_ms = (5 + i * 4) * hour_ms, .lasts_ms = hour_ms});
  }
  return jobs;
}

/// The mean wait of each of the two.
std::map<uid_t, double> mean_waits(Policy policy) {
  QueueLab lab(8, std::move(policy), a_heap_and_a_few());
  lab.run(6 * week_ms);
  EXPECT_THAT(lab.faults, IsEmpty());
  EXPECT_EQ(lab.waiting(), 0U) << "somebody starves";
  std::map<uid_t, double> waits;
  std::map<uid_t, int> jobs;
  for (const LabJob& job : lab.jobs()) {
    waits[job.uid] += static_cast<double>(job.started_ms.value_or(0) - job.arrives_ms) / hour_ms;
    ++jobs[job.uid];
  }
  for (auto& [uid, wait] : waits) wait /= jobs[uid];
  return waits;
}

TEST(QueueWeeks, AFairShareLetsInWhoHasUsedLittleAndStarvesNobody) {
  const auto by_coming = mean_waits({});
  Policy fair = with_use({});
  fair.fair_share = hours(48);
  const auto shared = mean_waits(fair);
  EXPECT_LT(shared.at(1002), by_coming.at(1002) * 0.6);
  EXPECT_LT(shared.at(1001), by_coming.at(1001) * 1.1);
}

TEST(QueueWeeks, LowPriorityStartsAmongEndlessHighOnes) {
  Policy policy = allows(Priority::high);
  std::vector<LabJob> jobs;
  for (int i = 0; i < 4 * 7 * 24; ++i) {
    jobs.push_back({.arrives_ms = i * hour_ms / 4,
                    .lasts_ms = hour_ms,
                    .asked = i == 50 ? Priority::low : Priority::high});
  }
  QueueLab lab(3, policy, std::move(jobs));
  lab.run(week_ms);
  const LabJob& low = lab.jobs()[50];
  ASSERT_TRUE(low.started_ms);
  EXPECT_GT(*low.started_ms - low.arrives_ms, 12 * hour_ms);
}

}  // namespace
}  // namespace berth
