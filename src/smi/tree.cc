#include "smi/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "smi/calendar.h"
#include "smi/facts.h"
#include "smi/layout.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

constexpr auto topics = std::to_array<std::string_view>({"MEMORY",
                                                         "UTILIZATION",
                                                         "ECC",
                                                         "TEMPERATURE",
                                                         "POWER",
                                                         "CLOCK",
                                                         "COMPUTE",
                                                         "PIDS",
                                                         "PERFORMANCE",
                                                         "SUPPORTED_CLOCKS",
                                                         "PAGE_RETIREMENT",
                                                         "ACCOUNTING",
                                                         "ENCODER_STATS",
                                                         "SUPPORTED_GPU_TARGET_TEMP",
                                                         "VOLTAGE",
                                                         "FBC_STATS",
                                                         "ROW_REMAPPER",
                                                         "RESET_STATUS",
                                                         "GSP_FIRMWARE_VERSION",
                                                         "POWER_SMOOTHING",
                                                         "POWER_PROFILES"});

Node leaf(std::string_view name, std::string value) {
  return {std::string(name), std::move(value), {}, false};
}

/// Which of its parent's MIG instances it is, counted from 0.
std::uint64_t mig_index(const Device& instance, const Snapshot& snapshot) {
  std::uint64_t before = 0;
  for (const Device& other : snapshot.devices) {
    if (&other == &instance) break;
    if (other.parent == instance.parent && other.kind == DeviceKind::nvidia_mig) ++before;
  }
  return before;
}

Node section(std::string_view name) { return {std::string(name), "", {}, true}; }

/// Builds one device's tree row by row: `open_` is the way from the root to where rows go now.
class Builder {
 public:
  Builder(const Snapshot& snapshot, const Device& device, const Selection& selection)
      : snapshot_(snapshot), device_(device), selection_(selection) {}

  Node build(std::span<const LayoutRow> rows) {
    for (const LayoutRow& row : rows) {
      const int depth = depth_on(row, selection_.surface);
      if (depth > closed_below_) continue;  // its section is not printed
      closed_below_ = everything;
      if (depth == 0) topic_ = row.topic;
      if (!wanted(row)) {
        if (row.section) closed_below_ = depth;
        continue;
      }
      add(row);
    }
    return std::move(root_);
  }

 private:
  static constexpr int everything = 1000;
  [[nodiscard]] bool is_text() const { return selection_.surface == Surface::text; }
  [[nodiscard]] std::string_view name_of(const LayoutRow& row) const {
    return is_text() ? row.label : row.tag;
  }
  [[nodiscard]] bool selecting() const {
    return selection_.topics != nullptr && !selection_.topics->empty();
  }

  [[nodiscard]] bool wanted(const LayoutRow& row) const {
    if (!applies(row, {selection_.driver, selection_.release}, device_)) return false;
    if (row.sampled && !selecting()) return false;
    if (selecting()) {
      const auto& asked = *selection_.topics;
      if (std::ranges::find(asked, topic_) == asked.end()) return false;
    } else if (is_text() &&
               (row.special == Special::supported_clocks || row.special == Special::accounted)) {
      return false;  // -q prints them only when asked
    }
    return row.special == Special::mig_devices || !name_of(row).empty();
  }

  Node& parent_at(int depth) {
    Node* node = &root_;
    for (int i = 0; i < depth && !node->children.empty(); ++i) node = &node->children.back();
    return *node;
  }

  void add(const LayoutRow& row) {
    Node& parent = parent_at(depth_on(row, selection_.surface));
    if (row.special != Special::none) {
      add_special(row, parent);
    } else if (!row.section) {
      parent.children.push_back(leaf(name_of(row), value_of(row)));
    } else if (const Field* field = field_of(row);
               field != nullptr && !field->read(device_, snapshot_).get()) {
      const Cell cell = field->read(device_, snapshot_);
      parent.children.push_back(
          leaf(name_of(row), shown_absent(cell.why(), failure_on(device_), selection_.surface)));
      closed_below_ = row.depth;
    } else {
      parent.children.push_back(section(name_of(row)));
    }
  }

