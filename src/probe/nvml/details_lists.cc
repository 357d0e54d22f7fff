// Lists whose length the driver tells first.

#include <algorithm>
#include <vector>

#include "probe/nvml/device_details.h"
#include "probe/nvml/device_reading.h"

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
    // More than there was room for was not written, whatever the driver says of it.
    if (code == success && count <= room) return count;
    if (code != success && code != insufficient_size) return std::unexpected(code);
    count = std::min(count, most_entries);
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
  process.memory_max = is_unavailable(stats.max_memory) ? Reading<Bytes>(Absent::unsupported)
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
  for (unsigned i = 0; i < *count; ++i) {
    if (!is_possible(Megahertz(raw[i]))) return std::unexpected(unknown);
    clocks.emplace_back(raw[i]);
  }
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

// --- NVLink
// ---------------------------------------------------------------------------------------

// Fields of one link, whose number is the scope.
constexpr std::uint32_t field_link_count = 91;
constexpr std::uint32_t field_link_speed = 164;   // in MB/s, one direction
constexpr std::uint32_t field_link_active = 165;  // 0 or 1
constexpr std::int64_t most_links = 64;           // NVML_NVLINK_MAX_LINKS is 36

Return ask_fields(DeviceAsker& asker, std::vector<FieldValue>& fields) {
  for (FieldValue& field : fields) field.answer = unknown;
  return asker.call(asker.api().nvmlDeviceGetFieldValues, 0, static_cast<int>(fields.size()),
                    fields.data());
}

/// A field's number, or why there is none.
std::expected<std::int64_t, Absent> number_of(const FieldValue& field) {
  if (field.answer == invalid_argument) return std::unexpected(Absent::unsupported);
  if (field.answer != success) return std::unexpected(why_absent(field.answer));
  const auto number = whole_of(field);
  if (!number || *number < 0) return std::unexpected(Absent::failed);
  return *number;
}

Reading<std::string> remote_of(DeviceAsker& asker, unsigned link) {
  PciInfoV3 info{};
  const Return code =
      asker.call_if_known(asker.api().nvmlDeviceGetNvLinkRemotePciInfo_v2, link, link, &info);
  if (code != success) return why_absent(code);
  return pci_address(info.domain, info.bus, info.device);
}

NvLink link_of(DeviceAsker& asker, unsigned number, const FieldValue& speed,
               const FieldValue& active) {
  NvLink link{.number = number};
  const auto is_up = number_of(active);
  link.active = !is_up       ? Reading<bool>(is_up.error())
                : *is_up > 1 ? Reading<bool>(Absent::failed)
                             : Reading<bool>(*is_up == 1);
  const auto rate = number_of(speed);
  constexpr std::int64_t most_megabytes = 10'000'000;
  link.speed = !rate ? Reading<BytesPerSecond>(rate.error())
               : *rate > most_megabytes
                   ? Reading<BytesPerSecond>(Absent::failed)
                   : BytesPerSecond(static_cast<std::uint64_t>(*rate) * 1'000'000);
  // What is at the other end of a link that is down is not known to the driver.
  link.remote = link.active.get().value_or(false) ? remote_of(asker, number) : Absent::not_sampled;
  return link;
}

Reading<std::vector<NvLink>> read_nvlinks(DeviceAsker& asker) {
  std::vector<FieldValue> fields = {{.field = field_link_count}};
  Return code = ask_fields(asker, fields);
  if (code != success) return why_absent(code);
  const auto count = number_of(fields[0]);
  if (!count) return count.error();
  if (*count > most_links) return Absent::failed;
  if (*count == 0) return std::vector<NvLink>{};
  fields.clear();
  for (std::uint32_t link = 0; link < *count; ++link) {
    fields.push_back({.field = field_link_speed, .scope = link});
    fields.push_back({.field = field_link_active, .scope = link});
  }
  code = ask_fields(asker, fields);
  if (code != success) return why_absent(code);
  std::vector<NvLink> links;
  for (unsigned link = 0; link < *count; ++link) {
    links.push_back(link_of(asker, link, fields[2 * link], fields[2 * link + 1]));
  }
  return links;
}

}  // namespace

void read_lists(DeviceAsker& asker, Lists& lists) {
  if (asker.wants(Extra::retired_pages)) lists.retired_pages = read_retired_pages(asker);
  if (asker.wants(Extra::accounted_processes)) lists.accounted_processes = read_accounted(asker);
  if (asker.wants(Extra::supported_clocks)) lists.supported_clocks = read_supported_clocks(asker);
  if (asker.wants(Extra::nvlinks)) lists.nvlinks = read_nvlinks(asker);
}

}  // namespace berth::nvml
