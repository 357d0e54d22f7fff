#include "probe/procfs/parse.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace berth::procfs {

std::optional<Stat> parse_stat(std::string_view text) {
  // The command in parentheses may hold parentheses, spaces and line breaks: fields count from the
  // last ')'.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  constexpr std::size_t first = 3;            // the state
  std::array<std::string_view, 22> fields{};  // up to the resident pages; a line has over 50
  std::string_view rest = trimmed(text.substr(close + 1));
  for (std::string_view& field : fields) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    field = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto field = [&](std::size_t number) { return parse_unsigned(fields[number - first]); };
  if (fields[0].size() != 1) return std::nullopt;
  const auto parent = field(4);
  const auto user = field(14);
  const auto system = field(15);
  const auto start = field(22);
  const auto resident = field(24);
  if (!parent || !user || !system || !start || !resident) return std::nullopt;
  if (!std::in_range<pid_t>(*parent)) return std::nullopt;
  return Stat{.comm = std::string(text.substr(open + 1, close - open - 1)),
              .state = fields[0][0],
              .parent = static_cast<pid_t>(*parent),
              .user_ticks = *user,
              .system_ticks = *system,
              .start_ticks = *start,
              .resident_pages = *resident};
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
  // "Name:" comes first and its value has line breaks escaped by the kernel.
  constexpr std::string_view key = "\nUid:\t";
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + key.size());
  const auto uid = parse_unsigned(rest.substr(0, rest.find_first_of("\t\n")));
  if (!uid || !std::in_range<uid_t>(*uid)) return std::nullopt;
  return static_cast<uid_t>(*uid);
}

std::optional<std::uint64_t> device_minor(std::string_view target) {
  constexpr std::string_view beginning = "/dev/nvidia";
  if (!target.starts_with(beginning)) return std::nullopt;
  return parse_unsigned(target.substr(beginning.size()));  // "/dev/nvidiactl" has no number
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

namespace {

/// The fields of a user's line in /etc/passwd; empty: none.
std::vector<std::string_view> passwd_line(std::string_view text, uid_t uid) {
  for (const std::string_view line : split(text, '\n')) {
    auto fields = split(line, ':');
    if (fields.size() < 4 || fields[0].empty()) continue;
    if (parse_unsigned(fields[2]) == uid) return fields;
  }
  return {};
}

}  // namespace

std::optional<std::string> user_in_passwd(std::string_view text, uid_t uid) {
  const auto fields = passwd_line(text, uid);
  if (fields.empty()) return std::nullopt;
  return std::string(fields[0]);
}

std::optional<std::string> home_in_passwd(std::string_view text, uid_t uid) {
  const auto fields = passwd_line(text, uid);
  if (fields.size() < 6 || !fields[5].starts_with('/')) return std::nullopt;
  return std::string(fields[5]);
}

}  // namespace berth::procfs
