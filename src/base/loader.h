#pragma once
// Where the machine's loader (ld.so) finds libraries, beside what LD_LIBRARY_PATH says.

#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// What "$LIB" is to it: "lib64", "lib/x86_64-linux-gnu".
[[nodiscard]] std::string loader_lib();

struct CachedLibrary {
  std::string name;  // "libcuda.so.1"
  std::string path;
  friend bool operator==(const CachedLibrary&, const CachedLibrary&) = default;
};
/// Those for our 64-bit programs in /etc/ld.so.cache, in its order. `root` stands before that path
/// (tests), and belongs before those of the answer. Empty: there is none.
[[nodiscard]] std::vector<CachedLibrary> loader_cache(const std::string& root);
/// Parses the cache's bytes. Damaged entries are left out.
[[nodiscard]] std::vector<CachedLibrary> libraries_in_cache(std::string_view cache);

/// Where it looks last, and where some systems have the driver: NixOS, WSL.
[[nodiscard]] std::vector<std::string> default_loader_folders();

}  // namespace berth
