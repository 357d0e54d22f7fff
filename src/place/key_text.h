#pragma once
// How members of a job are read from text and typed again: what the rows of request_keys.cc and
// job_keys.cc have in common. Internal to src/place.

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "place/job_spec.h"

namespace berth {

/// The members that a Request has: the first rows of job_keys(), and those of a ticket.
[[nodiscard]] std::span<const JobKey> request_keys();

/// invalid, with a hint where the text has a character that only looks like ASCII.
[[nodiscard]] std::unexpected<Error> refused(std::string message, std::string_view text);

/// Keeps in a member what a parser makes of the text.
template <class Value, class Member>
Result<void> keep(Result<Value> parsed, Member& member) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  member = std::move(*parsed);
  return {};
}

[[nodiscard]] Result<void> parse_switch(std::string_view text, bool& member);
[[nodiscard]] std::string typed_switch(bool on);

[[nodiscard]] std::string typed_duration(std::chrono::milliseconds duration);
/// Empty where it is as it is by itself.
[[nodiscard]] std::string typed_duration(std::chrono::milliseconds duration,
                                         std::chrono::milliseconds by_itself);

}  // namespace berth
