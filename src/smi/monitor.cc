// dmon and pmon: one line per device, or per process, every second.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "smi/calendar.h"
#include "smi/facts.h"
#include "smi/generation.h"
#include "smi/smi.h"
#include "snapshot/details.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

std::string dash() { return "-"; }

template <class T, class Show>
std::string shown(const Reading<T>& reading, Show show) {
  return reading.get() ? fmt::format("{}", show(*reading.get())) : dash();
}
std::string percent(const Reading<Percent>& reading) {
  return shown(reading, [](Percent value) { return std::lround(value.count()); });
}
std::string megabytes(const Reading<Bytes>& reading) { return shown(reading, mib); }
std::string number(const Reading<std::uint64_t>& reading) {
  return shown(reading, [](std::uint64_t value) { return value; });
}
template <class T>
std::string counted(const Reading<T>& reading) {
  return shown(reading, [](T value) { return value.count(); });
}
std::string megabytes_per_second(const Reading<BytesPerSecond>& reading) {
  constexpr std::uint64_t million = 1'000'000;
  return shown(reading, [](BytesPerSecond value) { return value.count() / million; });
}

/// A round of dmon and the one before it; null: this is the first.
struct Sample {
  const Snapshot& now;
  const Snapshot* before;
};

/// What the driver counted of a card the round before; nothing where that is not known.
std::optional<Microseconds> counted_before(const Device& d, const Sample& look, Detail which) {
  const Device* earlier = look.before == nullptr ? nullptr : find_device(d.id, *look.before);
  if (earlier == nullptr) return std::nullopt;
  return earlier->details.get<Microseconds>(which).get();
}

/// The share of the time since the round before in which the power limit held the card back.
std::string power_violation(const Device& d, const Sample& look) {
  const auto& now = d.details.get<Microseconds>(Detail::throttled_power_cap);
  if (!now.get()) return dash();
  // The real one prints 0 in its first round, even for cards at their limit. Source:
  // librenms/librenms#15756, A100s at 397 of 400 W and below their clock.
  if (look.before == nullptr) return "0";
  const auto then = counted_before(d, look, Detail::throttled_power_cap);
  const auto lost = then ? minus(*now.get(), *then) : std::nullopt;
  const std::int64_t passed_ms = look.now.taken.unix_ms - look.before->taken.unix_ms;
  if (!lost || passed_ms <= 0) return dash();  // counted anew, or the clock was set
  const double share = static_cast<double>(lost->count()) / (static_cast<double>(passed_ms) * 10.0);
  return fmt::format("{}", std::lround(std::min(share, 100.0)));
}

/// Whether heat holds the card back now, or did since the round before.
std::string thermal_violation(const Device& d, const Sample& look) {
  using enum ClockReason;
  const auto& reasons = d.throttle_reasons.get();
  bool known = reasons.has_value();
  bool slowed = known && has_any(*reasons, driver_thermal, hardware_thermal);
  for (const Detail which :
       {Detail::throttled_software_thermal, Detail::throttled_hardware_thermal}) {
    const auto now = d.details.get<Microseconds>(which).get();
    const auto then = counted_before(d, look, which);
    known = known || now.has_value();
    slowed = slowed || (now && then && *now > *then);
  }
  if (!known) return dash();
  return slowed ? "1" : "0";
}

/// A column of dmon: the letter of -s that asks for it, its two titles, its cell.
struct DeviceColumn {
  char group;
  std::string_view title;
  std::string_view unit;
  int since;  // the first driver that has it
  std::string (*cell)(const Device&);
  std::string (*since_before)(const Device&, const Sample&) = nullptr;  // in place of `cell`
};

