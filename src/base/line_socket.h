#pragma once
// LineSocket: lines of text over a local socket, each perhaps with a descriptor: what libberth and
// its helper say to each other.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace berth {

class LineSocket {
 public:
  explicit LineSocket(Fd socket) : socket_(std::move(socket)) {}
  /// Two ends that are connected, both 3 or above and close-on-exec.
  [[nodiscard]] static Result<std::pair<Fd, Fd>> make_ends();

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// Ends it for heirs of this end, too: what was sent arrives, and then the end.
  void shut_down();
  /// The other end learns that nothing more comes, and may go on sending.
  void finish_sending();
  /// The process that made the other end. For make_ends(): its caller.
  [[nodiscard]] Result<pid_t> peer() const;

  /// The descriptor, where there is one, is copied to the other end. io: nobody is there any more.
  [[nodiscard]] Result<void> send(std::string_view line, int descriptor = -1);

  struct Line {
    std::string text;
    Fd descriptor;  // that came with it
  };
  /// The next line; nothing: it has not come yet. Never blocks. io: the other end is closed, or
  /// sends more than `longest` bytes without a line's end.
  [[nodiscard]] Result<std::optional<Line>> receive(std::size_t longest);

 private:
  [[nodiscard]] std::optional<Line> take_line();
  [[nodiscard]] Result<bool> fill(std::size_t longest);

  Fd socket_;
  std::string buffer_;
  std::size_t seen_ = 0;           // of the buffer, in which no line ends
  Fd descriptor_;                  // that came
  std::size_t descriptor_at_ = 0;  // in the buffer: a place in the line that it came with
};

}  // namespace berth
