#include "smi/dump_rows.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cards/find.h"
#include "snapshot/device_fault.h"

namespace berth::smi {

namespace {

/// What a line of Clocks Event Reasons stands for.
constexpr auto clock_reasons = std::to_array<std::pair<std::string_view, ClockReason>>({
    {"throttle_idle", ClockReason::idle},
    {"throttle_application_clocks", ClockReason::set_clocks},
    {"throttle_power_cap", ClockReason::power_cap},
    {"throttle_hardware", ClockReason::hardware},
    {"throttle_sync_boost", ClockReason::sync_boost},
    {"throttle_software_thermal", ClockReason::driver_thermal},
    {"throttle_hardware_thermal", ClockReason::hardware_thermal},
    {"throttle_power_brake", ClockReason::power_brake},
    {"throttle_display", ClockReason::display},
});

void write_throttle(Device& device, ClockReason reason, const Cell& cell) {
  const auto bit = static_cast<std::uint64_t>(reason);
  auto& mask = device.throttle_reasons;
  if (!cell.get()) {
    if (!mask.get()) mask = cell.why();
    return;
  }
  // What is shown as "Not Active" could be active: the driver says N/A of what it does not know.
  const auto supported = device.details.get<std::uint64_t>(Detail::throttle_supported);
  device.details.set(Detail::throttle_supported,
                     Reading<std::uint64_t>(supported.get().value_or(0) | bit));
  const std::uint64_t before = mask.get().value_or(ClockReasons()).count();
  mask = ClockReasons(std::get<bool>(*cell.get()) ? before | bit : before);
}

void write(Device& device, const LayoutRow& row, const Cell& cell) {
  for (const auto& [key, reason] : clock_reasons) {
    if (row.key == key) return write_throttle(device, reason, cell);
  }
  const Field* field = field_of(row);
  if (field == nullptr || field->write == nullptr) return;
  // Two lines may tell one reading ("Current" and "Device Current"): a value is not taken back.
  const Cell before = field->read(device, {});
  if (before.get() && !cell.get()) return;
  static_cast<void>(field->write(device, cell));
}

/// "Remapped Rows : N/A": nothing below it. A part that can be missing by itself (the histogram)
/// may still be there: nobody said.
void absent_below(const RowIndex& index, const LayoutRow& section, Absent why, Device& device) {
  write(device, section, Cell(why));
  int unknown_below = 1000;
  for (const LayoutRow& row : index.below(section)) {
    if (row.depth > unknown_below) continue;
    unknown_below = row.section && !row.key.empty() ? row.depth : 1000;
    if (!row.section) write(device, row, Cell(why));
  }
}

void read_below(const Node& node, const RowIndex& index, std::vector<std::string>& path,
                Device& device) {
  for (const Node& child : node.children) {
    path.push_back(normalised(child.name));
    const LayoutRow* row = index.find(path);
    if (row != nullptr && row->special != Special::none && row->special != Special::retired_pages) {
      path.pop_back();
      continue;  // read by code of its own
    }
    if (!child.children.empty()) read_below(child, index, path, device);
    if (row != nullptr && row->section && child.children.empty()) {
      if (const auto why = absent_from(child.value)) {
        absent_below(index, *row, *why, device);
      } else if (const auto cell = read_back(child.value, Format::enabled)) {
        write(device, *row, *cell);  // "Power Smoothing : Disabled"
      }
    } else if (row != nullptr && !row->section) {
      // "HW Slowdown" has a value and lines below it.
      if (const auto cell = read_back(child.value, row->format)) write(device, *row, *cell);
    }
    if (equals_ignoring_case(trimmed(child.value), "GPU is lost")) {
      device.lost = true;
    }
    if (equals_ignoring_case(trimmed(child.value), "GPU requires reset")) {
      device.unusable_because = Unusable::must_be_reset;
    }
    path.pop_back();
  }
}

/// 610 calls a threshold "… Specification".
std::string without_specification(std::string name) {
  constexpr std::string_view tail = "specification";
  if (name.size() > tail.size() && name.ends_with(tail)) name.resize(name.size() - tail.size());
  return name;
}

bool was_seen(const Cell& cell) { return cell.get() || cell.why() != Absent::not_sampled; }

/// What a line has said of the total itself stands.
void sum_into(Details& details, Detail total, Detail a, Detail b) {
  if (was_seen(details.cell(total))) return;
  const auto first = details.get<std::uint64_t>(a);
  const auto second = details.get<std::uint64_t>(b);
  if (!first.get()) return details.set(total, Reading<std::uint64_t>(first.why()));
  if (!second.get()) return details.set(total, Reading<std::uint64_t>(second.why()));
  details.set(total, Reading<std::uint64_t>(*first.get() + *second.get()));
}

Reading<std::uint64_t> sum_of(const Details& details, Detail a, Detail b) {
  Details copy;
  copy.put(a, details.cell(a));
  copy.put(b, details.cell(b));
  sum_into(copy, Detail::ecc_corrected_aggregate_total, a, b);
  return copy.get<std::uint64_t>(Detail::ecc_corrected_aggregate_total);
}

/// A driver that counts errors as SRAM and DRAM does not count them by place.
void complete_errors(Device& device) {
  Details& all = device.details;
  if (!was_seen(all.cell(Detail::ecc_corrected_volatile_sram))) return;
  using enum Detail;
  sum_into(all, ecc_uncorrected_volatile_sram, ecc_sram_parity_volatile, ecc_sram_secded_volatile);
  sum_into(all, ecc_uncorrected_aggregate_sram, ecc_sram_parity_aggregate,
           ecc_sram_secded_aggregate);
  sum_into(all, ecc_corrected_aggregate_total, ecc_corrected_aggregate_sram,
           ecc_corrected_aggregate_dram);
  sum_into(all, ecc_uncorrected_aggregate_total, ecc_uncorrected_aggregate_sram,
           ecc_uncorrected_aggregate_dram);
  device.ecc_corrected = sum_of(all, ecc_corrected_volatile_sram, ecc_corrected_volatile_dram);
  device.ecc_uncorrected =
      sum_of(all, ecc_uncorrected_volatile_sram, ecc_uncorrected_volatile_dram);
  for (const Detail by_place : {ecc_corrected_volatile_register_file,
                                ecc_corrected_volatile_l1_cache,
                                ecc_corrected_volatile_l2_cache,
                                ecc_corrected_volatile_texture,
                                ecc_corrected_volatile_cbu,
                                ecc_corrected_aggregate_register_file,
                                ecc_corrected_aggregate_l1_cache,
                                ecc_corrected_aggregate_l2_cache,
                                ecc_corrected_aggregate_texture,
                                ecc_corrected_aggregate_cbu,
                                ecc_uncorrected_volatile_register_file,
                                ecc_uncorrected_volatile_l1_cache,
                                ecc_uncorrected_volatile_l2_cache,
                                ecc_uncorrected_volatile_texture,
                                ecc_uncorrected_volatile_cbu,
                                ecc_uncorrected_aggregate_register_file,
                                ecc_uncorrected_aggregate_l1_cache,
                                ecc_uncorrected_aggregate_l2_cache,
                                ecc_uncorrected_aggregate_texture,
                                ecc_uncorrected_aggregate_cbu}) {
    all.put(by_place, Cell(Absent::unsupported));
  }
  // Chips whose SRAM errors have no kinds: nothing to count there either.
  for (const Detail kind :
       {ecc_sram_parity_volatile, ecc_sram_secded_volatile, ecc_sram_parity_aggregate,
        ecc_sram_secded_aggregate, ecc_sram_threshold_exceeded, ecc_sram_source_l2,
        ecc_sram_source_sm, ecc_sram_source_microcontroller, ecc_sram_source_pcie,
        ecc_sram_source_other}) {
    if (!was_seen(all.cell(kind))) all.put(kind, Cell(Absent::unsupported));
  }
}

/// -q tells whether the driver is a host's of virtual GPUs. It does not tell what only such a
/// driver can do.
void complete_virtualization(Details& details) {
  const Cell mode = details.cell(Detail::host_vgpu_mode);
  if (mode.get() || mode.why() != Absent::unsupported) return;
  for (const Detail capability :
       {Detail::vgpu_driver_heterogeneous, Detail::vgpu_fractional, Detail::vgpu_timeslice_profiles,
        Detail::vgpu_timeslice_sizes, Detail::vgpu_homogeneous_placements,
        Detail::vgpu_mig_timeslicing, Detail::vgpu_mig_timeslicing_mode}) {
    if (!was_seen(details.cell(capability))) details.put(capability, Cell(Absent::unsupported));
  }
}

struct Capability {
  std::string_view architecture;
  std::string_view name;  // a part of the product's name; empty: all others of the architecture
  ComputeCapability capability;
};
/// -q does not say it, but chip and product do (CUDA C++ programming guide, compute capabilities).
constexpr auto capabilities = std::to_array<Capability>({
    {"Pascal", "P100", {6, 0}},
    {"Pascal", "", {6, 1}},
    {"Volta", "", {7, 0}},
    {"Turing", "", {7, 5}},
    {"Ampere", "A100", {8, 0}},
    {"Ampere", "A800", {8, 0}},
    {"Ampere", "A30", {8, 0}},
    {"Ampere", "", {8, 6}},
    {"Ada Lovelace", "", {8, 9}},
    {"Hopper", "", {9, 0}},
    {"Blackwell", "B300", {10, 3}},
    {"Blackwell", "B200", {10, 0}},
    {"Blackwell", "B100", {10, 0}},
    {"Blackwell", "GB10", {12, 1}},
    {"Blackwell", "RTX", {12, 0}},
});

/// Whether a part of the name is this word: "A30" is none of "RTX A3000".
bool names(std::string_view product, std::string_view word) {
  for (std::size_t at = product.find(word); at != std::string_view::npos;
       at = product.find(word, at + 1)) {
    const char next = at + word.size() < product.size() ? product[at + word.size()] : ' ';
    if (word.empty() || next < '0' || next > '9') return true;
  }
  return false;
}

void complete_capability(Device& device) {
  if (!device.architecture.get() || !device.name.get()) return;
  for (const Capability& row : capabilities) {
    if (*device.architecture.get() != row.architecture) continue;
    if (!names(*device.name.get(), row.name)) continue;
    device.compute_capability = row.capability;
    return;
  }
}

}  // namespace

std::string normalised(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) text += c;
  }
  return text;
}