constexpr auto device_columns = std::to_array<DeviceColumn>({
    {'p', "pwr", "W", 0,
     [](const Device& d) {
       constexpr std::uint64_t thousand = 1000;
       return shown(d.power_draw, [](Milliwatts value) { return value.count() / thousand; });
     }},
    {'p', "gtemp", "C", 0, [](const Device& d) { return counted(d.temperature); }},
    {'p', "mtemp", "C", 0, [](const Device& d) { return counted(d.temperature_memory); }},
    {'u', "sm", "%", 0, [](const Device& d) { return percent(d.utilization_gpu); }},
    {'u', "mem", "%", 0, [](const Device& d) { return percent(d.utilization_memory); }},
    {'u', "enc", "%", 0, [](const Device& d) { return percent(d.utilization_encoder); }},
    {'u', "dec", "%", 0, [](const Device& d) { return percent(d.utilization_decoder); }},
    {'u', "jpg", "%", 535,  // not 530.30.02, but 535.129.03
     [](const Device& d) { return percent(d.details.get<Percent>(Detail::utilization_jpeg)); }},
    {'u', "ofa", "%", 535,
     [](const Device& d) {
       return percent(d.details.get<Percent>(Detail::utilization_optical_flow));
     }},
    {'c', "mclk", "MHz", 0, [](const Device& d) { return counted(d.clock_memory); }},
    {'c', "pclk", "MHz", 0, [](const Device& d) { return counted(d.clock_sm); }},
    {'v', "pviol", "%", 0, nullptr, power_violation},
    {'v', "tviol", "bool", 0, nullptr, thermal_violation},
    {'m', "fb", "MB", 0, [](const Device& d) { return megabytes(d.memory_used); }},
    {'m', "bar1", "MB", 0,
     [](const Device& d) { return megabytes(d.details.get<Bytes>(Detail::bar1_used)); }},
    {'m', "ccpm", "MB", 530,
     [](const Device& d) {
       return megabytes(d.details.get<Bytes>(Detail::protected_memory_used));
     }},
    {'e', "sbecc", "errs", 0, [](const Device& d) { return number(d.ecc_corrected); }},
    {'e', "dbecc", "errs", 0, [](const Device& d) { return number(d.ecc_uncorrected); }},
    {'e', "pci", "errs", 0, [](const Device& d) { return number(d.pcie_replays); }},
    {'t', "rxpci", "MB/s", 0,
     [](const Device& d) {
       return megabytes_per_second(d.details.get<BytesPerSecond>(Detail::pcie_received_rate));
     }},
    {'t', "txpci", "MB/s", 0,
     [](const Device& d) {
       return megabytes_per_second(d.details.get<BytesPerSecond>(Detail::pcie_sent_rate));
     }},
});

/// A column of pmon.
struct ProcessColumn {
  char group;
  std::string_view title;
  std::string_view unit;
  int since;
  std::string (*cell)(const GpuProcess&);
};

constexpr auto process_columns = std::to_array<ProcessColumn>({
    {'u', "sm", "%", 0, [](const GpuProcess& p) { return percent(p.utilization_sm); }},
    {'u', "mem", "%", 0, [](const GpuProcess& p) { return percent(p.utilization_memory); }},
    {'u', "enc", "%", 0, [](const GpuProcess& p) { return percent(p.utilization_encoder); }},
    {'u', "dec", "%", 0, [](const GpuProcess& p) { return percent(p.utilization_decoder); }},
    {'u', "jpg", "%", 550, [](const GpuProcess& p) { return percent(p.utilization_jpeg); }},
    {'u', "ofa", "%", 550, [](const GpuProcess& p) { return percent(p.utilization_optical_flow); }},
    {'m', "fb", "MB", 0, [](const GpuProcess& p) { return megabytes(p.memory); }},
    {'m', "ccpm", "MB", 530, [](const GpuProcess&) { return dash(); }},
});

/// The columns in the order of the letters asked for; each once.
template <class Column, std::size_t N>
std::vector<const Column*> columns_for(std::string_view letters, DriverNumber driver,
                                       const std::array<Column, N>& all) {
  std::vector<const Column*> found;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters.find(letters[i]) != i) continue;
    for (const Column& column : all) {
      if (column.group == letters[i] && driver.branch >= column.since) found.push_back(&column);
    }
  }
  return found;
}

/// What stands left of the columns: the device's number, and with -o the date or the time.
struct Margin {
  bool date = false;
  bool time = false;
  int date_width = 0;
  int time_width = 0;

  [[nodiscard]] std::string titles(bool units) const {
    if (!date && !time) return units ? "# Idx" : "# gpu";
    return "#" + stamps(units ? "YYYYMMDD" : "Date", units ? "HH:MM:SS" : "Time") +
           (units ? "Idx" : "gpu");
  }
  [[nodiscard]] std::string cell(const Device& gpu, WallTime when, Clockface clockface) const {
    const std::string index = fmt::format("{}", gpu.index.value_or(0));
    if (!date && !time) return fmt::format("{:>5}", index);
    const Stamp now = stamp(when, clockface.utc_offset);
    return " " + stamps(now.date, now.time) + fmt::format("{:>3}", index);
  }

