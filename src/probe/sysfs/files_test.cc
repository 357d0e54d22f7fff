#include "probe/sysfs/files.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Told = Reading<std::uint64_t>;

TEST(SysfsReadings, AreOurUnitsOfTheKernels) {
  EXPECT_EQ(sysfs::bytes_of(Told(4096)), Bytes{4096});
  EXPECT_EQ(sysfs::power_of(Told(250'999'999)), Milliwatts{250'999});
  EXPECT_EQ(sysfs::heat_of(Told(61'000)), Celsius{61});
  EXPECT_EQ(sysfs::clock_of(Told(1'700'000'000), 1'000'000), Megahertz{1700});
  EXPECT_EQ(sysfs::clock_of(Told(1700), 1), Megahertz{1700});
}

TEST(SysfsReadings, WhatNoDeviceHasIsNoReading) {
  EXPECT_EQ(sysfs::bytes_of(Told(std::uint64_t{1} << 51U)), Absent::failed);
  EXPECT_EQ(sysfs::power_of(Told(30'000'000'000)), Absent::failed);
  EXPECT_EQ(sysfs::heat_of(Told(251'000)), Absent::failed);
  EXPECT_EQ(sysfs::clock_of(Told(100'001), 1), Absent::failed);
}

TEST(SysfsReadings, WhyThereIsNoNumberIsWhyThereIsNoReading) {
  EXPECT_EQ(sysfs::power_of(Absent::no_permission), Absent::no_permission);
  EXPECT_EQ(sysfs::heat_of(Absent::unsupported), Absent::unsupported);
}

}  // namespace
}  // namespace berth
