#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "probe/device_source.h"
#include "probe/pci/parse.h"
#include "probe/pci/pci_probe.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view ids =
    "# list\n10de  NVIDIA Corporation\n\t20b2  GA100 [A100 SXM4 80GB]\n\t\t10de 1463  A100\n"
    "\t2330  GH100 [H100 SXM5 80GB]\n1a03  ASPEED Technology, Inc.\n"
    "\t2000  ASPEED Graphics Family\nC 03  Display controller\n";

TEST(PciIds, NamesMakerAndDevice) {
  EXPECT_EQ(pci::name_in_pci_ids(ids, 0x10de, 0x2330), "NVIDIA Corporation GH100 [H100 SXM5 80GB]");
  EXPECT_EQ(pci::name_in_pci_ids(ids, 0x10de, 0x2000), "NVIDIA Corporation");
  EXPECT_FALSE(pci::name_in_pci_ids(ids, 0x1463, 0x10de));
  EXPECT_FALSE(pci::name_in_pci_ids("", 0x10de, 0x2330));
  EXPECT_EQ(pci::name_in_pci_ids("\n10de  ", 0x10de, 1), "");
}

TEST(PciText, AddressesAreMadeEqual) {
  EXPECT_EQ(berth::normal_pci_address("0000:3B:00.0"), "00000000:3b:00.0");
  EXPECT_EQ(berth::normal_pci_address("3b:00.1\n"), "00000000:3b:00.1");
  EXPECT_EQ(berth::normal_pci_address("10000:01:00.0"), "00010000:01:00.0");
  for (const std::string_view text : {"", ":", "::", "3b:00", "3b:00.", "x:3b:00.0", "3b:0g.0",
                                      "123456789:00:00.0", "00:00:00:00.0"}) {
    EXPECT_FALSE(berth::normal_pci_address(text)) << text;
  }
}

TEST(PciText, SpeedsAreGenerations) {
  EXPECT_EQ(pci::generation_from_speed("2.5 GT/s PCIe"), 1U);
  EXPECT_EQ(pci::generation_from_speed("8 GT/s"), 3U);
  EXPECT_EQ(pci::generation_from_speed("32.0 GT/s PCIe"), 5U);
  EXPECT_FALSE(pci::generation_from_speed("Unknown"));
  EXPECT_FALSE(pci::generation_from_speed(""));
}

TEST(PciText, HexNumbersAreWholeOrNothing) {
  EXPECT_EQ(pci::parse_id("0x030200\n"), 0x030200U);
  for (const std::string_view text : {"", "0x", "0x1 2", "0x123456789", "-1"}) {
    EXPECT_FALSE(pci::parse_id(text)) << text;
  }
}

TEST(PciText, TheKernelsListNamesTheMakersOfTheBus) {
  const auto makers = pci::makers_in(
      "0000\t80860d57\t0\t               0\n"
      "0100\t10de2330\t2a\t        9d000000\tnvidia\n"
      "0200\t10de2330\t2b\t        9e000000\tnvidia\n");
  EXPECT_THAT(makers.value_or(std::vector<std::uint32_t>{}), ElementsAre(0x8086U, 0x10deU));
  EXPECT_TRUE(pci::may_have(makers, 0x10de));
  EXPECT_FALSE(pci::may_have(makers, 0x19e5));
  for (const std::string_view text :
       {"", "\n", "0000", "0000\t", "0000\tnone", "0000\t80860d57\nx"}) {
    EXPECT_TRUE(pci::may_have(pci::makers_in(text), 0x19e5)) << text << ": may be anybody's";
  }
}

TEST(PciKind, BoardsOwnDisplayAdaptersAreNoGpus) {
  using pci::Function;
  const auto kind = [](std::uint32_t vendor, std::uint32_t pci_class, std::string address) {
    return pci::kind_of({.address = std::move(address), .vendor = vendor, .pci_class = pci_class});
  };
  const std::string slot = "00000000:3b:00.0";
  for (const std::uint32_t vendor : {0x1234U, 0x1af4U, 0x1b36U, 0x1a03U, 0x102bU, 0x19e5U}) {
    EXPECT_EQ(kind(vendor, 0x030000, slot), DeviceKind::other) << vendor;
  }
  EXPECT_EQ(kind(0x8086, 0x030000, "00000000:00:02.0"), DeviceKind::other);
  EXPECT_EQ(kind(0x8086, 0x038000, slot), DeviceKind::intel_gpu);
  EXPECT_EQ(kind(0x1002, 0x038000, slot), DeviceKind::amd_gpu);
  EXPECT_EQ(kind(0x10de, 0x030200, slot), DeviceKind::nvidia_gpu);
  EXPECT_EQ(kind(0x19e5, 0x120000, slot), DeviceKind::ascend_npu);
}

