#include "guard/driver_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/loader.h"
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
  for (const auto& [name, path] : loader_cache(question.root)) {
    if (name == library) places.push_back(question.root + path);
  }
  for (const std::string& folder : default_loader_folders()) add(question.root + folder);
  return places;
}

bool is_hamis(const std::string& path, const SharedObject& object) {
  std::error_code unknown;
  const auto real = std::filesystem::canonical(path, unknown).filename().string();
  return real.starts_with("libvgpu.so") || object.soname.starts_with("libvgpu.so");
}

}  // namespace

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
                           : sentence("{} cannot be read: {}", path, object.error().said());
    }
    if (!is_for_others) break;
  }
  if (seen.empty()) seen = sentence("there is no libcuda.so.1 here: no CUDA program runs");
  return std::unexpected(std::move(seen));
}

}  // namespace berth
