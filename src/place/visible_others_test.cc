#include "place/visible_others.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "place/placement.h"
#include "snapshot/builder.h"
#include "snapshot/device_kind.h"
#include "snapshot/device_kind_rows.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

auto of_kind(DeviceKind kind, int runtime_index) {
  return [=](Device& device) {
    device.kind = kind;
    device.runtime_index = runtime_index;
    device.compute_capability = Absent::unsupported;
    device.utilization_history = Absent::unsupported;
    device.process_count = std::uint64_t{0};
  };
}

Snapshot three_of_amd() {
  return SnapshotBuilder()
      .gpu("GPU-aa00", 64_GiB)
      .with(of_kind(DeviceKind::amd_gpu, 0))
      .gpu("GPU-ab11", 64_GiB)
      .with(of_kind(DeviceKind::amd_gpu, 1))
      .gpu("GPU-bb22", 64_GiB)
      .with(of_kind(DeviceKind::amd_gpu, 2))
      .build();
}

/// A card in CPX with three partitions.
Snapshot divided_card() {
  SnapshotBuilder host;
  host.gpu("GPU-aa", 192_GiB).with(of_kind(DeviceKind::amd_gpu, 0)).with([](Device& card) {
    card.partition_mode = std::string("CPX NPS1");
    card.runtime_index.reset();
  });
  for (int i = 0; i < 3; ++i) {
    host.gpu("GPU-aa-p" + std::to_string(i), 64_GiB)
        .with(of_kind(DeviceKind::amd_partition, i))
        .with([=](Device& part) {
          part.parent = DeviceId("GPU-aa");
          part.index = 0;
          part.partition = Partition{static_cast<std::uint32_t>(i), 0};
          part.uuid = Absent::unsupported;
          part.memory_used = part.memory_free = part.memory_reserved = Absent::unsupported;
        });
  }
  return host.build();
}

std::vector<std::string> ids(const VisibleDevices& visible) {
  std::vector<std::string> texts;
  for (const DeviceId& id : visible.devices) texts.push_back(id.text());
  return texts;
}

TEST(RocrVisibleDevices, ReadsNumbersAndBeginningsOfUuids) {
  const Snapshot host = three_of_amd();
  const auto read = [&](std::string_view list) {
    return read_visible_list(facts_of(DeviceKind::amd_gpu), list, host);
  };
  EXPECT_THAT(ids(read("2, 0")), ElementsAre("GPU-bb22", "GPU-aa00"));
  EXPECT_THAT(ids(read("gpu-BB,1")), ElementsAre("GPU-bb22", "GPU-ab11"));
  EXPECT_THAT(ids(read("GPU-a,1")), IsEmpty()) << "fits two";
  EXPECT_THAT(ids(read("1,7,0")), ElementsAre("GPU-ab11")) << "the unknown ends it";
  EXPECT_THAT(ids(read("1,1,0")), ElementsAre("GPU-ab11")) << "so does a repeated one";
  for (const char* none : {"", "-1", " "}) EXPECT_THAT(ids(read(none)), IsEmpty()) << none;
  EXPECT_THAT(read("").remarks, IsEmpty());
  EXPECT_THAT(read("9").remarks, SizeIs(1));
}

TEST(HipVisibleDevices, NumberWhatRocrHasLeft) {
  const Snapshot host = three_of_amd();
  const std::vector<DeviceId> left = {DeviceId("GPU-ab11"), DeviceId("GPU-bb22")};
  const auto read = [&](std::string_view list) {
    return ids(parse_hip_visible_devices(list, left, host));
  };
  EXPECT_THAT(read("1"), ElementsAre("GPU-bb22"));
  EXPECT_THAT(read("2"), IsEmpty()) << "there are two";
  EXPECT_THAT(read("0, 1"), ElementsAre("GPU-ab11")) << "a blank is no digit";
  EXPECT_THAT(read("01"), IsEmpty());
  EXPECT_THAT(read("GPU-bb22"), ElementsAre("GPU-bb22"));
  EXPECT_THAT(read("GPU-BB22"), IsEmpty()) << "small letters only";
  EXPECT_THAT(read(""), SizeIs(2)) << "as if it were not set";
  EXPECT_THAT(read("-1"), IsEmpty());
}

