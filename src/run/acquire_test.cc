#include "run/acquire.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "base/signals.h"
#include "base/temporary_directory.h"
#include "run/turn.h"
#include "snapshot/builder.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace literals;

/// The clock does what the other processes of the machine would do meanwhile.
class BusyClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return clock_.now(); }
  [[nodiscard]] WallTime wall_now() const override { return clock_.wall_now(); }
  void wait_until(Instant deadline) override {
    clock_.wait_until(deadline);
    if (meanwhile) meanwhile();
  }
  void advance(Duration by) { clock_.advance(by); }
  void set_wall(WallTime to) { clock_.set_wall(to); }
  std::function<void()> meanwhile;

 private:
  FakeClock clock_;
};

class AcquireTest : public testing::Test {
 protected:
  AcquireTest() : ledger_(make_ledger()) {}

  Ledger make_ledger() {
    auto ledger =
        Ledger::open({.directory = folder_ / "l", .kind = LedgerPlace::Kind::named}, clock_);
    EXPECT_TRUE(ledger) << ledger.error().message();
    return *std::move(ledger);
  }

  std::variant<Acquired, NotAcquired> get(int devices,
                                          std::optional<milliseconds> wait = milliseconds(0)) {
    options_.request.devices = devices;
    options_.wait = wait;
    auto answer = acquire(ledger_, look_, clock_, options_);
    EXPECT_TRUE(answer) << answer.error().message();
    if (!answer) return NotAcquired{};
    return *std::move(answer);
  }
  Acquired must_get(int devices, std::optional<milliseconds> wait = milliseconds(0)) {
    auto answer = get(devices, wait);
    EXPECT_TRUE(std::holds_alternative<Acquired>(answer));
    return std::get<Acquired>(std::move(answer));
  }
  /// Somebody else's place in the queue.
  Ticket waiter(const Request& request) {
    return *ledger_.queue({.command = "other", .request = to_json(request)},
                          {DeviceId("A"), DeviceId("B")});
  }
  static std::vector<std::string> names(const Placement& placement) {
    std::vector<std::string> names;
    for (const Choice& choice : placement.chosen) names.push_back(choice.device.text());
    return names;
  }

  TemporaryDirectory folder_;
  BusyClock clock_;
  Ledger ledger_;
  Snapshot machine_ = SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 80_GiB).build();
  TakeSnapshot look_ = [this] { return Result<Snapshot>(machine_); };
  AcquireOptions options_{.claim = {.run = "r1", .command = "python a.py"}};
};

TEST_F(AcquireTest, GivesFreeDevicesAtOnce) {
  const Acquired got = must_get(2);
  EXPECT_THAT(names(got.placement), ElementsAre("A", "B"));
  const auto view = ledger_.read();
  ASSERT_THAT(view->claims, SizeIs(1));
  EXPECT_THAT(view->claims[0].devices, SizeIs(2));
  EXPECT_EQ(view->claims[0].command, "python a.py");
}

TEST_F(AcquireTest, ItsLeaseSaysAllThatItsRunHasAskedItToSay) {
  options_.claim.held_by = CapTier::shim;
  options_.claim.isolated_by = "landlock";
  options_.time_limit = std::chrono::hours(1);
  options_.request.memory = 8_GiB;
  const Acquired got = must_get(1);
  const Claim claim = ledger_.read()->claims[0];
  EXPECT_EQ(claim.run, "r1");
  EXPECT_EQ(claim.held_by, CapTier::shim);
  EXPECT_EQ(claim.isolated_by, "landlock");
  EXPECT_EQ(claim.ends, (WallTime{claim.since.unix_ms + 3'600'000}));
  EXPECT_THAT(claim.devices, ElementsAre(ClaimedDevice{DeviceId("A"), 8_GiB}));
}

TEST_F(AcquireTest, NeverGivesADeviceTwice) {
  const Acquired first = must_get(1);
  const Acquired second = must_get(1);
  EXPECT_NE(names(first.placement), names(second.placement));
  const auto third = get(1);
  ASSERT_TRUE(std::holds_alternative<NotAcquired>(third));
  EXPECT_EQ(std::get<NotAcquired>(third).why, NotAcquired::Why::none_free);
  EXPECT_THAT(std::get<NotAcquired>(third).placement.refused, SizeIs(2));
  EXPECT_THAT(ledger_.read()->waiters, IsEmpty()) << "who does not wait leaves no ticket";
}

TEST_F(AcquireTest, GivesNoDeviceThatTheLookCallsFailed) {
  machine_.faults = {{machine_.devices.front().id}};
  const Acquired got = must_get(1);
  EXPECT_THAT(names(got.placement), ElementsAre("B"));
  const auto more = get(1);
  ASSERT_TRUE(std::holds_alternative<NotAcquired>(more));
  EXPECT_EQ(std::get<NotAcquired>(more).placement.refused.at(0).rule, Rule::failed);
}

TEST_F(AcquireTest, AWaiterIsNotPassedOverForNotTakingAFailedDevice) {
  Snapshot machine = machine_;
  machine.waiters = {{.request = to_json(Request{.only = {{"A"}}})}};
  EXPECT_THAT(able_to_start(machine, 1, nullptr), SizeIs(1));
  machine.faults = {{DeviceId("A")}};
  EXPECT_THAT(able_to_start(machine, 1, nullptr), IsEmpty());
}

TEST_F(AcquireTest, TakesAllOrNothing) {
  const Acquired first = must_get(1);
  EXPECT_TRUE(std::holds_alternative<NotAcquired>(get(2)));
  EXPECT_THAT(ledger_.read()->claims, SizeIs(1));
}

TEST_F(AcquireTest, DoesNotWaitForWhatCanNeverBe) {
  const auto answer = get(3, std::nullopt);
  ASSERT_TRUE(std::holds_alternative<NotAcquired>(answer));
  EXPECT_EQ(std::get<NotAcquired>(answer).why, NotAcquired::Why::never_possible);
}

TEST_F(AcquireTest, WaitsUntilALeaseEnds) {
  Acquired first = must_get(2);
  const Instant before = clock_.now();
  clock_.meanwhile = [&] {
    if (clock_.now() - before > seconds(60)) static_cast<void>(first.lease.end(ledger_));
  };
  const Acquired got = must_get(1, std::nullopt);
  EXPECT_GE(got.waited, seconds(60));
  EXPECT_LE(got.waited, seconds(63));
  EXPECT_THAT(ledger_.read()->waiters, IsEmpty());
}

TEST_F(AcquireTest, ARuleHoldsAWaiterForAsLongAsItStands) {
  const auto policy = std::make_shared<Policy>();
  policy->known[::geteuid()].devices_at_most = 1;
  std::shared_ptr<const Policy> rules = policy;
  options_.policy = [&] { return Result<std::shared_ptr<const Policy>>(rules); };
  options_.limits.uid = ::geteuid();
  const Acquired first = must_get(1);
  const Instant before = clock_.now();
  clock_.meanwhile = [&] {
    if (clock_.now() - before > seconds(60)) rules = nullptr;  // its file is deleted
  };
  const Acquired got = must_get(1, minutes(10));
  EXPECT_GE(got.waited, seconds(60));
  EXPECT_LE(got.waited, seconds(120));
}

TEST_F(AcquireTest, TakesNothingThatWasClaimedWhileItWaitedForTheLock) {
  std::optional<Acquired> first = must_get(2);
  std::optional<HostLock> lock;
  std::optional<Lease> other;
  const Instant before = clock_.now();
  clock_.meanwhile = [&] {
    if (first) {  // all is free now, but nobody else can claim it
      ASSERT_TRUE(first->lease.end(ledger_));
      first.reset();
      lock.emplace(*ledger_.lock(seconds(1)));
    } else if (lock) {  // all is taken again
      other.emplace(*ledger_.claim(*lock, {.devices = {{DeviceId("A"), {}}, {DeviceId("B"), {}}}}));
      lock.reset();
    } else if (other && clock_.now() - before > seconds(60)) {
      ASSERT_TRUE(other->end(ledger_));
      other.reset();
    }
  };
  const Acquired got = must_get(1, std::nullopt);
  EXPECT_FALSE(other) << "it was given " << got.placement.chosen.at(0).device.text()
                      << ", which is the other's";
  EXPECT_GE(got.waited, seconds(60));
}