RowIndex::RowIndex(std::span<const LayoutRow> rows, Surface surface) : rows_(rows) {
  for (const Named when : {Named::today, Named::before}) add_names(surface, when);
}

void RowIndex::add_names(Surface surface, Named when) {
  std::vector<std::string> path;
  for (const LayoutRow& row : rows_) {
    path.resize(static_cast<std::size_t>(depth_on(row, surface)));
    path.push_back(normalised(name_of(row, surface, when)));
    if (path.back().empty()) continue;
    by_path_.emplace(joined(path, "/"), &row);
    if (row.section) continue;
    const auto [at, added] = by_section_.emplace(path.front() + "//" + path.back(), &row);
    if (!added && at->second != nullptr && at->second->key != row.key) at->second = nullptr;
  }
}

const LayoutRow* RowIndex::find(const std::vector<std::string>& path) const {
  if (const auto exact = by_path_.find(joined(path, "/")); exact != by_path_.end()) {
    return exact->second;
  }
  if (path.size() < 2) return nullptr;
  for (const std::string& name : {path.back(), without_specification(path.back())}) {
    const auto found = by_section_.find(path.front() + "//" + name);
    if (found != by_section_.end()) return found->second;
  }
  return nullptr;
}

std::span<const LayoutRow> RowIndex::below(const LayoutRow& section) const {
  const auto first = static_cast<std::size_t>(&section - rows_.data()) + 1;
  std::size_t last = first;
  while (last < rows_.size() && rows_[last].depth > section.depth) ++last;
  return rows_.subspan(first, last - first);
}

