#include "run/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_directory.h"
#include "record/record_writer.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<SweepParameter> set(const std::vector<std::string>& texts) {
  std::vector<SweepParameter> parameters;
  for (const std::string& text : texts) parameters.push_back(parse_parameter(text).value());
  return parameters;
}

std::string refusal(const std::vector<std::string>& texts,
                    const std::vector<std::string>& command) {
  const auto points = points_of(set(texts), command);
  return points ? "" : points.error().message();
}

TEST(Sweep, ReadsListsAndRanges) {
  EXPECT_THAT(parse_parameter("lr=0.1,0.01")->values, ElementsAre("0.1", "0.01"));
  EXPECT_THAT(parse_parameter("seed=1..3")->values, ElementsAre("1", "2", "3"));
  EXPECT_THAT(parse_parameter("shift=-1..1")->values, ElementsAre("-1", "0", "1"));
  EXPECT_THAT(parse_parameter("path=../data")->values, ElementsAre("../data"));
  EXPECT_THAT(parse_parameter("seed=1..3,7")->values, ElementsAre("1", "2", "3", "7"));
  EXPECT_THAT(parse_parameter("name=a..b")->values, ElementsAre("a..b"));
  for (const char* wrong :
       {"", "lr", "=1", "lr=", "l r=1", "seed=3..1", "seed=1..1000000", "lr=0.1..0.3"}) {
    EXPECT_FALSE(parse_parameter(wrong)) << wrong;
  }
}

TEST(Sweep, MakesEachPointOnce) {
  const auto points =
      points_of(set({"lr=0.1,0.01", "seed=1..2"}), {"train", "--lr={lr}", "{seed}"});
  ASSERT_THAT(*points, SizeIs(4));
  EXPECT_THAT((*points)[1].command, ElementsAre("train", "--lr=0.1", "2"));
  EXPECT_THAT((*points)[2].values, ElementsAre("0.01", "1"));
}

TEST(Sweep, LeavesBracesThatAreNotItsOwn) {
  const auto points = points_of(set({"a=1"}), {"{a} {{a}} {\"k\": 1} ${x y}"});
  EXPECT_THAT((*points)[0].command, ElementsAre("1 {a} {\"k\": 1} ${x y}"));
}

TEST(Sweep, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(refusal({"a=1..10000", "b=1..100"}, {"{a}{b}"}), HasSubstr("1000000 points"));
  EXPECT_THAT(refusal({"a=1", "a=2"}, {"{a}"}), HasSubstr("a is set twice"));
  EXPECT_THAT(refusal({"a=1"}, {"train"}), HasSubstr("does not use a"));
  EXPECT_THAT(refusal({"a=1"}, {"{a}{b}"}), HasSubstr("--set b="));
}

TEST(Sweep, KnowsItselfAgain) {
  const auto of = [](const char* one) { return sweep_id(set({one}), {"train", "{a}"}, "/home"); };
  EXPECT_EQ(of("a=1,2"), of("a=1,2"));
  EXPECT_NE(of("a=1,2"), of("a=1,3"));
}

TEST(Sweep, FindsItsRunsByTheirNames) {
  const SweepName name{.sweep = "0123456789abcdef", .time = 2, .point = 17};
  EXPECT_EQ(sweep_name_in(typed(name)), name);
  for (const char* other : {"", "sweep", "sweep-x", "sweep-x.1", "sweep-x.1-", "sweep-x.1-99999",
                            "train.1-2", "sweep-a-b.1"}) {
    EXPECT_EQ(sweep_name_in(other), std::nullopt) << other;
  }
}

constexpr WallTime looked_at{1'760'000'000'000};

RunRecord run_of(const std::string& id, const std::string& retry_of, const char* died_of = "",
                 bool has_tries = true) {
  RunRecord run;
  run.manifest.id = id;
  run.manifest.retry_of = retry_of;
  if (has_tries) run.manifest.spec = {{"retry_oom", "2"}};
  run.state = RunState::ended;
  run.end = RunEnd{.at = looked_at, .exit = {.code = *died_of != 0 ? 1 : 0}, .because = ""};
  run.end->died_of = died_of;
  return run;
}

SweepRow row_of(RunRecord run) {
  SweepRow row{.run = std::move(run)};
  note_state(row, looked_at);
  return row;
}

