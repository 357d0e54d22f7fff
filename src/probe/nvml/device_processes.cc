#include "probe/nvml/device_processes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace berth::nvml {

namespace {

using ListFunction = Function<Handle, unsigned*, void*>;
using Bytestring = std::vector<unsigned char>;

/// Entries as one function wrote them.
struct RawList {
  Bytestring bytes;
  std::size_t count = 0;
};

// The list can grow between two calls, so each retry has slack. A driver that always says "too
// small" is given up after a few.
std::expected<RawList, Return> fetch(DeviceAsker& asker, const ListFunction& function, GpuUse use,
                                     std::size_t entry_size) {
  constexpr unsigned most = 1 << 16;
  constexpr unsigned char untouched = 0xA5;
  unsigned capacity = 32;
  for (int attempt = 0; attempt < 5; ++attempt) {
    RawList list{.bytes = Bytestring(capacity * entry_size, untouched)};
    unsigned count = capacity;
    auto* const room = static_cast<void*>(list.bytes.data());
    // Every device has a list of those that compute; of the others some know nothing.
    const Return code = use == GpuUse::compute ? asker.call(function, 0, &count, room)
                                               : asker.call_if_known(function, 0, &count, room);
    // More than there was room for was not written, whatever the driver says of it.
    if (code == success && count <= capacity) {
      list.count = count;
      return list;
    }
    if (code != success && code != insufficient_size) return std::unexpected(code);
    count = std::min(count, most);
    capacity = std::min(std::max(count, capacity) + count / 4 + 8, most);
  }
  asker.note_failure(function.symbol, insufficient_size);
  return std::unexpected(insufficient_size);
}

/// The distance between entries that a _v3 function of an early 535 driver wrote. Measured from
/// what the call changed: the drivers with five members are known only roughly.
std::size_t measured_stride(const RawList& list) {
  constexpr unsigned char untouched = 0xA5;
  const auto last = std::find_if(list.bytes.rbegin(), list.bytes.rend(),
                                 [](unsigned char byte) { return byte != untouched; });
  const auto written = static_cast<std::size_t>(list.bytes.rend() - last);
  if (list.count > 0 && written == list.count * sizeof(ProcessV2)) return sizeof(ProcessV2);
  return sizeof(ProcessV3Of535);
}

template <class Entry>
Entry entry_at(const RawList& list, std::size_t index, std::size_t stride) {
  Entry entry{};
  std::memcpy(&entry, list.bytes.data() + index * stride, sizeof entry);
  return entry;
}

GpuProcess process_of(const ProcessV2& entry, GpuUse use) {
  GpuProcess process;
  process.pid = static_cast<pid_t>(entry.pid);
  process.use = use;
  process.memory = is_unavailable(entry.used_memory) ? Reading<Bytes>(Absent::unsupported)
                                                     : Reading<Bytes>(Bytes(entry.used_memory));
  if (entry.gpu_instance != no_instance && entry.compute_instance != no_instance) {
    process.partition = Partition{entry.gpu_instance, entry.compute_instance};
  }
  return process;
}

/// One impossible process number makes the whole list unread: other processes may be missing, too.
std::expected<std::vector<GpuProcess>, Return> believed(std::vector<GpuProcess> processes,
                                                        std::string_view symbol,
                                                        DeviceAsker& asker) {
  const auto is_possible = [](const GpuProcess& one) { return one.pid > 0; };
  if (std::ranges::all_of(processes, is_possible)) return processes;
  asker.note_failure(symbol, unknown);
  return std::unexpected(unknown);
}

std::vector<GpuProcess> processes_in(const RawList& list, std::size_t stride, GpuUse use) {
  std::vector<GpuProcess> processes;
  for (std::size_t i = 0; i < list.count; ++i) {
    processes.push_back(process_of(entry_at<ProcessV2>(list, i, stride), use));
  }
  return processes;
}

struct Versions {
  const ListFunction& v3;
  const ListFunction& v2;
  const ListFunction& v1;
  GpuUse use;
};

std::expected<std::vector<GpuProcess>, Return> read_list(DeviceAsker& asker,
                                                         const Versions& versions) {
  const bool five_members = asker.api().has_five_member_processes();
  auto list = fetch(asker, versions.v3, versions.use,
                    five_members ? sizeof(ProcessV3Of535) : sizeof(ProcessV2));
  if (list) {
    const std::size_t stride = five_members ? measured_stride(*list) : sizeof(ProcessV2);
    return believed(processes_in(*list, stride, versions.use), versions.v3.symbol, asker);
  }
  if (!is_refused_for_good(list.error())) return std::unexpected(list.error());
  list = fetch(asker, versions.v2, versions.use, sizeof(ProcessV2));
  if (list) {
    return believed(processes_in(*list, sizeof(ProcessV2), versions.use), versions.v2.symbol,
                    asker);
  }
  if (!is_refused_for_good(list.error())) return std::unexpected(list.error());
  list = fetch(asker, versions.v1, versions.use, sizeof(ProcessV1));
  if (!list) return std::unexpected(list.error());
  std::vector<GpuProcess> processes;
  for (std::size_t i = 0; i < list->count; ++i) {
    const auto entry = entry_at<ProcessV1>(*list, i, sizeof(ProcessV1));
    processes.push_back(
        process_of({entry.pid, entry.used_memory, no_instance, no_instance}, versions.use));
  }
  return believed(std::move(processes), versions.v1.symbol, asker);
}

auto place_of(const GpuProcess& process) {
  const Partition place = process.partition.value_or(Partition{no_instance, no_instance});
  return std::tuple(process.pid, place.gpu_instance, place.compute_instance);
}

GpuUse merged_use(GpuUse before, GpuUse also) {
  if (before == also) return before;
  if (before == GpuUse::mps || also == GpuUse::mps) return GpuUse::mps;
  return GpuUse::both;
}

}  // namespace

