#pragma once
// toml++, and a text parsed by it. Only few .cc include this: its headers take long to compile.

#include <string_view>

// toml++ 3.3 asserts of a key's first character what it checks right after; where asserts are off
// it tells the compiler to assume it instead. Neither is wanted of a text that may be anything.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(expr) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "base/result.h"

namespace berth {

/// invalid: says the line.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text);

}  // namespace berth
