// dmon and pmon: one line per device, or per process, every second.

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "smi/calendar.h"
#include "smi/facts.h"
#include "smi/smi.h"
#include "snapshot/details.h"
#include "snapshot/gpu_use.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

/// From this driver on the columns are a character wider, and there are jpg and ofa.
constexpr int first_wide = 530;

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

/// A column of dmon: the letter of -s that asks for it, its two titles, its cell.
struct DeviceColumn {
  char group;
  std::string_view title;
  std::string_view unit;
  bool only_wide;
  std::string (*cell)(const Device&);
};

constexpr auto device_columns = std::to_array<DeviceColumn>({
    {'p', "pwr", "W", false,
     [](const Device& d) {
       constexpr std::uint64_t thousand = 1000;
       return shown(d.power_draw, [](Milliwatts value) { return value.count() / thousand; });
     }},
    {'p', "gtemp", "C", false, [](const Device& d) { return counted(d.temperature); }},
    {'p', "mtemp", "C", false, [](const Device& d) { return counted(d.temperature_memory); }},
    {'u', "sm", "%", false, [](const Device& d) { return percent(d.utilization_gpu); }},
    {'u', "mem", "%", false, [](const Device& d) { return percent(d.utilization_memory); }},
    {'u', "enc", "%", false, [](const Device& d) { return percent(d.utilization_encoder); }},
    {'u', "dec", "%", false, [](const Device& d) { return percent(d.utilization_decoder); }},
    {'u', "jpg", "%", true,
     [](const Device& d) { return percent(d.details.get<Percent>(Detail::utilization_jpeg)); }},
    {'u', "ofa", "%", true,
     [](const Device& d) {
       return percent(d.details.get<Percent>(Detail::utilization_optical_flow));
     }},
    {'c', "mclk", "MHz", false, [](const Device& d) { return counted(d.clock_memory); }},
    {'c', "pclk", "MHz", false, [](const Device& d) { return counted(d.clock_sm); }},
    {'v', "pviol", "%", false, [](const Device&) { return dash(); }},
    {'v', "tviol", "bool", false, [](const Device&) { return dash(); }},
    {'m', "fb", "MB", false, [](const Device& d) { return megabytes(d.memory_used); }},
    {'m', "bar1", "MB", false,
     [](const Device& d) { return megabytes(d.details.get<Bytes>(Detail::bar1_used)); }},
    {'m', "ccpm", "MB", true,
     [](const Device& d) {
       return megabytes(d.details.get<Bytes>(Detail::protected_memory_used));
     }},
    {'e', "sbecc", "errs", false, [](const Device& d) { return number(d.ecc_corrected); }},
    {'e', "dbecc", "errs", false, [](const Device& d) { return number(d.ecc_uncorrected); }},
    {'e', "pci", "errs", false, [](const Device& d) { return number(d.pcie_replays); }},
    {'t', "rxpci", "MB/s", false,
     [](const Device& d) {
       return megabytes_per_second(d.details.get<BytesPerSecond>(Detail::pcie_received_rate));
     }},
    {'t', "txpci", "MB/s", false,
     [](const Device& d) {
       return megabytes_per_second(d.details.get<BytesPerSecond>(Detail::pcie_sent_rate));
     }},
});

/// A column of pmon.
struct ProcessColumn {
  char group;
  std::string_view title;
  std::string_view unit;
  bool only_wide;
  std::string (*cell)(const GpuProcess&);
};

constexpr auto process_columns = std::to_array<ProcessColumn>({
    {'u', "sm", "%", false, [](const GpuProcess& p) { return percent(p.utilization_sm); }},
    {'u', "mem", "%", false, [](const GpuProcess& p) { return percent(p.utilization_memory); }},
    {'u', "enc", "%", false, [](const GpuProcess& p) { return percent(p.utilization_encoder); }},
    {'u', "dec", "%", false, [](const GpuProcess& p) { return percent(p.utilization_decoder); }},
    {'u', "jpg", "%", true, [](const GpuProcess& p) { return percent(p.utilization_jpeg); }},
    {'u', "ofa", "%", true,
     [](const GpuProcess& p) { return percent(p.utilization_optical_flow); }},
    {'m', "fb", "MB", false, [](const GpuProcess& p) { return megabytes(p.memory); }},
    {'m', "ccpm", "MB", true, [](const GpuProcess&) { return dash(); }},
});

