// A driver that answers "success" and then a number that nobody measured. All bits set means in
// NVML that there is no number. 0 is no width, no clock and no size. Each function that the probe
// calls is made to say so. Each reading must then be the sound one or absent.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "probe/nvml/api.h"
#include "probe/nvml/fake_machine_test.h"

namespace berth::nvml {
namespace {

using Spared = std::set<std::string_view>;

class NvmlLies : public NvmlFake {
 protected:
  void SetUp() override {
    NvmlFake::SetUp();
    play(detailed_server());
    loaded = dlopen(library("all").c_str(), RTLD_NOW | RTLD_LOCAL);  // one for all the looks
    ASSERT_NE(loaded, nullptr) << dlerror();
    opened = Library::open(library("all"));
    ASSERT_TRUE(opened);
    sound = look_in_process();
    const auto present = std::ranges::count_if(fields(), [&](const Field& field) {
      return field.read(sound.devices.at(0), sound).has_value();
    });
    ASSERT_GT(present, 100) << "what nobody reads cannot be lied about";
  }
  void TearDown() override {
    opened = {};
    if (loaded != nullptr) dlclose(loaded);
    NvmlFake::TearDown();
  }
  Snapshot look_in_process() {
    NvmlProbe probe(opened->api(), {.proc = "/nonexistent"});
    return whole_look(probe, now, Depth::lists);
  }
  /// The readings of device 0 that are neither as on the sound machine nor absent. A text may be
  /// the lie: the driver decides what a card is called.
  [[nodiscard]] std::string believed(const Snapshot& got, std::string_view lie,
                                     const Spared& may_be_another) const {
    std::string told;
    const auto note = [&](std::string_view key, const std::string& text) {
      told += fmt::format("{}{} is {}", told.empty() ? "" : "; ", key, text);
    };
    for (const Field& field : fields()) {
      const Cell cell = field.read(got.devices.at(0), got);
      if (!cell.get() || cell == field.read(sound.devices[0], sound)) continue;
      const auto* text = std::get_if<std::string>(&*cell.get());
      if ((text != nullptr && *text == lie) || may_be_another.contains(field.key)) continue;
      note(field.key,
           std::visit([](const auto& it) { return fmt::format("{}", it); }, *cell.get()));
    }
    const auto list = [&](std::string_view what, const auto& here, const auto& there) {
      if (here.get() && !(here == there) && !may_be_another.contains(what)) note(what, "another");
    };
    const Device& device = got.devices[0];
    const Device& other = sound.devices[0];
    list("utilization_history", device.utilization_history, other.utilization_history);
    list("retired_pages", device.lists.retired_pages, other.lists.retired_pages);
    list("supported_clocks", device.lists.supported_clocks, other.lists.supported_clocks);
    list("nvlinks", device.lists.nvlinks, other.lists.nvlinks);
    return told;
  }

  void* loaded = nullptr;
  std::expected<Library, LoadFailure> opened = std::unexpected(LoadFailure{});
  Snapshot sound;
};

bool may_lie(std::string_view function) {
  return (function.starts_with("nvmlDevice") && !function.starts_with("nvmlDeviceGetHandle")) ||
         function == "nvmlGpmSampleGet" || function == "nvmlGpmQueryDeviceSupport";
}

TEST_F(NvmlLies, AllBitsSetAreNoReading) {
  // A margin of one degree less than none is what a card too hot has.
  const Spared may_be_another = {
      "temperature_limit_margin_celsius", "temperature_shutdown_margin_celsius",
      "temperature_slowdown_margin_celsius", "temperature_max_operating_margin_celsius",
      "temperature_memory_margin_celsius"};
  for (const std::string_view function : symbols()) {
    if (!may_lie(function)) continue;
    for (const char* lie : {"4294967295", "18446744073709551615"}) {
      faults(fmt::format("{}@0=lie:{}", function, lie));
      EXPECT_EQ(believed(look_in_process(), lie, may_be_another), "") << function << "=lie:" << lie;
    }
  }
}

// Where 0 is a measurement (an idle card, no errors) it must stay one.
TEST_F(NvmlLies, NothingIsNoReadingWhereNothingCannotBe) {
  for (const char* function :
       {"nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetMaxPcieLinkGeneration",
        "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkGeneration",
        "nvmlDeviceGetGpuMaxPcieLinkGeneration", "nvmlDeviceGetNumGpuCores",
        "nvmlDeviceGetMemoryBusWidth", "nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementDefaultLimit",
        "nvmlDeviceGetTemperatureThreshold", "nvmlDeviceGetCudaComputeCapability",
        "nvmlDeviceGetBAR1MemoryInfo"}) {
    faults(fmt::format("{}@0=lie:0", function));
    // The memory is then asked of the older function, which counts what is reserved as used.
    const Spared may_be_another = {"memory_used_bytes", "memory_unexplained_bytes"};
    EXPECT_EQ(believed(look_in_process(), "0", may_be_another), "") << function;
  }
}

}  // namespace
}  // namespace berth::nvml
