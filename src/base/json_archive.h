#pragma once
// JSON of any type that has a walk() (base/archive.h). An absent reading is null, and "why", the
// last key of its object, says the reason.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/archive.h"
#include "base/result.h"

namespace berth {

/// `compact` and `terse` are one line without a final newline; in `terse` a whole number has no
/// ".0". The others are indented for people, by so many spaces.
/// Text that is not UTF-8 has its bad bytes replaced by U+FFFD.
enum class JsonLayout { compact = 0, narrow = 1, indented = 2, terse };

[[nodiscard]] std::string write_json(JsonLayout layout, const std::function<void(Archive&)>& walk);

/// Where a text is no JSON.
struct JsonFault {
  std::optional<std::size_t> byte;  // counted from 1, beyond the last where it breaks off; nothing:
                                    // of a number that no computer holds
};
/// Nothing: it is JSON, or nested too deeply to be looked at.
[[nodiscard]] std::optional<JsonFault> json_fault_in(std::string_view text);

/// What a value of the wrong type is, and an item beyond the last that a list may have: `refused` a
/// mistake. `absent` not there, where there may be none; a reading has failed.
enum class WrongValues { refused, absent };

/// Reads the object that `walk` knows. Keys that it does not ask for are ignored: a newer minor
/// version adds keys.
/// invalid: not JSON, nested too deeply, or the first mistake. io: memory ran out.
[[nodiscard]] Result<void> read_json(std::string_view text,
                                     const std::function<void(Archive&)>& walk,
                                     WrongValues wrong = WrongValues::refused);

}  // namespace berth
