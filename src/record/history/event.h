#pragma once
// HistoryEvent: something that happened at one moment: a health finding, an XID. Its finder says
// what it is; the history only keeps it.

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"

namespace berth {

struct HistoryEvent {
  WallTime at;
  std::string kind;  // "health", "xid", "alert", …
  DeviceId device;   // empty: the whole machine
  std::string code;  // a word for programs: "row_remap_failed", "79"
  std::string text;  // in English, for people
  /// Whose process it names; nothing: nobody's.
  std::optional<std::int64_t> uid;
  friend bool operator==(const HistoryEvent&, const HistoryEvent&) = default;
};

}  // namespace berth
