// What a capture file tells outside of -q: lists, processes, accounted processes, pmon, NVLinks,
// affinities.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "smi/dump_rows.h"

namespace berth::smi {

std::string_view section_of_capture(std::string_view text, std::string_view phase,
                                    std::string_view title) {
  std::size_t at = 0;
  while ((at = text.find(capture_rule, at)) != std::string_view::npos) {
    const std::size_t heading = at + capture_rule.size();
    const std::size_t close = text.find(capture_rule, heading);
    if (close == std::string_view::npos) return {};
    const std::string_view lines = trimmed(text.substr(heading, close - heading));
    const std::string_view first = lines.substr(0, lines.find('\n'));
    const std::size_t begin = close + capture_rule.size();
    const std::size_t end = std::min(text.find(capture_rule, begin), text.size());
    const bool right_phase = phase.empty() || first.starts_with(fmt::format("# {} ::", phase));
    if (right_phase && first.find(title) != std::string_view::npos) {
      return text.substr(begin, end - begin);
    }
    at = end;
  }
  return {};
}

namespace {

/// "  MIG 3g.40gb     Device  0: (UUID: MIG-…)" of -L: what -q does not say of an instance.
struct ListedInstance {
  std::string profile;
  std::string uuid;
};
std::optional<ListedInstance> listed_instance(std::string_view line) {
  line = trimmed(line);
  constexpr std::string_view mark = "(UUID: ";
  const std::size_t uuid = line.find(mark);
  const std::size_t device = line.find(" Device ");
  if (!line.starts_with("MIG ") || !line.ends_with(')') || uuid == std::string_view::npos ||
      device == std::string_view::npos || device > uuid) {
    return std::nullopt;
  }
  const std::size_t begin = uuid + mark.size();
  return ListedInstance{std::string(trimmed(line.substr(4, device - 4))),
                        std::string(line.substr(begin, line.size() - begin - 1))};
}

/// Instances stand in both in the same order; where they do not, nothing is taken.
void read_list(std::string_view text, Snapshot& snapshot) {
  std::vector<ListedInstance> listed;
  for (const std::string_view line : split(text, '\n')) {
    if (auto one = listed_instance(line)) listed.push_back(std::move(*one));
  }
  std::vector<Device*> instances;
  for (Device& device : snapshot.devices) {
    if (device.kind == DeviceKind::nvidia_mig) instances.push_back(&device);
  }
  if (listed.size() != instances.size()) return;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    instances[i]->name = instances[i]->name.get().value_or("") + " MIG " + listed[i].profile;
    instances[i]->uuid = listed[i].uuid;
    keep_plain_ids(*instances[i]);
  }
}

/// A GPU by its number; null: -q has none such.
Device* gpu_numbered(std::string_view number, Snapshot& snapshot) {
  const auto wanted = parse_unsigned(number);
  for (Device& device : snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || !device.index || !wanted) continue;
    if (static_cast<std::uint64_t>(*device.index) == *wanted) return &device;
  }
  return nullptr;
}

Reading<std::string> address_in(std::string_view text) {
  return reading_in<std::string>(read_back(text, Format::bus_id).value_or(Cell()));
}

// --- answers to queries --------------------------------------------------------------------------

using CsvRow = std::map<std::string, std::string_view>;

/// The cells of each line under the names of the header, which are without their units.
std::vector<CsvRow> csv_rows(const std::vector<std::string_view>& lines) {
  std::vector<std::string> names;
  for (const std::string_view cell : split(lines.front(), ',')) {
    names.emplace_back(trimmed(cell.substr(0, cell.find('['))));
  }
  std::vector<CsvRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cells = split(lines[i], ',');
    if (cells.size() != names.size()) continue;
    CsvRow& row = rows.emplace_back();
    for (std::size_t at = 0; at < cells.size(); ++at) row.emplace(names[at], trimmed(cells[at]));
  }
  return rows;
}

