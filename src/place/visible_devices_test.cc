#include "place/visible_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Snapshot four_alike() {
  return SnapshotBuilder()
      .gpu("GPU-aa00", 80_GiB)
      .gpu("GPU-ab11", 80_GiB)
      .gpu("GPU-bb22", 80_GiB)
      .gpu("GPU-bc33", 80_GiB)
      .build();
}

/// Card 0 divided into two instances, card 1 whole, card 2 divided into one.
Snapshot divided() {
  const auto divide = [](Device& d) { d.mig_mode = true; };
  const auto instance = [](const char* parent, int index, std::uint32_t place) {
    return [=](Device& d) {
      d.kind = DeviceKind::nvidia_mig;
      d.parent = DeviceId(parent);
      d.index = index;
      d.partition = Partition{place, 0};
    };
  };
  return SnapshotBuilder()
      .gpu("GPU-aa", 80_GiB)
      .with(divide)
      .gpu("MIG-11", 20_GiB)
      .with(instance("GPU-aa", 0, 1))
      .gpu("MIG-12", 20_GiB)
      .with(instance("GPU-aa", 0, 2))
      .gpu("GPU-bb", 80_GiB)
      .with([](Device& d) { d.index = 1; })
      .gpu("GPU-cc", 80_GiB)
      .with([&](Device& d) {
        d.index = 2;
        divide(d);
      })
      .gpu("MIG-31", 20_GiB)
      .with(instance("GPU-cc", 2, 1))
      .build();
}

VisibleDevices read(const std::optional<std::string>& value, const Snapshot& host = four_alike()) {
  const auto visible = parse_visible_devices(value, DeviceOrder::pci_bus_id, host);
  EXPECT_TRUE(visible.has_value());
  return visible.value_or(VisibleDevices{});
}

std::vector<std::string> remarks(const std::optional<std::string>& value,
                                 const Snapshot& host = four_alike()) {
  std::vector<std::string> said;
  for (const Sentence& one : read(value, host).remarks) said.push_back(one.english());
  return said;
}

std::vector<std::string> seen(const std::optional<std::string>& value,
                              const Snapshot& host = four_alike()) {
  std::vector<std::string> ids;
  for (const DeviceId& id : read(value, host).devices) ids.push_back(id.text());
  return ids;
}

TEST(VisibleDevices, UnsetShowsAll) {
  EXPECT_THAT(seen(std::nullopt), ElementsAre("GPU-aa00", "GPU-ab11", "GPU-bb22", "GPU-bc33"));
}
TEST(VisibleDevices, EmptyShowsNone) {
  EXPECT_THAT(seen(""), IsEmpty());
  EXPECT_THAT(seen("  "), IsEmpty());
  EXPECT_THAT(remarks(""), IsEmpty());
}
TEST(VisibleDevices, WordsForNoneAreToldFromMistakes) {
  for (const char* none : {"", "  ", "-1", "NoDevFiles", "none", "None", "void"}) {
    EXPECT_TRUE(hides_devices_on_purpose(none)) << none;
  }
  for (const char* list : {"0", "9", "-1,0", "gpu0", "GPU-nobody", "“0”"}) {
    EXPECT_FALSE(hides_devices_on_purpose(list)) << list;
  }
}

