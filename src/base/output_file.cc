#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"

namespace berth {

namespace {

enum class Target { file, stream };  // a pipe or a device (/dev/stdout) is written to, not replaced

/// What there is or will be, where nothing is in the way.
Result<Target> target_at(const std::string& path, Existing existing) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return Target::file;
  if (S_ISDIR(facts.st_mode)) {
    return fail(ErrorCode::invalid, "{} is a directory: name a file in it", printable(path));
  }
  if (!S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode)) return Target::stream;
  if (existing == Existing::keep) {
    return fail(ErrorCode::busy, "{} is there already and stays as it is: name another file",
                printable(path));
  }
  if (existing == Existing::keep_unless_forced) {
    return fail(
        ErrorCode::busy,
        "{} is there already and was left as it is: --force replaces it, -o names another file",
        printable(path));
  }
  return Target::file;
}

}  // namespace

Result<void> write_output(const std::string& path, std::string_view bytes, Existing existing) {
  const auto target = target_at(path, existing);
  if (!target) return std::unexpected(target.error());
  if (*target != Target::stream) return write_file_atomically(path, bytes);
  const auto fd = open_fd(path, O_WRONLY | O_NOCTTY);
  if (!fd) return std::unexpected(fd.error());
  return write_all(fd->get(), bytes);
}

Result<void> check_output(const std::string& path, Existing existing) {
  const auto target = target_at(path, existing);
  if (!target) return std::unexpected(target.error());
  if (*target == Target::stream) return {};
  const std::string folder = std::filesystem::path(path).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) return {};
  return fail_system(errno, "write {}", path);
}

}  // namespace berth