TEST(AffinityMask, PassesOverWhatItDoesNotKnow) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("a", 16_GiB)
                            .with(of_kind(DeviceKind::intel_gpu, 0))
                            .gpu("b", 16_GiB)
                            .with(of_kind(DeviceKind::intel_gpu, 1))
                            .build();
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::intel_gpu), "1,7,0", host)),
              ElementsAre("a", "b"));
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::intel_gpu), "", host)),
              ElementsAre("a", "b"));
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::intel_gpu), "1.0", host)),
              ElementsAre("b"));
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::intel_gpu), "-1", host)), IsEmpty());
  const VisibleDevices endless =
      read_visible_list(facts_of(DeviceKind::intel_gpu), std::string(100'000, ','), host);
  EXPECT_THAT(endless.remarks, SizeIs(8)) << "what is said of it has an end";
  const VisibleDevices longest =
      read_visible_list(facts_of(DeviceKind::intel_gpu), std::string(100'000, 'x'), host);
  EXPECT_LT(longest.remarks[0].english().size(), 200U);
}

TEST(AscendVisibleDevices, MustAscend) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("a", 64_GiB)
                            .with(of_kind(DeviceKind::ascend_npu, 0))
                            .gpu("b", 64_GiB)
                            .with(of_kind(DeviceKind::ascend_npu, 1))
                            .build();
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::ascend_npu), "0,1", host)),
              ElementsAre("a", "b"));
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::ascend_npu), "1,0", host)), IsEmpty());
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::ascend_npu), "0, 1", host)),
              ElementsAre("a"));
  EXPECT_THAT(ids(read_visible_list(facts_of(DeviceKind::ascend_npu), "-1", host)), IsEmpty());
  // What berth writes ascends, whatever the order of the choice.
  EXPECT_EQ(write_visible_devices({DeviceId("b"), DeviceId("a")}, VisibleFormat::indices, host)
                .value_or(""),
            "0,1");
}

TEST(DevicesLeft, EachMakersVariableLimitsItsOwn) {
  Snapshot host = three_of_amd();
  const Snapshot nvidia = SnapshotBuilder().gpu("GPU-n0", 24_GiB).gpu("GPU-n1", 24_GiB).build();
  host.devices.insert(host.devices.end(), nvidia.devices.begin(), nvidia.devices.end());
  const auto left = [&](const VisibleSettings& settings) {
    const auto visible = devices_left_by(settings, host);
    return visible && *visible ? ids(**visible) : std::vector<std::string>{"unlimited"};
  };
  EXPECT_THAT(left({}), ElementsAre("unlimited"));
  EXPECT_THAT(left({{"ROCR_VISIBLE_DEVICES", "1"}}), ElementsAre("GPU-ab11", "GPU-n0", "GPU-n1"));
  EXPECT_THAT(left({{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}),
              ElementsAre("GPU-n0", "GPU-aa00", "GPU-ab11", "GPU-bb22"));
  EXPECT_THAT(left({{"ROCR_VISIBLE_DEVICES", "1,2"}, {"HIP_VISIBLE_DEVICES", "1"}}),
              ElementsAre("GPU-bb22", "GPU-n0", "GPU-n1"));
  EXPECT_THAT(left({{"ROCR_VISIBLE_DEVICES", "2"}, {"HIP_VISIBLE_DEVICES", "2"}}),
              ElementsAre("GPU-n0", "GPU-n1"))
      << "HIP numbers what ROCr has left";
}

TEST(DevicesLeft, HipReadsCudasVariableWhereThereIsNoneOfNvidias) {
  const auto visible = devices_left_by({{"CUDA_VISIBLE_DEVICES", "2"}}, three_of_amd());
  ASSERT_TRUE(visible && *visible);
  EXPECT_THAT(ids(**visible), ElementsAre("GPU-bb22"));
}

TEST(DevicesLeft, EachHiddenOneHasTheNameOfWhatHidesIt) {
  const auto hidden_by = [](const VisibleSettings& settings) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [id, name] : devices_left_by(settings, three_of_amd()).value()->hidden_by) {
      found.emplace_back(id.text(), name);
    }
    return found;
  };
  EXPECT_THAT(hidden_by({{"HIP_VISIBLE_DEVICES", "0"}}),
              ElementsAre(Pair("GPU-ab11", "HIP_VISIBLE_DEVICES"),
                          Pair("GPU-bb22", "HIP_VISIBLE_DEVICES")));
  EXPECT_THAT(hidden_by({{"CUDA_VISIBLE_DEVICES", "0,1"}}),
              ElementsAre(Pair("GPU-bb22", "CUDA_VISIBLE_DEVICES")));
  EXPECT_THAT(hidden_by({{"ROCR_VISIBLE_DEVICES", "1,2"}, {"HIP_VISIBLE_DEVICES", "1"}}),
              ElementsAre(Pair("GPU-aa00", "ROCR_VISIBLE_DEVICES"),
                          Pair("GPU-ab11", "HIP_VISIBLE_DEVICES")));
}

