#include "cards/card.h"

#include <array>
#include <vector>

#include "cards/capability.h"
#include "cards/table.h"

namespace berth {

std::string_view name_of(MemoryKind kind) {
  static constexpr std::array<std::string_view, 10> names = {
      "GDDR5", "GDDR5X", "GDDR6", "GDDR6X", "GDDR7", "HBM2", "HBM2e", "HBM3", "HBM3e", "LPDDR5"};
  return names[static_cast<std::size_t>(kind)];
}

CardUnits units_of(const Card& card) {
  if (card.has_capability()) return CardUnits::multiprocessors;
  if (card.maker() == "AMD") return CardUnits::compute_units;
  return card.maker() == "Intel" ? CardUnits::xe_cores : CardUnits::ai_cores;
}

std::optional<std::uint64_t> cuda_cores(const Card& card) {
  if (!card.has_capability()) return std::nullopt;
  const auto facts = facts_of(card.capability);
  if (!facts) return std::nullopt;
  return facts->cores * static_cast<std::uint64_t>(card.multiprocessors);
}

bool has_nvlink(const Card& card) { return card.nvlink || card.has(nvlink_bridges); }

Bytes usable_memory(const Card& card) {
  const std::uint64_t sold = static_cast<std::uint64_t>(card.memory_gib) << 30;
  const bool in_the_memory =
      card.has(ecc_delivered) && card.memory && *card.memory < MemoryKind::gddr7;
  return Bytes(in_the_memory ? sold - sold / 16 : sold);
}

std::span<const Card> all_cards() {
  // Gathered once: the tables are constants in files of their own.
  static const std::vector<Card> all = [] {
    std::vector<Card> rows;
    for (const auto part : {geforce_cards(), workstation_cards(), datacenter_cards(),
                            instinct_cards(), radeon_cards(), intel_cards(), ascend_chips()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

}  // namespace berth
