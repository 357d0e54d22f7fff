#include "view/fleet_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/questions.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

/// A host's line: its name, free cards, each card's load, their memory, waiters, users.
constexpr auto fleet_columns = std::to_array<TableColumn>({
    {.header = as_key("SERVER"), .minimum = 8},
    {.header = as_key("FREE"), .align = Align::right},
    {.header = as_key("LOAD"), .drop_order = 3, .when_empty = WhenEmpty::goes},
    {.header = as_key("MEMORY"),
     .align = Align::right,
     .drop_order = 2,
     .when_empty = WhenEmpty::goes},
    {.header = as_key("WAITING"),
     .align = Align::right,
     .drop_order = 1,
     .when_empty = WhenEmpty::goes},
    {.header = as_key("USERS"), .minimum = 8, .drop_order = 4, .when_empty = WhenEmpty::goes},
});

/// A line of more cards than this says nothing that one could see.
constexpr std::size_t most_bars = 32;

std::string_view host_state_word(HostState state) {
  switch (state) {
    case HostState::ok:
      return tr("ok");
    case HostState::stale:
      return tr("stale");
    case HostState::unreachable:
      return tr("unreachable");
    case HostState::refused:
      return tr("refused");
    case HostState::incompatible:
      return tr("incompatible");
  }
  return {};
}

bool has_state(const HostDevice& device, DeviceState state) {
  return device.state == name_of(state);
}

struct Sum {
  std::size_t devices = 0;  // what a job could be given
  std::size_t free = 0;
  std::size_t failed = 0;
};

Sum sum_of(const HostOverview& overview) {
  Sum sum;
  for (const HostDevice& device : overview.devices) {
    const bool is_card_in_parts = has_state(device, DeviceState::divided);
    if (!is_card_in_parts) ++sum.devices;
    if (has_state(device, DeviceState::free)) ++sum.free;
    if (has_state(device, DeviceState::lost) || device.health == "failed") ++sum.failed;
  }
  return sum;
}

std::string load_text(const HostOverview& overview, const Style& style) {
  std::vector<Reading<double>> loads;
  for (const HostDevice& device : overview.devices) {
    if (device.parent) continue;
    loads.push_back(device.utilization_percent ? Reading<double>(*device.utilization_percent)
                                               : Reading<double>(Absent::not_sampled));
  }
  if (loads.empty() || loads.size() > most_bars) return {};
  return sparkline(loads, 100, static_cast<int>(loads.size()), style);
}

/// The memory of all cards, or the mark of absence: part of a sum is no sum.
std::string memory_text(const HostOverview& overview, const Style& style) {
  std::uint64_t used = 0;
  std::uint64_t total = 0;
  bool is_bound = false;
  for (const HostDevice& device : overview.devices) {
    if (device.parent) continue;
    if (!device.memory_used_bytes || !device.memory_total_bytes) {
      return std::string(absent_mark(style));
    }
    used += *device.memory_used_bytes;
    is_bound |= device.memory_used_is_bound;
    total += *device.memory_total_bytes;
  }
  if (total == 0) return {};
  return std::string(is_bound ? bound_mark(style) : "") + bytes_of_total(Bytes(used), Bytes(total));
}

std::string users_text(const HostOverview& overview, const Style& style) {
  std::vector<std::string> names;
  for (const HostDevice& device : overview.devices) {
    names.insert(names.end(), device.users.begin(), device.users.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return joined(names, " ", [&](const std::string& name) { return outside(name, style); });
}

TableRow cells_of(const HostReport& host, const Style& style) {
  TableRow cells(fleet_columns.size());
  cells[0] = {outside(host.name, style), Paint::bold};
  if (!host.seen) return cells;
  const Sum sum = sum_of(*host.seen);
  cells[1] = {fmt::format("{}/{}", sum.free, sum.devices),
              sum.free > 0 ? Paint::green : Paint::yellow};
  cells[2] = load_text(*host.seen, style);
  cells[3] = memory_text(*host.seen, style);
  if (host.seen->waiting > 0) cells[4] = std::to_string(host.seen->waiting);
  cells[5] = users_text(*host.seen, style);
  return cells;
}

/// The lines below a host's: simulated, not answering, broken cards, alerts.
std::string notes_of(const HostReport& host, const Style& style) {
  std::string text;
  const auto note = [&](const std::string& line, Paint paint) {
    text += wrapped("  ", line, 4, style, paint);
  };
  // Never translated: the mark on a screenshot must be understood by everybody.
  if (host.seen && host.seen->simulated) {
    note("SIMULATED " + outside(*host.seen->simulated, style), Paint::yellow);
  }
  if (host.state != HostState::ok) {
    std::string line = own(host_state_word(host.state), style);
    if (!host.why.empty()) line += own(tr(": "), style) + outside(host.why.shown(), style);
    note(line, host.state == HostState::stale ? Paint::yellow : Paint::red);
  }
  if (!host.remedy.empty()) {
    text +=
        wrapped(style.utf8 ? "    → " : "    > ", outside(host.remedy.shown(), style), 6, style);
  }
  if (!host.seen) return text;
  const Sum sum = sum_of(*host.seen);
  if (sum.failed > 0) note(own(trf("failed or lost: {}", sum.failed), style), Paint::red);
  if (host.seen->alerts.value_or(0) > 0) {
    note(own(trf("alerts: {}", *host.seen->alerts), style), Paint::yellow);
  }
  return text;
}

std::string summary(const std::vector<HostReport>& hosts, const Style& style) {
  Sum all;
  std::size_t silent = 0;
  for (const HostReport& host : hosts) {
    if (!host.seen) {
      ++silent;
      continue;
    }
    const Sum one = sum_of(*host.seen);
    all.devices += one.devices;
    all.free += one.free;
  }
  Line line(style);
  line.add(own(trf("{} of {} free", all.free, all.devices), style),
           all.free > 0 ? Paint::green : Paint::yellow);
  line.add("  ").add(own(trf("servers: {}", hosts.size()), style));
  if (silent > 0) {
    line.add("  ").add(own(trf("not answering: {}", silent), style), Paint::red);
  }
  return line.text();
}

}  // namespace

std::string render_fleet(const std::vector<HostReport>& hosts, const Style& style) {
  std::vector<TableRow> rows;
  for (const HostReport& host : hosts) rows.push_back(cells_of(host, style));
  const Table table(fleet_columns, std::move(rows), 2, style);
  std::string text = summary(hosts, style) + table.head();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    text += table.line(i) + notes_of(hosts[i], style);
  }
  return text;
}

std::string fleet_json(const std::vector<HostReport>& hosts) {
  const auto json_of = [](HostReport host) {
    return write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, host); });
  };
  return "[" + joined(hosts, ",", json_of) + "]\n";
}

}  // namespace berth