TEST(VisibleDevices, MinusOneShowsNone) { EXPECT_THAT(seen("-1"), IsEmpty()); }
TEST(VisibleDevices, OrderIsTheLists) {
  EXPECT_THAT(seen("3,0"), ElementsAre("GPU-bc33", "GPU-aa00"));
}
TEST(VisibleDevices, FirstInvalidEntryEndsTheList) {
  EXPECT_THAT(seen("0,2,-1,1"), ElementsAre("GPU-aa00", "GPU-bb22"));
  EXPECT_THAT(remarks("0,2,-1,1"), ElementsAre("entry 3 (\"-1\") is negative: CUDA stops there"));
}
TEST(VisibleDevices, EmptyEntryEndsTheList) {
  EXPECT_THAT(seen("1,,0"), ElementsAre("GPU-ab11"));
  EXPECT_THAT(remarks("1,,0"), ElementsAre(HasSubstr("entry 2 (\"\") is empty")));
}
TEST(VisibleDevices, IndexOutOfRangeEndsTheList) {
  EXPECT_THAT(seen("1,4,0"), ElementsAre("GPU-ab11"));
  EXPECT_THAT(seen("99999999999999999999999"), IsEmpty());
}
TEST(VisibleDevices, DuplicatesShowNone) {
  EXPECT_THAT(seen("0,1,0"), IsEmpty());
  EXPECT_THAT(seen("GPU-aa,GPU-aa00"), IsEmpty());
  EXPECT_THAT(remarks("0,1,0"), ElementsAre(HasSubstr("names a device twice")));
}
TEST(VisibleDevices, DuplicateAfterTheEndDoesNotCount) {
  EXPECT_THAT(seen("0,-1,0"), ElementsAre("GPU-aa00"));
}
TEST(VisibleDevices, UniqueUuidPrefixIsEnough) {
  EXPECT_THAT(seen("GPU-bb,GPU-aa"), ElementsAre("GPU-bb22", "GPU-aa00"));
}
TEST(VisibleDevices, AmbiguousUuidPrefixEndsTheList) {
  EXPECT_THAT(seen("GPU-bb,GPU-a"), ElementsAre("GPU-bb22"));
  EXPECT_THAT(remarks("GPU-bb,GPU-a"), ElementsAre(HasSubstr("fits more than one device")));
}
TEST(VisibleDevices, UnknownUuidEndsTheList) { EXPECT_THAT(seen("GPU-zz,GPU-aa"), IsEmpty()); }
TEST(VisibleDevices, NumbersAreReadAsByAtoi) {
  EXPECT_THAT(seen("1abc,+2"), ElementsAre("GPU-ab11", "GPU-bb22"));
}
TEST(VisibleDevices, WhatFollowsTheDigitsIsSaidNotToBeRead) {
  for (const char* entry : {"0 1", "0;1", "0-3", "+0x"}) {
    EXPECT_THAT(seen(entry), ElementsAre("GPU-aa00")) << entry;
    EXPECT_THAT(remarks(entry), ElementsAre(HasSubstr("is read as 0"))) << entry;
  }
  EXPECT_THAT(remarks("1, 2 3"), ElementsAre(HasSubstr("entry 2 (\"2 3\") is read as 2")));
  EXPECT_THAT(remarks(" 1 ,+2"), IsEmpty());
}
TEST(VisibleDevices, WhitespaceIsStripped) {
  EXPECT_THAT(seen(" 1 ,\t2 "), ElementsAre("GPU-ab11", "GPU-bb22"));
}
TEST(VisibleDevices, MixtureStopsAtTheChange) {
  EXPECT_THAT(seen("0,GPU-bb,1"), ElementsAre("GPU-aa00"));
  EXPECT_THAT(seen("GPU-bb,1"), ElementsAre("GPU-bb22"));
  EXPECT_THAT(remarks("GPU-bb,1"), ElementsAre(HasSubstr("mixes numbers and UUIDs")));
}
TEST(VisibleDevices, WordIsNoDevice) {
  EXPECT_THAT(seen("all"), IsEmpty());
  EXPECT_THAT(remarks("all"), ElementsAre(HasSubstr("neither a number nor a UUID")));
}
TEST(VisibleDevices, MigInstanceByItsUuid) {
  EXPECT_THAT(seen("MIG-12", divided()), ElementsAre("MIG-12"));
}
TEST(VisibleDevices, MigInstanceByItsPlaceOnTheCard) {
  EXPECT_THAT(seen("MIG-GPU-aa/2/0", divided()), ElementsAre("MIG-12"));
  EXPECT_THAT(seen("MIG-GPU-aa/7/0", divided()), IsEmpty());
  EXPECT_THAT(seen("MIG-GPU-aa/x/0", divided()), IsEmpty());
  EXPECT_THAT(seen("MIG-GPU-aa", divided()), IsEmpty());
}
TEST(VisibleDevices, AtMostOneMigInstance) {
  EXPECT_THAT(seen("MIG-11,MIG-12", divided()), ElementsAre("MIG-11"));
  EXPECT_THAT(remarks("MIG-11,MIG-12", divided()),
              ElementsAre(HasSubstr("one MIG instance at most")));
}
TEST(VisibleDevices, DividedCardYieldsItsFirstInstance) {
  EXPECT_THAT(seen("0", divided()), ElementsAre("MIG-11"));
  EXPECT_THAT(seen("2,1,0", divided()), ElementsAre("MIG-31", "GPU-bb"));
  EXPECT_THAT(seen(std::nullopt, divided()), ElementsAre("MIG-11", "GPU-bb"));
}
TEST(VisibleDevices, InstanceIsItselfAlsoWhereItsModeIsItsCards) {
  Snapshot host = divided();
  for (Device& device : host.devices) {
    if (device.kind == DeviceKind::nvidia_mig) device.mig_mode = true;
  }
  EXPECT_THAT(seen("MIG-12", host), ElementsAre("MIG-12"));
}
TEST(VisibleDevices, DividedCardWithoutInstancesIsLeftOut) {
  const Snapshot host =
      SnapshotBuilder().gpu("GPU-a", 1_GiB).with([](Device& d) { d.mig_mode = true; }).build();
  EXPECT_THAT(seen("0", host), IsEmpty());
  EXPECT_THAT(remarks("0", host), ElementsAre(HasSubstr("no instance")));
}
TEST(VisibleDevices, IndicesAreTheSnapshotsOwnWhereNodesAreHidden) {
  const Snapshot host =
      SnapshotBuilder().gpu("GPU-x", 1_GiB).with([](Device& d) { d.minor_number = 5; }).build();
  EXPECT_THAT(seen("0", host), ElementsAre("GPU-x"));
  EXPECT_THAT(seen("5", host), IsEmpty());
}

