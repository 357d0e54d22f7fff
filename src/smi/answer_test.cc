// Lists, topology, versions, failures: what the smaller surfaces say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sentence.h"
#include "smi/example_cards.h"
#include "smi/fixed_source_test.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Output of(Snapshot snapshot, const std::vector<std::string>& words) {
  Fixed source(std::move(snapshot));
  return run(words, source);
}

Snapshot two_cards() {
  Snapshot host = example::workstation();
  Device second =
      example::card("GPU-11111111-0000-0000-0000-000000000000", "NVIDIA L40S", "00000000:81:00.0");
  second.index = 1;
  second.serial = std::string("1320000000001");
  host.devices.push_back(second);
  return host;
}

Snapshot without_driver(std::string code) {
  Snapshot host;
  host.problems.push_back({.source = "nvml",
                           .device = std::nullopt,
                           .code = std::move(code),
                           .message = Sentence("what the library said"),
                           .remedy = {}});
  return host;
}

struct Silence {
  const char* problem;
  int code;
};
class SmiSilentCard : public testing::TestWithParam<Silence> {};
TEST_P(SmiSilentCard, EndsWithACodeAndIsToldBesideTheAnswer) {
  Snapshot host = two_cards();
  host.devices[1].unusable_because = Unusable::silent;
  host.problems.push_back({.source = "nvml",
                           .device = host.devices[1].id,
                           .code = GetParam().problem,
                           .message = Sentence("reading GPU 1: what the driver said"),
                           .remedy = Sentence("reboot")});
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"-L"},
                                                {"-q"},
                                                {"-q", "-x"},
                                                {"--query-gpu=index", "--format=csv"}}) {
    const Output said = of(host, words);
    EXPECT_EQ(said.code, GetParam().code);
    EXPECT_EQ(said.silent, std::vector<Problem>{host.problems.back()});
  }
  EXPECT_EQ(of(host, {"-i", "0"}).code, 0);
  EXPECT_TRUE(of(host, {"-i", "0"}).silent.empty());
}
INSTANTIATE_TEST_SUITE_P(Every, SmiSilentCard,
                         testing::Values(Silence{"timeout", 255}, Silence{"crashed", 255},
                                         Silence{"reset_required", 255},
                                         Silence{"reading_failed", 255},
                                         Silence{"no_permission", 4}, Silence{"no_power", 8},
                                         Silence{"driver_failed", 10}));

TEST(SmiAnswer, OneReadingThatFailsIsItsCellsAffair) {
  Snapshot host = two_cards();
  host.devices[1].power_draw = Absent::failed;
  host.problems.push_back(
      {.source = "nvml",
       .device = host.devices[1].id,
       .code = "reading_failed",
       .message = Sentence("reading GPU 1: nvmlDeviceGetPowerUsage: Unknown Error (999)"),
       .remedy = {}});
  EXPECT_EQ(of(host, {}).code, 0);
}

TEST(SmiList, NamesCardsAndTheirInstances) {
  EXPECT_EQ(of(example::divided_card(), {"-L"}).text,
            "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n"
            "  MIG 3g.40gb     Device  0: (UUID: MIG-00000002)\n"
            "  MIG 1g.10gb     Device  1: (UUID: MIG-000000010)\n");
}

TEST(SmiVersion, IsSaidAsTheDriversGenerationSaysIt) {
  EXPECT_EQ(of(example::workstation(), {"--version"}).text,
            "NVIDIA-SMI version  : 595.71.05\n"
            "NVML version        : 595.71\n"
            "DRIVER version      : 595.71.05\n"
            "CUDA Version        : 13.2\n");
  Snapshot host = example::workstation();
  host.host.software_of(Runtime::cuda).driver = std::string("610.57.04");
  EXPECT_THAT(of(host, {"--version"}).text,
              EndsWith("DRIVER version      : Deprecated, see \"KMD version\" instead\n"
                       "CUDA version        : Deprecated, see \"CUDA UMD version\" instead\n"
                       "KMD version         : 610.57.04\n"
                       "CUDA UMD version    : 13.2\n"));
}

TEST(SmiChoice, TakesIndexUuidAddressAndSerial) {
  for (const char* name : {"1", "GPU-11111111-0000-0000-0000-000000000000", "00000000:81:00.0",
                           "0000:81:00.0", "81:00.0", "1320000000001"}) {
    EXPECT_EQ(of(two_cards(), {"-L", "-i", name}).text,
              "GPU 1: NVIDIA L40S (UUID: GPU-11111111-0000-0000-0000-000000000000)\n")
        << name;
  }
  const Output both = of(two_cards(), {"-L", "-i", "1,0"});
  EXPECT_THAT(both.text, StartsWith("GPU 0:"));
}

