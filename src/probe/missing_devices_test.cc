#include "probe/missing_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Device& placed(Device& device, const std::string& place) {
  device.pci_address = place;
  device.kernel_driver = std::string("nvidia");
  return device;
}

Snapshot seen(const std::vector<std::string>& ids) {
  SnapshotBuilder builder;
  for (const std::string& id : ids) {
    builder.gpu(id, 8_GiB).with([&](Device& device) { placed(device, "place-" + id); });
  }
  Snapshot look = builder.build();
  look.sources = {{"nvml", true}};
  return look;
}

std::vector<std::string> ids_of(const Snapshot& look) {
  std::vector<std::string> ids;
  for (const Device& device : look.devices) ids.push_back(device.id.text());
  return ids;
}

Snapshot after(MissingDevices& missing, Snapshot look) {
  missing.add_to(look);
  return look;
}

TEST(MissingDevices, ACardThatIsListedNoLongerIsALostRowWithoutANumber) {
  MissingDevices missing;
  EXPECT_THAT(ids_of(after(missing, seen({"A", "B", "C"}))), ElementsAre("A", "B", "C"));
  const Snapshot look = after(missing, seen({"A", "C"}));
  ASSERT_THAT(ids_of(look), ElementsAre("A", "C", "B"));
  EXPECT_EQ(look.devices[1].index, 1) << "the driver has numbered the others anew";
  const Device& gone = look.devices[2];
  EXPECT_TRUE(gone.lost);
  EXPECT_EQ(gone.index, std::nullopt);
  EXPECT_EQ(gone.unusable_because, Unusable::unlisted);
  EXPECT_EQ(gone.memory_used, Reading<Bytes>(Absent::failed));
  EXPECT_EQ(gone.name, Reading<std::string>("NVIDIA Test GPU"));
  ASSERT_THAT(look.problems, SizeIs(1));
  EXPECT_EQ(look.problems[0].code, "device_gone");
  EXPECT_EQ(look.problems[0].device, DeviceId("B"));
  EXPECT_THAT(ids_of(after(missing, seen({"A", "C"}))), ElementsAre("A", "C", "B")) << "still";
}

TEST(MissingDevices, ACardThatComesBackIsWellAgain) {
  MissingDevices missing;
  after(missing, seen({"A", "B"}));
  after(missing, seen({"A"}));
  const Snapshot look = after(missing, seen({"A", "B"}));
  EXPECT_THAT(ids_of(look), ElementsAre("A", "B"));
  EXPECT_THAT(look.problems, IsEmpty());
}

TEST(MissingDevices, MissesNobodyWhileTheDriverDoesNotAnswer) {
  MissingDevices missing;
  after(missing, seen({"A", "B"}));
  Snapshot silent;
  silent.sources = {{"nvml", false}};
  EXPECT_THAT(after(missing, silent).devices, IsEmpty());
}

/// Two of NVIDIA's and two of another maker's.
Snapshot of_two_makers(bool has_last, bool has_answered = true,
                       DeviceKind kind = DeviceKind::ascend_npu) {
  Snapshot look = seen(has_last ? std::vector<std::string>{"A", "B", "C", "D"}
                                : std::vector<std::string>{"A", "B", "C"});
  for (std::size_t i = 2; i < look.devices.size(); ++i) {
    look.devices[i].kind = kind;
    look.devices[i].kernel_driver = std::string("its driver");
  }
  look.sources.push_back({std::string(facts_of(kind).source), has_answered});
  return look;
}

TEST(MissingDevices, AChipOfAnyMakerIsMissedByItsOwnDriversAnswerAlone) {
  MissingDevices missing;
  after(missing, of_two_makers(true));
  EXPECT_THAT(ids_of(after(missing, of_two_makers(false, false))), ElementsAre("A", "B", "C"))
      << "another driver's answer says nothing of it";
  const Snapshot look = after(missing, of_two_makers(false));
  ASSERT_THAT(ids_of(look), ElementsAre("A", "B", "C", "D"));
  EXPECT_TRUE(look.devices[3].lost);
  ASSERT_THAT(look.problems, SizeIs(1));
  EXPECT_EQ(look.problems[0].source, "dcmi");
  EXPECT_THAT(look.problems[0].remedy.english(), ::testing::HasSubstr("npu-smi"));
  EXPECT_THAT(look.problems[0].remedy.english(), ::testing::Not(::testing::HasSubstr("NVRM")));
}

