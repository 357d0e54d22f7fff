// The berth profile's devices: their states and readings, health, the last minute, XID errors.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "health/health.h"
#include "serve/metrics_families.h"
#include "serve/metrics_page.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth::serve {

namespace {

/// The help of a family that has several rows of the field table. Each row's own help tells of that
/// row alone.
struct GroupHelp {
  std::string_view family;
  std::string_view help;
};
constexpr auto group_helps = std::to_array<GroupHelp>({
    {"berth_device_throttled", "1 where this holds the clocks back now."},
    {"berth_device_throttled_seconds_total", "Time in which this held the clocks back."},
    {"berth_device_repair_pending", "Whether the next reset repairs this part."},
    {"berth_device_retired_pages", "Pages of memory retired for this."},
    {"berth_device_remapped_rows", "Rows of memory replaced for errors that were this."},
    {"berth_device_remap_banks", "Memory banks with so many of their spare rows left."},
    {"berth_device_nvlink_errors_total", "Errors on all NVLinks."},
    {"berth_device_look_power_watts", "Power between the newest look and the one before."},
    {"berth_device_look_utilization_ratio",
     "Share of time in which any kernel ran, between the newest look and the one before."},
    {"berth_device_look_memory_utilization_ratio",
     "Share of time in which memory was read or written, between the newest look and the one "
     "before."},
});

Family family_of_row(const Field& field) {
  const std::string_view name = field.metric.substr(0, field.metric.find('{'));
  const auto* group = std::ranges::find(group_helps, name, &GroupHelp::family);
  return {.name = name,
          .type = name.ends_with("_total") ? MetricType::counter : MetricType::gauge,
          .help = group == group_helps.end() ? field.help : group->help};
}

/// The label that a row has beside its device's: reason="idle".
std::string_view label_of_row(const Field& field) {
  const auto brace = field.metric.find('{');
  if (brace == std::string_view::npos) return {};
  return field.metric.substr(brace + 1, field.metric.size() - brace - 2);
}

/// A row of the field table that is a metric.
struct ReadingRow {
  const Field* field = nullptr;
  Family family;
  bool begins_family = false;
  std::string_view label;
  int exponent = 0;
};

std::vector<ReadingRow> rows_of_the_table() {
  std::vector<ReadingRow> rows;
  for (const Field& field : fields()) {
    if (field.metric.empty()) continue;
    const Family family = family_of_row(field);
    rows.push_back({.field = &field,
                    .family = family,
                    .begins_family = rows.empty() || rows.back().family.name != family.name,
                    .label = label_of_row(field),
                    .exponent = base_unit_exponent(field.unit)});
  }
  return rows;
}

void write_readings(const Page& page) {
  // Follows from a constant table.
  static const std::vector<ReadingRow> rows = rows_of_the_table();
  for (const ReadingRow& row : rows) {
    if (row.begins_family) page.out.begin(row.family);
    for (const PageDevice& one : page.devices) {
      page.out.add(one.labels, row.label,
                   told_by(*row.field, one, page.scrape.snapshot,
                           [&](const Cell& cell) { return decimal_in(cell, row.exponent); }));
    }
  }
}

void write_states(const Page& page) {
  std::array<std::uint64_t, device_state_count> counts{};
  std::vector<DeviceState> states;
  for (const PageDevice& one : page.devices) {
    states.push_back(state_of(*one.device, page.index));
    ++counts[static_cast<std::size_t>(states.back())];
  }
  const auto label = [](std::size_t state) {
    return fmt::format("state=\"{}\"", name_of(static_cast<DeviceState>(state)));
  };
  page.out.begin(families::devices);
  for (std::size_t state = 0; state < device_state_count; ++state) {
    page.out.add(label(state), decimal(counts[state]));
  }
  page.out.begin(families::device_state);
  for (std::size_t state = 0; state < device_state_count; ++state) {
    const std::string in_it = label(state);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const bool is_it = static_cast<std::size_t>(states[i]) == state;
      page.out.add(page.devices[i].labels, in_it, decimal(is_it ? 1 : 0));
    }
  }
}

void write_device_infos(const Page& page) {
  page.out.begin(families::device_info);
  for (const PageDevice& one : page.devices) {
    const Device& device = *one.device;
    std::string more;
    add_label(more, "kind", facts_of(device.kind).name);
    const auto reading = [&](std::string_view name, const Reading<std::string>& text) {
      if (text.get()) add_label(more, name, *text.get());
    };
    reading("pci_address", device.pci_address);
    reading("architecture", device.architecture);
    reading("vbios_version", device.vbios_version);
    if (device.parent) add_label(more, "parent", device.parent->text());
    page.out.add(one.labels, more, decimal(1));
  }
}

struct Examined {
  const PageDevice* device = nullptr;
  DeviceHealth health;
};