TEST(SmiChoice, ADeviceThatIsNotThereExitsWithSix) {
  const Output output = of(two_cards(), {"-i", "0,7"});
  EXPECT_EQ(output.text, "No devices were found\n");
  EXPECT_EQ(output.code, 6);
  EXPECT_EQ(of({}, {"-L"}).code, 6);
}

TEST(SmiFailure, EachHasItsWordsAndItsCode) {
  EXPECT_EQ(of(without_driver("library_not_found"), {}).code, 12);
  EXPECT_THAT(of(without_driver("library_not_found"), {}).text,
              StartsWith("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system."));
  EXPECT_EQ(of(without_driver("driver_not_loaded"), {}).code, 9);
  EXPECT_THAT(of(without_driver("driver_not_loaded"), {"-L"}).text,
              StartsWith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA "
                         "driver."));
  EXPECT_EQ(of(without_driver("version_mismatch"), {}).code, 18);
  EXPECT_EQ(of(without_driver("timeout"), {}).code, 255);
}

TEST(SmiFailure, ALostCardExitsWithFifteenAndTheOthersAreShown) {
  Snapshot host = two_cards();
  host.devices[0].lost = true;
  host.devices[0].uuid = Absent::failed;
  const Output output = of(host, {});
  EXPECT_EQ(output.code, 15);
  EXPECT_THAT(output.text, HasSubstr("NVIDIA L40S"));
  EXPECT_EQ(of(host, {"-i", "1"}).code, 0);
  const std::string list = of(host, {"-L"}).text;
  EXPECT_THAT(list,
              StartsWith("Unable to determine the device handle for GPU0: 0000:0C:00.0: GPU is "
                         "lost.  Reboot the system to recover this GPU\nGPU 1: NVIDIA L40S"));
  EXPECT_EQ(std::ranges::count(list, '\n'), 2) << "a line for each card";
  host.devices[0].pci_address = Absent::failed;
  EXPECT_THAT(of(host, {"-L"}).text,
              StartsWith("Unable to determine the device handle for GPU0: GPU is lost."));
}

// As published of a Quadro RTX 5000 (418.87.00) and a Quadro P4000 (NVIDIA/gpu-operator#20); the
// code by microsoft/pai#3756, whose `nvidia-smi -q -x` ended with 0.
TEST(SmiFailure, ACorruptedInforomIsSaidBelowTheTableAlone) {
  Snapshot host = two_cards();
  const std::string table = of(host, {}).text;
  host.devices[0].details.set(Detail::inforom_valid, Reading<bool>(true));
  EXPECT_EQ(of(host, {}).text, table);
  host.devices[1].details.set(Detail::inforom_valid, Reading<bool>(false));
  const Output output = of(host, {});
  EXPECT_EQ(output.text, table + "WARNING: infoROM is corrupted at gpu 0000:81:00.0\n");
  EXPECT_EQ(output.code, 14);
  EXPECT_EQ(of(host, {"-i", "0"}).code, 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-L"},
                                                {"-q"},
                                                {"-q", "-x"},
                                                {"--query-gpu=index", "--format=csv"}}) {
    EXPECT_EQ(of(host, words).code, 0) << words.front();
    EXPECT_THAT(of(host, words).text, Not(HasSubstr("WARNING"))) << words.front();
  }
  host.devices[0].lost = true;
  host.devices[0].uuid = Absent::failed;
  EXPECT_EQ(of(host, {}).code, 15);
}

TEST(SmiFailure, ACardLostInUseStillSaysWhoItIsAndEndsNothing) {
  Snapshot host = two_cards();
  const std::string list = of(host, {"-L"}).text;
  host.devices[0].lost = true;
  EXPECT_EQ(of(host, {"-L"}).text, list);
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"-L"},
                                                {"-q"},
                                                {"-q", "-x"},
                                                {"--query-gpu=index", "--format=csv"}}) {
    EXPECT_EQ(of(host, words).code, 0);
  }
}

TEST(SmiFailure, WhatIsOfTheDriverDoesNotDependOnItsCards) {
  Snapshot host = two_cards();
  host.devices[0].lost = true;
  EXPECT_EQ(of(host, {"--version"}).code, 0);
  EXPECT_THAT(of(host, {"--version"}).text, StartsWith("NVIDIA-SMI version"));
  host.host.excluded_devices = std::vector<ExcludedDevice>{};
  EXPECT_EQ(of(host, {"-B"}).code, 0);
}

// A captured RTX 2080 SUPER, of driver 595.71.05: --query-compute-apps has 5268 before 5267. -q,
// the table and pmon have it behind.
TEST(SmiOrder, ComputeAppsKeepTheDriversAndTheRestIsByPid) {
  const Snapshot by_pid = example::workstation();
  Snapshot host = by_pid;
  host.gpu_processes[1].use = host.gpu_processes[2].use = GpuUse::compute;
  std::swap(host.gpu_processes[0], host.gpu_processes[2]);
  EXPECT_EQ(of(host, {"--query-compute-apps=pid", "--format=csv,noheader"}).text, "190709\n4584\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"-q"}, {"-q", "-x"}, {"pmon"}}) {
    const std::string text = of(host, words).text;
    const std::size_t first = text.find("1696");
    const std::size_t second = text.find("4584", first);
    EXPECT_LT(second, text.find("190709", second)) << text;
    EXPECT_GT(text.find("190709"), second) << text;
  }
}