ProcessList read_processes(DeviceAsker& asker) {
  const Api& api = asker.api();
  const Versions lists[] = {
      {api.nvmlDeviceGetComputeRunningProcesses_v3, api.nvmlDeviceGetComputeRunningProcesses_v2,
       api.nvmlDeviceGetComputeRunningProcesses, GpuUse::compute},
      {api.nvmlDeviceGetGraphicsRunningProcesses_v3, api.nvmlDeviceGetGraphicsRunningProcesses_v2,
       api.nvmlDeviceGetGraphicsRunningProcesses, GpuUse::graphics},
      {api.nvmlDeviceGetMPSComputeRunningProcesses_v3,
       api.nvmlDeviceGetMPSComputeRunningProcesses_v2, api.nvmlDeviceGetMPSComputeRunningProcesses,
       GpuUse::mps}};
  using Place = decltype(place_of(GpuProcess()));
  ProcessList all;
  std::vector<GpuProcess>& processes = all.processes;
  std::map<Place, std::size_t> places;
  for (const Versions& versions : lists) {
    auto listed = read_list(asker, versions);
    if (!listed) {
      // A device that has no such list has nobody in it; each has one of those that compute.
      const bool is_missed =
          versions.use == GpuUse::compute || !is_refused_for_good(listed.error());
      if (is_missed && !all.unread) all.unread = listed.error();
      continue;
    }
    for (GpuProcess& process : *listed) {
      const auto [place, is_new] = places.try_emplace(place_of(process), processes.size());
      if (is_new) {
        processes.push_back(std::move(process));
        continue;
      }
      GpuProcess& known = processes[place->second];
      known.use = merged_use(known.use, process.use);
      if (!known.memory.get()) known.memory = process.memory;
    }
  }
  return all;
}

