#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorNouveauDriver, NouveauHasTheCard) {
  const Examined host = without_driver(nouveau_has_it, std::string("nouveau"));
  EXPECT_THAT(told(host), HasSubstr("error nouveau_driver: nouveau is bound to "));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("blacklist nouveau"));
}

TEST(DoctorNouveauDriver, NvidiasOwnDriverHasTheCard) {
  Examined host = healthy();
  for (Device& card : host.snapshot.devices) card.kernel_driver = std::string("nvidia");
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
