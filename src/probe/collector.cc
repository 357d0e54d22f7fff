#include "probe/collector.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "base/signals.h"
#include "probe/device_source.h"
#include "probe/driver_log.h"
#include "probe/missing_devices.h"
#include "probe/offline.h"
#include "probe/probe_process/progress.h"
#include "probe/xid_memory.h"

namespace berth {

namespace {

template <class T>
void append(std::vector<T>& list, std::vector<T> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

/// What one driver told, added to what others did.
void add_driver(Snapshot& sum, Snapshot told) {
  append(sum.devices, std::move(told.devices));
  append(sum.gpu_processes, std::move(told.gpu_processes));
  append(sum.sources, std::move(told.sources));
  append(sum.problems, std::move(told.problems));
  fill(sum.host, std::move(told.host));
}

/// Each driver counts its devices from 0. Here they have one row of numbers, and what a program of
/// the runtime calls a device stays apart.
void number_behind(std::vector<Device>& devices, int count) {
  for (Device& device : devices) {
    if (!device.index) continue;
    if (!device.runtime_index) device.runtime_index = device.index;
    *device.index += count;
  }
}

int count_of(const Snapshot& told) {
  int count = 0;
  for (const Device& device : told.devices) count = std::max(count, device.index.value_or(-1) + 1);
  return count;
}

}  // namespace

struct Collector::Parts {
  Sources sources;
  CollectorOptions options;
  std::optional<OfflineSource> offline;  // simulated or replayed: in this process
  std::optional<Snapshot> seen_offline;
  /// One for each driver. With several, the last asks the kernel, once they have told.
  std::deque<ProbeWatch> probes;
  std::vector<int> counts;  // of each driver's devices, at its last answer
  MissingDevices missing;
  XidMemory xids;
  std::optional<DriverLog> log;
  Reading<WallTime> driver_loaded;

  bool looking = false;
  bool has_looked = false;
  CollectRequest request;
  WallTime began_wall;
  std::vector<std::optional<Snapshot>> told;  // by each driver

