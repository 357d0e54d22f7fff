// Cards for programs: the table's figures, and the driver's of what is here.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cards/capability.h"
#include "cards/rates.h"
#include "view/spec_text.h"

namespace berth {

namespace {

using SpecJson = nlohmann::ordered_json;

template <class T>
SpecJson number_or_null(const std::optional<T>& value) {
  return value ? SpecJson(*value) : SpecJson(nullptr);
}

/// To three decimals of a teraflop: the rest is rounding of the clock.
SpecJson operations(const std::optional<double>& teraflops) {
  if (!teraflops) return nullptr;
  return static_cast<std::uint64_t>(*teraflops * 1000 + 0.5) * 1'000'000'000;
}

SpecJson rates_json(const Card& card) {
  const PeakRates rates = peak_rates(card);
  return {{"fp64", operations(rates.fp64)}, {"fp64_tensor", operations(rates.fp64_tensor)},
          {"fp32", operations(rates.fp32)}, {"tf32", operations(rates.tf32)},
          {"fp16", operations(rates.fp16)}, {"bf16", operations(rates.bf16)},
          {"fp8", operations(rates.fp8)},   {"int8", operations(rates.int8)},
          {"fp4", operations(rates.fp4)}};
}

SpecJson table_json(const Card& card) {
  const auto facts = facts_of(card.capability);
  SpecJson lacks = SpecJson::array();
  for (const Lack lack : lacks_of(card)) lacks.push_back(name_of(lack));
  const bool tensors = facts && !card.has(no_tensor_cores);
  return {{"name", card.name},
          {"architecture", facts ? SpecJson(facts->architecture) : SpecJson(nullptr)},
          {"compute_capability",
           std::to_string(card.capability.major) + "." + std::to_string(card.capability.minor)},
          {"multiprocessors", card.multiprocessors},
          {"cuda_cores", number_or_null(cuda_cores(card))},
          {"tensor_core_generation", tensors && facts->tensor_generation > 0
                                         ? SpecJson(facts->tensor_generation)
                                         : SpecJson(nullptr)},
          {"memory_sold_bytes", static_cast<std::uint64_t>(card.memory_gib) << 30},
          {"memory_usable_bytes", usable_memory(card).count()},
          {"memory_kind", name_of(card.memory)},
          {"memory_bus_width_bits", card.bus_bits},
          {"memory_bandwidth_bytes_per_second",
           static_cast<std::uint64_t>(card.bandwidth * 1000 + 0.5) * 1'000'000},
          {"clock_boost_megahertz", number_or_null(card.boost_mhz)},
          {"power_limit_milliwatts", card.watts ? SpecJson(*card.watts * 1000) : SpecJson(nullptr)},
          {"form", card.form},
          {"nvlink_bytes_per_second",
           card.nvlink ? SpecJson(static_cast<std::uint64_t>(*card.nvlink * 1000 + 0.5) * 1'000'000)
                       : SpecJson(nullptr)},
          {"peak_operations_per_second", rates_json(card)},
          {"lacks", std::move(lacks)},
          {"source", card.source}};
}

template <class T>
SpecJson reading_json(const Reading<T>& reading) {
  if (!reading.get()) return nullptr;
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return *reading.get();
  } else {
    return reading.get()->count();
  }
}

SpecJson here_json(const SpecSubject& subject) {
  if (subject.device == nullptr) return nullptr;
  const Device& device = *subject.device;
  return {{"indices", subject.indices},
          {"name", reading_json(device.name)},
          {"multiprocessors", reading_json(device.multiprocessors)},
          {"cuda_cores", reading_json(device.cuda_cores)},
          {"memory_total_bytes", reading_json(device.memory_total)},
          {"memory_bus_width_bits", reading_json(device.memory_bus_width)},
          {"memory_bandwidth_bytes_per_second", reading_json(device.memory_bandwidth)},
          {"clock_sm_max_megahertz", reading_json(device.clock_sm_max)},
          {"power_limit_default_milliwatts", reading_json(device.power_limit_default)}};
}

}  // namespace

std::string spec_json(const SpecAnswer& answer) {
  SpecJson cards = SpecJson::array();
  for (const SpecSubject& subject : answer.subjects) {
    cards.push_back(
        {{"table", subject.card != nullptr ? table_json(*subject.card) : SpecJson(nullptr)},
         {"here", here_json(subject)}});
  }
  const SpecJson all = {{"berth_spec", 1},
                        {"simulated", number_or_null(answer.simulated)},
                        {"cards", std::move(cards)}};
  return printable_json(all.dump(2, ' ', false, SpecJson::error_handler_t::replace)) + "\n";
}

}  // namespace berth