TEST(SmiOrder, WindowsListsProcessesInNoOrder) {
  Snapshot host = example::workstation();
  std::swap(host.gpu_processes[0], host.gpu_processes[2]);
  host.devices[0].details.set(Detail::driver_model, Reading<std::string>(std::string("WDDM")));
  const std::string text = of(host, {}).text;
  EXPECT_LT(text.find("190709"), text.find("1696"));
}

TEST(SmiTopology, OfOneCardIsAsTheDriverPrintsIt) {
  EXPECT_THAT(of(example::workstation(), {"topo", "-m"}).text,
              StartsWith("\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
                         "GPU0\t X \t0-23\t0\t\tN/A\n\nLegend:\n"));
}

std::string relation_of(const std::string& path_a, const std::string& path_b,
                        std::uint64_t node_b = 0) {
  Snapshot host = two_cards();
  const auto put = [](Device& device, const std::string& path) {
    if (!path.empty()) device.details.set(Detail::pci_path, Reading<std::string>(path));
  };
  put(host.devices[0], path_a);
  put(host.devices[1], path_b);
  host.devices[1].numa_node = node_b;
  const std::string text = of(host, {"topo", "-m"}).text;
  const std::size_t row = text.find("\nGPU0\t X \t") + std::string_view("\nGPU0\t X \t").size();
  return text.substr(row, text.find('\t', row) - row);
}

TEST(SmiTopology, FollowsTheBridgesBetweenTwoCards) {
  const std::string root = "pci0000:00/0000:00:01.0";
  EXPECT_EQ(relation_of(root + "/0000:0b:00.0/0000:0c:00.0/0000:0d:00.0",
                        root + "/0000:0b:00.0/0000:0c:08.0/0000:0e:00.0"),
            "PIX");
  EXPECT_EQ(relation_of(root + "/0000:0b:00.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00.0/0000:0f:00.0",
                        root + "/0000:0b:00.0/0000:0c:08.0/0000:10:00.0"),
            "PXB");
  EXPECT_EQ(relation_of(root + "/0000:01:00.0", "pci0000:00/0000:00:03.0/0000:02:00.0"), "PHB");
  EXPECT_EQ(relation_of(root + "/0000:01:00.0", "pci0000:40/0000:40:01.0/0000:41:00.0"), "NODE");
  EXPECT_EQ(relation_of(root + "/0000:01:00.0", "pci0000:80/0000:80:01.0/0000:81:00.0", 1), "SYS");
}

TEST(SmiTopology, SaysWhereItDoesNotKnow) {
  EXPECT_EQ(relation_of("", ""), "N/A");
  EXPECT_THAT(of(two_cards(), {"topo", "-m"}).text, HasSubstr("N/A  = Not known to berth"));
}

Snapshot linked(std::vector<NvLink> links) {
  Snapshot host = two_cards();
  host.devices[0].lists.nvlinks = std::move(links);
  return host;
}

TEST(SmiTopology, CountsTheLinksBetweenTwoCards) {
  const NvLink to_other{
      .number = 0, .active = true, .speed = {}, .remote = std::string("00000000:81:00.0")};
  EXPECT_THAT(of(linked({to_other, to_other}), {"topo", "-m"}).text,
              HasSubstr("\nGPU0\t X \tNV2\t"));
}

TEST(SmiNvlink, ShowsEachLink) {
  const std::string head =
      "GPU 0: NVIDIA GeForce RTX 2080 SUPER (UUID: GPU-00000000-0000-0000-0000-000000000000)\n";
  const NvLink up{.number = 0, .active = true, .speed = BytesPerSecond{26'562'000'000}};
  const NvLink down{.number = 1, .active = false};
  EXPECT_EQ(of(linked({up, down}), {"nvlink", "-s", "-i", "0"}).text,
            head + "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n");
  EXPECT_EQ(of(linked({down}), {"nvlink", "-s", "-i", "0"}).text,
            head + "NVML: Unable to retrieve Nvlink information as all links are inActive\n");
  EXPECT_EQ(of(linked({}), {"nvlink", "-s", "-i", "0"}).text,
            head + "Device does not have or support Nvlink\n");
  EXPECT_EQ(of(two_cards(), {"nvlink", "-s"}).code, 3);
  EXPECT_THAT(of(example::divided_card(), {"nvlink", "-s"}).text,
              EndsWith("Nvlink queries are not supported for Devices in MIG mode\n"));
}

}  // namespace
}  // namespace berth::smi
