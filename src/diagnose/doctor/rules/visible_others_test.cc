#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<DeviceId> first = {DeviceId("GPU-a")};

VisibleVariable variable(std::string_view name, std::string value,
                         std::vector<DeviceId> devices = {}, std::vector<Sentence> remarks = {}) {
  return {.name = name,
          .value = std::move(value),
          .of = &facts_of(DeviceKind::amd_gpu),
          .read = {.devices = std::move(devices), .remarks = std::move(remarks)}};
}

/// Two cards of AMD's, and these variables.
Examined host_with(std::vector<VisibleVariable> others) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) device.kind = DeviceKind::amd_gpu;
  host.facts = {};
  host.others = std::move(others);
  return host;
}

TEST(DoctorVisibleOthers, AListThatSaysWhatIsMeantHasNoFinding) {
  EXPECT_THAT(rules_of(host_with({variable("ROCR_VISIBLE_DEVICES", "0", first)})), IsEmpty());
  EXPECT_THAT(rules_of(host_with({variable("HIP_VISIBLE_DEVICES", "0", first)})), IsEmpty());
  EXPECT_THAT(rules_of(host_with({variable("ZE_AFFINITY_MASK", "0", first)})), IsEmpty());
}

TEST(DoctorVisibleOthers, TheSecondVariableNumbersWhatTheFirstLeaves) {
  const std::vector<DeviceId> two = {DeviceId("GPU-a"), DeviceId("GPU-b")};
  const auto rocr = variable("ROCR_VISIBLE_DEVICES", "2,3", two);
  const Finding none = only(host_with({rocr, variable("HIP_VISIBLE_DEVICES", "2,3")}));
  EXPECT_EQ(told(none),
            "error rocm_variables_disagree: ROCR_VISIBLE_DEVICES=\"2,3\"; "
            "HIP_VISIBLE_DEVICES=\"2,3\"");
  EXPECT_EQ(commands_of(none), "unset HIP_VISIBLE_DEVICES\n");
  const Finding some = only(host_with({rocr, variable("CUDA_VISIBLE_DEVICES", "0", first)}));
  EXPECT_EQ(some.severity, Severity::hint);
  EXPECT_EQ(commands_of(some), "unset CUDA_VISIBLE_DEVICES\n");
  const auto hip_first = host_with(
      {rocr, variable("HIP_VISIBLE_DEVICES", "0", first), variable("CUDA_VISIBLE_DEVICES", "1")});
  EXPECT_EQ(commands_of(only(hip_first)), "unset HIP_VISIBLE_DEVICES\n") << "HIP's own comes first";
  EXPECT_THAT(rules_of(host_with({rocr, variable("HIP_VISIBLE_DEVICES", "0,1", two)})), IsEmpty())
      << "it names all that are left";
}

TEST(DoctorVisibleOthers, EmptyHidesInOneVariableAndNotInTheOther) {
  EXPECT_EQ(told(host_with({variable("ROCR_VISIBLE_DEVICES", "")})),
            "warning rocm_hidden: ROCR_VISIBLE_DEVICES=\"\"");
  EXPECT_EQ(only(host_with({variable("ROCR_VISIBLE_DEVICES", "-1")})).rule, "rocm_hidden");
  EXPECT_EQ(only(host_with({variable("HIP_VISIBLE_DEVICES", "-1")})).rule, "rocm_hidden");
  EXPECT_EQ(told(host_with({variable("HIP_VISIBLE_DEVICES", "", first)})),
            "hint empty_hides_nothing: HIP_VISIBLE_DEVICES=\"\"");
  EXPECT_EQ(only(host_with({variable("ZE_AFFINITY_MASK", "", first)})).rule, "empty_hides_nothing");
}

TEST(DoctorVisibleOthers, HipReadsTheVariableOfCuda) {
  const Finding found = only(host_with({variable("CUDA_VISIBLE_DEVICES", "1", first)}));
  EXPECT_EQ(found.rule, "cuda_variable_is_hips");
  EXPECT_THAT(commands_of(found), HasSubstr("export ROCR_VISIBLE_DEVICES=1"));
}

TEST(DoctorVisibleOthers, AUuidOfSeveralDevicesOrOfNoneIsTold) {
  Examined host = host_with({variable("ROCR_VISIBLE_DEVICES", "GPU-a", first)});
  host.snapshot.devices[0].uuid = std::string("GPU-a");
  EXPECT_THAT(rules_of(host), IsEmpty()) << "each has its own";
  for (Device& device : host.snapshot.devices) {
    device.kind = DeviceKind::amd_partition;
    device.parent = DeviceId("card");
    device.uuid = std::string("GPU-a");
  }
  EXPECT_EQ(told(host), "warning rocm_uuid_shared: ROCR_VISIBLE_DEVICES=\"GPU-a\"");
  for (Device& device : host.snapshot.devices) device.uuid = Absent::unsupported;
  host.others[0].read.devices.clear();
  EXPECT_EQ(only(host).severity, Severity::error) << "an MI300A";
}

TEST(DoctorVisibleOthers, AnEntryThatIsNoDeviceIsTold) {
  const Finding found = only(host_with({variable("ASCEND_RT_VISIBLE_DEVICES", "3,1", {},
                                                 {Sentence("entry 2 (\"1\") does not ascend")})}));
  EXPECT_EQ(told(found),
            "warning visible_list_broken: ASCEND_RT_VISIBLE_DEVICES=\"3,1\"; entry 2 "
            "(\"1\") does not ascend");
  VisibleVariable plain = variable("MLU_VISIBLE_DEVICES", "MLU-1", {}, {Sentence("entry 1")});
  plain.of = &facts_of(DeviceKind::cambricon_mlu);
  EXPECT_THAT(rules_of(host_with({plain})), IsEmpty()) << "nobody knows how its runtime reads it";
}

TEST(DoctorVisibleOthers, AListThatHidesAllOfAMakersDevicesIsTold) {
  const auto of = [](DeviceKind kind, std::string_view name, std::string value) {
    VisibleVariable one = variable(name, std::move(value));
    one.of = &facts_of(kind);
    one.is_as_unset = kind == DeviceKind::intel_gpu && one.value.empty();
    return host_with({one});
  };
  for (const char* none : {"", "-1"}) {
    EXPECT_EQ(only(of(DeviceKind::ascend_npu, "ASCEND_RT_VISIBLE_DEVICES", none)).rule,
              "devices_hidden");
  }
  EXPECT_THAT(told(of(DeviceKind::intel_gpu, "ZE_AFFINITY_MASK", "-1")),
              HasSubstr("devices_hidden"));
  EXPECT_THAT(rules_of(of(DeviceKind::intel_gpu, "ZE_AFFINITY_MASK", "")),
              ElementsAre("empty_hides_nothing"));
}

}  // namespace
}  // namespace berth::doctor