  [[nodiscard]] std::string value_of(const LayoutRow& row) const {
    if (selection_.driver >= row.deprecated) return std::string(deprecated_text);
    if (is_nowhere(row))
      return shown_absent(Absent::unsupported, Failure::unknown_error, selection_.surface);
    const Field* field = field_of(row);
    const Cell cell = field == nullptr ? own_value(row) : field->read(device_, snapshot_);
    if (cell.get()) return shown(*cell.get(), row.format, selection_.surface);
    // The driver keeps such samples and has none (seen: clocks of 580.65).
    const bool no_samples = cell.why() == Absent::not_sampled && row.key.starts_with("samples_");
    if (no_samples) return "Not Found";
    return shown_absent(cell.why(), failure_on(device_), selection_.surface);
  }

  /// The driver has numbers for a place in a rack even of cards that are in none; -q leaves them
  /// out where there is no chassis (seen: 570.124 prints them, 570.148 and 580 to 595 do not), and
  /// of a baseboard that only its NVLink switches number (B200, seen: 580.105) slot and tray.
  [[nodiscard]] bool is_nowhere(const LayoutRow& row) const {
    constexpr int first = 575;
    if (!row.key.starts_with("platform_") || row.key == "platform_module_id") return false;
    const auto chassis = device_.details.get<std::string>(Detail::platform_chassis_serial);
    if (selection_.driver < first || !chassis.get() || !chassis.get()->empty()) return false;
    const auto guid = device_.details.get<std::uint64_t>(Detail::platform_fabric_guid);
    const bool linked = guid.get() && *guid.get() != 0;
    return !linked || row.key == "platform_slot_number" || row.key == "platform_tray_index";
  }

  /// Rows of a MIG instance that are no readings.
  [[nodiscard]] Cell own_value(const LayoutRow& row) const {
    if (row.tag == "index") return Scalar(mig_index(device_, snapshot_));
    if (!device_.partition) return Absent::unsupported;
    if (row.tag == "gpu_instance_id") return Scalar(std::uint64_t{device_.partition->gpu_instance});
    if (row.tag == "compute_instance_id") {
      return Scalar(std::uint64_t{device_.partition->compute_instance});
    }
    return Absent::unsupported;
  }

  void add_special(const LayoutRow& row, Node& parent) {
    switch (row.special) {
      case Special::mig_devices:
        return add_mig(row, parent);
      case Special::retired_pages:
        return add_retired_pages(row, parent);
      case Special::supported_clocks:
        return add_supported_clocks(row, parent);
      case Special::processes:
        return add_processes(row, parent);
      case Special::accounted:
        return add_accounted(row, parent);
      case Special::none:
        return;
    }
  }

  void add_mig(const LayoutRow& row, Node& parent) {
    Node list = section(row.tag);
    for (const Device& one : snapshot_.devices) {
      if (one.parent != device_.id || one.kind != DeviceKind::nvidia_mig) continue;
      Selection inside = selection_;
      inside.topics = nullptr;
      Node tree = Builder(snapshot_, one, inside).build(mig_rows());
      tree.name = is_text() ? "MIG Device" : "mig_device";
      tree.section = true;
      (is_text() ? parent : list).children.push_back(std::move(tree));
    }
    if (is_text()) return;
    if (list.children.empty()) list.value = "None";
    parent.children.push_back(std::move(list));
  }

  void add_retired_pages(const LayoutRow& row, Node& parent) {
    Node pages = section(name_of(row));
    if (!is_text()) {
      pages.children.push_back(retired(RetiredPage::Cause::single_bit));
      pages.children.push_back(retired(RetiredPage::Cause::double_bit));
    }
    parent.children.push_back(std::move(pages));
  }
  [[nodiscard]] Node retired(RetiredPage::Cause cause) const {
    const bool single = cause == RetiredPage::Cause::single_bit;
    Node node = section(single ? "multiple_single_bit_retirement" : "double_bit_retirement");
    const Cell count = device_.details.cell(single ? Detail::retired_pages_single_bit
                                                   : Detail::retired_pages_double_bit);
    const auto& list = device_.lists.retired_pages;
    if (!count.get()) {
      const std::string why = shown_absent(count.why(), failure_on(device_), Surface::xml);
      node.children = {leaf("retired_count", why), leaf("retired_pagelist", why)};
      return node;
    }
    node.children.push_back(
        leaf("retired_count", shown(*count.get(), Format::number, Surface::xml)));
    Node pages = section("retired_pagelist");
    for (const RetiredPage& page : list.get().value_or(std::vector<RetiredPage>{})) {
      if (page.cause != cause) continue;
      Node one = section("retired_page");
      one.children.push_back(leaf("retired_page_address", fmt::format("{:#018x}", page.address)));
      one.children.push_back(
          leaf("retired_page_timestamp",
               page.retired.get() ? date_in_words(*page.retired.get(), {}) : "N/A"));
      pages.children.push_back(std::move(one));
    }
    node.children.push_back(std::move(pages));
    return node;
  }

