#pragma once
// JSON of any type that has a walk() (base/archive.h). An absent reading is null, and "why", the
// last key of its object, says the reason.

#include <functional>
#include <string>
#include <string_view>

#include "base/archive.h"
#include "base/result.h"

namespace berth {

/// One line without a final newline where `compact` or `terse` (a whole number has no ".0" there),
/// else indented for people, by so many spaces.
/// Text that is not UTF-8 has its bad bytes replaced by U+FFFD.
enum class JsonLayout { compact = 0, narrow = 1, indented = 2, terse };

[[nodiscard]] std::string write_json(JsonLayout layout, const std::function<void(Archive&)>& walk);

/// What the message begins with where the text is no JSON at all; the parser's words follow.
inline constexpr std::string_view no_json = "not valid JSON: ";

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
