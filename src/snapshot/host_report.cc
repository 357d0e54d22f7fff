#include "snapshot/host_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

constexpr int newest_overview = 1;
constexpr int deepest = 32;
constexpr std::size_t most_devices = 1024;
constexpr std::size_t most_users = 64;
constexpr std::size_t most_hosts = 10'000;
constexpr std::size_t longest_word = 256;
constexpr std::array states = {HostState::ok, HostState::stale, HostState::unreachable,
                               HostState::refused, HostState::incompatible};

/// The value; null where there is none.
const Json* entry_of(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::string> word_at(const Json& object, const char* key) {
  const Json* value = entry_of(object, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get_ref<const std::string&>().substr(0, longest_word);
}

std::optional<std::uint64_t> count_at(const Json& object, const char* key) {
  const Json* value = entry_of(object, key);
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  return value->get<std::uint64_t>();
}

std::optional<WallTime> time_at(const Json& object, const char* key) {
  const Json* value = entry_of(object, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return WallTime{value->get<std::int64_t>()};
}

std::optional<double> percent_at(const Json& object, const char* key) {
  const Json* value = entry_of(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double percent = value->get<double>();
  return percent >= 0 && percent <= 100 ? std::optional(percent) : std::nullopt;
}

template <class Each>
void each_at(const Json& object, const char* key, std::size_t most, Each each) {
  const Json* list = entry_of(object, key);
  if (list == nullptr || !list->is_array()) return;
  for (std::size_t i = 0; i < std::min(list->size(), most); ++i) each((*list)[i]);
}

HostDevice read_device(const Json& json) {
  constexpr std::uint64_t most_index = 100'000;
  HostDevice device;
  device.id = word_at(json, "id").value_or("");
  const auto index = count_at(json, "index");
  if (index && *index <= most_index) device.index = static_cast<int>(*index);
  device.kind = word_at(json, "kind").value_or("");
  device.parent = word_at(json, "parent");
  device.name = word_at(json, "name");
  device.state = word_at(json, "state").value_or(std::string(name_of(DeviceState::unknown)));
  device.health = word_at(json, "health");
  device.utilization_percent = percent_at(json, "utilization_gpu_percent");
  device.memory_used_bytes = count_at(json, "memory_used_bytes");
  device.memory_total_bytes = count_at(json, "memory_total_bytes");
  each_at(json, "users", most_users, [&](const Json& user) {
    if (user.is_string()) {
      device.users.push_back(user.get_ref<const std::string&>().substr(0, longest_word));
    }
  });
  return device;
}

/// What an overview and a host of /api/v1/hosts have in common.
HostOverview read_common(const Json& root, WallTime taken) {
  HostOverview overview;
  overview.version = word_at(root, "version").value_or("");
  overview.simulated = word_at(root, "simulated");
  overview.taken = taken;
  if (const Json* counts = entry_of(root, "counts"); counts != nullptr && counts->is_object()) {
    for (std::size_t i = 0; i < device_state_count; ++i) {
      const std::string name(name_of(static_cast<DeviceState>(i)));
      if (const auto count = count_at(*counts, name.c_str())) {
        overview.counts.emplace_back(name, *count);
      }
    }
  }
  each_at(root, "devices", most_devices,
          [&](const Json& device) { overview.devices.push_back(read_device(device)); });
  return overview;
}

Json device_json(const HostDevice& device, UserNames names) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"id", device.id},
          {"index", or_null(device.index)},
          {"kind", device.kind},
          {"parent", or_null(device.parent)},
          {"name", or_null(device.name)},
          {"state", device.state},
          {"health", or_null(device.health)},
          {"utilization_gpu_percent", or_null(device.utilization_percent)},
          {"memory_used_bytes", or_null(device.memory_used_bytes)},
          {"memory_total_bytes", or_null(device.memory_total_bytes)},
          {"users", names == UserNames::shown ? Json(device.users) : Json::array()}};
}

HostReport read_host(const Json& json) {
  HostReport report;
  report.name = word_at(json, "name").value_or("");
  report.address = word_at(json, "address").value_or("");
  report.page = word_at(json, "page");
  const std::string state = word_at(json, "state").value_or("");
  const auto named = std::find_if(states.begin(), states.end(),
                                  [&](HostState one) { return name_of(one) == state; });
  report.state = named == states.end() ? HostState::incompatible : *named;
  report.why = word_at(json, "why").value_or("");
  report.remedy = word_at(json, "remedy").value_or("");
  report.asked = time_at(json, "asked_unix_ms");
  report.taken = time_at(json, "taken_unix_ms");
  const Json* devices = entry_of(json, "devices");
  if (!report.taken || devices == nullptr || !devices->is_array()) return report;
  if (report.state != HostState::ok && report.state != HostState::stale) return report;
  report.seen = read_common(json, *report.taken);
  report.seen->is_stale = report.state == HostState::stale;
  report.seen->waiting = count_at(json, "queue").value_or(0);
  report.seen->alerts = count_at(json, "alerts");
  return report;
}

Result<Json> read_json(std::string_view text) {
  if (nesting_depth(text) > deepest) return fail(ErrorCode::invalid, "what it answers is no JSON");
  Json root = Json::parse(text, nullptr, false);
  if (!root.is_object()) return fail(ErrorCode::invalid, "what it answers is no JSON");
  return root;
}

}  // namespace

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
  auto root = read_json(text);
  if (!root) return std::unexpected(std::move(root).error());
  const auto format = count_at(*root, "berth_overview");
  const auto taken = time_at(*root, "taken_unix_ms");
  if (!format || (*format <= newest_overview && !taken)) {
    return fail(ErrorCode::invalid, "what it answers is no overview of berth's");
  }
  if (*format > newest_overview) {
    const std::string version = printable(word_at(*root, "version").value_or(""));
    return fail(ErrorCode::unsupported,
                fmt::format("its berth is newer ({}) than this one can read", version));
  }
  HostOverview overview = read_common(*root, *taken);
  const Json* stale = entry_of(*root, "stale");
  overview.is_stale = stale != nullptr && stale->is_boolean() && stale->get<bool>();
  const auto length = [&](const char* key) -> std::optional<std::uint64_t> {
    const Json* list = entry_of(*root, key);
    if (list == nullptr || !list->is_array()) return std::nullopt;
    return list->size();
  };
  overview.waiting = length("queue").value_or(0);
  overview.alerts = length("alerts");
  return overview;
}

