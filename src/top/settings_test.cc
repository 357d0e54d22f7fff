#include "top/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "top/host_use.h"

namespace berth::top {
namespace {

TEST(Settings, AreReadAsTheyWereWritten) {
  const Settings all{
      .theme = Theme::light,
      .sort = std::vector<SortLevel>{{SortKey::memory, false}, {SortKey::pid, false}},
      .tree = true,
      .charts = false,
      .charted = 2,
      .zoom = 1,
      .fahrenheit = true,
      .interval_ms = 2000};
  EXPECT_EQ(settings_from(text_of(all)), all) << text_of(all);
  EXPECT_EQ(settings_from(text_of({})), Settings());
}

TEST(Settings, WhatIsBrokenIsAsIfItWereNotThere) {
  const Settings read = settings_from(
      "theme = pink\nsort = nosuch\ntree = maybe\nfahrenheit = cold\ncharted = 99\nzoom = "
      "-1\n\xff\xfe\n=\n"
      "interval_ms = 0\nunknown = 1\ncharts = false");
  EXPECT_EQ(read, Settings{.charts = false});
}

TEST(Settings, NameEachSortKeyOnceAndThreeAtMost) {
  EXPECT_TRUE(sort_from("memory,-pid,user").has_value());
  EXPECT_FALSE(sort_from("memory,pid,user,cpu").has_value());
  EXPECT_FALSE(sort_from("memory,-memory").has_value());
}

TEST(Settings, OfANewerVersionAreNotGuessedAt) {
  EXPECT_EQ(settings_from("version = 2\ntheme = light"), Settings());
  EXPECT_EQ(settings_from("theme = light").theme, Theme::light) << "the first had no version";
}

TEST(Settings, RememberWhatWasChangedAndNotWhatWasTypedOnce) {
  State begun;
  begun.tree = true;  // by -t
  State ended = begun;
  ended.theme = Theme::mono;
  const Settings kept = with_changes({.zoom = 2}, begun, ended);
  EXPECT_EQ(kept, (Settings{.theme = Theme::mono, .zoom = 2}));
}

constexpr std::string_view meminfo =
    "MemTotal:       65536000 kB\nMemFree:         1000 kB\nMemAvailable:   49152000 kB\n";

TEST(HostMeter, TellsTheShareSinceTheLookBefore) {
  HostMeter meter;
  const HostUse first = meter.take("cpu  100 0 100 800 0 0 0 0 0 0\n", meminfo, "3.14 1 1 2/3 4");
  EXPECT_EQ(first.cpu_percent, std::nullopt) << "there was no look before";
  EXPECT_EQ(first.load, 3.14);
  EXPECT_EQ(first.memory_used, Bytes(std::uint64_t{16'384'000} * 1024));
  const HostUse then = meter.take("cpu  150 0 125 825 0 0 0 0 0 0\n", meminfo, "3.14 1 1 2/3 4");
  EXPECT_EQ(then.cpu_percent, 75.0);
}

TEST(HostMeter, LeavesOutWhatItCannotRead) {
  HostMeter meter;
  EXPECT_EQ(meter.take("", "", ""), HostUse());
  EXPECT_EQ(meter.take("cpu a b c d e f g h", "MemTotal: x kB", "x"), HostUse());
  EXPECT_EQ(host_text({}), "");
}

}  // namespace
}  // namespace berth::top