TEST_F(AcquireTest, LooksAtTheMachineWithoutTheLock) {
  std::optional<Acquired> all = must_get(2);
  int looks = 0;
  look_ = [&] {
    ++looks;
    EXPECT_TRUE(ledger_.lock(milliseconds(0))) << "at look " << looks;
    return Result<Snapshot>(machine_);
  };
  clock_.meanwhile = [&] {  // the first waits at least once
    if (looks == 0 || !all) return;
    ASSERT_TRUE(all->lease.end(ledger_));
    all.reset();
  };
  (void)must_get(1, std::nullopt);
  EXPECT_GE(looks, 2) << "when it came, and when its turn came";
}

TEST_F(AcquireTest, HoldsNothingWhileItWaits) {
  const Acquired first = must_get(1);
  std::size_t most = 0;
  clock_.meanwhile = [&] { most = std::max(most, ledger_.read()->claims.size()); };
  EXPECT_TRUE(std::holds_alternative<NotAcquired>(get(2, seconds(10))));
  EXPECT_EQ(most, 1U);
}

TEST_F(AcquireTest, GivesUpWhenItsTimeIsOver) {
  const Acquired first = must_get(2);
  const Instant before = clock_.now();
  const auto answer = get(1, minutes(3));
  ASSERT_TRUE(std::holds_alternative<NotAcquired>(answer));
  EXPECT_EQ(std::get<NotAcquired>(answer).why, NotAcquired::Why::timed_out);
  EXPECT_EQ(clock_.now() - before, minutes(3));
  EXPECT_THAT(ledger_.read()->waiters, IsEmpty());
}

TEST_F(AcquireTest, WaitsAsLongWhenTheDateIsSet) {
  const Acquired first = must_get(2);
  const Instant before = clock_.now();
  clock_.meanwhile = [&] { clock_.set_wall({clock_.wall_now().unix_ms - 86'400'000}); };
  EXPECT_TRUE(std::holds_alternative<NotAcquired>(get(1, minutes(1))));
  EXPECT_EQ(clock_.now() - before, minutes(1));
}

TEST_F(AcquireTest, EndsWhenInterrupted) {
  const Acquired first = must_get(2);
  int asked = 0;
  options_.interrupted = [&] { return ++asked > 5; };
  const auto answer = get(1, std::nullopt);
  ASSERT_TRUE(std::holds_alternative<NotAcquired>(answer));
  EXPECT_EQ(std::get<NotAcquired>(answer).why, NotAcquired::Why::interrupted);
  EXPECT_THAT(ledger_.read()->waiters, IsEmpty());
}

TEST_F(AcquireTest, TellsNewsOnlyWhenSomethingChanged) {
  Acquired first = must_get(1);
  Acquired second = must_get(1);
  std::vector<WaitingNews> news;
  options_.on_news = [&](const WaitingNews& told) { news.push_back(told); };
  const Instant before = clock_.now();
  clock_.meanwhile = [&] {
    if (clock_.now() - before > seconds(30)) static_cast<void>(first.lease.end(ledger_));
  };
  EXPECT_TRUE(std::holds_alternative<NotAcquired>(get(2, minutes(2))));
  ASSERT_THAT(news, SizeIs(2)) << "at first, and when one of the two came free";
  EXPECT_EQ(news[0].position, 1);
  EXPECT_THAT(news[0].placement.refused, SizeIs(2));
  EXPECT_EQ(news[0].gives_up_in, minutes(2));
  EXPECT_THAT(news[1].placement.available, SizeIs(1));
}

