#pragma once
// A job's log as lines that can be read. What a terminal would have hidden is gone. That is
// colours, progress bars drawn over each other with \r, and bytes that are no text. The log is a
// stranger's.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/log_tail.h"

namespace berth {

class LogText {
 public:
  /// Reads at most the last longest_tail bytes, where what killed a job stands. Of those it reads
  /// at most the last 200 000 lines. `cut`: the beginning was left out already.
  explicit LogText(std::string_view raw, bool cut = false);

  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  /// Without its line break; never empty.
  [[nodiscard]] std::string_view line(std::size_t i) const;
  /// Its number in the log as given, from 1; 0 where the beginning is missing and nobody can tell.
  [[nodiscard]] std::size_t number(std::size_t i) const;
  /// The lines from `first` on as one text, at most `count`, with blanks between.
  [[nodiscard]] std::string joined(std::size_t first, std::size_t count) const;
  [[nodiscard]] bool is_cut() const { return cut_; }

 private:
  void end_line(std::size_t number);
  struct LinePlace {
    std::uint32_t begin;
    std::uint32_t length;
    std::uint32_t number;
  };
  std::string text_;
  std::size_t begin_ = 0;
  std::vector<LinePlace> lines_;
  bool cut_ = false;
};

/// The line without what programs put in front of a message. Examples:
/// "[rank3]: "
/// "(EngineCore pid=7046) "
/// "2026-02-22 16:58:20 ERROR [core.py:946] "
/// "Feb 22 06:35:27 host kernel: [ 8659.7] "
/// "app-1 | "
[[nodiscard]] std::string_view without_prefix(std::string_view line);

/// Whether a line is an error as frameworks print one when it ends them or their caller: Python's
/// "package.SomeError: …", C++'s "what():  …", glog's "[E …" or "F0321 …", a log's level. Not: a
/// warning, source code.
[[nodiscard]] bool is_error_line(std::string_view line);

/// Whether a line only speaks of an error: a comment, source code, "Ignoring …".
[[nodiscard]] bool is_talk(std::string_view line);

/// The lines of errors: is_error_line(), and those behind it that its message goes on in.
[[nodiscard]] std::vector<bool> raised_lines(const LogText& log);

/// Whether a line shows that work goes on: "Epoch 3 loss 0.12", "40%|### | 12/30
/// [00:05<…, 2.5it/s]".
[[nodiscard]] bool is_progress_line(std::string_view line);

/// The number that follows these words, spaces and a colon between: "SeqNum=469508".
[[nodiscard]] std::optional<std::uint64_t> number_following(std::string_view line,
                                                            std::string_view words);

}  // namespace berth
