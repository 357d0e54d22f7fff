#include "snapshot/kernel_messages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"

namespace berth {

namespace {

/// Takes "key=" and its value off the front of a list with ", " between.
std::optional<std::string_view> take_value(std::string_view& rest, std::string_view key) {
  if (!rest.starts_with(key)) return std::nullopt;
  rest.remove_prefix(key.size());
  const std::size_t end = std::min(rest.find(", "), rest.size());
  const std::string_view value = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 2, rest.size()));
  return value;
}

}  // namespace

std::optional<XidEvent> parse_xid(std::string_view text) {
  constexpr std::string_view beginning = "NVRM: Xid (";
  const std::size_t at = text.find(beginning);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + beginning.size());
  const std::size_t close = text.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view place = text.substr(0, close);
  if (place.starts_with("PCI:")) place.remove_prefix(4);
  const auto address = normal_pci_address(std::string(place) + ".0");
  std::string_view rest = text.substr(close + 3);
  const std::size_t comma = std::min(rest.find(", "), rest.size());
  const auto code = parse_unsigned(rest.substr(0, comma));
  if (!address || !code) return std::nullopt;
  rest.remove_prefix(std::min(comma + 2, rest.size()));
  XidEvent event{.pci_address = *address,
                 .code = *code,
                 .pid = Absent::unsupported,
                 .process = Absent::unsupported};
  if (const auto pid = take_value(rest, "pid=")) {
    const auto number = parse_unsigned(*pid);
    if (number) event.pid = *number;
  }
  if (const auto name = take_value(rest, "name=")) {
    if (*name != "<unknown>") event.process = std::string(*name);
  }
  event.text = std::string(trimmed(rest));
  return event;
}

std::optional<OomKill> parse_oom_kill(std::string_view text) {
  constexpr std::string_view words = "ut of memory: Kill";
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  OomKill kill;
  kill.of_group = text.substr(0, at).find("Memory cgroup") != std::string_view::npos;
  text.remove_prefix(at + words.size());
  if (text.starts_with("ed")) text.remove_prefix(2);
  constexpr std::string_view process = " process ";
  const std::size_t open = text.find(" (");
  const std::size_t close = text.find(')');
  if (!text.starts_with(process) || open == std::string_view::npos ||
      close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const auto pid = parse_unsigned(text.substr(process.size(), open - process.size()));
  if (!pid || *pid == 0 || !std::in_range<pid_t>(*pid)) return std::nullopt;
  kill.pid = static_cast<pid_t>(*pid);
  kill.process = std::string(text.substr(open + 2, close - open - 2));
  constexpr std::string_view resident = "anon-rss:";
  const std::size_t place = text.find(resident);
  if (place == std::string_view::npos) return kill;
  const std::string_view number = text.substr(place + resident.size());
  const auto kib = parse_unsigned(number.substr(0, std::min(number.find("kB"), number.size())));
  if (kib && *kib < (std::uint64_t{1} << 50)) kill.resident = Bytes(*kib << 10);
  return kill;
}

std::optional<DriverLoad> parse_driver_load(std::string_view text) {
  constexpr std::string_view beginning = "NVRM: loading NVIDIA ";
  if (!text.starts_with(beginning)) return std::nullopt;
  // The version is the first word of digits and points alone: "x86_64" is none.
  for (const std::string_view word : split(text.substr(beginning.size()), ' ')) {
    const bool is_version = !word.empty() && word.front() >= '1' && word.front() <= '9' &&
                            word.contains('.') &&
                            word.find_first_not_of("0123456789.") == word.npos;
    if (is_version) return DriverLoad{.version = std::string(word)};
  }
  return std::nullopt;
}

void number_by_date(Reading<std::vector<XidEvent>>& events) {
  if (!events.get()) return;
  std::vector<XidEvent> ordered = *events.get();
  std::ranges::stable_sort(ordered, {}, [](const XidEvent& event) { return event.at.unix_ms; });
  std::uint64_t last = 0;
  for (XidEvent& event : ordered) {
    const auto date = static_cast<std::uint64_t>(std::max<std::int64_t>(event.at.unix_ms, 0));
    last = event.number = std::max(date, last + 1);
  }
  events = std::move(ordered);
}

}  // namespace berth
