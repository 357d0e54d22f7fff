#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorNcclInterfaceMissing, NoneOfThatName) {
  Examined host = healthy();
  for (const char* gone : {"ib", "=eth", "=eth1,ib0:1"}) {
    host.world.variables = {{"NCCL_SOCKET_IFNAME", gone}};
    EXPECT_EQ(told(host), std::string("error nccl_interface_missing: NCCL_SOCKET_IFNAME=") + gone);
  }
}

TEST(DoctorNcclInterfaceMissing, BeginningsNamesAndExceptionsThatFit) {
  Examined host = healthy();
  for (const char* fits : {"eth", "=eth0", "ib,eth0", "=eth0:1", "^lo,docker", ""}) {
    host.world.variables = {{"NCCL_SOCKET_IFNAME", fits}};
    EXPECT_THAT(rules_of(host), IsEmpty()) << fits;
  }
  host.world.variables = {{"NCCL_SOCKET_IFNAME", "ib"}};
  host.world.interfaces.clear();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "not looked at";
}

}  // namespace
}  // namespace berth::doctor
