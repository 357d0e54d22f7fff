#include "smi/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/sentence.h"
#include "base/text.h"
#include "smi/calendar.h"
#include "smi/dump_rows.h"

namespace berth::smi {

namespace {

/// More GPUs than any machine has: a hostile file does not make a snapshot of a million.
constexpr std::size_t most_gpus = 1024;

/// What stands before it is passed over: a prompt, a greeting, a warning of a shell.
constexpr std::size_t most_before = std::size_t{64} << 10;

constexpr std::string_view banner = "==============NVSMI LOG";

std::string_view first_text(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

bool begins_xml(std::string_view text) {
  return text.starts_with("<?xml") || text.starts_with("<nvidia_smi_log") ||
         text.starts_with("<!DOCTYPE nvidia_smi_log");
}

bool is_capture(std::string_view text) { return first_text(text).starts_with(capture_rule); }

/// The text from the line on that begins what the tool printed; empty: it printed nothing here.
std::string_view from_beginning(std::string_view text) {
  std::string_view rest = first_text(text);
  if (rest.starts_with('{') || is_capture(rest)) return {};
  while (!rest.empty() && text.size() - rest.size() <= most_before) {
    if (rest.starts_with(banner) || begins_xml(rest)) return rest;
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    rest = first_text(rest.substr(end));
  }
  return {};
}

bool is_xml(std::string_view text) { return begins_xml(from_beginning(text)); }
bool is_query(std::string_view text) { return from_beginning(text).starts_with(banner); }

/// The first of these lines that it has; null: none.
const Node* line_of(const Node& log, std::initializer_list<HeadingLine> lines) {
  for (const HeadingLine& line : lines) {
    if (const Node* node = child_of(log, normalised(line.tag))) return node;
  }
  return nullptr;
}

Reading<std::string> text_of(const Node* node) {
  return reading_of<std::string>(cell_in(node, Format::text)).value_or(Reading<std::string>());
}

void read_heading(const Node& log, Snapshot& snapshot) {
  using namespace heading_line;
  if (const Node* when = line_of(log, {timestamp})) {
    snapshot.taken = read_date(when->value).value_or(WallTime{});
  }
  snapshot.host.software_of(Runtime::cuda).driver = text_of(line_of(log, {kernel_driver, driver}));
  snapshot.host.software_of(Runtime::cuda).runtime = text_of(line_of(log, {user_driver, cuda}));
}

std::string_view address_in(const Node& gpu) {
  return gpu.name == "gpu" ? std::string_view(gpu.value) : std::string_view(gpu.name).substr(4);
}

/// "GPU 00000000:53:00.0" in text, where a collector may have masked the digits; <gpu id="…"> in
/// XML. "GPU UUID" and "GPU 0: NVIDIA A10 (UUID: …)", which may stand behind it, are none.
bool is_gpu(const Node& node) {
  if (node.name == "gpu") return true;
  if (!node.name.starts_with("GPU ")) return false;
  return !node.children.empty() || read_back(address_in(node), Format::bus_id);
}

/// In text only the indentation tells what belongs to a GPU.
std::optional<Error> mistake_in_lines(const Node& log, std::size_t gpus) {
  const auto no_gpu_below = [](const Node& above, const Node& below) {
    return is_gpu(above) && above.children.empty() && !is_gpu(below);
  };
  if (std::ranges::adjacent_find(log.children, no_gpu_below) != log.children.end()) {
    return Error(ErrorCode::invalid,
                 "its lines have lost the spaces they began with, which tell what belongs to which "
                 "GPU. Write it anew: nvidia-smi -q > FILE");
  }
  // Less are told by -i; more are lines that were taken for one.
  const Node* attached = line_of(log, {heading_line::gpus});
  const auto count = attached == nullptr ? std::nullopt : parse_unsigned(trimmed(attached->value));
  if (!count || gpus <= *count) return std::nullopt;
  return Error(ErrorCode::invalid,
               "it says \"Attached GPUs : {}\" and tells of {}: its lines are not those that "
               "nvidia-smi wrote. Write it anew: nvidia-smi -q > FILE",
               *count, gpus);
}

Device read_gpu(const Node& node, Surface surface, int index) {
  Device device;
  device.kind = DeviceKind::nvidia_gpu;
  device.index = index;
  read_rows(node, gpu_index(surface), device);
  if (!device.pci_address.get()) {
    const auto address = read_back(address_in(node), Format::bus_id);
    if (address)
      device.pci_address = reading_of<std::string>(*address).value_or(device.pci_address);
  }
  keep_plain_ids(device);
  read_lists(node, surface, device);
  complete(device);
  return device;
}

}  // namespace

void keep_plain_ids(Device& device) {
  for (Reading<std::string> Device::* member : {&Device::uuid, &Device::pci_address}) {
    const auto& text = (device.*member).get();
    if (text && !is_plain_id(*text)) device.*member = Absent::failed;
  }
}

namespace {

/// Collectors mask UUIDs; then several GPUs have one and only the address tells them apart.
void give_ids(std::vector<Device>& devices) {
  std::unordered_map<std::string, int> times;
  for (const Device& device : devices) ++times[device.uuid.get().value_or("")];
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Device& device = devices[i];
    if (device.uuid.get() && !device.uuid.get()->empty() && times[*device.uuid.get()] == 1) {
      device.id = DeviceId(*device.uuid.get());
    } else {
      device.id = DeviceId(device.pci_address.get().value_or(fmt::format("gpu-{}", i)));
    }
  }
}

/// For devices with a list of processes in the dump, be it empty.
void count_processes(const std::unordered_set<DeviceId>& told, Snapshot& snapshot) {
  for (Device& device : snapshot.devices) {
    if (!told.contains(device.parent.value_or(device.id))) {
      device.process_count = Absent::failed;
      continue;
    }
    device.process_count = static_cast<std::uint64_t>(
        std::ranges::count(snapshot.gpu_processes, device.id, &GpuProcess::device));
  }
}

Result<Snapshot> read_dump(std::string_view text, std::string_view phase) {
  if (is_capture(text)) {
    for (const std::string_view title : {"query (-q)", "query-xml (-q -x)", "(-q -x)", "(-q)"}) {
      const std::string_view part = section_of_capture(text, phase, title);
      if (!is_query(part) && !is_xml(part)) continue;
      auto snapshot = read_dump(part, {});
      if (snapshot) read_capture_parts(text, phase, *snapshot);
      return snapshot;
    }
    return fail(ErrorCode::not_found, "it has no nvidia-smi -q of the phase \"{}\"",
                printable(phase.substr(0, 64)));
  }
  if (!phase.empty()) {
    return fail(ErrorCode::not_found, "it is no capture of several answers and has no phase \"{}\"",
                printable(phase.substr(0, 64)));
  }
  text = dumps_in(text).front();
  if (const auto own = from_beginning(text); !own.empty()) text = own;
  const Surface surface = is_xml(text) ? Surface::xml : Surface::text;
  const auto tree = surface == Surface::xml ? tree_from_xml(text) : tree_from_text(text);
  if (!tree) return std::unexpected(tree.error());
  return snapshot_from_tree(*tree, surface);
}

}  // namespace

Result<Snapshot> snapshot_from_tree(const Node& tree, Surface surface) {
  const Node* log = surface == Surface::xml ? child_of(tree, "nvidiasmilog") : &tree;
  if (log == nullptr) return fail(ErrorCode::invalid, "it has no <nvidia_smi_log>");
  std::vector<const Node*> nodes;
  for (const Node& node : log->children) {
    if (is_gpu(node)) nodes.push_back(&node);
  }
  if (nodes.empty()) return fail(ErrorCode::invalid, "there is no GPU in it");
  if (nodes.size() > most_gpus) return fail(ErrorCode::invalid, "there are too many GPUs in it");
  if (surface == Surface::text) {
    if (auto mistake = mistake_in_lines(*log, nodes.size())) return std::unexpected(*mistake);
  }
  Snapshot snapshot;
  read_heading(*log, snapshot);
  std::vector<Device> gpus;
  for (const Node* node : nodes) {
    gpus.push_back(read_gpu(*node, surface, static_cast<int>(gpus.size())));
  }
  give_ids(gpus);
  std::unordered_set<DeviceId> told;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    snapshot.devices.push_back(gpus[i]);
    read_mig_devices(*nodes[i], surface, gpus[i], snapshot.devices);
    if (read_processes(*nodes[i], surface, gpus[i], snapshot)) told.insert(gpus[i].id);
    report_lost(gpus[i], snapshot);
  }
  count_processes(told, snapshot);
  std::ranges::stable_sort(snapshot.processes, {}, [](const auto& one) { return one.id.pid; });
  snapshot.sources = {{"nvml", true}};
  return snapshot;
}

