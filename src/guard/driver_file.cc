#include "guard/driver_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "guard/elf_image.h"
#include "guard/elf_view.h"

namespace berth {

namespace {

constexpr std::string_view library = "libcuda.so.1";

/// A file's bytes for as long as it lives. Only what is looked at is read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const auto fd = open_fd(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat facts{};
    if (!fd || ::fstat(fd->get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size <= 0) {
      return;
    }
    const auto bytes = static_cast<std::size_t>(facts.st_size);
    void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd->get(), 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), bytes};
  }
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

/// LD_LIBRARY_PATH's folders. One with another token than $LIB depends on the program.
std::vector<std::string> folders_of(const DriverQuestion& question) {
  std::vector<std::string> folders;
  if (question.library_path.empty()) return folders;
  std::string list = question.library_path;
  std::ranges::replace(list, ';', ':');
  for (const std::string_view entry : split(list, ':')) {
    std::string folder(entry);
    for (const std::string_view token : {"${LIB}", "$LIB"}) {
      if (const std::size_t at = folder.find(token); at != folder.npos) {
        folder.replace(at, token.size(), loader_lib());
      }
    }
    if (folder.find('$') != folder.npos) continue;
    if (!folder.starts_with('/')) folder = question.working_directory + "/" + folder;
    folders.push_back(std::move(folder));
  }
  return folders;
}

std::vector<std::string> places_of(const DriverQuestion& question) {
  std::vector<std::string> places;
  const auto add = [&](const std::string& folder) {
    places.push_back((std::filesystem::path(folder) / library).lexically_normal());
  };
  for (const std::string& folder : folders_of(question)) add(folder);
  const auto cache = read_file(question.root + "/etc/ld.so.cache", 64 << 20);
  for (const std::string& file :
       cache ? files_in_loader_cache(*cache, library) : std::vector<std::string>{}) {
    places.push_back(question.root + file);
  }
  // NixOS has its driver in the last one, and programs that know.
  for (const std::string& folder :
       {"/" + loader_lib(), "/usr/" + loader_lib(), std::string("/lib"), std::string("/usr/lib"),
        std::string("/lib64"), std::string("/usr/lib64"), std::string("/run/opengl-driver/lib")}) {
    add(question.root + folder);
  }
  return places;
}

bool is_hamis(const std::string& path, const SharedObject& object) {
  std::error_code unknown;
  const auto real = std::filesystem::canonical(path, unknown).filename().string();
  return real.starts_with("libvgpu.so") || object.soname.starts_with("libvgpu.so");
}

}  // namespace

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

std::vector<std::string> files_in_loader_cache(std::string_view cache, std::string_view name) {
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  constexpr std::uint32_t kind_mask = 0xff00;
  constexpr std::uint32_t our_kind = elf::our_machine == EM_AARCH64 ? 0x0a00 : 0x0300;
  // Older ones have a table of the old format before it. The newer one begins where its texts are
  // counted from.
  const std::size_t start = cache.find(magic);
  if (start == cache.npos) return {};
  cache.remove_prefix(start);
  const std::uint32_t count = elf::read_at<std::uint32_t>(cache, magic.size()).value_or(0);
  constexpr std::size_t header_bytes = 48;
  struct Entry {
    std::uint32_t kind, name, path, os_version;
    std::uint64_t features;
  };
  const auto text_at = [&](std::uint32_t at) {
    const std::string_view rest = cache.substr(std::min<std::size_t>(at, cache.size()), 4096);
    return rest.substr(0, std::min(rest.find('\0'), rest.size()));
  };
  std::vector<std::string> files;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = elf::read_at<Entry>(cache, header_bytes + i * sizeof(Entry));
    if (!entry) break;
    if ((entry->kind & kind_mask) != our_kind || text_at(entry->name) != name) continue;
    if (const std::string_view path = text_at(entry->path); path.starts_with('/')) {
      files.emplace_back(path);
    }
  }
  return files;
}

std::expected<DriverFile, Sentence> find_driver(const DriverQuestion& question) {
  Sentence seen;  // what stood in a place and could not be used
  for (const std::string& path : places_of(question)) {
    const MappedFile file(path);
    if (file.bytes().empty()) continue;
    constexpr std::size_t larger_than_any_image = 8 << 20;
    if (file.bytes().size() < larger_than_any_image && is_guard_image(file.bytes())) continue;
    auto object = read_shared_object(file.bytes());
    if (object && is_hamis(path, *object)) {
      return std::unexpected(sentence("HAMi's libvgpu caps memory here: {}", path));
    }
    if (object && object->machine == elf::our_machine) return DriverFile{path, *std::move(object)};
    // The loader, too, passes over what is for other programs.
    const bool is_for_others = object || object.error().code() == ErrorCode::unsupported;
    if (seen.empty()) {
      seen = is_for_others ? sentence("the only libcuda.so.1 is not for 64-bit programs: {}", path)
                           : sentence("{} cannot be read: {}", path, object.error().message());
    }
    if (!is_for_others) break;
  }
  if (seen.empty()) seen = sentence("there is no libcuda.so.1 here: no CUDA program runs");
  return std::unexpected(std::move(seen));
}

}  // namespace berth
