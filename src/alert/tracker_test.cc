#include "alert/tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A book that is shown one look after another; a second between two of them.
class Book : public testing::Test {
 protected:
  Book() {
    settings.of(AlertRule::gpu_lost).lasting = 5s;
    settings.of(AlertRule::gpu_lost).hold = 10s;
  }
  static Alert of(AlertRule rule, const std::string& subject = "GPU-A") {
    return {.rule = rule,
            .subject = subject,
            .severity = facts_of(rule).severity,
            .device = DeviceId("GPU-A")};
  }
  /// "+gpu_lost", "-gpu_lost"
  std::vector<std::string> look(std::vector<Alert> seen, std::vector<Unknown> unknown = {}) {
    clock.advance(1s);
    for (Alert& one : seen) {
      if (one.last_seen.unix_ms == 0) one.since = one.last_seen = clock.wall_now();
    }
    last = book.see(
        {.seen = std::move(seen), .unknown = std::move(unknown), .devices = {DeviceId("GPU-A")}},
        settings, clock.moment());
    std::vector<std::string> words;
    for (const AlertChange& change : last) {
      words.push_back((change.what == AlertChange::What::began ? "+" : "-") +
                      std::string(name_of(change.alert.rule)));
    }
    return words;
  }
  std::vector<std::string> looks(int count, const std::vector<Alert>& seen,
                                 const std::vector<Unknown>& unknown = {}) {
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
      for (std::string& word : look(seen, unknown)) all.push_back(std::move(word));
    }
    return all;
  }

  FakeClock clock;
  AlertSettings settings;
  AlertTracker book{std::nullopt};
  std::vector<AlertChange> last;
  const Alert lost = of(AlertRule::gpu_lost);
};

TEST_F(Book, BeginsOnceWhatHasLasted) {
  EXPECT_THAT(looks(5, {lost}), IsEmpty()) << "it has not lasted 5 s yet";
  EXPECT_THAT(looks(1, {lost}), ElementsAre("+gpu_lost"));
  EXPECT_THAT(looks(100, {lost}), IsEmpty()) << "seen again it is the same";
  ASSERT_THAT(book.active(), SizeIs(1));
  EXPECT_EQ(book.active()[0].last_seen, clock.wall_now());
  EXPECT_EQ(book.active()[0].since.unix_ms, clock.wall_now().unix_ms - 105'000);
}

TEST_F(Book, EndsOnceWhatIsNotSeenForItsHold) {
  looks(6, {lost});
  EXPECT_THAT(looks(9, {}), IsEmpty());
  EXPECT_THAT(looks(1, {}), ElementsAre("-gpu_lost"));
  EXPECT_EQ(last[0].alert.resolved, clock.wall_now());
  EXPECT_EQ(last[0].alert.ending, Ending::resolved);
  EXPECT_THAT(book.active(), IsEmpty());
  EXPECT_THAT(book.ended(), SizeIs(1));
}

TEST_F(Book, TellsWhatFlickersOnce) {
  std::vector<std::string> told = looks(6, {lost});
  for (int i = 0; i < 50; ++i) {
    for (const auto& word : looks(3, {})) told.push_back(word);
    for (const auto& word : looks(1, {lost})) told.push_back(word);
  }
  EXPECT_THAT(told, ElementsAre("+gpu_lost"));
}

TEST_F(Book, ForgetsWhatBreaksOffBeforeItHasLasted) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(looks(4, {lost}), IsEmpty());
    EXPECT_THAT(looks(1, {}), IsEmpty());
  }
}

TEST_F(Book, LetsThrottlingFlickerWhileItLasts) {
  settings.of(AlertRule::throttled_long).lasting = 60s;
  const Alert slow = of(AlertRule::throttled_long);
  std::vector<std::string> told;
  for (int i = 0; i < 10; ++i) {
    for (const auto& word : looks(3, {slow})) told.push_back(word);
    for (const auto& word : looks(5, {})) told.push_back(word);
  }
  EXPECT_THAT(told, ElementsAre("+throttled_long"));
}

TEST_F(Book, TellsSubjectsApart) {
  settings.of(AlertRule::gpu_lost).lasting = 0s;
  EXPECT_THAT(look({lost, of(AlertRule::gpu_lost, "GPU-B")}),
              ElementsAre("+gpu_lost", "+gpu_lost"));
  EXPECT_NE(book.active()[0].id, book.active()[1].id);
}

TEST_F(Book, NeitherEndsNorBeginsWhatCannotBeTold) {
  looks(6, {lost});
  EXPECT_THAT(looks(100, {}, {{.rule = AlertRule::gpu_lost, .subject = std::nullopt}}), IsEmpty());
  EXPECT_THAT(looks(9, {}), IsEmpty()) << "the hold begins when it can be told again";
  EXPECT_THAT(looks(1, {}), ElementsAre("-gpu_lost"));
}

