// Lists whose length the driver tells first.

#include <algorithm>
#include <vector>

#include "probe/nvml/device_details.h"

namespace berth::nvml {

namespace {

constexpr unsigned most_entries = 1 << 16;

/// `ask(count)` with the entries' room made for that many: the driver says how many there are when
/// there is too little room. It may say so again, as lists grow.
template <class Ask>
std::expected<unsigned, Return> fill_list(DeviceAsker& asker, std::string_view symbol, Ask ask) {
  unsigned room = 64;
  for (int attempt = 0; attempt < 5; ++attempt) {
    unsigned count = room;
    const Return code = ask(room, count);
    if (code == success) return std::min(count, room);
    if (code != insufficient_size) return std::unexpected(code);
    room = std::min(std::max(count, room) + count / 4 + 8, most_entries);
  }
  asker.note_failure(symbol, insufficient_size);
  return std::unexpected(insufficient_size);
}

// --- retired pages
// --------------------------------------------------------------------------------

Reading<WallTime> time_of(std::uint64_t time) {
  if (time == 0) return Absent::unsupported;
  const std::int64_t unix_ms = unix_ms_of(time);
  if (unix_ms < 0) return Absent::failed;
  return WallTime{unix_ms};
}

Return pages_of(DeviceAsker& asker, unsigned cause, std::vector<RetiredPage>& pages) {
  const Api& api = asker.api();
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint64_t> times;
  bool timed = true;
  const auto ask = [&](unsigned room, unsigned& count) {
    addresses.assign(room, 0);
    times.assign(room, 0);
    if (timed) {
      const Return code = asker.call(api.nvmlDeviceGetRetiredPages_v2, cause, cause, &count,
                                     addresses.data(), times.data());
      if (!is_refused_for_good(code)) return code;
      timed = false;
      count = room;
    }
    return asker.call(api.nvmlDeviceGetRetiredPages, cause, cause, &count, addresses.data());
  };
  const auto count = fill_list(asker, api.nvmlDeviceGetRetiredPages.symbol, ask);
  if (!count) return count.error();
  for (unsigned i = 0; i < *count; ++i) {
    pages.push_back({.address = addresses[i],
                     .cause = cause == retired_for_single_bit ? RetiredPage::Cause::single_bit
                                                              : RetiredPage::Cause::double_bit,
                     .retired = timed ? time_of(times[i]) : Absent::unsupported});
  }
  return success;
}

Reading<std::vector<RetiredPage>> read_retired_pages(DeviceAsker& asker) {
  std::vector<RetiredPage> pages;
  for (const unsigned cause : {retired_for_single_bit, retired_for_double_bit}) {
    const Return code = pages_of(asker, cause, pages);
    if (code != success) return why_absent(code);
  }
  return pages;
}

// --- accounting
// -----------------------------------------------------------------------------------

Reading<Percent> share_of(std::uint32_t percent) {
  if (percent == 0xFFFFFFFF) return Absent::unsupported;
  if (percent > 100) return Absent::failed;
  return Percent(percent);
}

AccountedProcess accounted(unsigned pid, const AccountingStats& stats) {
  AccountedProcess process;
  process.pid = static_cast<pid_t>(pid);
  process.utilization_gpu = share_of(stats.gpu_utilization);
  process.utilization_memory = share_of(stats.memory_utilization);
  process.memory_max = stats.max_memory == value_not_available
                           ? Reading<Bytes>(Absent::unsupported)
                           : Reading<Bytes>(Bytes(stats.max_memory));
  process.run_time = Milliseconds(
      static_cast<std::int64_t>(std::min<std::uint64_t>(stats.time_ms, std::uint64_t{1} << 53)));
  process.running = stats.is_running != 0;
  return process;
}

/// A process that accounting lists and then tells nothing of: its entry was overwritten meanwhile,
/// or that failed.
AccountedProcess unaccounted(unsigned pid, Absent why) {
  AccountedProcess process;
  process.pid = static_cast<pid_t>(pid);
  process.utilization_gpu = process.utilization_memory = why;
  process.memory_max = why;
  process.run_time = why;
  process.running = why;
  return process;
}

Reading<std::vector<AccountedProcess>> read_accounted(DeviceAsker& asker) {
  const Api& api = asker.api();
  std::vector<unsigned> pids;
  const auto count =
      fill_list(asker, api.nvmlDeviceGetAccountingPids.symbol, [&](unsigned room, unsigned& found) {
        pids.assign(room, 0);
        return asker.call(api.nvmlDeviceGetAccountingPids, 0, &found, pids.data());
      });
  if (!count) return why_absent(count.error());
  std::vector<AccountedProcess> processes;
  for (unsigned i = 0; i < *count; ++i) {
    AccountingStats stats{};
    const Return code = asker.call(api.nvmlDeviceGetAccountingStats, 0, pids[i], &stats);
    if (code == not_found) continue;
    processes.push_back(code == success ? accounted(pids[i], stats)
                                        : unaccounted(pids[i], why_absent(code)));
  }
  return processes;
}

// --- clocks
// ---------------------------------------------------------------------------------------

template <class... Given, class... Parameters>
std::expected<std::vector<Megahertz>, Return> clocks_of(
    DeviceAsker& asker, const Function<Handle, Parameters...>& function, Given... given) {
  std::vector<unsigned> raw;
  const auto count = fill_list(asker, function.symbol, [&](unsigned room, unsigned& found) {
    raw.assign(room, 0);
    return asker.call(function, 0, given..., &found, raw.data());
  });
  if (!count) return std::unexpected(count.error());
  std::vector<Megahertz> clocks;
  for (unsigned i = 0; i < *count; ++i) clocks.emplace_back(raw[i]);
  return clocks;
}

Reading<std::vector<SupportedClocks>> read_supported_clocks(DeviceAsker& asker) {
  const Api& api = asker.api();
  const auto memory = clocks_of(asker, api.nvmlDeviceGetSupportedMemoryClocks);
  if (!memory) return why_absent(memory.error());
  std::vector<SupportedClocks> all;
  for (const Megahertz clock : *memory) {
    const auto graphics = clocks_of(asker, api.nvmlDeviceGetSupportedGraphicsClocks,
                                    static_cast<unsigned>(clock.count()));
    if (!graphics) return why_absent(graphics.error());
    all.push_back({clock, *graphics});
  }
  return all;
}

}  // namespace

void read_lists(DeviceAsker& asker, Lists& lists) {
  lists.retired_pages = read_retired_pages(asker);
  lists.accounted_processes = read_accounted(asker);
  lists.supported_clocks = read_supported_clocks(asker);
}

}  // namespace berth::nvml
