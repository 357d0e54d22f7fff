#include "probe/sim/motion.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/text.h"
#include "probe/sim/life.h"
#include "probe/sim/load.h"
#include "snapshot/questions.h"
#include "snapshot/recorded.h"

namespace berth::sim {

namespace {

double wave_at(const Wave& wave, double unix_seconds) {
  // The remainder first: a sine of seconds since 1970 would lose its low digits.
  const double turn = std::fmod(unix_seconds, wave.period_s) / wave.period_s + wave.phase;
  const double sine = std::sin(2 * std::numbers::pi * turn);
  return (wave.high + wave.low) / 2 + (wave.high - wave.low) / 2 * sine;
}

/// The field's value after one move; nothing for a field that the device does not have, unless a
/// wave brings it.
std::optional<double> moved(const How& how, std::optional<double> value, std::uint64_t seed,
                            std::uint64_t stream, double unix_seconds, double since_taken) {
  if (const auto* wave = std::get_if<Wave>(&how)) return wave_at(*wave, unix_seconds);
  if (!value) return std::nullopt;
  if (const auto* noise = std::get_if<Noise>(&how)) {
    const auto step = static_cast<std::int64_t>(std::floor(unix_seconds / noise->every_s));
    return *value + noise->amplitude * noise_at(seed, stream, step);
  }
  if (const auto* rate = std::get_if<Rate>(&how)) {
    return *value + rate->per_second * std::max(0.0, since_taken);
  }
  return value;
}

void move_field(const Move& move, Device& device, const Snapshot& snapshot, std::uint64_t seed,
                std::uint64_t stream, double since_taken) {
  const double seconds = static_cast<double>(snapshot.taken.unix_ms) / 1000;
  const auto value = moved(move.how, plain_number(move.field->read(device, snapshot)), seed, stream,
                           seconds, since_taken);
  if (!value) return;
  const auto count = static_cast<std::int64_t>(std::llround(std::clamp(*value, 0.0, 9e15)));
  // A field of a type that takes no number keeps what the file says.
  static_cast<void>(move.field->write(device, Cell(Scalar(count))));
}

/// Processes that computed in the file follow the device's utilisation.
void follow_device(Snapshot& snapshot, const Device& device) {
  for (GpuProcess& process : snapshot.gpu_processes) {
    if (process.device != device.id || !process.utilization_sm.get()) continue;
    if (process.utilization_sm.get()->count() > 0) process.utilization_sm = device.utilization_gpu;
  }
}

/// Starts of processes and leases move with the file's time, by whole days. So they stand still
/// while a user watches, and ages grow.
void move_times(Snapshot& snapshot, WallTime now) {
  const std::int64_t elapsed = now.unix_ms - snapshot.taken.unix_ms;
  std::int64_t days = elapsed / day_ms;
  if (elapsed % day_ms < 0) --days;
  const std::int64_t shift = days * day_ms;
  for (HostProcess& process : snapshot.processes) {
    if (!process.started.get()) continue;
    const double age = static_cast<double>(snapshot.taken.unix_ms) -
                       static_cast<double>(process.started.get()->unix_ms);
    process.started = WallTime{process.started.get()->unix_ms + shift};
    if (!process.cpu_time.get() || age <= 0) continue;
    // It goes on working as it has, if that can be.
    const auto used = static_cast<double>(process.cpu_time.get()->count());
    const double share = used / age;
    constexpr double most_cores = 10'000;
    constexpr double longest_ms = 1e15;
    if (share < 0 || share > most_cores || used > longest_ms) continue;
    process.cpu_time =
        *process.cpu_time.get() +
        Milliseconds(static_cast<std::int64_t>(share * static_cast<double>(elapsed - shift)));
  }
  for (Claim& claim : snapshot.claims) claim.since.unix_ms += shift;
  for (Waiter& waiter : snapshot.waiters) waiter.since.unix_ms += shift;
  snapshot.taken = now;
}

std::uint64_t number_from(const std::string& text) {
  constexpr std::uint64_t begin = 1469598103934665603U;  // what simulated servers show follows
  return hash_of(text, begin);
}

/// The words of a line that shell_joined wrote. Never empty.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') {
      quoted = !quoted;
    } else if (line[i] == '\\' && !quoted && i + 1 < line.size()) {
      words.back() += line[++i];
    } else if (line[i] == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += line[i];
    }
  }
  return words;
}

}  // namespace

