#include "lease/lease_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>

#include "base/line_archive.h"
#include "base/text.h"
#include "snapshot/walk.h"

namespace berth {

namespace {

constexpr std::string_view lease_magic = "berth-lease";
constexpr std::string_view ticket_magic = "berth-ticket";
constexpr std::size_t most_devices = 512;
constexpr std::size_t longest_container = 64;
constexpr std::string_view planned_magic = "berth-planned";
constexpr std::string_view limit_magic = "berth-limit";
constexpr std::size_t most_words = 256;

/// The names that a start is given, and no other: "HOME=/home/ana".
constexpr std::array<std::string_view, 3> homes = {"HOME=/", "XDG_STATE_HOME=/",
                                                   "XDG_CONFIG_HOME=/"};
bool is_home(std::string_view variable) {
  return std::ranges::any_of(homes,
                             [&](std::string_view one) { return variable.starts_with(one); });
}

template <class T>
bool read_number(std::string_view text, T& number) {
  const auto value = parse_unsigned(text);
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
  number = static_cast<T>(*value);
  return true;
}

/// No clock of ours is to overflow by what somebody wrote.
constexpr std::int64_t longest_ms = 3'155'760'000'000;  // a century

void walk_limit(Archive& archive, std::optional<std::chrono::milliseconds>& limit) {
  std::optional<std::int64_t> time_ms;
  if (limit) time_ms = limit->count();
  archive.member("time_ms", time_ms);
  if (!archive.is_reading()) return;
  const bool is_time = time_ms && *time_ms <= longest_ms;
  limit = is_time ? std::optional(std::chrono::milliseconds(*time_ms)) : std::nullopt;
}

void walk_devices(Archive& archive, std::vector<DeviceId>& devices) {
  const auto is_plain = [](const DeviceId& device) { return is_plain_id(device.text()); };
  std::string names = joined(devices | std::views::filter(is_plain), ",", &DeviceId::text);
  archive.member("devices", names);
  if (!archive.is_reading() || names.empty()) return;
  for (const std::string_view name : split(names, ',') | std::views::take(most_devices)) {
    devices.emplace_back(std::string(name));
  }
}

void walk_lines(Archive& archive, LeaseText& lease) {
  archive.member("steady_ms", lease.steady_ms);
  walk_limit(archive, lease.time_limit);
  walk_said(archive, lease.claim);
}

void walk_lines(Archive& archive, TicketText& ticket) {
  archive.member("steady_ms", ticket.steady_ms);
  walk_limit(archive, ticket.waiter.time_limit);
  walk_said(archive, ticket.waiter);
  walk_devices(archive, ticket.devices);
}

void walk_lines(Archive& archive, PlannedText& planned) {
  archive.member("word", planned.words, most_words);
  archive.member("home", planned.homes);
  archive.member("begun", planned.begun, Form::sparse);
  archive.member("failed", planned.failed);
}

void walk_lines(Archive& archive, LimitText& limit) {
  std::vector<std::string> limits;
  for (const auto& [uuid, bytes] : limit.limits) {
    limits.push_back(std::to_string(bytes.count()) + " " + uuid);
  }
  archive.member("limit", limits, most_devices);
  archive.member("instead_of", limit.instead_of);
  std::optional<uid_t> uid;
  if (limit.uid != 0) uid = limit.uid;
  archive.member("uid", uid);
  archive.member("group", limit.group);
  archive.member("held", limit.is_held, Form::sparse);
  archive.member("failed", limit.failed);
  if (!archive.is_reading()) return;
  limit.uid = uid.value_or(0);
  for (const std::string_view line : limits) {
    const std::size_t space = line.find(' ');
    if (space == line.npos) continue;
    const auto bytes = parse_unsigned(line.substr(0, space));
    const std::string_view uuid = line.substr(space + 1);
    if (bytes && *bytes > 0 && is_plain_id(uuid)) limit.limits.emplace(uuid, Bytes(*bytes));
  }
}

template <class Text>
std::string lines_of(const Text& text) {
  // An archive that writes changes nothing.
  return write_lines([&](Archive& archive) { walk_lines(archive, const_cast<Text&>(text)); });
}

template <class Text>
void read_lines_of(std::string_view file, Text& text) {
  file.remove_prefix(file.find('\n') + 1);
  read_lines(file, [&](Archive& archive) { walk_lines(archive, text); });
}

std::optional<ProcessId> process_in(std::string_view pid, std::string_view start_ticks) {
  ProcessId process;
  const bool is_read =
      read_number(pid, process.pid) && read_number(start_ticks, process.start_ticks);
  return is_read && process.pid > 0 ? std::optional(process) : std::nullopt;
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
  const std::vector<ClaimedDevice>& devices = lease.claim.devices;
  if (devices.empty() || devices.size() > most_devices) {
    return fail(ErrorCode::invalid, "a lease is for 1 to 512 devices");
  }
  const bool exclusive = !devices.front().promised;
  std::string bytes;
  std::string names;
  for (const ClaimedDevice& device : devices) {
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
  return fmt::format("{} {} {} {} {} {}\n", lease_magic, lease.format, lease.claim.uid, bytes,
                     exclusive ? 1 : 0, names) +
         lines_of(lease);
}

std::string write_description(const Claim& known) {
  return write_lines([&](Archive& archive) { walk_said(archive, const_cast<Claim&>(known)); });
}

Result<LeaseText> parse_lease(std::string_view text) {
  const auto line = first_line(text, lease_magic, 6);
  if (!line) return std::unexpected(line.error());
  LeaseText lease;
  if (!read_number((*line)[1], lease.format) || lease.format == 0 ||
      !read_number((*line)[2], lease.claim.uid)) {
    return fail(ErrorCode::invalid, "line 1: no format or no user id");
  }
  auto devices = parse_devices((*line)[3], (*line)[4], (*line)[5]);
  if (!devices) return std::unexpected(std::move(devices).error());
  lease.claim.devices = *std::move(devices);
  if (lease.format > ledger_format) return lease;
  Claim& claim = lease.claim;
  read_lines_of(text, lease);
  if (claim.container.size() > longest_container) claim.container.clear();
  if (claim.isolated_by != "landlock" && claim.isolated_by != "systemd") claim.isolated_by.clear();
  return lease;
}

std::string write_time_limit(std::chrono::milliseconds limit) {
  std::optional time_limit(limit);
  return write_lines([&](Archive& archive) { walk_limit(archive, time_limit); });
}

std::string write_ticket(const TicketText& ticket) {
  return fmt::format("{} {} {} {} {}\n", ticket_magic, ticket.format, ticket.waiter.uid,
                     ticket.order, ticket.not_before_ns) +
         lines_of(ticket);
}

Result<TicketText> parse_ticket(std::string_view text) {
  const auto line = first_line(text, ticket_magic, 5);
  if (!line) return std::unexpected(line.error());
  TicketText ticket;
  if (!read_number((*line)[1], ticket.format) || ticket.format == 0 ||
      !read_number((*line)[2], ticket.waiter.uid) || !read_number((*line)[3], ticket.order) ||
      !read_number((*line)[4], ticket.not_before_ns)) {
    return fail(ErrorCode::invalid, "line 1: no format, user id or place in the queue");
  }
  if (ticket.format > ledger_format) return ticket;
  read_lines_of(text, ticket);
  return ticket;
}

std::string write_planned(const PlannedText& planned) {
  return fmt::format("{} {} {} {}\n", planned_magic, ledger_format, planned.at.unix_ms,
                     planned.lasts.count()) +
         lines_of(planned);
}

Result<PlannedText> parse_planned(std::string_view text) {
  const auto line = first_line(text, planned_magic, 4);
  if (!line) return std::unexpected(line.error());
  unsigned format = 0;
  PlannedText planned;
  std::int64_t lasts_ms = 0;
  if (!read_number((*line)[1], format) || format != ledger_format ||
      !read_number((*line)[2], planned.at.unix_ms) || !read_number((*line)[3], lasts_ms) ||
      lasts_ms == 0 || lasts_ms > longest_ms) {
    return fail(ErrorCode::invalid, "line 1: not this format, or no time");
  }
  constexpr std::int64_t furthest_ms = 9'000'000'000'000;
  if (planned.at.unix_ms > furthest_ms) return fail(ErrorCode::invalid, "line 1: no such time");
  planned.lasts = std::chrono::milliseconds(lasts_ms);
  read_lines_of(text, planned);
  std::erase_if(planned.homes, [](const std::string& home) { return !is_home(home); });
  if (planned.homes.size() > homes.size()) planned.homes.resize(homes.size());
  return planned;
}

std::string write_limit(const LimitText& limit) {
  return fmt::format("{} {} {} {}\n", limit_magic, ledger_format, limit.process.pid,
                     limit.process.start_ticks) +
         lines_of(limit);
}

Result<LimitText> parse_limit(std::string_view text) {
  const auto line = first_line(text, limit_magic, 4);
  if (!line) return std::unexpected(line.error());
  unsigned format = 0;
  LimitText limit;
  const auto process = process_in((*line)[2], (*line)[3]);
  if (!read_number((*line)[1], format) || format != ledger_format || !process) {
    return fail(ErrorCode::invalid, "line 1: not this format, or no process");
  }
  limit.process = *process;
  read_lines_of(text, limit);
  return limit;
}

}  // namespace berth
