#include "probe/presence/presence_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "snapshot/device_kind.h"

namespace berth {
namespace {

using testing::ElementsAre;

class PresenceSys : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::string file = root / path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(write_file_atomically(file, text));
  }
  void add(const std::string& address, const std::string& vendor,
           const std::string& pci_class = "0x120000", const std::string& device = "0x0001") {
    const std::string folder = "sys/bus/pci/devices/" + address;
    put(folder + "/vendor", vendor + "\n");
    put(folder + "/class", pci_class + "\n");
    put(folder + "/device", device + "\n");
  }
  void open_by(const std::string& pid, const std::string& path) {
    std::filesystem::create_directories(root / ("proc/" + pid + "/fd"));
    std::filesystem::create_symlink(path, root / ("proc/" + pid + "/fd/3"));
  }
  PresenceSource source() { return {root / "sys", root / "proc", root / "dev"}; }
  TemporaryDirectory root;
};

TEST_F(PresenceSys, EachRowIsAKindWithItsFacts) {
  for (const PresenceRow& row : presence_rows()) {
    EXPECT_TRUE(facts_of(row.kind).may_be_presence);
    EXPECT_TRUE(facts_of(row.kind).source == "device_files" || row.is_read_elsewhere != nullptr);
    EXPECT_FALSE(facts_of(row.kind).word.empty());
  }
}

TEST_F(PresenceSys, FreeOrBusyByWhoHasTheFileOpen) {
  add("0000:65:00.0", "0xcabc");
  add("0000:17:00.0", "0xcabc");
  add("0000:18:00.0", "0x8086");  // a network card
  put("dev/cambricon_dev0", "");
  put("dev/cambricon_dev1", "");
  put("dev/cambricon_ctl", "");
  open_by("81", "/dev/cambricon_dev1");
  PresenceSource presence = source();
  ASSERT_EQ(presence.open().value_or(0), 2);
  const DeviceLook first = presence.observe_device(0, Depth::state, {});
  const DeviceLook second = presence.observe_device(1, Depth::state, {});
  EXPECT_EQ(first.devices[0].pci_address.get(), "00000000:17:00.0");
  EXPECT_EQ(first.devices[0].process_count, 0U);
  EXPECT_EQ(first.devices[0].minor_number, 0U) << "by their order";
  EXPECT_THAT(second.processes, ElementsAre(testing::Field(&GpuProcess::pid, 81)));
  EXPECT_EQ(second.devices[0].runtime_index, 1);
  EXPECT_EQ(second.devices[0].kind, DeviceKind::cambricon_mlu);
}

TEST_F(PresenceSys, WhereFilesAndDevicesDoNotMatchNobodyKnowsWhoIsThere) {
  add("0000:65:00.0", "0xcabc");
  put("dev/cambricon_dev0", "");
  put("dev/cambricon_dev1", "");
  open_by("81", "/dev/cambricon_dev1");
  PresenceSource presence = source();
  ASSERT_TRUE(presence.open());
  EXPECT_EQ(presence.observe_device(0, Depth::state, {}).devices[0].process_count.why(),
            Absent::failed);
}

TEST_F(PresenceSys, TheKernelsClassTellsWhoseAFileIs) {
  add("0000:b3:00.0", "0x1da3");
  add("0000:19:00.0", "0x1da3");
  for (const auto& [name, address] :
       {std::pair{"accel0", "0000:b3:00.0"}, std::pair{"accel1", "0000:19:00.0"}}) {
    std::filesystem::create_directories(root / (std::string("sys/class/accel/") + name));
    std::filesystem::create_symlink(std::string("../../../") + address,
                                    root / (std::string("sys/class/accel/") + name + "/device"));
  }
  open_by("90", "/dev/accel/accel0");
  PresenceSource presence = source();
  ASSERT_EQ(presence.open().value_or(0), 2);
  EXPECT_EQ(presence.observe_device(0, Depth::state, {}).devices[0].process_count, 0U);
  EXPECT_THAT(presence.observe_device(1, Depth::state, {}).processes,
              ElementsAre(testing::Field(&GpuProcess::pid, 90)));
}

