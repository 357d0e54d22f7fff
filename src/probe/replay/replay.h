#pragma once
// Replay: what another machine, or this one at another time, wrote down. A file holds one snapshot
// (`berth status --json`), a recording, one snapshot per line, or what the vendor's tool printed:
// `nvidia-smi -q` (once, or again and again with -l), `-q -x`, or a capture file of its commands.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/snapshot.h"

namespace berth {

class Recording {
 public:
  /// `spec` is FILE, FILE#N for the N-th snapshot in it, counted from 1, or FILE#idle, FILE#load
  /// for that phase of a capture file.
  /// invalid: no such file, no such snapshot, or the first one wanted cannot be read.
  [[nodiscard]] static Result<Recording> open(const std::string& spec);
  /// The same from a text, for messages called `name`.
  [[nodiscard]] static Result<Recording> parse(std::string text, std::string name,
                                               std::size_t first = 1, std::string_view phase = {});

  /// How many snapshots there are, broken lines included.
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  /// invalid: says which line, and why.
  [[nodiscard]] Result<Snapshot> at(std::size_t position) const;
  /// Where FILE#N starts, counted from 0.
  [[nodiscard]] std::size_t first() const { return first_; }

 private:
  struct Line {
    std::size_t number;  // in the file, from 1
    std::size_t begin;
    std::size_t length;
  };
  Recording(std::string text, std::string name, std::size_t first)
      : text_(std::move(text)), name_(std::move(name)), first_(first) {}
  void split_lines();
  /// Without what is blank around it.
  [[nodiscard]] std::string_view line(std::size_t position) const;
  /// Whether any line may be a snapshot.
  [[nodiscard]] bool has_json() const;

  std::string text_;
  std::string name_;
  std::size_t first_ = 0;
  std::vector<Line> lines_;
};

/// Plays a recording in the time it was made in.
class Player {
 public:
  explicit Player(Recording recording) : recording_(std::move(recording)) {}
  /// The snapshot that is as far from the first as `now` is from the first call. At the end the
  /// last one stays. Lines that cannot be read are left out, with a Problem in what is shown
  /// instead.
  [[nodiscard]] Snapshot look(WallTime now);

 private:
  Recording recording_;
  std::size_t position_ = 0;
  std::optional<WallTime> started_;
  std::optional<WallTime> recorded_;
  Snapshot shown_;
};

}  // namespace berth
