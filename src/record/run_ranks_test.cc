#include "record/run_ranks.h"

#include <gtest/gtest.h>

#include <csignal>

namespace berth {
namespace {

RunRanks two() {
  return {.master_address = "127.0.0.1",
          .master_port = 29501,
          .variables = {{"OMP_NUM_THREADS", "2"}},
          .ranks = {{.rank = 0,
                     .process = ProcessId{.pid = 7, .start_ticks = 9},
                     .cpus = "0-3",
                     .ended = WallTime{5},
                     .exit = {.signal = SIGTERM}},
                    {.rank = 1, .cpus = {}, .ended = WallTime{4}, .exit = {.code = 7}}},
          .failed_first = 1};
}

TEST(RunRanks, ComeBackAsTheyWereWritten) {
  const auto back = run_ranks_from_json(run_ranks_to_json(two()));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, two());
}

TEST(RunRanks, AreRefusedOutOfOrder) {
  RunRanks wrong = two();
  wrong.ranks[1].rank = 5;
  EXPECT_FALSE(run_ranks_from_json(run_ranks_to_json(wrong)));
  wrong = two();
  wrong.failed_first = 2;
  const auto back = run_ranks_from_json(run_ranks_to_json(wrong));
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->failed_first) << "there is no such rank";
  EXPECT_FALSE(run_ranks_from_json("{}"));
  const auto newer = run_ranks_from_json(R"({"format": "berth-run-ranks", "version": 2})");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace berth
