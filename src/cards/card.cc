#include "cards/card.h"

#include <array>
#include <utility>
#include <vector>

#include "base/check.h"

namespace berth {

std::string_view name_of(MemoryKind kind) {
  static constexpr std::array<std::string_view, 10> names = {
      "GDDR5", "GDDR5X", "GDDR6", "GDDR6X", "GDDR7", "HBM2", "HBM2e", "HBM3", "HBM3e", "LPDDR5"};
  return names[static_cast<std::size_t>(kind)];
}

CardUnits units_of(const Card& card) {
  if (card.has_capability()) return CardUnits::multiprocessors;
  constexpr auto rows =
      std::to_array<std::pair<std::string_view, CardUnits>>({{"AMD", CardUnits::compute_units},
                                                             {"Intel", CardUnits::xe_cores},
                                                             {"Huawei", CardUnits::ai_cores}});
  for (const auto& [maker, units] : rows) {
    if (maker == card.maker()) return units;
  }
  BERTH_CHECK(false, "each maker with a table of cards has its row");
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

namespace {

constexpr std::array<CapabilityFacts, 17> generations = {{
    {{3, 0}, "Kepler", 192, 0, {.fp64 = 16}},
    {{3, 5}, "Kepler", 192, 0, {.fp64 = 128}},
    {{5, 0}, "Maxwell", 128, 0, {.fp64 = 8}},
    {{5, 3}, "Maxwell", 128, 0, {.fp64 = 8, .fp16 = 512}},
    {{6, 0}, "Pascal", 64, 0, {.fp64 = 64, .fp16 = 256}},
    // Its FP16 unit, a 64th of FP32, is there for programs that must run, not for speed.
    {{6, 1}, "Pascal", 128, 0, {.fp64 = 8, .int8 = 1024}},
    {{7, 0}, "Volta", 64, 1, {.fp64 = 64, .fp16 = 1024}},
    {{7, 5}, "Turing", 64, 2, {.fp64 = 4, .fp16 = 1024, .int8 = 2048}},
    {{8, 0},
     "Ampere",
     64,
     3,
     {.fp64 = 64, .fp64_tensor = 128, .tf32 = 1024, .fp16 = 2048, .bf16 = 2048, .int8 = 4096}},
    {{8, 6}, "Ampere", 128, 3, {.fp64 = 4, .tf32 = 512, .fp16 = 1024, .bf16 = 1024, .int8 = 2048}},
    {{8, 7}, "Ampere", 128, 3, {.fp64 = 4, .tf32 = 1024, .fp16 = 2048, .bf16 = 2048, .int8 = 4096}},
    {{8, 9},
     "Ada Lovelace",
     128,
     4,
     {.fp64 = 4, .tf32 = 512, .fp16 = 1024, .bf16 = 1024, .fp8 = 2048, .int8 = 2048}},
    {{9, 0},
     "Hopper",
     128,
     4,
     {.fp64 = 128,
      .fp64_tensor = 256,
      .tf32 = 2048,
      .fp16 = 4096,
      .bf16 = 4096,
      .fp8 = 8192,
      .int8 = 8192}},
    // Rows of the table of cards say what these reach: no document gives it per clock.
    {{10, 0}, "Blackwell", 128, 5, {}},
    {{11, 0}, "Blackwell", 128, 5, {}},
    {{12, 0},
     "Blackwell",
     128,
     5,
     {.fp64 = 4, .tf32 = 512, .fp16 = 1024, .bf16 = 1024, .fp8 = 2048, .int8 = 2048, .fp4 = 4096}},
    {{13, 0}, "", 0, 0, {}},  // nothing is known of what comes after
}};

}  // namespace

std::optional<CapabilityFacts> facts_of(ComputeCapability capability) {
  const CapabilityFacts* found = nullptr;
  for (const CapabilityFacts& row : generations) {
    if (row.from <= capability) found = &row;
  }
  if (found == nullptr || found->cores == 0) return std::nullopt;
  return *found;
}

}  // namespace berth
