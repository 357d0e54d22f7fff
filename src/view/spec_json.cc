// Cards for programs: the table's figures, and the driver's of what is here.

#include "base/json_archive.h"
#include "base/text.h"
#include "cards/card.h"
#include "cards/rates.h"
#include "view/spec_text.h"

namespace berth {

namespace {

/// To three decimals of a teraflop: the rest is rounding of the clock.
std::optional<std::uint64_t> operations(const std::optional<double>& teraflops) {
  if (!teraflops) return std::nullopt;
  return static_cast<std::uint64_t>(*teraflops * 1000 + 0.5) * 1'000'000'000;
}

std::uint64_t bytes_per_second(double gigabytes) {
  return static_cast<std::uint64_t>(gigabytes * 1000 + 0.5) * 1'000'000;
}

void write_rates(Archive& archive, const Card& card) {
  const PeakRates rates = peak_rates(card);
  archive.derived("fp64", operations(rates.fp64));
  archive.derived("fp64_tensor",
                  operations(card.has_capability() ? rates.fp64_tensor : std::nullopt));
  archive.derived("fp64_matrix",
                  operations(card.has_capability() ? std::nullopt : rates.fp64_tensor));
  archive.derived("fp32", operations(rates.fp32));
  archive.derived("tf32", operations(rates.tf32));
  archive.derived("fp16", operations(rates.fp16));
  archive.derived("bf16", operations(rates.bf16));
  archive.derived("fp8", operations(rates.fp8));
  archive.derived("int8", operations(rates.int8));
  archive.derived("fp4", operations(rates.fp4));
}

void write_table(Archive& archive, const Card& card) {
  const auto facts = facts_of(card.capability);
  const bool has_capability = card.has_capability();
  std::vector<std::string> lacks;
  for (const Lack lack : lacks_of(card)) lacks.emplace_back(name_of(lack));
  std::optional<std::string> architecture;
  std::optional<int> generation;
  std::optional<std::uint64_t> milliwatts;
  std::optional<std::uint64_t> nvlink;
  if (facts) architecture = std::string(facts->architecture);
  if (!has_capability) architecture = std::string(card.architecture);
  const bool tensors =
      has_capability && facts && !card.has(no_tensor_cores) && facts->tensor_generation > 0;
  if (tensors) generation = facts->tensor_generation;
  if (card.watts) milliwatts = static_cast<std::uint64_t>(*card.watts) * 1000;
  if (card.nvlink) nvlink = bytes_per_second(*card.nvlink);
  archive.derived("name", std::string(card.name));
  archive.derived("architecture", architecture);
  archive.derived("vendor", small_letters(card.maker()));
  std::optional<std::string> capability;
  if (has_capability) capability = capability_text(card.capability);
  archive.derived("compute_capability", capability);
  const auto number_of = [&](CardUnits units) {
    return units_of(card) == units ? std::optional(card.multiprocessors) : std::nullopt;
  };
  archive.derived("multiprocessors", number_of(CardUnits::multiprocessors));
  archive.derived("compute_units", number_of(CardUnits::compute_units));
  archive.derived("xe_cores", number_of(CardUnits::xe_cores));
  archive.derived("ai_cores", number_of(CardUnits::ai_cores));
  archive.derived("cuda_cores", cuda_cores(card));
  archive.derived("tensor_core_generation", generation);
  archive.derived("memory_sold_bytes", static_cast<std::uint64_t>(card.memory_gib) << 30);
  archive.derived("memory_usable_bytes", usable_memory(card));
  archive.derived("memory_kind",
                  card.memory ? std::optional(std::string(name_of(*card.memory))) : std::nullopt);
  archive.derived("memory_bus_width_bits", card.bus_bits);
  archive.derived("memory_bandwidth_bytes_per_second",
                  card.bandwidth ? std::optional(bytes_per_second(*card.bandwidth)) : std::nullopt);
  archive.derived("clock_boost_megahertz", card.boost_mhz);
  archive.derived("power_limit_milliwatts", milliwatts);
  archive.derived("form", std::string(card.form));
  archive.derived("nvlink_bytes_per_second", nvlink);
  archive.derived_object("peak_operations_per_second", true, [&] { write_rates(archive, card); });
  archive.derived("lacks", lacks);
  archive.derived("source", std::string(card.source));
}

void write_here(Archive& archive, const SpecSubject& subject) {
  const Device& device = *subject.device;
  archive.derived("indices", subject.indices);
  archive.derived("name", device.name.get());
  archive.derived("multiprocessors", device.multiprocessors.get());
  archive.derived("cuda_cores", device.cuda_cores.get());
  archive.derived("memory_total_bytes", device.memory_total.get());
  archive.derived("memory_bus_width_bits", device.memory_bus_width.get());
  archive.derived("memory_bandwidth_bytes_per_second", device.memory_bandwidth.get());
  archive.derived("clock_sm_max_megahertz", device.clock_sm_max.get());
  archive.derived("power_limit_default_milliwatts", device.power_limit_default.get());
}

}  // namespace

std::string spec_json(const SpecAnswer& answer) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_spec", 1);
                      archive.derived("simulated", answer.simulated);
                      archive.derived_list("cards", answer.subjects, [&](const SpecSubject& one) {
                        archive.derived_object("table", one.card != nullptr,
                                               [&] { write_table(archive, *one.card); });
                        archive.derived_object("here", one.device != nullptr,
                                               [&] { write_here(archive, one); });
                      });
                    }) +
         "\n";
}

}  // namespace berth
