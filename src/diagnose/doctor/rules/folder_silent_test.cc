#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DoctorFolderSilent, EachIsNamed) {
  Examined host = healthy();
  host.world.silent_folders = {"/mnt/data"};
  EXPECT_EQ(told(host), "error folder_silent: a look into it had not come back after two seconds");
  EXPECT_EQ(only(host).title.english(), "/mnt/data does not answer");
  EXPECT_FALSE(only(host).doubt.empty());
  host.world.silent_folders.push_back("/mnt/more");
  EXPECT_THAT(rules_of(host), ElementsAre("folder_silent", "folder_silent"));
  host.world.silent_folders.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
