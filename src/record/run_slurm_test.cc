#include "record/run_slurm.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "record/record_writer.h"

namespace berth {
namespace {

RunSlurm one() {
  return {.job = "12_3",
          .cluster = "big",
          .submitted = WallTime{5},
          .array = "0-9%2",
          .asked = {"sbatch", "--gres=gpu:2"}};
}

TEST(RunSlurm, ComesBackAsItWasWritten) {
  const auto back = run_slurm_from_json(run_slurm_to_json(one()));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, one());
  EXPECT_FALSE(run_slurm_from_json("{}"));
  for (const char* job : {"", "--all", "12;rm", "1 2"}) {
    RunSlurm hostile = one();
    hostile.job = job;
    EXPECT_FALSE(run_slurm_from_json(run_slurm_to_json(hostile))) << job;
  }
  EXPECT_FALSE(run_slurm_from_json(R"({"format":"berth-run-slurm","version":1})"));
}

class HandedToSlurm : public testing::Test {
 protected:
  HandedToSlurm() {
    manifest_.id = "20261126-231318-abcdef";
    manifest_.command = {"true"};
    manifest_.waiting = true;
  }
  Result<RecordWriter> made() { return RecordWriter::create(directory_.path(), manifest_); }

  TemporaryDirectory directory_;
  Manifest manifest_;
};

TEST_F(HandedToSlurm, WaitsAlthoughNoProcessHereDoes) {
  auto writer = made();
  ASSERT_TRUE(writer);
  ASSERT_TRUE(
      write_file_atomically(writer->path_of(record_file::slurm), run_slurm_to_json(one()), 0600));
  writer->let_go();
  const auto run = read_run(writer->directory());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->state, RunState::waiting);
  EXPECT_FALSE(run->end);
}

TEST_F(HandedToSlurm, ARecordIsTakenOverOnceNobodyKeepsIt) {
  auto writer = made();
  ASSERT_TRUE(writer);
  EXPECT_EQ(RecordWriter::adopt(writer->directory()).error().code(), ErrorCode::busy);
  writer->let_go();
  EXPECT_TRUE(RecordWriter::adopt(writer->directory()));
  EXPECT_FALSE(RecordWriter::adopt(writer->directory() + "x"));
}

}  // namespace
}  // namespace berth