Snapshot two_of_each(std::vector<DeviceKind> kinds) {
  SnapshotBuilder host;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (int number = 0; number < 2; ++number) {
      host.gpu(std::string(1, static_cast<char>('a' + i)) + std::to_string(number), 0_GiB)
          .with(of_kind(kinds[i], number));
    }
  }
  return host.build();
}

TEST(PlainNumbers, AreReadNoWiderThanAnyRuntimeMight) {
  const Snapshot host = two_of_each({DeviceKind::cambricon_mlu, DeviceKind::habana_gaudi});
  const auto read = [&](std::string_view list) {
    return ids(read_visible_list(facts_of(DeviceKind::cambricon_mlu), list, host));
  };
  EXPECT_THAT(read("1, 0"), ElementsAre("a1", "a0"));
  EXPECT_THAT(read("1,7,0"), ElementsAre("a1")) << "the unknown ends it";
  EXPECT_THAT(read("1,1,0"), ElementsAre("a1")) << "so does a repeated one";
  EXPECT_THAT(read("MLU-1a,0"), IsEmpty());
  for (const char* none : {"", "-1", " "}) EXPECT_THAT(read(none), IsEmpty()) << none;
}

TEST(DevicesLeft, EachKindsOwnVariableIsRead) {
  for (const DeviceKindFacts& facts : device_kinds()) {
    if (facts.visible_variable.empty() || facts.kind == DeviceKind::nvidia_mig) continue;
    const Snapshot host = two_of_each({facts.kind});
    const VisibleSettings settings = {{std::string(facts.visible_variable), "1"},
                                      {std::string(facts.order_variable), "PCI_BUS_ID"}};
    const auto left = devices_left_by(settings, host);
    ASSERT_TRUE(left && *left) << facts.name;
    EXPECT_THAT(ids(**left), ElementsAre("a1")) << facts.name;
    EXPECT_THAT((*left)->remarks, IsEmpty()) << facts.name;
    EXPECT_FALSE(*devices_left_by({}, host)) << facts.name;
  }
}

TEST(DevicesLeft, CudasVariableIsNvidiasWhereBothAreThere) {
  const Snapshot host = two_of_each({DeviceKind::nvidia_gpu, DeviceKind::metax_gpu});
  const auto left =
      devices_left_by({{"CUDA_VISIBLE_DEVICES", "1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}, host);
  ASSERT_TRUE(left && *left);
  EXPECT_THAT(ids(**left), ElementsAre("a1", "b0", "b1"));
}

TEST(VisibleVariables, OfAmdAreTheRuntimesNumbersAndNothingNumbersThemAnew) {
  Snapshot host = three_of_amd();
  host.devices[0].index = 5;  // behind others' cards
  const std::vector<DeviceId> given = {DeviceId("GPU-aa00"), DeviceId("GPU-bb22")};
  EXPECT_THAT(visible_variables(given, VisibleFormat::indices, host).value(),
              ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "0,2")));
  EXPECT_THAT(removed_variables(given, host),
              ElementsAre("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"));
  EXPECT_THAT(removed_variables({DeviceId("GPU-n0")}, host), IsEmpty());
  EXPECT_THAT(variables_instead(given, host),
              ElementsAre(Pair("HIP_VISIBLE_DEVICES", "0,1"), Pair("CUDA_VISIBLE_DEVICES", ""),
                          Pair("GPU_DEVICE_ORDINAL", "")))
      << "PyTorch takes an empty HIP_VISIBLE_DEVICES for no device";
}

TEST(Partitions, AreGivenBySeveralAndHaveNumbers) {
  const Snapshot host = divided_card();
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::divided);
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::free);
  const Placement two = place(host, Request{.devices = 2});
  ASSERT_THAT(two.chosen, SizeIs(2));
  std::vector<DeviceId> given;
  for (const Choice& one : two.chosen) given.push_back(one.device);
  EXPECT_THAT(visible_variables(given, VisibleFormat::indices, host).value(),
              ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "0,1")));
  EXPECT_FALSE(visible_variables(given, VisibleFormat::uuids, host)) << "they share the card's";
}

