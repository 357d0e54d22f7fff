#include "probe/procfs/parse.h"

#include <utility>

#include "base/text.h"

namespace berth::procfs {

Absent why_absent(const Error& error) {
  return error.code() == ErrorCode::no_permission ? Absent::no_permission : Absent::failed;
}

std::vector<std::string> parse_cmdline(std::string_view text) {
  while (text.ends_with('\0')) text.remove_suffix(1);
  if (text.empty()) return {};
  const bool rewritten = text.find('\0') == std::string_view::npos;
  std::vector<std::string> words;
  for (const std::string_view word : split(text, rewritten ? ' ' : '\0')) words.emplace_back(word);
  return words;
}

std::optional<uid_t> parse_status_uid(std::string_view text) {
  // A name's line breaks are escaped by the kernel: no other line begins so.
  const auto uid = number_in_lines(text, "Uid");
  if (!uid || !std::in_range<uid_t>(*uid)) return std::nullopt;
  return static_cast<uid_t>(*uid);
}

std::optional<std::uint64_t> parse_context_switches(std::string_view text) {
  std::uint64_t sum = 0;
  for (const std::string_view key : {"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"}) {
    const auto count = number_in_lines(text, key);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

std::optional<std::int64_t> parse_boot_time(std::string_view text) {
  constexpr std::string_view key = "btime ";
  const std::size_t at = text.starts_with(key) ? 0 : text.find("\nbtime ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + key.size() + (at == 0 ? 0 : 1));
  const auto seconds = parse_signed(rest.substr(0, rest.find('\n')));
  constexpr std::int64_t year_10000 = 253'402'300'800;
  if (!seconds || *seconds < 0 || *seconds > year_10000) return std::nullopt;
  return seconds;
}

}  // namespace berth::procfs
