#pragma once
// PyTorch's flight recorder: the last operations between ranks, as each rank dumps them where one
// times out. Which rank has not entered what the others wait in.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

/// The last operation that a rank has entered in one group of ranks.
struct LastOperation {
  std::int64_t number = 0;  // counted alike by all ranks of the group
  std::string name;         // "nccl:all_reduce"
  std::string state;        // "scheduled", "started", "completed"
  std::string where;        // "train.py:41 in step"; empty: not recorded
};
/// By the group's name.
using FlightDump = std::map<std::string, LastOperation>;

/// invalid: no dump of this kind. Texts are what the file's writer wanted.
[[nodiscard]] Result<FlightDump> read_flight_dump(std::string_view bytes);

struct FlightStory {
  /// `behind`: some have not entered what others wait in. `differs`: they are in different
  /// operations of the same number. `undumped`: all that tell wait, and some have told nothing.
  enum class How { nobody, behind, differs, undumped } how = How::nobody;
  std::vector<int> ranks;  // that it is said of
  std::vector<int> others;
  LastOperation awaited;  // of the others
  std::string last;  // what the first of `ranks` did last: "nccl:all_reduce, train.py:41 in step"
};
/// Takes these ranks' dumps, of `ranks` in all. A smaller group is told only where no larger one
/// tells.
[[nodiscard]] FlightStory flight_story(const std::map<int, FlightDump>& dumps, int ranks);

}  // namespace berth
