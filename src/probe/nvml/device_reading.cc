#include "probe/nvml/device_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "probe/nvml/card_table.h"
#include "probe/nvml/device_details.h"
#include "snapshot/fields.h"

namespace berth::nvml {

namespace {

Reading<bool> read_mode(DeviceAsker& asker,
                        const Function<Handle, unsigned*, unsigned*>& function) {
  unsigned current = 0;
  unsigned pending = 0;
  const Return code = asker.call(function, 0, &current, &pending);
  if (code != success) return why_absent(code);
  if (current > 1) return Absent::failed;
  return current == 1;
}

Reading<Percent> read_engine(DeviceAsker& asker,
                             const Function<Handle, unsigned*, unsigned*>& function) {
  unsigned busy = 0;
  unsigned period = 0;
  const Return code = asker.call(function, 0, &busy, &period);
  if (code != success) return why_absent(code);
  if (busy > 100) return Absent::failed;
  return Percent(busy);
}

// nvmlComputeMode_t, in nvidia-smi's words.
Reading<std::string> read_compute_mode(DeviceAsker& asker) {
  const auto mode = asker.ask<unsigned>(asker.api().nvmlDeviceGetComputeMode, 0);
  if (!mode) return why_absent(mode.error());
  constexpr std::array<std::string_view, 4> names = {"Default", "Exclusive_Thread", "Prohibited",
                                                     "Exclusive_Process"};
  if (*mode >= names.size()) return Absent::unsupported;
  return std::string(names[*mode]);
}

void read_modes(DeviceAsker& asker, Device& device) {
  const Api& api = asker.api();
  if (asker.wants<&Device::compute_mode>()) device.compute_mode = read_compute_mode(asker);
  if (asker.wants<&Device::persistence_mode>()) {
    device.persistence_mode = enabled(asker.ask<unsigned>(api.nvmlDeviceGetPersistenceMode, 0));
  }
  if (asker.wants<&Device::ecc_mode>()) {
    device.ecc_mode = read_mode(asker, api.nvmlDeviceGetEccMode);
  }
  if (asker.wants<&Device::display_active>()) {
    device.display_active = enabled(asker.ask<unsigned>(api.nvmlDeviceGetDisplayActive, 0));
  }
  if (asker.wants<&Device::display_attached>()) {
    device.display_attached = enabled(asker.ask<unsigned>(api.nvmlDeviceGetDisplayMode, 0));
  }
  if (!asker.wants<&Device::performance_state>()) return;
  // 32 is NVML_PSTATE_UNKNOWN.
  const auto state = asker.ask<unsigned>(api.nvmlDeviceGetPerformanceState, 0);
  device.performance_state = number(state, {0, 15});
  if (state && *state == 32) device.performance_state = Absent::unsupported;
}

void read_utilization(DeviceAsker& asker, Device& device) {
  const auto rates = asker.ask<Utilization>(asker.api().nvmlDeviceGetUtilizationRates, 0);
  if (!rates) {
    device.utilization_gpu = device.utilization_memory = why_absent(rates.error());
  } else {
    device.utilization_gpu = Absent::failed;
    device.utilization_memory = Absent::failed;
    if (rates->gpu <= 100) device.utilization_gpu = Percent(rates->gpu);
    if (rates->memory <= 100) device.utilization_memory = Percent(rates->memory);
  }
}

Reading<std::vector<UtilizationSample>> read_history(DeviceAsker& asker, WallTime taken,
                                                     unsigned& capacity) {
  auto samples = fetch_samples(asker, samples_gpu_utilization, capacity);
  if (!samples && samples.error() == not_found) return std::vector<UtilizationSample>{};
  if (!samples) return why_absent(samples.error());
  // A sample may be taken after `taken` was; one further in the future is another clock's.
  constexpr std::int64_t most_ahead_ms = 5000;
  // The driver keeps some seconds; an older one was stamped before the host's clock was set.
  constexpr std::int64_t oldest_ms = 86'400'000;
  std::vector<UtilizationSample> history;
  history.reserve(samples->size());
  bool has_garbage = false;
  for (const Sample& sample : *samples) {
    const unsigned busy = sample.value.as_unsigned;
    const auto age = taken.unix_ms - static_cast<std::int64_t>(sample.timestamp_us / 1000);
    has_garbage = has_garbage || busy > 100;
    if (sample.timestamp_us == 0 || busy > 100 || age < -most_ahead_ms || age > oldest_ms) continue;
    history.push_back({Milliseconds(std::max<std::int64_t>(age, 0)), Percent(busy)});
  }
  if (history.empty() && has_garbage) return Absent::failed;
  std::stable_sort(history.begin(), history.end(),
                   [](const auto& a, const auto& b) { return a.age < b.age; });
  return history;
}

void read_load(DeviceAsker& asker, WallTime taken, DeviceMemory& memory, Device& device) {
  const Api& api = asker.api();
  if (asker.wants<&Device::utilization_gpu, &Device::utilization_memory>()) {
    read_utilization(asker, device);
  }
  if (asker.wants<&Device::utilization_encoder>()) {
    device.utilization_encoder = read_engine(asker, api.nvmlDeviceGetEncoderUtilization);
  }
  if (asker.wants<&Device::utilization_decoder>()) {
    device.utilization_decoder = read_engine(asker, api.nvmlDeviceGetDecoderUtilization);
  }
  if (asker.wants<&Device::utilization_history>()) {
    device.utilization_history = read_history(asker, taken, memory.samples_capacity);
  }
}

Reading<Celsius> read_temperature(DeviceAsker& asker) {
  const Api& api = asker.api();
  TemperatureV1 newer{struct_version<TemperatureV1>(1), temperature_gpu, 0};
  const Return code = asker.call(api.nvmlDeviceGetTemperatureV, 0, &newer);
  if (code == success) return reading<Celsius>(std::expected<std::int32_t, Return>(newer.celsius));
  if (!is_refused_for_good(code)) return why_absent(code);
  return reading<Celsius>(asker.ask<unsigned>(api.nvmlDeviceGetTemperature, 0, temperature_gpu));
}

void read_power(DeviceAsker& asker, Device& device) {
  const Api& api = asker.api();
  if (asker.wants<&Device::power_draw>()) {
    device.power_draw = reading<Milliwatts>(asker.ask<unsigned>(api.nvmlDeviceGetPowerUsage, 0));
  }
  if (asker.wants<&Device::power_limit>()) {
    device.power_limit =
        above_zero<Milliwatts>(asker.ask<unsigned>(api.nvmlDeviceGetEnforcedPowerLimit, 0));
  }
  if (asker.wants<&Device::energy>()) {
    device.energy = reading<Millijoules>(
        asker.ask<unsigned long long>(api.nvmlDeviceGetTotalEnergyConsumption, 0));
  }
  if (asker.wants<&Device::temperature>()) device.temperature = read_temperature(asker);
  if (asker.wants<&Device::fan_speed>()) {
    device.fan_speed = reading<Percent>(asker.ask<unsigned>(api.nvmlDeviceGetFanSpeed, 0));
  }
}

void read_clocks(DeviceAsker& asker, Device& device) {
  const Api& api = asker.api();
  const auto clock = [&](unsigned domain) {
    return reading<Megahertz>(asker.ask<unsigned>(api.nvmlDeviceGetClockInfo, domain, domain));
  };
  if (asker.wants<&Device::clock_sm>()) device.clock_sm = clock(clock_sm);
  if (asker.wants<&Device::clock_memory>()) device.clock_memory = clock(clock_memory);
  if (asker.wants<&Device::clock_graphics>()) device.clock_graphics = clock(clock_graphics);
  if (!asker.wants<&Device::throttle_reasons>()) return;
  auto reasons = asker.ask<unsigned long long>(api.nvmlDeviceGetCurrentClocksEventReasons, 0);
  if (!reasons && is_refused_for_good(reasons.error())) {
    reasons = asker.ask<unsigned long long>(api.nvmlDeviceGetCurrentClocksThrottleReasons, 0);
  }
  // nvmlClocksEventReasons: ClockReason has its numbers.
  const Reading<std::uint64_t> mask = number(reasons, throttle_masks);
  device.throttle_reasons = mask.get() ? Reading<ClockReasons>(ClockReasons(*mask.get()))
                                       : Reading<ClockReasons>(mask.why());
}

std::optional<std::uint64_t> whole_number(const FieldValue& field) {
  switch (field.value_type) {
    case value_is_unsigned:
      return field.value.as_unsigned;
    case value_is_unsigned_long:
    case value_is_unsigned_long_long:
      return field.value.as_unsigned_long;
    case value_is_long_long:
      if (field.value.as_long < 0) return std::nullopt;
      return static_cast<std::uint64_t>(field.value.as_long);
    case value_is_int:
      if (field.value.as_int < 0) return std::nullopt;
      return static_cast<std::uint64_t>(field.value.as_int);
    case value_is_unsigned_short:
      return field.value.as_unsigned_short;
    default:
      return std::nullopt;
  }
}

template <class T>
Reading<T> field_reading(const FieldValue& field) {
  if (field.answer != success) return why_absent_newcomer(field.answer);
  const auto value = whole_number(field);
  if (!value) return Absent::failed;
  return reading<T>(std::expected<std::uint64_t, Return>(*value));
}

/// What a card does not have is left out, as all that nobody asked for is. What was asked and not
/// answered is not: it would look as if nothing spoke against the card.
void put_verdict(Detail detail, const Cell& cell, Details& details) {
  if (!cell.get() && cell.why() == Absent::unsupported) return;
  details.put(detail, cell);
}

void put_verdict(Detail detail, As as, const FieldValue& field, Details& details) {
  put_verdict(
      detail,
      field.answer == success ? cell_of_field(as, field) : Cell(why_absent_newcomer(field.answer)),
      details);
}

// One call for all of them. The byte counters are cumulative: nvmlDeviceGetPcieThroughput, which
// measures for 20 ms while the caller sleeps, is never called. The last two decide whether a device
// is failed. Placement reads no details, and must not give out a failed device.
void read_field_values(DeviceAsker& asker, Device& device) {
  std::array<FieldValue, 5> fields = {};
  int count = 0;
  // An entry that the driver leaves as it is has not been answered. Null: not wanted.
  const auto ask_for = [&](bool wanted, std::uint32_t field) {
    if (!wanted) return static_cast<FieldValue*>(nullptr);
    FieldValue& entry = fields[static_cast<std::size_t>(count++)];
    entry.field = field;
    entry.answer = unknown;
    return &entry;
  };
  const bool judged = asker.wants(Extra::verdicts);
  const auto* const sent = ask_for(asker.wants<&Device::pcie_sent>(), field_pcie_sent_bytes);
  const auto* const received =
      ask_for(asker.wants<&Device::pcie_received>(), field_pcie_received_bytes);
  const auto* const heat =
      ask_for(asker.wants<&Device::temperature_memory>(), field_memory_temperature);
  const auto* const unmapped = ask_for(judged, field_remapped_rows_failed);
  const auto* const action = ask_for(judged, field_recovery_action);
  if (count == 0) return;
  const Return code = asker.call(asker.api().nvmlDeviceGetFieldValues, 0, count, fields.data());
  for (FieldValue& field : fields) {
    if (code != success) field.answer = code;
    if (field.answer == gpu_is_lost) asker.note_lost();
  }
  if (sent != nullptr) device.pcie_sent = field_reading<Bytes>(*sent);
  if (received != nullptr) device.pcie_received = field_reading<Bytes>(*received);
  if (heat != nullptr) device.temperature_memory = field_reading<Celsius>(*heat);
  if (!judged) return;
  put_verdict(Detail::remapped_rows_failed, As::yes_or_no, *unmapped, device.details);
  put_verdict(Detail::recovery_action, As::recovery_action, *action, device.details);
}

/// The third thing that a device is judged failed by.
void read_unrepairable_memory(DeviceAsker& asker, Device& device) {
  put_verdict(Detail::unrepairable_memory, unrepairable_memory(asker), device.details);
}

void read_links_and_errors(DeviceAsker& asker, Device& device) {
  const Api& api = asker.api();
  if (asker.wants<&Device::pcie_generation>()) {
    device.pcie_generation =
        number(asker.ask<unsigned>(api.nvmlDeviceGetCurrPcieLinkGeneration, 0), pcie_generations);
  }
  if (asker.wants<&Device::pcie_width>()) {
    device.pcie_width =
        number(asker.ask<unsigned>(api.nvmlDeviceGetCurrPcieLinkWidth, 0), pcie_lanes);
  }
  if (asker.wants<&Device::pcie_replays>()) {
    device.pcie_replays =
        number(asker.ask<unsigned>(api.nvmlDeviceGetPcieReplayCounter, 0), error_counts);
  }
  const auto errors = [&](unsigned type) {
    return number(
        asker.ask<unsigned long long>(api.nvmlDeviceGetTotalEccErrors, type, type, ecc_volatile),
        error_counts);
  };
  if (asker.wants<&Device::ecc_corrected>()) device.ecc_corrected = errors(error_corrected);
  if (asker.wants<&Device::ecc_uncorrected>()) device.ecc_uncorrected = errors(error_uncorrected);
}

}  // namespace

Wanted with_sources(const Wanted& wanted) {
  using D = Device;
  Wanted all = wanted;
  all.add<&D::uuid, &D::pci_address>();
  // Where an error left the name of the product to be used, and for what the chip is called.
  if (all.has<&D::multiprocessors>()) all.add<&D::cuda_cores>();
  if (all.has<&D::cuda_cores>()) all.add<&D::name>();
  if (all.has<&D::cuda_cores, &D::architecture>()) all.add<&D::compute_capability>();
  if (all.has<&D::memory_bandwidth>()) all.add<&D::clock_memory_max, &D::memory_bus_width>();
  if (all.has<&D::process_count>()) all.add(Extra::processes);
  // Processes of an instance are in its card's list. Where that may not be seen, they are in its
  // own.
  if (all.has(Extra::processes)) all.add(Extra::instances);
  if (all.has(Extra::instances)) all.add<&D::mig_mode>();
  add_sources_of_details(all);
  return all;
}

Reading<bool> read_mig_mode(DeviceAsker& asker) {
  return read_mode(asker, asker.api().nvmlDeviceGetMigMode);
}

/// What is a part of `total` bytes.
Reading<Bytes> part_of(std::uint64_t part, std::uint64_t total) {
  if (is_unavailable(part)) return Absent::unsupported;
  return part > total ? Reading<Bytes>(Absent::failed) : Reading<Bytes>(Bytes(part));
}

template <class Memory>
void take_memory(const Memory& memory, Device& device) {
  device.memory_total = part_of(memory.total, memory.total);
  device.memory_used = part_of(memory.used, memory.total);
  device.memory_free = part_of(memory.free, memory.total);
}

bool wants_memory(const DeviceAsker& asker) {
  return asker.wants<&Device::memory_total, &Device::memory_used, &Device::memory_free,
                     &Device::memory_reserved>();
}

// A chip that shares its host's memory (GB10) refuses; some drivers answer that it has 0 bytes.
void read_memory(DeviceAsker& asker, Device& device) {
  const Api& api = asker.api();
  MemoryV2 split{struct_version<MemoryV2>(2), 0, 0, 0, 0};
  Return code = asker.call(api.nvmlDeviceGetMemoryInfo_v2, 0, &split);
  if (code == success && split.total == 0) code = not_supported;
  if (code == success) {
    take_memory(split, device);
    device.memory_reserved = part_of(split.reserved, split.total);
    return;
  }
  device.memory_reserved = why_absent(code);
  MemoryV1 whole{};
  if (is_refused_for_good(code)) code = asker.call(api.nvmlDeviceGetMemoryInfo, 0, &whole);
  if (code == success && whole.total == 0) code = not_supported;
  if (code == success) return take_memory(whole, device);
  device.memory_total = device.memory_used = device.memory_free = why_absent(code);
}

void read_state(DeviceAsker& asker, WallTime taken, DeviceMemory& memory, Device& device) {
  device.mig_mode = memory.mig_mode;
  if (wants_memory(asker)) read_memory(asker, device);
  read_load(asker, taken, memory, device);
  read_modes(asker, device);
  read_power(asker, device);
  read_clocks(asker, device);
  read_field_values(asker, device);
  if (asker.wants(Extra::verdicts) && !asker.wants(Detail::unrepairable_memory)) {
    read_unrepairable_memory(asker, device);
  }
  read_links_and_errors(asker, device);
}

namespace {

bool is_sound(const Sample& sample, unsigned value_type) {
  return sample.timestamp_us != 0 && value_type == value_is_unsigned;
}

}  // namespace

// The list may grow between asking for its length and reading it. A buffer too short would get the
// oldest ones: hence the slack, kept for the next look.
std::expected<std::vector<Sample>, Return> fetch_samples(DeviceAsker& asker, unsigned kind,
                                                         unsigned& capacity) {
  const auto& function = asker.api().nvmlDeviceGetSamples;
  constexpr unsigned slack = 16;
  constexpr unsigned most = 1 << 14;
  unsigned value_type = value_is_unsigned;
  std::vector<Sample> samples;
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (capacity == 0) {
      unsigned count = 0;
      const Return code = asker.call_if_known(function, kind, kind, 0ULL, &value_type, &count,
                                              static_cast<Sample*>(nullptr));
      if (code != success && code != insufficient_size) return std::unexpected(code);
      capacity = std::min(count, most) + slack;
    }
    samples.resize(capacity);
    unsigned count = capacity;
    const Return code =
        asker.call_if_known(function, kind, kind, 0ULL, &value_type, &count, samples.data());
    if (code == success && count < capacity) {
      samples.resize(count);
      std::erase_if(samples, [&](const Sample& sample) { return !is_sound(sample, value_type); });
      std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
        return a.timestamp_us < b.timestamp_us;
      });
      return samples;
    }
    if (code != success && code != insufficient_size) return std::unexpected(code);
    capacity = 0;
  }
  return std::unexpected(insufficient_size);
}

}  // namespace berth::nvml
