#include "probe/sim/work.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/fd.h"
#include "base/json.h"
#include "base/process_stat.h"
#include "base/text.h"

namespace berth::sim {

namespace {

constexpr std::size_t most_pieces = 200'000;

double number_or(const ForeignJson& line, const char* key, double otherwise) {
  const auto found = line.find(key);
  if (found == line.end()) return otherwise;
  const auto value = number_in<double>(*found);
  return value && std::isfinite(*value) ? std::clamp(*value, 0.0, 1e15) : otherwise;
}

/// What is thrown, inside this file only, at a line that says nothing known.
struct Bad {};

double finite(const ForeignJson& value) {
  const auto number = number_in<double>(value);
  if (!number || !std::isfinite(*number) || *number < 0 || *number > 1e12) throw Bad{};
  return *number;
}

std::size_t position(const ForeignJson& value) {
  const auto number = number_in<std::size_t>(value);
  if (!number || *number >= 64) throw Bad{};
  return *number;
}

WorkProcess process_in(const ForeignJson& json) {
  WorkProcess process;
  const auto pid = number_in<pid_t>(json.at("pid"));
  if (!pid || *pid <= 0) throw Bad{};
  process.pid = *pid;
  for (const ForeignJson& device : json.at("devices")) process.devices.push_back(position(device));
  process.memory = Bytes(static_cast<std::uint64_t>(number_or(json, "memory_bytes", 0)));
  if (const auto framework = json.find("framework");
      framework != json.end() && framework->is_string()) {
    process.framework = framework->get<std::string>();
  }
  if (json.contains("ranks")) process.ranks = number_in<std::uint64_t>(json.at("ranks"));
  if (json.contains("cpus")) process.cpus = number_in<std::uint64_t>(json.at("cpus"));
  if (json.contains("cpus_allowed")) process.cpus_allowed = finite(json.at("cpus_allowed"));
  return process;
}

WorkPiece piece_in(const ForeignJson& line, const ForeignJson& when, bool is_kernel) {
  WorkPiece piece{.device = position(when.at(0)),
                  .start = finite(when.at(1)),
                  .length = finite(when.at(2)),
                  .is_kernel = is_kernel};
  piece.every = number_or(line, "every", 0);
  piece.count = static_cast<std::uint64_t>(std::clamp(number_or(line, "count", 1), 1.0, 1e9));
  piece.sm = number_or(line, "sm", 0);
  piece.tensor = number_or(line, "tensor", 0);
  piece.dram = number_or(line, "dram", 0);
  piece.power = std::min(1.0, number_or(line, "power", 0));
  piece.sent = number_or(line, "sent", 0);
  piece.received = number_or(line, "received", 0);
  piece.nvlink = number_or(line, "nvlink", 0);
  return piece;
}

WorkState state_in(const ForeignJson& line, const ForeignJson& when) {
  WorkState state{.device = position(when.at(0)),
                  .at = finite(when.at(1)),
                  .clock = std::clamp(number_or(line, "clock", 1), 0.05, 1.0)};
  for (const ForeignJson& word : line.value("throttle", ForeignJson::array())) {
    state.power = state.power || word == "power";
    state.heat = state.heat || word == "heat";
  }
  return state;
}

bool take_line(WorkFile& file, std::string_view text) {
  try {
    const ForeignJson line = parse_foreign_json(text);
    if (line.contains("process")) {
      file.process = process_in(line.at("process"));
    } else if (line.contains("state")) {
      file.states.push_back(state_in(line, line.at("state")));
    } else {
      const bool is_kernel = line.contains("kernel");
      if (file.pieces.size() >= most_pieces) return false;
      file.pieces.push_back(piece_in(line, line.at(is_kernel ? "kernel" : "copy"), is_kernel));
    }
    return true;
  } catch (const ForeignJson::exception&) {
    return false;
  } catch (const Bad&) {
    return false;
  }
}

/// The lengths of intervals that overlap count once.
double covered(std::vector<std::pair<double, double>> parts) {
  std::sort(parts.begin(), parts.end());
  double sum = 0;
  double until = -1e300;
  for (const auto& [from, to] : parts) {
    if (to <= until) continue;
    sum += to - std::max(from, until);
    until = to;
  }
  return sum;
}

struct Load {
  double busy = 0;                      // share of the window
  double sm = 0, tensor = 0, dram = 0;  // percent, means over the window
  double power = 0;                     // share between idle and limit
  double nvlink = 0;                    // bytes
};

/// What one device did in a window; of one process alone where `only` is given.
Load load_in(const std::vector<WorkFile>& files, std::size_t device, double from, double to,
             const WorkFile* only = nullptr) {
  Load load;
  const double length = std::max(to - from, 1e-3);
  std::vector<std::pair<double, double>> whole;
  double scattered = 0;
  for (const WorkFile& file : files) {
    if (only != nullptr && &file != only) continue;
    for (const WorkPiece& piece : file.pieces) {
      if (piece.device != device) continue;
      const double inside = piece.within(from, to);
      if (inside <= 0) continue;
      const double share = inside / length;
      const double all = piece.length * static_cast<double>(piece.count);
      load.nvlink += all > 0 ? piece.nvlink * inside / all : 0;
      load.power += piece.power * share;
      if (!piece.is_kernel) continue;
      load.sm += piece.sm * share;
      load.tensor += piece.tensor * share;
      load.dram += piece.dram * share;
      if (piece.count == 1 || piece.every <= piece.length) {
        whole.emplace_back(std::max(from, piece.start), std::min(to, piece.end()));
      } else {
        scattered += inside;
      }
    }
  }
  load.busy = std::min(1.0, (covered(std::move(whole)) + scattered) / length);
  for (double* percent : {&load.sm, &load.tensor, &load.dram}) *percent = std::min(*percent, 100.0);
  load.power = std::min(load.power, 1.0);
  return load;
}

std::pair<double, double> bytes_until(const std::vector<WorkFile>& files, std::size_t device,
                                      double now) {
  double sent = 0;
  double received = 0;
  for (const WorkFile& file : files) {
    if (const auto over = file.over.find(device); over != file.over.end()) {
      sent += over->second.first;
      received += over->second.second;
    }
    for (const WorkPiece& piece : file.pieces) {
      if (piece.device != device) continue;
      const double all = piece.length * static_cast<double>(piece.count);
      const double done = all > 0 ? piece.within(0, now) / all : (piece.start <= now ? 1.0 : 0.0);
      sent += piece.sent * done;
      received += piece.received * done;
    }
  }
  return {sent, received};
}

/// What any number of lines can add up to still is a number of bytes.
std::uint64_t bytes_in(double count) {
  return static_cast<std::uint64_t>(std::clamp(count, 0.0, 1e18));
}

template <class T>
void set_if_there(Reading<T>& reading, double value) {
  if (!reading.get()) return;
  reading = T(static_cast<typename T::rep>(std::max(value, 0.0)));
}

void put_clock(Device& device, const std::vector<WorkFile>& files, std::size_t at, double now,
               bool works) {
  const WorkState* state = nullptr;
  for (const WorkFile& file : files) {
    for (const WorkState& one : file.states) {
      if (one.device == at && one.at <= now && (state == nullptr || one.at >= state->at))
        state = &one;
    }
  }
  ClockReasons reasons;
  const auto add = [&](ClockReason one) {
    reasons += ClockReasons(static_cast<std::uint64_t>(one));
  };
  if (!works) add(ClockReason::idle);
  if (state != nullptr && state->power) add(ClockReason::power_cap);
  if (state != nullptr && state->heat) add(ClockReason::driver_thermal);
  if (device.throttle_reasons.get()) device.throttle_reasons = reasons;
  if (!works || !device.clock_sm_max.get()) return;
  const double share = state != nullptr && state->clock < 1 ? state->clock : 0.97;
  const double clock = static_cast<double>(device.clock_sm_max.get()->count()) * share;
  set_if_there(device.clock_sm, clock);
  set_if_there(device.clock_graphics, clock);
  if (device.performance_state.get()) device.performance_state = std::uint64_t{0};
  if (state != nullptr && state->heat && device.temperature_slowdown.get()) {
    device.temperature = device.temperature_slowdown;
  }
}

bool has_activity_counters(const Device& device) {
  const std::string architecture = device.architecture.get().value_or("");
  return architecture == "Hopper" || architecture == "Blackwell" || architecture == "Rubin";
}

void put_activity(Device& device, const Load& load) {
  const bool told = has_activity_counters(device);
  const auto put = [&](Detail detail, double percent) {
    device.details.set(
        detail, told ? Reading<Percent>(Percent(percent)) : Reading<Percent>(Absent::unsupported));
  };
  put(Detail::activity_sm, load.sm);
  put(Detail::activity_tensor, load.tensor);
  put(Detail::activity_dram, load.dram);
  put(Detail::activity_graphics, load.busy * 100);
}

void put_history(Device& device, const std::vector<WorkFile>& files, std::size_t at, double now) {
  if (!device.utilization_history.get()) return;
  std::vector<UtilizationSample> history;
  constexpr int samples = 150;
  constexpr double every = 0.1;
  for (int i = 0; i < samples; ++i) {
    const double to = now - i * every;
    const Load load = load_in(files, at, to - every, to);
    history.push_back({Milliseconds(i * 100), Percent(std::round(load.busy * 100))});
  }
  device.utilization_history = std::move(history);
}

void put_device(Device& device, const std::vector<WorkFile>& files, std::size_t at, double now,
                double window) {
  const Load load = load_in(files, at, now - window, now);
  const Load recent = load_in(files, at, now - 1, now);
  const auto idle = device.power_draw.get();
  if (device.utilization_gpu.get()) device.utilization_gpu = Percent(std::round(recent.busy * 100));
  if (device.utilization_memory.get()) {
    device.utilization_memory = Percent(std::round(std::min(100.0, recent.dram * 1.3)));
  }
  if (idle && device.power_limit.get()) {
    const auto low = static_cast<double>(idle->count());
    const auto room = static_cast<double>(device.power_limit.get()->count()) - low;
    set_if_there(device.power_draw, low + room * load.power);
    device.details.set(Detail::window_power_mean, device.power_draw);
  }
  const auto [sent, received] = bytes_until(files, at, now);
  if (device.pcie_sent.get()) {
    device.pcie_sent = *device.pcie_sent.get() + Bytes(bytes_in(sent));
  }
  if (device.pcie_received.get()) {
    device.pcie_received = *device.pcie_received.get() + Bytes(bytes_in(received));
  }
  device.details.set(Detail::nvlink_sent_rate,
                     Reading<BytesPerSecond>(BytesPerSecond(bytes_in(load.nvlink / 2 / window))));
  device.details.set(Detail::nvlink_received_rate,
                     device.details.get<BytesPerSecond>(Detail::nvlink_sent_rate));
  put_activity(device, load);
  put_history(device, files, at, now);
  put_clock(device, files, at, now, recent.busy > 0);
}

void put_process(Snapshot& snapshot, const std::vector<WorkFile>& files, const WorkFile& file,
                 double now) {
  for (const std::size_t at : file.process->devices) {
    const auto device = std::ranges::find_if(snapshot.devices, [&](const Device& one) {
      return one.index == static_cast<int>(at) && !one.parent;
    });
    if (device == snapshot.devices.end()) continue;
    const Bytes memory = file.process->memory;
    if (device->memory_used.get()) device->memory_used = *device->memory_used.get() + memory;
    if (device->memory_free.get()) {
      device->memory_free = minus(*device->memory_free.get(), memory).value_or(Bytes{0});
    }
    if (device->process_count.get()) device->process_count = *device->process_count.get() + 1;
    GpuProcess process{.device = device->id, .pid = file.process->pid, .memory = memory};
    process.utilization_sm =
        Percent(std::round(load_in(files, at, now - 1, now, &file).busy * 100));
    snapshot.gpu_processes.push_back(std::move(process));
  }
}

}  // namespace

double WorkPiece::within(double from, double to) const {
  const auto overlap = [&](double begin) {
    return std::max(0.0, std::min(to, begin + length) - std::max(from, begin));
  };
  if (count == 1) return overlap(start);
  if (every <= 0) return overlap(start) * static_cast<double>(count);
  // Only those near the window: the first that may reach into it to the last that begins in it.
  const double last = static_cast<double>(count - 1);
  const double first = std::clamp(std::floor((from - length - start) / every), 0.0, last);
  const double end = std::clamp(std::ceil((to - start) / every), 0.0, last);
  constexpr double few = 4096;
  if (end - first > few) {
    const double share = std::min(1.0, length / every);
    return share * std::max(0.0, std::min(to, start + every * (last + 1)) - std::max(from, start));
  }
  double sum = 0;
  for (double i = first; i <= end; ++i) sum += overlap(start + i * every);
  return sum;
}

void WorkFile::feed(std::string_view lines) {
  for (const std::string_view line : split(lines, '\n')) {
    if (!trimmed(line).empty() && !take_line(*this, line)) ++bad_lines;
  }
}

void WorkFile::forget(double time) {
  std::erase_if(pieces, [&](const WorkPiece& piece) {
    if (piece.end() >= time) return false;
    over[piece.device].first += piece.sent;
    over[piece.device].second += piece.received;
    return true;
  });
}

void put_work(Snapshot& snapshot, const std::vector<WorkFile>& files, WallTime now,
              std::optional<WallTime> since) {
  const double time = static_cast<double>(now.unix_ms) / 1000;
  const double window =
      since ? std::clamp(time - static_cast<double>(since->unix_ms) / 1000, 0.05, 10.0) : 1.0;
  for (Device& device : snapshot.devices) {
    if (!device.index || device.parent || device.lost) continue;
    const auto at = static_cast<std::size_t>(*device.index);
    const bool is_followed = std::ranges::any_of(files, [&](const WorkFile& file) {
      return file.process &&
             std::ranges::find(file.process->devices, at) != file.process->devices.end();
    });
    if (is_followed) put_device(device, files, at, time, window);
  }
  for (const WorkFile& file : files) {
    if (file.process) put_process(snapshot, files, file, time);
  }
}

std::vector<WorkFile> WorkFolder::read(WallTime now, const std::string& proc) {
  constexpr std::size_t most_at_once = 64 << 20;
  constexpr double kept_seconds = 20;
  std::vector<WorkFile> files;
  for (const std::string& name : entries_in(folder_)) {
    if (!name.ends_with(".work")) continue;
    Open& open = files_[name];
    const auto fd = open_fd(folder_ + "/" + name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd && ::lseek(fd->get(), static_cast<off_t>(open.offset), SEEK_SET) >= 0) {
      const auto got = read_all(fd->get(), most_at_once);
      if (got) {
        open.offset += got->size();
        open.rest += *got;
        const std::size_t end = open.rest.rfind('\n');
        if (end != std::string::npos) {
          open.file.feed(std::string_view(open.rest).substr(0, end));
          open.rest.erase(0, end + 1);
        }
      }
    }
    open.file.forget(static_cast<double>(now.unix_ms) / 1000 - kept_seconds);
    const auto stat = open.file.process ? read_process_stat(open.file.process->pid, proc)
                                        : std::optional<ProcessStat>();
    if (stat && stat->state != 'Z' && stat->state != 'X') files.push_back(open.file);
  }
  return files;
}

}  // namespace berth::sim