const RowIndex& gpu_index(Surface surface) {
  static const RowIndex text(gpu_rows(), Surface::text);
  static const RowIndex xml(gpu_rows(), Surface::xml);
  return surface == Surface::text ? text : xml;
}
const RowIndex& mig_index_of(Surface surface) {
  static const RowIndex text(mig_rows(), Surface::text);
  static const RowIndex xml(mig_rows(), Surface::xml);
  return surface == Surface::text ? text : xml;
}

void read_rows(const Node& node, const RowIndex& index, Device& device) {
  std::vector<std::string> path;
  read_below(node, index, path, device);
}

void complete(Device& device) {
  if (!was_seen(cell_of(device.power_draw))) {
    const auto average = device.details.get<Milliwatts>(Detail::power_draw_average);
    const auto instant = device.details.get<Milliwatts>(Detail::power_draw_instant);
    device.power_draw = average.get() ? average : instant;
  }
  complete_errors(device);
  complete_capability(device);
  if (const auto& name = device.name.get(); name && !device.cuda_cores.get()) {
    if (const auto cores = cores_of_product(*name)) device.cuda_cores = *cores;
  }
  complete_virtualization(device.details);
  if (device.details.cell(Detail::gsp_firmware).has_value()) {
    device.details.set(Detail::gsp_mode, Reading<bool>(true));
  }
}

const Node* child_of(const Node& node, std::string_view name) {
  const auto found = std::ranges::find_if(
      node.children, [&](const Node& child) { return normalised(child.name) == name; });
  return found == node.children.end() ? nullptr : &*found;
}

Cell cell_in(const Node* node, Format format) {
  if (node == nullptr) return {};
  return read_back(node->value, format).value_or(Cell());
}

}  // namespace berth::smi
