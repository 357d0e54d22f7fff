#pragma once
// SaidProblems: what a command that looks again and again tells once, however often it is seen.

#include <set>
#include <string>

#include "snapshot/snapshot.h"

namespace berth {

class SaidProblems {
 public:
  /// Not by its words: how long was waited is another time at each look.
  [[nodiscard]] bool is_new(const Problem& problem) {
    const std::string subject = problem.device.value_or(DeviceId()).text();
    return said_.insert(problem.source + " " + subject + " " + problem.code).second;
  }

 private:
  std::set<std::string> said_;
};

}  // namespace berth
