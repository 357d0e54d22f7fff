// Secrets that stand below their name, as YAML writes long values and lists.

#include <algorithm>
#include <cctype>

#include "base/secret_values.h"
#include "base/text.h"

namespace berth {

namespace {

bool is_of_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-.\"'").find(c) != std::string_view::npos;
}

/// "user: x", "user:"
bool is_entry(std::string_view line) {
  const std::size_t colon = line.find(':');
  return colon != line.npos && std::ranges::all_of(line.substr(0, colon), is_of_a_name) &&
         (colon + 1 == line.size() || line[colon + 1] == ' ');
}

}  // namespace

std::optional<TextSpan> SecretBelow::found_in(std::string_view line) {
  std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == line.npos) return std::nullopt;
  const bool is_item = line.substr(begin).starts_with("- ");
  if (column_ && (begin > *column_ || (begin == *column_ && is_item && !is_block_))) {
    if (is_item && !is_block_) begin = std::min(line.find_first_not_of(' ', begin + 1), begin + 2);
    if (is_block_ || !is_entry(trimmed(line.substr(begin)))) return TextSpan{begin, line.size()};
  }
  look_for_name(line);
  return std::nullopt;
}

void SecretBelow::look_for_name(std::string_view line) {
  column_.reset();
  std::size_t begin = line.find_first_not_of(" \t");
  while (line.substr(begin).starts_with("- ")) begin += 2;
  const std::string_view entry = trimmed(line.substr(begin));
  const std::size_t colon = entry.find(':');
  if (colon == entry.npos || !is_entry(entry)) return;
  // "password: >-": a block, whatever its lines look like.
  const std::string_view sign = trimmed(entry.substr(colon + 1));
  is_block_ = sign.starts_with('>') || sign.starts_with('|');
  if (!sign.empty() && (!is_block_ || sign.find_first_not_of("+-0123456789", 1) != sign.npos)) {
    return;
  }
  std::string_view name = entry.substr(0, colon);
  while (!name.empty() && (name.front() == '"' || name.front() == '\'')) name.remove_prefix(1);
  while (!name.empty() && (name.back() == '"' || name.back() == '\'')) name.remove_suffix(1);
  if (name_tells(name) != NameTells::nothing) column_ = begin;
}

std::vector<TextSpan> secrets_below(std::string_view text) {
  std::vector<TextSpan> found;
  SecretBelow below;
  std::size_t begin = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto span = below.found_in(line)) {
      found.push_back({begin + span->begin, begin + span->end});
    }
    begin += line.size() + 1;
  }
  return found;
}

}  // namespace berth
