#include "serve/poll_schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace berth::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("gpu" + std::to_string(i));
  return all;
}

/// The events in `span` if each host answers after `took`, in the way `went` says.
struct Course {
  std::vector<int> asked;  // how often each
  std::size_t most_at_once = 0;
  std::map<std::int64_t, int> per_100_ms;
};
Course run(PollSchedule turns, std::size_t count, Duration span, Duration took,
           const std::function<PollSchedule::Went(std::size_t)>& went) {
  Course course{.asked = std::vector<int>(count), .per_100_ms = {}};
  std::multimap<Instant, std::size_t> answers;
  Instant now{};
  while (now < Instant{} + span) {
    while (!answers.empty() && answers.begin()->first <= now) {
      turns.answered(answers.begin()->second, went(answers.begin()->second), now);
      answers.erase(answers.begin());
    }
    for (const std::size_t which : turns.take_due(now)) {
      ++course.asked[which];
      ++course.per_100_ms[now.time_since_epoch() / milliseconds(100)];
      answers.emplace(now + took, which);
    }
    course.most_at_once = std::max(course.most_at_once, answers.size());
    now += milliseconds(5);
  }
  return course;
}
PollSchedule::Went well(std::size_t) { return PollSchedule::Went::well; }

TEST(PollSchedule, AsksEachOnceAnInterval) {
  const Course course = run({{}, names(10), {}}, 10, seconds(100), milliseconds(20), well);
  for (const int times : course.asked) {
    EXPECT_GE(times, 18);
    EXPECT_LE(times, 23);
  }
}

TEST(PollSchedule, AsksNoMoreAtOnceThanItMay) {
  const Course course =
      run({{.at_once = 16}, names(200), {}}, 200, seconds(10), milliseconds(50), well);
  EXPECT_EQ(course.most_at_once, 16U);
}

TEST(PollSchedule, SpreadsManyOverTheInterval) {
  const Course course = run({{}, names(200), {}}, 200, seconds(60), milliseconds(5), well);
  int most = 0;
  for (const auto& [at, times] : course.per_100_ms) {
    if (at > 300) most = std::max(most, times);  // from 30 s on
  }
  // Four are due in a tenth of a second on the average; all 200 would be if they kept step.
  EXPECT_LE(most, 20);
}

TEST(PollSchedule, AsksThoseThatFailEverMoreSeldom) {
  const auto badly = [](std::size_t) { return PollSchedule::Went::badly; };
  const Course course = run({{}, names(1), {}}, 1, seconds(300), milliseconds(10), badly);
  // At 0, 5, 15, 35, then every 30 s: a dozen, and not sixty.
  EXPECT_GE(course.asked[0], 10);
  EXPECT_LE(course.asked[0], 14);
}

TEST(PollSchedule, AsksAsOftenAsEverOnceItAnswersAgain) {
  PollSchedule turns({}, names(1), {});
  Instant now{};
  for (int i = 0; i < 5; ++i) {
    now += seconds(60);
    ASSERT_EQ(turns.take_due(now).size(), 1U);
    turns.answered(0, PollSchedule::Went::badly, now);
  }
  now += seconds(60);
  ASSERT_EQ(turns.take_due(now).size(), 1U);
  turns.answered(0, PollSchedule::Went::well, now);
  ASSERT_TRUE(turns.next());
  EXPECT_LE(*turns.next() - now, milliseconds(5500));
}

TEST(PollSchedule, KeepsNobodyWaitingForThoseThatSwallowPackets) {
  // Every second host takes five seconds to fail.
  PollSchedule turns({.at_once = 4}, names(40), {});
  std::vector<int> asked(40);
  std::multimap<Instant, std::size_t> answers;
  for (Instant now{}; now < Instant{} + seconds(120); now += milliseconds(10)) {
    while (!answers.empty() && answers.begin()->first <= now) {
      const std::size_t which = answers.begin()->second;
      turns.answered(which, which % 2 == 0 ? PollSchedule::Went::well : PollSchedule::Went::badly,
                     now);
      answers.erase(answers.begin());
    }
    for (const std::size_t which : turns.take_due(now)) {
      if (now > Instant{} + seconds(60)) ++asked[which];
      answers.emplace(now + (which % 2 == 0 ? milliseconds(10) : milliseconds(5000)), which);
    }
  }
  for (std::size_t i = 0; i < 40; i += 2) EXPECT_GE(asked[i], 9) << "gpu" << i;
}

TEST(PollSchedule, SaysWhenToLookAgain) {
  PollSchedule turns({}, names(1), {});
  ASSERT_TRUE(turns.next());
  const Instant first = *turns.next();
  EXPECT_TRUE(turns.take_due(first - milliseconds(1)).empty());
  EXPECT_EQ(turns.take_due(first).size(), 1U);
  EXPECT_EQ(turns.next(), std::nullopt) << "it is under way";
}

TEST(PollSchedule, HasNothingToDoForNobody) {
  PollSchedule turns;
  EXPECT_TRUE(turns.take_due({}).empty());
  EXPECT_EQ(turns.next(), std::nullopt);
}

}  // namespace
}  // namespace berth::serve
