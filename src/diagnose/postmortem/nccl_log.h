#pragma once
// Which rank of a distributed job stopped first, from what NCCL's watchdog, torchrun and the ranks
// themselves wrote.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "diagnose/postmortem/log_text.h"

namespace berth {

struct RankStory {
  /// Ranks that reported a timeout, with the operation they waited in.
  std::map<std::uint64_t, std::uint64_t> waiting;
  std::string operation;  // of the first report: "ALLREDUCE"
  /// How it is known. `own_error` it has an error of its own. `behind` it waits in an earlier
  /// operation than the others. `torchrun` torchrun saw it fail first. `nobody` it cannot be told.
  enum class How { nobody, own_error, behind, torchrun } how = How::nobody;
  std::optional<std::uint64_t> first;
  /// The line that shows it; empty: none does alone.
  std::string shown_by;
};
[[nodiscard]] RankStory rank_story(const LogText& log);

/// The rank whose line this is: "[rank3]: …", "[rank1]:[E504 …"; nothing: it does not say.
[[nodiscard]] std::optional<std::uint64_t> rank_of_line(std::string_view line);

}  // namespace berth
