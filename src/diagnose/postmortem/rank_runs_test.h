#pragma once
// One rank of a job of three, as a run of its own. For tests only.

#include <string>

#include "record/run_record.h"

namespace berth {

inline RunRecord rank_run(int rank, std::int64_t ended_second, Exit exit = {.code = 1}) {
  RunRecord run;
  run.manifest.id = "20251121-01494" + std::to_string(rank) + "-aaaaaa";
  run.manifest.machine_id = "m1";
  run.manifest.started = {1'763'690'000'000};
  run.manifest.variables = {{"MASTER_ADDR", "10.0.0.1"},
                            {"MASTER_PORT", "29500"},
                            {"RANK", std::to_string(rank)},
                            {"WORLD_SIZE", "3"}};
  run.state = RunState::ended;
  run.end = RunEnd{.at = {1'763'690'000'000 + ended_second * 1000}, .exit = exit};
  return run;
}

}  // namespace berth