/// The lines of a query's answer, its header first; empty: it answered with something else.
std::vector<std::string_view> answer_by_pid(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  std::erase_if(lines, [](std::string_view line) { return trimmed(line).empty(); });
  const bool asked = !lines.empty() && lines.front().find("pid") != std::string_view::npos &&
                     lines.front().find("gpu_bus_id") != std::string_view::npos;
  return asked ? lines : std::vector<std::string_view>();
}

// --- --query-compute-apps ------------------------------------------------------------------------

/// A line of a query as an item of the list that -q has of the same.
ItemCells item_cells(const CsvRow& row, const ItemLayout& layout) {
  ItemCells cells;
  for (const ItemLine& line : layout.lines) {
    const auto found = line.column.empty() ? row.end() : row.find(std::string(line.column));
    cells.push_back(found == row.end() ? Cell()
                                       : read_back(found->second, line.format).value_or(Cell()));
  }
  return cells;
}

/// For GPUs without processes in -q. The processes that -q names, it tells in full.
void read_compute_apps(std::string_view text, Snapshot& snapshot) {
  const std::vector<std::string_view> lines = answer_by_pid(text);
  if (lines.empty()) return;
  std::vector<CsvRow> rows = csv_rows(lines);
  if (rows.size() + 1 != lines.size()) return;  // cut off: who was in the rest?
  for (Device& device : snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || device.process_count.get()) continue;
    if (device.lost || !device.unusable_because.empty()) continue;  // it was not asked
    for (CsvRow& row : rows) {
      const auto place = address_in(row["gpu_bus_id"]);
      if (!place.get() || place != device.pci_address) continue;
      add_process(item_cells(row, process_item), device, snapshot);
    }
    device.process_count = static_cast<std::uint64_t>(
        std::ranges::count(snapshot.gpu_processes, device.id, &GpuProcess::device));
  }
  std::ranges::stable_sort(snapshot.processes, {}, [](const auto& one) { return one.id.pid; });
}

// --- --query-accounted-apps ----------------------------------------------------------------------

/// A row that names its process and, by address, its card.
struct ProcessRow {
  std::string address;
  pid_t pid;
  CsvRow cells;
};

/// Nothing: it was not asked, or not for these two columns.
std::optional<std::vector<ProcessRow>> process_rows(std::string_view text) {
  const std::vector<std::string_view> lines = answer_by_pid(text);
  if (lines.empty()) return std::nullopt;
  std::vector<ProcessRow> found;
  for (CsvRow& row : csv_rows(lines)) {
    const auto pid = parse_unsigned(row["pid"]);
    const auto place = address_in(row["gpu_bus_id"]);
    if (!pid || *pid == 0 || !std::in_range<pid_t>(*pid) || !place.get()) continue;
    found.push_back({*place.get(), static_cast<pid_t>(*pid), std::move(row)});
  }
  return found;
}

/// -q has the processes of a card by pid, --query-compute-apps in the driver's order. What only the
/// former has (graphics) comes behind.
void read_order(std::string_view text, Snapshot& snapshot) {
  const auto rows = process_rows(text);
  if (!rows) return;
  std::map<std::pair<std::string, pid_t>, std::size_t> listed;
  for (const ProcessRow& row : *rows) {
    listed.try_emplace({row.address, row.pid}, listed.size());
  }
  struct Card {
    std::size_t number;
    std::string address;
  };
  std::map<std::string, Card> cards;  // by the id of the card or of an instance of it
  std::map<std::string, std::size_t> numbers;
  for (const Device& device : snapshot.devices) {
    const std::string address = device.pci_address.get().value_or("");
    const std::size_t number = numbers.try_emplace(address, numbers.size()).first->second;
    cards.try_emplace(std::string(device.id.text()), Card{number, address});
  }
  const auto place = [&](const GpuProcess& process) {
    const auto card = cards.find(std::string(process.device.text()));
    if (card == cards.end()) return std::pair(cards.size(), listed.size());
    const auto found = listed.find({card->second.address, process.pid});
    return std::pair(card->second.number, found == listed.end() ? listed.size() : found->second);
  };
  std::vector<std::pair<decltype(place(GpuProcess())), GpuProcess>> placed;
  for (GpuProcess& process : snapshot.gpu_processes) {
    const auto where = place(process);
    placed.emplace_back(where, std::move(process));
  }
  std::ranges::stable_sort(placed, {}, [](const auto& one) { return one.first; });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    snapshot.gpu_processes[i] = std::move(placed[i].second);
  }
}

