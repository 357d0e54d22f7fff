#include "run/extend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/temporary_directory.h"
#include "run/inside.h"

namespace berth {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::HasSubstr;

constexpr uid_t ann = 1000;
constexpr uid_t bob = 1001;
constexpr std::int64_t hour_ms = 3'600'000;
constexpr WallTime noon{1'760'000'000'000};

WallTime after_noon(std::int64_t by_ms) { return {noon.unix_ms + by_ms}; }

Claim lease_held_by(uid_t uid, const std::string& id, const std::string& run,
                    std::int64_t since_ms = 0, std::optional<WallTime> ends = {}) {
  return {.id = id,
          .run = run,
          .uid = uid,
          .since = after_noon(since_ms),
          .devices = {{DeviceId("A"), {}}},
          .ends = ends};
}

/// The id of the lease that is meant; else why none is.
std::string meant_by(const std::string& name, const std::vector<Claim>& claims) {
  const auto claim = own_claim({.claims = claims}, ann, name);
  return claim ? claim->id : claim.error().message();
}

TEST(OwnClaim, IsTheUsersOwnWhateverOthersCallTheirs) {
  const std::vector<Claim> claims = {lease_held_by(bob, "l1", "train"),
                                     lease_held_by(ann, "l2", "train")};
  EXPECT_EQ(meant_by("train", claims), "l2");
  EXPECT_THAT(meant_by("l1", claims), HasSubstr("you hold no lease that is called \"l1\""));
  EXPECT_THAT(meant_by("", claims), HasSubstr("no lease"));
}

TEST(OwnClaim, IsMeantByBeginningOrEndUnlessSeveralAre) {
  const std::vector<Claim> claims = {lease_held_by(ann, "l1", "20251009-aa"),
                                     lease_held_by(ann, "l2", "20251009-bb"),
                                     lease_held_by(ann, "l3", "20251009")};
  EXPECT_EQ(meant_by("-bb", claims), "l2");
  EXPECT_EQ(meant_by("20251009-a", claims), "l1");
  EXPECT_EQ(meant_by("20251009", claims), "l3") << "the whole name is one's";
  EXPECT_THAT(meant_by("2025", claims), HasSubstr("write more of the name"));
  EXPECT_THAT(meant_by("l", claims), HasSubstr("write more of the name"));
}

TEST(OwnClaim, LastIsTheOneGivenLastThatHasARun) {
  EXPECT_EQ(meant_by("last", {lease_held_by(ann, "l1", "a", 1), lease_held_by(ann, "l2", "b", 2),
                              lease_held_by(ann, "l3", "", 3), lease_held_by(bob, "l4", "c", 4)}),
            "l2");
  EXPECT_THAT(meant_by("last", {lease_held_by(bob, "l4", "c")}), HasSubstr("no lease"));
}

TEST(HoursLeft, AreForWhoHasUsedFewerThanThePolicyAllows) {
  Policy policy;
  policy.rules.push_back({.rules = {.hours_at_most = 10}});
  EXPECT_TRUE(has_hours_left(policy, ann)) << "nobody counts them";
  policy.hours_used = std::map<uid_t, double>{{ann, 9.5}, {bob, 10.0}};
  EXPECT_TRUE(has_hours_left(policy, ann));
  const auto none = has_hours_left(policy, bob);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::no_permission);
  EXPECT_THAT(none.error().message(), HasSubstr("used 10 of the 10 GPU-hours"));
  EXPECT_TRUE(has_hours_left(policy, 1002)) << "who has used none";
  EXPECT_TRUE(has_hours_left(Policy{.hours_used = policy.hours_used}, bob)) << "without a limit";
}

/// Ann holds A until one o'clock; bob holds B.
struct Queued {
  std::vector<DeviceId> gathered = {DeviceId("A"), DeviceId("B")};
  std::int64_t came_ms = -1;  // after noon, when ann's lease began
  std::optional<WallTime> other_ends = after_noon(4 * hour_ms);
};
/// Whether an hour more delays somebody who waits so.
bool delays(const Queued& queued, std::chrono::milliseconds more = hours(1)) {
  const Claim own = lease_held_by(ann, "l1", "a", 0, after_noon(hour_ms));
  Claim other = lease_held_by(bob, "l2", "b", 0, queued.other_ends);
  other.devices = {{DeviceId("B"), {}}};
  LedgerView view{.claims = {own, other}};
  view.waiters.push_back(
      {.uid = 1002, .since = after_noon(queued.came_ms), .gathered = queued.gathered});
  const auto free = delays_nobody(view, own, more, noon);
  return !free && free.error().code() == ErrorCode::busy;
}

