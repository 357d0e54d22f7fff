#include "guard/context_sizes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_directory.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

Device card(const char* name = "NVIDIA H200") {
  Device device;
  device.name = std::string(name);
  return device;
}
const Reading<std::string> driver = std::string("580.159.04");

TEST(ContextSizes, TheLeastThatWasSeenOfACardWithADriverCounts) {
  ContextSizes sizes;
  EXPECT_EQ(sizes.of(card(), driver), std::nullopt);
  EXPECT_TRUE(sizes.note(card(), driver, 527_MiB));
  EXPECT_FALSE(sizes.note(card(), driver, 640_MiB)) << "modules came on top";
  EXPECT_TRUE(sizes.note(card(), driver, 516_MiB));
  EXPECT_EQ(sizes.of(card(), driver), 516_MiB);
  EXPECT_EQ(sizes.of(card("NVIDIA L4"), driver), std::nullopt);
  EXPECT_EQ(sizes.of(card(), std::string("550.1")), std::nullopt);
  EXPECT_EQ(sizes.of(card(), Absent::failed), std::nullopt);
}

TEST(ContextSizes, WhatCanBeNoContextIsNotNoted) {
  ContextSizes sizes;
  EXPECT_FALSE(sizes.note(card(), driver, 3_GiB));
  EXPECT_FALSE(sizes.note(card(), driver, 0_MiB));
  EXPECT_FALSE(sizes.note(card(), Absent::failed, 516_MiB));
  EXPECT_FALSE(sizes.note(Device{}, driver, 516_MiB));
}

TEST(ContextSizes, TheyAreKept) {
  const TemporaryDirectory state;
  ContextSizes sizes;
  for (int i = 0; i < 40; ++i) {
    sizes.note(card(), std::string("580.") + std::to_string(i), 516_MiB);
  }
  ASSERT_TRUE(sizes.save(state.path()));
  const ContextSizes again = ContextSizes::load(state.path());
  EXPECT_EQ(again.of(card(), std::string("580.39")), 516_MiB);
  EXPECT_EQ(again.of(card(), std::string("580.0")), std::nullopt) << "the oldest go";
}

TEST(ContextSizes, AFileThatIsNoneHasNone) {
  const TemporaryDirectory state;
  EXPECT_EQ(ContextSizes::load(state.path()).of(card(), driver), std::nullopt);
  for (
      const char* text :
      {"", "{}", "[]", R"({"berth_contexts":2,"contexts":[]})",
       R"({"berth_contexts":1,"contexts":[{"device":"NVIDIA H200","driver_version":"580.159.04","bytes":99999999999}]})"}) {
    std::ofstream(state / "contexts.json") << text;
    EXPECT_EQ(ContextSizes::load(state.path()).of(card(), driver), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth
