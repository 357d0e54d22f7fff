#pragma once
// Card: what a product is, present in this machine or not. The table is the vendor's own figures,
// one file per family, each row with where it stands; what is not known for certain is left out of
// it. What a compute capability says of every card that has it stands here too; what follows from
// it (tensor rates, what a card lacks) is computed in cards/rates.h. What a driver says of the card
// in front of it always wins over this.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "snapshot/device.h"

namespace berth {

enum class MemoryKind { gddr5, gddr5x, gddr6, gddr6x, gddr7, hbm2, hbm2e, hbm3, hbm3e, lpddr5 };
[[nodiscard]] std::string_view name_of(MemoryKind kind);

/// Peak rates, dense: what sparsity would double is not counted. Products of 8 and 16 bits are
/// added up in FP32, as frameworks do. On GeForce that is half of what is advertised.
///
/// Unit    10^12 operations per second; a multiplication with its addition is two.
/// Absent  the type has no unit of its own there, or no figure is known for certain.
struct PeakRates {
  std::optional<double> fp64, fp64_tensor, fp32, tf32, fp16, bf16, fp8, int8, fp4;
};

/// What sets a product apart from others of its compute capability.
enum Trait : unsigned {
  plain = 0,
  ecc_memory = 1,       // error correction that can be switched on
  instances = 2,        // MIG
  half_accumulate = 4,  // tensor products added up in FP32 go at half the rate
  no_tensor_cores = 8,  // although its compute capability has them (GeForce GTX 16)
  limited_fp64 = 16,    // the FP64 units are switched off but for a few (H20, H800)
  ecc_delivered = 32,   // error correction is switched on as the card comes
  nvlink_bridges = 64,  // NVLink, of a bandwidth that is not known for certain
};

struct Card {
  std::string_view name;         // as its driver reports it, without "NVIDIA "
  std::string_view also;         // further names of it, with "|" between them
  std::string_view pci_devices;  // PCI device ids, with " " between them; empty: not known
  ComputeCapability capability;  // 0.0: not NVIDIA's
  int multiprocessors = 0;       // or what its maker has: units_of()
  int memory_gib = 0;            // as it is sold; see usable_memory()
  std::optional<MemoryKind> memory = MemoryKind::gddr6;
  std::optional<int> bus_bits;
  std::optional<double> bandwidth;  // GB/s (10^9), as published
  std::optional<int> boost_mhz;     // of the reference card; board makers' differ
  std::optional<double> fp32;       // teraflops as published
  std::optional<int> watts;         // power limit by default
  std::string_view form;            // "PCIe 4.0 x16", "SXM5"
  std::optional<double> nvlink;     // GB/s, both directions together, of all links; has_nvlink()
  unsigned traits = plain;
  std::string_view source;               // the document that the figures stand in
  const PeakRates* published = nullptr;  // where the vendor's differ from what clocks would give
  std::string_view architecture;         // empty: NVIDIA's, whose capability tells it

  [[nodiscard]] bool has(Trait trait) const { return (traits & trait) != 0; }
  /// Compute capability, CUDA cores, tensor cores, NVLink and MIG are NVIDIA's terms alone.
  [[nodiscard]] bool has_capability() const { return architecture.empty(); }
  /// "NVIDIA"; else the first word of the name: "AMD", "Intel", "Huawei".
  [[nodiscard]] std::string_view maker() const {
    return has_capability() ? "NVIDIA" : name.substr(0, name.find(' '));
  }
};

/// What its maker calls that of which Card::multiprocessors is the number.
enum class CardUnits { multiprocessors, compute_units, xe_cores, ai_cores };
[[nodiscard]] CardUnits units_of(const Card& card);

[[nodiscard]] std::optional<std::uint64_t> cuda_cores(const Card& card);

[[nodiscard]] bool has_nvlink(const Card& card);

/// What the driver shows of the memory as the card is delivered. Error correction takes a sixteenth
/// of memory up to GDDR6X (L40S 48 GB: 46068 MiB; Tesla T4 16 GB: 15360 MiB). HBM and GDDR7 have
/// bits of their own for it (RTX PRO 6000 Server 96 GB, on: 97887 MiB). Workstation cards come with
/// it switched off (RTX A6000 48 GB: 49140 MiB).
[[nodiscard]] Bytes usable_memory(const Card& card);

/// Operations per multiprocessor and clock; 0: none of that kind. Products of 8 and 16 bits on
/// tensor cores, added up in FP32 at the full rate.
///
/// Source  CUDA C++ Programming Guide, "Arithmetic Instructions" (fp64, fp16 without tensor cores,
///         dp4a); the architectures' whitepapers, which give products per tensor core and clock.
struct ClockRates {
  int fp64 = 0, fp64_tensor = 0, tf32 = 0, fp16 = 0, bf16 = 0, fp8 = 0, int8 = 0, fp4 = 0;
};

struct CapabilityFacts {
  ComputeCapability from;  // up to the next row
  std::string_view architecture;
  std::uint64_t cores = 0;    // FP32 lanes per multiprocessor
  int tensor_generation = 0;  // 0: no tensor cores
  ClockRates per_clock;
};

/// Absent: before Kepler, or newer than what is known.
[[nodiscard]] std::optional<CapabilityFacts> facts_of(ComputeCapability capability);

[[nodiscard]] std::span<const Card> geforce_cards();      // GeForce and TITAN
[[nodiscard]] std::span<const Card> workstation_cards();  // Quadro, RTX A, RTX Ada, RTX PRO
[[nodiscard]] std::span<const Card> datacenter_cards();   // Tesla and what came after it; Jetson
[[nodiscard]] std::span<const Card> instinct_cards();     // AMD Instinct
[[nodiscard]] std::span<const Card> radeon_cards();       // AMD Radeon
[[nodiscard]] std::span<const Card> intel_cards();        // Arc, Data Center GPU Flex and Max
[[nodiscard]] std::span<const Card> ascend_chips();       // Huawei Ascend, one by one
/// All of them, in that order, the oldest of each first.
[[nodiscard]] std::span<const Card> all_cards();

}  // namespace berth
