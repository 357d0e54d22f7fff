#include "record/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/record_writer.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using ::testing::Not;

Manifest here() {
  Manifest manifest;
  manifest.started = {1'763'690'000'000};
  manifest.user = "ada";
  manifest.given = SnapshotBuilder().gpu("GPU-A", 24_GiB).build();
  manifest.machine.cpu_count = 64;
  manifest.machine.container = Absent::no_permission;
  manifest.python = PythonFacts{
      .interpreter = "/usr/bin/python3",
      .version = std::string("3.11"),
      .packages = {{"torch", "2.3.1+cu121"}},
      .frameworks = {{.name = "torch", .version = "2.3.1+cu121", .cuda = std::string("12.1")},
                     {.name = "jax", .version = "0.4", .cuda = Absent::unsupported}}};
  manifest.toolkit =
      ToolkitFacts{.nvcc_version = std::string("12.4"), .libraries = {{"libcudnn", "9.1.0"}}};
  manifest.variables = {{"OMP_NUM_THREADS", "8"}};
  manifest.complete = true;
  return manifest;
}

TEST(ManifestHere, ReadsBackWhatWasWritten) {
  const std::string text = here_to_json(here());
  const auto read = any_manifest_from_json(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(is_of_run(*read));
  EXPECT_EQ(read->started.unix_ms, 1'763'690'000'000);
  EXPECT_EQ(read->given.devices.size(), 1U);
  EXPECT_EQ(read->machine.container, Reading<std::string>(Absent::no_permission));
  ASSERT_TRUE(read->python);
  ASSERT_EQ(read->python->frameworks.size(), 2U);
  EXPECT_EQ(read->python->frameworks[0].cuda, Reading<std::string>("12.1"));
  EXPECT_EQ(read->python->frameworks[1].cuda, Reading<std::string>(Absent::unsupported));
  ASSERT_TRUE(read->toolkit);
  EXPECT_EQ(read->toolkit->libraries.front().second, "9.1.0");
  EXPECT_EQ(here_to_json(*read), text);
}

TEST(ManifestHere, HasNothingThatOnlyARunHas) {
  const std::string text = here_to_json(here());
  EXPECT_THAT(text, HasSubstr("\"berth-manifest\""));
  for (const char* key :
       {"\"id\"", "\"command\"", "\"keeper\"", "\"lease\"", "\"promised_bytes\""}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("\n ") + key)));
  }
}

TEST(ManifestHere, AManifestOfARunIsReadAsWell) {
  Manifest run = here();
  run.id = "20251121-014946-k3f9q2";
  run.command = {"python", "train.py"};
  run.promised = {std::nullopt};
  const auto read = any_manifest_from_json(manifest_to_json(run));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(is_of_run(*read));
  EXPECT_EQ(read->command, run.command);
}

TEST(ManifestHere, WhatIsNoManifestIsRefused) {
  for (const char* text : {"", "[]", "{\"format\":\"berth-manifest\"}", "{\"format\":3}",
                           "{\"format\":\"berth-manifest\",\"version\":99}"}) {
    EXPECT_FALSE(any_manifest_from_json(text)) << text;
  }
  EXPECT_EQ(any_manifest_from_json(std::string(100'000, '[')).error().code(), ErrorCode::invalid);
}

}  // namespace
}  // namespace berth
