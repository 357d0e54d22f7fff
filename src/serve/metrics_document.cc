// The parts of doc/METRICS.md beside the field table.

#include <fmt/format.h>

#include "serve/metrics_families.h"
#include "serve/metrics_page.h"

namespace berth::serve {

namespace {

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::gauge:
      return "gauge";
    case MetricType::counter:
      return "counter";
    case MetricType::info:
      return "info";
  }
  return "gauge";
}

std::string document_row(const Family& family) {
  return fmt::format("| `{}` | {} | {} | {} |\n", family.name, type_name(family.type),
                     family.labels, family.help);
}

}  // namespace

std::string metrics_markdown() {
  std::string text =
      "\n## Metrics that are of no field\n\n"
      "Of the `berth` profile. Those of the table above have the labels device (the index; of a\n"
      "MIG instance card and place, as 6:0), uuid and name. Counters end in _total and begin anew\n"
      "when the driver or the daemon does.\n\n"
      "| Metric | Type | Labels | What it is |\n"
      "|---|---|---|---|\n";
  for (const Family* family : families::all) text += document_row(*family);
  text +=
      "\n## The last minute\n\n"
      "Of each look and of what the driver sampled between two looks, for any scraper, however\n"
      "often it comes: labels device, uuid, name and statistic (min, mean, max, and p95: the 95th\n"
      "percentile of the looks' means).\n\n"
      "| Metric | Type | Labels | What it is |\n"
      "|---|---|---|---|\n";
  for (const WindowRow& row : window_rows()) {
    const std::string family = row.family();
    text += document_row(
        Family{.name = family, .help = row.field->help, .labels = "device, uuid, name, statistic"});
  }
  text +=
      "\n## The dcgm profile\n\n"
      "dcgm-exporter's default names, in its units. Labels: gpu, UUID, pci_bus_id, device,\n"
      "modelName, of a MIG instance GPU_I_PROFILE and GPU_I_ID, hostname (or Hostname, or none),\n"
      "DCGM_FI_DRIVER_VERSION, and container, namespace, pod of a container that is alone on the\n"
      "device, where it is named. In OpenMetrics its counters have no type, because they are not\n"
      "called …_total. DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL is a rate there too, though its list\n"
      "calls it a counter: here it has the type of what it is.\n\n"
      "| Metric | Type | Labels | What it is |\n"
      "|---|---|---|---|\n";
  for (const Family& family : dcgm_families()) text += document_row(family);
  text +=
      "\n## The nvidia_smi profile\n\n"
      "Each column of `nvidia-smi --query-gpu` that is a number or a yes and no: `nvidia_smi_`,\n"
      "the name with _ for its dots, and the unit: _bytes, _ratio, _watts, _clock_hz, _seconds.\n"
      "Label: uuid, without its GPU-. Beside them gpu_info, energy_joules_total,\n"
      "pcie_throughput_{tx,rx}_bytes_per_second, mig_info and mig_…, xid_errors_total,\n"
      "xid_last_timestamp_seconds, compute_app_… (only where asked for), and how the look went:\n"
      "last_collect_success, last_collect_duration_seconds, failed_scrapes_total.\n";
  return text;
}

}  // namespace berth::serve
