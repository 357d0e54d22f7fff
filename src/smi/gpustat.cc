#include "smi/gpustat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "smi/calendar.h"
#include "smi/facts.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

constexpr std::string_view bold = "1";
constexpr std::string_view cyan = "36";
constexpr std::string_view bold_cyan = "1;36";
constexpr std::string_view blue = "34";
constexpr std::string_view red = "31";
constexpr std::string_view bold_red = "1;31";
constexpr std::string_view green = "32";
constexpr std::string_view bold_green = "1;32";
constexpr std::string_view magenta = "35";
constexpr std::string_view bold_magenta = "1;35";
constexpr std::string_view yellow = "33";
constexpr std::string_view bold_yellow = "1;33";
constexpr std::string_view grey = "1;30";
constexpr std::string_view white = "1;37";

/// One line under way; colours only where they are wanted.
class PaintedLine {
 public:
  explicit PaintedLine(bool colour) : colour_(colour) {}
  PaintedLine& add(std::string_view text, std::string_view paint = "") {
    const bool painted = colour_ && !paint.empty();
    text_ += painted ? fmt::format("\x1b[{}m{}\x1b[m", paint, text) : std::string(text);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool colour_;
  std::string text_;
};

constexpr std::uint64_t milliwatts_per_watt = 1000;

/// In gpustat's units, rounded down.
std::optional<std::uint64_t> megabytes(const Reading<Bytes>& reading) {
  if (!reading.get()) return std::nullopt;
  return reading.get()->count() >> 20U;
}
std::optional<std::uint64_t> watts(const Reading<Milliwatts>& reading) {
  if (!reading.get()) return std::nullopt;
  return reading.get()->count() / milliwatts_per_watt;
}
std::optional<std::int64_t> whole(const Reading<Percent>& reading) {
  if (!reading.get()) return std::nullopt;
  return std::lround(reading.get()->count());
}
std::optional<std::int64_t> degrees(const Reading<Celsius>& reading) {
  if (!reading.get()) return std::nullopt;
  return reading.get()->count();
}

template <class T>
std::string right(const std::optional<T>& value, int width) {
  return fmt::format("{:>{}}", value ? fmt::format("{}", *value) : "??", width);
}

std::string name_of(const Device& gpu) {
  if (gpu.lost) return "((GPU is lost))";
  return printable(gpu.name.get().value_or("((Unknown Error))"));
}

/// The end of a long name, behind an ellipsis.
std::string shortened(const std::string& name, int width) {
  if (display_width(name) <= width) return name;
  return "…" + std::string(end_of_width(name, width - 1));
}

struct Person {
  std::string user = "?";
  std::string command = "?";
  std::vector<std::string> words = {"?"};
  std::optional<std::uint64_t> resident;
  std::optional<double> cpu;  // percent of one processor
};

/// Since the look before: 0 to 100 for each thread that ran.
std::optional<double> cpu_since(const Snapshot* before, const HostProcess& process) {
  if (before == nullptr) return std::nullopt;
  for (const HostProcess& earlier : before->processes) {
    if (!(earlier.id == process.id)) continue;
    if (!earlier.cpu_time.get() || !process.cpu_time.get() || !earlier.read || !process.read) {
      return std::nullopt;
    }
    const std::int64_t passed = process.read->unix_ms - earlier.read->unix_ms;
    const std::int64_t used = process.cpu_time.get()->count() - earlier.cpu_time.get()->count();
    if (passed <= 0 || used < 0) return std::nullopt;
    constexpr double tenths = 10;
    return std::round(100 * tenths * static_cast<double>(used) / static_cast<double>(passed)) /
           tenths;
  }
  return std::nullopt;
}

Person person_of(const GpuProcess& process, const Snapshot& snapshot, const Snapshot* before) {
  Person person;
  for (const HostProcess& candidate : snapshot.processes) {
    if (candidate.id.pid != process.pid) continue;
    if (candidate.user.get()) person.user = *candidate.user.get();
    if (candidate.command.get() && !candidate.command.get()->empty()) {
      person.words = *candidate.command.get();
      const std::string& first = person.words.front();
      person.command = first.substr(first.rfind('/') + 1);
    }
    if (candidate.memory_resident.get()) {
      person.resident = candidate.memory_resident.get()->count();
    }
    person.cpu = cpu_since(before, candidate);
  }
  return person;
}

/// One entry for a process that computes and draws.
std::vector<const GpuProcess*> processes_once(const Device& gpu, const Snapshot& snapshot) {
  std::vector<const GpuProcess*> once;
  for (const GpuProcess* process : processes_on(gpu.id, snapshot)) {
    const bool seen = std::any_of(once.begin(), once.end(), [&](const GpuProcess* other) {
      return other->pid == process->pid;
    });
    if (!seen) once.push_back(process);
  }
  return once;
}

bool list_is_known(const Device& gpu, const Snapshot& snapshot) {
  return gpu.process_count.get().has_value() || !processes_on(gpu.id, snapshot).empty() ||
         (!gpu.lost && gpu.process_count.why() == Absent::not_sampled);
}

/// "257MB" from four digits on the next unit, as gpustat writes it.
std::string human(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KB", "MB", "GB", "TB"};
  constexpr std::uint64_t most = 9999;
  std::size_t unit = 0;
  while (bytes > most && unit + 1 < units.size()) {
    bytes >>= 10U;
    ++unit;
  }
  return fmt::format("{}{}", bytes, units.at(unit));
}

void add_process(PaintedLine& line, const GpuProcess& process, const Snapshot& snapshot,
                 const GpustatRequest& request) {
  const Person person = person_of(process, snapshot, nullptr);
  line.add(" ");
  if (!request.command || request.user) {
    line.add(printable(person.user), grey);
    if (request.command) line.add(":");
  }
  if (request.command) line.add(printable(person.command), cyan);
  if (request.pid) line.add(fmt::format("/{}", process.pid));
  const auto used = megabytes(process.memory);
  line.add("(").add(used ? fmt::format("{}", *used) : "?", yellow).add("M)");
}

/// gpustat's colours: from a threshold on bold; grey where there is no value.
template <class T>
std::string_view paint_of(const std::optional<T>& value, T threshold, std::string_view below,
                          std::string_view above) {
  if (!value) return grey;
  return *value < threshold ? below : above;
}

void add_codec(PaintedLine& line, std::string_view letter, const Reading<Percent>& load) {
  constexpr std::int64_t busy = 50;
  const auto value = whole(load);
  line.add(letter, bold);
  line.add(right(value, 3) + " %", paint_of(value, busy, green, bold_green));
}

void add_power(PaintedLine& line, const Device& gpu, bool limit) {
  const auto draw = watts(gpu.power_draw);
  const auto most = watts(gpu.power_limit);
  constexpr std::uint64_t low_percent = 40;
  const bool low = draw && most && *draw * 100 < low_percent * *most;
  const std::string_view paint = !draw && most ? grey : low ? magenta : bold_magenta;
  line.add(",  ").add(right(draw, 3), paint);
  if (limit) {
    line.add(" / ").add(right(most, 3) + " W", magenta);
  } else {
    line.add(" ").add("W", paint);
  }
}

void add_sensors(PaintedLine& line, const Device& gpu, const GpustatRequest& request) {
  constexpr std::int64_t hot = 50;
  constexpr std::int64_t busy = 30;
  const auto temperature = degrees(gpu.temperature);
  line.add(right(temperature, 3) + "°C", paint_of(temperature, hot, red, bold_red)).add(", ");
  if (request.fan) {
    const auto fan = whole(gpu.fan_speed);
    line.add(right(fan, 3) + " %", paint_of(fan, busy, cyan, bold_cyan)).add(", ");
  }
  const auto load = whole(gpu.utilization_gpu);
  line.add(right(load, 3) + " %", paint_of(load, busy, green, bold_green));
  if (request.encoder || request.decoder) {
    line.add(" (");
    if (request.encoder) add_codec(line, "E: ", gpu.utilization_encoder);
    if (request.encoder && request.decoder) line.add("  ");
    if (request.decoder) add_codec(line, "D: ", gpu.utilization_decoder);
    line.add(")");
  }
  if (request.power) add_power(line, gpu, request.power_limit);
}

std::string full_commands(const Device& gpu, const Snapshot& snapshot, bool colour,
                          const Snapshot* before) {
  const auto processes = processes_once(gpu, snapshot);
  std::string text;
  for (const GpuProcess* process : processes) {
    const Person person = person_of(*process, snapshot, before);
    const bool last = process == processes.back();
    PaintedLine line(colour);
    std::string words;
    for (const std::string& word : person.words) words += " " + printable(word);
    const std::string cpu = person.cpu ? fmt::format("{:.0f}", *person.cpu) : "??";
    line.add(fmt::format(" {}─ {:>6} ({:>4}%, {:>6}):{}\n", last ? "└" : "├", process->pid, cpu,
                         person.resident ? human(*person.resident) : "??", words));
    text += line.text();
  }
  return text;
}

std::string device_line(const Device& gpu, const Snapshot& snapshot, const GpustatRequest& request,
                        int name_width, bool colour) {
  PaintedLine line(colour);
  line.add(fmt::format("[{}]", gpu.index.value_or(0)), cyan).add(" ");
  if (name_width > 0) {
    const std::string name = shortened(name_of(gpu), name_width);
    const auto pad = static_cast<std::size_t>(std::max(0, name_width - display_width(name)));
    line.add(name + std::string(pad, ' '), gpu.lost ? red : blue).add(" |");
  }
  add_sensors(line, gpu, request);
  line.add(" | ").add(right(megabytes(gpu.memory_used), 5), bold_yellow);
  line.add(" / ").add(right(megabytes(gpu.memory_total), 5), yellow).add(" MB");
  if (!request.processes) return line.text() + "\n";
  line.add(" |");
  if (!list_is_known(gpu, snapshot)) line.add(" (Not Supported)");
  for (const GpuProcess* process : processes_once(gpu, snapshot)) {
    add_process(line, *process, snapshot, request);
  }
  return line.text() + "\n";
}

Json number(const auto& value) { return value ? Json(*value) : Json(nullptr); }

Json process_json(const GpuProcess& process, const Snapshot& snapshot, const Snapshot* before) {
  const Person person = person_of(process, snapshot, before);
  Json object;
  object["username"] = person.user;
  object["command"] = person.command;
  object["full_command"] = person.words;
  object["gpu_memory_usage"] = number(megabytes(process.memory));
  object["cpu_percent"] = number(person.cpu);
  object["cpu_memory_usage"] = number(person.resident);
  object["pid"] = process.pid;
  return object;
}

Json device_json(const Device& gpu, const Snapshot& snapshot, const Snapshot* before) {
  Json object;
  object["index"] = gpu.index.value_or(0);
  object["name"] = name_of(gpu);
  object["uuid"] = gpu.uuid.get() ? Json(*gpu.uuid.get()) : Json(nullptr);
  object["temperature.gpu"] = number(degrees(gpu.temperature));
  object["fan.speed"] = number(whole(gpu.fan_speed));
  object["memory.used"] = number(megabytes(gpu.memory_used));
  object["memory.total"] = number(megabytes(gpu.memory_total));
  object["utilization.gpu"] = number(whole(gpu.utilization_gpu));
  object["utilization.enc"] = number(whole(gpu.utilization_encoder));
  object["utilization.dec"] = number(whole(gpu.utilization_decoder));
  object["power.draw"] = number(watts(gpu.power_draw));
  object["enforced.power.limit"] = number(watts(gpu.power_limit));
  object["processes"] = nullptr;
  if (!list_is_known(gpu, snapshot)) return object;
  object["processes"] = Json::array();
  for (const GpuProcess* process : processes_once(gpu, snapshot)) {
    object["processes"].push_back(process_json(*process, snapshot, before));
  }
  return object;
}

}  // namespace