TEST(PciKind, IsThatOfTheMakersSource) {
  for (const SourceFacts& source : all_sources()) {
    pci::Function function{.address = "00000000:3b:00.0",
                           .vendor = pci::parse_id(source.pci_vendor).value_or(0),
                           .pci_class = 0x120000};
    EXPECT_EQ(pci::kind_of(function), source.kind) << source.pci_vendor;
    EXPECT_EQ(pci::unusable_because(function, true), Unusable::no_driver) << source.pci_vendor;
    function.driver = source.kernel_drivers.front();
    EXPECT_EQ(pci::unusable_because(function, true), WhyUnusable(source.unlisted));
    if (function.driver->empty()) continue;
    function.driver = "pci-stub";
    EXPECT_EQ(pci::unusable_because(function, true).english(), "another kernel driver has it");
  }
}

/// A /sys of a few functions in a temporary directory.
class PciTree : public testing::Test {
 protected:
  PciTree() {
    EXPECT_TRUE(make_directories(root_ + "/bus/pci/devices"));
    EXPECT_TRUE(write_file_atomically(root_ + "/pci.ids", ids));
  }
  void put(const std::string& entry, const std::string& pci_class, const std::string& vendor,
           const std::string& device, const std::string& driver) {
    const std::string path = root_ + "/bus/pci/devices/" + entry;
    EXPECT_TRUE(make_directories(path));
    file(entry, "class", pci_class);
    file(entry, "vendor", vendor);
    file(entry, "device", device);
    if (!driver.empty()) {
      EXPECT_EQ(
          ::symlink(("../../../bus/pci/drivers/" + driver).c_str(), (path + "/driver").c_str()), 0);
    }
  }
  void file(const std::string& entry, const std::string& name, const std::string& text) {
    EXPECT_TRUE(
        write_file_atomically(root_ + "/bus/pci/devices/" + entry + "/" + name, text + "\n"));
  }
  Snapshot observed(Snapshot snapshot = {}) {
    PciProbe({.sys = root_,
              .pci_ids = root_ + "/pci.ids",
              .proc = root_ + "/proc",
              .dev = root_ + "/dev"})
        .observe(snapshot);
    return snapshot;
  }
  TemporaryDirectory directory_;
  std::string root_ = directory_.path();
};

TEST_F(PciTree, CardWithoutADriverIsNamedAndSaysWhyItIsUnusable) {
  put("0000:3b:00.0", "0x030200", "0x10de", "0x20b2", "");
  put("0000:00:1f.0", "0x060100", "0x8086", "0x1234", "");
  const Snapshot got = observed();
  ASSERT_EQ(got.devices.size(), 1U);
  const Device& card = got.devices[0];
  EXPECT_EQ(card.id, DeviceId("00000000:3b:00.0"));
  EXPECT_EQ(card.kind, DeviceKind::nvidia_gpu);
  EXPECT_EQ(*card.name.get(), "NVIDIA Corporation GA100 [A100 SXM4 80GB]");
  EXPECT_EQ(*card.pci_id.get(), "10de:20b2");
  EXPECT_EQ(card.kernel_driver, Reading<std::string>(Absent::unsupported));
  EXPECT_EQ(card.unusable_because, Unusable::no_driver);
  EXPECT_EQ(card.memory_total, Reading<Bytes>(Absent::failed));
  EXPECT_FALSE(card.index);
  EXPECT_EQ(got.sources.back(), (SourceReport{"pci", true}));
}

TEST_F(PciTree, EachDriverThatHasACardHasItsReason) {
  put("0000:01:00.0", "0x030000", "0x10de", "0x2330", "nouveau");
  put("0000:02:00.0", "0x030000", "0x10de", "0x2330", "vfio-pci");
  put("0000:03:00.0", "0x030000", "0x10de", "0x2330", "nvidia");
  put("0000:04:00.0", "0x038000", "0x1002", "0x740f", "amdgpu");
  put("0000:05:00.0", "0x030000", "0x1a03", "0x2000", "ast");
  const Snapshot got = observed();
  ASSERT_EQ(got.devices.size(), 5U);
  EXPECT_EQ(got.devices[0].unusable_because, Unusable::nouveau);
  EXPECT_EQ(got.devices[1].unusable_because, Unusable::given_to_machine);
  EXPECT_EQ(got.devices[2].unusable_because, Unusable::library_silent);
  EXPECT_EQ(got.devices[3].unusable_because.english(), "its driver does not list it");
  EXPECT_THAT(got.devices[4].unusable_because.english(), HasSubstr("display adapter"));
  EXPECT_EQ(*got.devices[4].kernel_driver.get(), "ast");
}

