// The default table: the cards, their MIG instances, their processes.

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "smi/calendar.h"
#include "smi/facts.h"
#include "smi/format.h"
#include "smi/generation.h"
#include "smi/smi.h"
#include "snapshot/details.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

std::string right(std::string_view text, int width) { return fmt::format("{:>{}}", text, width); }

int whole_width(const TableLayout& layout) { return static_cast<int>(layout.gpu.titles[0].size()); }

std::string full_rule(const TableLayout& layout, char line) {
  const std::string inside(static_cast<std::size_t>(whole_width(layout) - 2), line);
  return line == '=' ? "|" + inside + "|\n" : "+" + inside + "+\n";
}

/// "+-----+---+" or "|=====+===|" for cells of these widths.
template <std::size_t N>
std::string rule(const std::array<int, N>& cells, char line) {
  std::string text(1, line == '=' ? '|' : '+');
  for (std::size_t i = 0; i < N; ++i) {
    text += std::string(static_cast<std::size_t>(cells[i]), line);
    text += i + 1 < N || line == '-' ? '+' : '|';
  }
  return text + "\n";
}

template <std::size_t N>
std::string row(const std::array<int, N>& cells, const std::array<std::string, N>& texts) {
  std::string text = "|";
  for (std::size_t i = 0; i < N; ++i) text += fmt::format("{:<{}}|", texts[i], cells[i]);
  return text + "\n";
}

/// A sentence in place of rows.
std::string sentence(const TableLayout& layout, std::string_view said) {
  return fmt::format("|  {:<{}}|\n", said, whole_width(layout) - 4);
}

std::string heading(const Snapshot& snapshot, const TableLayout& layout) {
  const HeadingLayout& widths = layout.heading;
  const std::string driver =
      printable(snapshot.host.software_of(Runtime::cuda).driver.get().value_or("N/A"));
  std::string text = fmt::format("| NVIDIA-SMI {:<{}}{}{:<{}}", driver, widths.tool,
                                 widths.driver_label, driver, widths.driver);
  if (widths.cuda > 0) {
    text += fmt::format("{}{:<{}}", widths.cuda_label,
                        snapshot.host.software_of(Runtime::cuda).runtime.get().value_or("N/A"),
                        widths.cuda);
  }
  return full_rule(layout, '-') + text + "|\n" + std::string(layout.under_heading) + "\n";
}

// --- one card
// ---------------------------------------------------------------------------------

/// There is no room for "ERR!" in these columns.
std::string on_off(const Reading<bool>& reading) {
  if (!reading.get()) return "N/A";
  return *reading.get() ? "On" : "Off";
}

std::string mebibytes(const Reading<Bytes>& reading, const Device& gpu) {
  if (!reading.get()) return std::string(absent_cell(reading.why(), gpu));
  return fmt::format("{}MiB", mib(*reading.get()));
}

/// For a card that must be reset, most unreadable values are no error here (seen: driver 595).
std::string_view absent_or_asleep(Absent why, const Device& gpu) {
  return failure_on(gpu) == Failure::requires_reset ? "N/A" : absent_cell(why, gpu);
}

std::string percent(const Reading<Percent>& reading, const Device& gpu) {
  if (!reading.get()) return std::string(absent_cell(reading.why(), gpu));
  return fmt::format("{}%", std::lround(reading.get()->count()));
}

/// Longer names end in "..." as the driver's tool cuts them.
std::string cut_name(const Device& gpu, int width) {
  const std::string name =
      printable(gpu.name.get().value_or(std::string(absent_cell(gpu.name.why(), gpu))));
  if (static_cast<int>(name.size()) <= width) return name;
  return name.substr(0, static_cast<std::size_t>(width - 3)) + "...";
}

std::string watts(const Reading<Milliwatts>& reading, const Device& gpu, bool gap) {
  if (reading.get()) return fmt::format("{}W", reading.get()->count() / 1000);
  std::string absent(absent_or_asleep(reading.why(), gpu));
  if (gap && absent == "N/A") absent += ' ';
  return absent;
}

