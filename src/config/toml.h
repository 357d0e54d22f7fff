#pragma once
// toml++, and a text parsed by it. Only few .cc include this: its headers take long to compile.

#include <optional>
#include <span>
#include <string>
#include <string_view>

// toml++ 3.3 asserts of a key's first character what it checks right after. With asserts off it
// tells the compiler to assume it instead. Neither is wanted of a text that may be anything.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(expr) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "base/result.h"
#include "base/sentence.h"

namespace berth {

/// invalid: says the line.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text);

/// As one would type it: "10G", "2", "true", "0,2"; nothing: it is no such value.
[[nodiscard]] std::optional<std::string> text_of(const toml::node& node);

/// The known word that this one was probably meant to be; empty: none is near.
[[nodiscard]] std::string nearest_word(std::string_view unknown,
                                       std::span<const std::string_view> known);

/// That `place` says a key which is none of the known ones, and which may be meant. Else `lists`, a
/// command, has them all.
[[nodiscard]] Sentence no_such_key(std::string_view place, std::string_view key,
                                   std::span<const std::string_view> known, std::string_view lists);

}  // namespace berth