TEST(Kinds, OfSeveralOneHasToBeSaid) {
  Snapshot host = three_of_amd();
  const Snapshot nvidia = SnapshotBuilder().gpu("GPU-n0", 24_GiB).build();
  host.devices.push_back(nvidia.devices[0]);
  const Placement unsaid = place(host, Request{});
  EXPECT_FALSE(unsaid.satisfied());
  EXPECT_FALSE(unsaid.possible);
  EXPECT_THAT(unsaid.kinds_to_choose, ElementsAre("amd", "nvidia"));
  const Placement said = place(host, Request{.kind = "amd"});
  ASSERT_THAT(said.chosen, SizeIs(1));
  EXPECT_EQ(said.chosen[0].device.text(), "GPU-aa00");
  EXPECT_TRUE(place(host, Request{.only = {{"GPU-n0"}}}).satisfied());
  EXPECT_TRUE(place(host, Request{}, {.visible = {{DeviceId("GPU-n0")}}}).satisfied())
      << "what is visible is of one kind";
}

TEST(Kinds, WhatIsIntegratedIsGivenOnlyByName) {
  Snapshot host = three_of_amd();
  host.devices.resize(2);
  host.devices[0].integrated = true;
  const Placement one = place(host, Request{.devices = 1});
  ASSERT_THAT(one.chosen, SizeIs(1));
  EXPECT_EQ(one.chosen[0].device.text(), "GPU-ab11");
  EXPECT_THAT(one.refused[0].rule, Rule::not_asked_for);
  EXPECT_TRUE(place(host, Request{.only = {{"GPU-aa00"}}}).satisfied());
}

TEST(Kinds, WhoIsOnADeviceOfWhichOnlyPresenceIsKnownMustBeSeen) {
  Snapshot host = SnapshotBuilder().gpu("a", 16_GiB).build();
  Device& device = host.devices[0];
  device.kind = DeviceKind::cambricon_mlu;
  device.memory_used = device.memory_free = device.memory_total = Absent::unsupported;
  device.utilization_gpu = Absent::unsupported;
  device.process_count = Absent::no_permission;
  EXPECT_EQ(state_of(device, host), DeviceState::unknown);
  EXPECT_FALSE(place(host, Request{.only = {{"a"}}}).satisfied());
  device.process_count = std::uint64_t{0};
  EXPECT_EQ(state_of(device, host), DeviceState::free);
  EXPECT_TRUE(place(host, Request{.only = {{"a"}}}).satisfied());
  EXPECT_FALSE(place(host, Request{}).satisfied());
}

TEST(Kinds, WhoIsOnAGpuWithoutMemoryOfItsOwnMustBeSeen) {
  Snapshot host = SnapshotBuilder().gpu("a", 16_GiB).build();
  Device& device = host.devices[0];
  device.kind = DeviceKind::intel_gpu;
  device.integrated = true;
  device.memory_used = device.memory_free = device.memory_total = Absent::unsupported;
  device.utilization_gpu = Absent::not_sampled;
  device.process_count = Absent::no_permission;
  EXPECT_EQ(state_of(device, host), DeviceState::unknown);
  const Placement refused = place(host, Request{.only = {{"a"}}});
  ASSERT_FALSE(refused.satisfied());
  EXPECT_EQ(refused.refused[0].text.english(), "who is on it could not be read");
  device.process_count = std::uint64_t{0};
  EXPECT_TRUE(place(host, Request{.only = {{"a"}}}).satisfied());
}

