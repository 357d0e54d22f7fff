#include "run/slurm/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "record/record_writer.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As Slurm 22.05.8 prints it for squeue_columns.
constexpr std::string_view captured =
    "4_[2-5%2]|PENDING|N/A||JobArrayTaskLimit\n"
    "4_1|RUNNING|2026-11-26T23:13:18|n1|None\n"
    "7|PENDING|2026-11-27T01:00:00||Priority\n"
    "9|COMPLETED|2026-11-26T23:13:18|n[1-2]|None\n"
    "11|PENDING|N/A||ReqNodeNotAvail, UnavailableNodes:n1|n2\n";

TEST(SlurmQueue, ReadsTheLinesOfSqueue) {
  const auto jobs = parse_squeue(captured);
  ASSERT_EQ(jobs.size(), 5U);
  EXPECT_EQ(jobs[0], (SlurmJob{.id = "4_[2-5%2]",
                               .state = "PENDING",
                               .reason = "JobArrayTaskLimit",
                               .start = "",
                               .nodes = ""}));
  EXPECT_EQ(jobs[1].nodes, "n1");
  EXPECT_EQ(jobs[1].reason, "");
  EXPECT_EQ(jobs[4].reason, "ReqNodeNotAvail, UnavailableNodes:n1|n2");
}

TEST(SlurmQueue, TakesNoLineForAJobThatIsNone) {
  EXPECT_THAT(parse_squeue(""), ElementsAre());
  EXPECT_THAT(parse_squeue("\n|||\nslurm_load_jobs error: x\n12|\n"), ElementsAre());
}

TEST(SlurmQueue, TellsStatesThatAreTheLastFromOthers) {
  for (const char* over : {"COMPLETED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}) {
    EXPECT_TRUE(is_over(over)) << over;
  }
  for (const char* open : {"PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED", "NEW"}) {
    EXPECT_FALSE(is_over(open)) << open;
  }
}

TEST(SlurmQueue, ReadsTheExitOfScontrol) {
  EXPECT_EQ(exit_in_scontrol("JobId=1 BatchFlag=1 ExitCode=7:0 RunTime=00:00:01"),
            (Exit{.code = 7}));
  EXPECT_EQ(exit_in_scontrol("JobId=1 ExitCode=0:9"), (Exit{.signal = 9}));
  EXPECT_EQ(exit_in_scontrol("JobId=1 DerivedExitCode=3:0"), std::nullopt);
  EXPECT_EQ(exit_in_scontrol("JobId=1 ExitCode=900:0"), std::nullopt);
}

TEST(SlurmQueue, SaysInWordsWhyAJobWaits) {
  const auto said = [](const char* reason) { return why_it_waits({.reason = reason}).english(); };
  EXPECT_THAT(said("Priority"), HasSubstr("higher priority come first"));
  EXPECT_THAT(said("DependencyNeverSatisfied"), HasSubstr("never begin"));
  EXPECT_THAT(said("Dependency"), HasSubstr("has not ended"));
  EXPECT_THAT(said("QOSMaxGRESPerUser"), HasSubstr("QOS"));
  EXPECT_THAT(said("launch failed requeued held"), HasSubstr("scontrol release"));
  EXPECT_EQ(said("SomethingNew"), "SomethingNew");
  EXPECT_EQ(said(""), "Slurm gives no reason yet");
  EXPECT_EQ(why_it_waits({.reason = "Resources", .start = "2026-11-27T01:00:00"}).english(),
            "it is next: what it asks for is not free yet; expected to begin at "
            "2026-11-27T01:00:00");
}

TEST(SlurmPolling, AsksEverMoreRarelyAndTellsEachAnswerOnce) {
  TemporaryDirectory folder;
  const std::string answers =
      "#!/bin/sh\necho x >> " + (folder / "asked") + "\necho '12|PENDING|N/A||Priority'\n";
  ASSERT_TRUE(write_file_atomically(folder / "squeue", answers, 0700));
  FakeClock clock;
  Manifest manifest;
  manifest.id = "20261126-153012-k3f9q2";
  manifest.waiting = true;
  const auto record = RecordWriter::create(folder.path(), manifest);
  ASSERT_TRUE(record) << record.error().message();
  const RunSlurm slurm{.job = "12"};
  ASSERT_TRUE(
      write_file_atomically(record->path_of(record_file::slurm), run_slurm_to_json(slurm), 0600));
  const auto run = read_run(record->directory());
  ASSERT_TRUE(run) << run.error().message();
  std::vector<std::string> told;
  SlurmPolling polling(*run, {clock, {"PATH=" + folder.path() + ":/usr/bin:/bin"}},
                       [&](const Sentence& words) { told.push_back(words.english()); });
  std::vector<int> asked_at;
  for (int second = 0; second <= 300; ++second) {
    const auto before = read_file(folder / "asked").value_or("").size();
    polling.poll();
    if (read_file(folder / "asked").value_or("").size() > before) asked_at.push_back(second);
    clock.advance(std::chrono::seconds(1));
  }
  EXPECT_THAT(asked_at, ElementsAre(5, 15, 35, 75, 135, 195, 255));
  ASSERT_EQ(told.size(), 1U) << "the same answer is no news";
  EXPECT_THAT(told.front(), HasSubstr("Slurm job 12 waits"));
}

TEST(SlurmQueue, IsAskedOnceForAllAndAgainForOneThatItDidNotName) {
  TemporaryDirectory folder;
  const std::string answers = "#!/bin/sh\necho \"$6\" >> " + (folder / "asked") +
                              "\necho '4_[2-5%2]|PENDING|N/A||Priority'\n"
                              "echo '4_1|RUNNING|N/A|n1|None'\necho '41|RUNNING|N/A|n2|None'\n";
  ASSERT_TRUE(write_file_atomically(folder / "squeue", answers, 0700));
  FakeClock clock;
  std::vector<RunOnSlurm> runs;
  for (const char* job : {"4", "4_1", "41", "9"}) {
    RunOnSlurm& one = runs.emplace_back();
    one.run.state = RunState::running;  // so that nothing is written
    one.slurm.job = job;
  }
  const auto said = ask_slurm_of(runs, {clock, {"PATH=" + folder.path() + ":/usr/bin:/bin"}});
  ASSERT_EQ(said.size(), 4U);
  EXPECT_THAT(said[0]->english(), HasSubstr("Slurm job 4 waits"));
  EXPECT_EQ(said[1]->english(), "Slurm job 4_1 is RUNNING on n1");
  EXPECT_EQ(said[2]->english(), "Slurm job 41 is RUNNING on n2");
  EXPECT_EQ(read_file(folder / "asked").value_or(""), "4,4_1,41,9\n9\n");
}

}  // namespace
}  // namespace berth