TEST_F(AcquireTest, LeavesAnEarlierWaiterItsDevice) {
  Ticket earlier = waiter({.devices = 2});
  EXPECT_TRUE(std::holds_alternative<NotAcquired>(get(1))) << "a fresh arrival respects the queue";
}

TEST_F(AcquireTest, IsNotBlockedByAWaiterThatCannotUseWhatIsFree) {
  const Ticket earlier = waiter({.only = {{"B"}}});
  const Acquired got = must_get(1);
  EXPECT_THAT(names(got.placement), ElementsAre("A"));
}

TEST_F(AcquireTest, PassesOverAStoppedHeadWithinFiveSeconds) {
  const Ticket stopped = waiter({.devices = 2});  // never beats again
  const Acquired got = must_get(1, minutes(10));
  EXPECT_LE(got.waited, seconds(5));
  EXPECT_THAT(ledger_.read()->waiters, SizeIs(1)) << "the stopped one keeps its place";
}

TEST_F(AcquireTest, PassesOverAHeadThatIsAwakeAndDoesNotTakeItsTurn) {
  Ticket idle = waiter({.devices = 2});
  clock_.meanwhile = [&] { idle.beat(clock_.now()); };
  const Acquired got = must_get(1, minutes(10));
  EXPECT_LE(got.waited, seconds(5));
  EXPECT_GE(got.waited, seconds(4)) << "not before it had its chance";
}

TEST_F(AcquireTest, LeavesItsTurnToWhoCameLaterAndStandsBeforeItNow) {
  Acquired first = must_get(2);
  std::optional<Ticket> later;
  std::optional<Instant> ended;
  clock_.meanwhile = [&] {
    const auto ahead = ledger_.tickets_before({});
    if (!later && ahead && ahead->size() == 1) {
      const std::string own = folder_ / ("l/ticket-" + ahead->front());
      later.emplace(waiter({.devices = 2}));
      // A change of a ticket's file moves it to the end of the queue.
      while (ledger_.tickets_before({})->front() != later->id()) {
        ASSERT_EQ(::chmod(own.c_str(), 0600), 0);
        ASSERT_EQ(::chmod(own.c_str(), 0644), 0);
      }
      ASSERT_TRUE(first.lease.end(ledger_));
      ended = clock_.now();
    }
    if (later) later->beat(clock_.now());
  };
  const Acquired got = must_get(1, minutes(10));
  ASSERT_TRUE(ended);
  EXPECT_GE(clock_.now() - *ended, seconds(4)) << "not before that one had its chance";
}

TEST_F(AcquireTest, GathersDevicesAtTheHeadForABoundedTime) {
  const Acquired first = must_get(1);  // for ever
  bool gathered = false;
  std::optional<Instant> released;
  const Instant before = clock_.now();
  clock_.meanwhile = [&] {
    const auto waiters = ledger_.read()->waiters;
    if (waiters.empty()) return;
    if (!waiters[0].gathered.empty()) gathered = true;
    if (gathered && waiters[0].gathered.empty() && !released) released = clock_.now();
  };
  EXPECT_TRUE(std::holds_alternative<NotAcquired>(get(2, minutes(15))));
  EXPECT_TRUE(gathered);
  ASSERT_TRUE(released);
  EXPECT_LE(*released - before, gather_limit + seconds(5));
}

TEST_F(AcquireTest, SaysThatItCannotUseWhatIsFree) {
  options_.request.only = {{"A"}};
  const Acquired first = must_get(1);
  bool passed = false;
  clock_.meanwhile = [&] {
    const auto view = ledger_.read();
    if (!view->states.empty()) passed = passed || view->states[0].passed;
  };
  EXPECT_TRUE(std::holds_alternative<NotAcquired>(get(1, seconds(10))));
  EXPECT_TRUE(passed) << "B is free and others may have it";
}

