#pragma once
// Where a run lies: what tells two people's runs of one name apart, and where a list of runs goes
// on.

#include <sys/types.h>

#include <compare>
#include <string>
#include <string_view>

namespace berth::serve {

struct RunPlace {
  std::string name;  // its folder's, which begins with the date: the order is that of time
  uid_t whose = 0;   // whose state directory it lies in; the order within one name
  friend auto operator<=>(const RunPlace&, const RunPlace&) = default;
};

/// "20251121-014946-k3f9q2@1001"
[[nodiscard]] std::string to_text(const RunPlace& place);
/// A name without a uid, which is how the API spelt it before, comes before everybody's run of that
/// name: from there a list goes on with what is older.
[[nodiscard]] RunPlace run_place_in(std::string_view text);

}  // namespace berth::serve