void read_accounted(std::string_view text, Snapshot& snapshot) {
  auto rows = process_rows(text);
  if (!rows) return;
  std::map<std::string, std::vector<AccountedProcess>> found;  // by address
  for (const ProcessRow& row : *rows) {
    if (const auto process = accounted_from(item_cells(row.cells, accounted_item))) {
      found[row.address].push_back(*process);
    }
  }
  for (Device& device : snapshot.devices) {
    if (device.kind != DeviceKind::nvidia_gpu || device.lists.accounted_processes.get()) continue;
    device.lists.accounted_processes = found[device.pci_address.get().value_or("")];
  }
}

// --- pmon ----------------------------------------------------------------------------------------

Reading<Percent>* utilization_called(std::string_view title, GpuProcess& process) {
  if (title == "sm") return &process.utilization_sm;
  if (title == "mem") return &process.utilization_memory;
  if (title == "enc") return &process.utilization_encoder;
  if (title == "dec") return &process.utilization_decoder;
  if (title == "jpg") return &process.utilization_jpeg;
  if (title == "ofa") return &process.utilization_optical_flow;
  return nullptr;
}

bool is_on(const GpuProcess& process, const Device& gpu, const Snapshot& snapshot) {
  if (process.device == gpu.id) return true;
  return std::ranges::any_of(snapshot.devices, [&](const Device& one) {
    return one.parent == gpu.id && one.id == process.device;
  });
}

/// Fills what the row says; a dash says that the driver had no sample of it just then.
void read_sample(const std::vector<std::string_view>& titles,
                 const std::vector<std::string_view>& cells, GpuProcess& process) {
  for (std::size_t i = 0; i < titles.size() && i < cells.size(); ++i) {
    Reading<Percent>* reading = utilization_called(titles[i], process);
    const auto value = parse_unsigned(cells[i]);
    if (reading == nullptr || !value || *value > 100) continue;
    *reading = Percent(static_cast<double>(*value));
  }
}

/// Its first round alone: that is what one look shows.
void read_pmon(std::string_view text, Snapshot& snapshot) {
  std::vector<std::string_view> titles;
  std::vector<std::pair<std::string_view, std::string_view>> seen;  // GPU and pid
  for (std::string_view line : split(text, '\n')) {
    line = trimmed(line);
    if (line.starts_with('#')) {
      if (titles.empty()) titles = words_in(line.substr(1));
      continue;
    }
    const auto cells = words_in(line);
    const auto cell = [&](std::string_view title) {
      const auto at = static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin());
      return at < titles.size() && at < cells.size() ? cells[at] : std::string_view();
    };
    const std::pair row(cell("gpu"), cell("pid"));
    if (std::ranges::find(seen, row) != seen.end()) return;
    const Device* gpu = gpu_numbered(row.first, snapshot);
    const auto pid = parse_unsigned(row.second);
    if (gpu == nullptr || !pid) continue;
    seen.push_back(row);
    for (GpuProcess& process : snapshot.gpu_processes) {
      const bool same = static_cast<std::uint64_t>(process.pid) == *pid;
      if (same && is_on(process, *gpu, snapshot)) read_sample(titles, cells, process);
    }
  }
}

// --- nvlink -s and topo -m -----------------------------------------------------------------------

