#pragma once
// How the fake answers from Device::details. It turns a cell into the number, the enumerator or the
// text that the driver's function gives. Its tables were written from nvml.h, apart from the
// probe's. So a wrong number on either side is seen.

#include <cmath>
#include <cstring>
#include <span>
#include <string_view>

#include "exports.h"
#include "probe/nvml/abi_details.h"

namespace fake_nvml {

using berth::Cell;
using berth::Detail;

inline const Cell& cell_of(const FakeDevice& it, Detail detail) {
  return it.data.details.cell(detail);
}

/// The cell's number times `factor`; 0 for a text.
inline double number_in(const Cell& cell, double factor = 1) {
  if (!cell.get()) return 0;
  return std::visit(
      [factor](const auto& value) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
          return 0;
        } else {
          return static_cast<double>(value) * factor;
        }
      },
      *cell.get());
}

/// A count of 64 bits, which a double does not hold.
inline std::uint64_t count_in(const Cell& cell) {
  if (!cell.get()) return 0;
  const auto* count = std::get_if<std::uint64_t>(&*cell.get());
  return count == nullptr ? 0 : *count;
}

inline std::string text_in(const Cell& cell) {
  if (!cell.get()) return "";
  const auto* text = std::get_if<std::string>(&*cell.get());
  return text == nullptr ? "" : *text;
}

struct Word {
  unsigned number;
  std::string_view word;
};
using Words = std::span<const Word>;

/// The enumerator of the cell's word; 0 where there is none.
inline unsigned enumerator_in(const Cell& cell, Words words) {
  const std::string text = text_in(cell);
  for (const Word& row : words) {
    if (row.word == text) return row.number;
  }
  return 0;
}

template <class Out>
Return put_cell(const Call& call, Out* out, const Cell& cell, double factor = 1) {
  if (out == nullptr) return invalid_argument;
  if (!cell.get() && !call.lie()) return code_of(cell.why());
  if constexpr (sizeof(Out) == 8) {
    if (factor == 1) return call.put(out, static_cast<Out>(count_in(cell)));
  }
  return call.put(out, static_cast<Out>(std::llround(number_in(cell, factor))));
}

inline Return put_word(const Call& call, unsigned* out, const Cell& cell, Words words) {
  if (out == nullptr) return invalid_argument;
  if (!cell.get() && !call.lie()) return code_of(cell.why());
  return call.put(out, enumerator_in(cell, words));
}

inline Return put_text_cell(const Call& call, char* out, unsigned length, const Cell& cell) {
  const auto reading = cell.get() ? berth::Reading<std::string>(text_in(cell))
                                  : berth::Reading<std::string>(cell.why());
  return call.put_text(out, length, reading);
}

/// A function that fills a structure answers as the first detail in it. The others are 0 if absent,
/// as the structure has no way to say so.
inline Return answer_as(const Call& call, const Cell& first) {
  return first.get() || call.lie() ? success : code_of(first.why());
}

/// Every number of a structure, where the fault says that they be a lie.
inline std::uint32_t lied(const Call& call, std::uint32_t number) {
  if (call.lie()) (void)call.put(&number, 0U);
  return number;
}
inline std::uint64_t lied(const Call& call, std::uint64_t number) {
  if (call.lie()) (void)call.put(&number, std::uint64_t{0});
  return number;
}

}  // namespace fake_nvml
