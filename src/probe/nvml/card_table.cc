#include "probe/nvml/card_table.h"

#include <array>

namespace berth::nvml {

namespace {

struct Generation {
  ComputeCapability from;  // up to the next row
  std::string_view architecture;
  std::uint64_t cores;  // per multiprocessor
};

constexpr std::array<Generation, 13> generations = {{
    {{3, 0}, "Kepler", 192},
    {{5, 0}, "Maxwell", 128},
    {{6, 0}, "Pascal", 64},
    {{6, 1}, "Pascal", 128},
    {{7, 0}, "Volta", 64},
    {{7, 5}, "Turing", 64},
    {{8, 0}, "Ampere", 64},
    {{8, 6}, "Ampere", 128},
    {{8, 9}, "Ada Lovelace", 128},
    {{9, 0}, "Hopper", 128},
    {{10, 0}, "Blackwell", 128},
    {{12, 0}, "Blackwell", 128},
    {{13, 0}, "", 0},  // nothing is known of what comes after
}};

const Generation* generation_of(ComputeCapability capability) {
  const Generation* found = nullptr;
  for (const Generation& generation : generations) {
    if (generation.from <= capability) found = &generation;
  }
  return found == nullptr || found->cores == 0 ? nullptr : found;
}

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

struct Product {
  std::string_view name;  // a prefix, without "NVIDIA "; the longest that fits is meant
  std::uint64_t cores;
};

constexpr std::array<Product, 19> products = {{
    {"Tesla P100", 3584},              // NVIDIA Tesla P100 whitepaper WP-08019, table 1
    {"GeForce GTX 1080 Ti", 3584},     // GeForce GTX 1080 Ti specifications, geforce.com
    {"GeForce GTX 1080", 2560},        // GeForce GTX 1080 whitepaper, table 1
    {"Tesla V100", 5120},              // NVIDIA Tesla V100 whitepaper WP-08608, table 1
    {"TITAN V", 5120},                 // NVIDIA TITAN V specifications, nvidia.com
    {"Tesla T4", 2560},                // NVIDIA T4 data sheet DA-09261
    {"T4", 2560},                      // the same under newer drivers
    {"TITAN RTX", 4608},               // NVIDIA Turing whitepaper WP-09183, appendix A (full TU102)
    {"GeForce RTX 2080 Ti", 4352},     // NVIDIA Turing whitepaper WP-09183, table 1
    {"GeForce RTX 2080 SUPER", 3072},  // GeForce RTX 20 Super specifications, nvidia.com
    {"GeForce RTX 2080 Super", 3072},  // the same as newer drivers spell it
    {"GeForce RTX 2080", 2944},        // NVIDIA Turing whitepaper WP-09183, table 2
    {"A100", 6912},                    // NVIDIA A100 whitepaper, table 4
    {"GeForce RTX 3090 Ti", 10752},    // GeForce RTX 3090 Ti specifications, nvidia.com
    {"GeForce RTX 3090", 10496},       // NVIDIA Ampere GA102 whitepaper, table 2
    {"A40", 10752},                    // NVIDIA A40 data sheet (full GA102)
    {"H100 PCIe", 14592},              // NVIDIA H100 whitepaper, table 3: 114 multiprocessors
    // 132 multiprocessors; the 18432 seen in many tables is the full GH100, sold in no product.
    {"H100 80GB HBM3", 16896},  // NVIDIA H100 whitepaper, table 3: H100 SXM5
    {"H100 SXM", 16896},        // the same as some clouds' firmware names it
}};

}  // namespace

std::optional<std::uint64_t> cores_per_multiprocessor(ComputeCapability capability) {
  const Generation* generation = generation_of(capability);
  if (generation == nullptr) return std::nullopt;
  return generation->cores;
}

std::optional<std::string_view> architecture_name(ComputeCapability capability) {
  const Generation* generation = generation_of(capability);
  if (generation == nullptr) return std::nullopt;
  return generation->architecture;
}

std::optional<std::string_view> architecture_name(unsigned nvml_architecture) {
  return name_in(architectures, nvml_architecture);
}

std::optional<std::string_view> brand_name(unsigned nvml_brand) {
  return name_in(brands, nvml_brand);
}

std::optional<std::uint64_t> cores_of_product(std::string_view name) {
  constexpr std::string_view maker = "NVIDIA ";
  if (name.starts_with(maker)) name.remove_prefix(maker.size());
  const Product* found = nullptr;
  for (const Product& product : products) {
    if (!name.starts_with(product.name)) continue;
    // "A100" is not the beginning of "A1000".
    const std::string_view rest = name.substr(product.name.size());
    if (!rest.empty() && rest.front() != ' ' && rest.front() != '-') continue;
    if (found == nullptr || product.name.size() > found->name.size()) found = &product;
  }
  if (found == nullptr) return std::nullopt;
  return found->cores;
}

BytesPerSecond peak_memory_bandwidth(std::uint64_t bus_width_bits, Megahertz clock) {
  return BytesPerSecond(bus_width_bits * 2 * clock.count() * 1'000'000 / 8);
}

}  // namespace berth::nvml
