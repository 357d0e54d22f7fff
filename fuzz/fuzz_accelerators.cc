// links: berth_probe
// What the files of Intel's cards, of a Gaudi and of Huawei's driver say: each line is one of them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "probe/dcmi/dcmi_source.h"
#include "probe/intel/intel_source.h"
#include "probe/presence/presence_source.h"

namespace fuzz_accelerators {

constexpr std::string_view intel = "sys/bus/pci/devices/0000:03:00.0/";
constexpr std::string_view gaudi = "sys/bus/pci/devices/0000:44:00.0/";

struct File {
  std::string_view folder;
  std::string_view name;
};
constexpr std::array<File, 16> files = {{
    {intel, "class"},
    {intel, "tile0/gt0/freq0/act_freq"},
    {intel, "tile0/gt0/gtidle/idle_residency_ms"},
    {intel, "tile0/physical_vram_size_bytes"},
    {intel, "tile0/gt0/freq0/throttle/status"},
    {intel, "hwmon/hwmon1/energy1_input"},
    {intel, "hwmon/hwmon1/power1_max"},
    {intel, "hwmon/hwmon1/temp2_input"},
    {intel, "hwmon/hwmon1/temp2_label"},
    {intel, "hwmon/hwmon1/name"},
    {intel, "power/runtime_status"},
    {gaudi, "class"},
    {gaudi, "vendor"},
    {gaudi, "device"},
    {gaudi, "module_id"},
    {"", "usr/local/Ascend/driver/version.info"},
}};

/// The folders that each input finds.
const berth::TemporaryDirectory& machine() {
  static const berth::TemporaryDirectory root;
  static const bool is_made = [] {
    for (const File& file : files) {
      const std::filesystem::path path = root / (std::string(file.folder) + std::string(file.name));
      std::filesystem::create_directories(path.parent_path());
    }
    std::filesystem::create_directories(root / "sys/bus/pci/drivers/xe/0000:03:00.0");
    std::filesystem::create_directories(root / "proc/50/fd");
    return true;
  }();
  (void)is_made;
  return root;
}

void check(const berth::Device& device) {
  const auto& load = device.utilization_gpu.get();
  BERTH_CHECK(!load || (load->count() >= 0 && load->count() <= 100), "a share");
  BERTH_CHECK(!device.memory_total.get() || device.memory_total.get()->count() < 1ULL << 52U,
              "a size there is");
  BERTH_CHECK(!device.temperature.get() || device.temperature.get()->count() <= 250, "no absurd");
  BERTH_CHECK(device.runtime_index.value_or(0) >= 0, "a number");
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const TemporaryDirectory& root = machine();
  const auto lines = split(std::string_view(reinterpret_cast<const char*>(data), size), '\n');
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::ofstream file(root / (std::string(files[i].folder) + std::string(files[i].name)),
                       std::ios::binary | std::ios::trunc);
    if (i < lines.size()) file << lines[i] << '\n';
  }
  Instant now{};
  IntelSource of_intel(root / "sys", root / "proc", [&] { return now; });
  PresenceSource present(root / "sys", root / "proc", root / "dev");
  for (int look = 0; look < 2; ++look) {
    now += std::chrono::seconds(1);
    for (DeviceSource* source :
         {static_cast<DeviceSource*>(&of_intel), static_cast<DeviceSource*>(&present)}) {
      const auto count = source->open();
      for (int i = 0; i < count.value_or(0); ++i) {
        for (const Device& one : source->observe_device(i, Depth::lists, {}).devices) check(one);
      }
    }
  }
  Host host;
  std::vector<Problem> problems;
  DcmiSource(root.path()).observe_host(host, Depth::lists, problems);
  return 0;
}

}  // namespace fuzz_accelerators