void write_findings(const Page& page, const std::vector<Examined>& examined) {
  page.out.begin(families::device_finding);
  for (const Examined& one : examined) {
    std::vector<std::string_view> said;  // of one kind the worst stands first
    for (const Finding& finding : one.health.findings) {
      if (std::ranges::find(said, finding.rule) != said.end()) continue;
      said.emplace_back(finding.rule);
      std::string more;
      add_label(more, "code", finding.rule);
      add_label(more, "health", name_of(state_of(finding)));
      page.out.add(one.device->labels, more, decimal(1));
    }
  }
  page.out.begin(families::device_not_examined);
  for (const Examined& one : examined) {
    page.out.add(one.device->labels, decimal(one.health.not_examined.size()));
  }
}

void write_health(const Page& page) {
  std::vector<Examined> examined;
  for (const PageDevice& one : page.devices) {
    if (!is_examined(*one.device)) continue;  // as health_of(snapshot)
    examined.push_back({&one, health_of(*one.device, page.scrape.snapshot)});
  }
  page.out.begin(families::device_health);
  for (const HealthState state : {HealthState::ok, HealthState::notice, HealthState::unknown,
                                  HealthState::degraded, HealthState::failed}) {
    const std::string label = fmt::format("health=\"{}\"", name_of(state));
    for (const Examined& one : examined) {
      page.out.add(one.device->labels, label, decimal(one.health.state == state ? 1 : 0));
    }
  }
  write_findings(page, examined);
}

struct DeviceStatistics {
  const PageDevice* device = nullptr;
  const DeviceWindow* window = nullptr;
};

void write_window_row(const std::vector<DeviceStatistics>& devices, const WindowRow& row,
                      Exposition& out) {
  const int exponent = base_unit_exponent(row.field->unit);
  const std::string family = row.family();
  out.begin({.name = family, .help = row.field->help});
  const auto each = [&](std::string_view label, auto number) {
    for (const auto& [device, window] : devices) {
      const WindowStatistic* statistic = window->of(row.field->key);
      if (statistic != nullptr) {
        out.add(device->labels, label, rounded(number(*statistic), exponent));
      }
    }
  };
  each("statistic=\"min\"", [](const WindowStatistic& one) { return one.looks.least(); });
  each("statistic=\"mean\"", [](const WindowStatistic& one) { return one.looks.mean(); });
  each("statistic=\"p95\"", [](const WindowStatistic& one) { return one.p95; });
  each("statistic=\"max\"", [](const WindowStatistic& one) { return one.looks.most(); });
}

void write_window(const Page& page) {
  const WindowStatistics* window = page.scrape.window;
  if (window == nullptr || window->looks == 0) return;
  page.out.begin(families::window_seconds);
  page.out.add(seconds(window->span));
  page.out.begin(families::window_looks);
  page.out.add(decimal(window->looks));
  std::vector<DeviceStatistics> devices;
  for (std::size_t i = 0; i < page.devices.size(); ++i) {
    const DeviceWindow* one = window->of(page.devices[i].device->id, i);
    if (one != nullptr) devices.push_back({&page.devices[i], one});
  }
  for (const WindowRow& row : window_rows()) write_window_row(devices, row, page.out);
}

/// A card that is not there any more is known by its address.
std::string labels_of_xid(const XidCount& xid, const Page& page) {
  std::string labels;
  const Device* device = card_at(xid.pci_address, page.scrape.snapshot);
  const auto found = std::ranges::find(page.devices, device, &PageDevice::device);
  if (device != nullptr && found != page.devices.end()) {
    labels = found->labels;
  } else {
    add_label(labels, "uuid", xid.pci_address);
  }
  add_label(labels, "xid", std::to_string(xid.code));
  return labels;
}

void write_xid_counts(const Page& page) {
  page.out.begin(families::xid_errors);
  for (const XidCount& xid : page.scrape.xids)
    page.out.add(labels_of_xid(xid, page), decimal(xid.count));
  page.out.begin(families::xid_last);
  for (const XidCount& xid : page.scrape.xids) {
    page.out.add(labels_of_xid(xid, page), unix_seconds(xid.last));
  }
}

/// "3"; of an instance "3:0", the second number as nvidia-smi counts the instances of a card.
std::string shown_index(const Device& device, const Snapshot& snapshot) {
  if (!device.index) return "";
  std::string text = std::to_string(*device.index);
  if (!device.parent) return text;
  int place = 0;
  for (const Device& other : snapshot.devices) {
    if (&other == &device) break;
    if (other.parent == device.parent) ++place;
  }
  return text + ":" + std::to_string(place);
}

}  // namespace

std::vector<PageDevice> page_devices(const Snapshot& snapshot) {
  std::vector<PageDevice> devices;
  devices.reserve(snapshot.devices.size());
  std::unordered_set<std::string> seen;
  for (const Device& device : snapshot.devices) {
    std::string labels;
    labels.reserve(128);
    add_label(labels, "uuid", device.id.text());
    if (!seen.insert(labels).second) continue;
    labels.clear();
    add_label(labels, "device", shown_index(device, snapshot));
    add_label(labels, "uuid", device.id.text());
    if (device.name.get()) add_label(labels, "name", *device.name.get());
    devices.push_back({&device, std::move(labels), DetailTable(device)});
  }
  return devices;
}

void write_devices(const Page& page) {
  write_states(page);
  write_device_infos(page);
  write_readings(page);
  write_health(page);
  write_window(page);
  write_xid_counts(page);
}

}  // namespace berth::serve