TEST(Kinds, WhoseRightItWantsToSeeUsedMemoryIsSaid) {
  Snapshot host = SnapshotBuilder().gpu("a", 16_GiB).build();
  Device& device = host.devices[0];
  device.kind = DeviceKind::intel_gpu;
  device.memory_used = Absent::no_permission;
  device.process_count = Absent::no_permission;
  device.memory_free = Absent::unsupported;
  for (const Request& request : {Request{}, Request{.memory = 1_GiB}}) {
    const Placement refused = place(host, request);
    ASSERT_FALSE(refused.satisfied());
    EXPECT_THAT(refused.refused[0].text.english(), HasSubstr("CAP_PERFMON"));
  }
}

TEST(Load, OfAmdsThatLiesIsNobodysWhereAllAreListed) {
  Snapshot host = three_of_amd();
  host.devices[0].utilization_gpu = Percent{100};
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::free);
  host.devices[0].process_count = Absent::unsupported;
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::busy);
}

TEST(Needs, OfAmdAreByChip) {
  Snapshot host = three_of_amd();
  host.devices[0].architecture = std::string("gfx90a");
  host.devices[1].architecture = std::string("gfx942");
  host.devices[2].architecture = std::string("gfx906");
  const auto first = [&](Need need) {
    const Placement got = place(host, Request{.needs = {need}});
    return got.satisfied() ? got.chosen[0].device.text() : "none";
  };
  EXPECT_EQ(first(Need::bf16), "GPU-aa00");
  EXPECT_EQ(first(Need::fp8), "GPU-ab11");
}