 private:
  [[nodiscard]] std::string stamps(std::string_view day, std::string_view hour) const {
    std::string text;
    if (date) text += fmt::format("{:<{}}", day, date_width);
    if (time) text += fmt::format("{:<{}}", hour, time_width);
    return text;
  }
};

Margin margin_of(const SmiRequest& request, const MonitorLayout& layout) {
  Margin margin;
  margin.date = request.stamps.find('D') != std::string::npos;
  margin.time = request.stamps.find('T') != std::string::npos;
  margin.date_width = layout.date;
  margin.time_width = layout.time;
  return margin;
}

}  // namespace

Output render_dmon(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface,
                   std::uint64_t tick, const Snapshot* before) {
  const MonitorLayout& layout = generation_of(snapshot).monitor;
  const int width = layout.width;
  const std::string_view end = layout.ends_blank ? " \n" : "\n";
  const auto columns = columns_for(request.select.empty() ? "puc" : request.select,
                                   driver_of(snapshot), device_columns);
  const Margin margin = margin_of(request, layout);
  std::string text;
  if (tick == 0 && request.header) {
    text = margin.titles(false);
    for (const DeviceColumn* column : columns) text += fmt::format("{:>{}}", column->title, width);
    text += end;
    text += margin.titles(true);
    for (const DeviceColumn* column : columns) text += fmt::format("{:>{}}", column->unit, width);
    text += end;
  }
  const Sample look{.now = snapshot, .before = before};
  for (const Device* gpu : gpus(snapshot, request.devices)) {
    text += margin.cell(*gpu, snapshot.taken, clockface);
    for (const DeviceColumn* column : columns) {
      const std::string cell =
          column->since_before == nullptr ? column->cell(*gpu) : column->since_before(*gpu, look);
      text += fmt::format("{:>{}}", cell, width);
    }
    text += end;
  }
  return {.text = text, .code = 0};
}

namespace {

/// pmon's two headings. Before they stood above their columns, "type" and "sm" were narrower than
/// what is below them (535.288.01, 545.23.08).
std::string process_headings(const Margin& margin, const std::vector<const ProcessColumn*>& columns,
                             const MonitorLayout& layout) {
  const int width = layout.width;
  std::string text;
  for (const bool units : {false, true}) {
    text += margin.titles(units);
    text += fmt::format("{:>{}}", units ? "#" : "pid", width + 5);
    text += fmt::format("{:>{}}", units ? "C/G" : "type", layout.narrow);
    for (const ProcessColumn* column : columns) {
      text += fmt::format("{:>{}}", units ? column->unit : column->title,
                          column->title == "sm" ? layout.narrow : width);
    }
    text += fmt::format("{:{}}{}{}", "", layout.gap, units ? "name" : "command",
                        layout.even ? " \n" : "\n");
  }
  return text;
}

}  // namespace

Output render_pmon(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface,
                   std::uint64_t tick) {
  const MonitorLayout& layout = generation_of(snapshot).monitor;
  constexpr int name_width = 15;
  const auto columns = columns_for(request.select.empty() ? "u" : request.select,
                                   driver_of(snapshot), process_columns);
  const Margin margin = margin_of(request, layout);
  std::string text;
  if (tick == 0 && request.header) text = process_headings(margin, columns, layout);
  const auto line = [&](const Device& gpu, std::string_view pid, std::string_view type,
                        const GpuProcess* process, std::string name) {
    text += margin.cell(gpu, snapshot.taken, clockface);
    text += fmt::format("{:>11}{:>6}", pid, type);
    for (const ProcessColumn* column : columns) {
      text +=
          fmt::format("{:>{}}", process == nullptr ? dash() : column->cell(*process), layout.width);
    }
    name.resize(std::min<std::size_t>(name.size(), name_width));
    text += fmt::format("{:{}}{:<{}}\n", "", layout.gap, name, name_width);
  };
  for (const Device* gpu : gpus(snapshot, request.devices)) {
    const auto processes = processes_by_pid(*gpu, snapshot);
    if (processes.empty()) line(*gpu, "-", "-", nullptr, "-");
    for (const GpuProcess* process : processes) {
      const std::string name = process_name(*process, snapshot);
      line(*gpu, fmt::format("{}", process->pid), word_of(process->use), process,
           name.substr(name.rfind('/') + 1));
    }
  }
  return {.text = text, .code = 0};
}

}  // namespace berth::smi
