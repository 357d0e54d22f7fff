#include "snapshot/device_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace berth {
namespace {

using ::testing::HasSubstr;

/// The lines of a table of python/berth/torch_backends.py, by their key: {"xpu", …}.
std::string row_of_package(std::string_view table, std::string_view key) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::ifstream file((program / __FILE__).parent_path() / "../../python/berth/torch_backends.py");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t begin = std::min(text.find("\n" + std::string(table) + " = {"), text.size());
  const std::size_t end = std::min(text.find("}\n", begin), text.size());
  const std::string rows = text.substr(begin, end - begin);
  const std::size_t at = std::min(rows.find("\"" + std::string(key) + "\": ("), rows.size());
  return rows.substr(at, std::min(rows.find(')', at), rows.size()) - at);
}

TEST(DeviceKind, ThePythonPackageKnowsWhatPytorchComputesOnAndWhatHidesIt) {
  int known = 0;
  for (const DeviceKindFacts& facts : device_kinds()) {
    if (facts.torch.library.empty()) continue;
    ++known;
    const std::string_view its = facts.torch.library.substr(std::string_view("/libtorch_").size());
    const std::string maker(facts.name.substr(0, facts.name.find('-')));
    EXPECT_THAT(row_of_package("_MAKERS", its), HasSubstr("\"" + maker + "\"")) << facts.name;
    for (const auto& [variable, value] : facts.hiding) {
      if (variable == facts.toolkit_variable) continue;
      EXPECT_THAT(row_of_package("_VARIABLES", its), HasSubstr("\"" + std::string(variable) + "\""))
          << facts.name;
    }
  }
  EXPECT_GT(known, 4);
}

TEST(DeviceKind, ACardsOwnFileIsKnownByItsPath) {
  for (const auto& [path, beginning] :
       std::map<std::string_view, std::string_view>{{"/dev/nvidia12", "/dev/nvidia"},
                                                    {"/dev/dri/renderD12", "/dev/dri/renderD"},
                                                    {"/dev/davinci12", "/dev/davinci"},
                                                    {"/dev/iluvatar12", "/dev/iluvatar"}}) {
    const auto file = card_file_of(path);
    ASSERT_TRUE(file) << path;
    EXPECT_EQ(file->minor, 12U) << path;
    EXPECT_EQ(file->beginning, beginning) << path;
  }
  for (const std::string_view other :
       {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia", "/dev/dri/card1", "/dev/null",
        "/dev/davinci_manager", "socket:[1]"}) {
    EXPECT_FALSE(card_file_of(other)) << other;
  }
}

TEST(DeviceKind, TheKernelLogIsSearchedForEachDriverOnce) {
  EXPECT_EQ(log_expression(), "NVRM|nvidia|amdgpu|kfd|i915|\\bxe\\b|davinci|ascend|hycu|hydcu");
}

}  // namespace
}  // namespace berth
