#pragma once
// The words of a request, as typed and in a ticket's JSON, and what each needed feature asks of the
// chip. Internal to src/place.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "place/request.h"

namespace berth {

/// `listed` has no word of its own: it is the list.
constexpr std::array<std::pair<Preference, std::string_view>, 3> preference_words = {{
    {Preference::best_fit, "best-fit"},
    {Preference::most_free, "most-free"},
    {Preference::spread, "spread"},
}};

struct NeedFacts {
  Need need;
  std::string_view word;
  ComputeCapability since;  // the first with the feature in hardware
};

// CUDA C++ Programming Guide, table "Feature Support per Compute Capability" and the tensor cores'
// data types: bfloat16 since 8.0 (Ampere), 8-bit floats since 8.9 (Ada).
constexpr std::array<NeedFacts, 2> need_facts = {{
    {Need::bf16, "bf16", {8, 0}},
    {Need::fp8, "fp8", {8, 9}},
}};

[[nodiscard]] inline const NeedFacts& facts_of(Need need) {
  for (const NeedFacts& facts : need_facts) {
    if (facts.need == need) return facts;
  }
  BERTH_CHECK(false, "every need has a row in the table");
}

/// Says which character is wrong and how the text was meant; nothing where it is all right.
[[nodiscard]] std::optional<std::string> typographic_complaint(std::string_view text);

}  // namespace berth