/// The columns in the order of the letters asked for; each once.
template <class Column, std::size_t N>
std::vector<const Column*> columns_for(std::string_view letters, bool wide,
                                       const std::array<Column, N>& all) {
  std::vector<const Column*> found;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters.find(letters[i]) != i) continue;
    for (const Column& column : all) {
      if (column.group == letters[i] && (wide || !column.only_wide)) found.push_back(&column);
    }
  }
  return found;
}

/// What stands left of the columns: the device's number, and with -o the date or the time.
struct Margin {
  bool date = false;
  bool time = false;

  [[nodiscard]] std::string titles(bool units) const {
    if (!date && !time) return units ? "# Idx" : "# gpu";
    std::string text =
        date ? (units ? "#YYYYMMDD" : "#Date    ") : (units ? "#HH:MM:SS" : "#Time    ");
    if (date && time) text += units ? "    HH:MM:SS" : "    Time    ";
    return text + (units ? "     Idx" : "     gpu");
  }
  [[nodiscard]] std::string cell(const Device& gpu, WallTime when, Clockface clockface) const {
    const std::string index = fmt::format("{}", gpu.index.value_or(0));
    if (!date && !time) return fmt::format("{:>5}", index);
    const Stamp now = stamp(when, clockface.utc_offset);
    std::string text = " " + (date ? now.date : now.time);
    if (date && time) text += "    " + now.time;
    return text + fmt::format("{:>8}", index);
  }
};

Margin margin_of(const Request& request) {
  return {.date = request.stamps.find('D') != std::string::npos,
          .time = request.stamps.find('T') != std::string::npos};
}

}  // namespace

Output render_dmon(const Snapshot& snapshot, const Request& request, Clockface clockface,
                   std::uint64_t tick) {
  const bool wide = generation_of(snapshot) >= first_wide;
  const int width = wide ? 7 : 6;
  const auto columns =
      columns_for(request.select.empty() ? "puc" : request.select, wide, device_columns);
  const Margin margin = margin_of(request);
  std::string text;
  if (tick == 0 && request.header) {
    text = margin.titles(false);
    for (const DeviceColumn* column : columns) text += fmt::format("{:>{}}", column->title, width);
    text += " \n" + margin.titles(true);
    for (const DeviceColumn* column : columns) text += fmt::format("{:>{}}", column->unit, width);
    text += " \n";
  }
  for (const Device* gpu : gpus(snapshot, request.devices)) {
    text += margin.cell(*gpu, snapshot.taken, clockface);
    for (const DeviceColumn* column : columns) {
      text += fmt::format("{:>{}}", column->cell(*gpu), width);
    }
    text += " \n";
  }
  return {.text = text, .code = 0};
}

Output render_pmon(const Snapshot& snapshot, const Request& request, Clockface clockface,
                   std::uint64_t tick) {
  const bool wide = generation_of(snapshot) >= first_wide;
  const int width = wide ? 7 : 6;
  constexpr int name_width = 15;
  const auto columns =
      columns_for(request.select.empty() ? "u" : request.select, wide, process_columns);
  const Margin margin = margin_of(request);
  const std::string gap(wide ? 4 : 3, ' ');
  std::string text;
  if (tick == 0 && request.header) {
    text = margin.titles(false) + fmt::format("{:>{}}{:>{}}", "pid", width + 5, "type", width);
    for (const ProcessColumn* column : columns) text += fmt::format("{:>{}}", column->title, width);
    text += gap + "command \n" + margin.titles(true);
    text += fmt::format("{:>{}}{:>{}}", "#", width + 5, "C/G", width);
    for (const ProcessColumn* column : columns) text += fmt::format("{:>{}}", column->unit, width);
    text += gap + "name \n";
  }
  const auto line = [&](const Device& gpu, std::string_view pid, std::string_view type,
                        const GpuProcess* process, std::string name) {
    text += margin.cell(gpu, snapshot.taken, clockface);
    text += fmt::format("{:>11}{:>6}", pid, type);
    for (const ProcessColumn* column : columns) {
      text += fmt::format("{:>{}}", process == nullptr ? dash() : column->cell(*process), width);
    }
    name.resize(std::min<std::size_t>(name.size(), name_width));
    text += gap + fmt::format("{:<{}}\n", name, name_width);
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