TEST_F(AcquireTest, WatchesADeviceWithoutHistoryForAsLongAsAsked) {
  machine_ = SnapshotBuilder()
                 .gpu("A", 80_GiB)
                 .used(1_GiB)
                 .process(4711, "ann", 1_GiB)
                 .with([](Device& device) { device.utilization_history = Absent::unsupported; })
                 .build();
  options_.request.memory = 10_GiB;  // beside ann's, which is quiet now
  options_.request.idle_for = Milliseconds(20'000);
  const Acquired got = must_get(1, minutes(5));
  EXPECT_GE(got.waited, seconds(20));
  EXPECT_LE(got.waited, seconds(23));
}

TEST_F(AcquireTest, ReportsAMachineThatCannotBeLookedAt) {
  const TakeSnapshot broken = [] {
    return Result<Snapshot>(fail(ErrorCode::io, "no such scenario"));
  };
  EXPECT_FALSE(acquire(ledger_, broken, clock_, options_));
}

TEST_F(AcquireTest, OfManyWhoWantTheSameOnlyTheFirstLookWhateverTheyLeaveToOthers) {
  const Acquired all = must_get(2);
  const auto looks_behind_four_of = [this](const Request& request) {
    std::vector<Ticket> ahead;
    for (int i = 0; i < 4; ++i) {
      ahead.push_back(*ledger_.queue({.request = to_json(request)}, {DeviceId("A")}));
      ahead.back().set_passed(true);
    }
    clock_.meanwhile = [&] {
      for (Ticket& ticket : ahead) ticket.beat(clock_.now());
    };
    int looks = 0;
    const TakeSnapshot counted = [&] {
      ++looks;
      return Result<Snapshot>(machine_);
    };
    options_.request.devices = 1;
    options_.wait = seconds(20);
    const auto answer = acquire(ledger_, counted, clock_, options_);
    EXPECT_TRUE(answer && std::holds_alternative<NotAcquired>(*answer));
    return looks;
  };
  EXPECT_EQ(looks_behind_four_of({.devices = 1}), 1) << "when it came";
  EXPECT_GT(looks_behind_four_of({.devices = 2}), 5) << "they could leave it one";
}

TEST_F(AcquireTest, WhoMayWaitQueuesUpWhileSomebodySitsOnTheLockAndGetsItsTurn) {
  auto held = std::optional(ledger_.lock(seconds(1)));
  ASSERT_TRUE(*held);
  std::vector<std::string> said;
  options_.say = [&said](const Sentence& text) { said.push_back(text.english()); };
  const Instant begun = clock_.now();
  clock_.meanwhile = [&] {
    if (clock_.now() - begun < seconds(30)) return;
    EXPECT_THAT(ledger_.read()->waiters, SizeIs(1)) << "it stands in the queue";
    held.reset();
  };
  const Acquired got = must_get(1, minutes(60));
  EXPECT_GE(got.waited, seconds(30));
  EXPECT_THAT(said, SizeIs(1)) << "once";
  EXPECT_THAT(ledger_.read()->waiters, IsEmpty());
}

/// No file can be written, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    outlive(SIGXFSZ);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_F(AcquireTest, KeepsItsPlaceAndTriesAgainWhileTheLedgersDiskIsFull) {
  std::vector<std::string> said;
  options_.say = [&said](const Sentence& text) { said.push_back(text.english()); };
  std::optional<Acquired> first = must_get(2);
  std::optional<FullDisk> full;
  int looks = 0;
  const TakeSnapshot counted = [&] { return ++looks, Result<Snapshot>(machine_); };
  const Instant begun = clock_.now();
  std::string ticket;
  clock_.meanwhile = [&] {
    const auto waiters = ledger_.read()->waiters;
    ASSERT_THAT(waiters, SizeIs(1));
    if (ticket.empty()) ticket = waiters[0].id;
    EXPECT_EQ(waiters[0].id, ticket) << "it has kept its place";
    if (first) {
      ASSERT_TRUE(first->lease.end(ledger_));
      first.reset();
      full.emplace();
    }
    if (clock_.now() - begun > seconds(30)) full.reset();
  };
  options_.request.devices = 1;
  options_.wait = minutes(60);
  const auto got = acquire(ledger_, counted, clock_, options_);
  full.reset();
  ASSERT_TRUE(got) << got.error().message();
  ASSERT_TRUE(std::holds_alternative<Acquired>(*got));
  EXPECT_GE(std::get<Acquired>(*got).waited, seconds(30));
  EXPECT_LE(std::get<Acquired>(*got).waited, seconds(33));
  EXPECT_THAT(said, SizeIs(1)) << "once";
  EXPECT_LE(looks, 40) << "once a second";
}