/// "On" and "Off" begin under their title; "N/A" a column before (seen: driver 540).
std::string name_cell(const Device& gpu, const GpuLayout& layout) {
  const int gap = layout.before_persistence - (gpu.persistence_mode.get() ? 0 : 1);
  return fmt::format("{:>4}  {:<{}}{:<{}}{}", gpu.index.value_or(0), cut_name(gpu, layout.name),
                     layout.name, "", gap, on_off(gpu.persistence_mode));
}

std::string sensors_cell(const Device& gpu, const GpuLayout& layout) {
  const std::string temperature = gpu.temperature.get()
                                      ? fmt::format("{}C", gpu.temperature.get()->count())
                                      : std::string(absent_cell(gpu.temperature.why(), gpu));
  // The state is set under its title: "P0" and "P12" begin where "ERR!" has its last letter.
  std::string state = gpu.performance_state.get()
                          ? fmt::format("   P{}", *gpu.performance_state.get())
                          : std::string(absent_cell(gpu.performance_state.why(), gpu));
  if (state == "N/A") state = " N/A";
  std::string cell = right(percent(gpu.fan_speed, gpu), 4) + right(temperature, 6) + " " + state;
  const std::string draw = watts(gpu.power_draw, gpu, layout.draw_gap);
  cell += right(draw, layout.draw_end - static_cast<int>(cell.size()));
  return cell + " / " + right(watts(gpu.power_limit, gpu, layout.cap_gap), layout.cap);
}

std::string memory_cell(const Device& gpu, const GpuLayout& layout) {
  if (!gpu.memory_used.get() && !gpu.memory_total.get()) {
    // A GPU without memory of its own (GB10, Orin) has no framebuffer to ask for. A divided card in
    // a container has one, but hides it.
    if (gpu.memory_used.why() == Absent::unsupported) return " Not Supported";
    const int middle = layout.memory_used + layout.memory_total + 1;
    return right(absent_cell(gpu.memory_used.why(), gpu), middle);
  }
  return right(mebibytes(gpu.memory_used, gpu), layout.memory_used) + " / " +
         right(mebibytes(gpu.memory_total, gpu), layout.memory_total);
}

std::string bus_cell(const Device& gpu, const GpuLayout& layout) {
  const std::string id = bus_id(gpu);
  const int width = layout.cells[1] - 5;
  return (id.empty() ? fmt::format(" {:<{}}", "N/A", width - 1) : right(id, width)) + " " +
         right(on_off(gpu.display_active), 3);
}

/// The uncorrected errors since the driver was loaded; of a card divided by MIG nobody counts them.
/// A star: the mode will be another after the next reset.
std::string ecc_text(const Device& gpu) {
  const auto pending = gpu.details.get<bool>(Detail::ecc_mode_pending).get();
  const auto& mode = gpu.ecc_mode.get();
  const std::string star = pending && mode && *pending != *mode ? "*" : "";
  if (division_of(gpu) == Division::divided) return "On" + star;
  if (mode == false) return "Off" + star;
  if (!gpu.ecc_uncorrected.get()) {
    return std::string(absent_or_asleep(gpu.ecc_uncorrected.why(), gpu));
  }
  return fmt::format("{}{}", *gpu.ecc_uncorrected.get(), star);
}

std::string load_text(const Device& gpu) {
  const auto& load = gpu.utilization_gpu;
  return load.get() ? percent(load, gpu) : std::string(absent_or_asleep(load.why(), gpu));
}

std::string compute_mode_text(const Device& gpu) {
  if (!gpu.compute_mode.get()) return std::string(absent_cell(gpu.compute_mode.why(), gpu));
  const std::string& mode = *gpu.compute_mode.get();
  if (mode == "Exclusive_Process") return "E. Process";
  if (mode == "Exclusive_Thread") return "E. Thread";
  return printable(mode);
}