TEST(VisibleDevices, NamesFullWidthAndCurlyCharacters) {
  EXPECT_THAT(seen("0，1"), ElementsAre("GPU-aa00"));  // atoi, as CUDA
  EXPECT_THAT(remarks("0，1"), ElementsAre(HasSubstr("export CUDA_VISIBLE_DEVICES=0,1")));
  EXPECT_THAT(remarks("“0,1”").back(), HasSubstr("export CUDA_VISIBLE_DEVICES=0,1"));
  EXPECT_THAT(remarks("１").back(), HasSubstr("export CUDA_VISIBLE_DEVICES=1"));
  EXPECT_THAT(remarks("\"0,1\"").back(), HasSubstr("export CUDA_VISIBLE_DEVICES=0,1"));
}

TEST(VisibleDevices, CorrectedListHasWhatWasMeantAndIsThere) {
  for (const auto& [value, meant] :
       std::vector<std::pair<std::string, std::string>>{{"0,９", "0"},
                                                        {"0，1", "0,1"},
                                                        {"3,-1,2", "3,2"},
                                                        {"０", "0"},
                                                        {"“0”", "0"},
                                                        {"0,0", "0"},
                                                        {"0 1", "0,1"},
                                                        {"1;2", "1,2"},
                                                        {"[0, 1]", "0,1"},
                                                        {"1–3", "1,2,3"},
                                                        {"0-9", "0,1,2,3"},
                                                        {"2abc", "2"},
                                                        {"\"0,1\"", "0,1"},
                                                        {"all", "0"},
                                                        {"7", "0"},
                                                        {"GPU-bb,1", "GPU-bb22,GPU-ab11"},
                                                        {"1-99999999999", "1"}}) {
    EXPECT_EQ(read(value).corrected, meant) << value;
  }
  EXPECT_EQ(read("0,1").corrected, "") << "nothing is wrong with it";
  EXPECT_EQ(read("MIG-11,MIG-12", divided()).corrected, "MIG-11");
}

TEST(VisibleDevices, CorrectedListNamesNoCardThatSomebodyElseIsOn) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("GPU-a", 80_GiB)
                            .process(7, "bob", 1_GiB)
                            .gpu("GPU-b", 80_GiB)
                            .process(8, "ada", 1_GiB)
                            .gpu("GPU-c", 80_GiB)
                            .claim("bob")
                            .build();
  const auto corrected = [&](const std::string& value, const std::string& user) {
    const auto visible = parse_visible_devices(value, DeviceOrder::pci_bus_id, host, user);
    return visible ? visible->corrected : "?";
  };
  EXPECT_EQ(corrected("0 1 2", "ada"), "1");
  EXPECT_EQ(corrected("“0”", "ada"), "1") << "the first that is to be had";
  EXPECT_EQ(corrected("0 1 2", "bob"), "0,2");
  EXPECT_EQ(corrected("0 1 2", "eve"), "");
  EXPECT_THAT(remarks("“0”", host).back(), ::testing::EndsWith("does not understand"));
}

