#include "diagnose/pace/activity_json.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "snapshot/json_number.h"

namespace berth::pace {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_line = 4 << 20;
constexpr std::size_t most_steps = 100'000;
constexpr std::size_t most_devices = 64;
constexpr std::size_t most_processes = 512;
constexpr std::size_t most_threads = 1024;
constexpr std::size_t longest_text = 512;
constexpr std::int64_t longest_span = 24 * 3'600'000;
constexpr int deepest = 8;

/// What is thrown, inside this file only, at a line that is no step.
struct Torn {};

template <class T>
constexpr bool is_plain = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;

/// Percentages and milliseconds with two decimals: more is noise, and a series is mailed around.
double rounded(double value) { return std::round(value * 100) / 100; }

template <class T>
Json to_json(const T& value) {
  if constexpr (std::is_same_v<T, char>) {
    return std::string(1, value);
  } else if constexpr (std::is_same_v<T, Throttle>) {
    Json words = Json::array();
    if (value.power) words.push_back("power");
    if (value.heat) words.push_back("heat");
    if (value.other) words.push_back("other");
    return words;
  } else if constexpr (std::is_same_v<T, std::vector<ThreadStep>>) {
    Json rows = Json::array();
    for (const ThreadStep& thread : value) {
      rows.push_back({thread.tid, std::string(1, thread.state), thread.cpu.count()});
    }
    return rows;
  } else if constexpr (std::is_same_v<T, double>) {
    return rounded(value);
  } else if constexpr (is_plain<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, Percent>) {
    return rounded(value.count());
  } else {
    return value.count();
  }
}

/// What nobody looked for is left out: a reader takes it for that.
template <class T>
void put(Json& object, const char* key, const Reading<T>& reading) {
  if (reading.get()) {
    object[key] = to_json(*reading.get());
  } else if (reading.why() != Absent::not_sampled) {
    object[key] = name_of(reading.why());
  }
}

char state_in(const Json& cell) {
  if (!cell.is_string()) throw Torn{};
  const auto& text = cell.get_ref<const std::string&>();
  if (text.size() != 1 || text[0] <= ' ' || text[0] > '~') throw Torn{};
  return text[0];
}

std::string text_in(const Json& cell) {
  if (!cell.is_string()) throw Torn{};
  return cell.get_ref<const std::string&>().substr(0, longest_text);
}

template <class T>
T number(const Json& cell) {
  if (const auto number = number_in<T>(cell)) return *number;
  throw Torn{};
}

/// A number that something may be divided or multiplied by without surprises.
double sound(double value) {
  if (!std::isfinite(value) || value < 0 || value > 1e15) throw Torn{};
  return value;
}

Throttle throttle_in(const Json& cell) {
  if (!cell.is_array() || cell.size() > most_threads) throw Torn{};
  Throttle throttle;
  for (const Json& word : cell) {
    if (word == "power") throttle.power = true;
    if (word == "heat") throttle.heat = true;
    if (word == "other") throttle.other = true;
  }
  return throttle;
}

std::vector<ThreadStep> threads_in(const Json& cell) {
  if (!cell.is_array() || cell.size() > most_threads) throw Torn{};
  std::vector<ThreadStep> threads;
  for (const Json& row : cell) {
    threads.push_back({.tid = number<pid_t>(row.at(0)),
                       .state = state_in(row.at(1)),
                       .cpu = Milliseconds(static_cast<std::int64_t>(
                           std::llround(sound(number<double>(row.at(2))))))});
  }
  return threads;
}

template <class T>
T value_in(const Json& cell) {
  if constexpr (std::is_same_v<T, char>) {
    return state_in(cell);
  } else if constexpr (std::is_same_v<T, Throttle>) {
    return throttle_in(cell);
  } else if constexpr (std::is_same_v<T, std::vector<ThreadStep>>) {
    return threads_in(cell);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return text_in(cell);
  } else if constexpr (std::is_same_v<T, double>) {
    return sound(number<double>(cell));
  } else if constexpr (is_plain<T>) {
    return number<T>(cell);
  } else if constexpr (std::is_floating_point_v<typename T::rep>) {
    return T(sound(number<double>(cell)));
  } else {
    // Others than we may have written them with a fraction.
    return T(static_cast<typename T::rep>(std::llround(sound(number<double>(cell)))));
  }
}

template <class T>
void take(const Json& object, const char* key, Reading<T>& reading) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  if constexpr (!std::is_same_v<T, std::string>) {
    if (found->is_string()) {
      if (const auto why = absent_from_name(found->template get_ref<const std::string&>())) {
        reading = *why;
        return;
      }
    }
  }
  reading = value_in<T>(*found);
}