TEST(MoreTime, DelaysWhoCameFirstAndGathersItsDevices) {
  EXPECT_TRUE(delays({.gathered = {DeviceId("A")}}));
  EXPECT_FALSE(delays({.gathered = {DeviceId("A")}, .came_ms = 1})) << "they came after";
  EXPECT_FALSE(delays({.gathered = {DeviceId("B")}})) << "for other devices";
  EXPECT_FALSE(delays({.gathered = {}}));
}

TEST(MoreTime, DelaysNobodyWhoWaitsForAnotherDeviceLongerStill) {
  EXPECT_FALSE(delays({}));
  EXPECT_TRUE(delays({}, hours(4)));
  EXPECT_TRUE(delays({}, hours(3))) << "until the job has gone it takes some time";
  EXPECT_TRUE(delays({.other_ends = {}})) << "when the other ends nobody knows";
}

class ExtendLease : public testing::Test {
 protected:
  Ledger open(const std::string& directory) {
    auto ledger = Ledger::open({.directory = directory, .kind = LedgerPlace::Kind::named}, clock_);
    EXPECT_TRUE(ledger) << ledger.error().message();
    return *std::move(ledger);
  }
  static Lease claim(Ledger& ledger, const std::string& run,
                     std::optional<std::chrono::milliseconds> limit) {
    const auto lock = ledger.lock(std::chrono::seconds(1));
    EXPECT_TRUE(lock) << lock.error().message();
    auto lease = ledger.claim(*lock, {.run = run, .devices = {{DeviceId("A"), {}}}}, limit);
    EXPECT_TRUE(lease) << lease.error().message();
    return *std::move(lease);
  }
  Result<Extended> extend(const std::string& name, const Policy& policy = {}) {
    return extend_lease(
        ledger_, name, hours(2),
        [&]() -> Result<std::shared_ptr<const Policy>> {
          return std::make_shared<const Policy>(policy);
        },
        clock_);
  }

  TemporaryDirectory folder_;
  FakeClock clock_;
  Ledger ledger_ = open(folder_ / "l");
};

TEST_F(ExtendLease, CountsFromTheEndThatItHas) {
  const Lease lease = claim(ledger_, "r1", hours(1));
  const WallTime began = ledger_.read()->claims.at(0).since;
  clock_.advance(minutes(30));
  const auto extended = extend("r1");
  ASSERT_TRUE(extended) << extended.error().message();
  EXPECT_EQ(extended->run, "r1");
  EXPECT_EQ(extended->ends, (WallTime{began.unix_ms + 3 * hour_ms}));
  EXPECT_EQ(lease.time_limit(), hours(3));
  EXPECT_EQ(ledger_.read()->claims.at(0).ends, extended->ends);
}

TEST_F(ExtendLease, TakesAlongWhatExecBeganUntilThatEndAndNothingElse) {
  const Lease outer = claim(ledger_, "r1", hours(1));
  Ledger within = open(inside_directory(ledger_, outer.id()));
  clock_.advance(minutes(10));
  const Lease begun = claim(within, "r2", minutes(50));
  const Lease shorter = claim(within, "r3", minutes(20));
  const Lease endless = claim(within, "r4", std::nullopt);
  const auto extended = extend("last");
  ASSERT_TRUE(extended) << extended.error().message();
  EXPECT_EQ(begun.time_limit(), minutes(50) + hours(2));
  EXPECT_EQ(shorter.time_limit(), minutes(20));
  EXPECT_EQ(endless.time_limit(), std::nullopt);
}

TEST_F(ExtendLease, RefusesWhatHasNoEndAndWhoseHoursAreUsedUp) {
  const Lease endless = claim(ledger_, "r1", std::nullopt);
  const Lease lease = claim(ledger_, "r2", hours(1));
  const auto no_end = extend("r1");
  ASSERT_FALSE(no_end);
  EXPECT_THAT(no_end.error().message(), HasSubstr("run r1 has no time limit"));
  Policy policy;
  policy.rules.push_back({.rules = {.hours_at_most = 10}});
  policy.hours_used = std::map<uid_t, double>{{::geteuid(), 10.0}};
  const auto no_hours = extend("r2", policy);
  ASSERT_FALSE(no_hours);
  EXPECT_EQ(no_hours.error().code(), ErrorCode::no_permission);
  EXPECT_EQ(lease.time_limit(), hours(1)) << "nothing was moved";
}

}  // namespace
}  // namespace berth
