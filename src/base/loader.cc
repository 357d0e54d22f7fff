#include "base/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/fd.h"

namespace berth {

std::string loader_lib() {
  // The loader puts its value into the path, and the path into its complaint.
  constexpr std::string_view before = "/nonexistent/";
  (void)::dlopen("/nonexistent/$LIB/none", RTLD_LAZY);
  const char* said = ::dlerror();
  const std::string_view text = said == nullptr ? "" : said;
  const std::size_t end = text.find("/none");
  if (!text.starts_with(before) || end == text.npos || end < before.size()) return "lib64";
  return std::string(text.substr(before.size(), end - before.size()));
}

std::vector<CachedLibrary> libraries_in_cache(std::string_view cache) {
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  constexpr std::uint32_t kind_mask = 0xff00;
#if defined(__aarch64__)
  constexpr std::uint32_t our_kind = 0x0a00;
#else
  constexpr std::uint32_t our_kind = 0x0300;
#endif
  // Older ones have a table of the old format before it. The newer one begins where its texts are
  // counted from.
  const std::size_t start = cache.find(magic);
  if (start == cache.npos) return {};
  cache.remove_prefix(start);
  struct Entry {
    std::uint32_t kind, name, path, os_version;
    std::uint64_t features;
  };
  const auto read = [&](auto& value, std::uint64_t at) {
    if (at > cache.size() || cache.size() - at < sizeof value) return false;
    std::memcpy(&value, cache.data() + at, sizeof value);
    return true;
  };
  const auto text_at = [&](std::uint32_t at) {
    const std::string_view rest = cache.substr(std::min<std::size_t>(at, cache.size()), 4096);
    return rest.substr(0, std::min(rest.find('\0'), rest.size()));
  };
  std::uint32_t count = 0;
  if (!read(count, magic.size())) return {};
  constexpr std::size_t header_bytes = 48;
  std::vector<CachedLibrary> libraries;
  Entry entry{};
  for (std::uint64_t i = 0; i < count && read(entry, header_bytes + i * sizeof entry); ++i) {
    const std::string_view path = text_at(entry.path);
    if ((entry.kind & kind_mask) != our_kind || !path.starts_with('/')) continue;
    libraries.push_back({std::string(text_at(entry.name)), std::string(path)});
  }
  return libraries;
}

std::vector<CachedLibrary> loader_cache(const std::string& root) {
  constexpr std::size_t longest = 64 << 20;
  const auto cache = read_file(root + "/etc/ld.so.cache", longest);
  return cache ? libraries_in_cache(*cache) : std::vector<CachedLibrary>();
}

std::vector<std::string> default_loader_folders() {
  const std::string lib = loader_lib();
  return {"/" + lib,
          "/usr/" + lib,
          "/lib",
          "/usr/lib",
          "/lib64",
          "/usr/lib64",
          "/run/opengl-driver/lib",
          "/usr/lib/wsl/lib"};
}

}  // namespace berth
