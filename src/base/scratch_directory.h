#pragma once
// A directory of our own within another. It goes with its owner, and all that is in it.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/result.h"

namespace berth {

class ScratchDirectory {
 public:
  /// `beginning`: of its path; letters that nobody guesses follow.
  static Result<ScratchDirectory> make(const std::string& beginning) {
    std::string path = beginning + "-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return fail_system(errno, "create {}", path);
    return ScratchDirectory(std::move(path));
  }
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;  // what is left says by its name whose it is
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace berth
