// No number that the driver makes up of nothing changes what health says of a well card.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "health/health.h"
#include "probe/nvml/api.h"
#include "probe/nvml/fake_machine_test.h"

namespace berth::nvml {
namespace {

class LiesAndHealth : public NvmlFake {
 protected:
  void SetUp() override {
    NvmlFake::SetUp();
    loaded = dlopen(library("all").c_str(), RTLD_NOW | RTLD_LOCAL);  // one for all the looks
    ASSERT_NE(loaded, nullptr) << dlerror();
    opened = Library::open(library("all"));
    ASSERT_TRUE(opened);
  }
  void TearDown() override {
    opened = {};
    if (loaded != nullptr) dlclose(loaded);
    NvmlFake::TearDown();
  }
  /// "ok" or "degraded: pcie_width (PCIe runs with 16 of 4294967295 lanes)".
  std::string diagnosis() {
    NvmlProbe probe(opened->api(), {.proc = "/nonexistent"});
    const Snapshot host = whole_look(probe, now, Depth::lists);
    const DeviceHealth health = health_of(host.devices.at(0), host);
    std::string told(name_of(health.state));
    for (const Finding& finding : health.findings) {
      told += fmt::format(": {} ({})", finding.rule, finding.evidence.front().english());
    }
    return told;
  }

  void* loaded = nullptr;
  std::expected<Library, LoadFailure> opened = std::unexpected(LoadFailure{});
};

TEST_F(LiesAndHealth, NoFunctionThatSaysNothingInNumbersMakesACardIll) {
  faults("*@0=15");
  ASSERT_NE(diagnosis(), "ok") << "of a card that fell off the bus";
  faults("");
  ASSERT_EQ(diagnosis(), "ok");
  for (const std::string_view function : symbols()) {
    if (!function.starts_with("nvmlDevice") && !function.starts_with("nvmlGpm")) continue;
    if (function.starts_with("nvmlDeviceGetCount")) continue;
    if (function.starts_with("nvmlDeviceGetHandle")) continue;
    for (const char* lie : {"4294967295", "18446744073709551615"}) {
      faults(fmt::format("{}@0=lie:{}", function, lie));
      EXPECT_EQ(diagnosis(), "ok") << function << "=lie:" << lie;
    }
  }
}

TEST_F(LiesAndHealth, NoLinkOfNoLanesMakesACardIll) {
  for (const char* function :
       {"nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetMaxPcieLinkGeneration",
        "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkGeneration"}) {
    faults(fmt::format("{}@0=lie:0", function));
    EXPECT_EQ(diagnosis(), "ok") << function;
  }
}

}  // namespace
}  // namespace berth::nvml
