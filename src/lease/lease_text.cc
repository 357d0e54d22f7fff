#include "lease/lease_text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>

#include "base/text.h"

namespace berth {

namespace {

constexpr std::string_view lease_magic = "berth-lease";
constexpr std::string_view ticket_magic = "berth-ticket";
constexpr std::size_t most_devices = 512;
constexpr std::size_t longest_container = 64;
constexpr std::string_view planned_magic = "berth-planned";
constexpr std::string_view limit_magic = "berth-limit";
constexpr std::size_t most_words = 256;

/// "HOME=/home/ana": of the names that a start is given, and no other.
bool is_home(std::string_view variable) {
  constexpr std::array<std::string_view, 3> names = {"HOME=/", "XDG_STATE_HOME=/",
                                                     "XDG_CONFIG_HOME=/"};
  return std::ranges::any_of(names,
                             [&](std::string_view one) { return variable.starts_with(one); });
}

/// One line per value: control characters and '%' as %XX.
std::string escaped(std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && c != '%') {
      text += c;
    } else {
      text += '%';
      text += digits[byte >> 4U];
      text += digits[byte & 15U];
    }
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (high && low) {
        value += static_cast<char>(*high << 4U | *low);
        i += 2;
        continue;
      }
    }
    value += text[i];
  }
  return value;
}

std::string as_text(const std::vector<DeviceId>& devices) {
  const auto is_plain = [](const DeviceId& device) { return is_plain_id(device.text()); };
  return joined(devices | std::views::filter(is_plain), ",", &DeviceId::text);
}

std::string as_text(ProcessId process) {
  return std::to_string(process.pid) + " " + std::to_string(process.start_ticks);
}

std::optional<ProcessId> parse_process(std::string_view text) {
  const auto parts = split(text, ' ');
  if (parts.size() != 2) return std::nullopt;
  const auto pid = parse_unsigned(parts[0]);
  const auto ticks = parse_unsigned(parts[1]);
  if (!pid || !ticks || *pid == 0 || *pid > std::numeric_limits<pid_t>::max()) return std::nullopt;
  return ProcessId{.pid = static_cast<pid_t>(*pid), .start_ticks = *ticks};
}

template <class T>
bool read_number(std::string_view text, T& number) {
  const auto value = parse_unsigned(text);
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
  number = static_cast<T>(*value);
  return true;
}

std::string time_line(std::optional<std::chrono::milliseconds> limit) {
  return limit ? "time_ms=" + std::to_string(limit->count()) + "\n" : std::string();
}

/// Nothing also where it is longer than a century: no clock of ours is to overflow.
std::optional<std::chrono::milliseconds> parse_time(std::string_view text) {
  constexpr std::int64_t longest_ms = 3'155'760'000'000;
  std::int64_t number = 0;
  if (!read_number(text, number) || number > longest_ms) return std::nullopt;
  return std::chrono::milliseconds(number);
}

std::optional<std::int64_t> parse_steady(std::string_view text) {
  std::int64_t number = 0;
  return read_number(text, number) ? std::optional(number) : std::nullopt;
}

/// Calls `line(key, value)` for each whole "key=value" line after line 1. A last line without its
/// end was being written when its writer died.
template <class Line>
void for_each_field(std::string_view text, Line line) {
  std::size_t start = text.find('\n');
  while (start != std::string_view::npos) {
    const std::size_t end = text.find('\n', start + 1);
    if (end == std::string_view::npos) return;
    const std::string_view field = text.substr(start + 1, end - start - 1);
    const std::size_t equals = field.find('=');
    if (equals != std::string_view::npos) line(field.substr(0, equals), field.substr(equals + 1));
    start = end;
  }
}

Result<std::vector<std::string_view>> first_line(std::string_view text, std::string_view magic,
                                                 std::size_t fields) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return fail(ErrorCode::invalid, "line 1 has no end");
  auto parts = split(text.substr(0, end), ' ');
  if (parts[0] != magic) {
    return fail(ErrorCode::invalid, "line 1 does not begin with {}", magic);
  }
  if (parts.size() < fields) return fail(ErrorCode::invalid, "line 1 is too short");
  return parts;
}

Result<std::vector<ClaimedDevice>> parse_devices(std::string_view bytes, std::string_view exclusive,
                                                 std::string_view names) {
  const auto devices = split(names, ',');
  const auto promises = split(bytes, ',');
  if (devices.size() > most_devices) return fail(ErrorCode::invalid, "line 1: too many devices");
  if (exclusive != "0" && exclusive != "1") {
    return fail(ErrorCode::invalid, "line 1: exclusive is neither 0 nor 1");
  }
  std::vector<ClaimedDevice> claimed;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!is_plain_id(devices[i])) return fail(ErrorCode::invalid, "line 1: not a device name");
    ClaimedDevice device{.device = DeviceId(std::string(devices[i]))};
    if (exclusive == "0") {
      const auto promised = i < promises.size() ? parse_unsigned(promises[i]) : std::nullopt;
      if (!promised) return fail(ErrorCode::invalid, "line 1: no bytes for a shared device");
      // No card has more, and sums of what somebody else wrote must not come round to nothing.
      device.promised = Bytes(std::min(*promised, std::uint64_t{1} << 50));
    }
    claimed.push_back(std::move(device));
  }
  return claimed;
}

}  // namespace

