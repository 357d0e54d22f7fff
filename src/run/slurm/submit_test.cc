#include "run/slurm/submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_directory.h"
#include "record/record_writer.h"
#include "record/run_slurm.h"

namespace berth {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(SlurmSubmit, AsksForWhatTheJobNeeds) {
  JobSpec job;
  job.request.devices = 2;
  job.cpus = 8;
  job.host_memory = Bytes((std::uint64_t{10} << 30) + 1);
  job.time_limit = std::chrono::seconds(90);
  const SbatchSettings settings{.gpu_type = "a100",
                                .partition = "gpu",
                                .account = "lab",
                                .qos = "high",
                                .constraint = "nvlink",
                                .array = "0-9%2",
                                .options = {"--exclusive"}};
  const auto words = sbatch_options(job, settings);
  ASSERT_TRUE(words) << words.error().message();
  EXPECT_THAT(*words,
              ElementsAre("--gres=gpu:a100:2", "--cpus-per-task=8", "--mem=10241M", "--time=3",
                          "--partition=gpu", "--account=lab", "--qos=high", "--constraint=nvlink",
                          "--array=0-9%2", "--no-requeue", "--exclusive"));
}

TEST(SlurmSubmit, AsksForNoCardWithoutOne) {
  JobSpec job;
  job.where = RunWhere::cpu;
  EXPECT_THAT(*sbatch_options(job, {}), ElementsAre("--no-requeue"));
}

TEST(SlurmSubmit, AsksForOneProcessOfBerthsOnEachNode) {
  JobSpec job;
  job.request.devices = 4;
  job.ranks_by = RanksBy::berth;
  job.nodes = 2;
  EXPECT_THAT(*sbatch_options(job, {}),
              ElementsAre("--gres=gpu:4", "--nodes=2", "--ntasks-per-node=1", "--no-requeue"));
  job.ranks_by = RanksBy::nobody;
  EXPECT_FALSE(sbatch_options(job, {}));
}

TEST(SlurmSubmit, LetsSlurmStartAgainOnlyWhatMayBe) {
  JobSpec job;
  job.retry_on = RetryOn::gpu_lost;
  EXPECT_THAT(*sbatch_options(job, {}), Contains("--requeue"));
  EXPECT_THAT(*sbatch_options(job, {}), Not(Contains("--no-requeue")));
}

TEST(SlurmSubmit, RefusesWhatSlurmChoosesItself) {
  JobSpec share;
  share.request.memory = Bytes(1);
  JobSpec other;
  other.where = RunWhere::gpu_or_cpu;
  JobSpec after;
  after.after = {"last"};
  JobSpec maker;
  maker.request.kind = "amd";
  const std::vector<std::pair<JobSpec, const char*>> refused = {
      {share, "--memory"},
      {other, "--or-cpu"},
      {after, "--dependency"},
      {maker, "--kind is not for Slurm, which chooses the cards itself: write --gpu-type"}};
  for (const auto& [job, named] : refused) {
    const auto words = sbatch_options(job, {});
    ASSERT_FALSE(words) << named;
    EXPECT_THAT(words.error().message(), HasSubstr(named));
  }
}

TEST(SlurmSubmit, TheBatchStepIsBerthItself) {
  const std::string script =
      batch_script("/opt/my tools/berth", {"run", "-n", "2", "--", "python", "it's $HOME.py"},
                   "20261126-231318-abcdef");
  EXPECT_EQ(script,
            "#!/bin/sh\n"
            "[ -x '/opt/my tools/berth' ] || { echo \"berth: there is no\" '/opt/my tools/berth' "
            "\"on $(hostname)\" >&2; exit 127; }\n"
            "unset BERTH_RUN BERTH_LEASE BERTH_MARKS\n"
            "BERTH_SUBMITTED=20261126-231318-abcdef exec '/opt/my tools/berth' run -n 2 -- python "
            "'it'\\''s $HOME.py'\n");
}

/// A submitted run whose first start is not quite over: its keeper still holds the record.
class SlurmStartsAgain : public testing::Test {
 protected:
  SlurmStartsAgain() {
    Manifest manifest;
    manifest.id = first_;
    first_start_ = RecordWriter::create(state_, manifest);
    EXPECT_TRUE(first_start_) << first_start_.error().message();
    EXPECT_TRUE(write_file_atomically(first_start_->path_of(record_file::slurm),
                                      run_slurm_to_json({.job = "7"}), 0600));
  }
  /// The run that the new one is a retry of. Also whether the new one has a record of its own.
  std::pair<std::string, bool> begin(std::vector<std::string> more) {
    RunOptions options;
    options.state_directory = state_;
    options.environment = {"BERTH_SUBMITTED=" + first_};
    options.environment.insert(options.environment.end(), more.begin(), more.end());
    Manifest manifest;
    manifest.id = "20261126-231400-second";
    std::optional<RecordWriter> record;
    SystemClock clock;
    const auto taken = take_over_submitted(options, manifest, record, clock);
    EXPECT_TRUE(taken) << taken.error().message();
    return {manifest.retry_of, record.has_value()};
  }

  TemporaryDirectory directory_;
  std::string state_ = directory_ / "state";
  std::string first_ = "20261126-231318-first1";
  Result<RecordWriter> first_start_ = fail(ErrorCode::io, "not made");
};

TEST_F(SlurmStartsAgain, TheSecondStartIsARetryWhileTheFirstIsStillEnding) {
  EXPECT_EQ(begin({"SLURM_RESTART_COUNT=1"}), std::pair(first_, true));
}

TEST_F(SlurmStartsAgain, ARunInsideTheJobIsARunOfItsOwn) {
  EXPECT_EQ(begin({"SLURM_RESTART_COUNT=1", "BERTH_RUN=x"}), std::pair(std::string(), false));
  EXPECT_EQ(begin({}), std::pair(std::string(), false));
}

}  // namespace
}  // namespace berth