TEST_F(PciTree, DeviceThatNvmlDescribedIsCompletedAndNotDoubled) {
  put("0000:3b:00.0", "0x030200", "0x10de", "0x2330", "nvidia");
  file("0000:3b:00.0", "numa_node", "1");
  file("0000:3b:00.0", "current_link_speed", "16.0 GT/s PCIe");
  file("0000:3b:00.0", "current_link_width", "8");
  const Snapshot before = SnapshotBuilder()
                              .gpu("GPU-1", Bytes(1 << 30))
                              .with([](Device& device) {
                                device.pci_address = std::string("00000000:3b:00.0");
                                device.pcie_width = std::uint64_t{16};
                              })
                              .build();
  const Snapshot got = observed(before);
  ASSERT_EQ(got.devices.size(), 1U);
  EXPECT_EQ(got.devices[0].id, DeviceId("GPU-1"));
  EXPECT_EQ(*got.devices[0].kernel_driver.get(), "nvidia");
  EXPECT_EQ(*got.devices[0].numa_node.get(), 1U);
  EXPECT_EQ(*got.devices[0].pcie_generation.get(), 4U);
  EXPECT_EQ(*got.devices[0].pcie_width.get(), 16U);
  EXPECT_THAT(got.devices[0].unusable_because.english(), IsEmpty());
}

TEST_F(PciTree, ACardIsPlacedByTheKernelsDeviceTree) {
  const std::string devices = root_ + "/bus/pci/devices";
  const std::string real = root_ + "/devices/pci0000:3a/0000:3a:01.0/0000:3b:00.0";
  ASSERT_TRUE(make_directories(real));
  ASSERT_TRUE(write_file_atomically(real + "/local_cpulist", "0-23,48-71\n"));
  ASSERT_EQ(::symlink("../../../devices/pci0000:3a/0000:3a:01.0/0000:3b:00.0",
                      (devices + "/0000:3b:00.0").c_str()),
            0);
  const auto at = [](std::string address) {
    return [address](Device& device) { device.pci_address = address; };
  };
  Snapshot host = SnapshotBuilder()
                      .gpu("GPU-1", Bytes(1 << 30))
                      .with(at("00000000:3b:00.0"))
                      .gpu("GPU-2", Bytes(1 << 30))
                      .with(at("00000000:99:00.0"))
                      .build();
  PciProbe({.sys = root_}).place(host);
  const auto text = [&](int device, Detail which) {
    return host.devices[static_cast<std::size_t>(device)].details.get<std::string>(which);
  };
  EXPECT_EQ(text(0, Detail::pci_path),
            Reading<std::string>(std::string("pci0000:3a/0000:3a:01.0/0000:3b:00.0")));
  EXPECT_EQ(text(0, Detail::cpu_affinity), Reading<std::string>(std::string("0-23,48-71")));
  EXPECT_EQ(text(1, Detail::pci_path), Reading<std::string>(Absent::failed));
}

TEST_F(PciTree, CardsOfTwoNumaNodesAreEachToldWithItsNodeAndItsCpus) {
  SnapshotBuilder builder;
  for (const std::string node : {"0", "1"}) {
    const std::string address = "0000:" + node + "b:00.0";
    put(address, "0x030200", "0x10de", "0x2330", "nvidia");
    file(address, "numa_node", node);
    file(address, "local_cpulist", node == "0" ? "0-1,4" : "2-3");
    builder.gpu("GPU-" + node, Bytes(1 << 30)).with([&](Device& device) {
      device.pci_address = "0000" + address;
    });
  }
  Snapshot host = observed(builder.build());
  PciProbe({.sys = root_}).place(host);
  ASSERT_EQ(host.devices.size(), 2U);
  for (std::uint64_t node = 0; node < 2; ++node) {  // run/binding_test.cc goes on from here
    const Device& device = host.devices[node];
    EXPECT_EQ(*device.numa_node.get(), node);
    EXPECT_EQ(device.details.get<std::string>(Detail::cpu_affinity),
              Reading<std::string>(std::string(node == 0 ? "0-1,4" : "2-3")));
  }
}

