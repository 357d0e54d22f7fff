#include "diagnose/doctor/visible_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> told(const std::optional<VisibleList>& list) {
  std::vector<std::string> lines;
  for (const VisibleList::Token& token : list ? list->tokens : std::vector<VisibleList::Token>()) {
    lines.push_back(token.text + " " + token.meaning.english());
  }
  return lines;
}

TEST(VisibleLists, EachEntryIsTheDeviceThatItNamesByItself) {
  const auto list = visible_list({{"CUDA_VISIBLE_DEVICES", "1, 0"}}, healthy().snapshot, "");
  EXPECT_THAT(told(list), ElementsAre("\"1\" GPU 1, NVIDIA Test GPU (GPU-b)",
                                      "\"0\" GPU 0, NVIDIA Test GPU (GPU-a)"));
  EXPECT_THAT(list->devices, ElementsAre(DeviceId("GPU-b"), DeviceId("GPU-a")));
  EXPECT_FALSE(visible_list({}, healthy().snapshot, ""));
}

TEST(VisibleLists, BehindTheEntryThatEndsTheListNothingIsRead) {
  const auto list = visible_list({{"CUDA_VISIBLE_DEVICES", "0,7,1"}}, healthy().snapshot, "");
  EXPECT_THAT(told(list), ElementsAre("\"0\" GPU 0, NVIDIA Test GPU (GPU-a)",
                                      "\"7\" " + list->remarks.at(0).english(),
                                      "\"1\" not read: the list had ended"));
  EXPECT_EQ(list->corrected, "0,1");
}

TEST(VisibleLists, WhoHidesAllOnPurposeIsNotCorrected) {
  const auto list = visible_list({{"CUDA_VISIBLE_DEVICES", "-1"}}, healthy().snapshot, "");
  EXPECT_THAT(list->devices, IsEmpty());
  EXPECT_EQ(list->corrected, "");
}

TEST(VisibleLists, OfUnlikeCardsANumberIsUnclearWithoutTheOrder) {
  Snapshot unlike = healthy().snapshot;
  unlike.devices[1].name = std::string("NVIDIA Other");
  const auto list = visible_list({{"CUDA_VISIBLE_DEVICES", "1"}}, unlike, "");
  EXPECT_FALSE(list->unclear.empty());
  EXPECT_THAT(told(list), ElementsAre("\"1\" not to be told: the cards differ"));
  const auto ordered = visible_list(
      {{"CUDA_VISIBLE_DEVICES", "1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, unlike, "");
  EXPECT_TRUE(ordered->unclear.empty());
  EXPECT_THAT(ordered->devices, ElementsAre(DeviceId("GPU-b")));
}

TEST(VisibleLists, AContainersNumbersAreTheHosts) {
  Examined host = healthy();
  EXPECT_FALSE(given_list("0", host)) << "no container";
  host.facts.container = std::string("docker");
  host.snapshot.devices[0].uuid = std::string("GPU-a");
  EXPECT_FALSE(given_list("all", host));
  EXPECT_THAT(
      told(given_list("3,0:1,GPU-a,GPU-x,none,x", host)),
      ElementsAre("\"3\" the host's GPU 3; in here numbers begin with 0 again",
                  "\"0:1\" MIG instance 1 of the host's GPU 0",
                  "\"GPU-a\" GPU 0, NVIDIA Test GPU (GPU-a)",
                  "\"GPU-x\" no device that is shown here", "\"none\" no GPU by this variable",
                  "\"x\" neither a number of the host's nor a UUID"));
}

}  // namespace
}  // namespace berth::doctor
