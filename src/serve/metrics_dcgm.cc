// The dcgm profile: dcgm-exporter's default counters (etc/default-counters.csv of 4.5.3-4.8.2).
// Names, types, units and labels are dcgm-exporter's, in its order. So what was built for it works
// unchanged. If the driver does not tell us what DCGM asks for, there is no sample.

#include <array>
#include <set>

#include "base/text.h"
#include "health/xid.h"
#include "serve/metrics_page.h"
#include "smi/facts.h"
#include "snapshot/snapshot_index.h"

namespace berth::serve {

namespace {

/// Only in a virtual machine is there a licence to have.
std::optional<Decimal> dcgm_license(const Device& device) {
  const Reading<std::string> status = device.details.get<std::string>(Detail::vgpu_license_status);
  if (!status.get()) return std::nullopt;
  return decimal(status.get()->starts_with("Licensed") ? 1 : 0);
}

/// DCGM's field 449 is called a counter, and is a rate. It is what the link counters (KiB, both
/// directions) grew by in a second, divided by 1000.
std::optional<Decimal> dcgm_nvlink(const Device& device) {
  const auto sent = device.details.get<BytesPerSecond>(Detail::nvlink_sent_rate);
  const auto received = device.details.get<BytesPerSecond>(Detail::nvlink_received_rate);
  if (!sent.get() || !received.get()) return std::nullopt;
  constexpr std::uint64_t unit = std::uint64_t{1024} * 1000;
  return decimal((sent.get()->count() + received.get()->count()) / unit);
}

using enum MetricType;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

constexpr auto dcgm_rows = std::to_array<MetricRow>({
    {{"DCGM_FI_DEV_SM_CLOCK", gauge, "SM clock frequency (in MHz)."}, "clock_sm_megahertz"},
    {{"DCGM_FI_DEV_MEM_CLOCK", gauge, "Memory clock frequency (in MHz)."},
     "clock_memory_megahertz"},
    {{"DCGM_FI_DEV_MEMORY_TEMP", gauge, "Memory temperature (in C)."},
     "temperature_memory_celsius"},
    {{"DCGM_FI_DEV_GPU_TEMP", gauge, "GPU temperature (in C)."}, "temperature_celsius"},
    {.family = {"DCGM_FI_DEV_POWER_USAGE", gauge, "Power draw (in W)."},
     .key = "power_draw_milliwatts",
     .exponent = -3},
    {{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", counter,
      "Total energy consumption since boot (in mJ)."},
     "energy_millijoules"},
    {{"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", counter, "Total number of PCIe retries."}, "pcie_replays"},
    {{"DCGM_FI_DEV_GPU_UTIL", gauge, "GPU utilization (in %)."}, "utilization_gpu_percent"},
    {{"DCGM_FI_DEV_MEM_COPY_UTIL", gauge, "Memory utilization (in %)."},
     "utilization_memory_percent"},
    {{"DCGM_FI_DEV_ENC_UTIL", gauge, "Encoder utilization (in %)."}, "utilization_encoder_percent"},
    {{"DCGM_FI_DEV_DEC_UTIL", gauge, "Decoder utilization (in %)."}, "utilization_decoder_percent"},
    {.family = {"DCGM_FI_DEV_FB_FREE", gauge, "Framebuffer memory free (in MiB)."},
     .key = "memory_free_bytes",
     .per = mebibyte},
    {.family = {"DCGM_FI_DEV_FB_USED", gauge, "Framebuffer memory used (in MiB)."},
     .key = "memory_used_bytes",
     .per = mebibyte},
    {.family = {"DCGM_FI_DEV_FB_RESERVED", gauge, "Framebuffer memory reserved (in MiB)."},
     .key = "memory_reserved_bytes",
     .per = mebibyte},
    {.family = {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", gauge,
                "NVLink traffic on all lanes, sent and received (in 1000 KiB/s)."},
     .own = dcgm_nvlink},
    {.family = {"DCGM_FI_DEV_VGPU_LICENSE_STATUS", gauge, "vGPU License status"},
     .own = dcgm_license},
    {{"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", counter,
      "Number of remapped rows for uncorrectable errors"},
     "remapped_rows_uncorrectable"},
    {{"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", counter,
      "Number of remapped rows for correctable errors"},
     "remapped_rows_correctable"},
    {{"DCGM_FI_DEV_ROW_REMAP_FAILURE", gauge, "Whether remapping of rows has failed"},
     "remapped_rows_failed"},
    {.family = {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", gauge,
                "Ratio of time the graphics engine is active."},
     .key = "activity_graphics_percent",
     .exponent = -2},
    {.family = {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", gauge,
                "Ratio of cycles the tensor (HMMA) pipe is active."},
     .key = "activity_tensor_percent",
     .exponent = -2},
    {.family = {"DCGM_FI_PROF_DRAM_ACTIVE", gauge,
                "Ratio of cycles the device memory interface is active sending or receiving data."},
     .key = "activity_dram_percent",
     .exponent = -2},
    {{"DCGM_FI_PROF_PCIE_TX_BYTES", gauge,
      "The rate of data transmitted over the PCIe bus in bytes per second."},
     "pcie_sent_rate_bytes_per_second"},
    {{"DCGM_FI_PROF_PCIE_RX_BYTES", gauge,
      "The rate of data received over the PCIe bus in bytes per second."},
     "pcie_received_rate_bytes_per_second"},
});

constexpr Family dcgm_xid_errors{"DCGM_FI_DEV_XID_ERRORS", gauge,
                                 "Value of the last XID error encountered."};

/// What an instance is called behind its card's name: "1g.10gb".
std::string_view mig_profile(const Device& instance) {
  if (!instance.name.get()) return {};
  const std::string_view name = *instance.name.get();
  const auto at = name.rfind(" MIG ");
  return at == std::string_view::npos ? std::string_view() : name.substr(at + 5);
}

/// The labels that come before those of single metrics. An instance has its card's.
std::string dcgm_labels(const Device& gpu, const Device* instance, const Scrape& scrape,
                        const MetricsOptions& options) {
  std::string labels;
  const std::string index = std::to_string(gpu.index.value_or(0));
  add_label(labels, "gpu", index);
  add_label(labels, "UUID", gpu.id.text());
  add_label(labels, "pci_bus_id", smi::bus_id(gpu));
  add_label(labels, "device", "nvidia" + index);
  if (gpu.name.get()) add_label(labels, "modelName", *gpu.name.get());
  if (instance != nullptr) {
    add_label(labels, "GPU_I_PROFILE", mig_profile(*instance));
    add_label(labels, "GPU_I_ID", std::to_string(instance->partition->gpu_instance));
  }
  const Host& host = scrape.snapshot.host;
  if (!options.dcgm_hostname_label.empty() && host.name.get()) {
    add_label(labels, options.dcgm_hostname_label, *host.name.get());
  }
  const auto& driver = host.software_of(gpu).driver;
  if (driver.get()) add_label(labels, "DCGM_FI_DRIVER_VERSION", *driver.get());
  return labels;
}

/// As dcgm-exporter has them in Kubernetes: of the container that is alone on the device. It asks
/// the kubelet who was given it; we see who computes there.
void add_pod_labels(std::string& labels, const Device& device, const SnapshotIndex& index) {
  const std::string* alone = nullptr;
  for (const GpuProcess* process : index.processes_itself(device.id)) {
    const HostProcess* known = index.process(process->pid);
    if (known == nullptr || !known->enclosure || !known->enclosure->pod_uid) continue;
    const auto& name = known->enclosure->name.get();
    if (!name || (alone != nullptr && *alone != *name)) return;
    alone = &*name;
  }
  const auto parts = split(alone == nullptr ? std::string_view() : *alone, '/');
  if (parts.size() != 3) return;
  add_label(labels, "container", parts[2]);
  add_label(labels, "namespace", parts[0]);
  add_label(labels, "pod", parts[1]);
}

/// Cards, each with its instances behind it; of instances that share memory only one, as in DCGM.
std::vector<PageDevice> dcgm_devices(const Scrape& scrape, const MetricsOptions& options) {
  std::vector<PageDevice> devices;
  std::set<std::string> seen;
  const SnapshotIndex index(scrape.snapshot);
  const auto add = [&](const Device& device, std::string labels) {
    if (!seen.insert(labels).second) return;
    add_pod_labels(labels, device, index);
    devices.push_back({&device, std::move(labels), DetailTable(device)});
  };
  for (const Device* gpu : smi::gpus(scrape.snapshot, {})) {
    add(*gpu, dcgm_labels(*gpu, nullptr, scrape, options));
    for (const Device* instance : smi::instances_of(*gpu, scrape.snapshot)) {
      if (instance->partition) add(*instance, dcgm_labels(*gpu, instance, scrape, options));
    }
  }
  return devices;
}

/// 0 is "none", where the kernel log could be read.
void write_dcgm_xids(const std::vector<PageDevice>& devices, const Scrape& scrape,
                     Exposition& out) {
  out.begin(dcgm_xid_errors);
  for (const auto& [device, labels, details] : devices) {
    if (device->parent) continue;
    const XidCount* newest = nullptr;
    for (const XidCount& xid : scrape.xids) {
      if (card_at(xid.pci_address, scrape.snapshot) != device) continue;
      if (newest == nullptr || xid.last > newest->last) newest = &xid;
    }
    if (newest == nullptr && !scrape.snapshot.xids.get()) continue;
    const std::uint64_t code = newest == nullptr ? 0 : newest->code;
    std::string more;
    add_label(more, "err_code", std::to_string(code));
    add_label(more, "err_msg", code == 0 ? "No Error" : xid_facts(code).meaning);
    out.add(labels, more, decimal(code));
  }
}

}  // namespace

void write_dcgm(const Scrape& scrape, const MetricsOptions& options, Exposition& out) {
  const std::vector<PageDevice> devices = dcgm_devices(scrape, options);
  static const std::vector<KnownRow> rows = known_rows(dcgm_rows);
  write_rows(rows, devices, scrape.snapshot, out);
  write_dcgm_xids(devices, scrape, out);
}

std::vector<Family> dcgm_families() {
  std::vector<Family> families;
  for (const MetricRow& row : dcgm_rows) families.push_back(row.family);
  families.push_back(dcgm_xid_errors);
  return families;
}

}  // namespace berth::serve
