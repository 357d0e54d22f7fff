#include "smi/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "smi/calendar.h"
#include "smi/facts.h"
#include "smi/generation.h"
#include "smi/layout.h"
#include "smi/layout_items.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"

namespace berth::smi {

namespace {

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
      : snapshot_(snapshot), device_(device), selection_(selection), driver_(driver_of(snapshot)) {}

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
    return smi::name_of(row, selection_.surface,
                        driver_.branch < row.renamed ? Named::before : Named::today);
  }
  [[nodiscard]] bool selecting() const {
    return selection_.topics != nullptr && !selection_.topics->empty();
  }

  [[nodiscard]] bool wanted(const LayoutRow& row) const {
    if (!applies(row, driver_, device_)) return false;
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
      parent.children.push_back(leaf(name_of(row), absent(field->read(device_, snapshot_).why())));
      closed_below_ = row.depth;
    } else {
      parent.children.push_back(section(name_of(row)));
    }
  }

  [[nodiscard]] std::string value_of(const LayoutRow& row) const {
    if (is_deprecated(row.key, driver_)) return std::string(deprecated_text);
    if (is_nowhere(row)) return absent(Absent::unsupported);
    const Field* field = field_of(row);
    const Cell cell = field == nullptr ? own_value(row) : field->read(device_, snapshot_);
    // The driver keeps such samples and has none (seen: clocks of 580.65).
    const bool no_samples = cell == Cell(Absent::not_sampled) && row.key.starts_with("samples_");
    return no_samples ? "Not Found" : text_of(cell, row.format);
  }

  /// The driver has numbers for a place in a rack even of cards that are in none. -q leaves them
  /// out where there is no chassis (Generation::hides_empty_chassis). It leaves out slot and tray
  /// of a baseboard that only its NVLink switches number (B200, seen: 580.105).
  [[nodiscard]] bool is_nowhere(const LayoutRow& row) const {
    if (!row.key.starts_with("platform_") || row.key == "platform_module_id") return false;
    const auto chassis = device_.details.get<std::string>(Detail::platform_chassis_serial);
    if (!generation_of(driver_).hides_empty_chassis) return false;
    if (!chassis.get() || !chassis.get()->empty()) return false;
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
      tree.name = is_text() ? instance_label : instance_tag;
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
    Node node = section(single ? single_bit_tag : double_bit_tag);
    const Cell count = device_.details.cell(single ? Detail::retired_pages_single_bit
                                                   : Detail::retired_pages_double_bit);
    node.children.push_back(leaf(page_count_tag, text_of(count, Format::number)));
    if (!count.get()) {
      node.children.push_back(leaf(page_list_tag, absent(count.why())));
      return node;
    }
    Node pages = section(page_list_tag);
    const auto& list = device_.lists.retired_pages;
    for (const RetiredPage& page : list.get().value_or(std::vector<RetiredPage>{})) {
      if (page.cause != cause) continue;
      add_item(page_item,
               {Scalar(page.address), page.retired.get() ? Cell(Scalar(page.retired.get()->unix_ms))
                                                         : Cell(Absent::unsupported)},
               pages);
    }
    node.children.push_back(std::move(pages));
    return node;
  }

  void add_supported_clocks(const LayoutRow& row, Node& parent) {
    const auto& list = device_.lists.supported_clocks;
    if (!list.get()) {
      parent.children.push_back(leaf(name_of(row), absent(list.why())));
      return;
    }
    Node all = section(name_of(row));
    for (const SupportedClocks& clocks : *list.get()) {
      ItemCells cells = {cell_value(clocks.memory)};
      for (const Megahertz graphics : clocks.graphics) cells.push_back(cell_value(graphics));
      add_item(clock_item, cells, all);
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
      add_item(process_item, cells_of(*process, snapshot_), list);
      if (process->memory.why() != Absent::unsupported || process->memory.get()) continue;
      const auto model = device_.details.get<std::string>(Detail::driver_model);
      if (model.get() != std::optional<std::string>("WDDM")) continue;
      list.children.back().children.back().value = "Not available in WDDM driver model";
    }
    parent.children.push_back(std::move(list));
  }
  void add_accounted(const LayoutRow& row, Node& parent) {
    const auto& processes = device_.lists.accounted_processes;
    if (!processes.get() && processes.why() != Absent::not_sampled) {
      parent.children.push_back(leaf(name_of(row), absent(processes.why())));
      return;
    }
    Node list = section(name_of(row));
    for (const auto& process : processes.get().value_or(std::vector<AccountedProcess>{})) {
      add_item(accounted_item, cells_of(process), list);
    }
    parent.children.push_back(std::move(list));
  }

  [[nodiscard]] std::string absent(Absent why) const {
    return shown_absent(why, failure_on(device_), selection_.surface);
  }
  [[nodiscard]] std::string text_of(const Cell& cell, Format format) const {
    return cell.get() ? shown(*cell.get(), format, selection_.surface) : absent(cell.why());
  }
  void add_item(const ItemLayout& layout, const ItemCells& cells, Node& list) const {
    print_item(layout, cells, selection_.surface, failure_on(device_), list);
  }

  const Snapshot& snapshot_;
  const Device& device_;
  const Selection& selection_;
  DriverNumber driver_;
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
  using namespace heading_line;
  const bool text = selection.surface == Surface::text;
  const bool twice = generation_of(snapshot).names_twice;
  std::vector<Node> nodes;
  const auto add = [&](const HeadingLine& line, std::string value) {
    nodes.push_back(leaf(line.on(selection.surface), std::move(value)));
  };
  const auto add_going = [&](const HeadingLine& line, const std::string& value,
                             const HeadingLine& instead) {
    const bool says_so = text && twice;
    add(line, says_so ? fmt::format("{} [Deprecated; will be removed in CUDA 14.0. Use {} instead]",
                                    value, instead.label)
                      : value);
    if (!text && twice) add(instead, value);
  };
  const std::string version = snapshot.host.software_of(Runtime::cuda).driver.get().value_or("N/A");
  const std::string supported =
      snapshot.host.software_of(Runtime::cuda).runtime.get().value_or("N/A");
  add(timestamp, date_in_words(snapshot.taken, clockface.utc_offset));
  add_going(driver, version, kernel_driver);
  add_going(cuda, supported, user_driver);
  if (text && twice) {
    add(kernel_driver, version);
    add(user_driver, supported);
  }
  add(heading_line::gpus, std::to_string(smi::gpus(snapshot, {}).size()));
  return nodes;
}

bool is_topic(std::string_view name) {
  return !name.empty() &&
         std::ranges::find(gpu_rows(), name, &LayoutRow::topic) != gpu_rows().end();
}

std::string address_of(const Device& device) {
  return device.pci_address.get()
             ? shown(Scalar(*device.pci_address.get()), Format::bus_id, Surface::text)
             : std::string("N/A");
}

}  // namespace berth::smi
