#include "record/run_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

RunContainer one_that_ended() {
  return {.engine = "docker",
          .engine_words = {"docker", "-H", "unix:///x"},
          .environment = {{"DOCKER_HOST", "unix:///x"}},
          .added = {"--label", "berth.run=r"},
          .cid_file = "/cid",
          .id = std::string(64, 'a'),
          .image = "busy:1",
          .image_id = "sha256:1",
          .process = ProcessId{4711, 99},
          .is_left = true,
          .ended = WallTime{5},
          .exit_code = 137,
          .oom_killed = true};
}

TEST(RunContainer, ComesBackAsItWasWritten) {
  const auto back = run_container_from_json(run_container_to_json(one_that_ended()));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, one_that_ended());
}

TEST(RunContainer, WhatIsNotKnownStaysUnknown) {
  RunContainer container{.engine = "podman"};
  container.exit_code = Absent::unsupported;
  const auto back = run_container_from_json(run_container_to_json(container));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_FALSE(back->exit_code.get());
  EXPECT_FALSE(back->process);
  EXPECT_FALSE(back->ended);
}

TEST(RunContainer, OfAnOlderBerthThatAskedForNoDigestItIsNotKnown) {
  std::string text =
      run_container_to_json({.engine = "docker", .image_digest = Reading<std::string>("sha256:1")});
  const std::size_t at = text.find("sha256:1");
  ASSERT_NE(at, text.npos) << text;
  const auto back = run_container_from_json(text.erase(at, 8));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->image_digest, Reading<std::string>(Absent::not_sampled));
}

TEST(RunContainer, AnotherFileIsNone) {
  EXPECT_FALSE(run_container_from_json("{}"));
  EXPECT_FALSE(run_container_from_json(R"({"format": "berth-run", "version": 1})"));
}

TEST(RunContainer, AnIdIsSixtyFourDigits) {
  EXPECT_TRUE(is_container_id(std::string(64, '0')));
  EXPECT_FALSE(is_container_id(std::string(63, '0')));
  EXPECT_FALSE(is_container_id(std::string(64, 'g')));
  EXPECT_FALSE(is_container_id("../../etc/passwd"));
}

}  // namespace
}  // namespace berth