  void add_supported_clocks(const LayoutRow& row, Node& parent) {
    const auto& list = device_.lists.supported_clocks;
    if (!list.get()) {
      parent.children.push_back(
          leaf(name_of(row), shown_absent(list.why(), failure_on(device_), selection_.surface)));
      return;
    }
    const auto clock = [](Megahertz value) { return fmt::format("{} MHz", value.count()); };
    Node all = section(name_of(row));
    for (const SupportedClocks& clocks : *list.get()) {
      Node memory = is_text() ? Node{"Memory", clock(clocks.memory), {}, false}
                              : section("supported_mem_clock");
      if (!is_text()) memory.children.push_back(leaf("value", clock(clocks.memory)));
      for (const Megahertz graphics : clocks.graphics) {
        memory.children.push_back(
            leaf(is_text() ? "Graphics" : "supported_graphics_clock", clock(graphics)));
      }
      all.children.push_back(std::move(memory));
    }
    parent.children.push_back(std::move(all));
  }

  void add_processes(const LayoutRow& row, Node& parent) {
    const auto processes = processes_by_pid(device_, snapshot_);
    if (is_process_list_unknown(device_, snapshot_)) {
      parent.children.push_back(leaf(name_of(row), "N/A"));
      return;
    }
    Node list = section(name_of(row));
    if (is_text() && processes.empty()) list = leaf(name_of(row), "None");
    for (const GpuProcess* process : processes) {
      is_text() ? add_process_text(*process, list) : add_process_xml(*process, list);
    }
    parent.children.push_back(std::move(list));
  }
  static std::string instance(const std::optional<Partition>& mig, bool gpu) {
    if (!mig) return "N/A";
    return std::to_string(gpu ? mig->gpu_instance : mig->compute_instance);
  }
  [[nodiscard]] std::string memory_of(const GpuProcess& process) const {
    if (process.memory.get()) {
      return shown(Scalar(process.memory.get()->count()), Format::memory, selection_.surface);
    }
    const auto model = device_.details.get<std::string>(Detail::driver_model);
    if (process.memory.why() == Absent::unsupported &&
        model.get() == std::optional<std::string>("WDDM")) {
      return "Not available in WDDM driver model";
    }
    return shown_absent(process.memory.why(), failure_on(device_), selection_.surface);
  }
  void add_process_text(const GpuProcess& process, Node& list) const {
    list.children.push_back(leaf("GPU instance ID", instance(process.partition, true)));
    list.children.push_back(leaf("Compute instance ID", instance(process.partition, false)));
    Node one = leaf("Process ID", std::to_string(process.pid));
    one.children = {leaf("Type", std::string(word_of(process.use))),
                    leaf("Name", process_name(process, snapshot_)),
                    leaf("Used GPU Memory", memory_of(process))};
    list.children.push_back(std::move(one));
  }
  void add_process_xml(const GpuProcess& process, Node& list) const {
    Node one = section("process_info");
    one.children = {leaf("gpu_instance_id", instance(process.partition, true)),
                    leaf("compute_instance_id", instance(process.partition, false)),
                    leaf("pid", std::to_string(process.pid)),
                    leaf("type", std::string(word_of(process.use))),
                    leaf("process_name", process_name(process, snapshot_)),
                    leaf("used_memory", memory_of(process))};
    list.children.push_back(std::move(one));
  }