Result<std::string> write_lease(const LeaseText& lease) {
  if (lease.devices.empty() || lease.devices.size() > most_devices) {
    return fail(ErrorCode::invalid, "a lease is for 1 to 512 devices");
  }
  const bool exclusive = !lease.devices.front().promised;
  std::string bytes;
  std::string names;
  for (const ClaimedDevice& device : lease.devices) {
    if (!is_plain_id(device.device.text())) {
      return fail(ErrorCode::invalid, "\"{}\" cannot be written down as a device's name",
                  device.device.text());
    }
    if (exclusive != !device.promised) {
      return fail(ErrorCode::invalid, "a lease has its devices whole or shares all of them");
    }
    if (!names.empty()) {
      bytes += ',';
      names += ',';
    }
    bytes += std::to_string(device.promised.value_or(Bytes{0}).count());
    names += device.device.text();
  }
  std::string text(lease_magic);
  text += " " + std::to_string(lease.format) + " " + std::to_string(lease.uid) + " " + bytes +
          (exclusive ? " 1 " : " 0 ") + names + "\n";
  if (lease.steady_ms) text += "steady_ms=" + std::to_string(*lease.steady_ms) + "\n";
  text += time_line(lease.time_limit);
  text += "run=" + escaped(lease.run) + "\ncommand=" + escaped(lease.command) + "\n";
  if (lease.held_by) text += "held_by=" + std::string(word_of(*lease.held_by)) + "\n";
  if (!lease.isolated_by.empty()) text += "isolated_by=" + lease.isolated_by + "\n";
  if (lease.keeper) text += write_description(*lease.keeper, lease.job, {}, lease.container);
  return text;
}

std::string write_description(ProcessId keeper, std::optional<ProcessId> job,
                              std::optional<CapTier> held_by, std::string_view container) {
  std::string text = "keeper=" + as_text(keeper) + "\n";
  if (job) text += "job=" + as_text(*job) + "\n";
  // The tier may have turned out not to hold since the claim: the last line counts.
  if (held_by) text += "held_by=" + std::string(word_of(*held_by)) + "\n";
  if (!container.empty()) text += "container=" + escaped(container) + "\n";
  return text;
}

Result<LeaseText> parse_lease(std::string_view text) {
  const auto line = first_line(text, lease_magic, 6);
  if (!line) return std::unexpected(line.error());
  LeaseText lease;
  if (!read_number((*line)[1], lease.format) || lease.format == 0 ||
      !read_number((*line)[2], lease.uid)) {
    return fail(ErrorCode::invalid, "line 1: no format or no user id");
  }
  auto devices = parse_devices((*line)[3], (*line)[4], (*line)[5]);
  if (!devices) return std::unexpected(std::move(devices).error());
  lease.devices = *std::move(devices);
  if (lease.format > ledger_format) return lease;
  for_each_field(text, [&lease](std::string_view key, std::string_view value) {
    if (key == "steady_ms") lease.steady_ms = parse_steady(value);
    if (key == "time_ms") lease.time_limit = parse_time(value);
    if (key == "run") lease.run = unescaped(value);
    if (key == "command") lease.command = unescaped(value);
    if (key == "held_by") lease.held_by = cap_tier_in(value);
    const bool is_known = value == "landlock" || value == "systemd";
    if (key == "isolated_by" && is_known) lease.isolated_by = value;
    if (key == "keeper") lease.keeper = parse_process(value);
    if (key == "job") lease.job = parse_process(value);
    if (key == "container" && value.size() <= longest_container) lease.container = value;
  });
  return lease;
}

std::string write_time_limit(std::chrono::milliseconds limit) { return time_line(limit); }

std::string write_ticket(const TicketText& ticket) {
  std::string text(ticket_magic);
  text += " " + std::to_string(ticket.format) + " " + std::to_string(ticket.uid) + " " +
          std::to_string(ticket.order) + " " + std::to_string(ticket.not_before_ns) + "\n";
  if (ticket.steady_ms) text += "steady_ms=" + std::to_string(*ticket.steady_ms) + "\n";
  text += time_line(ticket.time_limit);
  text += "process=" + as_text(ticket.process) + "\n";
  text += "run=" + escaped(ticket.run) + "\n";
  text += "command=" + escaped(ticket.command) + "\n";
  text += "wants=" + escaped(ticket.wants) + "\n";
  text += "request=" + escaped(ticket.request) + "\n";
  text += "devices=" + as_text(ticket.devices) + "\n";
  return text;
}

