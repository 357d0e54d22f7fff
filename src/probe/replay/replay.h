#pragma once
// Replay: what another machine, or this one at another time, wrote down. A file holds one snapshot
// (`berth status --json`), a recording (a snapshot per line), or another program's text. A reader
// of the caller makes snapshots of such a text.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

/// All that comes through the pipe or FIFO that `spec` names; waits for its writer. "-" is the
/// standard input where no file has that name. Nothing: it names a file, or what is not there.
[[nodiscard]] std::optional<Result<std::string>> piped_recording(const std::string& spec);

/// Reads what another program printed; `phase` names the part of it that is meant. Nothing: this is
/// none of that program's texts. At least one snapshot.
using ForeignReader = std::optional<Result<std::vector<Snapshot>>> (*)(std::string_view text,
                                                                       std::string_view phase);

/// Where in a file to begin, and the reader of other programs' texts. Null: none.
struct RecordingPart {
  std::size_t first = 1;
  std::string_view phase = {};
  ForeignReader foreign = nullptr;
};

class Recording {
 public:
  /// `spec` is FILE, or FILE#N for the N-th snapshot in it, counted from 1. FILE#idle and FILE#load
  /// are phases of a capture file.
  /// invalid: no such file, no such snapshot, or the first one wanted cannot be read.
  /// `piped`: what piped_recording() brought of it. A recording is read line by line as it is
  /// played, however long it is.
  [[nodiscard]] static Result<Recording> open(
      const std::string& spec, const std::optional<Result<std::string>>& piped = std::nullopt,
      ForeignReader foreign = nullptr);
  /// The same from a file whose name is taken as it is.
  [[nodiscard]] static Result<Recording> open_file(const std::string& file,
                                                   RecordingPart part = {});
  /// The same from a text, for messages called `name`.
  [[nodiscard]] static Result<Recording> parse(std::string text, Sentence name,
                                               RecordingPart part = {});

  /// How many snapshots there are, broken lines included.
  [[nodiscard]] std::size_t size() const {
    return foreign_.empty() ? lines_.size() : foreign_.size();
  }
  /// invalid: says which line, and why.
  [[nodiscard]] Result<Snapshot> at(std::size_t position) const;
  /// Where FILE#N starts, counted from 0.
  [[nodiscard]] std::size_t first() const { return first_; }

  struct Line {
    std::size_t number;  // in the file, from 1
    std::size_t begin;   // in bytes
    std::size_t length;
    bool is_json;  // as far as its first character tells
  };
  /// For a recording of ours.
  [[nodiscard]] const Line& last_line() const { return lines_.back(); }

 private:
  Recording(std::string text, Sentence name, std::size_t first)
      : text_(std::move(text)), name_(std::move(name)), first_(first) {}
  void split_lines();
  /// invalid: not every line of the file could be read.
  [[nodiscard]] Result<void> find_lines();
  /// invalid: there is nothing to play, beginning with the first one wanted.
  [[nodiscard]] Result<void> check() const;
  /// Without what is blank around it.
  [[nodiscard]] Result<std::string> line(std::size_t position) const;

  std::string text_;
  Fd file_;                        // instead of the text
  std::vector<Snapshot> foreign_;  // instead of lines: what another program printed
  Sentence name_;
  std::size_t first_ = 0;
  std::vector<Line> lines_;
};

/// Where a new recording goes: a file that is not there yet, or the end of one.
enum class RecordInto { new_file, what_is_there };
/// Opens the file to write lines of snapshots into. invalid: it is no regular file, or no whole
/// recording: adding to it would spoil it, and the recording too. Else: it is there already.
[[nodiscard]] Result<Fd> open_to_record(const std::string& file, RecordInto into);

/// Plays a recording in the time it was made in.
class Player {
 public:
  explicit Player(Recording recording) : recording_(std::move(recording)) {}
  /// The snapshot that is as far from the first as `now` is from the first call. At the end the
  /// last one stays. Unreadable lines are left out. The snapshot shown instead has a Problem.
  [[nodiscard]] Snapshot look(WallTime now);

 private:
  Recording recording_;
  std::size_t position_ = 0;
  std::optional<WallTime> started_;
  std::optional<WallTime> recorded_;
  Snapshot shown_;
};

}  // namespace berth
