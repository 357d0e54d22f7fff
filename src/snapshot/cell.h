#pragma once
// Cell: one field of one device with its type erased, as the field table hands it around.

#include <cstdint>
#include <string>
#include <variant>

#include "base/reading.h"

namespace berth {

using CellValue = std::variant<std::string, bool, std::uint64_t, std::int64_t, double>;
/// One field of one device, its type erased: the number in the field's unit, or why there is none.
using Cell = Reading<CellValue>;

}  // namespace berth