VisibleSettings settings_of(std::map<std::string, std::string> variables) {
  return visible_settings_in([variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

/// Two of NVIDIA's, one of AMD's, Huawei's and Intel's each, two of a maker without a runtime.
Snapshot of_all_makers() {
  return SnapshotBuilder()
      .gpu("N0", 64_GiB)
      .gpu("N1", 64_GiB)
      .gpu("A0", 64_GiB)
      .with(of_kind(DeviceKind::amd_gpu, 0))
      .gpu("A1", 64_GiB)
      .with(of_kind(DeviceKind::amd_gpu, 1))
      .gpu("H0", 64_GiB)
      .with(of_kind(DeviceKind::ascend_npu, 0))
      .gpu("I0", 64_GiB)
      .with(of_kind(DeviceKind::intel_gpu, 0))
      .gpu("M0", 64_GiB)
      .with(of_kind(DeviceKind::cambricon_mlu, 0))
      .gpu("M1", 64_GiB)
      .with(of_kind(DeviceKind::cambricon_mlu, 1))
      .build();
}

std::map<std::string, std::optional<int>> numbers(std::map<std::string, std::string> variables,
                                                  const Snapshot& snapshot = of_all_makers()) {
  std::map<std::string, std::optional<int>> told;
  for (const auto& [id, number] : numbers_in_program(settings_of(variables), snapshot).numbers) {
    told.emplace(id.text(), number);
  }
  return told;
}

TEST(NumbersInProgram, OfEachRuntimeBeginWithZero) {
  EXPECT_THAT(numbers({}), ElementsAre(Pair("A0", 0), Pair("A1", 1), Pair("H0", 0), Pair("I0", 0),
                                       Pair("M0", 0), Pair("M1", 1), Pair("N0", 0), Pair("N1", 1)));
}

TEST(NumbersInProgram, FollowEachMakersOwnVariable) {
  EXPECT_THAT(numbers({{"CUDA_VISIBLE_DEVICES", "1"},
                       {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                       {"ROCR_VISIBLE_DEVICES", "1,0"},
                       {"ASCEND_RT_VISIBLE_DEVICES", ""},
                       {"ZE_AFFINITY_MASK", "-1"},
                       {"MLU_VISIBLE_DEVICES", "1"}}),
              ElementsAre(Pair("A0", 1), Pair("A1", 0), Pair("M1", 0), Pair("N1", 0)));
}

TEST(NumbersInProgram, ThatOnlyCudaKnowsAreNotToldAndThoseOfOthersAre) {
  Snapshot snapshot = of_all_makers();
  snapshot.devices[0].name = std::string("L4");
  snapshot.devices[1].name = std::string("H100");
  const auto told =
      numbers({{"CUDA_VISIBLE_DEVICES", "1"}, {"ROCR_VISIBLE_DEVICES", "1"}}, snapshot);
  EXPECT_EQ(told.at("N0"), std::nullopt);
  EXPECT_EQ(told.at("N1"), std::nullopt);
  EXPECT_EQ(told.at("A1"), 0);
  EXPECT_FALSE(told.contains("A0"));
}

TEST(OtherVariables, HaveTheEarlierNameOfAVariableWhereTheNewOneIsNotSet) {
  const Snapshot host = two_of_each({DeviceKind::google_tpu});
  const auto only = [&](std::map<std::string, std::string> variables) {
    const auto found = other_variables(settings_of(std::move(variables)), host);
    return found.size() == 1 ? std::string(found[0].name) + "=" + found[0].value : "";
  };
  EXPECT_EQ(only({{"TPU_VISIBLE_DEVICES", "1"}}), "TPU_VISIBLE_DEVICES=1");
  EXPECT_EQ(only({{"TPU_VISIBLE_DEVICES", "1"}, {"TPU_VISIBLE_CHIPS", "0"}}),
            "TPU_VISIBLE_CHIPS=0");
}

TEST(OtherVariables, OfRocmAreBothLayersEachWithItsOwnMistakes) {
  const auto found = other_variables(
      {{"ROCR_VISIBLE_DEVICES", "1,9"}, {"HIP_VISIBLE_DEVICES", "0,5"}}, three_of_amd());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "ROCR_VISIBLE_DEVICES");
  EXPECT_THAT(found[0].read.remarks, SizeIs(1));
  EXPECT_EQ(found[1].value, "0,5");
  EXPECT_THAT(found[1].read.devices, ElementsAre(DeviceId("GPU-ab11")));
  ASSERT_THAT(found[1].read.remarks, SizeIs(1));
  EXPECT_THAT(found[1].read.remarks[0].english(), HasSubstr("entry 2"));
}

TEST(OtherVariables, OfHipAreCudasWhereItsOwnSaysNothingAndNvidiaHasNoDevice) {
  const VisibleSettings settings = {{"CUDA_VISIBLE_DEVICES", "1"}, {"HIP_VISIBLE_DEVICES", ""}};
  EXPECT_EQ(other_variables(settings, three_of_amd()).back().name, "CUDA_VISIBLE_DEVICES");
  EXPECT_THAT(other_variables(settings, two_of_each({DeviceKind::nvidia_gpu})), IsEmpty());
  EXPECT_TRUE(other_variables({{"HIP_VISIBLE_DEVICES", ""}}, three_of_amd())[0].is_as_unset);
  EXPECT_FALSE(devices_left_by({{"HIP_VISIBLE_DEVICES", ""}}, three_of_amd()).value())
      << "an empty list limits nothing";
}

TEST(DevicesLeft, CudasListIsNotReadAgainWhereHipsOwnIsSet) {
  const auto left = devices_left_by({{"CUDA_VISIBLE_DEVICES", "7"}, {"HIP_VISIBLE_DEVICES", "1"}},
                                    three_of_amd());
  ASSERT_TRUE(left && *left);
  EXPECT_THAT(ids(**left), ElementsAre("GPU-ab11"));
  EXPECT_THAT((*left)->remarks, IsEmpty());
}

TEST(DevicesLeft, CudasListIsNobodysWhereNoDevicesProgramsReadIt) {
  for (const DeviceKind kind : {DeviceKind::ascend_npu, DeviceKind::intel_gpu}) {
    EXPECT_FALSE(devices_left_by({{"CUDA_VISIBLE_DEVICES", "3"}}, two_of_each({kind})).value());
  }
  const auto left =
      devices_left_by({{"CUDA_VISIBLE_DEVICES", "3"}, {"ASCEND_RT_VISIBLE_DEVICES", "1"}},
                      two_of_each({DeviceKind::ascend_npu}));
  ASSERT_TRUE(left && *left);
  EXPECT_THAT(ids(**left), ElementsAre("a1"));
  EXPECT_THAT((*left)->remarks, IsEmpty());
  const auto of_none = devices_left_by({{"CUDA_VISIBLE_DEVICES", "3"}}, Snapshot{});
  ASSERT_TRUE(of_none && *of_none);
  EXPECT_THAT((*of_none)->remarks, SizeIs(1)) << "where there is no device it is CUDA's";
}

std::vector<std::string> held(const Snapshot& host, std::string_view numbers,
                              const VisibleSettings& settings = {}) {
  const auto left = devices_left_by(settings, host);
  VisibleDevices visible;
  if (left && *left) visible = **left;
  if (left && !*left) {
    for (const Device& device : host.devices) visible.devices.push_back(device.id);
  }
  visible.devices = held_to_numbers(visible.devices, numbers, settings, host);
  return ids(visible);
}

TEST(HeldToNumbers, AJobHasNoDeviceThatABatchSystemDidNotGive) {
  const Snapshot amd = three_of_amd();
  EXPECT_THAT(held(amd, "1,2"), ElementsAre("GPU-ab11", "GPU-bb22"));
  EXPECT_THAT(held(amd, "1,2", {{"HIP_VISIBLE_DEVICES", ""}}), SizeIs(2))
      << "as if it were not set";
  EXPECT_THAT(held(amd, "1", {{"ROCR_VISIBLE_DEVICES", "0,1"}}), ElementsAre("GPU-ab11"));
  EXPECT_THAT(held(amd, "1", {{"ROCR_VISIBLE_DEVICES", "0,2"}}), IsEmpty());
  EXPECT_THAT(held(amd, "5,6,7"), SizeIs(3)) << "the others are hidden, and these are those";
  for (const char* unclear : {"5", "x", "0-1", "1,,"}) {
    EXPECT_THAT(held(amd, unclear), IsEmpty()) << unclear;
    EXPECT_THAT(held(amd, unclear, {{"ROCR_VISIBLE_DEVICES", "2"}}), SizeIs(1))
        << "its own variable says: " << unclear;
  }
  EXPECT_THAT(held(two_of_each({DeviceKind::ascend_npu}), "1"), ElementsAre("a1"));
  const Snapshot both = two_of_each({DeviceKind::nvidia_gpu, DeviceKind::amd_gpu});
  EXPECT_THAT(held(both, "1"), ElementsAre("a1")) << "numbers are NVIDIA's";
  EXPECT_THAT(held(both, "1", {{"ROCR_VISIBLE_DEVICES", "1"}}),
              testing::UnorderedElementsAre("a1", "b1"));
  EXPECT_THAT(held(two_of_each({DeviceKind::intel_gpu, DeviceKind::amd_gpu}), "1"), IsEmpty());
}

TEST(VisibleVariables, OfOneMakerHideAnothersThatAreHere) {
  const Snapshot both = two_of_each({DeviceKind::nvidia_gpu, DeviceKind::amd_gpu});
  const std::vector<DeviceId> given = {DeviceId("b1")};
  EXPECT_THAT(visible_variables(given, VisibleFormat::indices, both).value(),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""), Pair("HIP_VISIBLE_DEVICES", "0"),
                          Pair("ROCR_VISIBLE_DEVICES", "1")));
  EXPECT_THAT(removed_variables(given, both), ElementsAre("GPU_DEVICE_ORDINAL"));
}

TEST(NumbersInProgram, SayNothingOfCudasListWhereNoDeviceIsItsOwn) {
  const auto told =
      numbers_in_program({{"CUDA_VISIBLE_DEVICES", "7"}}, two_of_each({DeviceKind::intel_gpu}));
  EXPECT_THAT(told.remarks, IsEmpty());
  EXPECT_THAT(told.numbers, SizeIs(2));
}

}  // namespace
}  // namespace berth
