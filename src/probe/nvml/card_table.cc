#include "probe/nvml/card_table.h"

#include <array>

#include "cards/card.h"

namespace berth::nvml {

namespace {

struct Named {
  unsigned number;
  std::string_view name;
};

constexpr std::array<Named, 10> architectures = {{
    {2, "Kepler"},
    {3, "Maxwell"},
    {4, "Pascal"},
    {5, "Volta"},
    {6, "Turing"},
    {7, "Ampere"},
    {8, "Ada Lovelace"},
    {9, "Hopper"},
    {10, "Blackwell"},
    {13, "Rubin"},
}};

constexpr std::array<Named, 16> brands = {{
    {1, "Quadro"},
    {2, "Tesla"},
    {3, "NVS"},
    {4, "GRID"},
    {5, "GeForce"},
    {6, "Titan"},
    {7, "NVIDIA Virtual Applications"},
    {8, "NVIDIA Virtual PC"},
    {9, "NVIDIA Virtual Compute Server"},
    {10, "NVIDIA RTX Virtual Workstation"},
    {11, "NVIDIA Cloud Gaming"},
    {12, "Quadro RTX"},
    {13, "NVIDIA RTX"},
    {14, "NVIDIA"},
    {15, "GeForce RTX"},
    {16, "Titan RTX"},
}};

template <std::size_t Size>
std::optional<std::string_view> name_in(const std::array<Named, Size>& table, unsigned number) {
  for (const Named& row : table) {
    if (row.number == number) return row.name;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> cores_per_multiprocessor(ComputeCapability capability) {
  const auto facts = facts_of(capability);
  if (!facts) return std::nullopt;
  return facts->cores;
}

std::optional<std::string_view> architecture_name(ComputeCapability capability) {
  const auto facts = facts_of(capability);
  if (!facts) return std::nullopt;
  return facts->architecture;
}

std::optional<std::string_view> architecture_name(unsigned nvml_architecture) {
  return name_in(architectures, nvml_architecture);
}

std::optional<std::string_view> brand_name(unsigned nvml_brand) {
  return name_in(brands, nvml_brand);
}

BytesPerSecond peak_memory_bandwidth(std::uint64_t bus_width_bits, Megahertz clock) {
  return BytesPerSecond(bus_width_bits * 2 * clock.count() * 1'000'000 / 8);
}

}  // namespace berth::nvml