namespace {

/// One sample of one process, whichever function told it.
struct Busy {
  std::uint64_t timestamp_us = 0;
  std::uint32_t sm = 0;
  std::uint32_t memory = 0;
  std::uint32_t encoder = 0;
  std::uint32_t decoder = 0;
  std::optional<std::uint32_t> jpeg;
  std::optional<std::uint32_t> optical_flow;
};
using Samples = std::vector<std::pair<pid_t, Busy>>;

// The newer function has two engines more.
std::expected<Samples, Return> ask_newer(DeviceAsker& asker, std::size_t room,
                                         std::uint64_t since_us) {
  std::vector<ProcessUtilizationV2> rows(room);
  ProcessesUtilization list{.version = struct_version<ProcessesUtilization>(1),
                            .count = static_cast<unsigned>(room),
                            .since_us = since_us,
                            .entries = rows.data()};
  const Return code = asker.call(asker.api().nvmlDeviceGetProcessesUtilizationInfo, 0, &list);
  if (code != success) return std::unexpected(code);
  rows.resize(std::min<std::size_t>(list.count, room));
  Samples samples;
  for (const ProcessUtilizationV2& row : rows) {
    samples.push_back({static_cast<pid_t>(row.pid),
                       {.timestamp_us = row.timestamp_us,
                        .sm = row.sm,
                        .memory = row.memory,
                        .encoder = row.encoder,
                        .decoder = row.decoder,
                        .jpeg = row.jpeg,
                        .optical_flow = row.ofa}});
  }
  return samples;
}

std::expected<Samples, Return> ask_older(DeviceAsker& asker, std::size_t room,
                                         std::uint64_t since_us) {
  std::vector<ProcessUtilization> rows(room);
  auto count = static_cast<unsigned>(room);
  const Return code = asker.call(asker.api().nvmlDeviceGetProcessUtilization, 0, rows.data(),
                                 &count, static_cast<unsigned long long>(since_us));
  if (code != success) return std::unexpected(code);
  rows.resize(std::min<std::size_t>(count, room));
  Samples samples;
  for (const ProcessUtilization& row : rows) {
    samples.push_back({static_cast<pid_t>(row.pid),
                       {.timestamp_us = row.timestamp_us,
                        .sm = row.sm,
                        .memory = row.memory,
                        .encoder = row.encoder,
                        .decoder = row.decoder}});
  }
  return samples;
}

/// A list that did not fit is asked once more, with more room.
std::expected<Samples, Return> ask_samples(DeviceAsker& asker, std::size_t processes,
                                           std::uint64_t since_us) {
  const std::size_t room = std::max<std::size_t>(128, processes * 2);
  for (const std::size_t rows : {room, room * 8}) {
    std::expected<Samples, Return> samples = std::unexpected(not_supported);
    if (asker.wants(Extra::process_engines)) samples = ask_newer(asker, rows, since_us);
    if (!samples && is_refused_for_good(samples.error())) {
      samples = ask_older(asker, rows, since_us);
    }
    if (samples || samples.error() != insufficient_size) return samples;
  }
  return std::unexpected(insufficient_size);
}

// The driver fills what it has no sample of with anything: shares above 100, old times.
bool is_garbage(const Busy& busy, std::uint64_t since_us, std::uint64_t latest_us) {
  if (busy.timestamp_us <= since_us || busy.timestamp_us > latest_us) return true;
  return busy.sm > 100 || busy.memory > 100 || busy.encoder > 100 || busy.decoder > 100;
}

Reading<Percent> share_of(std::optional<std::uint32_t> share, Absent untold) {
  if (!share) return untold;
  if (*share > 100) return Absent::failed;
  return Percent(*share);
}

void set_busy(GpuProcess& process, const Busy& busy) {
  process.utilization_sm = Percent(busy.sm);
  process.utilization_memory = Percent(busy.memory);
  process.utilization_encoder = Percent(busy.encoder);
  process.utilization_decoder = Percent(busy.decoder);
  process.utilization_jpeg = share_of(busy.jpeg, Absent::not_sampled);
  process.utilization_optical_flow = share_of(busy.optical_flow, Absent::not_sampled);
}

void set_absent(GpuProcess& process, Absent why) {
  process.utilization_sm = process.utilization_memory = why;
  process.utilization_encoder = process.utilization_decoder = why;
}

}  // namespace

void read_process_utilization(DeviceAsker& asker, WallTime taken, DeviceMemory& memory,
                              std::vector<GpuProcess>& processes) {
  if (processes.empty()) return;
  // Since the look before; at the first look, or after a long pause, the last seconds.
  constexpr std::uint64_t longest_us = 10'000'000;
  constexpr std::uint64_t first_us = 2'000'000;
  constexpr std::uint64_t most_ahead_us = 5'000'000;
  const auto now_us = static_cast<std::uint64_t>(std::max<std::int64_t>(taken.unix_ms, 0)) * 1000;
  const std::uint64_t back = memory.process_samples_seen_us == 0 ? first_us : longest_us;
  const std::uint64_t since =
      std::max(memory.process_samples_seen_us, now_us > back ? now_us - back : 0);

  const auto samples = ask_samples(asker, processes.size(), since);
  // A process without a row was busy in no sample, or no sample was taken yet. The driver does not
  // tell which.
  const Absent without_row = samples ? Absent::not_sampled : why_absent(samples.error());
  std::map<pid_t, Busy> newest;
  for (const auto& [pid, busy] : samples.value_or(Samples{})) {
    if (is_garbage(busy, since, now_us + most_ahead_us)) continue;
    Busy& known = newest[pid];
    if (busy.timestamp_us > known.timestamp_us) known = busy;
    memory.process_samples_seen_us = std::max(memory.process_samples_seen_us, busy.timestamp_us);
  }
  for (GpuProcess& process : processes) {
    set_absent(process, without_row);
    const auto found = newest.find(process.pid);
    if (found != newest.end()) set_busy(process, found->second);
  }
}

}  // namespace berth::nvml
