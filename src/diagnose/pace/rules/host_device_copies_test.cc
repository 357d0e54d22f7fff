#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::HasSubstr;

TEST(HostDeviceCopies, IsSaidOfATransferInWhichNoKernelRuns) {
  auto copies = ActivityBuilder().busy(35).main(495).device(
      [](DeviceStep& one) { one.pcie_received = Bytes{6'000'000'000}; });
  const Finding found = first_finding(copies);
  EXPECT_EQ(found.rule, "host_device_copies");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("11.2 GiB/s go to the device, 38 % of what its PCIe link carries"));
  EXPECT_THAT(steps_in(found), HasSubstr("pin_memory=True"));
  EXPECT_EQ(answer(copies.busy(95)), "nothing") << "copies beside kernels cost nothing";
}

TEST(HostDeviceCopies, SayWhichWayTheyGo) {
  auto copies = ActivityBuilder().busy(35).device(
      [](DeviceStep& one) { one.pcie_sent = Bytes{6'000'000'000}; });
  EXPECT_THAT(evidence_in(first_finding(copies)),
              HasSubstr("11.2 GiB/s come back from the device"));
}

}  // namespace
}  // namespace berth::pace
