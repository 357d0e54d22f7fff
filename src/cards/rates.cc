#include "cards/rates.h"

#include "cards/card.h"

namespace berth {

namespace {

/// Clocks per second in 10^12; from the published FP32 rate where no clock is.
std::optional<double> tera_clock(const Card& card) {
  if (card.boost_mhz) return *card.boost_mhz * 1e-6;
  const auto cores = cuda_cores(card);
  if (!card.fp32 || !cores) return std::nullopt;
  return *card.fp32 / (2.0 * static_cast<double>(*cores));
}

/// The rates of one clock as this product has them.
ClockRates per_clock(const Card& card, const CapabilityFacts& facts) {
  ClockRates rates = facts.per_clock;
  if (card.has(no_tensor_cores)) {
    // TU116 and TU117 have FP16 lanes of their own instead, twice as many as FP32 lanes.
    rates.fp16 = 256;
    rates.int8 = 512;
  }
  if (card.has(half_accumulate)) {
    rates.tf32 /= 2;
    rates.fp16 /= 2;
    rates.bf16 /= 2;
    rates.fp8 /= 2;
  }
  return rates;
}

}  // namespace

PeakRates peak_rates(const Card& card) {
  if (card.published != nullptr) return *card.published;
  PeakRates rates{.fp32 = card.fp32};
  const auto facts = facts_of(card.capability);
  const auto clock = tera_clock(card);
  if (!facts || !clock) return rates;
  const auto rate = [&](int operations) -> std::optional<double> {
    if (operations == 0) return std::nullopt;
    return card.multiprocessors * operations * *clock;
  };
  const ClockRates each = per_clock(card, *facts);
  if (!rates.fp32) rates.fp32 = rate(2 * static_cast<int>(facts->cores));
  rates.fp64 = rate(each.fp64);
  rates.fp64_tensor = rate(each.fp64_tensor);
  rates.tf32 = rate(each.tf32);
  rates.fp16 = rate(each.fp16);
  rates.bf16 = rate(each.bf16);
  rates.fp8 = rate(each.fp8);
  rates.int8 = rate(each.int8);
  rates.fp4 = rate(each.fp4);
  return rates;
}

namespace {

/// Nothing where NVIDIA has its own word for it, or where no rates are known.
std::vector<Lack> lacks_by_rates(const Card& card) {
  if (card.published == nullptr) return {};
  const PeakRates rates = peak_rates(card);
  std::vector<Lack> lacks;
  if (!rates.tf32) lacks.push_back(Lack::tf32);
  if (!rates.fp8) lacks.push_back(Lack::fp8);
  if (!rates.fp4) lacks.push_back(Lack::fp4);
  return lacks;
}

}  // namespace

std::vector<Lack> lacks_of(const Card& card) {
  if (!card.has_capability()) return lacks_by_rates(card);
  const ComputeCapability has = card.capability;
  const auto facts = facts_of(has);
  const bool tensors = facts && facts->tensor_generation > 0 && !card.has(no_tensor_cores);
  const bool fp16 = tensors || card.has(no_tensor_cores) || (facts && facts->per_clock.fp16 > 0);
  // By what the silicon has per clock, so that a card of unknown clock has an answer as well.
  const PeakRates rates = peak_rates(card);
  const bool fp64_known_slow = rates.fp64 && rates.fp32 && *rates.fp64 * 8 <= *rates.fp32;
  const bool fp64_slow = fp64_known_slow || card.has(limited_fp64) ||
                         (facts && facts->per_clock.fp64 > 0 &&
                          facts->per_clock.fp64 * 8 <= static_cast<int>(facts->cores) * 2);
  std::vector<Lack> lacks;
  const auto add = [&](Lack lack, bool missing) {
    if (missing) lacks.push_back(lack);
  };
  add(Lack::tensor_cores, !tensors);
  add(Lack::fast_fp16, !fp16);
  add(Lack::bf16, has < ComputeCapability{8, 0});
  add(Lack::tf32, has < ComputeCapability{8, 0});
  add(Lack::fp8, has < ComputeCapability{8, 9});
  add(Lack::fp4, has < ComputeCapability{10, 0});
  add(Lack::fast_fp64, fp64_slow);
  add(Lack::ecc, !card.has(ecc_memory));
  add(Lack::instances, !card.has(instances));
  add(Lack::nvlink, !has_nvlink(card));
  add(Lack::cuda_13, has < ComputeCapability{7, 5});
  return lacks;
}

std::string_view name_of(Lack lack) {
  switch (lack) {
    case Lack::tensor_cores:
      return "tensor_cores";
    case Lack::fast_fp16:
      return "fast_fp16";
    case Lack::bf16:
      return "bf16";
    case Lack::tf32:
      return "tf32";
    case Lack::fp8:
      return "fp8";
    case Lack::fp4:
      return "fp4";
    case Lack::fast_fp64:
      return "fast_fp64";
    case Lack::ecc:
      return "ecc";
    case Lack::instances:
      return "mig";
    case Lack::nvlink:
      return "nvlink";
    case Lack::cuda_13:
      return "cuda_13";
  }
  return "";
}

}  // namespace berth
