#pragma once
// Life: who computes on a simulated server and when, for weeks. So charts of a month, usage and the
// queue have something to show. A rota of four weeks follows from the scenario's seed and repeats.
// The current look and the history are one function of the time.
//
// In the scenario:  "life": {"people": ["alice", "bob"]}

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth::sim {

inline constexpr std::int64_t life_step_ms = 15LL * 60 * 1000;  // jobs begin and end at a quarter
inline constexpr std::int64_t life_period_ms = 28LL * 24 * 60 * 60 * 1000;

enum class LifeKind {
  trains,
  waits_for_data,  // busy a third of the time
  goes_idle,       // keeps its devices when its work is over
  runs_hot,        // is slowed down for it
  faults,          // ends with an XID
  runs_out,        // takes more and more memory, to the end of it
};

/// Times since the period's beginning.
struct LifeJob {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
  std::int64_t waited_ms = 0;  // before, in the queue
  std::vector<std::size_t> devices;
  std::size_t person = 0;
  LifeKind kind = LifeKind::trains;
  std::uint64_t number = 0;
};

struct Life {
  std::uint64_t seed = 1;
  std::vector<std::string> people;
  std::vector<LifeJob> jobs;  // by their beginning
};

[[nodiscard]] Life life_of(std::uint64_t seed, std::size_t devices,
                           std::vector<std::string> people);

/// A job that is over, as those who had it would tell.
struct PastJob {
  WallTime began;
  WallTime ended;
  std::int64_t waited_ms = 0;
  std::vector<std::size_t> devices;
  LifeKind kind = LifeKind::trains;
  uid_t uid = 0;
  std::string user;
  std::string command;
  ProcessId process;
};
/// Those that ended after the one time and not after the other, by their end.
[[nodiscard]] std::vector<PastJob> past_jobs(const Life& life, WallTime after, WallTime until);

/// Lets the jobs show that run or wait then, with their leases, processes and XIDs. `base`: the
/// server without them, when its devices' counters were as they are there.
void put_life(Snapshot& snapshot, const Life& life, const Snapshot& base);

}  // namespace berth::sim