  [[nodiscard]] bool has_several_drivers() const { return probes.size() > 1; }
  /// The first that has not told all; null: all have.
  [[nodiscard]] const ProbeWatch* waited_for() const;
  [[nodiscard]] Snapshot all_told();
  [[nodiscard]] bool reads_log() const;
  [[nodiscard]] Snapshot finish(Snapshot snapshot, Clock& clock);
};

const ProbeWatch* Collector::Parts::waited_for() const {
  const auto found = std::ranges::find_if(probes, &ProbeWatch::is_looking);
  return found == probes.end() ? nullptr : &*found;
}

Snapshot Collector::Parts::all_told() {
  Snapshot sum;
  int before = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    // A driver that does not answer now must not move the numbers behind it.
    counts[i] = std::max(counts[i], count_of(*told[i]));
    if (i > 0) number_behind(told[i]->devices, before);
    before += counts[i];
    add_driver(sum, std::move(*told[i]));
  }
  told.assign(told.size(), std::nullopt);
  return sum;
}

bool Collector::Parts::reads_log() const {
  if (options.looks == Looks::once) return request.relations == Relations::all;
  // A long log takes some milliseconds, once: a first picture that wants no details goes before.
  return options.logged == CollectorOptions::Logged::new_ones || request.wanted.has_details() ||
         has_looked;
}

Snapshot Collector::Parts::finish(Snapshot snapshot, Clock& clock) {
  looking = false;
  if (reads_log()) {
    const bool all = options.logged == CollectorOptions::Logged::all;
    if (!log) {
      log.emplace(sources.kernel_log, sources.proc,
                  all ? DriverLog::From::beginning : DriverLog::From::end);
    }
    const DriverMessages said = log->read(clock.wall_now());
    xids.add_logged(said.errors);
    driver_loaded = said.loaded;
  }
  has_looked = true;
  mark_servers(snapshot);
  snapshot.xids = xids.all();
  snapshot.driver_loaded = driver_loaded;
  if (options.looks == Looks::again) missing.add_to(snapshot);
  return snapshot;
}

Collector::Collector(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Collector::Collector(Collector&&) noexcept = default;
Collector& Collector::operator=(Collector&&) noexcept = default;
Collector::~Collector() = default;

Result<Collector> Collector::play(Recording recording, Looks looks) {
  auto offline = OfflineSource::play(std::move(recording), looks);
  if (!offline) return std::unexpected(std::move(offline).error());
  auto parts = std::make_unique<Parts>();
  parts->offline.emplace(std::move(*offline));
  return Collector(std::move(parts));
}

Result<Collector> Collector::start(const Sources& sources, CollectorOptions options) {
  auto parts = std::make_unique<Parts>();
  parts->sources = sources;
  parts->options = std::move(options);
  if (sources.simulated) {
    auto offline = OfflineSource::simulate(sources);
    if (!offline) return std::unexpected(std::move(offline).error());
    parts->offline.emplace(std::move(*offline));
    return Collector(std::move(parts));
  }
  const auto drivers = parts->options.ask ? parts->options.asked_of : drivers_here(sources);
  const bool alone = drivers.size() == 1;
  for (const DeviceKind driver : drivers) {
    parts->probes.emplace_back(parts->sources, parts->options,
                               Asked{.driver = driver, .kernel = alone});
  }
  if (!alone) {
    parts->probes.emplace_back(parts->sources, parts->options,
                               Asked{.driver = std::nullopt, .kernel = true});
  }
  parts->told.resize(drivers.size());
  parts->counts.resize(drivers.size());
  return Collector(std::move(parts));
}

void Collector::open(Clock& clock) {
  for (ProbeWatch& probe : parts_->probes) {
    if (probe.asked().driver) probe.open(clock);
  }
}

bool Collector::is_looking() const { return parts_->looking; }

void Collector::begin(CollectRequest request, Clock& clock) {
  Parts& parts = *parts_;
  parts.looking = true;
  parts.request = std::move(request);
  parts.began_wall = clock.wall_now();
  if (parts.offline) {
    parts.seen_offline = parts.offline->look(parts.request.claims, parts.began_wall);
    return;
  }
  for (ProbeWatch& probe : parts.probes) {
    if (probe.asked().driver) probe.begin(parts.request, clock);
  }
}

std::optional<int> Collector::descriptor() const {
  const ProbeWatch* probe = parts_->looking ? parts_->waited_for() : nullptr;
  return probe != nullptr ? probe->descriptor() : std::nullopt;
}

Duration Collector::patience(Clock& clock) const {
  Duration shortest = std::chrono::milliseconds(50);
  for (const ProbeWatch& probe : parts_->probes) {
    if (probe.is_looking()) shortest = std::min(shortest, probe.patience(clock));
  }
  return parts_->looking && parts_->waited_for() != nullptr ? shortest : Duration{0};
}

std::optional<Snapshot> Collector::advance(Clock& clock) {
  Parts& parts = *parts_;
  if (!parts.looking) return std::nullopt;
  if (parts.offline) {
    parts.looking = false;
    return std::exchange(parts.seen_offline, std::nullopt);
  }
  for (std::size_t i = 0; i < parts.probes.size(); ++i) {
    auto looked = parts.probes[i].advance(clock);
    if (!looked) continue;
    if (looked->driver_events.has_value() || !parts.has_several_drivers()) {
      parts.xids.add_told(looked->driver_events, parts.began_wall);
    }
    if (parts.probes[i].asked().kernel) return parts.finish(std::move(looked->snapshot), clock);
    parts.told[i] = std::move(looked->snapshot);
  }
  if (parts.waited_for() != nullptr) return std::nullopt;
  parts.probes.back().begin(parts.request, clock, parts.all_told());
  return std::nullopt;
}

Snapshot Collector::collect(CollectRequest request, Clock& clock) {
  begin(std::move(request), clock);
  while (true) {
    if (auto snapshot = advance(clock)) return std::move(*snapshot);
    // Not all of it at once: the clock may be one that shows how long it takes.
    const Duration wait = std::min<Duration>(patience(clock), std::chrono::milliseconds(100));
    if (const auto news = descriptor()) static_cast<void>(wait_readable({*news}, wait));
  }
}

Result<Snapshot> collect(const Sources& sources, CollectRequest request, Clock& clock,
                         Patience patience) {
  auto collector =
      Collector::start(sources, {.looks = Looks::once, .patience = std::move(patience)});
  if (!collector) return std::unexpected(std::move(collector).error());
  return collector->collect(std::move(request), clock);
}

std::optional<pid_t> Collector::probe_process() const {
  for (const ProbeWatch& probe : parts_->probes) {
    if (const auto process = probe.process()) return process;
  }
  return std::nullopt;
}

std::optional<WallTime> Collector::unanswered_since(Clock& clock) const {
  std::optional<WallTime> since;
  for (const ProbeWatch& probe : parts_->probes) {
    const auto one = probe.unanswered_since(clock);
    if (one && (!since || *one < *since)) since = one;
  }
  return since;
}

}  // namespace berth
