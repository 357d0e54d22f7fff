#pragma once
// What the texts of the history share. Internal to view/history_*.cc.

#include <string>
#include <vector>

#include "record/history/reader.h"
#include "view/paint.h"

namespace berth {

/// A device as people call it: its index, else the beginning of its id.
[[nodiscard]] std::string device_word(const HistoryFacts& facts, const DeviceId& id,
                                      const Style& style);
/// A table whose columns are as wide as they need to be; those of `right` stand to the right. The
/// last column takes what is left and is cut.
[[nodiscard]] std::string plain_table(const std::vector<std::vector<std::string>>& rows,
                                      const std::vector<bool>& right, const Style& style);
/// "SIMULATED (lab-4)" on a line of its own, where it is.
[[nodiscard]] std::string simulated_line(const HistoryFacts& facts, const Style& style);

}  // namespace berth