std::optional<std::string> gpustat_failure(const Snapshot& snapshot,
                                           const GpustatRequest& request) {
  if (!chosen(snapshot, request.devices)) {
    return "Error on querying NVIDIA devices: --id names one that is not there.\n";
  }
  if (!gpus(snapshot, {}).empty()) return std::nullopt;
  for (const Problem& problem : snapshot.problems) {
    if (problem.source == "nvml" && !problem.device) {
      return "Error on querying NVIDIA devices. " + printable(problem.message.english()) + "\n";
    }
  }
  return std::nullopt;
}

std::string render_gpustat(const Snapshot& snapshot, const GpustatRequest& request, bool colour,
                           Clockface clockface, const Snapshot* before) {
  const auto cards = gpus(snapshot, request.devices);
  int name_width = request.name_width.value_or(0);
  if (!request.name_width) {
    for (const Device* gpu : cards) name_width = std::max(name_width, display_width(name_of(*gpu)));
  }
  std::string text;
  if (request.header) {
    PaintedLine line(colour);
    constexpr int width_without_names = 16;
    const int width = (name_width > 0 ? name_width : width_without_names) + 3;
    line.add(fmt::format("{:<{}}", printable(snapshot.host.name.get().value_or("?")), width),
             white);
    line.add("  " + date_in_words(snapshot.taken, clockface.utc_offset) + "  ");
    line.add(printable(snapshot.host.software_of(Runtime::cuda).driver.get().value_or("None")),
             grey);
    text += line.text() + "\n";
  }
  for (const Device* gpu : cards) {
    text += device_line(*gpu, snapshot, request, name_width, colour);
    const bool all_words = request.processes && request.full_command;
    if (all_words) text += full_commands(*gpu, snapshot, colour, before);
  }
  if (cards.empty()) text += "(No GPUs are available)\n";
  return text;
}

std::string render_gpustat_json(const Snapshot& snapshot, const GpustatRequest& request,
                                Clockface clockface, const Snapshot* before) {
  Json object;
  object["hostname"] = snapshot.host.name.get().value_or("?");
  object["driver_version"] = snapshot.host.software_of(Runtime::cuda).driver.get()
                                 ? Json(*snapshot.host.software_of(Runtime::cuda).driver.get())
                                 : Json(nullptr);
  const Stamp now = stamp(snapshot.taken, clockface.utc_offset);
  const auto milliseconds = static_cast<unsigned>(snapshot.taken.unix_ms % 1000);
  object["query_time"] =
      fmt::format("{}-{}-{}T{}.{:03}000", now.date.substr(0, 4), now.date.substr(4, 2),
                  now.date.substr(6, 2), now.time, milliseconds);
  object["gpus"] = Json::array();
  for (const Device* gpu : gpus(snapshot, request.devices)) {
    object["gpus"].push_back(device_json(*gpu, snapshot, before));
  }
  return object.dump(4, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace berth::smi