void take_memory(Device& device, Bytes bytes) {
  if (device.memory_used.get()) device.memory_used = *device.memory_used.get() + bytes;
  if (device.memory_free.get()) {
    device.memory_free = minus(*device.memory_free.get(), bytes).value_or(Bytes{0});
  }
}

HostProcess process_of(const Claim& claim, double seconds) {
  HostProcess process{.id = *claim.job};
  if (claim.keeper) process.ancestors = {claim.keeper->pid};
  process.uid = claim.uid;
  process.user = claim.user;
  std::vector<std::string> words = shell_words(claim.command);
  process.executable_name = words.front().substr(0, 15);
  process.command = std::move(words);
  process.started = claim.since;
  process.cpu_time = Milliseconds(static_cast<std::int64_t>(seconds * 1000));
  process.state = std::string("R");
  process.container = std::string();
  return process;
}

namespace {

/// What the job of one claim has of one device.
struct Share {
  Bytes memory;
  double seconds = 0;  // since it began
};

Share share_of(const ClaimedDevice& claimed, const Device& device, double seconds) {
  constexpr double used_of_promise = 0.6;
  const Bytes all = claimed.promised.value_or(device.memory_total.get().value_or(Bytes{0}));
  const double there = std::clamp(seconds, 0.05, 1.0);
  const auto wanted =
      static_cast<std::uint64_t>(static_cast<double>(all.count()) * used_of_promise * there);
  const Bytes free = device.memory_free.get().value_or(Bytes(wanted));
  return {.memory = std::min(Bytes(wanted), free), .seconds = seconds};
}

void compute_on(Device& device, const Share& share, std::uint64_t seed, std::uint64_t stream,
                WallTime now) {
  // Absent stays absent below; nothing is computed from this 0 then.
  const double before = device.utilization_gpu.get().value_or(Percent{0}).count();
  const auto second = now.unix_ms / 1000;
  put_under_load(device, [&](double ago) {
    if (ago > share.seconds) return before;
    const double ramp = std::min(1.0, share.seconds - ago + 0.1);
    const auto step = second - static_cast<std::int64_t>(ago);
    return std::clamp(before + ramp * (job_percent + 6 * noise_at(seed, stream, step)), 0.0, 100.0);
  });
}

void add_job(Snapshot& snapshot, const Claim& claim, std::uint64_t seed) {
  const auto elapsed_ms = std::max<std::int64_t>(0, snapshot.taken.unix_ms - claim.since.unix_ms);
  for (const ClaimedDevice& claimed : claim.devices) {
    const auto device = std::find_if(snapshot.devices.begin(), snapshot.devices.end(),
                                     [&](const Device& one) { return one.id == claimed.device; });
    if (device == snapshot.devices.end() || device->lost) continue;
    if (!device->unusable_because.empty()) continue;
    const Share share = share_of(claimed, *device, static_cast<double>(elapsed_ms) / 1000);
    take_memory(*device, share.memory);
    compute_on(*device, share, seed, number_from(claim.id + claimed.device.text()), snapshot.taken);
    for (Device& parent : snapshot.devices) {
      if (device->parent && parent.id == *device->parent) take_memory(parent, share.memory);
    }
    if (device->process_count.get()) device->process_count = *device->process_count.get() + 1;
    GpuProcess process{.device = device->id, .pid = claim.job->pid, .memory = share.memory};
    process.partition = device->partition;
    process.utilization_sm = device->utilization_gpu;
    snapshot.gpu_processes.push_back(std::move(process));
    if (find_process(claim.job->pid, snapshot) == nullptr) {
      snapshot.processes.push_back(process_of(claim, share.seconds));
    }
  }
}

/// Where the file does not say how many use a device: as many as it lists.
void count_processes(Snapshot& snapshot) {
  for (Device& device : snapshot.devices) {
    const Reading<std::uint64_t>& said = device.process_count;
    if (said.get() || said.why() != Absent::not_sampled || device.lost) continue;
    device.process_count = static_cast<std::uint64_t>(std::ranges::count(
        snapshot.gpu_processes, device.id, [](const GpuProcess& one) { return one.device; }));
  }
}

/// A rate over PCIe is what its counter gains in a second.
void tell_pcie_rates(const Scenario& scenario, Snapshot& snapshot) {
  const auto gained = [&](std::string_view counter, std::size_t position) {
    double per_second = 0;
    for (const Move& move : scenario.moves) {
      const auto* rate = std::get_if<Rate>(&move.how);
      const bool is_its = rate != nullptr && move.field->key == counter &&
                          std::ranges::find(move.devices, position) != move.devices.end();
      if (is_its) per_second += rate->per_second;
    }
    return Reading<BytesPerSecond>(
        BytesPerSecond(static_cast<std::uint64_t>(std::max(per_second, 0.0))));
  };
  for (std::size_t i = 0; i < snapshot.devices.size(); ++i) {
    Device& device = snapshot.devices[i];
    if (device.lost || !device.pcie_sent.get() || !device.pcie_received.get()) continue;
    device.details.set(Detail::pcie_sent_rate, gained("pcie_sent_bytes", i));
    device.details.set(Detail::pcie_received_rate, gained("pcie_received_bytes", i));
  }
}

}  // namespace

