#pragma once
// AmdgpuSys: a /sys and a /proc below a temporary directory, with cards as captures have them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "base/text.h"

namespace berth {

inline std::string captured(const std::string& name) {
  // __FILE__ may be relative to where the compiler ran, which is where the test program lies.
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto folder = (program / __FILE__).parent_path() / "../../../tests/data/amdgpu";
  return read_file(folder / (name + ".tree")).value_or("");
}

class AmdgpuSys {
 public:
  void put(const std::string& path, const std::string& text) {
    const std::string file = root_ / path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(write_file_atomically(file, text));
  }
  static std::string folder(const std::string& address) { return "bus/pci/devices/" + address; }
  /// A card as its capture has it, at this address.
  void add(const std::string& address, const std::string& capture, int render) {
    put(folder(address) + "/class", "0x038000\n");
    put(folder(address) + "/vendor", "0x1002\n");
    put(folder(address) + "/device", "0x740f\n");
    std::string name;
    std::string lines;
    const auto finish = [&] {
      constexpr std::string_view mark = "/device/";
      const std::size_t at = name.find(mark);
      if (at != std::string::npos)
        put(folder(address) + "/" + name.substr(at + mark.size()), lines);
    };
    const std::string text = captured(capture);
    ASSERT_FALSE(text.empty()) << capture;
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with("@ ")) {
        finish();
        const auto words = split(line, ' ');
        name = words.size() == 2 || words[2] == "no-newline" ? words[1] : "";
        lines.clear();
      } else if (line.starts_with("|")) {
        lines += std::string(line.substr(1)) + "\n";
      }
    }
    finish();
    std::filesystem::create_directories(
        root_ / (folder(address) + "/drm/renderD" + std::to_string(render)));
    std::filesystem::create_directories(root_ / ("bus/pci/drivers/amdgpu/" + address));
  }
  void add_node(int number, std::uint64_t location, std::uint64_t simds,
                const std::string& gpu_id) {
    const std::string node = fmt::format("class/kfd/kfd/topology/nodes/{}/", number);
    put(node + "properties",
        fmt::format("simd_count {}\nlocation_id {}\ndomain 0\n", simds, location));
    put(node + "gpu_id", gpu_id + "\n");
  }
  /// One with a file open, and what the kernel tells of its descriptor.
  void add_process(const std::string& pid, const std::string& opened, const std::string& fdinfo) {
    const std::string number = std::to_string(3 + descriptors_++);
    std::filesystem::create_directories(root_ / ("proc/" + pid + "/fd"));
    std::filesystem::create_symlink(opened, root_ / ("proc/" + pid + "/fd/" + number));
    put("proc/" + pid + "/fdinfo/" + number, fdinfo);
  }
  [[nodiscard]] std::string path() const { return root_.path(); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return root_ / name; }

 private:
  TemporaryDirectory root_;
  int descriptors_ = 0;
};

}  // namespace berth