TEST(VisibleDevices, FastestFirstOfIdenticalCardsIsPciOrder) {
  const auto visible = parse_visible_devices("2", DeviceOrder::fastest_first, four_alike());
  ASSERT_TRUE(visible);
  EXPECT_THAT(visible->devices, ElementsAre(DeviceId("GPU-bb22")));
}
TEST(VisibleDevices, FastestFirstOfDifferentCardsIsRefused) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("GPU-a", 8_GiB)
                            .gpu("GPU-b", 24_GiB)
                            .with([](Device& d) { d.name = std::string("NVIDIA Other"); })
                            .build();
  const auto visible = parse_visible_devices("0", DeviceOrder::fastest_first, host);
  ASSERT_FALSE(visible);
  EXPECT_EQ(visible.error().code(), ErrorCode::invalid);
  EXPECT_THAT(visible.error().message(), HasSubstr("export CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  // UUIDs, none and all need no order.
  EXPECT_TRUE(parse_visible_devices("GPU-b", DeviceOrder::fastest_first, host));
  EXPECT_TRUE(parse_visible_devices("-1", DeviceOrder::fastest_first, host));
  EXPECT_TRUE(parse_visible_devices(std::nullopt, DeviceOrder::fastest_first, host));
}
TEST(VisibleDevices, FastestFirstOfNamelessCardsIsRefused) {
  const auto nameless = [](Device& d) { d.name = Absent::failed; };
  const Snapshot host = SnapshotBuilder()
                            .gpu("GPU-a", 8_GiB)
                            .with(nameless)
                            .gpu("GPU-b", 8_GiB)
                            .with(nameless)
                            .build();
  EXPECT_FALSE(parse_visible_devices("0", DeviceOrder::fastest_first, host));
}

std::vector<DeviceId> ids(std::initializer_list<const char*> names) {
  return {names.begin(), names.end()};
}

TEST(WriteVisibleDevices, WritesIndicesAndUuidsInOrder) {
  const auto devices = ids({"GPU-bb22", "GPU-aa00"});
  EXPECT_EQ(write_visible_devices(devices, VisibleFormat::indices, four_alike()).value(), "2,0");
  EXPECT_EQ(write_visible_devices(devices, VisibleFormat::uuids, four_alike()).value(),
            "GPU-bb22,GPU-aa00");
  EXPECT_EQ(write_visible_devices({}, VisibleFormat::indices, four_alike()).value(), "");
}
TEST(WriteVisibleDevices, MigInstancesAreAlwaysUuids) {
  EXPECT_EQ(write_visible_devices(ids({"MIG-12"}), VisibleFormat::indices, divided()).value(),
            "MIG-12");
  EXPECT_EQ(
      write_visible_devices(ids({"GPU-bb", "MIG-12"}), VisibleFormat::indices, divided()).value(),
      "GPU-bb,MIG-12");
}
TEST(WriteVisibleDevices, RefusesWhatAProgramCouldNotSee) {
  const auto two =
      write_visible_devices(ids({"MIG-11", "MIG-12"}), VisibleFormat::uuids, divided());
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code(), ErrorCode::unsupported);
  const Snapshot numberless =
      SnapshotBuilder().gpu("GPU-a", 1_GiB).with([](Device& d) { d.index.reset(); }).build();
  const auto indices = write_visible_devices(ids({"GPU-a"}), VisibleFormat::indices, numberless);
  ASSERT_FALSE(indices);
  EXPECT_EQ(indices.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(write_visible_devices(ids({"GPU-q"}), VisibleFormat::uuids, numberless).error().code(),
            ErrorCode::not_found);
}
TEST(WriteVisibleDevices, IsReadBackAsTheSameDevices) {
  const auto devices = ids({"GPU-bc33", "GPU-aa00", "GPU-ab11"});
  for (const VisibleFormat format : {VisibleFormat::indices, VisibleFormat::uuids}) {
    const auto list = write_visible_devices(devices, format, four_alike());
    ASSERT_TRUE(list);
    EXPECT_EQ(read(*list).devices, devices) << *list;
  }
}
TEST(VisibleVariables, SetTheOrderTogetherWithTheList) {
  const auto variables = visible_variables(ids({"GPU-ab11"}), VisibleFormat::indices, four_alike());
  ASSERT_TRUE(variables);
  EXPECT_THAT(*variables, ElementsAre(Pair("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
                                      Pair("CUDA_VISIBLE_DEVICES", "1")));
}
TEST(VisibleVariables, RefuseAKindWithoutAVariable) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("pci-1", 1_GiB)
                            .with([](Device& d) { d.kind = DeviceKind::other; })
                            .build();
  EXPECT_FALSE(visible_variables(ids({"pci-1"}), VisibleFormat::indices, host));
}

}  // namespace
}  // namespace berth
