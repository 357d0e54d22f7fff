#include "snapshot/heat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/fields.h"
#include "snapshot/sample_test.h"

namespace berth {
namespace {

/// The device as a look leaves it that asks for what heat follows from, and for nothing else.
Device as_asked_for(Device device) {
  for (const Field& field : fields()) {
    const Wanted its = Wanted().add(field);
    if (field.write == nullptr || its.without(wanted_by_heat()) == Wanted()) continue;
    field.write(device, Absent::not_sampled);
  }
  return device;
}

TEST(Heat, FollowsFromWhatItAsksFor) {
  Device by_limit = full_device("GPU-1");
  by_limit.throttle_reasons = Absent::unsupported;
  by_limit.temperature = Celsius(90);
  by_limit.temperature_slowdown = Celsius(87);
  Device by_margin = by_limit;
  by_margin.temperature_slowdown = Absent::unsupported;
  by_margin.details.set(Detail::temperature_limit_margin, Reading<Celsius>(Celsius(2)));
  by_margin.details.set(Detail::temperature_slowdown_margin, Reading<Celsius>(Celsius(-2)));
  Device by_driver = by_limit;
  by_driver.temperature = Absent::unsupported;
  by_driver.details.put(Detail::temperature_limit_margin, Absent::unsupported);
  by_driver.throttle_reasons =
      ClockReasons(static_cast<std::uint64_t>(ClockReason::hardware_thermal));
  EXPECT_EQ(heat_of(as_asked_for(by_limit)), Heat::hot);
  EXPECT_EQ(heat_of(as_asked_for(by_margin)), Heat::warm);
  EXPECT_EQ(heat_of(as_asked_for(by_driver)), Heat::hot);
}

}  // namespace
}  // namespace berth