TEST_F(PresenceSys, AGaudiIsGivenByItsModuleOrNotAtAll) {
  add("0000:19:00.0", "0x1da3");
  add("0000:b3:00.0", "0x1da3");
  put("sys/bus/pci/devices/0000:19:00.0/module_id", "6\n");
  PresenceSource presence = source();
  ASSERT_EQ(presence.open().value_or(0), 2);
  const Device told = presence.observe_device(0, Depth::state, {}).devices[0];
  EXPECT_EQ(told.runtime_index, 6);
  EXPECT_EQ(told.unusable_because, Unusable::none);
  EXPECT_NE(presence.observe_device(1, Depth::state, {}).devices[0].unusable_because,
            Unusable::none);
}

TEST_F(PresenceSys, FilesInAnotherOrderTellOnlyWhatHoldsForAll) {
  for (const char* address : {"0000:b5:00.0", "0000:cc:00.0"}) {
    add(address, "0x1d0f", "0x088000", "0x7364");
  }
  put("dev/neuron0", "");
  put("dev/neuron1", "");
  std::filesystem::create_directories(root / "proc/80/fd");
  const auto count = [&](int device) {
    PresenceSource presence = source();
    EXPECT_EQ(presence.open().value_or(0), 2);
    return presence.observe_device(device, Depth::state, {}).devices[0].process_count;
  };
  EXPECT_EQ(count(0), 0U);
  EXPECT_EQ(count(1), 0U);
  open_by("81", "/dev/neuron0");
  EXPECT_EQ(count(0).why(), Absent::failed) << "whose file that is nobody tells";
  EXPECT_EQ(count(1).why(), Absent::failed);
  std::filesystem::create_symlink("/dev/neuron1", root / "proc/81/fd/4");
  EXPECT_EQ(count(0), 1U);
  EXPECT_EQ(count(1), 1U);
}

TEST_F(PresenceSys, ATpuOfANewerKindIsFoundByItsGroup) {
  add("0000:00:05.0", "0x1ae0");
  const std::string folder = root / "sys/bus/pci/devices/0000:00:05.0";
  std::filesystem::create_symlink("../../drivers/vfio-pci", folder + "/driver");
  std::filesystem::create_symlink("../../../kernel/iommu_groups/12", folder + "/iommu_group");
  open_by("81", "/dev/vfio/12");
  open_by("82", "/dev/vfio/1");
  PresenceSource presence = source();
  ASSERT_EQ(presence.open().value_or(0), 1);
  EXPECT_THAT(presence.observe_device(0, Depth::state, {}).processes,
              ElementsAre(testing::Field(&GpuProcess::pid, 81)));
}

TEST_F(PresenceSys, OtherFunctionsOfAMakerAreNotAccelerators) {
  add("0000:00:00.0", "0x1d94", "0x060000");            // a bridge of Hygon's processor
  add("0000:00:1f.0", "0x1d0f", "0x010802", "0x8061");  // a disk of AWS
  PresenceSource presence = source();
  EXPECT_FALSE(presence.open());
  EXPECT_FALSE(PresenceSource::sees_any(root / "sys"));
  add("0000:00:1e.0", "0x1d0f", "0x088000", "0x7364");
  EXPECT_TRUE(PresenceSource::sees_any(root / "sys"));
  EXPECT_TRUE(PresenceSource::sees_any(root / "sys", std::vector<std::uint32_t>{0x1d0f}));
  EXPECT_FALSE(PresenceSource::sees_any(root / "sys", std::vector<std::uint32_t>{0x8086}))
      << "where the bus has none of their makers, /sys is not read";
}

}  // namespace
}  // namespace berth
