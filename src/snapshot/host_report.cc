#include "snapshot/host_report.h"

#include <algorithm>
#include <array>

#include "base/json_archive.h"
#include "base/text.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

constexpr int newest_overview = 1;
constexpr std::size_t most_devices = 1024;
constexpr std::size_t most_hosts = 10'000;
constexpr std::size_t longest_word = 256;
constexpr std::array states = {HostState::ok, HostState::stale, HostState::unreachable,
                               HostState::refused, HostState::incompatible};

void cut(std::string& text) {
  if (text.size() > longest_word) text.resize(longest_word);
}
void cut(Sentence& text) {
  if (text.english().size() > longest_word) text = Sentence(text.english().substr(0, longest_word));
}
void cut(std::optional<std::string>& text) {
  if (text) cut(*text);
}
template <class Text>
void word(Archive& archive, std::string_view key, Text& text, auto... form) {
  archive.member(key, text, form...);
  if (archive.is_reading()) cut(text);
}

/// Another server's answer: whether it is an object at all, and one that `walk` knows.
struct Answer {
  bool is_json = false;
  bool is_known = false;
};
Answer read_answer(std::string_view text, const std::function<void(Archive&)>& walk) {
  Answer answer;
  const auto walk_object = [&](Archive& archive) {
    answer.is_json = archive.is_good();
    walk(archive);
  };
  answer.is_known = read_json(text, walk_object, WrongValues::absent).has_value();
  return answer;
}

/// One of a list that only counts.
struct Anything {};
void put(Archive&, Anything&) {}

}  // namespace

// Found by the namespace of what they put and walk, hence not in the nameless one.
static void put(Archive& archive, std::vector<HostDevice>& devices) {
  put(archive, devices, most_devices);
}

static void walk(Archive& archive, HostDevice& device) {
  constexpr int most_index = 100'000;
  constexpr std::size_t most_users = 64;
  std::vector<std::optional<std::string>> users(device.users.begin(), device.users.end());
  if (archive.is_reading()) device.state = name_of(DeviceState::unknown);
  word(archive, "id", device.id);
  archive.member("index", device.index);
  word(archive, "kind", device.kind);
  word(archive, "parent", device.parent);
  word(archive, "name", device.name);
  word(archive, "state", device.state);
  word(archive, "health", device.health);
  archive.member("utilization_gpu_percent", device.utilization_percent);
  archive.member("memory_used_bytes", device.memory_used_bytes);
  archive.member("memory_used_is_bound", device.memory_used_is_bound, Form::sparse);
  archive.member("memory_total_bytes", device.memory_total_bytes);
  archive.member("users", users, most_users);
  if (!archive.is_reading()) return;
  const double percent = device.utilization_percent.value_or(0);
  const int index = device.index.value_or(0);
  if (index < 0 || index > most_index) device.index.reset();
  if (!(percent >= 0 && percent <= 100)) device.utilization_percent.reset();
  for (auto& user : users) {
    cut(user);
    if (user) device.users.push_back(*std::move(user));
  }
}

namespace {

void walk_counts(Archive& archive, HostOverview& overview) {
  if (!archive.is_reading()) {
    for (auto& [state, count] : overview.counts) archive.member(state, count);
    return;
  }
  for (std::size_t i = 0; i < device_state_count; ++i) {
    const std::string_view name = name_of(static_cast<DeviceState>(i));
    std::optional<std::uint64_t> count;
    archive.member(name, count);
    if (count) overview.counts.emplace_back(name, *count);
  }
}

/// What an overview and a host of /api/v1/hosts have in common. False: there are no devices in it.
bool walk_common(Archive& archive, HostOverview& overview) {
  std::optional<std::vector<HostDevice>> devices = std::move(overview.devices);
  word(archive, "simulated", overview.simulated);
  word(archive, "version", overview.version, Form::nullable);
  archive.object("counts", [&] { walk_counts(archive, overview); });
  archive.member("devices", devices);
  overview.devices = devices ? *std::move(devices) : std::vector<HostDevice>();
  return devices.has_value();
}

}  // namespace

void walk(Archive& archive, HostReport& report) {
  HostOverview seen = report.seen.value_or(HostOverview{});
  std::string state(name_of(report.state));
  std::optional<std::uint64_t> waiting;
  if (report.seen) waiting = seen.waiting;
  word(archive, "name", report.name);
  word(archive, "address", report.address);
  word(archive, "state", state);
  word(archive, "why", report.why, Form::nullable);
  word(archive, "remedy", report.remedy, Form::nullable);
  archive.member("asked_unix_ms", report.asked);
  archive.member("taken_unix_ms", report.taken);
  const bool has_devices = walk_common(archive, seen);
  archive.member("queue", waiting);
  archive.member("alerts", seen.alerts);
  word(archive, "page", report.page);
  if (!archive.is_reading()) return;
  const auto known = std::ranges::find(states, state, [](HostState one) { return name_of(one); });
  report.state = known == states.end() ? HostState::incompatible : *known;
  const bool is_heard = report.state == HostState::ok || report.state == HostState::stale;
  if (!report.taken || !has_devices || !is_heard) return;
  seen.taken = *report.taken;
  seen.is_stale = report.state == HostState::stale;
  seen.waiting = waiting.value_or(0);
  report.seen = std::move(seen);
}

std::string_view name_of(HostState state) {
  switch (state) {
    case HostState::ok:
      return "ok";
    case HostState::stale:
      return "stale";
    case HostState::unreachable:
      return "unreachable";
    case HostState::refused:
      return "refused";
    case HostState::incompatible:
      return "incompatible";
  }
  return "incompatible";
}

Result<HostOverview> parse_overview(std::string_view text) {
  std::optional<std::uint64_t> format;
  std::optional<WallTime> taken;
  std::optional<std::vector<Anything>> queue;
  std::optional<std::vector<Anything>> alerts;
  HostOverview overview;
  const auto walk_overview = [&](Archive& archive) {
    archive.member("berth_overview", format);
    archive.member("taken_unix_ms", taken);
    archive.member("stale", overview.is_stale);
    walk_common(archive, overview);
    archive.member("queue", queue);
    archive.member("alerts", alerts);
  };
  const Answer answer = read_answer(text, walk_overview);
  if (!answer.is_json) return fail(ErrorCode::invalid, "what it answers is no JSON");
  if (!answer.is_known || !format || (*format <= newest_overview && !taken)) {
    return fail(ErrorCode::invalid, "what it answers is no overview of berth's");
  }
  if (*format > newest_overview) {
    const std::string version = printable(overview.version);
    return fail(ErrorCode::unsupported, "its berth is newer ({}) than this one can read", version);
  }
  overview.taken = *taken;
  overview.waiting = queue ? queue->size() : 0;
  if (alerts) overview.alerts = alerts->size();
  return overview;
}

Result<std::vector<HostReport>> parse_hosts(std::string_view text) {
  std::vector<HostReport> hosts;
  const auto walk_hosts = [&](Archive& archive) {
    archive.member("hosts", hosts, most_hosts, Form::required);
  };
  const Answer answer = read_answer(text, walk_hosts);
  if (!answer.is_json) return fail(ErrorCode::invalid, "what it answers is no JSON");
  if (!answer.is_known) return fail(ErrorCode::invalid, "what it answers is no list of hosts");
  return hosts;
}

}  // namespace berth