TEST_F(AcquireTest, WhoMayWaitAndComesToAFullDiskWaitsForRoomAndThenForItsTurn) {
  std::vector<std::string> said;
  options_.say = [&said](const Sentence& text) { said.push_back(text.english()); };
  std::optional<FullDisk> full(std::in_place);
  const Instant begun = clock_.now();
  clock_.meanwhile = [&] {
    if (clock_.now() - begun > seconds(30)) full.reset();
  };
  const auto got = get(1, minutes(60));
  full.reset();
  ASSERT_TRUE(std::holds_alternative<Acquired>(got));
  EXPECT_THAT(said, SizeIs(1)) << "once";
}

TEST_F(AcquireTest, WhoMayNotWaitEndsWithTheErrorOfAFullDisk) {
  options_.wait = milliseconds(0);
  std::optional<FullDisk> full(std::in_place);
  const auto answer = acquire(ledger_, look_, clock_, options_);
  full.reset();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::io);
}

TEST_F(AcquireTest, WhoIsAwakeAndNeverTakesItsTurnHoldsNobodyUpHoweverManyTheyAre) {
  std::vector<Ticket> ahead;
  for (int i = 0; i < 6; ++i) ahead.push_back(waiter({.devices = 1, .only = {{"A"}}}));
  clock_.meanwhile = [&] {
    for (Ticket& ticket : ahead) ticket.beat(clock_.now());
  };
  options_.request.only = {{"A"}};
  const Acquired got = must_get(1, minutes(10));
  EXPECT_GE(got.waited, 6 * turn_limit) << "each has its turn";
  EXPECT_LE(got.waited, 9 * turn_limit);
}

TEST_F(AcquireTest, WhoMayNotWaitSaysWhoSitsOnTheLock) {
  const auto held = ledger_.lock(seconds(1));
  options_.wait = milliseconds(0);
  const auto answer = acquire(ledger_, look_, clock_, options_);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::timeout);
}

TEST(Turn, WhatAnEndedLeaseUsedIsNotTakenForSomebodyElses) {
  Snapshot seen = SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 80_GiB).build();
  const Claim ended{.id = "1", .devices = {{DeviceId("A"), std::nullopt}}};
  const Claim lives{.id = "2", .devices = {{DeviceId("B"), std::nullopt}}};
  seen.claims = {ended, lives};
  seen.gpu_processes = {{.device = DeviceId("A"), .pid = 7}, {.device = DeviceId("B"), .pid = 8}};
  const Snapshot now = without_ended(seen, {lives});
  ASSERT_THAT(now.gpu_processes, SizeIs(1));
  EXPECT_EQ(now.gpu_processes[0].pid, 8);
  EXPECT_EQ(now.devices[1], seen.devices[1]);
  EXPECT_EQ(without_ended(seen, {ended, lives}), seen);
}

