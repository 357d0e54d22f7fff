// What a look is asked for is what it reads: each field by itself, by the questions that feed it
// (tests/data/nvml-feeds.txt) and by no other.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"
#include "probe/nvml/fake_machine_test.h"
#include "snapshot/fields.h"

namespace berth::nvml {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Who the devices are, and what every session with the library begins and ends with.
const Names of_every_look = {"nvmlInit_v2",           "nvmlShutdown",
                             "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
                             "nvmlDeviceGetUUID",     "nvmlDeviceGetPciInfo_v3"};

/// What is asked first, or in place of a function that does not answer: these feed nothing where
/// another does. And what is of no device, so that no line of the file is its own.
const Names beside_others = {"nvmlDeviceGetArchitecture",
                             "nvmlDeviceGetMigMode",
                             "nvmlDeviceGetName",
                             "nvmlDeviceGetMaxMigDeviceCount",
                             "nvmlDeviceGetPlatformInfo",
                             "nvmlDeviceGetCudaComputeCapability",
                             "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                             "nvmlDeviceGetGraphicsRunningProcesses_v3",
                             "nvmlDeviceGetRemappedRows_v2",
                             "nvmlGetVgpuDriverCapabilities",
                             "nvmlGpmSampleAlloc",
                             "nvmlGpmSampleFree",
                             "nvmlGpmMetricsGet"};

class NvmlWanted : public NvmlFake {
 protected:
  void SetUp() override {
    NvmlFake::SetUp();
    play(detailed_server());
    calls_ = directory / "calls";
    setenv("BERTH_FAKE_NVML_CALLS", calls_.c_str(), 1);
    // So that it reads the machine once, not for each of hundreds of looks.
    loaded_ = dlopen(library("all").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(loaded_, nullptr) << dlerror();
  }
  void TearDown() override {
    if (loaded_ != nullptr) dlclose(loaded_);
    unsetenv("BERTH_FAKE_NVML_CALLS");
    NvmlFake::TearDown();
  }
  /// The functions called since this was asked last.
  Names calls() {
    Names names;
    std::istringstream lines(read_file(calls_, 16 << 20).value_or(""));
    std::string name;
    std::string device;
    while (lines >> name) {
      std::getline(lines, device);
      names.insert(name);
    }
    std::remove(calls_.c_str());
    return names;
  }

 private:
  std::string calls_;
  void* loaded_ = nullptr;
};

Wanted only(const Field& field) { return Wanted().add(Extra::devices).add(field); }

/// By field, the functions that feed it.
std::map<std::string, Names, std::less<>> feeds() {
  std::map<std::string, Names, std::less<>> by_field;
  std::ifstream file(BERTH_NVML_SYMBOL_LISTS "/../nvml-feeds.txt");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    for (const std::string_view key : split(std::string_view(line).substr(colon + 1), ' ')) {
      if (!key.empty()) by_field[std::string(key)].insert(line.substr(0, colon));
    }
  }
  return by_field;
}

TEST_F(NvmlWanted, EachFieldIsReadAloneAsItIsBesideAllOthers) {
  const Snapshot whole = look("all", Wanted(Depth::lists));
  for (const Field& field : fields()) {
    const Snapshot alone = look("all", only(field));
    ASSERT_EQ(alone.devices.size(), whole.devices.size()) << field.key;
    EXPECT_EQ(field.read(alone.devices[0], alone), field.read(whole.devices[0], whole))
        << field.key;
  }
}

TEST_F(NvmlWanted, NoFieldCostsAQuestionThatDoesNotFeedIt) {
  const auto feeding = feeds();
  ASSERT_FALSE(feeding.empty());
  (void)calls();
  for (const Field& field : fields()) {
    if (field.key == "state") continue;  // of all that placement looks at
    (void)look("all", only(field));
    const auto known = feeding.find(field.key);
    for (const std::string& name : calls()) {
      const bool feeds_it = known != feeding.end() && known->second.contains(name);
      EXPECT_TRUE(feeds_it || of_every_look.contains(name) || beside_others.contains(name) ||
                  name.starts_with("nvmlSystemGet"))
          << field.key << " asks " << name;
    }
  }
}

/// No function of NVML feeds them: of the look, the ledger, the host or /sys; between two looks; in
/// recordings alone.
const Names of_others = {"index",
                         "taken_unix_ms",
                         "leases",
                         "reserved_for",
                         "device_count",
                         "driver_version",
                         "cuda_version",
                         "pci_path",
                         "vgpu_license_status",
                         "vgpu_licensed_product",
                         "window_span_milliseconds"};

TEST_F(NvmlWanted, EachFieldIsFedByAFunctionOrStandsAmongThoseOfOthers) {
  const auto feeding = feeds();
  std::string unfilled;
  for (const Field& field : fields()) {
    if (!feeding.contains(field.key) && !of_others.contains(field.key)) {
      unfilled += std::string(field.key) + ' ';
    }
  }
  EXPECT_EQ(unfilled, "") << "read it in probe/nvml, and name its function in nvml-feeds.txt";
}

TEST_F(NvmlWanted, NothingWantedOfTheDevicesAsksNoDevice) {
  (void)calls();
  (void)look("all", Wanted());
  EXPECT_THAT(calls(),
              testing::IsSubsetOf({"nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetCount_v2"}));
}

}  // namespace
}  // namespace berth::nvml
