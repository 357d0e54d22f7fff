// Errors of memory, what the card did about them, and memory nobody gives back.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/tr.h"
#include "health/rules.h"
#include "health/xid.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth::health {

namespace {

std::uint64_t count_of(const Device& device, Detail detail) {
  const auto count = device.details.get<std::uint64_t>(detail);
  return count.has_value() ? *count.get() : 0;
}

bool is_set(const Device& device, Detail detail) {
  const auto flag = device.details.get<bool>(detail);
  return flag.has_value() && *flag.get();
}

// Where errors are counted one by one. Those in SRAM are counted whole, in two halves, or by its
// caches and registers: the same ones each time.
struct ErrorPlaces {
  Detail dram;
  Detail sram;
  std::array<Detail, 5> parts;
  std::span<const Detail> halves;
};
constexpr std::array uncorrected_halves = {Detail::ecc_sram_parity_volatile,
                                           Detail::ecc_sram_secded_volatile};
constexpr ErrorPlaces uncorrected_places = {
    Detail::ecc_uncorrected_volatile_dram,
    Detail::ecc_uncorrected_volatile_sram,
    {Detail::ecc_uncorrected_volatile_register_file, Detail::ecc_uncorrected_volatile_l1_cache,
     Detail::ecc_uncorrected_volatile_l2_cache, Detail::ecc_uncorrected_volatile_texture,
     Detail::ecc_uncorrected_volatile_cbu},
    uncorrected_halves};
constexpr ErrorPlaces corrected_places = {
    Detail::ecc_corrected_volatile_dram,
    Detail::ecc_corrected_volatile_sram,
    {Detail::ecc_corrected_volatile_register_file, Detail::ecc_corrected_volatile_l1_cache,
     Detail::ecc_corrected_volatile_l2_cache, Detail::ecc_corrected_volatile_texture,
     Detail::ecc_corrected_volatile_cbu},
    {}};

std::uint64_t sum_of(const Device& device, std::span<const Detail> places) {
  std::uint64_t sum = 0;
  for (const Detail place : places) sum += count_of(device, place);
  return sum;
}

/// At least so many: a card that has no total may still tell some of its parts. A GB200 tells the
/// errors in its DRAM, and none of those in its SRAM.
std::uint64_t least_errors(const Device& device, const ErrorPlaces& places) {
  return count_of(device, places.dram) +
         std::max({count_of(device, places.sram), sum_of(device, places.halves),
                   sum_of(device, places.parts)});
}

Sentence reset_advice(const Device& device) {
  return facts_of(device.kind).reset_command.empty()
             ? sentence("no new jobs on it, then a reset by root or a reboot")
             : Sentence(advice_for(XidAction::reset));
}

Findings memory_errors(const Device& device, const Snapshot&) {
  Findings findings;
  const auto& uncorrected = device.ecc_uncorrected;
  const std::uint64_t least = least_errors(device, uncorrected_places);
  if (uncorrected.has_value() && *uncorrected.get() > 0) {
    findings.push_back(
        found(Severity::warning, "ecc_uncorrected",
              *uncorrected.get() == 1
                  ? sentence("one memory error was not corrected since the driver loaded")
                  : sentence("{} memory errors were not corrected since the driver loaded",
                             *uncorrected.get()),
              reset_advice(device)));
  } else if (!uncorrected.has_value() && least > 0) {
    findings.push_back(found(
        Severity::warning, "ecc_uncorrected",
        sentence("at least {} memory errors were not corrected since the driver loaded", least),
        reset_advice(device)));
  }
  const auto& corrected = device.ecc_corrected;
  const std::uint64_t least_corrected = least_errors(device, corrected_places);
  if (corrected.has_value() && *corrected.get() > 0) {
    findings.push_back(found(
        Severity::hint, "ecc_corrected",
        *corrected.get() == 1 ? sentence("one memory error was corrected since the driver loaded")
                              : sentence("{} memory errors were corrected since the driver loaded",
                                         *corrected.get())));
  } else if (!corrected.has_value() && least_corrected > 0) {
    findings.push_back(
        found(Severity::hint, "ecc_corrected",
              sentence("at least {} memory errors were corrected since the driver loaded",
                       least_corrected)));
  }
  if (is_set(device, Detail::ecc_sram_threshold_exceeded)) {
    findings.push_back(
        found(Severity::warning, "sram_threshold",
              sentence("errors of its caches and registers passed the maker's threshold"),
              sentence("ask for its replacement")));
  }
  return findings;
}

Findings row_remapping(const Device& device, const Snapshot&) {
  Findings findings;
  if (is_set(device, Detail::remapped_rows_failed)) {
    findings.push_back(
        found(Severity::error, "row_remap_failed",
              sentence("a broken row of memory could not be replaced: no spare is left"),
              sentence("ask for its replacement")));
  }
  if (is_set(device, Detail::remapped_rows_pending)) {
    findings.push_back(found(Severity::warning, "row_remap_pending",
                             sentence("a broken row of memory will be replaced at the next reset"),
                             reset_advice(device)));
  }
  const std::uint64_t uncorrectable = count_of(device, Detail::remapped_rows_uncorrectable);
  if (uncorrectable > 0) {
    findings.push_back(
        found(Severity::hint, "rows_remapped",
              uncorrectable == 1
                  ? sentence("one row of memory was replaced after an error")
                  : sentence("{} rows of memory were replaced after errors", uncorrectable)));
  }
  return findings;
}

Findings retired_pages(const Device& device, const Snapshot&) {
  Findings findings;
  if (is_set(device, Detail::retired_pages_pending)) {
    findings.push_back(
        found(Severity::warning, "page_retirement_pending",
              sentence("a broken page of memory will be retired when the driver is loaded anew"),
              reset_advice(device)));
  }
  const std::uint64_t double_bit = count_of(device, Detail::retired_pages_double_bit);
  constexpr std::uint64_t most_of_warranty = 60;  // NVIDIA's dynamic page retirement guide
  if (double_bit > 0) {
    findings.push_back(
        found(double_bit >= most_of_warranty ? Severity::warning : Severity::hint, "pages_retired",
              double_bit == 1
                  ? sentence("one page of memory was retired after a double bit error")
                  : sentence("{} pages of memory were retired after double bit errors", double_bit),
              double_bit >= most_of_warranty ? sentence("ask for its replacement") : Sentence()));
  }
  return findings;
}

Findings repairs(const Device& device, const Snapshot&) {
  Findings findings;
  if (is_set(device, Detail::unrepairable_memory)) {
    findings.push_back(found(Severity::error, "unrepairable_memory",
                             sentence("its memory has an error that cannot be repaired"),
                             sentence("ask for its replacement")));
  }
  for (const auto& [detail, what] : {std::pair(Detail::channel_repair_pending, "memory channel"),
                                     std::pair(Detail::tpc_repair_pending, "processing cluster")}) {
    if (!is_set(device, detail)) continue;
    findings.push_back(found(Severity::warning, "repair_pending",
                             sentence("a {} waits for its repair at the next reset", what),
                             reset_advice(device)));
  }
  return findings;
}

Findings ghost_memory(const Device& device, const Snapshot& snapshot) {
  constexpr Bytes worth_saying{std::uint64_t{1} << 30};
  const Sentence advice = sentence("berth ps says who has the device open");
  const auto memory_of = [&](const Device& one) -> std::optional<std::string> {
    const Reading<Bytes> unexplained = unexplained_memory(one, snapshot);
    if (!unexplained.has_value() || *unexplained.get() < worth_saying) return std::nullopt;
    return short_size(*unexplained.get());
  };
  Findings findings;
  const Division division = division_of(device);
  if (division == Division::whole) {
    if (const auto memory = memory_of(device)) {
      findings.push_back(found(Severity::hint, "memory_of_nobody",
                               sentence("{} are held by no process in the driver's list", *memory),
                               advice));
    }
  }
  // A divided card's memory is its instances'.
  for (const Device& instance : snapshot.devices) {
    if (division != Division::divided || instance.parent != device.id || !instance.partition)
      continue;
    if (const auto memory = memory_of(instance)) {
      findings.push_back(found(
          Severity::hint, "memory_of_nobody",
          sentence("{} of MIG instance {}/{} are held by no process in the "
                   "driver's list",
                   *memory, instance.partition->gpu_instance, instance.partition->compute_instance),
          advice));
    }
  }
  return findings;
}

}  // namespace