/// Both ways in one list of fields each: `io(key, reading)`.
template <class Facts, class Io>
void walk_facts(Facts& facts, const Io& io) {
  io("name", facts.name);
  io("memory_total_bytes", facts.memory_total);
  io("power_limit_milliwatts", facts.power_limit);
  io("power_limit_default_milliwatts", facts.power_limit_default);
  io("clock_sm_max_megahertz", facts.clock_sm_max);
  io("pcie_generation", facts.pcie_generation);
  io("pcie_width", facts.pcie_width);
}

template <class Device, class Io>
void walk_device(Device& device, const Io& io) {
  io("utilization_percent", device.utilization);
  io("utilization_min_percent", device.utilization_min);
  io("utilization_max_percent", device.utilization_max);
  io("utilization_memory_percent", device.utilization_memory);
  io("memory_used_bytes", device.memory_used);
  io("power_milliwatts", device.power);
  io("temperature_celsius", device.temperature);
  io("clock_sm_megahertz", device.clock_sm);
  io("throttle", device.throttle);
  io("pcie_sent_bytes", device.pcie_sent);
  io("pcie_received_bytes", device.pcie_received);
  io("nvlink_bytes", device.nvlink);
  io("sm_percent", device.sm);
  io("tensor_percent", device.tensor);
  io("dram_percent", device.dram);
  io("others", device.others);
  io("others_percent", device.others_utilization);
}

template <class Process, class Io>
void walk_process(Process& process, const Io& io) {
  io("state", process.state);
  io("gpu_memory_bytes", process.gpu_memory);
  io("sm_percent", process.sm);
  io("cpu_ms", process.cpu);
  io("run_delay_ms", process.run_delay);
  io("storage_read_bytes", process.storage_read);
  io("read_bytes", process.read);
  io("written_bytes", process.written);
  io("voluntary_switches", process.voluntary_switches);
  io("involuntary_switches", process.involuntary_switches);
  io("major_faults", process.major_faults);
  io("swapped_bytes", process.swapped);
  io("threads", process.threads);
}

template <class Host, class Io>
void walk_host(Host& host, const Io& io) {
  io("cpu_busy_percent", host.cpu_busy);
  io("iowait_percent", host.iowait);
  io("io_pressure_percent", host.io_pressure);
  io("swap_in_bytes", host.swap_in);
}

auto writing_to(Json& object) {
  return [&object](const char* key, const auto& reading) { put(object, key, reading); };
}
auto reading_from(const Json& object) {
  return [&object](const char* key, auto& reading) { take(object, key, reading); };
}

