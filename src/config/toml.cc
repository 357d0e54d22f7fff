#include "config/toml.h"

#include <fmt/format.h>

namespace berth {

Result<toml::table> parse_toml(std::string_view text) {
  // The parser goes as deep as the text does.
  constexpr std::size_t longest = 1 << 20;
  if (text.size() > longest) return fail(ErrorCode::invalid, "larger than 1 MiB");
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  return fail(ErrorCode::invalid, fmt::format("line {}: {}", parsed.error().source().begin.line,
                                              parsed.error().description()));
}

}  // namespace berth