/// "\t Link 3: 26.562 GB/s", "\t Link 4: <inactive>".
std::optional<NvLink> link_in(std::string_view line) {
  constexpr std::string_view beginning = "Link ";
  constexpr std::string_view unit = " GB/s";
  line = trimmed(line);
  const std::size_t colon = line.find(": ");
  if (!line.starts_with(beginning) || colon == std::string_view::npos) return std::nullopt;
  const auto number = parse_unsigned(line.substr(beginning.size(), colon - beginning.size()));
  constexpr std::uint64_t most = 1024;
  if (!number || *number > most) return std::nullopt;
  NvLink link{.number = static_cast<std::uint32_t>(*number)};
  std::string_view state = line.substr(colon + 2);
  if (state == "<inactive>") link.active = false;
  if (!state.ends_with(unit)) return link;
  state.remove_suffix(unit.size());
  const std::size_t point = state.find('.');
  const auto whole = parse_unsigned(state.substr(0, point));
  const std::string_view thousandths =
      point == std::string_view::npos ? "000" : state.substr(point + 1);
  const auto part = parse_unsigned(thousandths);
  if (!whole || !part || thousandths.size() != 3 || *whole > 1'000'000) return link;
  link.active = true;
  link.speed = BytesPerSecond((*whole * 1000 + *part) * 1'000'000);
  return link;
}

void read_nvlinks(std::string_view text, Snapshot& snapshot) {
  Device* gpu = nullptr;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("GPU ")) gpu = gpu_numbered(line.substr(4, line.find(':') - 4), snapshot);
    if (gpu == nullptr) continue;
    if (line.starts_with("Device does not have or support")) {
      gpu->lists.nvlinks = Absent::unsupported;
    }
    // How many there are is not said, but that the first of them is one.
    if (line.starts_with("NVML: Unable to retrieve Nvlink information as all links are inActive")) {
      gpu->lists.nvlinks = std::vector<NvLink>{{.number = 0, .active = false}};
    }
    if (const auto link = link_in(line)) {
      auto links = gpu->lists.nvlinks.get().value_or(std::vector<NvLink>{});
      links.push_back(*link);
      gpu->lists.nvlinks = std::move(links);
    }
  }
}

/// "GPU0\t X \t0-19\t0\t\tN/A" below a line of titles; the matrix itself is not kept.
void read_affinities(std::string_view text, Snapshot& snapshot) {
  std::size_t cpus = 0;
  for (const std::string_view line : split(text, '\n')) {
    const auto cells = split(line, '\t');
    const auto title = std::ranges::find(cells, "CPU Affinity");
    if (title != cells.end()) cpus = static_cast<std::size_t>(title - cells.begin());
    if (cpus == 0 || !line.starts_with("GPU") || cells.size() <= cpus + 1) continue;
    Device* gpu = gpu_numbered(trimmed(cells[0]).substr(3), snapshot);
    if (gpu == nullptr) continue;
    const std::string_view range = trimmed(cells[cpus]);
    if (!range.empty() && range != "N/A") {
      gpu->details.put(Detail::cpu_affinity, Cell(Scalar(std::string(range))));
    }
    if (const auto node = parse_unsigned(trimmed(cells[cpus + 1]))) gpu->numa_node = *node;
  }
}

}  // namespace

void read_capture_parts(std::string_view capture, std::string_view phase, Snapshot& snapshot) {
  const auto part = [&](std::string_view of, std::string_view title) {
    return section_of_capture(capture, of, title);
  };
  read_list(part({}, ":: list (-L)"), snapshot);
  read_compute_apps(part(phase, ":: query-compute-apps"), snapshot);
  read_order(part(phase, ":: query-compute-apps"), snapshot);
  read_accounted(part(phase, ":: query-accounted-apps"), snapshot);
  read_pmon(part(phase, ":: pmon"), snapshot);
  read_nvlinks(part({}, ":: nvlink -s"), snapshot);
  read_affinities(part({}, ":: topo -m"), snapshot);
}

}  // namespace berth::smi
