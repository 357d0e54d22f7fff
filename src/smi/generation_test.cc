#include "smi/generation.h"

#include <gtest/gtest.h>

#include "smi/example_cards.h"
#include "smi/fixed_source_test.h"

namespace berth::smi {
namespace {

TEST(Generation, IsTheNewestThatTheDriverIsNotBefore) {
  EXPECT_EQ(generation_of(DriverNumber{0, 0}).from, DriverNumber());
  EXPECT_EQ(generation_of(DriverNumber{535, 215}).from, (DriverNumber{535, 0}));
  EXPECT_EQ(generation_of(DriverNumber{535, 216}).from, (DriverNumber{535, 216}));
  EXPECT_EQ(generation_of(DriverNumber{539, 1}).from, (DriverNumber{535, 216}));
  EXPECT_EQ(generation_of(DriverNumber{99'999, 1}).from, (DriverNumber{610, 0}));
}

TEST(Generation, WhatChangedWithinABranchIsNotInTheNextByItself) {
  EXPECT_TRUE(generation_of(DriverNumber{535, 261}).tells_sram_kinds);
  EXPECT_FALSE(generation_of(DriverNumber{545, 23}).tells_sram_kinds);
  EXPECT_TRUE(generation_of(DriverNumber{550, 54}).tells_sram_kinds);
}

TEST(Generation, OfAHostThatDoesNotSayIsTheNewest) {
  const auto number = [](std::string version) {
    Snapshot host;
    if (!version.empty()) host.host.software_of(Runtime::cuda).driver = std::move(version);
    return driver_of(host);
  };
  EXPECT_EQ(number("580.119.02"), (DriverNumber{580, 119}));
  EXPECT_GT(number("580"), (DriverNumber{580, 9999})) << "any of that branch: its last";
  EXPECT_GT(number(""), (DriverNumber{610, 9999}));
  EXPECT_EQ(number("none").branch, 610);
}

TEST(Generation, DeprecatedIsSaidOnceForAllSurfaces) {
  Snapshot host = example::workstation();
  const auto shows = [&](const std::string& driver, const std::vector<std::string>& words) {
    host.host.software_of(Runtime::cuda).driver = driver;
    Fixed source(host);
    return run(words, source).text.find("has been deprecated") != std::string::npos;
  };
  const std::vector<std::string> csv = {"--query-gpu=clocks.applications.graphics", "--format=csv"};
  for (const auto& words : {csv, std::vector<std::string>{"-q", "-d", "CLOCK"}}) {
    EXPECT_FALSE(shows("580.95.05", words)) << words[0];
    EXPECT_TRUE(shows("590.48.01", words)) << words[0];
  }
}

}  // namespace
}  // namespace berth::smi