TEST(SweepRows, GoOnThroughAllStartsThatDiedSinceTheLastLook) {
  const std::string memory(out_of_gpu_memory);
  const RunRecord first = run_of("1", "", memory.c_str());
  const RunRecord second = run_of("2", "1", memory.c_str());
  std::vector<SweepRow> rows = {row_of(first)};
  follow_starts(rows, {second, first}, looked_at);
  EXPECT_EQ(rows[0].run->manifest.id, "2");
  EXPECT_EQ(count_of(rows).ended, 0U) << "its next start is not there yet";
  follow_starts(rows, {run_of("3", "2", "", false), second, first}, looked_at);
  EXPECT_EQ(rows[0].run->manifest.id, "3");
  EXPECT_EQ(count_of(rows), (SweepCount{.all = 1, .ended = 1}));
}

TEST(SweepRows, AnEndThatIsUnknownForAMomentIsNone) {
  RunRecord run = run_of("1", "");
  run.state = RunState::end_unknown;
  run.end.reset();
  SweepRow row = row_of(run);
  EXPECT_TRUE(is_open(row));
  for (int look = 0; look < 5; ++look) note_state(row, looked_at);
  EXPECT_FALSE(is_open(row)) << "nobody will tell any more";
  EXPECT_EQ(count_of({row}).badly, 1U);
}

RunRecord named(const SweepName& name, int code, std::string_view because = "") {
  RunRecord run = run_of(typed(name), "", "", false);
  run.manifest.spec = {{"name", typed(name)}};
  run.end->exit = {.code = code};
  run.end->because = because;
  return run;
}

/// The names of the runs that the rows have; "": none.
std::vector<std::string> taken(const std::vector<RunRecord>& runs, StartAgain again,
                               SweepName* time = nullptr) {
  std::vector<SweepRow> rows(3);
  SweepName name{.sweep = "a1"};
  take_earlier_runs(rows, name, runs, again);
  if (time != nullptr) *time = name;
  std::vector<std::string> names;
  for (const SweepRow& row : rows) names.push_back(row.run ? row.run->manifest.id : "");
  return names;
}

TEST(SweepRows, HaveTheRunsOfTheLastTimeThrough) {
  const std::string first = typed({.sweep = "a1", .time = 2, .point = 0});
  SweepName now;
  EXPECT_THAT(taken({named({.sweep = "a1", .time = 2, .point = 0}, 0),
                     named({.sweep = "a1", .time = 1, .point = 1}, 0),
                     named({.sweep = "b2", .time = 3, .point = 2}, 0),
                     named({.sweep = "a1", .time = 2, .point = 7}, 0)},
                    StartAgain::cut_short, &now),
              ElementsAre(first, "", ""));
  EXPECT_EQ(now.time, 2U);
  EXPECT_THAT(taken({named({.sweep = "a1", .time = 1, .point = 1}, 0),
                     named({.sweep = "a1", .time = 2, .point = 0}, 0)},
                    StartAgain::cut_short),
              ElementsAre(first, "", ""))
      << "whatever was seen first";
}

TEST(SweepRows, StartAgainWhatWasCutShortAndWhatFailedOnlyIfAsked) {
  const SweepName well{.sweep = "a1", .point = 0};
  const SweepName badly{.sweep = "a1", .point = 1};
  const SweepName stopped{.sweep = "a1", .point = 2};
  const std::vector<RunRecord> runs = {named(well, 0), named(badly, 1),
                                       named(stopped, 1, end_cause::stopped)};
  EXPECT_THAT(taken(runs, StartAgain::cut_short), ElementsAre(typed(well), typed(badly), ""));
  EXPECT_THAT(taken(runs, StartAgain::what_failed), ElementsAre(typed(well), "", ""));
  SweepName next;
  EXPECT_THAT(taken(runs, StartAgain::all, &next), ElementsAre("", "", ""));
  EXPECT_EQ(next.time, 2U);
}

/// A run under way, with its record.
RecordWriter begun(const std::string& records, const std::string& id, const std::string& retry_of) {
  Manifest manifest = run_of(id, retry_of).manifest;
  manifest.machine_id = own_machine_id();
  manifest.boot_id = own_boot_id();
  manifest.started = looked_at;
  auto writer = RecordWriter::create(records, manifest);
  EXPECT_TRUE(writer) << writer.error().message();
  return *std::move(writer);
}

