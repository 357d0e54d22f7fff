#pragma once
// The ranks that a job has on Slurm's other nodes. srun starts a `berth run` of its own on each
// node. So its cards are claimed and watched there as any job's. The nodes tell each other by files
// in the record of the run on the first node. Each node writes a table of its ranks; another file
// has the signals for all. srun itself passes no signal on: at TERM it has the step killed.

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "record/run_ranks.h"
#include "run/ranks/rank_words.h"

namespace berth {

/// As the first node's launcher has them.
class OtherNodes {
 public:
  explicit OtherNodes(const RankPlan& plan) : plan_(plan) {}

  /// A row in the table for each of their ranks, and one srun for each node. `before_exec` runs in
  /// each child.
  Result<void> start(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment,
                     const std::function<bool()>& before_exec, RunRanks& table);
  /// Whether the child was a node's.
  bool take_end(pid_t pid, const Exit& exit);
  [[nodiscard]] bool is_any_alive() const;
  /// Sends it to each rank of the nodes that still live. SIGKILL: Slurm ends them.
  void signal(int number) const;
  /// What their launchers wrote by now, put into the table; whether anything is new.
  bool read_into(RunRanks& table);
  /// The rank that failed first on a node, or a node that ended badly without one.
  struct Failure {
    std::optional<int> rank;
    int node = 0;
    Exit exit;
  };
  [[nodiscard]] std::optional<Failure> failure() const;

 private:
  struct Node {
    int number = 0;
    pid_t srun = 0;
    std::optional<Exit> end;
    std::string read;  // its table's text
    std::optional<int> failed_first;
    Exit failed_with;
  };
  const RankPlan& plan_;
  std::vector<Node> nodes_;
};

/// As another node's launcher has the first one's: the signals that have come since.
class SignalsFromFirstNode {
 public:
  explicit SignalsFromFirstNode(std::string record) : record_(std::move(record)) {}
  [[nodiscard]] std::vector<int> next();

 private:
  std::string record_;
  std::size_t read_ = 0;  // bytes
};

/// As Slurm names this machine, else as it names itself.
[[nodiscard]] std::string node_name(const std::vector<std::string>& environment);

}  // namespace berth