TEST_F(PciTree, ACardThatComesOrIsExchangedBetweenTwoLooksIsSeen) {
  put("0000:01:00.0", "0x060100", "0x8086", "0x1234", "");
  PciProbe probe({.sys = root_, .pci_ids = root_ + "/pci.ids"});
  const auto count = [&] {
    Snapshot snapshot;
    probe.observe(snapshot);
    return snapshot.devices.size();
  };
  EXPECT_EQ(count(), 0U);
  put("0000:02:00.0", "0x030200", "0x10de", "0x20b2", "");
  EXPECT_EQ(count(), 1U);
  std::filesystem::remove_all(root_ + "/bus/pci/devices/0000:01:00.0");
  EXPECT_EQ(count(), 1U);
  put("0000:01:00.0", "0x030200", "0x10de", "0x20b2", "");
  EXPECT_EQ(count(), 2U) << "what was there before does not count";
}

TEST_F(PciTree, ACardThatTheDriverHasAndItsLibraryDoesNotListSaysWhyAsFarAsItCanBeTold) {
  put("0000:3b:00.0", "0x030200", "0x10de", "0x2330", "nvidia");
  Snapshot answered;
  answered.sources = {{"nvml", true}};
  const auto why = [&](const Snapshot& host) {
    return observed(host).devices.at(0).unusable_because;
  };
  EXPECT_EQ(why(answered).english(),
            "the nvidia driver has it, but NVIDIA's library does not list it");
  const std::string shown = root_ + "/proc/driver/nvidia/gpus/";
  make_directories(shown + "0000:3b:00.0").value();
  EXPECT_EQ(why(answered).english(),
            "the nvidia driver has it, but NVIDIA's library does not list it");
  std::filesystem::rename(shown + "0000:3b:00.0", shown + "0000:5e:00.0");
  EXPECT_EQ(why(answered), Unusable::kept_from_us)
      << "a container's own folder has its own cards alone";
  Snapshot excluded = answered;
  excluded.host.excluded_devices = std::vector<ExcludedDevice>{{"00000000:3b:00.0", "GPU-1"}};
  EXPECT_EQ(why(excluded), Unusable::left_out);
}

TEST_F(PciTree, ACardWhoseDeviceFileIsClosedToThisProcessIsNotBroken) {
  put("0000:3b:00.0", "0x030200", "0x10de", "0x2330", "nvidia");
  const std::string shown = root_ + "/proc/driver/nvidia/gpus/0000:3b:00.0";
  make_directories(shown).value();
  write_file_atomically(shown + "/information", "Model: \t NVIDIA H100\nDevice Minor: \t 3\n")
      .value();
  make_directories(root_ + "/dev").value();
  write_file_atomically(root_ + "/dev/nvidia3", "", 0666).value();
  Snapshot answered;
  answered.sources = {{"nvml", true}};
  const auto why = [&] { return observed(answered).devices.at(0).unusable_because; };
  EXPECT_THAT(why().english(), HasSubstr("does not list it")) << "it can be opened";
  ASSERT_EQ(::chmod((root_ + "/dev/nvidia3").c_str(), 0), 0);
  const uid_t user = ::geteuid();
  if (user == 0) {
    ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const WhyUnusable closed = why();
  ASSERT_EQ(::seteuid(user), 0);
  EXPECT_EQ(closed, Unusable::kept_from_us);
}

TEST_F(PciTree, SleepingCardIsNotWokenForItsLink) {
  put("0000:3b:00.0", "0x030200", "0x10de", "0x2330", "nvidia");
  make_directories(root_ + "/bus/pci/devices/0000:3b:00.0/power").value();
  file("0000:3b:00.0", "power/runtime_status", "suspended");
  file("0000:3b:00.0", "current_link_speed", "16.0 GT/s PCIe");
  EXPECT_FALSE(observed().devices.at(0).pcie_generation.get());
}

TEST(PciProbe, MachineWithoutAPciBusIsAProblem) {
  Snapshot got;
  PciProbe({.sys = "/nowhere"}).observe(got);
  EXPECT_EQ(got.sources.back(), (SourceReport{"pci", false}));
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_THAT(got.problems[0].message.english(), HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace berth
