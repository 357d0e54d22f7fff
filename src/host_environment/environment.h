#pragma once
// What of its environment matters to a job on devices, or without one. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "base/sentence.h"
#include "base/variables.h"

namespace berth {

/// Removes these; a sentence for each of them that was there.
[[nodiscard]] std::vector<Sentence> take_away(const std::vector<std::string>& names,
                                              std::vector<std::string>& environment);

/// What a run without a device sets: the switches that hide every kind of device, and thread
/// counts. Thread counts only where no variable has one. Without them libraries take every core of
/// a shared server.
[[nodiscard]] std::vector<Variable> cpu_only_settings(const std::vector<std::string>& environment,
                                                      unsigned threads);

/// Threads for one CPU job among others: all of a small machine, a quarter of a large one.
[[nodiscard]] std::uint64_t sensible_threads(std::uint64_t cpus);

/// Those that matter to somebody who wants to repeat a GPU run, secrets masked.
[[nodiscard]] std::vector<Variable> notable_variables(const std::vector<std::string>& environment);

}  // namespace berth
