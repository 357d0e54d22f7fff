#include "snapshot/recorded.h"

#include <type_traits>
#include <variant>

namespace berth {

DeviceSample sample_of(const Device& device) {
  DeviceSample sample;
  for (const RecordedReading& one : recorded_readings) one.fill(sample, device);
  return sample;
}

std::optional<double> plain_number(const Cell& cell) {
  if (!cell.get()) return std::nullopt;
  return std::visit(
      [](const auto& value) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
          return static_cast<double>(value);
        } else {
          return std::nullopt;
        }
      },
      *cell.get());
}

std::optional<double> growth_in(const Cell& before, const Cell& now) {
  if (!before.get() || !now.get()) return std::nullopt;
  const auto* from = std::get_if<std::uint64_t>(&*before.get());
  const auto* to = std::get_if<std::uint64_t>(&*now.get());
  if (from == nullptr || to == nullptr || *to < *from) return std::nullopt;
  return static_cast<double>(*to - *from);
}

}  // namespace berth
