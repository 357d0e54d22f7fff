#include "view/sweep_text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
