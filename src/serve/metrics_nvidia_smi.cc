// The nvidia_smi profile: nvidia_gpu_exporter's names. They follow from the columns of --query-gpu.
// Dots become _, capitals _ and a small letter, and a unit becomes a word at the end. Values that
// no column holds have names of their own, further below.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include "base/text.h"
#include "serve/metrics_page.h"
#include "smi/csv.h"
#include "smi/facts.h"
#include "snapshot/questions.h"

namespace berth::serve {

namespace {

using smi::Format;
using enum MetricType;

struct UnitSuffix {
  Format format;
  std::string_view word;
};
constexpr auto unit_suffixes = std::to_array<UnitSuffix>({
    {Format::memory, "_bytes"},
    {Format::percent, "_ratio"},
    {Format::percent_exact, "_ratio"},
    {Format::watts, "_watts"},
    {Format::megahertz, "_clock_hz"},
    {Format::microseconds, "_seconds"},
    {Format::milliseconds, "_seconds"},
    {Format::seconds, "_seconds"},
});

/// "encoder.stats.sessionCount" is "encoder_stats_session_count".
std::string snake_case(std::string_view name) {
  std::string snake;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool begins_word = std::isupper(c) != 0 && i > 0 && name[i - 1] != '.' &&
                             std::isupper(static_cast<unsigned char>(name[i - 1])) == 0;
    if (begins_word) snake += '_';
    snake += c == '.' ? '_' : static_cast<char>(std::tolower(c));
  }
  return snake;
}

struct QueryColumn {
  std::string metric;
  std::string help;
  const smi::CsvField* csv = nullptr;
  const Field* field = nullptr;
  int exponent = 0;               // of ten, to the base unit
  std::optional<int> deprecated;  // since that branch of drivers
};

std::vector<QueryColumn> columns_of_the_query() {
  std::vector<QueryColumn> columns;
  for (const smi::CsvField& csv : smi::csv_rows::gpu_fields) {
    const Field* field = find_field(csv.name);
    // A date is no reading, and "valid" no word that the exporter knows.
    if (field == nullptr || csv.format == Format::date || csv.format == Format::valid) continue;
    const auto* suffix = std::ranges::find(unit_suffixes, csv.format, &UnitSuffix::format);
    std::string metric = "nvidia_smi_" + snake_case(csv.name);
    if (suffix != unit_suffixes.end()) metric += suffix->word;
    columns.push_back({.metric = std::move(metric),
                       .help = smi::csv_heading(csv.name, smi::unit_of(csv.format)),
                       .csv = &csv,
                       .field = field,
                       .exponent = base_unit_exponent(field->unit),
                       .deprecated = smi::deprecated_since(field->key)});
  }
  return columns;
}

struct StateWord {
  std::string_view column;
  std::string_view word;
  std::uint64_t number;
};
/// Texts that are states, as numbers of NVML's enumerations.
constexpr auto state_words = std::to_array<StateWord>({
    {"compute_mode", "Default", 0},
    {"compute_mode", "Exclusive_Thread", 1},
    {"compute_mode", "Prohibited", 2},
    {"compute_mode", "Exclusive_Process", 3},
    {"gpu_recovery_action", "None", 0},
    {"gpu_recovery_action", "GPU Reset", 1},
    {"gpu_recovery_action", "Reset", 1},
    {"gpu_recovery_action", "Node Reboot", 2},
    {"gpu_recovery_action", "Reboot", 2},
    {"gpu_recovery_action", "Drain P2P", 3},
    {"gpu_recovery_action", "Drain and Reset", 4},
    {"fabric.state", "Not Supported", 0},
    {"fabric.state", "Not Started", 1},
    {"fabric.state", "In Progress", 2},
    {"fabric.state", "Completed", 3},
});

/// "9.0": a text that is a decimal number and nothing else. At most so long that nothing is lost.
std::optional<Decimal> number_in_text(std::string_view text) {
  if (text.empty() || text.size() > 15 || text.back() == '.') return std::nullopt;
  Decimal number;
  bool after_point = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && i > 0 && !after_point) {
      after_point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    number.count = 10 * number.count + static_cast<std::uint64_t>(text[i] - '0');
    if (after_point) --number.exponent;
  }
  return number;
}

std::optional<Decimal> text_sample(const QueryColumn& column, const std::string& text) {
  if (column.csv->format == Format::pci_number) {  // "10de:2330" is 0x233010DE
    const std::string hex = smi::shown(text, Format::pci_number, smi::Surface::xml);
    std::uint64_t number = 0;
    const char* end = hex.data() + hex.size();
    const auto parsed = std::from_chars(hex.data(), end, number, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    return decimal(number);
  }
  if (column.csv->format != Format::text) return std::nullopt;
  bool is_state = false;
  for (const StateWord& word : state_words) {
    if (word.column != column.csv->name) continue;
    is_state = true;
    if (equals_ignoring_case(word.word, trimmed(text))) return decimal(word.number);
  }
  return is_state ? std::nullopt : number_in_text(text);
}

std::optional<Decimal> column_number(const QueryColumn& column, const Cell& cell) {
  if (!cell.get()) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&*cell.get())) return text_sample(column, *text);
  return decimal_in(cell, column.exponent);
}