std::string line_of(const Json& json) {
  return printable_json(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Json header_json(const Activity& activity) {
  Json header = {{"berth_activity", Activity::format_version},
                 {"taken_unix_ms", activity.taken.unix_ms},
                 {"taken_by", name_of(activity.taken_by)},
                 {"simulated", activity.simulated ? Json(*activity.simulated) : Json(nullptr)},
                 {"subject", activity.subject}};
  const std::string_view framework = name_of(activity.framework);
  header["framework"] = framework.empty() ? Json(nullptr) : Json(framework);
  put(header, "ranks", activity.ranks);
  Json host = Json::object();
  put(host, "cpus", activity.cpus);
  put(host, "cpus_allowed", activity.cpus_allowed);
  header["host"] = std::move(host);
  Json devices = Json::array();
  for (const DeviceFacts& facts : activity.devices) {
    Json device = {{"id", facts.id.text()},
                   {"index", facts.index ? Json(*facts.index) : Json(nullptr)}};
    walk_facts(facts, writing_to(device));
    devices.push_back(std::move(device));
  }
  header["devices"] = std::move(devices);
  return header;
}

Json step_json(const Step& step) {
  Json json = {{"t_ms", step.end.count()}, {"span_ms", step.span.count()}};
  Json devices = Json::array();
  for (const DeviceStep& one : step.devices) {
    Json device = Json::object();
    if (one.lost) device["lost"] = true;
    walk_device(one, writing_to(device));
    devices.push_back(std::move(device));
  }
  json["devices"] = std::move(devices);
  Json processes = Json::array();
  for (const ProcessStep& one : step.processes) {
    Json process = {{"pid", one.pid}, {"parent", one.parent}, {"name", one.name}};
    if (!one.devices.empty()) process["devices"] = one.devices;
    walk_process(one, writing_to(process));
    processes.push_back(std::move(process));
  }
  json["processes"] = std::move(processes);
  Json host = Json::object();
  walk_host(step.host, writing_to(host));
  json["host"] = std::move(host);
  return json;
}

/// An empty one where the key is missing.
const Json& list_in(const Json& object, const char* key, std::size_t most) {
  static const Json none = Json::array();
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return none;
  if (!found->is_array() || found->size() > most) throw Torn{};
  return *found;
}

std::string optional_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : text_in(*found);
}

Activity header_from(const Json& header) {
  Activity activity;
  if (const auto at = header.find("taken_unix_ms"); at != header.end()) {
    activity.taken = {number<std::int64_t>(*at)};
  }
  if (optional_text(header, "taken_by") == "run_samples") activity.taken_by = TakenBy::run_samples;
  const std::string simulated = optional_text(header, "simulated");
  if (!simulated.empty()) activity.simulated = simulated;
  activity.subject = optional_text(header, "subject");
  activity.framework = framework_from_name(optional_text(header, "framework"));
  take(header, "ranks", activity.ranks);
  if (const auto host = header.find("host"); host != header.end() && host->is_object()) {
    take(*host, "cpus", activity.cpus);
    take(*host, "cpus_allowed", activity.cpus_allowed);
  }
  for (const Json& one : list_in(header, "devices", most_devices)) {
    DeviceFacts facts{.id = DeviceId(optional_text(one, "id"))};
    if (const auto index = one.find("index"); index != one.end() && !index->is_null()) {
      facts.index = number<int>(*index);
    }
    walk_facts(facts, reading_from(one));
    activity.devices.push_back(std::move(facts));
  }
  return activity;
}

ProcessStep process_from(const Json& one, std::size_t devices) {
  ProcessStep process{.pid = number<pid_t>(one.at("pid")), .name = optional_text(one, "name")};
  if (const auto parent = one.find("parent"); parent != one.end()) {
    process.parent = number<pid_t>(*parent);
  }
  for (const Json& position : list_in(one, "devices", most_devices)) {
    process.devices.push_back(number<std::size_t>(position));
    if (process.devices.back() >= devices) throw Torn{};
  }
  walk_process(process, reading_from(one));
  return process;
}

Step step_from(const Json& json, std::size_t devices) {
  Step step;
  step.end = Milliseconds(number<std::int64_t>(json.at("t_ms")));
  step.span = Milliseconds(number<std::int64_t>(json.at("span_ms")));
  if (step.span.count() <= 0 || step.span.count() > longest_span) throw Torn{};
  if (step.end < step.span || step.end.count() > longest_span * 366) throw Torn{};
  const Json& rows = list_in(json, "devices", most_devices);
  if (rows.size() > devices) throw Torn{};
  step.devices.resize(devices);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto lost = rows[i].find("lost");
    step.devices[i].lost = lost != rows[i].end() && *lost == true;
    walk_device(step.devices[i], reading_from(rows[i]));
  }
  for (const Json& one : list_in(json, "processes", most_processes)) {
    step.processes.push_back(process_from(one, devices));
  }
  if (const auto host = json.find("host"); host != json.end() && host->is_object()) {
    walk_host(step.host, reading_from(*host));
  }
  return step;
}

/// The line as an object; nothing: it is none.
std::optional<Json> object_in(std::string_view line) {
  if (line.size() > longest_line || nesting_depth(line) > deepest) return std::nullopt;
  try {
    Json json = Json::parse(line);
    if (!json.is_object()) return std::nullopt;
    return json;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

template <class Make>
auto unless_torn(const Make& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Torn&) {
    return std::nullopt;
  }
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string to_lines(const Activity& activity) {
  std::string lines = line_of(header_json(activity));
  for (const Step& step : activity.steps) lines += line_of(step_json(step));
  return lines;
}

Result<Activity> activity_from_lines(std::string_view text) {
  const auto header = object_in(next_line(text));
  if (!header || !header->contains("berth_activity")) {
    return fail(ErrorCode::invalid,
                "this is no series of berth explain: its first line must be a header "
                "({\"berth_activity\":1, …}), as --save writes it");
  }
  if ((*header)["berth_activity"] != Activity::format_version) {
    return fail(ErrorCode::invalid,
                "the series is of a version that this berth does not know; a newer berth may");
  }
  auto activity = unless_torn([&] { return header_from(*header); });
  if (!activity) return fail(ErrorCode::invalid, "the header of the series is broken");
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (trimmed(line).empty()) continue;
    const auto json = activity->steps.size() < most_steps ? object_in(line) : std::nullopt;
    auto step = json ? unless_torn([&] { return step_from(*json, activity->devices.size()); })
                     : std::nullopt;
    // Steps that go back in time would make nonsense of phases.
    const bool in_order =
        step && (activity->steps.empty() ||
                 step->end.count() - step->span.count() + step->span.count() / 2 >=
                     activity->steps.back().end.count());
    if (in_order) {
      activity->steps.push_back(std::move(*step));
    } else {
      ++activity->torn_lines;
    }
  }
  return std::move(*activity);
}

}  // namespace berth::pace