TEST(Turn, OfThoseWhoCouldStartAndDoNotOneAfterTheOtherIsPassedOver) {
  Snapshot seen = SnapshotBuilder().gpu("A", 80_GiB).build();
  for (const char* id : {"1", "2", "own"}) {
    seen.waiters.push_back({.id = id, .request = to_json(Request{})});
  }
  LateStarters late;
  Instant now{seconds(100)};
  EXPECT_THAT(late.note(seen, "own", now, nullptr), IsEmpty());
  EXPECT_EQ(late.next_late(), now + turn_limit);
  now += turn_limit;
  EXPECT_THAT(late.note(seen, "own", now, nullptr), ElementsAre("1"));
  EXPECT_TRUE(late.is_passed_over("1", now));
  EXPECT_FALSE(late.is_passed_over("2", now)) << "its turn has just begun";
  now += turn_limit;
  EXPECT_THAT(late.note(seen, "own", now, nullptr), ElementsAre("1", "2"));
  EXPECT_EQ(late.next_late(), std::nullopt);
  now += passed_over_for;
  EXPECT_FALSE(late.is_passed_over("1", now)) << "it is given its turn once more";
  EXPECT_THAT(late.note(seen, "own", now, nullptr), IsEmpty());
}

TEST(Turn, UnderAPolicyThatCannotBeReadNothingIsReservedForWhoWaits) {
  const auto state_under = [](const Result<std::shared_ptr<const Policy>>& policy) {
    Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).build();
    LedgerView view{.waiters = {{.id = "1", .request = to_json(Request{})}}, .states = {{}}};
    HolderNames names;
    add_ledger(host, std::move(view), Instant{}, names, policy);
    EXPECT_THAT(host.waiters, SizeIs(1));
    return state_of(host.devices[0], host);
  };
  EXPECT_EQ(state_under(nullptr), DeviceState::reserved);
  EXPECT_EQ(state_under(fail(ErrorCode::invalid, "no such key")), DeviceState::free);
}

TEST(Turn, LooksAfterAllTheMoreRarelyTheFurtherBack) {
  EXPECT_EQ(patience_asleep(0), turn_limit);
  EXPECT_EQ(patience_asleep(4), turn_limit);
  EXPECT_EQ(patience_asleep(12), turn_limit * 3);
  EXPECT_EQ(patience_asleep(1'000'000), longest_patience_asleep);
}

TEST(Turn, SleepsLongerTheFurtherBack) {
  EXPECT_EQ(sleep_between_asking(4, 0, seconds(1)), sleep_step);
  EXPECT_LT(sleep_between_asking(8, 0, seconds(1)), sleep_between_asking(20, 0, seconds(1)));
  EXPECT_EQ(sleep_between_asking(500, 0, seconds(1)), longest_pause);
}

TEST(Turn, WakesBeforeAFastQueueReachesIt) {
  EXPECT_EQ(sleep_between_asking(104, 100, seconds(1)), milliseconds(500));
  EXPECT_EQ(sleep_between_asking(5, 100, seconds(1)), shortest_sleep);
}

TEST(Turn, TellsOthersTheInheritedListOfDevices) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 80_GiB).build();
  const PlaceLimits only_b{.visible = {{DeviceId("B")}}};
  EXPECT_EQ(as_others_see({}, {}, host), Request{});
  EXPECT_THAT(as_others_see({}, only_b, host).only, ElementsAre(DevicePattern{"B"}));
  EXPECT_THAT(as_others_see({.only = {{"A"}}}, only_b, host).only, SizeIs(1));
}

TEST(Turn, GathersWhatIsFreeFirstAndThenWhatTheFewestHold) {
  Placement placement;
  placement.available.push_back({.device = DeviceId("free")});
  placement.refused.push_back(
      {.device = DeviceId("crowded"), .rule = Rule::leased, .holders = {{}, {}}});
  placement.refused.push_back({.device = DeviceId("one"), .rule = Rule::leased, .holders = {{}}});
  placement.refused.push_back({.device = DeviceId("strangers"), .rule = Rule::in_use});
  EXPECT_THAT(worth_gathering(placement, {.devices = 2}, {}),
              ElementsAre(DeviceId("free"), DeviceId("one")));
  EXPECT_THAT(worth_gathering(placement, {.devices = 8}, {}), SizeIs(3));
}

}  // namespace
}  // namespace berth