double noise_at(std::uint64_t seed, std::uint64_t stream, std::int64_t step) {
  // splitmix64 (Steele, Lea, Flood 2014) of the three numbers, one after the other.
  std::uint64_t state = 0;
  for (const std::uint64_t part : {seed, stream, static_cast<std::uint64_t>(step)}) {
    state = (state ^ part) + 0x9e3779b97f4a7c15U;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebU;
    state ^= state >> 31;
  }
  return static_cast<double>(state >> 11) / static_cast<double>(1ULL << 52) - 1.0;
}

Snapshot scenario_at(const Scenario& scenario, WallTime now) {
  Snapshot snapshot = scenario.base;
  const double since_taken = static_cast<double>(now.unix_ms - scenario.base.taken.unix_ms) / 1000;
  move_times(snapshot, now);
  for (std::size_t number = 0; number < scenario.moves.size(); ++number) {
    const Move& move = scenario.moves[number];
    for (const std::size_t position : move.devices) {
      Device& device = snapshot.devices[position];
      if (device.lost) continue;
      if (const auto* load = std::get_if<Load>(&move.how)) {
        const double seconds = static_cast<double>(now.unix_ms) / 1000;
        put_under_load(device,
                       [&](double ago) { return wave_at(load->utilization, seconds - ago); });
        follow_device(snapshot, device);
      } else {
        move_field(move, device, snapshot, scenario.seed, number * 1000 + position, since_taken);
      }
    }
  }
  tell_pcie_rates(scenario, snapshot);
  put_life(snapshot, scenario.life, scenario.base);
  count_processes(snapshot);
  return snapshot;
}

void add_jobs(Snapshot& snapshot, const std::vector<Claim>& claims, std::uint64_t seed) {
  for (const Claim& claim : claims) {
    if (claim.job) add_job(snapshot, claim, seed);
  }
  std::sort(snapshot.processes.begin(), snapshot.processes.end(),
            [](const HostProcess& a, const HostProcess& b) { return a.id.pid < b.id.pid; });
}

}  // namespace berth::sim