/// The mode after the next reset, with a star where it is another now.
std::string mig_text(const Device& gpu) {
  if (!gpu.mig_mode.get()) return std::string(absent_cell(gpu.mig_mode.why(), gpu));
  const bool mode = *gpu.mig_mode.get();
  const bool pending = gpu.details.get<bool>(Detail::mig_mode_pending).get().value_or(mode);
  return fmt::format("{}{}", pending ? "Enabled" : "Disabled", pending == mode ? "" : "*");
}

std::string card(const Device& gpu, const TableLayout& layout) {
  const GpuLayout& widths = layout.gpu;
  const int last = widths.cells[2] - 1;
  std::string text = row<3>(
      widths.cells, {name_cell(gpu, widths), bus_cell(gpu, widths), right(ecc_text(gpu), last)});
  text +=
      row<3>(widths.cells, {sensors_cell(gpu, widths), memory_cell(gpu, widths),
                            right(load_text(gpu), 8) + right(compute_mode_text(gpu), last - 8)});
  if (layout.mig.shows_mig) text += row<3>(widths.cells, {"", "", right(mig_text(gpu), last)});
  return text + rule(widths.cells, '-');
}

// --- MIG instances
// ------------------------------------------------------------------------------

std::string count_text(const Reading<std::uint64_t>& reading, const Device& device) {
  return reading.get() ? fmt::format("{}", *reading.get())
                       : std::string(absent_cell(reading.why(), device));
}

std::string used_of_total(const Reading<Bytes>& used, const Reading<Bytes>& total, int width,
                          const Device& device) {
  return right(mebibytes(used, device), width) + " / " + right(mebibytes(total, device), 8);
}

std::string instance(const Device& device, int number, const Device& gpu,
                     const TableLayout& layout) {
  const MigLayout& widths = layout.mig;
  const auto part = [&](std::uint32_t Partition::* which) {
    return device.partition ? std::to_string(*device.partition.*which) : std::string("N/A");
  };
  const auto engines = [&](Detail which) {
    return count_text(device.details.get<std::uint64_t>(which), device);
  };
  const std::string where =
      fmt::format("{:>3}{:>5}{:>4}{:>4}", gpu.index.value_or(0), part(&Partition::gpu_instance),
                  part(&Partition::compute_instance), number);
  const std::string shares =
      fmt::format("{:>3}{:>4}{:>5}{:>5}{:>5}", engines(Detail::mig_copy_engines),
                  engines(Detail::mig_encoders), engines(Detail::mig_decoders),
                  engines(Detail::mig_ofa_engines), engines(Detail::mig_jpeg_engines));
  const std::string multiprocessors =
      fmt::format(" {:<3}{:>6}", count_text(device.multiprocessors, device),
                  count_text(device.ecc_uncorrected, device));
  std::string text =
      row<4>(widths.cells,
             {where, used_of_total(device.memory_used, device.memory_total, widths.used, device),
              multiprocessors, shares});
  const std::string bar1 =
      used_of_total(device.details.get<Bytes>(Detail::bar1_used),
                    device.details.get<Bytes>(Detail::bar1_total), widths.bar1_used, device);
  return text + row<4>(widths.cells, {"", bar1, "", ""}) + rule(widths.cells, '-');
}

std::string instances(const std::vector<const Device*>& cards, const Snapshot& snapshot,
                      const TableLayout& layout) {
  bool divided = false;
  std::string rows;
  for (const Device* gpu : cards) {
    divided = divided || division_of(*gpu) == Division::divided;
    int number = 0;
    for (const Device* device : instances_of(*gpu, snapshot)) {
      rows += instance(*device, number++, *gpu, layout);
    }
  }
  if (!divided && rows.empty()) return "";
  std::string text = full_rule(layout, '-');
  text += fmt::format("| MIG devices:{:<{}}|\n", "", whole_width(layout) - 15);
  text += rule(layout.mig.cells, '-');
  for (const std::string_view title : layout.mig.titles) text += std::string(title) + "\n";
  text += rule(layout.mig.cells, '=');
  if (rows.empty()) rows = sentence(layout, "No MIG devices found") + full_rule(layout, '-');
  return text + rows + std::string(static_cast<std::size_t>(layout.gap), ' ') + "\n";
}

