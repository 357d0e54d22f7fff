#include "serve/run_place.h"

#include <limits>

#include "base/text.h"

namespace berth::serve {

std::string to_text(const RunPlace& place) {
  return place.name + "@" + std::to_string(place.whose);
}

RunPlace run_place_in(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const auto uid =
      at == std::string_view::npos ? std::nullopt : parse_unsigned(text.substr(at + 1));
  if (!uid || *uid > std::numeric_limits<uid_t>::max()) return {.name = std::string(text)};
  return {.name = std::string(text.substr(0, at)), .whose = static_cast<uid_t>(*uid)};
}

}  // namespace berth::serve
