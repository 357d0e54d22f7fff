#include "diagnose/ranks/hang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "snapshot/builder.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

RankSeen waits(int rank) {
  return {.rank = rank, .exit = {}, .state = 'S', .waits_in = "futex_do_wait"};
}
RankSeen sleeps(int rank) {
  return {.rank = rank, .exit = {}, .state = 'S', .waits_in = "hrtimer_nanosleep"};
}
RankSeen computes(int rank, double utilization, double power) {
  return {.rank = rank, .exit = {}, .state = 'R', .utilization = utilization, .power = power};
}
std::string title(const std::vector<RankSeen>& ranks) {
  const auto found = find_rank_hang(ranks, {}, "R");
  return found ? found->title.english() : "";
}

TEST(RankHang, NamesTheOneThatSleeps) {
  const auto found = find_rank_hang({waits(0), sleeps(1), waits(2)}, {}, "R");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->title.english(), "ranks 0, 2 wait, and rank 1 does not: they may wait for it");
  EXPECT_EQ(found->evidence.front().english(), "rank 1 sleeps: hrtimer_nanosleep");
  EXPECT_EQ(found->steps.front().command, "berth logs R --rank 1");
  EXPECT_FALSE(found->doubt.english().empty());
}

TEST(RankHang, NamesTheOneThatIsStoppedStuckOrGone) {
  RankSeen other = waits(0);
  other.state = 'T';
  EXPECT_THAT(title({other, waits(1)}), HasSubstr("rank 0"));
  other.state = 'D';
  EXPECT_THAT(title({other, waits(1)}), HasSubstr("rank 0"));
  other.has_ended = true;
  const auto found = find_rank_hang({other, waits(1)}, {}, "R");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->evidence.front().english(), "rank 0 has ended, with 0");
}

TEST(RankHang, ACardThatIsBusyAndDrawsLittleWaits) {
  EXPECT_EQ(act_of(computes(0, 100, 0.18)), RankActs::waits_for_others);
  EXPECT_EQ(act_of(computes(0, 100, 0.9)), RankActs::works);
  EXPECT_THAT(title({computes(0, 100, 0.18), computes(1, 2, 0.15), computes(2, 99, 0.2)}),
              HasSubstr("rank 1 does not"));
}

TEST(RankHang, AccusesNobodyWhereAllDoTheSameOrOneCannotBeTold) {
  EXPECT_EQ(title({waits(0), waits(1)}), "");
  EXPECT_EQ(title({sleeps(0), sleeps(1)}), "");
  EXPECT_EQ(title({waits(0), sleeps(1), sleeps(2)}), "") << "most of them do not wait";
  EXPECT_EQ(title({waits(0), sleeps(1), {.rank = 2, .exit = {}}}), "");
  EXPECT_EQ(title({computes(0, 100, 0.9), computes(1, 100, 0.9)}), "");
}

TEST(RankHang, NamesTheOneThatHasNotCome) {
  RankSeen there = sleeps(0);  // gloo's first rank keeps asking its own store
  there.has_met = true;
  RankSeen other = waits(2);
  other.has_met = true;
  RankSeen missing = sleeps(1);
  missing.has_met = false;
  const auto found = find_rank_hang({there, missing, other}, {}, "R");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->title.english(),
            "rank 1 has not come to where the ranks meet, and ranks 0, 2 are there");
  EXPECT_EQ(found->steps.front().command, "berth logs R --rank 1");
  missing.has_met.reset();
  EXPECT_EQ(title({there, missing}), "") << "who cannot be looked at is not accused";
  missing.has_met = false;
  there.state = 'R';
  there.waits_in.clear();
  EXPECT_EQ(title({there, missing}), "") << "the others do not wait";
}

TEST(RankHang, BelievesPyTorchFirst) {
  const LastOperation waiting{.number = 2, .name = "nccl:all_reduce", .state = "started"};
  const LastOperation before{.number = 1, .name = "nccl:all_reduce", .state = "completed"};
  const auto found = find_rank_hang({sleeps(0), waits(1), waits(2)},
                                    {{0, {{"0", waiting}}}, {1, {{"0", before}}}}, "R");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->title.english(), "rank 1 has not entered the operation that the others wait in");
  EXPECT_EQ(found->severity, Severity::error);
}

TEST(RankLooks, TellOnlyWhatWasAlwaysTheSame) {
  RankSeen seen{.rank = 3, .has_ended = true, .exit = {.code = 1}};
  note_look(seen, true, 'S', "futex_do_wait");
  EXPECT_EQ(seen.rank, 3);
  EXPECT_FALSE(seen.has_ended);
  EXPECT_EQ(act_of(seen), RankActs::waits_for_others);
  note_look(seen, false, 'S', "futex_do_wait");
  EXPECT_EQ(act_of(seen), RankActs::waits_for_others);
  note_look(seen, false, 'S', "hrtimer_nanosleep");
  EXPECT_EQ(seen.waits_in, "");
  note_look(seen, false, 'R', "");
  EXPECT_EQ(seen.state, '?');
  EXPECT_EQ(act_of(seen), RankActs::is_unknown);
}

TEST(RankCards, AreThoseThatTheRunWasGivenInItsOrder) {
  Snapshot now = SnapshotBuilder().gpu("A", Bytes(8)).gpu("B", Bytes(8)).build();
  now.devices[1].utilization_gpu = Percent(97);
  now.devices[1].power_draw = Milliwatts(100'000);
  now.devices[1].power_limit = Milliwatts(400'000);
  now.devices[0].utilization_gpu = Absent::failed;
  now.devices[0].power_limit = Milliwatts(0);
  std::vector<RankSeen> ranks(3);
  const std::vector<Device> given = {now.devices[1], now.devices[0]};
  add_cards(ranks, given, now);
  EXPECT_EQ(ranks[0].utilization, 97);
  EXPECT_EQ(ranks[0].power, 0.25);
  EXPECT_EQ(ranks[1].utilization, std::nullopt);
  EXPECT_EQ(ranks[1].power, std::nullopt);
  EXPECT_EQ(ranks[2].utilization, std::nullopt) << "it was given none";
  now.simulated = "demo";
  ranks.assign(1, {});
  add_cards(ranks, given, now);
  EXPECT_EQ(ranks[0].utilization, std::nullopt);
}

}  // namespace
}  // namespace berth
