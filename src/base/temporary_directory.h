#pragma once
// A directory for one test that goes with it, whatever became of the test. For tests alone.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace berth {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    // Canonical, as programs see it who ask where they are.
    std::string pattern =
        std::filesystem::canonical(std::filesystem::temp_directory_path()) / "berth-test-XXXXXX";
    BERTH_CHECK(::mkdtemp(pattern.data()) != nullptr, "a test can make a temporary directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace berth
