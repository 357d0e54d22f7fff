#include "view/values.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace berth {
namespace {

using namespace literals;

constexpr WallTime noon{1'760'011'200'000};  // 2025-10-09 12:00:00 UTC

TEST(Values, SayBytesWithThreeDigitsThatMatter) {
  EXPECT_EQ(bytes_text(0_B), "0 B");
  EXPECT_EQ(bytes_text(927_MiB), "927 MiB");
  EXPECT_EQ(bytes_text(Bytes{85'520'809'984}), "79.6 GiB");
  EXPECT_EQ(bytes_text(141_GiB), "141 GiB");
  EXPECT_EQ(bytes_text(2048_GiB), "2.0 TiB");
  EXPECT_EQ(bytes_short(12_GiB), "12.0G");
  EXPECT_EQ(bytes_of_total(927_MiB, 8_GiB), "0.9/8.0G");
  EXPECT_EQ(bytes_of_total(5_GiB, 0_B), "5368709120/0B");
}

TEST(Values, SayPowerEnergyAndHeat) {
  EXPECT_EQ(power_text(Milliwatts(350'400)), "350 W");
  EXPECT_EQ(power_text(Milliwatts(9'940)), "9.9 W");
  EXPECT_EQ(energy_text(Millijoules(500'000)), "500 J");
  EXPECT_EQ(energy_text(Millijoules(2'000'000)), "2.0 kJ");
  EXPECT_EQ(energy_text(Millijoules(3'600'000'000)), "1.00 kWh");
  EXPECT_EQ(energy_text(Millijoules(5'400'000'000)), "1.50 kWh");
  EXPECT_EQ(temperature_text(65_celsius, {}), "65°C");
  EXPECT_EQ(temperature_text(65_celsius, {.utf8 = false}), "65C");
}

TEST(Values, AbsentIsADashWithAReason) {
  const Reading<Bytes> absent = Absent::no_permission;
  EXPECT_EQ(reading_text(absent, {}, bytes_text), "–");
  EXPECT_EQ(reading_text(absent, {.utf8 = false}, bytes_text), "-");
  EXPECT_EQ(reason_text(Absent::no_permission), "no permission to read it");
}

TEST(Values, TimesAreAsShortAsTheDayAllows) {
  // As in Berlin: summer ended on 26 October at one o'clock, UTC.
  constexpr std::int64_t end_of_summer = 1'761'440'400'000;
  const Style berlin{.offset_at = [](WallTime when) {
    return std::chrono::seconds(when.unix_ms < end_of_summer ? 7200 : 3600);
  }};
  EXPECT_EQ(date_time_text(noon, berlin), "2025-10-09 14:00:00");
  EXPECT_EQ(date_time_text({noon.unix_ms + 30LL * 86'400'000}, berlin), "2025-11-08 13:00:00");
  EXPECT_EQ(since_text(noon, {noon.unix_ms + 1000}, {}), "12:00");
  EXPECT_EQ(since_text({noon.unix_ms - 86'400'000}, noon, {}), "10-08 12:00");
  EXPECT_EQ(since_text({noon.unix_ms - 365LL * 86'400'000}, noon, {}), "2024-10-09");
  EXPECT_EQ(age_text({noon.unix_ms - 7'380'000}, noon), "2h03m");
}

TEST(Values, ClocksThatDisagreeAndHostileTimesDoNoHarm) {
  EXPECT_EQ(age_text({noon.unix_ms + 5000}, noon), "0s");
  EXPECT_FALSE(age_text({INT64_MIN}, {INT64_MAX}).empty());
  EXPECT_FALSE(date_time_text({INT64_MAX}, {}).empty());
  EXPECT_FALSE(date_time_text({INT64_MIN}, {}).empty());
}

TEST(Values, BarsAreExactlyAsWideAsAsked) {
  EXPECT_EQ(bar(0.5, 4, {}), "██··");
  EXPECT_EQ(bar(0.5625, 4, {}), "██▎·");
  EXPECT_EQ(bar(1.0, 4, {.utf8 = false}), "####");
  for (const double share : {-1.0, 0.0, 0.33, 1.0, 7.0, 0.0 / 0.0}) {
    EXPECT_EQ(display_width(bar(share, 9, {})), 9) << share;
  }
}

TEST(Values, SparklinesShowGapsAndShrinkToTheRoom) {
  const std::vector<Reading<double>> values = {0.0, 50.0, Absent::failed, 100.0};
  EXPECT_EQ(sparkline(values, 100, 10, {}), "▁▅ █");
  EXPECT_EQ(sparkline(values, 100, 10, {.utf8 = false}), "_= #");
  EXPECT_EQ(sparkline(values, 100, 2, {}), "▃█");
  EXPECT_EQ(sparkline({}, 100, 10, {}), "");
}

}  // namespace
}  // namespace berth
