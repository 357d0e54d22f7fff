#include "smi/layout.h"

#include <algorithm>
#include <array>

#include "smi/layout_power.h"
#include "smi/layout_state.h"

namespace berth::smi {

namespace {

using rows::leaf;
using rows::section;

constexpr auto mig_table = std::to_array<LayoutRow>({
    leaf(0, "Index", "index", "", Format::number),
    leaf(0, "GPU Instance ID", "gpu_instance_id", "", Format::number),
    leaf(0, "Compute Instance ID", "compute_instance_id", "", Format::number),
    section(0, "Device Attributes", "device_attributes"),
    section(1, "Shared", "shared"),
    leaf(2, "Multiprocessor count", "multiprocessor_count", "multiprocessors", Format::number),
    leaf(2, "Copy Engine count", "copy_engine_count", "mig_copy_engines", Format::number),
    leaf(2, "Encoder count", "encoder_count", "mig_encoders", Format::number),
    leaf(2, "Decoder count", "decoder_count", "mig_decoders", Format::number),
    leaf(2, "OFA count", "ofa_count", "mig_ofa_engines", Format::number),
    leaf(2, "JPG count", "jpg_count", "mig_jpeg_engines", Format::number),
    section(0, "ECC Errors", "ecc_error_count"),
    section(1, "Volatile", "volatile_count"),
    leaf(2, "SRAM Uncorrectable", "sram_uncorrectable", "ecc_uncorrected_errors", Format::number),
    section(0, "Shared FB Memory Usage", "fb_memory_usage")
        .before(580, "FB Memory Usage", "fb_memory_usage"),
    leaf(1, "Total", "total", "memory_total_bytes", Format::memory),
    leaf(1, "Reserved", "reserved", "memory_reserved_bytes", Format::memory).since(510),
    leaf(1, "Used", "used", "memory_used_bytes", Format::memory),
    leaf(1, "Free", "free", "memory_free_bytes", Format::memory),
    section(0, "Shared BAR1 Memory", "bar1_memory_usage")
        .before(580, "BAR1 Memory", "bar1_memory_usage"),
    leaf(1, "Total", "total", "bar1_total_bytes", Format::memory),
    leaf(1, "Used", "used", "bar1_used_bytes", Format::memory),
    leaf(1, "Free", "free", "bar1_free_bytes", Format::memory),
});

constexpr auto gpu_table = [] {
  std::array<LayoutRow, rows::state_rows.size() + rows::power_rows.size()> all;
  std::ranges::copy(rows::power_rows, std::ranges::copy(rows::state_rows, all.begin()).out);
  return all;
}();

/// Chips that count SRAM errors without kinds, and those that count by place.
bool is_turing(const Device& device) {
  return device.architecture.get() == std::optional<std::string>("Turing");
}
bool is_before_turing(const Device& device) {
  for (const char* old : {"Fermi", "Kepler", "Maxwell", "Pascal", "Volta"}) {
    if (device.architecture.get() == std::optional<std::string>(old)) return true;
  }
  return false;
}

bool tells_margins(const Device& device) {
  for (const Detail detail :
       {Detail::temperature_limit_margin, Detail::temperature_shutdown_margin,
        Detail::temperature_slowdown_margin, Detail::temperature_max_operating_margin}) {
    if (device.details.cell(detail).has_value()) return true;
  }
  return false;
}

}  // namespace

std::span<const LayoutRow> gpu_rows() { return gpu_table; }
std::span<const LayoutRow> mig_rows() { return mig_table; }

namespace {

Cell cell_of_row(const LayoutRow& row, const Device& device) {
  const Field* field = field_of(row);
  return field == nullptr ? Cell(Absent::not_sampled) : field->read(device, {});
}

bool is_in(const LayoutRow& row, DriverNumber driver, const Device& device) {
  if (row.branch != 0 && driver.branch == row.branch) {
    return row.branch_release == 0 ? cell_of_row(row, device).has_value()
                                   : driver.release >= row.branch_release;
  }
  if (driver.branch == row.last_branch && driver.release >= row.last_release) return false;
  return driver.branch >= row.from && driver.branch <= row.until;
}

}  // namespace

bool applies(const LayoutRow& row, DriverNumber driver, const Device& device) {
  if (!is_in(row, driver, device)) return false;
  switch (row.when) {
    case When::always:
      return true;
    case When::margins:
      return generation_of(driver).tells_margins && tells_margins(device);
    case When::no_margins:
      return !generation_of(driver).tells_margins || !tells_margins(device);
    case When::margin_told:
      return cell_of_row(row, device) != Cell(Absent::not_sampled);
    case When::licensed:
      return device.details.cell(Detail::vgpu_license_status).has_value();
    case When::ecc_by_place:
      return is_before_turing(device);
    case When::ecc_simple:
      return is_turing(device) ||
             (!generation_of(driver).tells_sram_kinds && !is_before_turing(device));
    case When::ecc_detailed:
      return generation_of(driver).tells_sram_kinds && !is_turing(device) &&
             !is_before_turing(device);
  }
  return true;
}

const Field* field_of(const LayoutRow& row) { return find_field(row.key); }

}  // namespace berth::smi
