#include "base/line_buffer.h"

#include <unistd.h>

namespace berth {

bool LineBuffer::add_from(int fd) {
  char piece[4096];
  const ssize_t got = ::read(fd, piece, sizeof piece);
  if (got <= 0) return false;
  add({piece, static_cast<std::size_t>(got)});
  return true;
}

std::optional<std::string> LineBuffer::next() {
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

}  // namespace berth