std::span<const HealthRule> memory_rules() {
  static constexpr HealthRule rules[] = {
      {.find = memory_errors,
       .reads = {{as_key("memory errors"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.ecc_uncorrected);
                  }}},
       .reports = {{"ecc_uncorrected", "degraded",
                    "memory errors that were not corrected since the driver loaded; of a card "
                    "without a total, at least those of the parts that it tells",
                    "reset or reboot"},
                   {"ecc_corrected", "notice", "memory errors that were corrected", "–"},
                   {"sram_threshold", "degraded",
                    "NVML: errors of caches and registers passed the maker's threshold",
                    "its replacement"}}},
      {.find = row_remapping,
       .reads = {{as_key("row remapping"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::remapped_rows_failed));
                  }}},
       .reports = {{"row_remap_failed", "failed", "a row of memory could not be replaced",
                    "its replacement"},
                   {"row_remap_pending", "degraded", "a row will be replaced at the next reset",
                    "reset or reboot"},
                   {"rows_remapped", "notice", "rows that were replaced after uncorrectable errors",
                    "–"}}},
      {.find = retired_pages,
       .reads = {{as_key("retired pages"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::retired_pages_pending));
                  }}},
       .reports = {{"page_retirement_pending", "degraded",
                    "a page will be retired when the driver is loaded anew", "reset or reboot"},
                   {"pages_retired", "notice; degraded from 60 on",
                    "pages retired after double bit errors", "from 60 on: its replacement"}}},
      {.find = repairs,
       .reads = {{as_key("repairs"),
                  [](const Device& device, const Snapshot&) {
                    return why_unread(device.details.cell(Detail::unrepairable_memory));
                  }}},
       .reports = {{"unrepairable_memory", "failed", "NVML: an error that cannot be repaired",
                    "its replacement"},
                   {"repair_pending", "degraded",
                    "a memory channel or processing cluster waits for its repair",
                    "reset or reboot"}}},
      {.find = ghost_memory,
       .reads =
           {{as_key("memory of nobody"),
             [](const Device& device, const Snapshot&) { return why_unread(device.memory_used); }},
            {as_key("division by MIG"),
             [](const Device& device, const Snapshot&) { return why_unread(device.mig_mode); }}},
       .reports = {{"memory_of_nobody", "notice",
                    "1 GiB and more that no process in the driver's list holds, on a card that is "
                    "not divided",
                    "`berth ps`"}}},
  };
  return rules;
}

}  // namespace berth::health
