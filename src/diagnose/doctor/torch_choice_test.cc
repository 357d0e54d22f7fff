#include "diagnose/doctor/torch_choice.h"

#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

TEST(TorchChoice, NeverTakesACudaWhoseDriverIsNotKnown) {
  const Examined host = healthy();
  const auto build = fitting_torch(host, torch_for("2.14.0+cpu", std::nullopt));
  ASSERT_TRUE(build);
  EXPECT_EQ(build->cuda, (TwoPart{13, 0})) << "13.2 is newer than the table of drivers";
}

}  // namespace
}  // namespace berth::doctor