std::vector<PageDevice> smi_gpus(const Snapshot& snapshot) {
  std::vector<PageDevice> gpus;
  std::set<std::string> seen;
  gpus.reserve(snapshot.devices.size());
  for (const Device* gpu : smi::gpus(snapshot, {})) {
    std::string uuid = small_letters(gpu->id.text());
    if (uuid.starts_with("gpu-")) uuid.erase(0, 4);
    std::string labels;
    add_label(labels, "uuid", uuid);
    if (seen.insert(labels).second) gpus.push_back({gpu, labels, DetailTable(*gpu)});
  }
  return gpus;
}

/// The columns that gpu_info has as labels, in the order of its own.
constexpr auto info_columns = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"name", "name"},
    {"driver_model_current", "driver_model.current"},
    {"driver_model_pending", "driver_model.pending"},
    {"vbios_version", "vbios_version"},
    {"driver_version", "driver_version"},
    {"pci_bus_id", "pci.bus_id"},
    {"serial", "serial"},
    {"compute_cap", "compute_cap"},
    {"pci_sub_device_id", "pci.sub_device_id"},
    {"index", "index"},
});

struct InfoLabel {
  std::string_view label;
  const QueryColumn* column = nullptr;
};

std::vector<InfoLabel> info_labels(const std::vector<QueryColumn>& columns) {
  std::vector<InfoLabel> labels;
  for (const auto& [label, name] : info_columns) {
    const auto column =
        std::ranges::find(columns, name, [](const QueryColumn& one) { return one.csv->name; });
    if (column != columns.end()) labels.push_back({label, &*column});
  }
  return labels;
}

void write_info(const std::vector<PageDevice>& gpus, const std::vector<InfoLabel>& of_info,
                const Snapshot& snapshot, Exposition& out) {
  out.begin({"nvidia_smi_gpu_info", MetricType::info, "What a GPU is."});
  for (const auto& [gpu, labels, details] : gpus) {
    std::string more;
    for (const auto& [label, column] : of_info) {
      const Cell cell = column->field->read(*gpu, snapshot);
      if (!cell.get()) continue;
      add_label(more, label, smi::shown(*cell.get(), column->csv->format, smi::Surface::csv));
    }
    const auto& cuda = snapshot.host.software_of(*gpu).runtime;
    if (cuda.get()) add_label(more, "cuda_version", *cuda.get());
    out.add(labels, more, decimal(1));
  }
}

void write_columns(const std::vector<PageDevice>& gpus, const std::vector<QueryColumn>& columns,
                   const Snapshot& snapshot, Exposition& out) {
  const smi::DriverNumber driver = smi::driver_of(snapshot);
  for (const QueryColumn& column : columns) {
    if (column.deprecated && driver.branch >= *column.deprecated) continue;
    out.begin({.name = column.metric, .help = column.help});
    for (const PageDevice& one : gpus) {
      out.add(one.labels, {}, told_by(*column.field, one, snapshot, [&](const Cell& cell) {
                return column_number(column, cell);
              }));
    }
  }
}

void write_collection(const Scrape& scrape, Exposition& out) {
  const bool worked = !has_driver_failed(scrape.snapshot);
  const auto one = [&](const Family& family, Decimal value) {
    out.begin(family);
    out.add(value);
  };
  one({"nvidia_smi_last_collect_success", gauge, "Whether the driver answered in the newest look."},
      decimal(worked ? 1 : 0));
  if (worked) {
    one({"nvidia_smi_last_collect_success_timestamp_seconds", gauge, "When it last did."},
        unix_seconds(scrape.snapshot.taken));
    one({"nvidia_smi_command_exit_code", gauge, "0: it answered."}, decimal(0));
  }
  one({"nvidia_smi_last_collect_duration_seconds", gauge, "How long the newest look took."},
      seconds(scrape.look_duration));
  one({"nvidia_smi_failed_scrapes_total", counter, "Looks of which nothing came."},
      decimal(scrape.daemon.looks_failed));
}

// --- series of no column: energy, rates, MIG instances, XID errors, processes

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
    const Device* device = card_at(xid.pci_address, scrape.snapshot);
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

/// One series for each line that nvidia-smi has for a computing process. Only if they are asked
/// for.
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

void write_further(const std::vector<PageDevice>& gpus, const Scrape& scrape,
                   const MetricsOptions& options, Exposition& out) {
  static const std::vector<KnownRow> rows = known_rows(card_rows);
  write_rows(rows, gpus, scrape.snapshot, out);
  write_instances(gpus, scrape.snapshot, out);
  write_smi_xids(gpus, scrape, out);
  if (options.per_process) write_compute_apps(gpus, scrape, options, out);
}

}  // namespace

void write_nvidia_smi(const Scrape& scrape, const MetricsOptions& options, Exposition& out) {
  // They follow from two constant tables and take longer to find than a page may take.
  static const std::vector<QueryColumn> columns = columns_of_the_query();
  static const std::vector<InfoLabel> of_info = info_labels(columns);
  const std::vector<PageDevice> gpus = smi_gpus(scrape.snapshot);
  write_collection(scrape, out);
  write_info(gpus, of_info, scrape.snapshot, out);
  write_columns(gpus, columns, scrape.snapshot, out);
  write_further(gpus, scrape, options, out);
}

}  // namespace berth::serve