nlohmann::ordered_json host_json(const HostReport& report, UserNames names) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  const auto time = [](const std::optional<WallTime>& at) {
    return at ? Json(at->unix_ms) : Json(nullptr);
  };
  Json object = {{"name", report.name},
                 {"address", report.address},
                 {"state", name_of(report.state)},
                 {"why", text_or_null(report.why)},
                 {"remedy", text_or_null(report.remedy)},
                 {"asked_unix_ms", time(report.asked)},
                 {"taken_unix_ms", time(report.taken)},
                 {"simulated", nullptr},
                 {"version", nullptr},
                 {"counts", Json::object()},
                 {"devices", Json::array()},
                 {"queue", nullptr},
                 {"alerts", nullptr},
                 {"page", report.page ? Json(*report.page) : Json(nullptr)}};
  if (!report.seen) return object;
  const HostOverview& seen = *report.seen;
  if (seen.simulated) object["simulated"] = *seen.simulated;
  object["version"] = text_or_null(seen.version);
  for (const auto& [state, count] : seen.counts) object["counts"][state] = count;
  for (const HostDevice& device : seen.devices) {
    object["devices"].push_back(device_json(device, names));
  }
  object["queue"] = seen.waiting;
  if (seen.alerts) object["alerts"] = *seen.alerts;
  return object;
}

Result<std::vector<HostReport>> parse_hosts(std::string_view text) {
  auto root = read_json(text);
  if (!root) return std::unexpected(std::move(root).error());
  const Json* hosts = entry_of(*root, "hosts");
  if (hosts == nullptr || !hosts->is_array()) {
    return fail(ErrorCode::invalid, "what it answers is no list of hosts");
  }
  std::vector<HostReport> reports;
  each_at(*root, "hosts", most_hosts, [&](const Json& host) {
    if (host.is_object()) reports.push_back(read_host(host));
  });
  return reports;
}

}  // namespace berth