TEST(SweepRows, AreReadAgainWhileTheyMayChangeAndFollowedToTheirNextStart) {
  const TemporaryDirectory records;
  const RecordWriter well = begun(records.path(), "20251121-014946-aaaaaa", "");
  const RecordWriter died = begun(records.path(), "20251121-014946-bbbbbb", "");
  std::vector<SweepRow> rows(3);  // the last was not started
  rows[0].run = *read_run(well.directory());
  rows[1].run = *read_run(died.directory());
  read_again(rows, records.path(), looked_at);
  EXPECT_EQ(count_of(rows).running, 2U);

  ASSERT_TRUE(well.write_end({.at = looked_at, .because = ""}));
  RunEnd of_memory{.at = looked_at, .exit = {.code = 1}, .because = ""};
  of_memory.died_of = out_of_gpu_memory;
  ASSERT_TRUE(died.write_end(of_memory));
  const RecordWriter next =
      begun(records.path(), "20251121-014947-cccccc", "20251121-014946-bbbbbb");
  read_again(rows, records.path(), looked_at);
  EXPECT_EQ(count_of(rows), (SweepCount{.all = 3, .ended = 1, .running = 1}));
  EXPECT_EQ(rows[1].run->manifest.id, "20251121-014947-cccccc");

  ASSERT_TRUE(write_end_into(well.directory(), of_memory));
  read_again(rows, records.path(), looked_at);
  EXPECT_EQ(count_of(rows).ended, 1U) << "one that has ended is not read again";
}

TEST(SweepRows, HaveTheRunWhoseStartWasEndedIfThatGoesOn) {
  const SweepName name{.sweep = "a1", .time = 2, .point = 1};
  RunRecord goes_on = named(name, 0);
  goes_on.state = RunState::running;
  goes_on.manifest.id = "goes on";
  RunRecord other = named({.sweep = "a1", .time = 1, .point = 1}, 0);
  other.state = RunState::running;
  const auto found = started_all_the_same(name, {other, named(name, 0), goes_on});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->manifest.id, "goes on");
  EXPECT_FALSE(started_all_the_same(name, {other, named(name, 0)}));
}

// --- locks

const SweepName one_sweep{.sweep = "0123456789abcdef"};
const SweepName other_sweep{.sweep = "fedcba9876543210"};

TEST(SweepLocks, LetTheSameSweepBeUnderWayOnce) {
  const TemporaryDirectory folder;
  const std::string records = folder / "state";
  {
    const auto first = SweepLocks::take(records, one_sweep);
    ASSERT_TRUE(first) << first.error().message();
    const auto second = SweepLocks::take(records, {.sweep = one_sweep.sweep, .time = 2});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::busy);
    EXPECT_TRUE(SweepLocks::take(records, other_sweep));
  }
  EXPECT_TRUE(SweepLocks::take(records, one_sweep)) << "nothing of the first is left behind";
}

TEST(SweepLocks, ShowTheNextOneThatAPointIsBeingStarted) {
  const TemporaryDirectory folder;
  Fd start;
  {
    const auto killed = SweepLocks::take(folder.path(), one_sweep);
    ASSERT_TRUE(killed) << killed.error().message();
    EXPECT_FALSE(killed->is_being_started());
    start = killed->hold_start();
    EXPECT_TRUE(start.is_open());
  }
  const auto next = SweepLocks::take(folder.path(), one_sweep);
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_TRUE(next->is_being_started());
  EXPECT_FALSE(next->hold_start().is_open());
  EXPECT_FALSE(SweepLocks::take(folder.path(), other_sweep)->is_being_started());
  start.close();
  EXPECT_FALSE(next->is_being_started());
}

TEST(SweepLocks, AreDoneWithoutWhereNoneCanBeHad) {
  const auto none = SweepLocks::take("/dev/null/state", one_sweep);
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_FALSE(none->is_being_started());
  EXPECT_FALSE(none->hold_start().is_open());
}

TEST(SweepAtATime, IsAsManyAsTheDevicesCarry) {
  const Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).gpu("B", 24_GiB).build();
  JobSpec job;
  EXPECT_EQ(points_at_a_time(host, job), 2U);
  job.request.devices = 2;
  EXPECT_EQ(points_at_a_time(host, job), 1U);
  job.request.devices = 4;
  EXPECT_EQ(points_at_a_time(host, job), 1U) << "it waits for more";
  job.request.devices = 1;
  job.request.memory = 10_GiB;
  EXPECT_EQ(points_at_a_time(host, job), 4U);
}

}  // namespace
}  // namespace berth