Result<TicketText> parse_ticket(std::string_view text) {
  const auto line = first_line(text, ticket_magic, 5);
  if (!line) return std::unexpected(line.error());
  TicketText ticket;
  if (!read_number((*line)[1], ticket.format) || ticket.format == 0 ||
      !read_number((*line)[2], ticket.uid) || !read_number((*line)[3], ticket.order) ||
      !read_number((*line)[4], ticket.not_before_ns)) {
    return fail(ErrorCode::invalid, "line 1: no format, user id or place in the queue");
  }
  if (ticket.format > ledger_format) return ticket;
  for_each_field(text, [&ticket](std::string_view key, std::string_view value) {
    if (key == "steady_ms") ticket.steady_ms = parse_steady(value);
    if (key == "time_ms") ticket.time_limit = parse_time(value);
    if (key == "process") ticket.process = parse_process(value).value_or(ProcessId{});
    if (key == "run") ticket.run = unescaped(value);
    if (key == "command") ticket.command = unescaped(value);
    if (key == "wants") ticket.wants = unescaped(value);
    if (key == "request") ticket.request = unescaped(value);
    if (key != "devices" || value.empty()) return;
    for (const std::string_view name : split(value, ',')) {
      if (ticket.devices.size() < most_devices) ticket.devices.emplace_back(std::string(name));
    }
  });
  return ticket;
}

std::string write_planned(const PlannedText& planned) {
  std::string text(planned_magic);
  text += " " + std::to_string(ledger_format) + " " + std::to_string(planned.at.unix_ms) + " " +
          std::to_string(planned.lasts.count()) + "\n";
  for (const std::string& word : planned.words) text += "word=" + escaped(word) + "\n";
  for (const std::string& home : planned.homes) text += "home=" + escaped(home) + "\n";
  if (planned.begun) text += "begun=1\n";
  if (!planned.failed.empty()) text += "failed=" + escaped(planned.failed) + "\n";
  return text;
}

Result<PlannedText> parse_planned(std::string_view text) {
  const auto line = first_line(text, planned_magic, 4);
  if (!line) return std::unexpected(line.error());
  unsigned format = 0;
  PlannedText planned;
  const auto lasts = parse_time((*line)[3]);
  if (!read_number((*line)[1], format) || format != ledger_format ||
      !read_number((*line)[2], planned.at.unix_ms) || !lasts || lasts->count() == 0) {
    return fail(ErrorCode::invalid, "line 1: not this format, or no time");
  }
  constexpr std::int64_t furthest_ms = 9'000'000'000'000;
  if (planned.at.unix_ms > furthest_ms) return fail(ErrorCode::invalid, "line 1: no such time");
  planned.lasts = *lasts;
  for_each_field(text, [&planned](std::string_view key, std::string_view value) {
    if (key == "word" && planned.words.size() < most_words) {
      planned.words.push_back(unescaped(value));
    }
    const std::string plain = unescaped(value);
    if (key == "home" && planned.homes.size() < 3 && is_home(plain)) planned.homes.push_back(plain);
    if (key == "begun") planned.begun = true;
    if (key == "failed") planned.failed = plain;
  });
  return planned;
}

std::string write_limit(const LimitText& limit) {
  std::string text(limit_magic);
  text += " " + std::to_string(ledger_format) + " " + as_text(limit.process) + "\n";
  for (const auto& [uuid, bytes] : limit.limits) {
    text += "limit=" + std::to_string(bytes.count()) + " " + uuid + "\n";
  }
  if (!limit.instead_of.empty()) text += "instead_of=" + escaped(limit.instead_of) + "\n";
  if (limit.uid != 0) text += "uid=" + std::to_string(limit.uid) + "\n";
  if (!limit.group.empty()) text += "group=" + escaped(limit.group) + "\n";
  if (limit.is_held) text += "held=1\n";
  if (!limit.failed.empty()) text += "failed=" + escaped(limit.failed) + "\n";
  return text;
}

Result<LimitText> parse_limit(std::string_view text) {
  const auto line = first_line(text, limit_magic, 4);
  if (!line) return std::unexpected(line.error());
  unsigned format = 0;
  LimitText limit;
  const auto process = parse_process(std::string((*line)[2]) + " " + std::string((*line)[3]));
  if (!read_number((*line)[1], format) || format != ledger_format || !process) {
    return fail(ErrorCode::invalid, "line 1: not this format, or no process");
  }
  limit.process = *process;
  for_each_field(text, [&limit](std::string_view key, std::string_view value) {
    const std::size_t space = value.find(' ');
    if (key == "limit" && space != value.npos && limit.limits.size() < most_devices) {
      const auto bytes = parse_unsigned(value.substr(0, space));
      const std::string_view uuid = value.substr(space + 1);
      if (bytes && *bytes > 0 && is_plain_id(uuid)) limit.limits.emplace(uuid, Bytes(*bytes));
    }
    if (key == "instead_of") limit.instead_of = unescaped(value);
    if (key == "uid") (void)read_number(value, limit.uid);
    if (key == "group") limit.group = unescaped(value);
    if (key == "held") limit.is_held = true;
    if (key == "failed") limit.failed = unescaped(value);
  });
  return limit;
}

}  // namespace berth
