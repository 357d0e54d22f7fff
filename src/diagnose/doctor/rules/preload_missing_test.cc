#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::IsEmpty;

TEST(DoctorPreloadMissing, FileThatIsNotThere) {
  Examined host = healthy();
  host.world.libraries->preload_missing = {"/gone.so"};
  EXPECT_EQ(told(host),
            "hint preload_missing: LD_PRELOAD names /gone.so, and there is no such file");
  EXPECT_EQ(commands_of(only(host)), "unset LD_PRELOAD\n");
  host.world.libraries->preload_missing.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
