#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorImportFailed, CrashedHungOrRaised) {
  Examined host = healthy();
  ImportAnswer& said = host.world.python->said;
  said.end = ImportEnd::crashed;
  said.detail = "signal 11";
  EXPECT_EQ(told(host), "error import_failed: its process ended by signal 11");
  said.end = ImportEnd::took_too_long;
  EXPECT_THAT(told(host), HasSubstr("warning import_failed: it had not come to an end"));
  said.end = ImportEnd::answered;
  said.frameworks[0].error = "ImportError: libcudnn.so.9";
  EXPECT_EQ(told(host), "error import_failed: it wrote: ImportError: libcudnn.so.9");
  EXPECT_THAT(commands_of(only(host)),
              HasSubstr("-X faulthandler -X importtime -c 'import torch'"));
}

TEST(DoctorImportFailed, BeforeTheFirstFrameworkItIsTheInterpreters) {
  Examined host = healthy();
  host.world.python->said = {.end = ImportEnd::crashed, .detail = "signal 4"};
  EXPECT_EQ(only(host).title.english(),
            "the Python interpreter crashes before it imports anything");
  host.world.python->said.end = ImportEnd::took_too_long;
  EXPECT_EQ(only(host).title.english(), "the Python interpreter does not come back");
}

TEST(DoctorImportFailed, ShowsNoSecretOfWhatItWrote) {
  Examined host = healthy();
  host.world.python->said.frameworks[0].error =
      "OSError: api_key=hunter2 https://u:hunter2@h/ hf_abcdefghijklmnop";
  EXPECT_EQ(told(host), "error import_failed: it wrote: OSError: api_key=*** https://u:***@h/ ***");
}

TEST(DoctorImportFailed, WhatWasNotAskedHasNotFailed) {
  Examined host = healthy();
  host.world.python->said = {.end = ImportEnd::not_asked};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor
