#pragma once
// LineBuffer: lines of text that come in pieces, as from a child's pipe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

class LineBuffer {
 public:
  void add(std::string_view piece) { text_ += piece; }
  /// Adds what one read(2) brings. False: nothing more comes.
  [[nodiscard]] bool add_from(int fd);
  /// The next whole line, without its end; nothing: it has not come yet.
  [[nodiscard]] std::optional<std::string> next();
  /// Whether no line has begun.
  [[nodiscard]] bool is_empty() const { return text_.empty(); }
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

}  // namespace berth
