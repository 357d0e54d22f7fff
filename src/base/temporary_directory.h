#pragma once
// A directory for one test that goes with it, whatever became of the test. For tests alone.

#include <filesystem>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/scratch_directory.h"

namespace berth {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : made_(make()) {}
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return made_.path(); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path() + "/" + name; }

 private:
  static ScratchDirectory make() {
    // Canonical, as programs see it who ask where they are.
    auto made = ScratchDirectory::make(
        std::filesystem::canonical(std::filesystem::temp_directory_path()) / "berth-test");
    BERTH_CHECK(made.has_value(), "a test can make a temporary directory");
    return *std::move(made);
  }
  ScratchDirectory made_;
};

}  // namespace berth