TEST_F(Book, GivesUpAfterADayOfNotKnowing) {
  looks(6, {lost});
  clock.advance(25h);
  EXPECT_THAT(look({}, {{.rule = AlertRule::gpu_lost, .subject = "GPU-A"}}),
              ElementsAre("-gpu_lost"));
  EXPECT_EQ(last[0].alert.ending, Ending::unknown) << "nobody saw it mended";
}

TEST_F(Book, KeepsALostCardLostWhileItIsNotThere) {
  Alert other = lost;
  other.device = DeviceId("GPU-gone");
  looks(6, {other});
  EXPECT_THAT(looks(100, {}), IsEmpty());
}

TEST_F(Book, CountsTheHoldOfAnEventFromWhenItHappened) {
  settings.of(AlertRule::xid).hold = 60s;
  Alert xid = of(AlertRule::xid, "GPU-A 79");
  xid.since = xid.last_seen = clock.wall_now();
  EXPECT_THAT(look({xid}), ElementsAre("+xid")) << "what happened needs not last";
  EXPECT_THAT(looks(50, {xid}), IsEmpty());
  EXPECT_THAT(looks(8, {}), IsEmpty());
  EXPECT_THAT(looks(1, {}), ElementsAre("-xid"));
}

TEST_F(Book, BeginsNothingASecondTimeAfterARestart) {
  looks(6, {lost});
  const Alert before = book.active()[0];
  AlertTracker next(std::nullopt);
  clock.advance(1h);
  next.restore(book.active(), {}, clock.moment());
  book = std::move(next);
  EXPECT_THAT(looks(3, {lost}), IsEmpty());
  EXPECT_EQ(book.active()[0].id, before.id);
  EXPECT_EQ(book.active()[0].since, before.since);
  EXPECT_THAT(looks(9, {}), IsEmpty());
  EXPECT_THAT(looks(1, {}), ElementsAre("-gpu_lost"));
}

TEST_F(Book, EndsAnEventThatGrewOldDuringARestart) {
  Alert xid{.id = "xid-1",
            .rule = AlertRule::xid,
            .subject = "GPU-A 79",
            .since = clock.wall_now(),
            .last_seen = clock.wall_now()};
  clock.advance(2h);
  book.restore({xid}, {}, clock.moment());
  EXPECT_THAT(look({}), ElementsAre("-xid"));
}

TEST_F(Book, EndsWhatARuleSaidThatIsSwitchedOff) {
  looks(6, {lost});
  settings.of(AlertRule::gpu_lost).is_on = false;
  EXPECT_THAT(look({lost}), ElementsAre("-gpu_lost"));
  EXPECT_EQ(last[0].alert.ending, Ending::unwatched) << "it is as lost as before";
  EXPECT_EQ(book.ended()[0].ending, Ending::unwatched);
  EXPECT_THAT(looks(20, {lost}), IsEmpty());
}

TEST_F(Book, PassesOnThatItIsSimulated) {
  book = AlertTracker("lab-4");
  looks(6, {lost});
  EXPECT_EQ(book.active()[0].simulated, "lab-4");
}

TEST_F(Book, KeepsABoundedNumber) {
  settings.of(AlertRule::gpu_lost).lasting = 0s;
  std::vector<Alert> many;
  for (int i = 0; i < 5000; ++i) many.push_back(of(AlertRule::gpu_lost, std::to_string(i)));
  EXPECT_THAT(look(many), SizeIs(AlertTracker::most_active));
  EXPECT_GT(book.left_out(), 0U);
  for (int i = 0; i < 30; ++i) look({});
  EXPECT_THAT(book.ended(), SizeIs(AlertTracker::most_ended));
}

TEST_F(Book, ForgetsWhatEndedAWeekAgo) {
  looks(6, {lost});
  looks(11, {});
  ASSERT_THAT(book.ended(), SizeIs(1));
  clock.advance(7 * 24h);
  look({});
  EXPECT_THAT(book.ended(), IsEmpty());
}

TEST_F(Book, ListsTheWorstFirst) {
  settings.of(AlertRule::gpu_lost).lasting = 0s;
  settings.of(AlertRule::idle_holder).lasting = 0s;
  look({of(AlertRule::idle_holder), lost});
  ASSERT_THAT(book.active(), SizeIs(2));
  EXPECT_EQ(book.active()[0].rule, AlertRule::gpu_lost);
}

}  // namespace
}  // namespace berth
