#pragma once
// Copies the ranks' output from their files to one descriptor: whole lines, each with its rank in
// front.

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace berth {

/// Puts "[1] " in front of each line. A carriage return also ends a line: progress bars write
/// nothing else for hours.
class RankLines {
 public:
  explicit RankLines(int rank);
  /// The lines that are whole by now.
  [[nodiscard]] std::string take(std::string_view bytes);
  /// What is left of one, ended.
  [[nodiscard]] std::string rest();

 private:
  std::string prefix_;
  std::string begun_;
};

class RankOutput {
 public:
  /// `to`: what is printed to; is not waited for.
  explicit RankOutput(int to) : to_(to) {}
  /// The next rank's file, as far as it will have been written.
  void add(int rank, Fd file);
  /// Prints what has come, as far as somebody reads; whether anything has.
  bool pass_on();
  /// Reads to the end of all files. Then pass_on() is to be called as long as anything is left.
  void finish();
  /// Something waits for its reader, and the reader is still there.
  [[nodiscard]] bool has_more() const { return to_ >= 0 && !waiting_.empty(); }
  [[nodiscard]] int descriptor() const { return to_; }

 private:
  struct Source {
    Fd file;
    RankLines lines;
  };
  bool read(Source& source);
  void print();
  int to_;  // -1: its reader has gone
  std::vector<Source> sources_;
  std::string waiting_;
};

}  // namespace berth
