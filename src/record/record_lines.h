#pragma once
// The record's files of lines, as text: the job itself appends to one of them. Pure.

#include <cstdint>
#include <string_view>
#include <vector>

#include "record/run_record.h"

namespace berth {

/// How long a sampler saw the marks file be, and when.
struct MarksSeen {
  std::uint64_t bytes = 0;
  WallTime at;
};

/// Between which times a line can have been written.
struct MarkTimes {
  std::vector<MarksSeen> seen;  // oldest first
  WallTime before_all;
  WallTime after_all;
};

/// A line without a time is dated by the first sample that saw the file so long, else `after_all`.
/// So is one whose time the samples contradict: then the date was set. A torn last line is left
/// out.
[[nodiscard]] std::vector<Mark> parse_marks(std::string_view text, const MarkTimes& times);

/// Lines that are no event, a torn last one among them, are left out.
[[nodiscard]] std::vector<RunEvent> parse_events(std::string_view text);

}  // namespace berth
