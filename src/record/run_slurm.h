#pragma once
// The Slurm job that a run was handed to: the record's slurm.json, written when it is submitted.
// What became of the run stands in the record itself, which the job's node writes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace berth {

struct RunSlurm {
  std::string job;                 // its number; of a task of an array "12_3"
  std::string cluster;             // empty: the one that there is
  WallTime submitted;              // numbers come again, so that this belongs to them
  std::string array;               // "0-9%2": the run is all of its tasks; empty: it is one job
  std::vector<std::string> asked;  // what sbatch was asked
  friend bool operator==(const RunSlurm&, const RunSlurm&) = default;
};

[[nodiscard]] std::string run_slurm_to_json(const RunSlurm& slurm);
[[nodiscard]] Result<RunSlurm> run_slurm_from_json(std::string_view text);
/// From a record's directory. Nothing: it is no run of Slurm's.
[[nodiscard]] std::optional<RunSlurm> run_slurm_in(const std::string& directory);

}  // namespace berth
