#include "app/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth {

Result<void> write_output(const std::string& path, std::string_view bytes, Existing existing) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) == 0) {
    if (S_ISDIR(facts.st_mode)) {
      return fail(ErrorCode::invalid, trf("{} is a directory: name a file in it", printable(path)));
    }
    // A pipe or a device (/dev/stdout) is written to, not replaced.
    if (!S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode)) {
      const auto fd = open_fd(path, O_WRONLY | O_NOCTTY);
      if (!fd) return std::unexpected(fd.error());
      return write_all(fd->get(), bytes);
    }
    if (existing == Existing::keep) {
      return fail(ErrorCode::busy, trf("{} is there already and stays as it is: name another file",
                                       printable(path)));
    }
    if (existing == Existing::keep_unless_forced) {
      return fail(ErrorCode::busy,
                  trf("{} is there already and was left as it is: --force replaces it, -o names "
                      "another file",
                      printable(path)));
    }
  }
  return write_file_atomically(path, bytes);
}

Style for_a_file(Style style) {
  style.colour = false;
  style.width = 100;
  return style;
}

}  // namespace berth
