#include "run/slurm/submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const SlurmWishes wishes{
      .gpu_type = "a100", .partition = "gpu", .array = "0-9%2", .options = {"--exclusive"}};
  const auto words = sbatch_options(job, wishes);
  ASSERT_TRUE(words) << words.error().message();
  EXPECT_THAT(*words,
              ElementsAre("--gres=gpu:a100:2", "--cpus-per-task=8", "--mem=10241M", "--time=3",
                          "--partition=gpu", "--array=0-9%2", "--no-requeue", "--exclusive"));
}

TEST(SlurmSubmit, AsksForNoCardWithoutOne) {
  JobSpec job;
  job.where = RunWhere::cpu;
  EXPECT_THAT(*sbatch_options(job, {}), ElementsAre("--no-requeue"));
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
  const std::vector<std::pair<JobSpec, const char*>> refused = {
      {share, "--memory"}, {other, "--or-cpu"}, {after, "--dependency"}};
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
            "BERTH_SUBMITTED=20261126-231318-abcdef exec '/opt/my tools/berth' run -n 2 -- python "
            "'it'\\''s $HOME.py'\n");
}

}  // namespace
}  // namespace berth
