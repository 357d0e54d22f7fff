#include "probe/amdgpu/parse.h"

#include <fmt/format.h>

#include "base/text.h"

namespace berth::amdgpu {

Properties parse_properties(std::string_view text) {
  Properties properties;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    if (const auto value = parse_unsigned(trimmed(line.substr(blank)))) {
      properties.emplace(line.substr(0, blank), *value);
    }
  }
  return properties;
}

std::uint64_t value_of(const Properties& properties, std::string_view key) {
  const auto found = properties.find(key);
  return found == properties.end() ? 0 : found->second;
}

NodePlace place_of(const Properties& node) {
  const std::uint64_t location = value_of(node, "location_id");
  return {.card = fmt::format("{:08x}:{:02x}:{:02x}.0", value_of(node, "domain") & 0xffff'ffffU,
                              location >> 8U & 0xffU, location >> 3U & 0x1fU),
          .function = static_cast<std::uint32_t>(location & 7U)};
}

std::optional<ErrorCounts> parse_error_counts(std::string_view text) {
  ErrorCounts counts;
  bool any = false;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto count = parse_unsigned(trimmed(line.substr(colon + 1)));
    const std::string_view key = trimmed(line.substr(0, colon));
    if (!count || (key != "ue" && key != "ce")) continue;
    (key == "ue" ? counts.uncorrected : counts.corrected) = *count;
    any = true;
  }
  return any ? std::optional(counts) : std::nullopt;
}

BadPages parse_bad_pages(std::string_view text) {
  BadPages pages;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() != 3) continue;
    const std::string_view flag = trimmed(parts[2]);
    if (flag == "R") ++pages.retired;
    if (flag == "P" || flag == "F") ++pages.pending;
  }
  return pages;
}

std::optional<Megahertz> highest_level(std::string_view text) {
  constexpr std::uint64_t impossible = 100'000;
  std::optional<std::uint64_t> highest;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view level = trimmed(line.substr(colon + 1));
    const std::size_t unit = level.find_first_not_of("0123456789");
    const auto clock = parse_unsigned(level.substr(0, unit));
    const bool is_clock = unit != std::string_view::npos && level.substr(unit).starts_with("Mhz");
    if (!clock || !is_clock || *clock == 0 || *clock > impossible) continue;
    if (!highest || *clock > *highest) highest = clock;
  }
  return highest ? std::optional(Megahertz{*highest}) : std::nullopt;
}

std::string chip_name(std::uint64_t gfx_target_version) {
  constexpr std::uint64_t per_major = 10'000;
  constexpr std::uint64_t per_minor = 100;
  if (gfx_target_version < per_major) return {};
  return fmt::format("gfx{}{:x}{:x}", gfx_target_version / per_major,
                     gfx_target_version / per_minor % per_minor, gfx_target_version % per_minor);
}

}  // namespace berth::amdgpu
