#pragma once
// Ranks that do not go on: which of them the others wait for. Told by what each waits in, by their
// cards, and by PyTorch's dumps, where there are some. Pure.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "diagnose/ranks/flight_recorder.h"
#include "snapshot/finding.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What was seen of a rank, by several looks over some seconds.
struct RankSeen {
  int rank = 0;
  bool has_ended = false;
  Exit exit;
  char state = '?';      // of /proc/PID/stat; '?': not always the same, or not to be read
  std::string waits_in;  // of /proc/PID/wchan; empty: not always the same, or not to be read
  /// Whether it has a socket at the port where the ranks meet; nothing: not to be told.
  std::optional<bool> has_met;
  /// Its card: percent, and how much of the power limit it draws, from 0 to 1.
  std::optional<double> utilization;
  std::optional<double> power;
};

/// What the next look at a living rank shows. What was not the same at all looks is unknown.
void note_look(RankSeen& seen, bool is_first, char state, std::string_view waits_in);

/// What their cards do, each rank's being the one at its place in `given`. Nothing of a simulated
/// server's: what those do is invented.
void add_cards(std::vector<RankSeen>& ranks, const std::vector<Device>& given,
               const Snapshot& snapshot);

/// `waits_for_others` as who waits for data, a lock or a card that waits; `is_unknown` what was
/// seen fits several.
enum class RankActs {
  has_ended,
  is_stopped,
  is_stuck,
  sleeps,
  waits_for_others,
  works,
  is_unknown
};
[[nodiscard]] RankActs act_of(const RankSeen& seen);

/// Nothing: they work, or it cannot be told whom they wait for.
[[nodiscard]] std::optional<Finding> find_rank_hang(const std::vector<RankSeen>& ranks,
                                                    const std::map<int, FlightDump>& dumps,
                                                    std::string_view run);

}  // namespace berth