// --- processes
// ----------------------------------------------------------------------------------

/// What is cut is the beginning: the program stands at the end of its path.
std::string cut_process_name(const std::string& name, int width) {
  if (display_width(name) <= width) return name;
  std::size_t start = name.size();
  const auto kept = [&](std::size_t from) {
    return display_width(std::string_view(name).substr(from));
  };
  while (start > 0) {
    std::size_t before = start - 1;
    while (before > 0 && (static_cast<unsigned char>(name[before]) & 0xC0U) == 0x80U) --before;
    if (kept(before) > width - 3) break;
    start = before;
  }
  return "..." + name.substr(start);
}

std::string process_row(const GpuProcess& process, const Device& gpu, const Snapshot& snapshot,
                        const ProcessLayout& layout) {
  std::string text = fmt::format("|{:>5}", gpu.index.value_or(0));
  if (layout.instances) {
    text += process.partition ? fmt::format("{:>5}{:>5} ", process.partition->gpu_instance,
                                            process.partition->compute_instance)
                              : "   N/A  N/A";
  }
  const std::string name = cut_process_name(process_name(process, snapshot), layout.name);
  const std::string padding(
      static_cast<std::size_t>(std::max(0, layout.name - display_width(name))), ' ');
  const std::string memory =
      process.memory.get() ? fmt::format("{}MiB", mib(*process.memory.get())) : "N/A     ";
  text += fmt::format("{:>{}}{:>7}   {}{}{:>{}} |\n", process.pid, layout.pid, word_of(process.use),
                      name, padding, memory, layout.memory);
  return text;
}

std::string processes(const std::vector<const Device*>& cards, const Snapshot& snapshot,
                      const TableLayout& layout) {
  std::string text = full_rule(layout, '-');
  for (const std::string_view title : layout.processes.titles) {
    if (!title.empty()) text += std::string(title) + "\n";
  }
  text += full_rule(layout, '=');
  std::string rows;
  bool unknown = false;
  for (const Device* gpu : cards) {
    unknown = unknown || is_process_list_unknown(*gpu, snapshot);
    for (const GpuProcess* process : processes_by_pid(*gpu, snapshot)) {
      rows += process_row(*process, *gpu, snapshot, layout.processes);
    }
  }
  if (unknown) {
    rows += sentence(layout, rows.empty() ? "Running processes are not known"
                                          : "Running processes of other GPUs are not known");
  }
  if (rows.empty()) rows = sentence(layout, "No running processes found");
  return text + rows + full_rule(layout, '-');
}

}  // namespace

std::string render_table(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface) {
  const TableLayout& layout = generation_of(snapshot).table;
  const auto cards = gpus(snapshot, request.devices);
  std::string text = date_in_words(snapshot.taken, clockface.utc_offset) + "       \n";
  text += heading(snapshot, layout);
  const std::size_t titles = layout.mig.shows_mig ? 3 : 2;
  for (std::size_t i = 0; i < titles; ++i) text += std::string(layout.gpu.titles[i]) + "\n";
  text += rule(layout.gpu.cells, '=');
  for (const Device* gpu : cards) text += card(*gpu, layout);
  const std::string mig = layout.mig.shows_mig ? instances(cards, snapshot, layout) : "";
  if (mig.empty()) text += std::string(static_cast<std::size_t>(layout.gap), ' ');
  return text + "\n" + mig + processes(cards, snapshot, layout);
}

}  // namespace berth::smi
