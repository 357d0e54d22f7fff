#include "run/container/left.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/owned_file.h"
#include "base/temporary_directory.h"
#include "record/record_writer.h"

namespace berth {
namespace {

using testing::HasSubstr;

/// An engine that notes that it was started, and knows of no container.
class LeftContainers : public testing::Test {
 protected:
  LeftContainers() {
    const std::string program =
        "#!/bin/sh\ntouch " + asked_ + "\necho Error: No such container: ab >&2\nexit 1\n";
    EXPECT_TRUE(write_file_atomically(directory_ / "docker", program, 0755));
    container_.engine = "docker";
    container_.engine_words = {directory_ / "docker"};
    container_.id = std::string(64, 'a');
    run_.directory = directory_ / "record";
    EXPECT_TRUE(make_directories(run_.directory));
    run_.manifest.id = "r1";
    run_.manifest.user = "ann";
  }
  Result<StopResult> end() {
    SystemClock clock;
    return end_left_container(run_, container_, std::chrono::seconds(0), clock);
  }

  TemporaryDirectory directory_;
  std::string asked_ = directory_ / "asked";
  RunRecord run_;
  RunContainer container_;
};

TEST_F(LeftContainers, AnothersIsNotEnded) {
  // What is executed stands in a file of theirs: root does not execute it, either.
  run_.owner.uid = ::geteuid() + 1;
  const auto ended = end();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::no_permission);
  EXPECT_THAT(ended.error().message(), HasSubstr("Only ann can end it, with `berth stop r1`"));
  EXPECT_FALSE(is_there(asked_)) << "its engine was asked";
}

TEST_F(LeftContainers, OfOnesOwnTheEngineIsAsked) {
  const auto ended = end();
  ASSERT_TRUE(ended) << ended.error().message();
  EXPECT_EQ(*ended, StopResult::had_ended);
  EXPECT_TRUE(is_there(asked_));
}

TEST_F(LeftContainers, OfASlurmJobAreEndedWithItsRunsThatAreNotOver) {
  const auto run = [&](const char* id, RunState state, const char* job) {
    RunRecord one;
    one.directory = directory_ / id;
    one.state = state;
    one.manifest.id = id;
    one.manifest.variables = {{"SLURM_JOB_ID", job}};
    EXPECT_TRUE(make_directories(one.directory));
    return one;
  };
  const RunRecord lost = run("lost", RunState::end_unknown, "7");
  EXPECT_TRUE(write_file_atomically(lost.directory + "/" + std::string(record_file::container),
                                    run_container_to_json(container_), 0600));
  const std::vector<RunRecord> runs = {
      run("runs", RunState::running, "7"), run("other", RunState::running, "8"),
      run("over", RunState::ended, "7"), run("gone", RunState::end_unknown, "7"), lost};
  std::vector<std::string> found;
  for (const RunRecord& one :
       runs_of_slurm_job("7", runs, {{.run = run("left", RunState::ended, "7")}, {.run = lost}})) {
    found.push_back(one.manifest.id);
  }
  EXPECT_THAT(found, testing::ElementsAre("runs", "lost", "left"));
}

}  // namespace
}  // namespace berth
