// The nvidia_smi profile's series that are of no column: energy, rates, MIG instances, XID errors,
// processes.

#include <algorithm>
#include <array>
#include <set>

#include "serve/metrics_page.h"
#include "smi/facts.h"
#include "snapshot/questions.h"

namespace berth::serve {

namespace {

using enum MetricType;

constexpr auto card_rows = std::to_array<MetricRow>({
    {.family = {"nvidia_smi_energy_joules_total", counter, "Energy since the driver was loaded."},
     .key = "energy_millijoules",
     .exponent = -3},
    {{"nvidia_smi_pcie_throughput_tx_bytes_per_second", gauge, "Sent over PCIe."},
     "pcie_sent_rate_bytes_per_second"},
    {{"nvidia_smi_pcie_throughput_rx_bytes_per_second", gauge, "Received over PCIe."},
     "pcie_received_rate_bytes_per_second"},
});
constexpr auto instance_rows = std::to_array<MetricRow>({
    {{"nvidia_smi_mig_memory_total_bytes", gauge, "All of its memory."}, "memory_total_bytes"},
    {{"nvidia_smi_mig_memory_used_bytes", gauge, "Memory allocated."}, "memory_used_bytes"},
    {{"nvidia_smi_mig_memory_free_bytes", gauge, "Memory nobody holds."}, "memory_free_bytes"},
    {{"nvidia_smi_mig_memory_reserved_bytes", gauge, "Memory the driver keeps for itself."},
     "memory_reserved_bytes"},
    {.family = {"nvidia_smi_mig_graphics_activity_ratio", gauge, "Share of time with any work."},
     .key = "activity_graphics_percent",
     .exponent = -2},
    {.family = {"nvidia_smi_mig_sm_activity_ratio", gauge, "Share of SMs that were busy."},
     .key = "activity_sm_percent",
     .exponent = -2},
    {.family = {"nvidia_smi_mig_sm_occupancy_ratio", gauge, "Share of warps that were active."},
     .key = "activity_occupancy_percent",
     .exponent = -2},
    {.family = {"nvidia_smi_mig_tensor_activity_ratio", gauge, "Share of time of tensor work."},
     .key = "activity_tensor_percent",
     .exponent = -2},
    {{"nvidia_smi_mig_pcie_throughput_tx_bytes_per_second", gauge, "Sent over PCIe."},
     "pcie_sent_rate_bytes_per_second"},
    {{"nvidia_smi_mig_pcie_throughput_rx_bytes_per_second", gauge, "Received over PCIe."},
     "pcie_received_rate_bytes_per_second"},
});

/// Instances that share memory share their series: the first of them stands for all.
void write_instances(const std::vector<PageDevice>& gpus, const Snapshot& snapshot,
                     Exposition& out) {
  std::vector<PageDevice> instances;
  std::set<std::string> seen;
  out.begin({"nvidia_smi_mig_info", info, "What a MIG device is."});
  for (const PageDevice& one : gpus) {
    for (const Device* instance : smi::instances_of(*one.device, snapshot)) {
      if (!instance->partition) continue;
      std::string labels = one.labels;
      std::string identity = one.labels;
      add_label(identity, "mig_uuid", instance->id.text());
      add_label(identity, "gpu_instance_id", std::to_string(instance->partition->gpu_instance));
      add_label(identity, "compute_instance_id",
                std::to_string(instance->partition->compute_instance));
      if (!seen.insert(identity).second) continue;
      if (instance->name.get()) {
        const std::string_view name = *instance->name.get();
        const auto at = name.rfind(" MIG ");
        if (at != std::string_view::npos) add_label(identity, "profile", name.substr(at + 5));
      }
      out.add(identity, decimal(1));
      add_label(labels, "gpu_instance_id", std::to_string(instance->partition->gpu_instance));
      if (seen.insert(labels).second)
        instances.push_back({instance, labels, DetailTable(*instance)});
    }
  }
  static const std::vector<KnownRow> rows = known_rows(instance_rows);
  write_rows(rows, instances, snapshot, out);
}

void write_smi_xids(const std::vector<PageDevice>& gpus, const Scrape& scrape, Exposition& out) {
  std::vector<std::pair<std::string, const XidCount*>> counts;
  for (const XidCount& xid : scrape.xids) {
    const Device* device = device_at(xid.pci_address, scrape.snapshot);
    const auto gpu = std::ranges::find(gpus, device, &PageDevice::device);
    if (device == nullptr || gpu == gpus.end()) continue;
    std::string labels = gpu->labels;
    add_label(labels, "xid", std::to_string(xid.code));
    counts.emplace_back(std::move(labels), &xid);
  }
  out.begin({"nvidia_smi_xid_errors_total", counter, "XID errors in the kernel log."});
  for (const auto& [labels, xid] : counts) out.add(labels, decimal(xid->count));
  out.begin({"nvidia_smi_xid_last_timestamp_seconds", gauge, "When the newest of them was."});
  for (const auto& [labels, xid] : counts) out.add(labels, unix_seconds(xid->last));
}

/// Where nvidia-smi has a line for each process that computes, there are as many series: only for
/// those who ask.
void write_compute_apps(const std::vector<PageDevice>& gpus, const Scrape& scrape,
                        const MetricsOptions& options, Exposition& out) {
  const Snapshot& snapshot = scrape.snapshot;
  std::vector<std::pair<std::string, const GpuProcess*>> processes;
  std::set<std::string> seen;
  std::vector<std::uint64_t> counts(gpus.size(), 0);
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (process.use == GpuUse::graphics) continue;
    const Device* device = find_device(process.device, snapshot);
    if (device != nullptr && device->parent) device = find_device(*device->parent, snapshot);
    const auto gpu = std::ranges::find(gpus, device, &PageDevice::device);
    if (device == nullptr || gpu == gpus.end()) continue;
    ++counts[static_cast<std::size_t>(gpu - gpus.begin())];
    if (processes.size() == options.most_processes) continue;
    std::string labels = gpu->labels;
    add_label(labels, "pid", std::to_string(process.pid));
    if (!seen.insert(labels).second) continue;
    add_label(labels, "process_name", smi::process_name(process, snapshot));
    processes.emplace_back(std::move(labels), &process);
  }
  out.begin({"nvidia_smi_compute_app_info", info, "A process that computes on a GPU."});
  for (const auto& [labels, process] : processes) out.add(labels, decimal(1));
  out.begin({"nvidia_smi_compute_app_used_memory_bytes", gauge, "Its memory there."});
  for (const auto& [labels, process] : processes) {
    out.add(labels, {}, decimal_in(cell_of(process->memory), 0));
  }
  out.begin({"nvidia_smi_compute_apps", gauge, "Processes that compute on a GPU."});
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    // A list that could not be read is not an empty one.
    if (is_list_unread(*gpus[i].device)) continue;
    out.add(gpus[i].labels, decimal(counts[i]));
  }
  out.begin({"nvidia_smi_compute_apps_last_collect_success", gauge,
             "Whether processes could be listed in the newest look."});
  out.add(decimal(has_driver_failed(snapshot) ? 0 : 1));
}

}  // namespace

void write_nvidia_smi_further(const std::vector<PageDevice>& gpus, const Scrape& scrape,
                              const MetricsOptions& options, Exposition& out) {
  static const std::vector<KnownRow> rows = known_rows(card_rows);
  write_rows(rows, gpus, scrape.snapshot, out);
  write_instances(gpus, scrape.snapshot, out);
  write_smi_xids(gpus, scrape, out);
  if (options.per_process) write_compute_apps(gpus, scrape, options, out);
}

}  // namespace berth::serve