  template <class T>
  [[nodiscard]] std::string cell_text(const Reading<T>& reading, Format format) const {
    const Cell cell = cell_of(reading);
    return cell.get() ? shown(*cell.get(), format, selection_.surface)
                      : shown_absent(cell.why(), failure_on(device_), selection_.surface);
  }
  void add_accounted(const LayoutRow& row, Node& parent) {
    const auto& processes = device_.lists.accounted_processes;
    if (!processes.get() && processes.why() != Absent::not_sampled) {
      parent.children.push_back(leaf(
          name_of(row), shown_absent(processes.why(), failure_on(device_), selection_.surface)));
      return;
    }
    Node list = section(name_of(row));
    for (const auto& process : processes.get().value_or(std::vector<AccountedProcess>{})) {
      const std::string busy = cell_text(process.utilization_gpu, Format::percent);
      const std::string memory = cell_text(process.utilization_memory, Format::percent);
      const std::string most = cell_text(process.memory_max, Format::memory);
      const std::string time = cell_text(process.run_time, Format::milliseconds);
      const std::string running =
          process.running.get() ? (*process.running.get() ? "1" : "0") : "N/A";
      Node one = is_text() ? leaf("Process ID", std::to_string(process.pid))
                           : section("accounted_process_info");
      if (is_text()) {
        one.children = {leaf("GPU Utilization", busy), leaf("Memory Utilization", memory),
                        leaf("Max memory usage", most), leaf("Time", time),
                        leaf("Is Running", running)};
      } else {
        one.children = {leaf("pid", std::to_string(process.pid)),
                        leaf("gpu_util", busy),
                        leaf("memory_util", memory),
                        leaf("max_memory_usage", most),
                        leaf("time", time),
                        leaf("is_running", running)};
      }
      list.children.push_back(std::move(one));
    }
    parent.children.push_back(std::move(list));
  }

  const Snapshot& snapshot_;
  const Device& device_;
  const Selection& selection_;
  Node root_;
  int closed_below_ = everything;
  std::string_view topic_;
};

}  // namespace

Node device_tree(const Snapshot& snapshot, const Device& device, const Selection& selection) {
  return Builder(snapshot, device, selection).build(gpu_rows());
}

std::vector<Node> heading(const Snapshot& snapshot, const Selection& selection,
                          Clockface clockface) {
  const bool text = selection.surface == Surface::text;
  const std::string when = date_in_words(snapshot.taken, clockface.utc_offset);
  const std::string driver = snapshot.host.driver_version.get().value_or("N/A");
  const std::string cuda = snapshot.host.cuda_version_supported.get().value_or("N/A");
  const std::string count = std::to_string(gpus(snapshot, {}).size());
  const bool renamed = selection.driver >= 610;
  if (text) {
    const auto going = [&](const std::string& value, std::string_view instead) {
      if (!renamed) return value;
      return fmt::format("{} [Deprecated; will be removed in CUDA 14.0. Use {} instead]", value,
                         instead);
    };
    std::vector<Node> nodes = {leaf("Timestamp", when),
                               leaf("Driver Version", going(driver, "KMD Version")),
                               leaf("CUDA Version", going(cuda, "CUDA UMD Version"))};
    if (renamed) {
      nodes.push_back(leaf("KMD Version", driver));
      nodes.push_back(leaf("CUDA UMD Version", cuda));
    }
    nodes.push_back(leaf("Attached GPUs", count));
    return nodes;
  }
  std::vector<Node> nodes = {leaf("timestamp", when), leaf("driver_version", driver)};
  if (renamed) nodes.push_back(leaf("kmd_version", driver));
  nodes.push_back(leaf("cuda_version", cuda));
  if (renamed) nodes.push_back(leaf("cuda_umd_version", cuda));
  nodes.push_back(leaf("attached_gpus", count));
  return nodes;
}

bool is_topic(std::string_view name) { return std::ranges::find(topics, name) != topics.end(); }

std::string address_of(const Device& device) {
  return device.pci_address.get()
             ? shown(Scalar(*device.pci_address.get()), Format::bus_id, Surface::text)
             : std::string("N/A");
}

}  // namespace berth::smi
