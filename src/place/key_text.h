#pragma once
// How members of a job are read from text and typed again. The rows of request_keys.cc and
// job_keys.cc share it. Internal to src/place.

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "place/job_spec.h"
#include "place/request.h"

namespace berth {

/// The members that a Request has: the first rows of job_keys(), and those of a ticket.
[[nodiscard]] std::span<const JobKey> request_keys();

/// invalid, with a hint where the text has a character that only looks like ASCII.
[[nodiscard]] std::unexpected<Error> refused(const Sentence& message, std::string_view text);

/// Keeps in a member what a parser makes of the text.
template <class Value, class Member>
Result<void> keep(Result<Value> parsed, Member& member) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  member = std::move(*parsed);
  return {};
}

[[nodiscard]] Result<void> parse_switch(std::string_view text, bool& member);
[[nodiscard]] std::string typed_switch(bool on);

/// "10G", "512M", "1000": with the largest unit that divides it.
[[nodiscard]] std::string typed_size(Bytes size);
[[nodiscard]] std::string typed_duration(std::chrono::milliseconds duration);
/// Empty where it is as it is by itself.
[[nodiscard]] std::string typed_duration(std::chrono::milliseconds duration,
                                         std::chrono::milliseconds by_itself);

// The words of a request, as typed and in a ticket's JSON. What each needed feature asks of the
// chip. Internal to src/place.

/// `listed` has no word of its own: it is the list.
constexpr std::array<std::pair<Preference, std::string_view>, 3> preference_words = {{
    {Preference::best_fit, "best-fit"},
    {Preference::most_free, "most-free"},
    {Preference::spread, "spread"},
}};

constexpr std::array<std::pair<Together, std::string_view>, 3> together_words = {{
    {Together::any, "any"},
    {Together::pcie, "pcie"},
    {Together::nvlink, "nvlink"},
}};

struct NeedFacts {
  Need need;
  std::string_view word;
  ComputeCapability since;  // the first with the feature in hardware
  /// Chips of AMD's with it (Device::architecture), by the beginning of their names.
  std::span<const std::string_view> chips;
};

// Source: rocWMMA's table of data types and AMD's ISA documents. bfloat16 by matrix cores since
// CDNA and by WMMA since RDNA 3. 8-bit floats on CDNA 3, CDNA 4 and RDNA 4.
constexpr std::array<std::string_view, 6> bf16_chips = {"gfx908", "gfx90a", "gfx94",
                                                        "gfx95",  "gfx11",  "gfx12"};
constexpr std::array<std::string_view, 3> fp8_chips = {"gfx94", "gfx95", "gfx12"};

// CUDA C++ Programming Guide, table "Feature Support per Compute Capability" and the tensor cores'
// data types: bfloat16 since 8.0 (Ampere), 8-bit floats since 8.9 (Ada).
constexpr std::array<NeedFacts, 2> need_facts = {{
    {Need::bf16, "bf16", {8, 0}, bf16_chips},
    {Need::fp8, "fp8", {8, 9}, fp8_chips},
}};

[[nodiscard]] inline const NeedFacts& facts_of(Need need) {
  for (const NeedFacts& facts : need_facts) {
    if (facts.need == need) return facts;
  }
  BERTH_CHECK(false, "every need has a row in the table");
}

/// Says which character is wrong and how the text was meant; nothing where it is all right.
[[nodiscard]] std::optional<Sentence> typographic_complaint(std::string_view text);

}  // namespace berth
