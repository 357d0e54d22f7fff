#include "diagnose/bottleneck/activity_json.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/json_archive.h"
#include "base/text.h"
#include "snapshot/device_kind.h"

namespace berth::bottleneck {

namespace {

constexpr std::size_t longest_line = 4 << 20;
constexpr std::size_t most_steps = 100'000;
constexpr std::size_t most_devices = 64;
constexpr std::size_t most_processes = 512;
constexpr std::size_t most_threads = 1024;
constexpr std::size_t longest_text = 512;
constexpr std::int64_t longest_span = 24 * 3'600'000;

/// A measured number. Others than we may have written a whole one with a fraction.
template <class T>
struct Figure {
  T value{};
};
double number_of(double value) { return value; }
template <class Tag, class Rep>
Rep number_of(Quantity<Tag, Rep> value) {
  return value.count();
}
template <class T>
constexpr bool is_figure = std::is_same_v<T, double>;
template <class Tag, class Rep>
constexpr bool is_figure<Quantity<Tag, Rep>> = true;

template <class T>
void put(Archive& archive, Figure<T>& figure) {
  auto number = number_of(figure.value);
  constexpr bool is_whole = std::is_integral_v<decltype(number)>;
  if (!archive.is_reading()) {
    // With two decimals: more is noise, and a series is mailed around.
    if constexpr (!is_whole) number = std::round(number * 100) / 100;
    return berth::put(archive, number);
  }
  double read = 0;
  archive.scalar(read);
  // So that something may be divided or multiplied by it without surprises.
  if (!std::isfinite(read) || read < 0 || read > 1e15)
    return archive.wrong(sentence("is out of range"));
  if constexpr (is_whole) read = std::round(read);
  figure.value = T(static_cast<decltype(number)>(read));
}

/// A reading that nobody looked for is left out: a reader takes its absence for that.
template <class T>
void reading(Archive& archive, std::string_view key, Reading<T>& value) {
  if constexpr (is_figure<T>) {
    Reading<Figure<T>> figure = value.why();
    if (value.get()) figure = Figure<T>{*value.get()};
    archive.member(key, figure, Form::worded);
    if (!archive.is_reading()) return;
    value = figure.get() ? Reading<T>(figure.get()->value) : Reading<T>(figure.why());
  } else {
    archive.member(key, value, Form::worded);
  }
}

void text(Archive& archive, std::string_view key, std::string& value) {
  archive.member(key, value);
  if (archive.is_reading() && value.size() > longest_text) value.resize(longest_text);
}

}  // namespace

// Found by the namespace of what they walk, hence not in the nameless one.
static void put(Archive& archive, Throttle& throttle) {
  std::vector<std::string> words;
  if (throttle.power) words.emplace_back("power");
  if (throttle.heat) words.emplace_back("heat");
  if (throttle.other) words.emplace_back("other");
  berth::put(archive, words, most_threads);
  const auto has = [&](std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  throttle = {.power = has("power"), .heat = has("heat"), .other = has("other")};
}

static void put(Archive& archive, ThreadStep& thread) {
  Figure<Milliseconds> cpu{thread.cpu};
  put_row(archive, 3, thread.tid, thread.state, cpu);
  thread.cpu = cpu.value;
}
static void put(Archive& archive, std::vector<ThreadStep>& threads) {
  berth::put(archive, threads, most_threads);
}

static void walk(Archive& archive, DeviceFacts& facts) {
  archive.member("id", facts.id);
  archive.member("index", facts.index);
  reading(archive, "name", facts.name);
  const auto& name = facts.name.get();
  if (name && name->size() > longest_text) facts.name = name->substr(0, longest_text);
  reading(archive, "memory_total_bytes", facts.memory_total);
  reading(archive, "power_limit_milliwatts", facts.power_limit);
  reading(archive, "power_limit_default_milliwatts", facts.power_limit_default);
  reading(archive, "clock_sm_max_megahertz", facts.clock_sm_max);
  reading(archive, "pcie_generation", facts.pcie_generation);
  reading(archive, "pcie_width", facts.pcie_width);
}

static void walk(Archive& archive, DeviceStep& device) {
  archive.member("lost", device.lost, Form::sparse);
  reading(archive, "utilization_percent", device.utilization);
  reading(archive, "utilization_min_percent", device.utilization_min);
  reading(archive, "utilization_max_percent", device.utilization_max);
  reading(archive, "utilization_memory_percent", device.utilization_memory);
  reading(archive, "memory_used_bytes", device.memory_used);
  reading(archive, "power_milliwatts", device.power);
  reading(archive, "temperature_celsius", device.temperature);
  reading(archive, "clock_sm_megahertz", device.clock_sm);
  reading(archive, "throttle", device.throttle);
  reading(archive, "pcie_sent_bytes", device.pcie_sent);
  reading(archive, "pcie_received_bytes", device.pcie_received);
  reading(archive, "nvlink_bytes", device.nvlink);
  reading(archive, "sm_percent", device.sm);
  reading(archive, "tensor_percent", device.tensor);
  reading(archive, "dram_percent", device.dram);
  reading(archive, "others", device.others);
  reading(archive, "others_percent", device.others_utilization);
}

static void walk(Archive& archive, ProcessStep& process) {
  archive.member("pid", process.pid, Form::required);
  archive.member("parent", process.parent);
  text(archive, "name", process.name);
  archive.member("devices", process.devices, most_devices, Form::sparse);
  reading(archive, "state", process.state);
  reading(archive, "gpu_memory_bytes", process.gpu_memory);
  reading(archive, "sm_percent", process.sm);
  reading(archive, "cpu_ms", process.cpu);
  reading(archive, "run_delay_ms", process.run_delay);
  reading(archive, "storage_read_bytes", process.storage_read);
  reading(archive, "read_bytes", process.read);
  reading(archive, "written_bytes", process.written);
  reading(archive, "voluntary_switches", process.voluntary_switches);
  reading(archive, "involuntary_switches", process.involuntary_switches);
  reading(archive, "major_faults", process.major_faults);
  reading(archive, "swapped_bytes", process.swapped);
  reading(archive, "threads", process.threads);
}

static void walk(Archive& archive, HostStep& host) {
  reading(archive, "cpu_busy_percent", host.cpu_busy);
  reading(archive, "iowait_percent", host.iowait);
  reading(archive, "io_pressure_percent", host.io_pressure);
  reading(archive, "swap_in_bytes", host.swap_in);
}

static void walk(Archive& archive, ActivitySample& step) {
  archive.member("t_ms", step.end, Form::required);
  archive.member("span_ms", step.span, Form::required);
  archive.member("devices", step.devices, most_devices);
  archive.member("processes", step.processes, most_processes);
  archive.member("host", step.host);
}

}  // namespace berth::bottleneck

namespace berth {
static void walk(Archive& archive, CpuFacts& facts) {
  bottleneck::reading(archive, "device_files", facts.device_files);
  bottleneck::reading(archive, "age_ms", facts.age);
  bottleneck::reading(archive, "visible_devices", facts.visible_devices);
  const auto& list = facts.visible_devices.get();
  if (list && list->size() > bottleneck::longest_text)
    facts.visible_devices = list->substr(0, bottleneck::longest_text);
  archive.member("hiding_variable", facts.hiding_variable, Form::sparse);
  // A name becomes a command of the advice. Before it stood there it was CUDA's.
  if (!contains(choosing_variables(), facts.hiding_variable)) {
    facts.hiding_variable.clear();
  }
  if (archive.is_reading() && list && facts.hiding_variable.empty()) {
    facts.hiding_variable = facts_of(unnamed_vendor).visible_variable;
  }
  std::string kind(facts.kind ? facts_of(*facts.kind).name : std::string_view());
  archive.member("kind", kind, Form::sparse);
  if (archive.is_reading()) facts.kind = device_kind_from_name(kind);
  archive.member("framework_for_cpu", facts.framework_for_cpu, Form::sparse);
}
}  // namespace berth

namespace berth::bottleneck {

static void walk(Archive& archive, WholeLife& life) {
  archive.member("span_ms", life.span);
  archive.member("looks", life.looks);
  archive.member("busiest_percent", life.busiest);
  archive.member("memory_bytes", life.memory);
}

namespace {

/// The header's, behind the version.
void walk_header(Archive& archive, Activity& activity) {
  std::string taken_by(name_of(activity.taken_by));
  std::string framework(name_of(activity.framework));
  archive.member("taken_unix_ms", activity.taken);
  archive.member("taken_by", taken_by);
  archive.member("simulated", activity.simulated);
  text(archive, "subject", activity.subject);
  archive.member("framework", framework, Form::nullable);
  if (taken_by == name_of(TakenBy::run_samples)) activity.taken_by = TakenBy::run_samples;
  activity.framework = framework_from_name(framework);
  reading(archive, "ranks", activity.ranks);
  archive.object("host", [&] {
    reading(archive, "cpus", activity.cpus);
    reading(archive, "cpus_allowed", activity.cpus_allowed);
  });
  archive.member("cpu_side", activity.cpu_side, Form::sparse);
  archive.member("life", activity.life, Form::sparse);
  archive.member("devices", activity.devices, most_devices);
}

/// A step that time and the header allow; nothing: the line is none.
std::optional<ActivitySample> step_in(std::string_view line, const Activity& activity) {
  ActivitySample step;
  const std::size_t devices = activity.devices.size();
  if (line.size() > longest_line || activity.steps.size() >= most_steps) return std::nullopt;
  if (!read_json(line, [&](Archive& archive) { walk(archive, step); })) return std::nullopt;
  if (step.span.count() <= 0 || step.span.count() > longest_span) return std::nullopt;
  if (step.end < step.span || step.end.count() > longest_span * 366) return std::nullopt;
  if (step.devices.size() > devices) return std::nullopt;
  step.devices.resize(devices);
  for (const ProcessStep& process : step.processes) {
    const auto is_there = [&](std::size_t position) { return position < devices; };
    if (!std::ranges::all_of(process.devices, is_there)) return std::nullopt;
  }
  // Steps that go back in time would make nonsense of phases.
  const auto middle = step.end.count() - step.span.count() + step.span.count() / 2;
  if (!activity.steps.empty() && middle < activity.steps.back().end.count()) return std::nullopt;
  return step;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string to_lines(const Activity& activity) {
  Activity copy = activity;  // an archive that writes changes nothing
  std::string lines = write_json(JsonLayout::compact, [&](Archive& archive) {
    archive.derived("berth_activity", Activity::format_version);
    walk_header(archive, copy);
  });
  for (ActivitySample& step : copy.steps) {
    lines += "\n" + write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, step); });
  }
  return lines + "\n";
}

Result<Activity> activity_from_lines(std::string_view text) {
  Activity activity;
  int version = 0;
  const std::string_view header = next_line(text).substr(0, longest_line);
  const auto read = read_json(header, [&](Archive& archive) {
    archive.member("berth_activity", version);
    if (version == Activity::format_version) walk_header(archive, activity);
  });
  if (version == 0) {
    return fail(ErrorCode::invalid,
                "this is no series of berth explain: its first line must be a header "
                "({{\"berth_activity\":1, …}}), as --save writes it");
  }
  if (version != Activity::format_version) {
    return fail(ErrorCode::invalid,
                "the series is of a version that this berth does not know; a newer berth may");
  }
  if (!read) return fail(ErrorCode::invalid, "the header of the series is broken");
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (trimmed(line).empty()) continue;
    if (auto step = step_in(line, activity)) {
      activity.steps.push_back(std::move(*step));
    } else {
      ++activity.torn_lines;
    }
  }
  return activity;
}

std::string_view name_of(Framework framework) {
  constexpr std::string_view names[] = {"", "torch", "tensorflow", "jax"};
  return names[static_cast<int>(framework)];
}

Framework framework_from_name(std::string_view name) {
  for (const Framework one : {Framework::torch, Framework::tensorflow, Framework::jax}) {
    if (name_of(one) == name) return one;
  }
  return Framework::unknown;
}

std::string_view name_of(TakenBy by) { return by == TakenBy::watch ? "watch" : "run_samples"; }

Milliseconds span_of(const Activity& activity) {
  Milliseconds whole{0};
  for (const ActivitySample& step : activity.steps) whole += step.span;
  return whole;
}

}  // namespace berth::bottleneck
