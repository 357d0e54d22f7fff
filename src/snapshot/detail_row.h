#pragma once
// detail<…>(): one row of the field table for a Detail. Internal to the field table.

#include <string_view>

#include "snapshot/details.h"
#include "snapshot/fields.h"

namespace berth::field_rows {

template <Detail Which>
Cell read_detail(const Device& device, const Snapshot&) {
  return device.details.cell(Which);
}

template <Detail Which, class T>
bool write_detail(Device& device, const Cell& cell) {
  const auto reading = reading_of<T>(cell);
  if (!reading) return false;
  device.details.set(Which, *reading);
  return true;
}

/// Its column is headed by nvidia-smi's own name, or ours where that has none.
template <Detail Which, class T>
constexpr Field detail(std::string_view key, std::string_view smi, Unit unit, std::string_view help,
                       std::string_view metric) {
  return {key,
          smi.empty() ? key : smi,
          smi,
          metric,
          unit,
          help,
          read_detail<Which>,
          write_detail<Which, T>,
          Which};
}

}  // namespace berth::field_rows