TEST(MissingDevices, TheLastCardOfADriverIsMissedWhereTheBusHasNothingInItsPlace) {
  const auto seen_after = [](DeviceKind kind) {
    MissingDevices missing;
    after(missing, of_two_makers(true, true, kind));
    Snapshot look = of_two_makers(false, false, kind);
    look.sources.push_back({"pci", true});
    return ids_of(after(missing, look));
  };
  EXPECT_THAT(seen_after(DeviceKind::amd_gpu), ElementsAre("A", "B", "C", "D"));
  EXPECT_THAT(seen_after(DeviceKind::ascend_npu), ElementsAre("A", "B", "C"))
      << "a library may know cards of which the bus never told, and falls silent";
}

TEST(MissingDevices, MigInstancesComeAndGo) {
  MissingDevices missing;
  Snapshot divided = seen({"A", "M"});
  divided.devices[1].kind = DeviceKind::nvidia_mig;
  divided.devices[1].parent = DeviceId("A");
  after(missing, divided);
  EXPECT_THAT(ids_of(after(missing, seen({"A"}))), ElementsAre("A"));
}

TEST(MissingDevices, ACardThatThePciBusStillHasIsOneRowAndOneThatWasTakenAwayIsNotLost) {
  const auto on_the_bus_alone = [](const char* driver) {
    Snapshot look = seen({"A"});
    Device device;
    device.id = DeviceId("place-B");
    device.kind = DeviceKind::nvidia_gpu;
    placed(device, "place-B").kernel_driver = std::string(driver);
    device.unusable_because = WhyUnusable("its row says why");
    look.devices.push_back(device);
    return look;
  };
  MissingDevices missing;
  after(missing, seen({"A", "B"}));
  const Snapshot fallen = after(missing, on_the_bus_alone("nvidia"));
  ASSERT_THAT(ids_of(fallen), ElementsAre("A", "B"));
  EXPECT_TRUE(fallen.devices[1].lost);
  const Snapshot given_away = after(missing, on_the_bus_alone("vfio-pci"));
  ASSERT_THAT(ids_of(given_away), ElementsAre("A", "place-B"));
  EXPECT_FALSE(given_away.devices[1].lost);
  EXPECT_THAT(given_away.problems, IsEmpty());
}

TEST(MissingDevices, AnExcludedCardIsNotMissed) {
  MissingDevices missing;
  after(missing, seen({"A", "B"}));
  Snapshot look = seen({"A"});
  look.host.excluded_devices = std::vector<ExcludedDevice>{{"place-B", "B"}};
  EXPECT_THAT(ids_of(after(missing, look)), ElementsAre("A"));
}

TEST(MissingDevices, ACardWhoseUuidIsReadLaterIsTheSame) {
  MissingDevices missing;
  Snapshot nameless = seen({"A", "B"});
  nameless.devices[1].id = DeviceId("place-B");
  nameless.devices[1].uuid = Absent::failed;
  after(missing, nameless);
  EXPECT_THAT(ids_of(after(missing, seen({"A", "B"}))), ElementsAre("A", "B"));
  Snapshot unknown = seen({"A"});
  Device hung;
  hung.id = DeviceId("nvml-index-1");
  hung.kind = DeviceKind::nvidia_gpu;
  hung.index = 1;
  unknown.devices.push_back(hung);
  EXPECT_THAT(ids_of(after(missing, unknown)), ElementsAre("A", "nvml-index-1"))
      << "who did not say its name may be B";
  EXPECT_THAT(ids_of(after(missing, seen({"A", "B"}))), ElementsAre("A", "B"));
}

}  // namespace
}  // namespace berth