bool looks_like_dump(std::string_view text) {
  return is_xml(text) || is_query(text) || is_capture(text);
}

std::vector<std::string_view> dumps_in(std::string_view text) {
  if (!is_query(text)) return {text};
  text = from_beginning(text);
  std::vector<std::string_view> found;
  std::size_t begin = 0;
  while (begin != std::string_view::npos) {
    // The banner at the beginning is this one's own.
    const std::size_t own = text.find(banner, begin) + banner.size();
    const std::size_t next = text.find(banner, own);
    found.push_back(text.substr(begin, next == std::string_view::npos ? next : next - begin));
    begin = next;
  }
  return found;
}

Result<Snapshot> snapshot_from_dump(std::string_view text, std::string_view phase) {
  auto snapshot = read_dump(text, phase);
  if (snapshot) report_untold(*snapshot);
  return snapshot;
}

std::optional<Result<std::vector<Snapshot>>> snapshots_in(std::string_view text,
                                                          std::string_view phase) {
  if (!looks_like_dump(text)) return std::nullopt;
  std::vector<Snapshot> snapshots;
  for (const std::string_view one : dumps_in(text)) {
    auto snapshot = snapshot_from_dump(one, phase);
    if (!snapshot) return std::unexpected(std::move(snapshot).error());
    snapshots.push_back(std::move(*snapshot));
  }
  return snapshots;
}

void report_lost(const Device& device, Snapshot& snapshot) {
  if (!device.lost) return;
  snapshot.problems.push_back(
      {.source = "replay",
       .device = device.id,
       .code = "device_lost",
       .message = sentence("GPU {} was lost when this was written down", *device.index)});
}

void report_untold(Snapshot& snapshot) {
  std::vector<int> untold;
  for (const Device& device : snapshot.devices) {
    const bool told = device.process_count.get() || device.lost || device.parent;
    if (!told) untold.push_back(*device.index);
  }
  if (untold.empty()) return;
  snapshot.problems.push_back(
      {.source = "replay",
       .code = "processes_untold",
       .message = sentence("who is on GPU {} is not known: it was written down without its "
                           "list of processes",
                           joined(untold, ", ")),
       .remedy = sentence("nvidia-smi -q, without -d, writes all down")});
}

}  // namespace berth::smi
