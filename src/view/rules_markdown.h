#pragma once
// The tables of doc/EXPLAIN.md, made of the rules' own rows.

#include <string>

namespace berth {

/// Each table between lines that name it, as doc/EXPLAIN.md has them; in English whatever the
/// language.
[[nodiscard]] std::string rules_markdown();

}  // namespace berth
