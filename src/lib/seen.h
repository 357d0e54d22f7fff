#pragma once
// Seen: a snapshot's JSON as it came and as it was read, which looks share.

#include <nlohmann/json.hpp>
#include <string>

namespace berth::lib {

using Json = nlohmann::json;

struct Seen {
  Json snapshot;  // with the words of each command joined, too ("joined_command")
  std::string text;
};

/// Of JSON that has been parsed.
[[nodiscard]] Seen make_seen(Json snapshot, std::string text);

}  // namespace berth::lib
